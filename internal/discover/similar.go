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
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Bounds of the comparison with existing rules.
const (
	nearWords   = 0.6  // share of words in common from which a rule is called similar
	nearMeaning = 0.88 // cosine from which it is
	maxSimilar  = 5    // rules listed per candidate
	lookedAt    = 8    // rules compared per candidate, for words and for meaning
	embedBatch  = 64   // statements embedded at once
	maxEmbedded = 2000 // statements embedded in a scan: those of the most confidence
	embedTime   = time.Minute
)

// inForce are the states of rules that a candidate is compared with.
var inForce = []rule.Status{rule.Draft, rule.Review, rule.Approved, rule.Effective}

// comparer compares drafts with the existing rules of their project.
type comparer struct {
	view        *corpus.View
	embedder    Embedder
	contradicts func(a, b rule.Rule) (reason string, confidence float64, ok bool)
	redactor    *redact.Redactor
	log         *slog.Logger
}

// compare lists with each draft the existing rules that say the same, nearly so, or the contrary.
func (p *comparer) compare(ctx context.Context, drafts []draft) error {
	if p.view.Len() == 0 {
		return nil
	}
	vectors := p.vectors(ctx, drafts)
	ruleTerms := map[string]terms{}
	for i := range drafts {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := &drafts[i]
		own := termsOf(c.Statement)
		hits, _ := p.view.Keyword(unquote.Replace(c.Statement), corpus.Filter{Statuses: inForce}, 0, lookedAt)
		near := map[*rule.Rule]float64{}
		for _, h := range hits {
			other, ok := ruleTerms[h.Entry.Rule.ID]
			if !ok {
				other = termsOf(h.Entry.Rule.Statement)
				ruleTerms[h.Entry.Rule.ID] = other
			}
			near[h.Entry.Rule] = own.like(other)
			if normal(c.Statement) == normal(h.Entry.Rule.Statement) {
				near[h.Entry.Rule] = 1
			}
		}
		if i < len(vectors) {
			hits, _ := p.view.Nearest(vectors[i], corpus.Filter{Statuses: inForce}, 0, lookedAt)
			for _, h := range hits {
				likeness := 0.0
				if h.Score >= nearMeaning {
					likeness = min(h.Score, 1)
				}
				near[h.Entry.Rule] = max(near[h.Entry.Rule], likeness)
			}
		}
		c.SimilarRules = p.similar(c, near)
	}
	return nil
}

// similar makes the list of similar rules out of those that were compared.
func (p *comparer) similar(c *draft, near map[*rule.Rule]float64) []wire.Similar {
	list := []wire.Similar{}
	as := rule.Rule{
		Statement: c.Statement, Modality: c.SuggestedMetadata.Modality, Severity: c.severity, Scope: c.scope, Tags: c.SuggestedMetadata.Tags,
		AppliesTo: c.SuggestedMetadata.AppliesTo, Check: c.SuggestedMetadata.Check, Exceptions: c.SuggestedMetadata.Exceptions,
	}
	for r, likeness := range near {
		s := wire.Similar{RuleID: r.ID, Slug: r.Slug, Statement: r.Statement, Similarity: math.Round(likeness*100) / 100}
		if p.contradicts != nil {
			s.Reason, _, s.Contradicts = p.contradicts(as, *r)
			s.Reason = clean(s.Reason, maxNote)
		}
		if s.Contradicts || likeness >= nearWords {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b wire.Similar) int {
		if a.Contradicts != b.Contradicts {
			if a.Contradicts {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.RuleID, b.RuleID))
	})
	return list[:min(len(list), maxSimilar)]
}

// vectors returns those of the drafts' statements, without secrets; none if they cannot be had or the rules have none of their
// model.
func (p *comparer) vectors(ctx context.Context, drafts []draft) [][]float32 {
	if p.embedder == nil {
		return nil
	}
	if model, have, _ := p.view.Vectors(); have == 0 || model != p.embedder.ID() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, embedTime)
	defer cancel()
	var all [][]float32
	for some := range slices.Chunk(drafts[:min(len(drafts), maxEmbedded)], embedBatch) {
		texts := make([]string, len(some))
		for i := range some {
			texts[i], _ = p.redactor.Text(some[i].Statement)
		}
		vectors, err := p.embedder.Embed(ctx, texts)
		if err != nil || len(vectors) != len(texts) {
			p.log.WarnContext(ctx, "candidates are compared with rules by their words alone", slog.Any("error", err))
			return all
		}
		all = append(all, vectors...)
	}
	return all
}

// unquote takes out what a search would take for a phrase.
var unquote = strings.NewReplacer(`"`, " ", "“", " ", "”", " ", "„", " ", "«", " ", "»", " ")

// terms are the words of a text without filler, in the form in which words are compared.
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

// like returns twice the share of words in common: 1 for the same words, 0 for none in common.
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
