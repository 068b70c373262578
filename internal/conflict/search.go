package conflict

import (
	"context"
	"log/slog"
	"slices"

	"tenet/internal/conflict/contradict"
	"tenet/internal/corpus"
	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// How many near rules a rule is compared with.
const (
	nearWords   = 40
	nearVectors = 20
	askedPairs  = 8 // of those, by the model
)

// outcome is the result of a comparison of two rules.
type outcome int

const (
	unknown  outcome = iota // the model was not asked again about a conflict that it has found
	none                    // they do not contradict each other
	conflict                // they do
)

// observation is the comparison of two rules.
type observation struct {
	rule, other         string // ids; rule is the one that was changed last
	ruleHash, otherHash string
	outcome             outcome
	related             bool // one overrides, supersedes or refines the other
	foundBy             string
	reason              string
	confidence          float64
	stated              *rule.Relationship // by which a person has recorded the conflict; nil if it was found
}

// Values of FoundBy for conflicts that no test has found.
const (
	foundByModel  = "model"
	foundByPerson = "person" // who has made the CONFLICTS_WITH relationship by hand
)

// search looks for the conflicts of rules.
type search struct {
	b         *Conflicts
	projectID string
	version   int64              // of the corpus, when the last batch was compared
	model     llm.Model          // nil if no model is to be asked, or it has failed
	away      bool               // it has failed, and may answer later
	asked     map[[2]string]bool // pairs of the batch that it has answered about
	readings  map[*rule.Rule]*contradict.Reading
}

// maxReadings bounds the parsed rules that a search keeps: a rule is near some dozens of others, most of them made at about the same time.
const maxReadings = 5000

// reading returns a parsed rule.
func (s *search) reading(e *corpus.Entry) *contradict.Reading {
	if r, ok := s.readings[e.Rule]; ok {
		return r
	}
	if s.readings == nil || len(s.readings) == maxReadings {
		s.readings = map[*rule.Rule]*contradict.Reading{}
	}
	r := contradict.Read(e.Rule)
	s.readings[e.Rule] = r
	return r
}

// look compares rules with those near them. Rules that are not current any more give no observations.
func (s *search) look(ctx context.Context, ids []string) ([]observation, error) {
	view, err := s.b.cfg.Views.Refresh(ctx, s.projectID)
	if err != nil {
		return nil, err
	}
	stored, err := s.b.cfg.Store.Conflicts.OfRules(ctx, s.projectID, ids)
	if err != nil {
		return nil, err
	}
	s.version = view.Version()
	s.asked = map[[2]string]bool{}
	var out []observation
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if e, ok := view.Get(id); ok && current(e.Rule) {
			out = append(out, s.compare(ctx, view, e, stored)...)
		}
	}
	return out, nil
}

// compare compares a rule with the rules near it, those that it has a stored conflict with, and those that a person says it conflicts
// with.
func (s *search) compare(ctx context.Context, view *corpus.View, e *corpus.Entry, stored []store.Conflict) []observation {
	others := s.near(ctx, view, e)
	add := func(id string) {
		other, ok := view.Get(id)
		if ok && current(other.Rule) && !slices.ContainsFunc(others, func(o *corpus.Entry) bool { return o.Rule.ID == id }) {
			others = append(others, other)
		}
	}
	for _, rel := range e.Relationships {
		if rel.Kind == rule.ConflictsWith {
			add(rel.ToID)
		}
	}
	conflicts := map[string]*store.Conflict{} // of e, by the other rule
	for i := range stored {
		c := &stored[i]
		id := c.OtherID
		switch e.Rule.ID {
		case c.RuleID:
		case c.OtherID:
			id = c.RuleID
		default:
			continue
		}
		conflicts[id] = c
		add(id)
	}
	var out []observation
	var questions []question
	for _, other := range others {
		c := conflicts[other.Rule.ID]
		o, open := s.test(e, other, c)
		switch {
		case o.outcome != conflict && s.asked[pairOf(o.rule, o.other)]: // the comparison from the other side has asked
		case open && s.model != nil:
			questions = append(questions, question{o, e, other, c != nil})
		case o.outcome == conflict || c != nil:
			out = append(out, o)
		}
	}
	return append(out, s.ask(ctx, questions)...)
}

// test compares two rules by the tests; c is their stored conflict, or nil. open reports that the tests find nothing and that
// the model has not answered about the pair as it is now.
func (s *search) test(e, other *corpus.Entry, c *store.Conflict) (o observation, open bool) {
	o = observe(e, other)
	o.related = related(e, other)
	if o.related {
		return o, false
	}
	if rel := stated(e, other); rel != nil && (c == nil || c.RelationshipID != rel.ID) {
		return o.of(rel, e, other), false
	}
	if f, ok := contradict.Compare(s.reading(e), s.reading(other)); ok {
		o.outcome, o.foundBy, o.reason, o.confidence = conflict, string(f.Kind), f.Reason, f.Confidence
		return o, false
	}
	if !contradict.Meet(e.Rule, other.Rule) {
		return o, false
	}
	if c != nil && isOpen(c) && c.FoundBy == foundByModel { // the model is asked about its own conflicts again
		o.outcome = unknown
		return o, !decided(c, &o)
	}
	return o, !decided(c, &o) && !s.b.cleared.has(o.ruleHash, o.otherHash)
}

// observe returns the observation that two rules do not contradict each other.
func observe(a, b *corpus.Entry) observation {
	first := a.Rule.UpdatedAt.Compare(b.Rule.UpdatedAt)
	if first < 0 || (first == 0 && a.Rule.ID < b.Rule.ID) {
		a, b = b, a
	}
	return observation{rule: a.Rule.ID, other: b.Rule.ID, ruleHash: a.ContentHash(), otherHash: b.ContentHash(), outcome: none}
}

// stated returns the CONFLICTS_WITH relationship of two rules, the oldest of several; nil without one.
func stated(a, b *corpus.Entry) *rule.Relationship {
	var oldest *rule.Relationship
	for _, side := range [][2]*corpus.Entry{{a, b}, {b, a}} {
		for i := range side[0].Relationships {
			rel := &side[0].Relationships[i]
			if rel.Kind == rule.ConflictsWith && rel.ToID == side[1].Rule.ID && (oldest == nil || rel.CreatedAt.Before(oldest.CreatedAt)) {
				oldest = rel
			}
		}
	}
	return oldest
}

// of is the observation of two rules that a person has related. The one that the relationship begins at has brought the conflict.
func (o observation) of(rel *rule.Relationship, a, b *corpus.Entry) observation {
	if rel.FromID != a.Rule.ID {
		a, b = b, a
	}
	o.rule, o.other, o.ruleHash, o.otherHash = a.Rule.ID, b.Rule.ID, a.ContentHash(), b.ContentHash()
	o.outcome, o.stated, o.foundBy, o.reason, o.confidence = conflict, rel, foundByPerson, rel.Reason, 1
	if o.reason == "" {
		o.reason = rel.CreatedBy + " has related the two with " + string(rel.Kind)
	}
	return o
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

// decided reports whether a conflict decides about the rules of an observation as they are now. A closed one does not: it has the
// hashes of its rules when it was found, not when it ended.
func decided(c *store.Conflict, o *observation) bool {
	return unchanged(c, o) && c.State != store.ConflictClosed
}

// near finds the rules that a rule may contradict.
func (s *search) near(ctx context.Context, view *corpus.View, e *corpus.Entry) []*corpus.Entry {
	var vector []float32
	// Rules get their vectors some time after their creation. Where the model is asked, few have changed, and this embeds them at once.
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
