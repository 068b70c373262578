package search

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Box is a search in one box.
type Box struct {
	// Text may hold words, a citation, the name of a rule and dates; see [wire.BoxQuery].
	Text string
	// Plain reads all of the text as words.
	Plain  bool
	Mode   wire.SearchMode // empty is Hybrid
	Filter Filter
	Page   Page
}

// BoxResult is a page of what was found in one box, and how the text was read.
type BoxResult struct {
	Result

	Reading []wire.Reading
	Facets  wire.Facets
}

// facetValues is the number of values that are counted for a field with open values.
const facetValues = 10

// Box reads a text and finds the rules that it asks for. Citations and dates select, words rank, and rules that are named come first.
// An empty text finds all rules that the filter selects.
func (s *Searcher) Box(ctx context.Context, among Among, b Box) (BoxResult, error) {
	if n := utf8.RuneCountInString(b.Text); n > MaxText {
		return BoxResult{}, invalid("q", "has %d characters; at most %d are allowed", n, MaxText)
	}
	view, among, err := s.view(ctx, among)
	if err != nil {
		return BoxResult{}, err
	}
	q := query{text: b.Text}
	switch text := strings.TrimSpace(b.Text); {
	case text == "":
	case b.Plain:
		q.pieces = []piece{{start: 0, end: len(b.Text), kind: wire.ReadWords, value: text}}
	default:
		if q, err = readQuery(b.Text, s.cfg.Now(), namesIn(view)); err != nil {
			return BoxResult{}, err
		}
	}
	ask, mode, missing, err := s.ranked(ctx, view, among, &b, &q)
	if err != nil {
		return BoxResult{}, err
	}
	found := corpus.Find(view, ask)
	out := BoxResult{
		Result:  answer(ask.Text, found.Hits, found.Total, mode),
		Reading: q.reading(), Facets: facetsOf(found.Facets),
	}
	out.Degraded = degraded(missing)
	for i := range out.Items {
		q.explain(&out.Items[i], ask.Text, mode)
	}
	return out, nil
}

// namesIn looks names up in a view.
func namesIn(view *corpus.View) corpusNames {
	return corpusNames{
		rule: func(name string) (string, bool) {
			for _, spelling := range []string{name, strings.ToUpper(name), strings.ToLower(name)} {
				if e, ok := view.Get(spelling); ok {
					return e.Rule.ID, true
				}
			}
			return "", false
		},
		source: func(name string) bool { return corpus.NamesSource(view, name) },
	}
}

// ranked returns the search that a query asks for, its mode, and what is missing for a better one.
func (s *Searcher) ranked(ctx context.Context, view *corpus.View, among Among, b *Box, q *query) (ask corpus.Search, mode wire.SearchMode, missing string, err error) {
	now := s.cfg.Now()
	ask = corpus.Search{Text: q.words(), Filter: b.Filter.in(among), Offset: b.Page.Offset(), Limit: b.Page.Size, Facets: facetValues}
	ask.Filter.Plain = b.Plain
	var dates []piece
	for _, p := range q.pieces {
		switch p.kind {
		case wire.ReadCitation:
			ask.Cites = append(ask.Cites, p.value)
		case wire.ReadRule:
			ask.First = append(ask.First, p.ruleID)
			if q.words() == "" { // the rules that name it
				ask.Text = strings.TrimSpace(ask.Text + ` "` + p.value + `"`)
			}
		case wire.ReadInForce, wire.ReadChangedBefore, wire.ReadChangedSince, wire.ReadChangedIn, wire.ReadMadeBefore, wire.ReadMadeSince, wire.ReadMadeIn:
			dates = append(dates, p)
		case wire.ReadWords, wire.ReadIgnored:
		}
	}
	if len(dates) > 0 {
		ask.Where = func(r *rule.Rule) bool {
			return !slices.ContainsFunc(dates, func(p piece) bool { return !p.holds(r, now) }) && (among.Keep == nil || among.Keep(r))
		}
	}
	if ask.Text == "" {
		return ask, "", "", nil
	}
	mode = wire.Keyword
	switch b.Mode {
	case wire.Keyword:
	case wire.Vector:
		if s.vectors == nil {
			return ask, "", "", errNoEmbedder()
		}
		if ask.Vector, err = s.vectors.get(ctx, ask.Text, patient); err != nil {
			return ask, "", "", err
		}
		ask.ByMeaning, mode, missing = true, wire.Vector, unembedded(view)
	case wire.Hybrid, "":
		if ask.Vector, missing, err = s.vectorOf(ctx, view, ask.Text, nil); err != nil {
			return ask, "", "", err
		}
		switch {
		case ask.Vector != nil:
			mode = wire.Hybrid
		case missing != "":
			missing += ", so rules were found by their words alone"
		}
	}
	return ask, mode, missing, nil
}

