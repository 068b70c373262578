package discover

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
)

// What is told of the rules there are.
const (
	nearWords   = 0.6  // share of words in common from which a rule is called similar
	nearMeaning = 0.88 // cosine from which it is
	maxSimilar  = 5    // rules told of per candidate
	lookedAt    = 8    // rules compared per candidate, for words and for meaning
	embedBatch  = 64   // statements embedded at once
	maxEmbedded = 2000 // statements embedded in a scan: those of the most confidence
	embedTime   = time.Minute
)

// inForce are the states of rules that a candidate is compared with.
var inForce = []rule.Status{rule.Draft, rule.Review, rule.Approved, rule.Effective}

// compare tells of each draft which rules there are that say the same, nearly so, or the contrary.
func (d *Discovery) compare(ctx context.Context, projectID string, drafts []draft) error {
	view, err := d.cfg.Views.View(ctx, projectID)
	if err != nil || view.Len() == 0 {
		return err
	}
	vectors := d.vectors(ctx, view, drafts)
	known := map[string]terms{}
	for i := range drafts {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := &drafts[i]
		own := termsOf(c.Statement)
		hits, _ := view.Keyword(unquote.Replace(c.Statement), corpus.Filter{Statuses: inForce}, 0, lookedAt)
		near := map[*rule.Rule]float64{}
		for _, h := range hits {
			other, ok := known[h.Entry.Rule.ID]
			if !ok {
				other = termsOf(h.Entry.Rule.Statement)
				known[h.Entry.Rule.ID] = other
			}
			near[h.Entry.Rule] = own.like(other)
			if normal(c.Statement) == normal(h.Entry.Rule.Statement) {
				near[h.Entry.Rule] = 1
			}
		}
		meant := map[*rule.Rule]bool{}
		if i < len(vectors) {
			hits, _ := view.Nearest(vectors[i], corpus.Filter{Statuses: inForce}, 0, lookedAt)
			for _, h := range hits {
				meant[h.Entry.Rule] = h.Score >= nearMeaning
				near[h.Entry.Rule] = max(near[h.Entry.Rule], min(h.Score, 1)*boolean(meant[h.Entry.Rule]))
			}
		}
		c.SimilarRules = d.similar(c, near)
	}
	return nil
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// similar makes the list of similar rules out of those that were compared.
func (d *Discovery) similar(c *draft, near map[*rule.Rule]float64) []Similar {
	list := []Similar{}
	as := rule.Rule{
		Statement: c.Statement, Modality: c.SuggestedMetadata.Modality, Severity: c.severity, Scope: c.scope, Tags: c.SuggestedMetadata.Tags,
		AppliesTo: c.SuggestedMetadata.AppliesTo, Check: c.SuggestedMetadata.Check, Exceptions: c.SuggestedMetadata.Exceptions,
	}
	for r, likeness := range near {
		s := Similar{RuleID: r.ID, Slug: r.Slug, Statement: r.Statement, Similarity: math.Round(likeness*100) / 100}
		if d.cfg.Contradicts != nil {
			s.Reason, _, s.Contradicts = d.cfg.Contradicts(as, *r)
			s.Reason = clean(s.Reason, maxNote)
		}
		if s.Contradicts || likeness >= nearWords {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b Similar) int {
		return cmp.Or(cmp.Compare(boolean(b.Contradicts), boolean(a.Contradicts)), cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.RuleID, b.RuleID))
	})
	return list[:min(len(list), maxSimilar)]
}

// vectors are those of the drafts' statements, without secrets; none if they cannot be had or the rules have none of their
// model.
func (d *Discovery) vectors(ctx context.Context, view *corpus.View, drafts []draft) [][]float32 {
	if d.cfg.Embedder == nil {
		return nil
	}
	if model, have, _ := view.Vectors(); have == 0 || model != d.cfg.Embedder.ID() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, embedTime)
	defer cancel()
	var all [][]float32
	for some := range slices.Chunk(drafts[:min(len(drafts), maxEmbedded)], embedBatch) {
		texts := make([]string, len(some))
		for i := range some {
			texts[i], _ = d.redactor.Text(some[i].Statement)
		}
		vectors, err := d.cfg.Embedder.Embed(ctx, texts)
		if err != nil || len(vectors) != len(texts) {
			d.cfg.Logger.WarnContext(ctx, "candidates are compared with rules by their words alone", slog.Any("error", err))
			return all
		}
		all = append(all, vectors...)
	}
	return all
}

// unquote takes out what a search would take for a phrase.
var unquote = strings.NewReplacer(`"`, " ", "“", " ", "”", " ", "„", " ", "«", " ", "»", " ")

// terms are the words of a text in the form in which words are compared, but for filler.
type terms map[string]bool

func termsOf(text string) terms {
	t := terms{}
	corpus.EachWord(text, func(w corpus.Word) bool {
		if !w.Whole && !filler[w.Term] {
			t[w.Term] = true
		}
		return true
	})
	return t
}

// like is twice the share of words in common: 1 for the same words, 0 for none in common.
func (t terms) like(other terms) float64 {
	if len(t)+len(other) == 0 {
		return 0
	}
	return 2 * float64(t.common(other)) / float64(len(t)+len(other))
}

func (t terms) common(other terms) int {
	n := 0
	for w := range t {
		if other[w] {
			n++
		}
	}
	return n
}
