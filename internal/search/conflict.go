package search

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"tenet/internal/rule"
)

// Conflict is a rule that contradicts another.
type Conflict struct {
	Rule         rule.Rule         `json:"rule" doc:"The other rule."`
	Relationship rule.RelationKind `json:"relationship" enum:"CONFLICTS_WITH" doc:"How the two stand to one another."`
	Reason       string            `json:"reason" doc:"Why they conflict."`
	DetectedAt   time.Time         `json:"detected_at" doc:"When the conflict was first noted."`
}

// Conflicts finds the current rules that have a CONFLICTS_WITH relationship with a rule, in either direction, the earliest
// noted first. It also returns the id of the rule, which ref names by id or slug; not_found without it.
func (s *Searcher) Conflicts(ctx context.Context, among Among, ref string) (ruleID string, list []Conflict, err error) {
	view, among, err := s.view(ctx, among)
	if err != nil {
		return "", nil, err
	}
	of, ok := view.Get(ref)
	if !ok {
		return "", nil, rule.NotFound("rule", ref)
	}
	found := map[string]Conflict{}
	note := func(other *rule.Rule, rel rule.Relationship) {
		if !among.current(other) || other.ID == of.Rule.ID {
			return
		}
		c := Conflict{Rule: *other, Relationship: rel.Kind, Reason: rel.Reason, DetectedAt: rel.CreatedAt}
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
	list = []Conflict{}
	for _, c := range found {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Conflict) int {
		return cmp.Or(a.DetectedAt.Compare(b.DetectedAt), strings.Compare(a.Rule.ID, b.Rule.ID))
	})
	return of.Rule.ID, list, nil
}
