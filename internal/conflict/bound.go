package conflict

import (
	"context"
	"maps"
	"slices"

	"tenet/internal/store"
)

// Bounds on the suggested conflicts of a rule and of a project. Of more, the ones with the highest confidence are kept, and the others are counted:
// nobody reads them all, and they come back once there is room and the rule is compared again. What people have decided does not count.
const (
	MaxOfRule    = 10
	MaxOfProject = 5000
)

// dropBatch is how many suggestions beyond the bound of a project one transaction drops.
const dropBatch = 1000

// room decides which suggestions are kept when the observations of a batch are stored.
type room struct {
	k      *keeping
	batch  []string
	total  int // suggested conflicts of the project
	of     map[string][]store.Suggestion
	lowest *store.Suggestion // the weakest of the project, if it was read since the last change
	left   map[[2]string]leftOut
}

// leftOut is a pair of rules of which no conflict is stored although they contradict each other.
type leftOut struct {
	by      string // the rule that brought it
	dropped bool   // it was stored before
}

func (k *keeping) newRoom(ctx context.Context, batch []string, found []observation) (*room, error) {
	total, err := k.tx.Conflicts.Suggested(ctx, k.projectID)
	if err != nil {
		return nil, err
	}
	r := &room{k: k, batch: batch, total: total, of: map[string][]store.Suggestion{}, left: map[[2]string]leftOut{}}
	for _, id := range batch {
		r.of[id] = nil // all of a batch were read
	}
	for _, pair := range k.pairs {
		if c := k.conflicts[pair]; c.State == store.ConflictSuggested {
			r.list(&c)
		}
	}
	return r, r.readOthers(ctx, found)
}

// readOthers reads the suggestions of the rules that contradict one of the batch, all at once.
func (r *room) readOthers(ctx context.Context, found []observation) error {
	others := map[string]bool{}
	for i := range found {
		o := &found[i]
		if o.outcome != conflict || o.stated != nil {
			continue
		}
		for _, id := range [...]string{o.rule, o.other} {
			if _, ok := r.of[id]; !ok {
				r.of[id] = nil
				others[id] = true
			}
		}
	}
	if len(others) == 0 {
		return nil
	}
	list, err := r.k.tx.Conflicts.SuggestedOf(ctx, r.k.projectID, slices.Sorted(maps.Keys(others)))
	for _, s := range list {
		for _, id := range [...]string{s.RuleID, s.OtherID} {
			if others[id] {
				r.of[id] = append(r.of[id], s)
			}
		}
	}
	return err
}

// list notes a suggestion with those of its rules that are known.
func (r *room) list(c *store.Conflict) {
	for _, id := range []string{c.RuleID, c.OtherID} {
		if list, ok := r.of[id]; ok {
			r.of[id] = append(list, store.Suggestion{ID: c.ID, RuleID: c.RuleID, OtherID: c.OtherID, Confidence: c.Confidence})
		}
	}
}

// add notes that a suggestion is stored, and remove that one is not suggested any more.
func (r *room) add(c *store.Conflict) {
	r.total++
	r.lowest = nil
	delete(r.left, pairOf(c.RuleID, c.OtherID))
	r.list(c)
}

func (r *room) remove(id, ruleID, otherID string) {
	r.total--
	r.lowest = nil
	for _, side := range []string{ruleID, otherID} {
		if list, ok := r.of[side]; ok {
			r.of[side] = slices.DeleteFunc(list, func(s store.Suggestion) bool { return s.ID == id })
		}
	}
}

// weakest returns the suggestion of a list with the least confidence, the last of equals; nil without one.
func weakest(list []store.Suggestion) *store.Suggestion {
	var least *store.Suggestion
	for i := range list {
		if least == nil || list[i].Confidence <= least.Confidence {
			least = &list[i]
		}
	}
	return least
}

