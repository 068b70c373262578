package conflict

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// system is the actor that ends conflicts whose condition has ended.
const system = "system"

// keeping stores the observations of a batch of a walk.
type keeping struct {
	b         *Conflicts
	tx        store.Tx
	projectID string
	rules     map[string]rule.Rule         // as they are now, by id
	conflicts map[[2]string]store.Conflict // by the ids of their rules, in order
	pairs     [][2]string                  // of the conflicts stored before, in the order of their creation
	settle    []string                     // rules whose alert may have ended
	room      *room                        // for suggestions
}

func pairOf(a, b string) [2]string { return [2]string{min(a, b), max(a, b)} }

// keep stores the observations about a batch of rules, and how far the walk has come. took is the time of the transaction, without the time that it waited for others.
func (b *Conflicts) keep(ctx context.Context, projectID, walk string, w store.ConflictWalk, batch []string, found []observation) (took time.Duration, err error) {
	strongestFirst(found)
	var begun time.Time
	err = b.cfg.Store.Update(ctx, func(tx store.Tx) error {
		begun = time.Now()
		k := &keeping{b: b, tx: tx, projectID: projectID, conflicts: map[[2]string]store.Conflict{}}
		if err := k.read(ctx, batch, found); err != nil {
			return err
		}
		var err error
		if k.room, err = k.newRoom(ctx, batch, found); err != nil {
			return err
		}
		for i := range found {
			if err := k.observation(ctx, &found[i]); err != nil {
				return err
			}
		}
		for _, pair := range k.pairs {
			if c, ok := k.conflicts[pair]; ok {
				if err := k.gone(ctx, pair, c); err != nil {
					return err
				}
			}
		}
		if err := k.room.finish(ctx); err != nil {
			return err
		}
		for _, id := range k.settle {
			if err := b.settle(ctx, tx, projectID, id); err != nil {
				return err
			}
		}
		return tx.Conflicts.PutWalk(ctx, projectID, walk, w)
	})
	return time.Since(begun), err
}

// strongestFirst puts the observations that may end conflicts first, and then the contradictions by their confidence.
func strongestFirst(found []observation) {
	slices.SortStableFunc(found, func(a, b observation) int {
		if (a.outcome == conflict) != (b.outcome == conflict) {
			if a.outcome == conflict {
				return 1
			}
			return -1
		}
		return cmp.Compare(b.confidence, a.confidence)
	})
}

// read reads the conflicts of a batch and the rules that are in them or were looked at.
func (k *keeping) read(ctx context.Context, batch []string, found []observation) error {
	list, err := k.tx.Conflicts.OfRules(ctx, k.projectID, batch)
	if err != nil {
		return err
	}
	var ids []string
	for _, c := range list {
		pair := pairOf(c.RuleID, c.OtherID)
		k.conflicts[pair], k.pairs = c, append(k.pairs, pair)
		ids = append(ids, c.RuleID, c.OtherID)
	}
	for i := range found {
		ids = append(ids, found[i].rule, found[i].other)
	}
	if len(ids) > 0 {
		k.rules, err = k.tx.Rules.GetMany(ctx, k.projectID, ids)
	}
	return err
}

// observation updates the conflict of two rules after their comparison. If one of them has changed since, it does nothing: another
// job will compare them.
func (k *keeping) observation(ctx context.Context, o *observation) error {
	if !k.says(o.rule, o.ruleHash) || !k.says(o.other, o.otherHash) {
		return nil
	}
	pair := pairOf(o.rule, o.other)
	c, had := k.conflicts[pair]
	same := had && unchanged(&c, o)
	if had && c.State == store.ConflictConfirmed {
		withdrawn, err := k.withdrawn(ctx, &c)
		if err != nil {
			return err
		}
		if withdrawn {
			return k.end(ctx, pair, c, store.ConflictRejected, "its relationship was removed")
		}
	}
	switch {
	case o.outcome == unknown:
		return nil
	case o.outcome == none && had && isOpen(&c) && (c.State == store.ConflictSuggested || !same || o.related):
		// If only the tests or the model have changed their answer, the decision of the person who confirmed it stays.
		return k.end(ctx, pair, c, store.ConflictClosed, "the rules do not contradict each other any more")
	case o.outcome == none || had && c.State == store.ConflictRejected && same && o.stated == nil:
		return nil
	case !had || !isOpen(&c) || o.stated != nil && c.State == store.ConflictSuggested:
		return k.open(ctx, pair, c, o)
	case same && c.Reason == o.reason && c.Confidence == o.confidence:
		return nil
	}
	if c.RuleID != o.rule { // the hashes go with the rules as the conflict has them
		o.ruleHash, o.otherHash = o.otherHash, o.ruleHash
	}
	c.FoundBy, c.Reason, c.Confidence, c.RuleHash, c.OtherHash = o.foundBy, o.reason, o.confidence, o.ruleHash, o.otherHash
	k.conflicts[pair] = c
	if c.State == store.ConflictSuggested {
		k.room.remove(c.ID, c.RuleID, c.OtherID)
		k.room.add(&c)
	}
	return k.tx.Conflicts.Update(ctx, c)
}

// says reports whether a rule is current and says what it did.
func (k *keeping) says(id, hash string) bool {
	r, ok := k.rules[id]
	return ok && current(&r) && r.ContentHash() == hash
}

// withdrawn reports whether the relationship of a confirmed conflict has been removed.
func (k *keeping) withdrawn(ctx context.Context, c *store.Conflict) (bool, error) {
	rels, err := k.tx.Rules.Relationships(ctx, k.projectID, c.RuleID)
	if err != nil {
		return false, err
	}
	for _, rel := range rels {
		if rel.Kind == rule.ConflictsWith && (rel.FromID == c.OtherID || rel.ToID == c.OtherID) {
			return false, nil
		}
	}
	return true, nil
}

