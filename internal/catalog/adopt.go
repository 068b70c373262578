package catalog

import (
	"context"
	"errors"
	"slices"

	"tenet/internal/change"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Adoption makes rules of what was found elsewhere.
type Adoption struct{ c *Catalog }

// Adoption returns the part of the catalog that makes rules of what was found elsewhere.
func (c *Catalog) Adoption() Adoption { return Adoption{c} }

// Adopt creates a rule from one that was found elsewhere, as Create does from an input, with an id and times of its own. It calls also
// in the same transaction; an error of also undoes the creation.
func (a Adoption) Adopt(ctx context.Context, projectID string, r rule.Rule, also func(tx store.Tx, made rule.Rule) error) (rule.Rule, error) {
	in := wire.RuleInput{ChangeNote: r.ChangeNote}
	r.WriteTo(&in)
	return a.c.create(ctx, projectID, in, also)
}

// Cite adds the sources that a rule lacks, and calls also in the same transaction, in which an error changes
// nothing. Where two people must agree, the sources wait as a revision. The error is not_found without the rule, conflict if it has ended
// or can name no more sources.
func (a Adoption) Cite(ctx context.Context, projectID, ref string, refs []rule.SourceRef, note string, also func(tx store.Tx, r rule.Rule) error) (rule.Rule, error) {
	return a.recite(ctx, projectID, ref, note, also, func(r *rule.Rule) error {
		if err := mayBeRevised(r.Status); err != nil {
			return err
		}
		for _, one := range refs {
			if !slices.Contains(r.SourceRefs, one) {
				r.SourceRefs = append(slices.Clip(r.SourceRefs), one)
			}
		}
		if len(r.SourceRefs) > rule.MaxListItems {
			return rule.Errorf(rule.CodeConflict, "the rule would have %d sources; at most %d are allowed", len(r.SourceRefs), rule.MaxListItems)
		}
		return nil
	})
}

// Uncite takes sources away from a rule, as [Adoption.Cite] adds them. A rule that has ended stays as it is.
func (a Adoption) Uncite(ctx context.Context, projectID, ref string, refs []rule.SourceRef, note string, also func(tx store.Tx, r rule.Rule) error) (rule.Rule, error) {
	return a.recite(ctx, projectID, ref, note, also, func(r *rule.Rule) error {
		if !r.Status.Ended() {
			r.SourceRefs = slices.DeleteFunc(slices.Clone(r.SourceRefs), func(one rule.SourceRef) bool { return slices.Contains(refs, one) })
		}
		return nil
	})
}

func (a Adoption) recite(ctx context.Context, projectID, ref, note string, also func(tx store.Tx, r rule.Rule) error, edit func(*rule.Rule) error) (rule.Rule, error) {
	return a.c.revise(ctx, projectID, ref, 0, "revised", func(ch *change.Change, r *rule.Rule) error {
		_, err := edited(ctx, ch, r, rule.Permission{Reason: note}, edit)
		if errors.Is(err, change.ErrUndo) { // nothing to revise, and yet something to store
			err = errWaits
		}
		if err != nil && !errors.Is(err, errWaits) {
			return err
		}
		if err := also(ch.Tx, *r); err != nil {
			return err
		}
		return err
	})
}

// Disown retires a rule that Adopt has made, and calls also in the same transaction. The error is conflict if the rule has been changed
// since, or is in force.
func (a Adoption) Disown(ctx context.Context, projectID, id, note string, also func(tx store.Tx) error) error {
	_, err := a.c.revise(ctx, projectID, id, 1, "moved to "+string(rule.Retired), func(ch *change.Change, r *rule.Rule) error {
		if r.Status != rule.Draft && r.Status != rule.Review {
			return rule.Errorf(rule.CodeConflict, "the rule is %s by now; retire it instead", r.Status)
		}
		r.Status, r.ChangeNote = rule.Retired, note
		return also(ch.Tx)
	})
	if rule.CodeOf(err) == rule.CodePrecondition {
		return rule.Errorf(rule.CodeConflict, "the rule has been changed since it was made of the candidate; retire it instead")
	}
	return err
}
