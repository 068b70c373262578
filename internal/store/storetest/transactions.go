package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func testRollback(t *testing.T, f *fixture) {
	stop := errors.New("stop")
	err := f.s.Update(f.ctx, func(tx store.Tx) error {
		if err := tx.Rules.Insert(f.ctx, 1, []rule.Rule{newRule(1, nil)}); err != nil {
			return err
		}
		return stop
	})
	if err != stop { //nolint:errorlint // the contract is that the very error comes back
		t.Errorf("error %v, want the callback's own", err)
	}
	if _, err := f.s.Rules.Get(f.ctx, "p", "R-1"); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("the rule of a failed transaction: %v", err)
	}
}

func testPanic(t *testing.T, f *fixture) {
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = f.s.Update(f.ctx, func(tx store.Tx) error {
			if err := tx.Rules.Insert(f.ctx, 1, []rule.Rule{newRule(1, nil)}); err != nil {
				return err
			}
			panic("boom")
		})
	}()
	if _, err := f.s.Rules.Get(f.ctx, "p", "R-1"); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("the rule of a panicked transaction: %v", err)
	}
	f.insert(newRule(1, nil)) // the store still works
}

func testOwnWrites(t *testing.T, f *fixture) {
	f.update(func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(f.ctx, "p")
		if err != nil {
			return err
		}
		if err := tx.Rules.Insert(f.ctx, cv, []rule.Rule{newRule(1, nil)}); err != nil {
			return err
		}
		if _, err := tx.Rules.Get(f.ctx, "p", "R-1"); err != nil {
			t.Errorf("inside: %v", err)
		}
		if _, err := f.s.Rules.Get(f.ctx, "p", "R-1"); rule.CodeOf(err) != rule.CodeNotFound {
			t.Errorf("outside, before the commit: %v", err)
		}
		return nil
	})
}

func testCancel(t *testing.T, f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	err := f.s.Update(ctx, func(tx store.Tx) error { return tx.Projects.Create(ctx, project("q")) })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("update: %v, want the context's error", err)
	}
	if _, err := f.s.Projects.List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("read: %v, want the context's error", err)
	}
	if _, err := f.s.Projects.Get(f.ctx, "q"); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("the project of a cancelled update: %v", err)
	}
	// The transaction ends with its context, whichever context its statements have: that of one may be a child that ends a moment later.
	ctx, cancel = context.WithCancel(f.ctx)
	err = f.s.Update(ctx, func(tx store.Tx) error {
		cancel()
		for {
			if _, err := tx.Projects.Get(f.ctx, "p"); err != nil {
				return err
			}
			time.Sleep(time.Millisecond)
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a statement of a transaction whose context has ended: %v, want the context's error", err)
	}
	if err := f.s.Ping(f.ctx); err != nil {
		t.Errorf("ping: %v", err)
	}
}

func testTwoHandles(t *testing.T, f *fixture) {
	other := f.open(t)
	f.insert(newRule(1, nil))
	if _, err := other.Rules.Get(f.ctx, "p", "R-1"); err != nil {
		t.Errorf("the other handle: %v", err)
	}
	var wg sync.WaitGroup
	for i, s := range []store.Store{f.s, other} {
		wg.Go(func() {
			for n := range 25 {
				err := s.Update(f.ctx, func(tx store.Tx) error {
					cv, err := tx.Projects.RaiseCorpus(f.ctx, "p")
					if err != nil {
						return err
					}
					return tx.Rules.Insert(f.ctx, cv, []rule.Rule{newRule(100+2*n+i, nil)})
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got, version := f.gather(0); len(got) != 51 || version != 51 {
		t.Errorf("%d rules at version %d, want 51 at 51", len(got), version)
	}
}

func testRaceCorpus(t *testing.T, f *fixture) {
	const callers = 64
	versions := make([]int64, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			err := f.s.Update(f.ctx, func(tx store.Tx) error {
				cv, err := tx.Projects.RaiseCorpus(f.ctx, "p")
				if err != nil {
					return err
				}
				versions[i] = cv
				return tx.Rules.Insert(f.ctx, cv, []rule.Rule{newRule(i, nil)})
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	// A follower that continues from its last version must see every rule.
	seen, at := map[string]bool{}, int64(0)
	follow := func() {
		version, err := f.s.Rules.Changes(f.ctx, "p", at, func(s store.RuleState) error {
			seen[s.Rule.ID] = true
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		at = version
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		follow()
	}
	slices.Sort(versions)
	for i, v := range versions {
		if v != int64(i+1) {
			t.Fatalf("versions %v, want 1 to %d without gaps", versions, callers)
		}
	}
	if len(seen) != callers || at != callers {
		t.Errorf("the follower saw %d rules up to version %d, want %d", len(seen), at, callers)
	}
}

func testRaceAudit(t *testing.T, f *fixture) {
	const callers = 64
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			err := f.s.Update(f.ctx, func(tx store.Tx) error {
				head, err := tx.Audit.Lock(f.ctx, "p")
				if err != nil {
					return err
				}
				e := entryAt(head.Seq+1, func(e *store.AuditEntry) { e.ID, e.PrevHash = newRule(i, nil).ID, head.Hash })
				return tx.Audit.Append(f.ctx, []store.AuditEntry{e}, nil)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	list, err := f.s.Audit.Entries(f.ctx, "p", 0, 1000)
	if err != nil || len(list) != callers {
		t.Fatalf("%d entries, %v; want %d", len(list), err, callers)
	}
	for i, e := range list {
		if e.Seq != int64(i+1) || (i > 0 && e.PrevHash != list[i-1].Hash) {
			t.Fatalf("entry %d has number %d and follows %q: the chain is not linear", i+1, e.Seq, e.PrevHash)
		}
	}
}

func testRaceUpdate(t *testing.T, f *fixture) {
	r := newRule(1, nil)
	f.insert(r)
	var won atomic.Int32
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			switch err := f.change(next(r, func(r *rule.Rule) { r.Owner = "x" })); rule.CodeOf(err) {
			case "":
				won.Add(1)
			case rule.CodePrecondition:
			default:
				t.Errorf("a loser got %v, want precondition_failed", err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d updates of one version won, want 1", won.Load())
	}
}

func testReadWhileWriting(t *testing.T, f *fixture) {
	f.insert(newRule(1, nil))
	f.update(func(tx store.Tx) error {
		if _, err := tx.Projects.RaiseCorpus(f.ctx, "p"); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(f.ctx, 5*time.Second)
		defer cancel()
		if _, err := f.s.Rules.Get(ctx, "p", "R-1"); err != nil {
			t.Errorf("reading while a transaction is open: %v", err)
		}
		if _, err := f.s.Rules.Changes(ctx, "p", 0, func(store.RuleState) error { return nil }); err != nil {
			t.Errorf("changes while a transaction is open: %v", err)
		}
		return nil
	})
}