// open stores a new conflict, or opens a closed one again, and raises an alert, unless there is no room for it. A conflict that a person has recorded is
// confirmed.
func (k *keeping) open(ctx context.Context, pair [2]string, had store.Conflict, o *observation) error {
	if had.State == store.ConflictSuggested { // which a person has recorded now
		k.room.remove(had.ID, had.RuleID, had.OtherID)
	}
	if o.stated == nil {
		if fits, err := k.room.admit(ctx, o); !fits || err != nil {
			return err
		}
	}
	c := store.Conflict{
		ProjectID: k.projectID, ID: had.ID, RuleID: o.rule, OtherID: o.other, State: store.ConflictSuggested, FoundBy: o.foundBy, Reason: o.reason,
		Confidence: o.confidence, RuleHash: o.ruleHash, OtherHash: o.otherHash, DetectedAt: k.b.instant(),
	}
	if o.stated != nil {
		at := o.stated.CreatedAt
		c.State, c.DetectedAt, c.DecidedAt, c.DecidedBy = store.ConflictConfirmed, at, &at, o.stated.CreatedBy
	}
	write := k.tx.Conflicts.Update
	if c.ID == "" {
		c.ID, write = audit.NewID(), k.tx.Conflicts.Insert
	}
	if err := write(ctx, c); err != nil {
		return err
	}
	k.conflicts[pair] = c
	if c.State == store.ConflictSuggested {
		k.room.add(&c)
	}
	return k.b.raise(ctx, k.tx, &c, k.rules)
}

// raise raises the alert about an open conflict, unless alerts are off.
func (b *Conflicts) raise(ctx context.Context, tx store.Tx, c *store.Conflict, rules map[string]rule.Rule) error {
	if b.cfg.Raise == nil {
		return nil
	}
	one, other := rules[c.RuleID], rules[c.OtherID]
	acted := rule.ActedBy{Actor: one.UpdatedBy, At: one.UpdatedAt}
	switch {
	case c.DecidedBy != "" && c.DecidedAt != nil: // a person has recorded it
		acted = rule.ActedBy{Actor: c.DecidedBy, At: *c.DecidedAt}
	case other.UpdatedAt.After(one.UpdatedAt):
		acted = rule.ActedBy{Actor: other.UpdatedBy, At: other.UpdatedAt}
	}
	var by []rule.ActedBy
	if acted.Actor != "" {
		by = append(by, acted)
	}
	return b.cfg.Raise(ctx, tx, rule.Alert{
		ID: audit.NewID(), ProjectID: c.ProjectID, Type: rule.ConflictDetected, Status: rule.AlertActive, RuleID: c.RuleID, CreatedAt: c.DetectedAt,
		Message: fmt.Sprintf("%s conflicts with %s: %s", one.Label(), other.Label(), c.Reason),
		Metadata: map[string]any{
			"other_rule_id": c.OtherID, "reason": c.Reason, "confidence": c.Confidence, "conflict_id": c.ID,
		},
		Acted: by,
	})
}

// gone closes a conflict of which a rule is not current any more.
func (k *keeping) gone(ctx context.Context, pair [2]string, c store.Conflict) error {
	if c.State == store.ConflictClosed {
		return nil
	}
	for _, id := range []string{c.RuleID, c.OtherID} {
		if r, ok := k.rules[id]; ok && !current(&r) {
			return k.end(ctx, pair, c, store.ConflictClosed, fmt.Sprintf("%s is %s", r.Label(), r.Status))
		}
	}
	return nil
}

// end closes or rejects a conflict whose condition has ended, and removes the relationship that confirming it has made.
func (k *keeping) end(ctx context.Context, pair [2]string, c store.Conflict, state, note string) error {
	now := k.b.instant()
	switch c.State {
	case store.ConflictConfirmed:
		if err := k.unrelate(ctx, &c); err != nil {
			return err
		}
	case store.ConflictSuggested:
		k.room.remove(c.ID, c.RuleID, c.OtherID)
	}
	c.State, c.DecidedAt, c.DecidedBy, c.Note, c.RelationshipID = state, &now, system, note, ""
	k.conflicts[pair] = c
	k.settle = append(k.settle, c.RuleID)
	return k.tx.Conflicts.Update(ctx, c)
}

// unrelate removes the relationship that confirming a conflict has made, if it still exists.
func (k *keeping) unrelate(ctx context.Context, c *store.Conflict) error {
	return k.unrelateAs(ctx, c, system)
}

func (k *keeping) unrelateAs(ctx context.Context, c *store.Conflict, actor string) error {
	rels, err := k.tx.Rules.Relationships(ctx, k.projectID, c.RuleID)
	if err != nil {
		return err
	}
	for _, rel := range rels {
		if rel.ID != c.RelationshipID {
			continue
		}
		cv, err := k.tx.Projects.RaiseCorpus(ctx, k.projectID)
		if err != nil {
			return err
		}
		if err := k.tx.Rules.DeleteRelationship(ctx, k.projectID, cv, c.RuleID, rel.ID); err != nil {
			return err
		}
		return noteRelationship(ctx, k.tx, k.projectID, "removed", actor, k.b.instant(), rel)
	}
	return nil
}

// noteRelationship records in the audit chain that a relationship was made or removed.
func noteRelationship(ctx context.Context, tx store.Tx, projectID, action, actor string, at time.Time, rel rule.Relationship) error {
	return audit.Append(ctx, tx, projectID, audit.Record{
		Kind: audit.KindRelation, At: at, Actor: actor, Body: audit.JSON(map[string]any{"action": action, "relationship": rel}),
	})
}
