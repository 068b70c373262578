package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func testServers(t *testing.T, f *fixture) {
	list := func(about string, want ...store.Server) {
		t.Helper()
		got, err := f.s.Servers.List(f.ctx)
		if diff := cmp.Diff(append([]store.Server(nil), want...), append([]store.Server(nil), got...)); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", about, err, diff)
		}
	}
	list("at first")
	one := store.Server{ID: "one", StartedAt: at.Add(time.Minute), SeenAt: at.Add(time.Minute), Data: []byte(`{"name":"a"}`)}
	two := store.Server{ID: "two", StartedAt: at, SeenAt: at.Add(time.Hour), Data: []byte(`{}`)}
	put := func(s store.Server) {
		t.Helper()
		f.update(func(tx store.Tx) error { return tx.Servers.Put(f.ctx, s) })
	}
	put(one)
	put(two)
	list("the one that has run longer first", two, one)
	one.SeenAt, one.Data = at.Add(time.Hour), []byte(`{"name":"b"}`)
	put(one)
	list("stored again", two, one)
	f.update(func(tx store.Tx) error { return tx.Servers.DeleteUnseen(f.ctx, at.Add(time.Hour)) })
	list("nothing was seen before that", two, one)
	two.SeenAt = at.Add(2 * time.Hour)
	put(two)
	f.update(func(tx store.Tx) error { return tx.Servers.DeleteUnseen(f.ctx, at.Add(2*time.Hour)) })
	list("after the removal of what was not seen", two)
	f.update(func(tx store.Tx) error { return tx.Servers.Delete(f.ctx, "two") })
	f.update(func(tx store.Tx) error { return tx.Servers.Delete(f.ctx, "two") })
	list("at the end")
}

func testKeyUsage(t *testing.T, f *fixture) {
	f.update(func(tx store.Tx) error {
		for _, k := range []store.Key{
			{ProjectID: "p", ID: "1", Name: "ci", Role: "viewer", Hash: "h1", CreatedAt: at, CreatedBy: "ann"},
			{ProjectID: store.AllProjects, ID: "2", Name: "ops", Role: "admin", Hash: "h2", CreatedAt: at.Add(time.Minute)},
		} {
			if err := tx.Keys.Insert(f.ctx, k); err != nil {
				return err
			}
		}
		return nil
	})
	use := func(uses map[string]store.KeyUse) {
		t.Helper()
		f.update(func(tx store.Tx) error { return tx.Keys.Use(f.ctx, uses) })
	}
	use(map[string]store.KeyUse{"1": {UsedAt: at.Add(time.Hour), Refused: 2, RefusedAt: at.Add(time.Hour), LastRefusal: "network"}, "unknown": {UsedAt: at}})
	use(map[string]store.KeyUse{"1": {UsedAt: at, Refused: 3, RefusedAt: at, LastRefusal: "scope"}})
	all, err := f.s.Keys.ListAll(f.ctx)
	if err != nil || len(all) != 2 || all[0].ID != "2" || all[1].ID != "1" {
		t.Fatalf("all keys: %+v, %v; want the newest first", all, err)
	}
	if all[0].LastUsedAt != nil || all[1].LastUsedAt == nil || !all[1].LastUsedAt.Equal(at.Add(time.Hour)) {
		t.Errorf("last use: %v and %v; want never, and the latest time", all[0].LastUsedAt, all[1].LastUsedAt)
	}
	if k := all[1]; k.Refused != 5 || k.LastRefusal != "network" || k.LastRefusedAt == nil || !k.LastRefusedAt.Equal(at.Add(time.Hour)) {
		t.Errorf("refused uses: %d, %s at %v; want all of them, and the latest reason", k.Refused, k.LastRefusal, k.LastRefusedAt)
	}
	if k := all[0]; k.Refused != 0 || k.LastRefusedAt != nil {
		t.Errorf("the other key has %d refused uses", k.Refused)
	}
}

