package conflict

import (
	"context"
	"log/slog"

	"tenet/internal/conflict/contradict"
	"tenet/internal/corpus"
	"tenet/internal/llm"
	"tenet/internal/store"
)

// How many near rules a rule is compared with.
const (
	nearWords   = 40
	nearVectors = 20
	askedPairs  = 8 // of those, by the model
)

// outcome is what a look at two rules has given.
type outcome int

const (
	unknown  outcome = iota // the model was not asked about a conflict that it has found
	none                    // they do not contradict each other
	conflict                // they do
)

// observation is two rules that were looked at together.
type observation struct {
	rule, other         string // ids; rule is the one that was changed last
	ruleHash, otherHash string
	outcome             outcome
	related             bool // one stands above the other
	foundBy             string
	reason              string
	confidence          float64
}

// foundByModel is the FoundBy of conflicts that the model has found.
const foundByModel = "model"

// search looks for the conflicts of rules.
type search struct {
	b         *Conflicts
	projectID string
	model     llm.Model          // nil if it is not to be asked, or has failed
	away      bool               // it has failed, and may answer later
	asked     map[[2]string]bool // pairs that it has told about, of the rules that are being looked at
}

// look compares rules with those near them. Rules that are not current any more give no observations.
func (s *search) look(ctx context.Context, ids []string) ([]observation, error) {
	view, err := s.b.cfg.Views.Refresh(ctx, s.projectID)
	if err != nil {
		return nil, err
	}
	known, err := s.b.cfg.Store.ConflictsOf(ctx, s.projectID, ids)
	if err != nil {
		return nil, err
	}
	s.asked = map[[2]string]bool{}
	var out []observation
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if e, ok := view.Get(id); ok && current(e.Rule) {
			out = append(out, s.lookAt(ctx, view, e, known)...)
		}
	}
	return out, nil
}

// lookAt compares one rule with those near it, and with those that it had conflicts with.
func (s *search) lookAt(ctx context.Context, view *corpus.View, e *corpus.Entry, known []store.Conflict) []observation {
	had := map[string]*store.Conflict{}
	for i := range known {
		c := &known[i]
		switch e.Rule.ID {
		case c.RuleID:
			had[c.OtherID] = c
		case c.OtherID:
			had[c.RuleID] = c
		}
	}
	others := s.near(ctx, view, e)
	listed := map[string]bool{}
	for _, other := range others {
		listed[other.Rule.ID] = true
	}
	for i := range known { // in a stable order
		c := &known[i]
		for _, id := range []string{c.RuleID, c.OtherID} {
			if had[id] == c && !listed[id] {
				if other, ok := view.Get(id); ok && current(other.Rule) {
					listed[id] = true
					others = append(others, other)
				}
			}
		}
	}
	reading := contradict.Read(e.Rule)
	var out []observation
	var ask []question
	for _, other := range others {
		c := had[other.Rule.ID]
		o := observe(e, other)
		switch rels := conflicting(e, other); {
		case related(e, other):
			o.outcome, o.related = none, true
		case len(rels) > 0 && c == nil:
			continue // somebody has said so already
		default:
			if f, ok := contradict.Compare(reading, contradict.Read(other.Rule)); ok {
				o.outcome, o.foundBy, o.reason, o.confidence = conflict, string(f.Kind), f.Reason, f.Confidence
				break
			}
			o.outcome = none
			meet := contradict.Meet(e.Rule, other.Rule)
			if meet && c != nil && isOpen(c) && c.FoundBy == foundByModel {
				o.outcome = unknown
			}
			if s.asked[pairOf(o.rule, o.other)] {
				continue // seen from the other rule
			}
			if s.model != nil && meet && !decided(c, &o) && !s.mayRest(&o) {
				ask = append(ask, question{o, e, other, c != nil})
				continue
			}
		}
		if o.outcome == conflict || c != nil {
			out = append(out, o)
		}
	}
	return append(out, s.ask(ctx, ask)...)
}

// mayRest reports whether the model need not be asked about a pair, because it has found nothing in it before. A conflict that it
// has found once is asked about all the same.
func (s *search) mayRest(o *observation) bool {
	return o.outcome == none && s.b.cleared.has(o.ruleHash, o.otherHash)
}

// observe begins the observation of two rules.
func observe(a, b *corpus.Entry) observation {
	first := a.Rule.UpdatedAt.Compare(b.Rule.UpdatedAt)
	if first < 0 || (first == 0 && a.Rule.ID < b.Rule.ID) {
		a, b = b, a
	}
	return observation{rule: a.Rule.ID, other: b.Rule.ID, ruleHash: a.ContentHash(), otherHash: b.ContentHash()}
}

// unchanged reports whether the rules of a conflict say what they said when it was found or decided.
func unchanged(c *store.Conflict, o *observation) bool {
	if c == nil {
		return false
	}
	if c.RuleID == o.rule {
		return c.RuleHash == o.ruleHash && c.OtherHash == o.otherHash
	}
	return c.RuleHash == o.otherHash && c.OtherHash == o.ruleHash
}

// decided reports whether it is known already what the rules of an observation are to each other, as they are now. Of a closed conflict
// it is not: what its rules said when it was found is not what they said when it ended.
func decided(c *store.Conflict, o *observation) bool {
	return unchanged(c, o) && c.State != store.ConflictClosed
}

// near finds the rules that a rule may contradict.
func (s *search) near(ctx context.Context, view *corpus.View, e *corpus.Entry) []*corpus.Entry {
	var vector []float32
	// Rules get their vectors some time after they were made. Where so few have changed that the model is asked, they need not wait.
	if s.b.cfg.Embedder != nil && s.model != nil && !view.Embedded(e) {
		text, _ := s.b.redactor.Text(corpus.EmbeddingText(e.Rule))
		vectors, err := s.b.cfg.Embedder.Embed(ctx, []string{text})
		switch {
		case err != nil:
			s.b.cfg.Logger.WarnContext(ctx, "near rules are found by words only: the embedding service has failed", slog.Any("error", err))
		case len(vectors) == 1:
			vector = vectors[0]
		}
	}
	return view.Near(e, vector, corpus.Filter{Statuses: statuses}, nearWords, nearVectors)
}
