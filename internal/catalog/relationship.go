package catalog

import (
	"context"
	"fmt"
	"slices"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Relationships lists the relationships from and to a rule, oldest first.
func (c *Catalog) Relationships(ctx context.Context, projectID, ref string) ([]rule.Relationship, error) {
	r, err := c.Get(ctx, projectID, ref)
	if err != nil {
		return nil, err
	}
	return c.store.Relationships(ctx, projectID, r.ID)
}

// Relate makes a relationship from the rule ref to another.
func (c *Catalog) Relate(ctx context.Context, projectID, ref string, in InputRelationship) (rule.Relationship, error) {
	var made rule.Relationship
	err := c.change(ctx, projectID, func(tx store.Tx, project rule.Project, cv int64) error {
		from, err := tx.Rule(ctx, projectID, ref)
		if err != nil {
			return err
		}
		if err := mayBeRelated(project, from); err != nil {
			return err
		}
		made, err = c.newRelationship(ctx, tx, from, in)
		if err != nil {
			return err
		}
		if err := tx.InsertRelationship(ctx, projectID, cv, made); err != nil {
			return err
		}
		return c.noteRelationship(ctx, tx, projectID, "created", made)
	})
	return made, err
}

// Unrelate removes a relationship that begins or ends at the rule ref.
func (c *Catalog) Unrelate(ctx context.Context, projectID, ref, id string) error {
	return c.change(ctx, projectID, func(tx store.Tx, project rule.Project, cv int64) error {
		r, err := tx.Rule(ctx, projectID, ref)
		if err != nil {
			return err
		}
		rels, err := tx.Relationships(ctx, projectID, r.ID)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(rels, func(rel rule.Relationship) bool { return rel.ID == id })
		if i < 0 {
			return rule.NotFound("relationship", id)
		}
		from, err := tx.Rule(ctx, projectID, rels[i].FromID)
		if err != nil {
			return err
		}
		if err := mayBeRelated(project, from); err != nil {
			return err
		}
		if err := tx.DeleteRelationship(ctx, projectID, cv, r.ID, id); err != nil {
			return err
		}
		return c.noteRelationship(ctx, tx, projectID, "removed", rels[i])
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
func (c *Catalog) newRelationship(ctx context.Context, tx store.Reader, from rule.Rule, in InputRelationship) (rule.Relationship, error) {
	var p rule.Problems
	kind, ok := rule.Parse(string(in.Kind), rule.RelationKinds)
	if !ok {
		p.Add("kind", "is %q; use one of %s", string(in.Kind), rule.Names(rule.RelationKinds))
	}
	if len(in.Reason) > rule.MaxRationale {
		p.Add("reason", "has %d bytes; at most %d are allowed", len(in.Reason), rule.MaxRationale)
	}
	to, err := tx.Rule(ctx, from.ProjectID, in.To)
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
		if err := noCircle(ctx, tx, from, to, kind); err != nil {
			return rule.Relationship{}, err
		}
	}
	return rule.Relationship{
		ID: audit.NewID(), FromID: from.ID, ToID: to.ID, Kind: kind, Reason: in.Reason,
		CreatedAt: c.instant(), CreatedBy: auth.ActorFrom(ctx).Name,
	}, nil
}

// noCircle refuses a relationship that would let a rule stand above itself.
func noCircle(ctx context.Context, tx store.Reader, from, to rule.Rule, kind rule.RelationKind) error {
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
		rels, err := tx.Relationships(ctx, from.ProjectID, id)
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
// leaves them as they are.
func (c *Catalog) relate(ctx context.Context, tx store.Tx, cv int64, project rule.Project, r rule.Rule, wanted []InputRelationship,
) (changed bool, err error) {
	if wanted == nil {
		return false, nil
	}
	have, err := tx.Relationships(ctx, r.ProjectID, r.ID)
	if err != nil {
		return false, err
	}
	have = slices.DeleteFunc(have, func(rel rule.Relationship) bool { return rel.FromID != r.ID })
	kept := map[string]bool{}
	var missing []InputRelationship
	for _, w := range wanted {
		i := slices.IndexFunc(have, func(rel rule.Relationship) bool { return sameRelationship(ctx, tx, rel, w, r.ProjectID) })
		if i < 0 {
			missing = append(missing, w)
			continue
		}
		kept[have[i].ID] = true
	}
	if len(missing) > 0 || len(kept) < len(have) {
		if err := mayBeRelated(project, r); err != nil {
			return false, err
		}
	}
	for _, rel := range have {
		if kept[rel.ID] {
			continue
		}
		changed = true
		if err := tx.DeleteRelationship(ctx, r.ProjectID, cv, r.ID, rel.ID); err != nil {
			return false, err
		}
		if err := c.noteRelationship(ctx, tx, r.ProjectID, "removed", rel); err != nil {
			return false, err
		}
	}
	for i, w := range missing {
		rel, err := c.newRelationship(ctx, tx, r, w)
		if err != nil {
			if code := rule.CodeOf(err); code != rule.CodeInvalid {
				return false, err
			}
			var p rule.Problems
			p.AddAll(fmt.Sprintf("relationships[%d]", i), err)
			return false, p.Err("the rule is invalid")
		}
		changed = true
		if err := tx.InsertRelationship(ctx, r.ProjectID, cv, rel); err != nil {
			return false, err
		}
		if err := c.noteRelationship(ctx, tx, r.ProjectID, "created", rel); err != nil {
			return false, err
		}
	}
	return changed, nil
}

func sameRelationship(ctx context.Context, tx store.Reader, rel rule.Relationship, w InputRelationship, projectID string) bool {
	kind, _ := rule.Parse(string(w.Kind), rule.RelationKinds)
	if rel.Kind != kind {
		return false
	}
	to, err := tx.Rule(ctx, projectID, w.To)
	return err == nil && to.ID == rel.ToID && rel.Reason == w.Reason
}

func (c *Catalog) noteRelationship(ctx context.Context, tx store.Tx, projectID, action string, rel rule.Relationship) error {
	return audit.Append(ctx, tx, projectID, audit.Record{
		Kind: audit.KindRelation, At: c.instant(), Actor: auth.ActorFrom(ctx).Name,
		Body: audit.JSON(map[string]any{"action": action, "relationship": rel}),
	})
}
