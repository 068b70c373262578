package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/change"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Relationships lists the relationships from and to a rule, oldest first.
func (c *Catalog) Relationships(ctx context.Context, projectID, ref string) ([]rule.Relationship, error) {
	r, err := c.Get(ctx, projectID, ref)
	if err != nil {
		return nil, err
	}
	return c.store.Rules.Relationships(ctx, projectID, r.ID)
}

// Relate makes a relationship from the rule ref to another.
func (c *Catalog) Relate(ctx context.Context, projectID, ref string, in wire.RelationshipInput) (rule.Relationship, error) {
	var made rule.Relationship
	err := c.changes.Run(ctx, projectID, func(ch *change.Change) error {
		from, err := ch.Tx.Rules.Get(ctx, projectID, ref)
		if err != nil {
			return err
		}
		if err := mayBeRelated(ch.Project, from); err != nil {
			return err
		}
		made, err = newRelationship(ctx, ch, from, in)
		if err != nil {
			return err
		}
		if err := ch.Tx.Rules.InsertRelationship(ctx, projectID, ch.Version, made); err != nil {
			return err
		}
		return noteRelationship(ctx, ch, "created", made)
	})
	return made, err
}

// Unrelate removes a relationship that begins or ends at the rule ref.
func (c *Catalog) Unrelate(ctx context.Context, projectID, ref, id string) error {
	return c.changes.Run(ctx, projectID, func(ch *change.Change) error {
		r, err := ch.Tx.Rules.Get(ctx, projectID, ref)
		if err != nil {
			return err
		}
		rels, err := ch.Tx.Rules.Relationships(ctx, projectID, r.ID)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(rels, func(rel rule.Relationship) bool { return rel.ID == id })
		if i < 0 {
			return rule.NotFound("relationship", id)
		}
		from, err := ch.Tx.Rules.Get(ctx, projectID, rels[i].FromID)
		if err != nil {
			return err
		}
		if err := mayBeRelated(ch.Project, from); err != nil {
			return err
		}
		if err := ch.Tx.Rules.DeleteRelationship(ctx, projectID, ch.Version, r.ID, id); err != nil {
			return err
		}
		return noteRelationship(ctx, ch, "removed", rels[i])
	})
}

// mayBeRelated refuses to change what a rule in force overrides and the like where two people must agree to a rule.
func mayBeRelated(project rule.Project, from rule.Rule) error {
	if project.TwoPerson && (from.Status == rule.Approved || from.Status == rule.Effective) {
		return rule.Errorf(rule.CodeConflict,
			"project %q demands approval by a second person, and the rule is %s; relate a DRAFT rule and have it approved", project.ID, from.Status)
	}
	return nil
}

// newRelationship checks an input and gives it its place.
func newRelationship(ctx context.Context, ch *change.Change, from rule.Rule, in wire.RelationshipInput) (rule.Relationship, error) {
	var p rule.Problems
	kind, ok := rule.Parse(string(in.Kind), rule.RelationKinds)
	if !ok {
		p.Add("kind", "is %q; use one of %s", string(in.Kind), rule.Names(rule.RelationKinds))
	}
	permission := rule.Permission{AllowWeakening: in.AllowWeakening, Reason: in.Reason}
	if in.AllowWeakening && kind != rule.Overrides {
		p.Add("allow_weakening", "goes with OVERRIDES: no other relationship silences a rule")
		permission.AllowWeakening = false
	}
	permission.Check(&p, "the rule may silence one that is more severe or more binding")
	in.Reason = permission.Reason
	to, err := ch.Tx.Rules.Get(ctx, from.ProjectID, in.To)
	switch {
	case rule.CodeOf(err) == rule.CodeNotFound:
		p.Add("to", "there is no rule %q in project %q", in.To, from.ProjectID)
	case err != nil:
		return rule.Relationship{}, err
	case to.ID == from.ID:
		p.Add("to", "is the rule itself")
	}
	if err := p.Err("the relationship is invalid"); err != nil {
		return rule.Relationship{}, err
	}
	if kind == rule.Overrides || kind == rule.Supersedes {
		if err := noCircle(ctx, ch.Tx.Rules, from, to, kind); err != nil {
			return rule.Relationship{}, err
		}
	}
	if ways := from.Weakens(&to); kind == rule.Overrides && len(ways) > 0 {
		if err := permission.Refuse("%s would silence %s, which demands more: %s", from.Label(), to.Label(), strings.Join(ways, ", ")); err != nil {
			return rule.Relationship{}, err
		}
	}
	return rule.Relationship{
		ID: audit.NewID(), FromID: from.ID, ToID: to.ID, Kind: kind, Reason: in.Reason, AllowWeakening: in.AllowWeakening,
		CreatedAt: ch.At, CreatedBy: ch.By,
	}, nil
}

