package catalog

import (
	"context"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Preview returns what a change of a rule would lead to, and stores nothing. The error is that of [Catalog.Revise]: not_found without the
// rule, invalid for a change that a rule cannot have, conflict for a rule whose life is over.
func (c *Catalog) Preview(ctx context.Context, projectID, ref string, edit func(*rule.Rule)) (wire.RevisionPreview, error) {
	var out wire.RevisionPreview
	project, err := c.store.Projects.Get(ctx, projectID)
	if err != nil {
		return out, err
	}
	view, err := c.views.View(ctx, projectID)
	if err != nil {
		return out, err
	}
	entry, ok := view.Get(ref)
	if !ok {
		return out, rule.NotFound("rule", ref)
	}
	current := entry.Rule
	out.Rule = current.Clone()
	edit(&out.Rule)
	out.Rule.Normalize()
	if err := validate(&out.Rule); err != nil {
		return out, err
	}
	out.Changes = rule.Diff(*current, out.Rule)
	if out.Rule.ContentHash() == current.ContentHash() {
		return out, nil
	}
	if err := mayBeRevised(current.Status); err != nil {
		return out, err
	}
	out.Waits, out.Weakens = waits(project, current.Status), out.Rule.Loosens(current)
	proposed := rule.Revision{RuleID: current.ID, State: rule.RevisionPending, BaseVersion: current.Version}
	c.review(view, &proposed, &out.Rule)
	out.Conflicts = proposed.Conflicts
	return out, nil
}