// admit reports whether a contradiction may be suggested, and drops weaker suggestions that it takes the place of.
func (r *room) admit(ctx context.Context, o *observation) (bool, error) {
	c := &r.k.b.cfg
	full := r.total >= c.MaxOfProject
	if full {
		if err := r.readLowest(ctx); err != nil || o.confidence <= r.lowest.Confidence {
			return r.leave(o), err
		}
	}
	var drop []store.Suggestion
	for _, id := range r.batchFirst(o) {
		list, err := r.suggestedOf(ctx, id)
		if err != nil {
			return false, err
		}
		list = slices.DeleteFunc(slices.Clone(list), func(s store.Suggestion) bool { return slices.Contains(drop, s) })
		if len(list) < c.MaxOfRule {
			continue
		}
		least := weakest(list)
		if o.confidence <= least.Confidence {
			return r.leave(o), nil
		}
		drop = append(drop, *least)
	}
	if full && len(drop) == 0 {
		drop = append(drop, *r.lowest)
	}
	return true, r.drop(ctx, drop)
}

// readLowest reads the weakest suggestion of the project, which has some.
func (r *room) readLowest(ctx context.Context) error {
	if r.lowest != nil {
		return nil
	}
	list, err := r.k.tx.Conflicts.Weakest(ctx, r.k.projectID, 1)
	r.lowest = weakest(list)
	if r.lowest == nil { // none is stored: nothing is weaker
		r.lowest = &store.Suggestion{Confidence: 1}
	}
	return err
}

// batchFirst returns the rules of an observation, one of the batch first: its suggestions are known.
func (r *room) batchFirst(o *observation) [2]string {
	if slices.Contains(r.batch, o.rule) {
		return [2]string{o.rule, o.other}
	}
	return [2]string{o.other, o.rule}
}

func (r *room) suggestedOf(ctx context.Context, id string) ([]store.Suggestion, error) {
	if list, ok := r.of[id]; ok {
		return list, nil
	}
	list, err := r.k.tx.Conflicts.SuggestedOf(ctx, r.k.projectID, []string{id})
	r.of[id] = list
	return list, err
}

// leave counts a contradiction that is not suggested.
func (r *room) leave(o *observation) bool {
	r.left[pairOf(o.rule, o.other)] = leftOut{by: o.rule}
	return false
}

// drop removes suggestions, and counts them.
func (r *room) drop(ctx context.Context, list []store.Suggestion) error {
	ids := make([]string, len(list))
	for i, s := range list {
		pair := pairOf(s.RuleID, s.OtherID)
		ids[i], r.left[pair] = s.ID, leftOut{by: s.RuleID, dropped: true}
		delete(r.k.conflicts, pair)
		r.remove(s.ID, s.RuleID, s.OtherID)
		r.k.settle = append(r.k.settle, s.RuleID)
	}
	return r.k.tx.Conflicts.Drop(ctx, r.k.projectID, ids)
}

// finish drops what is beyond the bounds, as what was stored before there were any, and stores the counts.
func (r *room) finish(ctx context.Context) error {
	c := &r.k.b.cfg
	for _, id := range r.batch {
		for len(r.of[id]) > c.MaxOfRule {
			if err := r.drop(ctx, []store.Suggestion{*weakest(r.of[id])}); err != nil {
				return err
			}
		}
	}
	if over := r.total - c.MaxOfProject; over > 0 {
		list, err := r.k.tx.Conflicts.Weakest(ctx, r.k.projectID, min(over, dropBatch))
		if err != nil {
			return err
		}
		if err := r.drop(ctx, list); err != nil {
			return err
		}
	}
	counts := map[string]store.LeftOut{}
	for pair, l := range r.left {
		for _, id := range pair {
			if !l.dropped && !slices.Contains(r.batch, id) {
				continue // it counts when it is compared itself
			}
			n := counts[id]
			n.Pairs++
			if id == l.by {
				n.Brought++
			}
			counts[id] = n
		}
	}
	return r.k.tx.Conflicts.PutLeftOut(ctx, r.k.projectID, r.batch, counts)
}
