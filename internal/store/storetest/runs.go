package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func testRuns(t *testing.T, f *fixture) {
	run := store.Run{ProjectID: "p", ID: "r", Kind: "k", JobID: 7, Request: []byte(`{"tags":["a"]}`), CreatedAt: at, CreatedBy: "ann", Result: []byte{}}
	f.update(func(tx store.Tx) error { return tx.Runs.Insert(f.ctx, run) })
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Runs.Insert(f.ctx, run) })
	look := func() {
		t.Helper()
		got, err := f.s.Runs.Get(f.ctx, "p", "k", "r")
		if diff := cmp.Diff(run, got); err != nil || diff != "" {
			t.Errorf("run: %v (-want +got):\n%s", err, diff)
		}
	}
	look()
	end := at.Add(time.Minute)
	run.Result, run.FinishedAt = []byte(`{"total":3}`), &end
	f.update(func(tx store.Tx) error { return tx.Runs.Finish(f.ctx, "p", "r", run.Result, end) })
	look()
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Runs.Finish(f.ctx, "q", "r", run.Result, end) })
	for _, other := range [][3]string{{"p", "k", "none"}, {"p", "other", "r"}, {"q", "k", "r"}} {
		_, err := f.s.Runs.Get(f.ctx, other[0], other[1], other[2])
		code(t, "no run", err, rule.CodeNotFound)
	}

	late := store.Run{ProjectID: "p", ID: "s", Kind: "k", Request: []byte("{}"), CreatedAt: at.Add(time.Hour), CreatedBy: "ann"}
	f.update(func(tx store.Tx) error { return tx.Runs.Insert(f.ctx, late) })
	id := newRule(4, nil).ID
	naming := store.Run{ProjectID: "p", ID: "u", Kind: "k", Request: []byte(`{"id":"` + id + `"}`), CreatedAt: at.Add(time.Hour), CreatedBy: "ann", Result: []byte{}}
	f.update(func(tx store.Tx) error { return tx.Runs.Insert(f.ctx, naming) })
	late.Result = []byte{}
	for _, c := range []struct {
		f     store.RunFilter
		want  []store.Run
		total int
	}{
		{store.RunFilter{Kind: "k", Limit: 2}, []store.Run{naming, late}, 3},
		{store.RunFilter{Kind: "k", Limit: 2, Offset: 2}, []store.Run{run}, 3},
		{store.RunFilter{Kind: "k", Limit: 2, Mentions: []string{id}}, []store.Run{naming}, 1},
		{store.RunFilter{Kind: "k", Limit: 2, Mentions: []string{id, newRule(5, nil).ID}}, []store.Run{}, 0},
		{store.RunFilter{Kind: "k", Limit: 2, Mentions: []string{"%"}}, nil, 0},
		{store.RunFilter{Kind: "other", Limit: 2}, []store.Run{}, 0},
	} {
		c.f.ProjectID = "p"
		got, total, err := f.s.Runs.Find(f.ctx, c.f)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" || total != c.total {
			t.Errorf("%+v: %d, %v (-want +got):\n%s", c.f, total, err, diff)
		}
	}
	for _, want := range []int{1, 0} {
		f.update(func(tx store.Tx) error {
			n, err := tx.Runs.DeleteOld(f.ctx, at.Add(time.Minute), 10)
			if n != want {
				t.Errorf("%d runs deleted, want %d", n, want)
			}
			return err
		})
	}
	if _, err := f.s.Runs.Get(f.ctx, "p", "k", "s"); err != nil {
		t.Errorf("the later run: %v", err)
	}
}
