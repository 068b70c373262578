package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func testClose(t *testing.T, f *fixture) {
	other := f.open(t)
	running, finish := make(chan struct{}), make(chan struct{})
	updated, closed := make(chan error, 1), make(chan error, 1)
	go func() {
		updated <- f.s.Update(f.ctx, func(tx store.Tx) error {
			close(running)
			<-finish
			_, err := tx.Projects.RaiseCorpus(f.ctx, "p")
			return err
		})
	}()
	<-running
	go func() { closed <- f.s.Close(); close(closed) }()
	select {
	case err := <-closed:
		t.Errorf("Close returned (%v) while a transaction was running", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(finish)
	if err := <-updated; err != nil {
		t.Errorf("the transaction that was running: %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("close: %v", err)
	}
	if versions, err := other.Projects.CorpusVersions(f.ctx); err != nil || versions["p"] != 1 {
		t.Errorf("the transaction's write: %v, %v", versions, err)
	}
	code(t, "update after close", f.s.Update(f.ctx, func(store.Tx) error { return nil }), rule.CodeUnavailable)
	_, err := f.s.Projects.Get(f.ctx, "p")
	code(t, "read after close", err, rule.CodeUnavailable)
	_, err = f.s.Rules.Changes(f.ctx, "p", 0, func(store.RuleState) error { return nil })
	code(t, "changes after close", err, rule.CodeUnavailable)
	code(t, "ping after close", f.s.Ping(f.ctx), rule.CodeUnavailable)
}

func testTxAfterwards(t *testing.T, f *fixture) {
	var kept store.Tx
	f.update(func(tx store.Tx) error { kept = tx; return nil })
	if _, err := kept.Projects.RaiseCorpus(f.ctx, "p"); err == nil {
		t.Error("a transaction could be used after its callback had returned")
	}
	if _, err := kept.Projects.List(f.ctx); err == nil {
		t.Error("a transaction could be read from after its callback had returned")
	}
	if versions, err := f.s.Projects.CorpusVersions(f.ctx); err != nil || versions["p"] != 0 {
		t.Errorf("corpus versions %v, %v; want p at 0", versions, err)
	}
}

// testCancelMidway cancels a transaction that has written: even if the callback ignores it, no write may stay.
func testCancelMidway(t *testing.T, f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	err := f.s.Update(ctx, func(tx store.Tx) error {
		if err := tx.Projects.Create(ctx, project("q")); err != nil {
			return err
		}
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if _, err := f.s.Projects.Get(f.ctx, "q"); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("the project of a cancelled transaction: %v", err)
	}
	f.update(func(tx store.Tx) error { return tx.Projects.Create(f.ctx, project("q")) }) // the store still works
}

// testCancelWaiting waits for a lock that another transaction holds, on the same handle and on another.
func testCancelWaiting(t *testing.T, f *fixture) {
	handles := f.both(t)
	f.update(func(tx store.Tx) error {
		if _, err := tx.Projects.RaiseCorpus(f.ctx, "p"); err != nil {
			return err
		}
		for i, s := range handles {
			ctx, cancel := context.WithTimeout(f.ctx, 50*time.Millisecond)
			begun := time.Now()
			err := s.Update(ctx, func(tx store.Tx) error {
				_, err := tx.Projects.RaiseCorpus(ctx, "p")
				return err
			})
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("handle %d: %v, want the context's error", i, err)
			}
			if waited := time.Since(begun); waited > 3*time.Second {
				t.Errorf("handle %d: waited %v after the deadline of 50ms", i, waited)
			}
		}
		return nil
	})
	if versions, err := f.s.Projects.CorpusVersions(f.ctx); err != nil || versions["p"] != 1 {
		t.Errorf("corpus versions %v, %v; want p at 1", versions, err)
	}
}

// testQueue lets many transactions wait for one: readers must not wait with them.
func testQueue(t *testing.T, f *fixture) {
	var wg sync.WaitGroup
	f.update(func(tx store.Tx) error {
		if _, err := tx.Projects.RaiseCorpus(f.ctx, "p"); err != nil {
			return err
		}
		for range 64 {
			wg.Go(func() {
				err := f.s.Update(f.ctx, func(tx store.Tx) error {
					_, err := tx.Projects.RaiseCorpus(f.ctx, "p")
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(200 * time.Millisecond) // until they queue
		ctx, cancel := context.WithTimeout(f.ctx, 5*time.Second)
		defer cancel()
		if versions, err := f.s.Projects.CorpusVersions(ctx); err != nil || versions["p"] != 0 {
			t.Errorf("reading beside 64 waiting transactions: %v, %v", versions, err)
		}
		if _, err := f.s.Rules.Changes(ctx, "p", 0, func(store.RuleState) error { return nil }); err != nil {
			t.Errorf("changes beside 64 waiting transactions: %v", err)
		}
		return nil
	})
	wg.Wait()
	if versions, err := f.s.Projects.CorpusVersions(f.ctx); err != nil || versions["p"] != 65 {
		t.Errorf("corpus versions %v, %v; want p at 65", versions, err)
	}
}
