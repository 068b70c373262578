package audit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// createProjects creates the projects p0, p1 and so on.
func createProjects(t testing.TB, s store.Updater, n int) {
	t.Helper()
	err := s.Update(t.Context(), func(tx store.Tx) error {
		for i := range n {
			if err := tx.Projects.Create(t.Context(), rule.Project{ID: fmt.Sprintf("p%d", i), Name: "p"}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// lockChain keeps the chain of a project locked until release is called.
func lockChain(t *testing.T, s store.Updater, projectID string) (release func()) {
	t.Helper()
	locked, ended := make(chan error, 1), make(chan struct{})
	var holding sync.WaitGroup
	holding.Go(func() {
		err := s.Update(t.Context(), func(tx store.Tx) error {
			if _, err := tx.Audit.Lock(t.Context(), projectID); err != nil {
				return err
			}
			locked <- nil
			<-ended
			return nil
		})
		locked <- err
	})
	if err := <-locked; err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() {
		close(ended)
		holding.Wait()
	})
}

func TestALockedChainStallsNoOtherProject(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		if s.Serial() {
			return // whoever locks a chain here locks the whole database
		}
		createProjects(t, s, 2)
		w := audit.NewWriter(s)
		defer w.Close()
		release := lockChain(t, s, "p0")
		defer release()
		stalled := make(chan error, 1)
		go func() {
			r := record(0)
			r.ProjectID = "p0"
			stalled <- w.Append(t.Context(), r)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for n := range 20 {
			r := record(n)
			r.ProjectID = "p1"
			if err := w.Append(ctx, r); err != nil {
				t.Fatalf("record %d of another project: %v", n, err)
			}
		}
		select {
		case err := <-stalled:
			t.Fatalf("the locked chain got a record: %v", err)
		default:
		}
		release()
		if err := <-stalled; err != nil {
			t.Errorf("after the lock: %v", err)
		}
	})
}

func TestAWriterSaysForHowLongNothingWasWritten(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		createProjects(t, s, 1)
		w := audit.NewWriter(s)
		defer w.Close()
		release := lockChain(t, s, "p0")
		defer release()
		done := make(chan error, 1)
		go func() {
			r := record(0)
			r.ProjectID = "p0"
			done <- w.Append(t.Context(), r)
		}()
		for limit := time.Now().Add(time.Minute); w.Stalled() < 50*time.Millisecond; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("stalled for %v while the chain is locked", w.Stalled())
			}
		}
		release()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if left := w.Stalled(); left != 0 {
			t.Errorf("stalled for %v although no record waits", left)
		}
	})
}

// A batch holds records of many projects on a serial database. The faults of one project leave the records of the others.
func TestAFaultyProjectHarmsNoOther(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		const projects, records = 6, 5
		createProjects(t, s, projects)
		w := audit.NewWriter(s)
		defer w.Close()
		release := lockChain(t, s, "p0") // so that the records wait together
		defer release()
		broken := errors.New("broken")
		var wg sync.WaitGroup
		for n := range projects * records {
			r := record(n)
			r.ProjectID = fmt.Sprintf("p%d", n%projects)
			var want error
			if n%projects == 3 {
				want = broken
				r.Also = func(context.Context, store.Tx) error { return broken }
			}
			wg.Go(func() {
				if err := w.Append(t.Context(), r); !errors.Is(err, want) {
					t.Errorf("record of %s: %v, want %v", r.ProjectID, err, want)
				}
			})
		}
		awaitWaiting(t, w, projects*records)
		release()
		wg.Wait()
		for n := range projects {
			want := int64(records)
			if n == 3 {
				want = 0
			}
			id := fmt.Sprintf("p%d", n)
			report, err := audit.Verify(t.Context(), s.Audit, id, wire.AuditHead{})
			if err != nil || !report.OK() || report.Head.Seq != want {
				t.Errorf("chain of %s: %+v, %v; want %d entries", id, report, err, want)
			}
		}
	})
}

// awaitWaiting waits until the callers of n records wait.
func awaitWaiting(t *testing.T, w *audit.Writer, n int) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); w.Waiting() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%d records wait, not %d", w.Waiting(), n)
		}
	}
}

type callerKey struct{}

// What is written with a record sees the values of its own caller's context, and outlives the context.
func TestRecordsCarryTheContextOfTheirCaller(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		w := audit.NewWriter(s)
		defer w.Close()
		release := lockChain(t, s, "p")
		defer release()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for n := range 10 {
			wg.Go(func() {
				r := record(n)
				r.Also = func(ctx context.Context, tx store.Tx) error {
					if got := ctx.Value(callerKey{}); got != n {
						t.Errorf("record %d is written with the value %v", n, got)
					}
					if _, ok := ctx.Deadline(); !ok || ctx.Err() != nil {
						t.Errorf("record %d has no time limit, or has ended: %v", n, ctx.Err())
					}
					_, err := tx.Projects.Get(ctx, "p")
					return err
				}
				if err := w.Append(context.WithValue(ctx, callerKey{}, n), r); !errors.Is(err, context.Canceled) {
					t.Errorf("record %d: %v, want that its caller has gone", n, err)
				}
			})
		}
		awaitWaiting(t, w, 10)
		cancel()
		wg.Wait()
		release()
		w.Close()
		if report := verify(t, s, wire.AuditHead{}); !report.OK() || report.Head.Seq != 10 {
			t.Errorf("report %+v, want 10 entries", report)
		}
	})
}
