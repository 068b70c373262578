package catalog

import (
	"context"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Adopt makes a rule of one that was found elsewhere, as Create makes one of an input: what it says is taken over, and its
// bookkeeping is made anew. also is called in the same transaction with the rule as it is made, and if it fails, there is none.
func (c *Catalog) Adopt(ctx context.Context, projectID string, r rule.Rule, also func(tx store.Tx, made rule.Rule) error) (rule.Rule, error) {
	in := Input{
		Statement: r.Statement, Modality: r.Modality, Severity: r.Severity, Status: r.Status, Enforcement: r.Enforcement, Owner: &r.Owner,
		Scope: r.Scope, Tags: r.Tags, Rationale: &r.Rationale, Exceptions: r.Exceptions, Examples: r.Examples, SourceRefs: r.SourceRefs,
		EffectivePeriod: &r.EffectivePeriod, AppliesTo: r.AppliesTo, Check: r.Check, ChangeNote: r.ChangeNote,
	}
	if r.Slug != "" {
		in.Slug = &r.Slug
	}
	return c.create(ctx, projectID, in, also)
}
