package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tenet/internal/store"
)

// testTops compares the lists of the highest with sums of what was counted in several batches, of more rules than a packed block has.
func testTops(t *testing.T, f *fixture) {
	const many = 16_500
	id := func(i int) string { return fmt.Sprintf("r%05d", i) }
	sums, nodes := map[string]store.RuleCount{}, map[string]store.GroupCount{}
	seq := int64(0)
	add := func(day store.Day, first, n int) {
		c := store.Counts{ProjectID: "p", From: seq, Mark: store.CountMark{Seq: seq + 1, At: at}}
		seq++
		for i := first; i < first+n; i++ {
			r := store.RuleCount{Day: day, RuleID: id(i), Denied: int64(i*31%977) * int64(1+i%2*1000), Calls: int64(i % 3), LastAt: at}
			r.CallMS, r.Tokens = r.Calls*int64(i%5003), r.Calls
			c.Rules = append(c.Rules, r)
			g := store.GroupCount{Dimension: store.OfNode, Day: day, Name: id(i), Allowed: int64(i), Denied: 2, Unsure: 3}
			if i%7 == 0 {
				c.Groups = append(c.Groups, g)
			}
			if day < today-1 {
				continue // before the period
			}
			sum := sums[r.RuleID]
			sums[r.RuleID] = store.RuleCount{RuleID: r.RuleID, Denied: sum.Denied + r.Denied, Calls: sum.Calls + r.Calls, CallMS: sum.CallMS + r.CallMS, Tokens: sum.Tokens + r.Tokens}
			if i%7 == 0 {
				node := nodes[g.Name]
				nodes[g.Name] = store.GroupCount{Dimension: store.OfNode, Name: g.Name, Allowed: node.Allowed + g.Allowed, Denied: node.Denied + 2, Unsure: node.Unsure + 3}
			}
		}
		f.update(func(tx store.Tx) error { return tx.Counts.Add(f.ctx, c) })
	}
	add(today, 0, many)
	add(today-2, many-100, 100)
	add(today-1, many-300, 300)
	add(today, 100, 300) // a day again
	add(today+1, many-50, 100)

	top := func(filter store.TopFilter, value func(c *store.RuleCount) float64, keep func(c store.RuleCount) store.RuleCount, among func(id string) bool) {
		t.Helper()
		var want []store.RuleCount
		for id, c := range sums {
			if value(&c) > 0 && among(id) {
				want = append(want, keep(c))
			}
		}
		slices.SortFunc(want, func(a, b store.RuleCount) int {
			return cmp.Or(cmp.Compare(value(&b), value(&a)), cmp.Compare(a.RuleID, b.RuleID))
		})
		filter.ProjectID, filter.From = "p", today-1
		got, err := f.s.Counts.Top(f.ctx, filter)
		if diff := gocmp.Diff(want[:min(len(want), filter.Limit)], got); err != nil || diff != "" {
			t.Errorf("top %+v: %v (-want +got):\n%s", filter, err, diff)
		}
	}
	denied := func(c *store.RuleCount) float64 { return float64(c.Denied) }
	onlyDenied := func(c store.RuleCount) store.RuleCount { return store.RuleCount{RuleID: c.RuleID, Denied: c.Denied} }
	called := func(c *store.RuleCount) float64 {
		if c.Calls == 0 {
			return 0
		}
		return 1 + float64(c.CallMS)/float64(c.Calls)
	}
	onlyCalled := func(c store.RuleCount) store.RuleCount { c.Denied = 0; return c }
	anyone := func(string) bool { return true }
	top(store.TopFilter{Limit: 25}, denied, onlyDenied, anyone)
	top(store.TopFilter{Limit: 25, Called: true}, called, onlyCalled, anyone)

	// A large team is found among the highest; of a small one, all rules are read.
	large := func(id string) bool { return id[len(id)-1] == '3' }
	small := func(id string) bool { return id[1:4] == "000" && !large(id) }
	f.update(func(tx store.Tx) error {
		var scores []store.HealthScore
		var standings []store.RuleStanding
		for i := range many {
			switch {
			case large(id(i)):
				standings = append(standings, store.RuleStanding{RuleID: id(i), Team: "large"})
			case small(id(i)):
				standings = append(standings, store.RuleStanding{RuleID: id(i), Team: "small"})
			default:
				continue
			}
			scores = append(scores, store.HealthScore{RuleID: id(i), Score: 50})
		}
		if err := tx.Health.Put(f.ctx, "p", today, scores); err != nil {
			return err
		}
		return tx.Health.PutStandings(f.ctx, "p", standings)
	})
	top(store.TopFilter{Limit: 10, Team: new("large")}, denied, onlyDenied, large)
	top(store.TopFilter{Limit: 10, Team: new("small")}, denied, onlyDenied, small)
	top(store.TopFilter{Limit: 10, Team: new("small"), Called: true}, called, onlyCalled, small)

	var want []store.GroupCount
	for _, g := range nodes {
		want = append(want, g)
	}
	slices.SortFunc(want, func(a, b store.GroupCount) int {
		return cmp.Or(cmp.Compare(b.Allowed+b.Denied+b.Unsure, a.Allowed+a.Denied+a.Unsure), cmp.Compare(a.Name, b.Name))
	})
	got, err := f.s.Counts.Groups(f.ctx, store.GroupFilter{ProjectID: "p", Dimension: store.OfNode, From: today - 1, Limit: 12})
	if diff := gocmp.Diff(want[:12], got); err != nil || diff != "" {
		t.Errorf("nodes: %v (-want +got):\n%s", err, diff)
	}
	f.update(func(tx store.Tx) error {
		_, err := tx.Counts.DeleteOld(f.ctx, "p", today+2, 100)
		return err
	})
	if got, err := f.s.Counts.Top(f.ctx, store.TopFilter{ProjectID: "p", Limit: 1}); err != nil || len(got) != 0 {
		t.Errorf("after old counts are dropped: %v, %v", got, err)
	}
}