// holds reports whether a rule meets a date of the query.
func (p *piece) holds(r *rule.Rule, now time.Time) bool {
	switch p.kind {
	case wire.ReadInForce:
		return r.InForce(p.instant(now))
	case wire.ReadChangedBefore:
		return r.UpdatedAt.Before(p.period.from)
	case wire.ReadChangedSince:
		return !r.UpdatedAt.Before(p.period.from)
	case wire.ReadChangedIn:
		return p.period.contains(r.UpdatedAt)
	case wire.ReadMadeBefore:
		return r.CreatedAt.Before(p.period.from)
	case wire.ReadMadeSince:
		return !r.CreatedAt.Before(p.period.from)
	case wire.ReadMadeIn:
		return p.period.contains(r.CreatedAt)
	case wire.ReadWords, wire.ReadCitation, wire.ReadRule, wire.ReadIgnored:
	}
	return true
}

// instant is the time that a date of being in force means: its first instant, or now if it is today.
func (p *piece) instant(now time.Time) time.Time {
	if p.period.contains(now) {
		return now
	}
	return p.period.from
}

// maxMatchedWords bounds the words that a reason lists.
const maxMatchedWords = 8

// explain says why a rule was found, and where.
func (q *query) explain(it *wire.RuleSearchItem, text string, mode wire.SearchMode) {
	r := &it.Rule
	add := func(kind, text string) { it.Matched = append(it.Matched, wire.Match{Kind: kind, Text: text}) }
	for _, p := range q.pieces {
		switch p.kind {
		case wire.ReadRule:
			if p.ruleID == r.ID {
				add("rule", "is the rule "+r.Label())
				if r.Slug != "" {
					markAll(it, "slug", 0, r.Slug)
				}
			}
		case wire.ReadCitation:
			explainSource(it, p.value)
		case wire.ReadInForce:
			add("in_force", "is in force "+forceOf(r.EffectivePeriod))
		case wire.ReadChangedBefore, wire.ReadChangedSince, wire.ReadChangedIn:
			add("changed", "was last changed on "+r.UpdatedAt.UTC().Format(time.DateOnly))
		case wire.ReadMadeBefore, wire.ReadMadeSince, wire.ReadMadeIn:
			add("made", "was made on "+r.CreatedAt.UTC().Format(time.DateOnly))
		case wire.ReadWords, wire.ReadIgnored:
		}
	}
	words := matchedWords(it, text)
	switch {
	case len(words) > 0:
		add("words", "has the words "+strings.Join(words, ", "))
	case len(it.Matched) == 0 && (mode == wire.Vector || mode == wire.Hybrid):
		add("meaning", "is near in meaning")
	}
}

// forceOf says when a rule with an effective period is in force.
func forceOf(p rule.EffectivePeriod) string {
	switch day := time.DateOnly; {
	case p.From != nil && p.Until != nil:
		return "from " + p.From.UTC().Format(day) + " until " + p.Until.UTC().Format(day)
	case p.From != nil:
		return "since " + p.From.UTC().Format(day)
	case p.Until != nil:
		return "until " + p.Until.UTC().Format(day)
	}
	return "without an end"
}