// noCircle refuses a relationship that would put a rule above itself.
func noCircle(ctx context.Context, rules store.RuleReader, from, to rule.Rule, kind rule.RelationKind) error {
	seen := map[string]bool{}
	next := []string{to.ID}
	for len(next) > 0 {
		id := next[0]
		next = next[1:]
		if id == from.ID {
			return rule.Errorf(rule.CodeConflict, "%s would make a circle: %s already stands above this rule", kind, to.ID)
		}
		if seen[id] {
			continue
		}
		seen[id] = true
		rels, err := rules.Relationships(ctx, from.ProjectID, id)
		if err != nil {
			return err
		}
		for _, rel := range rels {
			if rel.Kind == kind && rel.FromID == id {
				next = append(next, rel.ToID)
			}
		}
	}
	return nil
}

// relate makes the relationships that go out from r be exactly wanted, and reports whether that changed any. A nil wanted
// leaves them as they are. Those of a rule that two people must agree to stay.
func relate(ctx context.Context, ch *change.Change, r rule.Rule, wanted []wire.RelationshipInput) (changed bool, err error) {
	differ, err := relationsDiffer(ctx, ch, r, wanted)
	if err != nil || !differ {
		return false, err
	}
	if err := mayBeRelated(ch.Project, r); err != nil {
		return false, err
	}
	return relateAs(ctx, ch, r, wanted)
}

// relationsDiffer reports whether the relationships that go out from r are others than those wanted, if that is not nil.
func relationsDiffer(ctx context.Context, ch *change.Change, r rule.Rule, wanted []wire.RelationshipInput) (bool, error) {
	if wanted == nil {
		return false, nil
	}
	missing, gone, err := compareRelations(ctx, ch, r, wanted)
	return len(missing)+len(gone) > 0, err
}

// relateAs is relate for a rule that two people have agreed to.
func relateAs(ctx context.Context, ch *change.Change, r rule.Rule, wanted []wire.RelationshipInput) (changed bool, err error) {
	if wanted == nil {
		return false, nil
	}
	missing, gone, err := compareRelations(ctx, ch, r, wanted)
	if err != nil {
		return false, err
	}
	for _, rel := range gone {
		changed = true
		if err := ch.Tx.Rules.DeleteRelationship(ctx, r.ProjectID, ch.Version, r.ID, rel.ID); err != nil {
			return false, err
		}
		if err := noteRelationship(ctx, ch, "removed", rel); err != nil {
			return false, err
		}
	}
	for _, w := range missing {
		rel, err := newRelationship(ctx, ch, r, w)
		if err != nil {
			return false, atRelationship(slices.Index(wanted, w), err)
		}
		changed = true
		if err := ch.Tx.Rules.InsertRelationship(ctx, r.ProjectID, ch.Version, rel); err != nil {
			return false, err
		}
		if err := noteRelationship(ctx, ch, "created", rel); err != nil {
			return false, err
		}
	}
	return changed, nil
}

// compareRelations compares the relationships that go out from r with those wanted: what is missing, and what is not wanted.
func compareRelations(ctx context.Context, ch *change.Change, r rule.Rule, wanted []wire.RelationshipInput) (
	missing []wire.RelationshipInput, gone []rule.Relationship, err error,
) {
	have, err := outgoing(ctx, ch, r)
	if err != nil {
		return nil, nil, err
	}
	kept := map[string]bool{}
	for _, w := range wanted {
		i := slices.IndexFunc(have, func(rel rule.Relationship) bool { return sameRelationship(ctx, ch.Tx.Rules, rel, w, r.ProjectID) })
		if i < 0 {
			missing = append(missing, w)
			continue
		}
		kept[have[i].ID] = true
	}
	return missing, slices.DeleteFunc(have, func(rel rule.Relationship) bool { return kept[rel.ID] }), nil
}

// outgoing returns the relationships that go out from a rule.
func outgoing(ctx context.Context, ch *change.Change, r rule.Rule) ([]rule.Relationship, error) {
	list, err := ch.Tx.Rules.Relationships(ctx, r.ProjectID, r.ID)
	return slices.DeleteFunc(list, func(rel rule.Relationship) bool { return rel.FromID != r.ID }), err
}

// atRelationship puts the place of a relationship in its list before the fields of an invalid one.
func atRelationship(i int, err error) error {
	if rule.CodeOf(err) != rule.CodeInvalid {
		return err
	}
	var p rule.Problems
	p.AddAll(fmt.Sprintf("relationships[%d]", i), err)
	return p.Err("the rule is invalid")
}

func sameRelationship(ctx context.Context, rules store.RuleReader, rel rule.Relationship, w wire.RelationshipInput, projectID string) bool {
	kind, _ := rule.Parse(string(w.Kind), rule.RelationKinds)
	if rel.Kind != kind {
		return false
	}
	to, err := rules.Get(ctx, projectID, w.To)
	return err == nil && to.ID == rel.ToID && rel.Reason == strings.TrimSpace(w.Reason) && rel.AllowWeakening == w.AllowWeakening
}

func noteRelationship(ctx context.Context, ch *change.Change, action string, rel rule.Relationship) error {
	return ch.Note(ctx, audit.KindRelation, map[string]any{"action": action, "relationship": rel})
}
