package search

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// How closely a source reference answers to what is looked for.
const (
	citedExactly = 1.0  // one of its parts, or uri and section together, is the source
	citedBelow   = 0.75 // one of them begins with it
	citedWithin  = 0.5  // it stands inside one of them
)

// Citation finds the rules that refer to a source: by its address or name, section, kind, document id or words of its quote,
// in any letter case and spacing. Addresses are the same with and without scheme, www and a slash at the end. Rules that name
// the source exactly come first, then those that name something below it, then the others.
func (s *Searcher) Citation(ctx context.Context, among Among, source string, p Page) (Result, error) {
	wanted := normalSource(source)
	if wanted == "" {
		return Result{}, invalid("source", "is empty; name a source such as https://example.com/policy or GDPR Art. 32")
	}
	known := map[string]string{} // many rules share their sources
	normal := func(part string) string {
		have, ok := known[part]
		if !ok {
			have = normalSource(part)
			known[part] = have
		}
		return have
	}
	return s.scored(ctx, among, p, func(r *rule.Rule) float64 {
		best := 0.0
		for i := range r.SourceRefs {
			best = max(best, cites(&r.SourceRefs[i], wanted, normal))
		}
		return best
	})
}

// cites is how closely a reference, whose parts are brought to their normal form, answers to a normalised source; 0 if not at
// all.
func cites(ref *rule.SourceRef, wanted string, normal func(string) string) float64 {
	best := 0.0
	parts := [...]string{ref.URI, ref.Section, ref.Kind, ref.DocumentID, ref.Quote, ""}
	if ref.URI != "" && ref.Section != "" {
		parts[5] = ref.URI + " " + ref.Section
	}
	for _, part := range parts {
		if part == "" {
			continue
		}
		switch have := normal(part); {
		case !strings.Contains(have, wanted):
		case have == wanted:
			return citedExactly
		case strings.HasPrefix(have, wanted):
			best = max(best, citedBelow)
		default:
			best = max(best, citedWithin)
		}
	}
	return best
}

// normalSource brings a source into the form in which sources are compared.
func normalSource(s string) string {
	s = text.OneLine(strings.ToLower(s))
	for _, scheme := range []string{"https://", "http://"} {
		if rest, ok := strings.CutPrefix(s, scheme); ok {
			s = strings.TrimPrefix(rest, "www.")
			break
		}
	}
	return strings.TrimRight(s, "/")
}

// scored is a page of the current rules that score more than 0, best first.
func (s *Searcher) scored(ctx context.Context, among Among, p Page, score func(*rule.Rule) float64) (Result, error) {
	view, among, err := s.view(ctx, among)
	if err != nil {
		return Result{}, err
	}
	type match struct {
		*corpus.Entry
		score float64
	}
	var found []match
	for e := range view.All() {
		if among.current(e.Rule) {
			if x := score(e.Rule); x > 0 {
				found = append(found, match{e, x})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b match) int { return cmp.Compare(b.score, a.score) })
	out := Result{Items: []wire.RuleSearchItem{}, Total: len(found)}
	for _, m := range slice(found, p) {
		out.Items = append(out.Items, wire.RuleSearchItem{Rule: *m.Rule, Score: m.score})
	}
	return out, nil
}
