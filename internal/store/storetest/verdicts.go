package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/store"
	"tenet/internal/wire"
)

func verdict(project, unit, rule, entry string, age time.Duration) store.Verdict {
	return store.Verdict{ProjectID: project, Unit: unit, Rule: rule, Entry: entry, CreatedAt: at.Add(-age)}
}

// put stores verdicts and returns the existing ones that differ.
func (f *fixture) put(list ...store.Verdict) (differing []store.Verdict) {
	f.t.Helper()
	f.update(func(tx store.Tx) (err error) {
		differing, err = tx.Verdicts.Put(f.ctx, list)
		return err
	})
	return differing
}

// verdicts reads verdicts in order of unit and rule.
func (f *fixture) verdicts(project string, units ...string) []store.Verdict {
	f.t.Helper()
	list, err := f.s.Verdicts.List(f.ctx, project, units)
	if err != nil {
		f.t.Fatal(err)
	}
	slices.SortFunc(list, func(a, b store.Verdict) int { return strings.Compare(a.Unit+a.Rule, b.Unit+b.Rule) })
	return list
}

func testVerdicts(t *testing.T, f *fixture) {
	a, b, c := verdict("p", "u1", "r1", `{"v":"ALLOW"}`, 0), verdict("p", "u1", "r2", `{"v":"DENY"}`, 0), verdict("p", "u2", "r1", "é", 0)
	other := verdict("q", "u1", "r1", "other", 0)
	if got := f.put(a, c, b, a); len(got) != 0 {
		t.Errorf("new verdicts differ from %v", got)
	}
	f.put(other)
	if d := cmp.Diff([]store.Verdict{a, b, c}, f.verdicts("p", "u2", "u1", "u3", "u1")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]store.Verdict{other}, f.verdicts("q", "u1", "u2")); d != "" {
		t.Error(d)
	}
	if got := f.verdicts("p"); len(got) != 0 {
		t.Errorf("no units have the verdicts %v", got)
	}
	// The first verdict stays, and the second caller receives it.
	later := verdict("p", "u1", "r1", `{"v":"DENY"}`, -time.Hour)
	if d := cmp.Diff([]store.Verdict{a}, f.put(later, b, verdict("p", "u4", "r1", "x", 0))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]store.Verdict{a, b}, f.verdicts("p", "u1")); d != "" {
		t.Error(d)
	}
	if got := f.verdicts("p", "u4"); len(got) != 1 {
		t.Errorf("what is new beside it is not stored: %v", got)
	}
	stats, err := f.s.Verdicts.Stats(f.ctx, "p")
	if err != nil || stats.Count != 4 || stats.Bytes != int64(len(a.Entry)+len(b.Entry)+len(c.Entry)+1) || !stats.Oldest.Equal(at) || !stats.Newest.Equal(at) {
		t.Errorf("stats are %+v, %v", stats, err)
	}
	if stats, err := f.s.Verdicts.Stats(f.ctx, "none"); err != nil || stats != (wire.VerdictStats{}) {
		t.Errorf("stats of nothing are %+v, %v", stats, err)
	}
}

func testPruneVerdicts(t *testing.T, f *fixture) {
	prune := func(p store.Prune, want int64) {
		t.Helper()
		f.update(func(tx store.Tx) error {
			n, err := tx.Verdicts.Prune(f.ctx, "p", p)
			if n != want {
				t.Errorf("%+v deletes %d, want %d", p, n, want)
			}
			return err
		})
	}
	var list []store.Verdict
	for i := range 1000 {
		list = append(list, verdict("p", fmt.Sprint("u", i), "r", strings.Repeat("x", 10), time.Duration(i)*time.Minute))
	}
	f.put(list...)
	f.put(verdict("q", "u1", "r", "other", 1000*time.Hour))
	prune(store.Prune{}, 0)
	prune(store.Prune{MaxBytes: 10_000}, 0)
	prune(store.Prune{Before: at.Add(-899 * time.Minute)}, 100)
	prune(store.Prune{MaxBytes: 5_005}, 400) // the 500 newest stay
	if got := f.verdicts("p", "u0", "u499", "u500"); len(got) != 2 {
		t.Errorf("left are %v", got)
	}
	prune(store.Prune{All: true}, 500)
	prune(store.Prune{All: true}, 0)
	if got := f.verdicts("q", "u1"); len(got) != 1 {
		t.Error("verdicts of another project were pruned")
	}
}

// testForgetVerdicts deletes by keys, and checks what an epoch refuses.
func testForgetVerdicts(t *testing.T, f *fixture) {
	epoch := func() int64 {
		t.Helper()
		n, err := f.s.Verdicts.Epoch(f.ctx, "p")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	f.put(verdict("p", "u1", "r1", "a", 0), verdict("p", "u1", "r2", "b", 0), verdict("p", "u2", "r1", "c", 0), verdict("q", "u1", "r1", "d", 0))
	if n := epoch(); n != 0 {
		t.Errorf("the first epoch is %d", n)
	}
	forget := func(p store.Prune) (deleted int64) {
		t.Helper()
		f.update(func(tx store.Tx) (err error) {
			deleted, err = tx.Verdicts.Prune(f.ctx, "p", p)
			return err
		})
		return deleted
	}
	if n := forget(store.Prune{Units: []string{"u1", "u9"}, Rules: []string{"r1", "r9"}}); n != 1 || epoch() != 1 {
		t.Errorf("%d deleted in epoch %d, want 1 in 1", n, epoch())
	}
	if list := f.verdicts("p", "u1", "u2"); len(list) != 2 || list[0].Entry != "b" || list[1].Entry != "c" {
		t.Errorf("left are %v", list)
	}
	if list := f.verdicts("q", "u1"); len(list) != 1 {
		t.Errorf("another project has %v", list)
	}
	// A verdict that was begun before is not stored, one that was begun afterwards is.
	late, fresh := verdict("p", "u1", "r1", "late", 0), verdict("p", "u1", "r1", "fresh", 0)
	fresh.Epoch = 1
	if f.put(late); len(f.verdicts("p", "u1")) != 1 {
		t.Error("a verdict of an epoch that is over was stored")
	}
	if f.put(fresh); len(f.verdicts("p", "u1")) != 2 {
		t.Error("a verdict of this epoch was not stored")
	}
	forget(store.Prune{MaxBytes: 1})
	if epoch() != 1 {
		t.Error("making room begins an epoch")
	}
	if forget(store.Prune{All: true}); epoch() != 2 || len(f.verdicts("p", "u1", "u2")) != 0 {
		t.Errorf("epoch %d after deleting all", epoch())
	}
}