func testModelDays(t *testing.T, f *fixture) {
	other := "q"
	f.update(func(tx store.Tx) error {
		return tx.Projects.Create(f.ctx, rule.Project{ID: other, Name: other, CreatedAt: at, UpdatedAt: at})
	})
	day := store.DayOf(at)
	count := func(project string, models ...store.ModelCount) {
		f.update(func(tx store.Tx) error {
			return tx.Counts.Add(f.ctx, store.Counts{ProjectID: project, Mark: store.CountMark{Seq: 1, At: at}, Models: models})
		})
	}
	one := store.ModelCount{Day: day, Model: "a", Calls: 2, Failed: 1, InputTokens: 10, OutputTokens: 3, CachedTokens: 4, DurationMS: 50}
	later := store.ModelCount{Day: day + 1, Model: "a", Calls: 1, InputTokens: 5}
	count("p", one, later)
	count(other, store.ModelCount{Day: day, Model: "a", Calls: 1, InputTokens: 1}, store.ModelCount{Day: day - 1, Model: "a", Calls: 9})
	got, err := f.s.Counts.ModelDays(f.ctx, "p", day)
	if diff := cmp.Diff([]store.ModelCount{one, later}, got); err != nil || diff != "" {
		t.Errorf("of a project: %v (-want +got):\n%s", err, diff)
	}
	both := one
	both.Calls, both.InputTokens = 3, 11
	got, err = f.s.Counts.ModelDays(f.ctx, store.AllProjects, day)
	if diff := cmp.Diff([]store.ModelCount{both, later}, got); err != nil || diff != "" {
		t.Errorf("of all projects: %v (-want +got):\n%s", err, diff)
	}
}

// reuseOn is the count of a day with verdicts of models and of the cache.
func reuseOn(day store.Day, judged, reused int64) store.DayCount {
	return store.DayCount{Day: day, Evaluations: 1, Rules: store.RuleCount{ByModel: judged, ByCache: reused}}
}

func testReuse(t *testing.T, f *fixture) {
	day := store.DayOf(at)
	for _, id := range []string{"q", "r"} {
		f.update(func(tx store.Tx) error {
			if err := tx.Projects.Create(f.ctx, rule.Project{ID: id, Name: id, CreatedAt: at, UpdatedAt: at}); err != nil {
				return err
			}
			return tx.Counts.Add(f.ctx, store.Counts{ProjectID: id, Mark: store.CountMark{Seq: 1, At: at}, Days: []store.DayCount{reuseOn(day, 3, 5), reuseOn(day-1, 100, 100)}})
		})
	}
	for project, want := range map[string][2]int64{"p": {}, "q": {3, 5}, store.AllProjects: {6, 10}} {
		judged, reused, err := f.s.Counts.Reuse(f.ctx, project, day)
		if got := [2]int64{judged, reused}; err != nil || got != want {
			t.Errorf("project %s: %v, %v; want %v", project, got, err, want)
		}
	}
}

func testAllJobs(t *testing.T, f *fixture) {
	a := f.addJob(func(j *store.Job) { j.RunAt = at.Add(time.Hour) })
	b := f.addJob(func(j *store.Job) { j.ProjectID = store.AllProjects; j.Kind = "l"; j.RunAt = at.Add(time.Hour) })
	list, total, err := f.s.Jobs.Find(f.ctx, store.JobFilter{Every: true, Limit: 10})
	if diff := cmp.Diff([]int64{b, a}, ids(list)); err != nil || diff != "" || total != 2 {
		t.Errorf("all: total %d, %v (-want +got):\n%s", total, err, diff)
	}
	list, total, err = f.s.Jobs.Find(f.ctx, store.JobFilter{Every: true, Kind: "l", State: store.JobQueued, Limit: 10})
	if diff := cmp.Diff([]int64{b}, ids(list)); err != nil || diff != "" || total != 1 {
		t.Errorf("of a kind: total %d, %v (-want +got):\n%s", total, err, diff)
	}
}
