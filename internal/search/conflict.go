package search

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Conflicts finds the current rules that have a CONFLICTS_WITH relationship with a rule, in either direction, and those that such
// a relationship is suggested with, the earliest noted first. Of a snapshot only the relationships are known. It also returns the id of the rule, which ref names by id or slug; not_found without it.
func (s *Searcher) Conflicts(ctx context.Context, among Among, ref string) (ruleID string, list []wire.RuleConflict, err error) {
	view, among, err := s.view(ctx, among)
	if err != nil {
		return "", nil, err
	}
	of, ok := view.Get(ref)
	if !ok {
		return "", nil, rule.NotFound("rule", ref)
	}
	found := map[string]wire.RuleConflict{}
	detected, err := s.detected(ctx, among, of.Rule.ID)
	if err != nil {
		return "", nil, err
	}
	note := func(other *rule.Rule, rel rule.Relationship) {
		if !among.current(other) || other.ID == of.Rule.ID {
			return
		}
		c := wire.RuleConflict{
			Rule: *other, Relationship: rel.Kind, Reason: rel.Reason, DetectedAt: rel.CreatedAt, State: store.ConflictConfirmed, Confidence: 1,
		}
		if d := detected[other.ID]; d != nil {
			c.DetectedAt, c.Confidence, c.ConflictID = d.DetectedAt, d.Confidence, d.ID
		}
		if had, ok := found[other.ID]; ok { // noted from both sides
			if had.DetectedAt.Before(c.DetectedAt) {
				had, c = c, had
			}
			c.Reason = cmp.Or(c.Reason, had.Reason)
		}
		found[other.ID] = c
	}
	for _, rel := range of.Relationships {
		if other, ok := view.Get(rel.ToID); ok && rel.Kind == rule.ConflictsWith {
			note(other.Rule, rel)
		}
	}
	for e := range view.All() {
		for _, rel := range e.Relationships {
			if rel.Kind == rule.ConflictsWith && rel.ToID == of.Rule.ID {
				note(e.Rule, rel)
			}
		}
	}
	for id, d := range detected {
		other, ok := view.Get(id)
		if _, noted := found[id]; ok && !noted && d.State == store.ConflictSuggested && among.current(other.Rule) {
			found[id] = wire.RuleConflict{
				Rule: *other.Rule, Relationship: rule.ConflictsWith, Reason: d.Reason, DetectedAt: d.DetectedAt, State: d.State, Confidence: d.Confidence,
				ConflictID: d.ID,
			}
		}
	}
	list = []wire.RuleConflict{}
	for _, c := range found {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b wire.RuleConflict) int {
		return cmp.Or(a.DetectedAt.Compare(b.DetectedAt), strings.Compare(a.Rule.ID, b.Rule.ID))
	})
	return of.Rule.ID, list, nil
}

// detected gives the conflicts of a rule that have been found among the live rules, by the other rule.
func (s *Searcher) detected(ctx context.Context, among Among, ruleID string) (map[string]*store.Conflict, error) {
	if s.cfg.Conflicts == nil || among.View != nil {
		return nil, nil
	}
	list, err := s.cfg.Conflicts(ctx, among.ProjectID, ruleID)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*store.Conflict, len(list))
	for i := range list {
		other := list[i].RuleID
		if other == ruleID {
			other = list[i].OtherID
		}
		out[other] = &list[i]
	}
	return out, nil
}
