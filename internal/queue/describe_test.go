package queue_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"tenet/internal/auth"
	"tenet/internal/queue"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// unconfirmed is a database in which evaluations wait and nothing else.
type unconfirmed struct {
	store.QueueReader

	list []store.Waiting
}

func (u *unconfirmed) Versions(context.Context, string) (map[string]int64, error) {
	return map[string]int64{}, nil
}

func (u *unconfirmed) Marks(context.Context, string, int) ([]store.QueueMark, error) { return nil, nil }

func (u *unconfirmed) Unconfirmed(context.Context, string, time.Time, int) ([]store.Waiting, error) {
	return u.list, nil
}

func none(context.Context, string, int) ([]store.Waiting, error)              { return nil, nil }
func noneAt(context.Context, string, time.Time, int) ([]store.Waiting, error) { return nil, nil }
func (u *unconfirmed) RulesInReview(c context.Context, p string, n int) ([]store.Waiting, error) {
	return none(c, p, n)
}

func (u *unconfirmed) PendingRevisions(c context.Context, p string, n int) ([]store.Waiting, error) {
	return none(c, p, n)
}

func (u *unconfirmed) PendingCandidates(c context.Context, p string, n int) ([]store.Waiting, error) {
	return none(c, p, n)
}

func (u *unconfirmed) SuggestedConflicts(c context.Context, p string, n int) ([]store.Waiting, error) {
	return none(c, p, n)
}

func (u *unconfirmed) WaiversToApprove(c context.Context, p string, at time.Time, n int) ([]store.Waiting, error) {
	return noneAt(c, p, at, n)
}

func (u *unconfirmed) PendingApprovals(c context.Context, p string, at time.Time, n int) ([]store.Waiting, error) {
	return noneAt(c, p, at, n)
}

// Records do not change, so what evaluations were about is read once, many at a time, and again only when a record is removed.
func TestEvaluationsAreDescribedOnce(t *testing.T) {
	db := &unconfirmed{}
	for i := range 300 {
		db.list = append(db.list, store.Waiting{ProjectID: []string{"a", "b"}[i%2], ID: fmt.Sprint(i), Seq: int64(i)})
	}
	var mu sync.Mutex
	calls, read := 0, 0
	q := queue.New(queue.Config{
		Now: time.Now, Store: queue.Store{Queue: db}, Snapshots: func(context.Context, string, int) ([]queue.Snapshot, error) { return nil, nil },
		Describe: func(_ context.Context, projectID string, seqs []int64) (map[int64]queue.Description, error) {
			mu.Lock()
			defer mu.Unlock()
			calls, read = calls+1, read+len(seqs)
			found := map[int64]queue.Description{}
			for _, seq := range seqs {
				title := fmt.Sprintf("Pay invoice-%d of %s", seq, projectID)
				if seq == 107 && db.list[107].Pruned {
					title = "Removed"
				}
				found[seq] = queue.Description{Title: title}
			}
			return found, nil
		},
	})
	ctx := auth.WithActor(t.Context(), auth.Local("local"))
	find := func(words string) wire.Queue {
		t.Helper()
		list, err := q.List(ctx, store.AllProjects, queue.Filter{Words: words, Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if found := find("INVOICE-107 pay"); found.Total != 1 || found.Items[0].Title != "Pay invoice-107 of b" || found.Items[0].ProjectID != "b" {
		t.Errorf("found %+v", found.Items)
	}
	if read != 300 || calls > 10 {
		t.Errorf("%d records were read in %d calls", read, calls)
	}
	if found := find("pay"); found.Total != 300 || len(found.Items) != 5 || read != 300 {
		t.Errorf("then %d are found, and %d records have been read", found.Total, read)
	}
	db.list[107].Pruned = true
	if found := find("removed"); found.Total != 1 || read != 301 {
		t.Errorf("after the record is removed %d are found, and %d records have been read", found.Total, read)
	}
}
