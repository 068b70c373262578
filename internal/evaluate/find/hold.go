package find

import (
	"context"
	"slices"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// HoldQuery returns the conditions of a legal hold as those of a query.
func HoldQuery(h *rule.LegalHold) wire.EvaluationQuery {
	return wire.EvaluationQuery{
		Rule: h.Rule, Scope: h.Scope, NodeID: h.NodeID, Repository: h.Repository, Actor: h.Actor, Since: h.Since, Until: h.Until,
		PageQuery: wire.PageQuery{Page: 1, PageSize: 1},
	}
}

// Covering returns a function that returns those of some legal holds that cover an entry of the chain: the evaluations that the conditions
// find, and requests to agents that were made by the actor and at the time, if there is no other condition. A record that cannot be read is
// covered wherever its entry does not rule that out. The error names the conditions that nothing can meet.
func (x *Index) Covering(ctx context.Context, projectID string, holds []rule.LegalHold) (func(e *store.AuditEntry) []rule.LegalHold, error) {
	queries := make([]*query, len(holds))
	for i := range holds {
		f := HoldQuery(&holds[i])
		q, err := x.plan(ctx, projectID, &f)
		if err != nil {
			return nil, err
		}
		queries[i] = q
	}
	return func(e *store.AuditEntry) (covering []rule.LegalHold) {
		found, err := termsOf(e)
		for i, q := range queries {
			if q.holds(e, &holds[i], found, err != nil) {
				covering = append(covering, holds[i])
			}
		}
		return covering
	}, nil
}

// holds reports whether a hold, whose conditions are q, covers an entry with terms.
func (q *query) holds(e *store.AuditEntry, h *rule.LegalHold, found []store.Term, damaged bool) bool {
	if q.since != nil && e.At.Before(*q.since) || q.until != nil && !e.At.Before(*q.until) || h.Actor != "" && h.Actor != e.Actor {
		return false
	}
	switch {
	case e.Kind == audit.KindAgent:
		return h.Rule == "" && h.Scope == "" && h.NodeID == "" && h.Repository == ""
	case e.Kind != audit.KindEvaluation:
		return false
	case damaged:
		return true
	}
	return !slices.ContainsFunc(q.conditions, func(terms []store.Term) bool {
		return !slices.ContainsFunc(terms, func(t store.Term) bool { return slices.Contains(found, t) })
	})
}
