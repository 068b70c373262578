package catalog

import (
	"context"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Adopt creates a rule from one that was found elsewhere, as Create does from an input, with an id and times of its own. It calls also
// in the same transaction; an error of also undoes the creation.
func (c *Catalog) Adopt(ctx context.Context, projectID string, r rule.Rule, also func(tx store.Tx, made rule.Rule) error) (rule.Rule, error) {
	in := wire.RuleInput{ChangeNote: r.ChangeNote}
	r.WriteTo(&in)
	return c.create(ctx, projectID, in, also)
}
