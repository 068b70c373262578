package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// both opens a second handle, so that concurrent transactions use two handles and not only one process.
func (f *fixture) both(t *testing.T) []store.Store { return []store.Store{f.s, f.open(t)} }

// race runs transactions from n goroutines on two handles; each must succeed.
func (f *fixture) race(t *testing.T, n int, fn func(tx store.Tx, i int) error) {
	t.Helper()
	handles := f.both(t)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := handles[i%2].Update(f.ctx, func(tx store.Tx) error { return fn(tx, i) }); err != nil {
				t.Errorf("transaction %d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

// linger gives other transactions the time to read the same rows before this one writes.
func linger() { time.Sleep(10 * time.Millisecond) }

// Each of these transactions reads, decides and then writes. In sequence, the outcome is certain.

func testSerialKeys(t *testing.T, f *fixture) {
	f.race(t, 12, func(tx store.Tx, i int) error {
		n, err := tx.Keys.Count(f.ctx)
		if err != nil || n > 0 {
			return err
		}
		linger()
		return tx.Keys.Insert(f.ctx, store.Key{ProjectID: "p", ID: strconv.Itoa(i), Hash: strconv.Itoa(i), CreatedAt: at})
	})
	if n, err := f.s.Keys.Count(f.ctx); err != nil || n != 1 {
		t.Errorf("%d first keys were made (%v), want 1", n, err)
	}
}

func testSerialProject(t *testing.T, f *fixture) {
	const callers = 12
	f.race(t, callers, func(tx store.Tx, _ int) error {
		p, err := tx.Projects.Get(f.ctx, "p")
		if err != nil {
			return err
		}
		linger()
		p.Description += "x"
		return tx.Projects.Update(f.ctx, p)
	})
	if p, err := f.s.Projects.Get(f.ctx, "p"); err != nil || len(p.Description) != callers {
		t.Errorf("%d of %d changes are left (%v)", len(p.Description), callers, err)
	}
}

func testSerialProjects(t *testing.T, f *fixture) {
	f.race(t, 12, func(tx store.Tx, i int) error {
		list, err := tx.Projects.List(f.ctx)
		if err != nil || len(list) >= 3 {
			return err
		}
		linger()
		return tx.Projects.Create(f.ctx, project(fmt.Sprintf("extra%d", i)))
	})
	if list, err := f.s.Projects.List(f.ctx); err != nil || len(list) != 3 {
		t.Errorf("%d projects (%v), want the 3 at which creating stops", len(list), err)
	}
}

func testSerialFirstProject(t *testing.T, f *fixture) {
	f.race(t, 12, func(tx store.Tx, _ int) error {
		_, err := tx.Projects.Get(f.ctx, "seeded")
		if rule.CodeOf(err) != rule.CodeNotFound {
			return err
		}
		linger()
		return tx.Projects.Create(f.ctx, project("seeded")) // conflict if another one has created it since
	})
}

func testSerialRules(t *testing.T, f *fixture) {
	const rules = 8
	for i := range rules {
		f.insert(newRule(i, nil))
	}
	// Each retires its rule only while another one is in force.
	f.race(t, rules, func(tx store.Tx, i int) error {
		live := 0
		if _, err := tx.Rules.Changes(f.ctx, "p", 0, func(s store.RuleState) error {
			if s.Rule.Status != rule.Retired {
				live++
			}
			return nil
		}); err != nil || live < 2 {
			return err
		}
		linger()
		cv, err := tx.Projects.RaiseCorpus(f.ctx, "p")
		if err != nil {
			return err
		}
		return tx.Rules.Update(f.ctx, cv, []rule.Rule{next(newRule(i, nil), func(r *rule.Rule) { r.Status = rule.Retired })})
	})
	live := 0
	for i := range rules {
		if r, err := f.s.Rules.Get(f.ctx, "p", newRule(i, nil).ID); err != nil {
			t.Error(err)
		} else if r.Status != rule.Retired {
			live++
		}
	}
	if live != 1 {
		t.Errorf("%d rules are left in force, want 1", live)
	}
}

func testSerialAudit(t *testing.T, f *fixture) {
	f.race(t, 12, func(tx store.Tx, i int) error {
		_, n, err := tx.Audit.Find(f.ctx, store.AuditFilter{ProjectID: "p", Actor: "once", Limit: 1})
		if err != nil || n > 0 {
			return err
		}
		linger()
		head, err := tx.Audit.Lock(f.ctx, "p")
		if err != nil {
			return err
		}
		return tx.Audit.Append(f.ctx, []store.AuditEntry{entryAt(head.Seq+1, func(e *store.AuditEntry) {
			e.ID, e.PrevHash, e.Actor = newRule(i, nil).ID, head.Hash, "once"
		})}, nil)
	})
	if _, n, err := f.s.Audit.Find(f.ctx, store.AuditFilter{ProjectID: "p", Actor: "once", Limit: 1}); err != nil || n != 1 {
		t.Errorf("%d entries (%v), want 1", n, err)
	}
}

// testDeadlock lets two transactions lock two projects crosswise. Where that is a deadlock, the loser runs again, even if
// its callback hides the database's error.
func testDeadlock(t *testing.T, f *fixture) {
	f.update(func(tx store.Tx) error { return tx.Projects.Create(f.ctx, project("q")) })
	hidden := errors.New("something went wrong")
	handles := f.both(t)
	started := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	var wg sync.WaitGroup
	for i, order := range [][]string{{"p", "q"}, {"q", "p"}} {
		first := sync.OnceFunc(func() {
			close(started[i])
			select { // a database with one writer at a time never gets both here
			case <-started[1-i]:
			case <-time.After(100 * time.Millisecond):
			}
		})
		wg.Go(func() {
			err := handles[i].Update(f.ctx, func(tx store.Tx) error {
				for _, id := range order {
					if _, err := tx.Projects.RaiseCorpus(f.ctx, id); err != nil {
						return hidden
					}
					first()
				}
				return nil
			})
			if err != nil {
				t.Errorf("transaction %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	versions, err := f.s.Projects.CorpusVersions(f.ctx)
	if err != nil || versions["p"] != 2 || versions["q"] != 2 {
		t.Errorf("corpus versions %v (%v), want both raised twice", versions, err)
	}
}

// testOneState reads while each transaction of a writer keeps the data consistent: the results of a read must be consistent too.
func testOneState(t *testing.T, f *fixture) {
	const rules = 900 // more than one statement reads at once
	list, refs := make([]rule.Rule, rules), make([]string, rules)
	for i := range list {
		list[i] = newRule(i, func(r *rule.Rule) { r.Owner = "1" })
		refs[i] = list[i].Slug
	}
	f.insert(list...)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for seq := int64(1); ; seq++ {
			select {
			case <-stop:
				return
			default:
			}
			err := f.s.Update(f.ctx, func(tx store.Tx) error {
				cv, err := tx.Projects.RaiseCorpus(f.ctx, "p")
				if err != nil {
					return err
				}
				changed := make([]rule.Rule, len(list))
				for i := range list {
					changed[i] = next(list[i], func(r *rule.Rule) { r.Owner = strconv.FormatInt(cv, 10) })
				}
				if err := tx.Rules.Update(f.ctx, cv, changed); err != nil {
					return err
				}
				copy(list, changed)
				if _, err := tx.Audit.Lock(f.ctx, "p"); err != nil {
					return err
				}
				return tx.Audit.Append(f.ctx, []store.AuditEntry{entryAt(seq, nil)}, nil)
			})
			if err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for until := time.Now().Add(500 * time.Millisecond); time.Now().Before(until); {
		readOneState(t, f, refs)
	}
	close(stop)
	<-done
}

func readOneState(t *testing.T, f *fixture, refs []string) {
	owners := map[string]bool{}
	version, err := f.s.Rules.Changes(f.ctx, "p", 0, func(s store.RuleState) error {
		owners[s.Rule.Owner] = true
		return nil
	})
	if err != nil || len(owners) != 1 || !owners[strconv.FormatInt(version, 10)] {
		t.Errorf("changes up to version %d mix states %v (%v)", version, owners, err)
	}
	found, err := f.s.Rules.GetMany(f.ctx, "p", refs)
	clear(owners)
	for _, r := range found {
		owners[r.Owner] = true
	}
	if err != nil || len(found) != len(refs) || len(owners) != 1 {
		t.Errorf("%d of %d rules, with mixed states %v (%v)", len(found), len(refs), owners, err)
	}
	versions, n, err := f.s.Rules.Versions(f.ctx, "p", newRule(0, nil).ID, 0, 10_000)
	if err != nil || len(versions) != n || versions[0].Version != n {
		t.Errorf("%d versions of %d, the newest is %d (%v)", len(versions), n, versions[0].Version, err)
	}
	entries, n, err := f.s.Audit.Find(f.ctx, store.AuditFilter{ProjectID: "p", Kind: "evaluation", Limit: 10_000})
	if err != nil || len(entries) != n || (n > 0 && entries[0].Seq != int64(n)) {
		t.Errorf("%d entries of %d (%v)", len(entries), n, err)
	}
}
