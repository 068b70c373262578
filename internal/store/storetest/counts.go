package storetest

import (
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const today = store.Day(20_000)

func testCounts(t *testing.T, f *fixture) {
	early, late := today.Time().Add(time.Hour), today.Time().Add(2*time.Hour)
	first := store.Counts{
		ProjectID: "p", Mark: store.CountMark{Seq: 7, At: early, BlindUntil: &early},
		Rules: []store.RuleCount{
			{Day: today - 1, RuleID: "a", Allowed: 1, Denied: 2, Unsure: 3, ByCheck: 1, ByModel: 2, ByCache: 1, ByTriage: 1, ByApproval: 3, Calls: 4, CallMS: 50, Tokens: 60, LastAt: early},
			{Day: today, RuleID: "a", Denied: 1, ByCheck: 1, LastAt: late},
			{Day: today, RuleID: "b", Allowed: 1, LastAt: late},
		},
		Days:   []store.DayCount{{Day: today - 1, Evaluations: 6, Allowed: 1, Denied: 2, Unsure: 3, Incidents: 1, LatencyMS: 90, MaxLatencyMS: 50}, {Day: today, Evaluations: 1, Denied: 1}},
		Models: []store.ModelCount{{Day: today, Model: "m", Calls: 2, Failed: 1, InputTokens: 10, OutputTokens: 5, CachedTokens: 3, DurationMS: 70}},
	}
	add := func(c store.Counts) {
		t.Helper()
		f.update(func(tx store.Tx) error { return tx.Counts.Add(f.ctx, c) })
	}
	add(first)
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Counts.Add(f.ctx, first) })
	second := first
	second.From, second.Mark = 7, store.CountMark{Seq: 9, At: late}
	add(second)
	if got, err := f.s.Counts.Mark(f.ctx, "p"); err != nil || cmp.Diff(store.CountMark{Seq: 9, At: late, BlindUntil: &early}, got) != "" {
		t.Errorf("mark %+v, %v", got, err)
	}
	rules := func(filter store.RuleCountFilter, want ...store.RuleCount) {
		t.Helper()
		filter.ProjectID = "p"
		got, err := f.s.Counts.Rules(f.ctx, filter)
		if diff := cmp.Diff(append([]store.RuleCount{}, want...), got); err != nil || diff != "" {
			t.Errorf("%+v: %v (-want +got):\n%s", filter, err, diff)
		}
	}
	a := store.RuleCount{RuleID: "a", Allowed: 2, Denied: 6, Unsure: 6, ByCheck: 4, ByModel: 4, ByCache: 2, ByTriage: 2, ByApproval: 6, Calls: 8, CallMS: 100, Tokens: 120}
	b := store.RuleCount{RuleID: "b", Allowed: 2}
	rules(store.RuleCountFilter{From: today - 1}, a, b)
	rules(store.RuleCountFilter{From: today}, store.RuleCount{RuleID: "a", Denied: 2, ByCheck: 2}, b)
	rules(store.RuleCountFilter{From: today - 1, RuleIDs: []string{"b", "none"}}, b)
	rules(store.RuleCountFilter{From: today - 1, RuleIDs: []string{}})
	rules(store.RuleCountFilter{From: today - 1, Min: 3}, a)
	days := []store.DayCount{
		{Day: today - 1, Evaluations: 12, Allowed: 2, Denied: 4, Unsure: 6, Incidents: 2, LatencyMS: 180, MaxLatencyMS: 50},
		{Day: today, Evaluations: 2, Denied: 2},
	}
	if got, err := f.s.Counts.Days(f.ctx, "p", today-1); err != nil || cmp.Diff(days, got) != "" {
		t.Errorf("days: %v, %v", got, err)
	}
	models := []store.ModelCount{{Model: "m", Calls: 4, Failed: 2, InputTokens: 20, OutputTokens: 10, CachedTokens: 6, DurationMS: 140}}
	if got, err := f.s.Counts.Models(f.ctx, "p", today-1); err != nil || cmp.Diff(models, got) != "" {
		t.Errorf("models: %v, %v", got, err)
	}
	for _, tt := range []struct {
		ids  []string
		want map[string]time.Time
	}{{nil, map[string]time.Time{"a": late, "b": late}}, {[]string{"b", "c"}, map[string]time.Time{"b": late}}} {
		if got, err := f.s.Counts.LastVerdicts(f.ctx, "p", tt.ids); err != nil || cmp.Diff(tt.want, got) != "" {
			t.Errorf("activity of %v: %v, %v", tt.ids, got, err)
		}
	}

	f.update(func(tx store.Tx) error {
		if n, err := tx.Counts.DeleteOld(f.ctx, "p", today, 1); n != 1 {
			t.Errorf("dropped %d rows (%v), want the limit", n, err)
		}
		n, err := tx.Counts.DeleteOld(f.ctx, "p", today, 100)
		if n != 1 {
			t.Errorf("dropped %d rows, want the other", n)
		}
		return err
	})
	rules(store.RuleCountFilter{From: today - 1}, store.RuleCount{RuleID: "a", Denied: 2, ByCheck: 2}, b)
	if got, err := f.s.Counts.LastVerdicts(f.ctx, "p", nil); err != nil || len(got) != 2 {
		t.Errorf("activity after dropping: %v, %v", got, err)
	}
}

