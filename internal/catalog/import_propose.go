package catalog

import (
	"context"
	"fmt"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// relationsWait finds the rules in force whose relationships would change and that two people must agree to: the whole change waits.
func (im *importing) relationsWait(ctx context.Context, plan []planned) error {
	for i := range plan {
		pl := &plan[i]
		if pl.existing == nil || pl.in.Relationships == nil || !waits(im.Project, pl.existing.Status) {
			continue
		}
		differ, err := relationsDiffer(ctx, im.Change, *pl.existing, pl.in.Relationships)
		if err != nil {
			return err
		}
		pl.waits = pl.waits || differ
		if !differ {
			pl.in.Relationships = nil // they stay as they are
		}
	}
	return nil
}

// proposeAll stores a revision for each change of a rule in force that waits for a second person. It runs when the other rules are
// stored, which relationships may name.
func (im *importing) proposeAll(ctx context.Context, plan []planned) error {
	var p rule.Problems
	for i := range plan {
		pl := &plan[i]
		if !pl.waits {
			continue
		}
		change := &proposal{current: *pl.existing, next: pl.next, relationships: pl.in.Relationships, note: pl.in.ChangeNote}
		if change.relationships != nil {
			var err error
			if change.before, err = im.outgoing(ctx, pl.existing); err != nil {
				return err
			}
		}
		made, isNew, err := propose(ctx, im.Change, change)
		if rule.CodeOf(err) == rule.CodeInvalid {
			p.AddNamed(fmt.Sprintf("rules[%d]", i), pl.next.Slug, err)
			continue
		}
		if err != nil {
			return err
		}
		entry := rule.ImportChange{
			Action: "propose", RuleID: made.RuleID, Version: made.BaseVersion + 1, Slug: made.Slug, Statement: pl.next.Statement, Fields: made.Changes,
			Revision: made.Number, Weakens: made.Weakens,
		}
		if isNew {
			im.result.Changes = append(im.result.Changes, entry)
			im.result.Proposed++
			im.proposed = append(im.proposed, pl.next)
		} else {
			im.result.Waiting = append(im.result.Waiting, entry)
		}
	}
	return p.Err("the rule file is invalid; nothing was imported")
}

// outgoing returns the relationships that go out from a rule, as a file has them.
func (im *importing) outgoing(ctx context.Context, r *rule.Rule) ([]wire.RelationshipInput, error) {
	list, err := outgoing(ctx, im.Change, *r)
	out := make([]wire.RelationshipInput, len(list))
	for i := range list {
		rel := &list[i]
		out[i] = wire.RelationshipInput{Kind: rel.Kind, To: rel.ToID, Reason: rel.Reason, AllowWeakening: rel.AllowWeakening}
		if to, err := im.Tx.Rules.Get(ctx, im.Project.ID, rel.ToID); err == nil && to.Status != rule.Retired {
			out[i].To = to.Label()
		}
	}
	return out, err
}
