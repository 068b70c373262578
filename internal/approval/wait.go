package approval

import (
	"context"
	"slices"
	"sync"
	"time"

	"tenet/internal/poll"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// waiting holds who waits for changes of approvals.
type waiting struct {
	mu sync.Mutex
	// all are the waiters by project and approval.
	all map[string]map[string][]*waiter
}

// waiter waits for an approval to have another revision.
type waiter struct {
	revision int
	changed  chan struct{} // of capacity 1
}

func (w *waiting) add(projectID, id string, revision int) *waiter {
	one := &waiter{revision, make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[string]map[string][]*waiter{}
	}
	if w.all[projectID] == nil {
		w.all[projectID] = map[string][]*waiter{}
	}
	w.all[projectID][id] = append(w.all[projectID][id], one)
	return one
}

func (w *waiting) remove(projectID, id string, one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := slices.DeleteFunc(w.all[projectID][id], func(other *waiter) bool { return other == one })
	if w.all[projectID][id] = list; len(list) == 0 {
		delete(w.all[projectID], id)
	}
	if len(w.all[projectID]) == 0 {
		delete(w.all, projectID)
	}
}

// ids are the approvals that somebody waits for, by project.
func (w *waiting) ids() map[string][]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make(map[string][]string, len(w.all))
	for project, approvals := range w.all {
		for id := range approvals {
			list[project] = append(list[project], id)
		}
	}
	return list
}

// wake wakes the waiters of an approval whose revision is not the present one; 0 wakes all.
func (w *waiting) wake(projectID, id string, revision int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.all[projectID][id] {
		if one.revision == revision {
			continue
		}
		select {
		case one.changed <- struct{}{}:
		default: // a value waits already
		}
	}
}

// Changed has the waiters of this node look at an approval that a transaction of this node has changed.
func (s *Approvals) Changed(projectID, id string) { s.waiting.wake(projectID, id, 0) }

// maxFollowed bounds the approvals of one query.
const maxFollowed = 1000

// Run follows the changes that other nodes make of approvals for which somebody waits here, until ctx ends: one query a project and round for
// all who wait, and none while nobody does.
func (s *Approvals) Run(ctx context.Context) {
	poll.Every(ctx, s.cfg.Poll, s.cfg.Logger, "cannot follow the approvals of other nodes", s.follow)
}

func (s *Approvals) follow(ctx context.Context) error {
	for project, ids := range s.waiting.ids() {
		for part := range slices.Chunk(ids, maxFollowed) {
			revisions, err := s.cfg.Store.Approvals.Revisions(ctx, project, part)
			if err != nil {
				return err
			}
			for id, revision := range revisions {
				s.waiting.wake(project, id, revision)
			}
		}
	}
	return nil
}

// Wait returns an approval once it is not pending any more, or as it is when the time is over.
func (s *Approvals) Wait(ctx context.Context, projectID, id string, most time.Duration) (rule.Approval, error) {
	last, err := s.Get(ctx, projectID, id)
	if err != nil || last.State != rule.ApprovalPending {
		return last, err
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err = s.Watch(ctx, projectID, id, func(a rule.Approval) { last = a })
	if err != nil && ctx.Err() != nil {
		return last, nil // the time is over
	}
	return last, err
}

// Watch calls changed with an approval, and again after each change, until it is not pending any more. It returns the error of ctx if that
// ends before.
func (s *Approvals) Watch(ctx context.Context, projectID, id string, changed func(rule.Approval)) error {
	sent := 0
	for {
		a, err := s.read(ctx, projectID, id)
		if err != nil {
			return err
		}
		lapsed := a.Lapsed(s.cfg.Now())
		if a.Revision != sent || lapsed {
			sent = a.Revision
			changed(s.answer(ctx, &a))
		}
		if a.State != rule.ApprovalPending || lapsed {
			return nil
		}
		if err := s.pause(ctx, &a); err != nil {
			return err
		}
	}
}

// pause waits until an approval has changed, its time has run out, or ctx has ended.
func (s *Approvals) pause(ctx context.Context, a *store.ApprovalRecord) error {
	one := s.waiting.add(a.ProjectID, a.ID, a.Revision)
	defer s.waiting.remove(a.ProjectID, a.ID, one)
	ends := time.NewTimer(a.ExpiresAt.Sub(s.cfg.Now()) + time.Millisecond)
	defer ends.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-one.changed:
	case <-ends.C:
	}
	return nil
}