func testUncounted(t *testing.T, f *fixture) {
	look := func(want ...store.Uncounted) {
		t.Helper()
		if got, err := f.s.Counts.Uncounted(f.ctx); err != nil || cmp.Diff(append([]store.Uncounted{}, want...), got) != "" {
			t.Errorf("uncounted: %v, %v, want %v", got, err, want)
		}
	}
	look()
	f.update(func(tx store.Tx) error {
		return tx.Audit.Append(f.ctx, []store.AuditEntry{
			{ProjectID: "p", Seq: 1, ID: "a", At: at, Hash: "1"}, {ProjectID: "p", Seq: 2, ID: "b", At: at, PrevHash: "1", Hash: "2"},
		}, nil)
	})
	look(store.Uncounted{ProjectID: "p", Entries: 2})
	f.update(func(tx store.Tx) error {
		return tx.Counts.Add(f.ctx, store.Counts{ProjectID: "p", Mark: store.CountMark{Seq: 2, At: at}})
	})
	look()
}

func testRaceCounts(t *testing.T, f *fixture) {
	handles := f.both(t)
	var done atomic.Int64
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			err := handles[i%2].Update(f.ctx, func(tx store.Tx) error {
				return tx.Counts.Add(f.ctx, store.Counts{
					ProjectID: "p", Mark: store.CountMark{Seq: 5, At: at}, Rules: []store.RuleCount{{Day: today, RuleID: "a", Denied: 1, LastAt: at}},
				})
			})
			if err == nil {
				done.Add(1)
			} else if rule.CodeOf(err) != rule.CodeConflict {
				t.Errorf("transaction %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	got, err := f.s.Counts.Rules(f.ctx, store.RuleCountFilter{ProjectID: "p"})
	if err != nil || done.Load() != 1 || len(got) != 1 || got[0].Denied != 1 {
		t.Errorf("%d of 12 have counted the same entries: %+v, %v", done.Load(), got, err)
	}
}

func testHealth(t *testing.T, f *fixture) {
	put := func(day store.Day, scores map[string]int) {
		t.Helper()
		f.update(func(tx store.Tx) error {
			var list []store.HealthScore
			for id, score := range scores {
				list = append(list, store.HealthScore{RuleID: id, Score: score})
			}
			return tx.Health.Put(f.ctx, "p", day, list)
		})
	}
	changes := func() int64 {
		t.Helper()
		c, err := f.s.Health.FigureChanges(f.ctx, "p")
		if err != nil {
			t.Fatal(err)
		}
		return c.Scores
	}
	if all, err := f.s.Health.AllScores(f.ctx, "p"); err != nil || len(all) != 0 || changes() != 0 {
		t.Errorf("before anything is measured: %v, %v, %d changes", all, err, changes())
	}
	put(today, map[string]int{"a": 80, "b": 50})
	first := changes()
	put(today+1, map[string]int{"a": 70})
	put(today+1, map[string]int{"a": 60})
	put(today+3, map[string]int{"a": 65})
	put(today+2, map[string]int{"a": 1}) // a node whose clock is behind changes nothing of what is latest
	sixty := 60
	want := []store.HealthScore{{ProjectID: "p", RuleID: "a", Score: 65, Before: &sixty, Day: today + 3}, {ProjectID: "p", RuleID: "b", Score: 50, Day: today}}
	if got, err := f.s.Health.Scores(f.ctx, "p", nil); err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("scores: %v (-want +got):\n%s", err, cmp.Diff(want, got))
	}
	if got, err := f.s.Health.Scores(f.ctx, "p", []string{"b", "none"}); err != nil || cmp.Diff(want[1:], got) != "" {
		t.Errorf("scores of b: %v (-want +got):\n%s", err, cmp.Diff(want[1:], got))
	}
	if got, err := f.s.Health.Scores(f.ctx, "p", []string{}); err != nil || len(got) != 0 {
		t.Errorf("scores of no rule: %v, %v", got, err)
	}
	if all, err := f.s.Health.AllScores(f.ctx, "p"); err != nil || !maps.Equal(all, map[string]int{"a": 65, "b": 50}) {
		t.Errorf("all scores: %v, %v", all, err)
	}
	if all, err := f.s.Health.AllScores(f.ctx, "none"); err != nil || len(all) != 0 {
		t.Errorf("all scores of another project: %v, %v", all, err)
	}
	if first == 0 || changes() <= first {
		t.Errorf("%d changes of scores at first, %d after others", first, changes())
	}
	history := func(id string, limit int, want ...store.HealthDay) {
		t.Helper()
		if got, err := f.s.Health.History(f.ctx, "p", id, limit); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("history of %s: %v, %v, want %v", id, got, err, want)
		}
	}
	history("a", 2, store.HealthDay{Day: today + 3, Score: 65}, store.HealthDay{Day: today + 2, Score: 1})
	f.update(func(tx store.Tx) error { _, err := tx.Counts.DeleteOld(f.ctx, "p", today+3, 100); return err })
	history("a", 9, store.HealthDay{Day: today + 3, Score: 65})
	history("b", 9, store.HealthDay{Day: today, Score: 50}) // its score since, however long ago
}
