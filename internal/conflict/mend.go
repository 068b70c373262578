package conflict

import (
	"context"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/conflict/contradict"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Sides returns the two rules of an open conflict as they are, the one that brought it first. The error is conflict if it has been rejected
// or closed, or if a rule is no longer current; not_found without it.
func (b *Conflicts) Sides(ctx context.Context, projectID, id string) (one, other rule.Rule, err error) {
	c, err := b.cfg.Store.Conflicts.Get(ctx, projectID, id)
	if err != nil {
		return one, other, err
	}
	if !isOpen(&c) {
		return one, other, rule.Errorf(rule.CodeConflict, "the conflict is %s; only an open one can be mended", c.State)
	}
	rules, err := b.cfg.Store.Rules.GetMany(ctx, projectID, []string{c.RuleID, c.OtherID})
	if err != nil {
		return one, other, err
	}
	for _, r := range rules {
		if !current(&r) {
			return one, other, rule.Errorf(rule.CodeConflict, "rule %s is %s; the conflict is about to be closed", r.Label(), r.Status)
		}
	}
	return rules[c.RuleID], rules[c.OtherID], nil
}

// Try returns a conflict as it would be if its rules were as given, and why they would still contradict each other; empty if they would
// not. It stores nothing.
func (b *Conflicts) Try(ctx context.Context, projectID, id string, one, other *rule.Rule) (wire.Conflict, string, error) {
	c, err := b.cfg.Store.Conflicts.Get(ctx, projectID, id)
	if err != nil {
		return wire.Conflict{}, "", err
	}
	if one.ID != c.RuleID {
		one, other = other, one
	}
	f, _ := contradict.Rules(one, other)
	return shownWith(&c, one, other), f.Reason, nil
}

// Mended closes an open conflict after a change of its rules, or after one of them was made to prevail, with the reason of the caller, and
// removes its CONFLICTS_WITH relationships. If the rules still contradict each other, it changes nothing and returns why. What only the
// model can find does not count: it is asked again in the background. Callers have checked with [Conflicts.Sides] that the conflict was open:
// if a job has closed it meanwhile, it is closed by the caller.
func (b *Conflicts) Mended(ctx context.Context, projectID, id, note string) (c wire.Conflict, reason string, err error) {
	var stored store.Conflict
	err = b.cfg.Store.Update(ctx, func(tx store.Tx) error {
		var err error
		if stored, err = tx.Conflicts.Get(ctx, projectID, id); err != nil {
			return err
		}
		if stored.State == store.ConflictRejected {
			return rule.Errorf(rule.CodeConflict, "the conflict was rejected meanwhile")
		}
		if reason, err = remains(ctx, tx, &stored); err != nil || reason != "" {
			return err
		}
		k := &keeping{b: b, tx: tx, projectID: projectID, conflicts: map[[2]string]store.Conflict{}}
		if err := k.unrelateAll(ctx, &stored); err != nil {
			return err
		}
		now := b.instant()
		stored.State, stored.DecidedAt, stored.DecidedBy, stored.Note, stored.RelationshipID = store.ConflictClosed, &now, auth.ActorFrom(ctx).Name, note, ""
		if err := tx.Conflicts.Update(ctx, stored); err != nil {
			return err
		}
		if err := b.settle(ctx, tx, projectID, stored.RuleID); err != nil {
			return err
		}
		return audit.Append(ctx, tx, projectID, audit.Record{
			Kind: audit.KindConflict, At: now, Actor: stored.DecidedBy, Body: audit.JSON(map[string]any{
				"action": "mended", "conflict_id": stored.ID, "rule_id": stored.RuleID, "other_rule_id": stored.OtherID, "note": note,
			}),
		})
	})
	if err != nil {
		return c, "", err
	}
	view, err := b.cfg.Views.Refresh(context.WithoutCancel(ctx), projectID)
	return shown(view, &stored), reason, err
}

// remains returns why the rules of a conflict still contradict each other; empty if they do not.
func remains(ctx context.Context, tx store.Tx, c *store.Conflict) (string, error) {
	rules, err := tx.Rules.GetMany(ctx, c.ProjectID, []string{c.RuleID, c.OtherID})
	if err != nil {
		return "", err
	}
	one, other := rules[c.RuleID], rules[c.OtherID]
	if !current(&one) || !current(&other) {
		return "", nil
	}
	rels, err := tx.Rules.Relationships(ctx, c.ProjectID, c.RuleID)
	if err != nil {
		return "", err
	}
	for _, rel := range rels {
		if rel.ToID != c.OtherID && rel.FromID != c.OtherID {
			continue
		}
		switch rel.Kind {
		case rule.Overrides, rule.Supersedes, rule.Refines:
			return "", nil
		case rule.ConflictsWith, rule.DependsOn, rule.DerivesFrom:
		}
	}
	f, _ := contradict.Rules(&one, &other)
	return f.Reason, nil
}

// unrelateAll removes the CONFLICTS_WITH relationships between the rules of a conflict, those that people have made too: the conflict would
// otherwise be found again by them.
func (k *keeping) unrelateAll(ctx context.Context, c *store.Conflict) error {
	rels, err := k.tx.Rules.Relationships(ctx, k.projectID, c.RuleID)
	if err != nil {
		return err
	}
	for _, rel := range rels {
		if rel.Kind != rule.ConflictsWith || rel.ToID != c.OtherID && rel.FromID != c.OtherID {
			continue
		}
		one := *c
		one.RelationshipID = rel.ID
		if err := k.unrelateAs(ctx, &one, auth.ActorFrom(ctx).Name); err != nil {
			return err
		}
	}
	return nil
}
