package storetest

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func submission(id, key string) store.Submission {
	return store.Submission{
		ProjectID: "p", ID: id, Key: key, BodyHash: "b", Kind: "transaction", EvaluationID: "e-" + id, Actor: "ann",
		Request: []byte{0, 1, 255}, LeaseUntil: at, CreatedAt: at,
	}
}

func testSubmissions(t *testing.T, f *fixture) {
	want := submission("s-1", "k-1")
	f.update(func(tx store.Tx) error { return tx.Submissions.Insert(f.ctx, want) })
	f.update(func(tx store.Tx) error { return tx.Submissions.Insert(f.ctx, submission("s-2", "")) })
	f.update(func(tx store.Tx) error { return tx.Submissions.Insert(f.ctx, submission("s-3", "")) }) // no key is no name
	for name, taken := range map[string]store.Submission{"id": submission("s-1", "k-9"), "key": submission("s-9", "k-1")} {
		err := f.s.Update(f.ctx, func(tx store.Tx) error { return tx.Submissions.Insert(f.ctx, taken) })
		code(t, "a taken "+name, err, rule.CodeConflict)
	}
	got, err := f.s.Submissions.Get(f.ctx, "p", "s-1")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("by id: %v (-want +got):\n%s", err, diff)
	}
	got, err = f.s.Submissions.GetByKey(f.ctx, "p", "k-1")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("by key: %v (-want +got):\n%s", err, diff)
	}
	for _, err := range []error{
		second(f.s.Submissions.Get(f.ctx, "p", "none")), second(f.s.Submissions.Get(f.ctx, "q", "s-1")), second(f.s.Submissions.GetByKey(f.ctx, "p", "")),
	} {
		code(t, "no submission", err, rule.CodeNotFound)
	}

	f.update(func(tx store.Tx) error {
		return tx.Submissions.Finish(f.ctx, "p", "s-1", `{"code":"x"}`, at.Add(time.Minute))
	})
	f.update(func(tx store.Tx) error { return tx.Submissions.Finish(f.ctx, "p", "s-1", "", at.Add(time.Hour)) })
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Submissions.Finish(f.ctx, "p", "none", "", at) })
	got, err = f.s.Submissions.Get(f.ctx, "p", "s-1")
	if err != nil || got.Failure != `{"code":"x"}` || got.FinishedAt == nil || !got.FinishedAt.Equal(at.Add(time.Minute)) || len(got.Request) != 0 {
		t.Errorf("finished: %+v, %v; want the first end, without the request", got, err)
	}
	f.update(func(tx store.Tx) error { return tx.Submissions.Delete(f.ctx, "p", "s-2", "another") })
	if _, err := f.s.Submissions.Get(f.ctx, "p", "s-2"); err != nil {
		t.Errorf("deleted by another owner: %v", err)
	}
	f.update(func(tx store.Tx) error { return tx.Submissions.Delete(f.ctx, "p", "s-2", "") })
	code(t, "deleted", second(f.s.Submissions.Get(f.ctx, "p", "s-2")), rule.CodeNotFound)
}

func second[T any](_ T, err error) error { return err }

func testLeases(t *testing.T, f *fixture) {
	f.update(func(tx store.Tx) error { return tx.Submissions.Insert(f.ctx, submission("s-1", "")) })
	lease := func(owner string, now time.Time) (got bool) {
		t.Helper()
		f.update(func(tx store.Tx) (err error) {
			got, err = tx.Submissions.Lease(f.ctx, "p", "s-1", owner, now, now.Add(time.Minute))
			return err
		})
		return got
	}
	for _, step := range []struct {
		owner string
		after time.Duration
		want  bool
		why   string
	}{
		{"a", 0, true, "the lease has ended"},
		{"b", time.Second, false, "a has it"},
		{"a", 30 * time.Second, true, "a renews it"},
		{"b", 80 * time.Second, false, "a has renewed it"},
		{"b", 90 * time.Second, true, "a is gone"},
		{"a", 91 * time.Second, false, "b has it"},
	} {
		if got := lease(step.owner, at.Add(step.after)); got != step.want {
			t.Errorf("%s after %s: %v; %s", step.owner, step.after, got, step.why)
		}
	}
	f.update(func(tx store.Tx) error { return tx.Submissions.Finish(f.ctx, "p", "s-1", "", at) })
	if lease("b", at.Add(time.Hour)) {
		t.Error("a finished submission was leased")
	}
	// Of concurrent owners, one gets it.
	f.update(func(tx store.Tx) error { return tx.Submissions.Insert(f.ctx, submission("s-2", "")) })
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			got := false
			err := f.s.Update(f.ctx, func(tx store.Tx) (err error) {
				got, err = tx.Submissions.Lease(f.ctx, "p", "s-2", string(rune('a'+i)), at, at.Add(time.Minute))
				return err
			})
			if err != nil {
				t.Error(err)
			}
			if got {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d leases at once, want 1", won.Load())
	}
}

func testRetention(t *testing.T, f *fixture) {
	old, waiting, young, left := submission("old", "k"), submission("waiting", ""), submission("young", ""), submission("left", "")
	old.Request, young.CreatedAt = nil, at.Add(time.Hour)
	job, cancelled := f.addJob(nil), f.addJob(nil)
	waiting.Owner, left.Owner = store.JobOwner+strconv.FormatInt(job, 10), store.JobOwner+strconv.FormatInt(cancelled, 10)
	f.update(func(tx store.Tx) error {
		_, err := tx.Jobs.Cancel(f.ctx, "p", cancelled, at)
		return err
	})
	for _, s := range []store.Submission{old, waiting, young, left} {
		f.update(func(tx store.Tx) error { return tx.Submissions.Insert(f.ctx, s) })
	}
	drop := func() (n int) {
		f.update(func(tx store.Tx) (err error) {
			n, err = tx.Submissions.DeleteOld(f.ctx, "p", at.Add(time.Minute), 10)
			return err
		})
		return n
	}
	if n := drop(); n != 2 {
		t.Errorf("%d submissions dropped, want the old one and the one whose job is cancelled: one waits, one is young", n)
	}
	f.update(func(tx store.Tx) error { return tx.Submissions.Finish(f.ctx, "p", "waiting", "", at) })
	if n := drop(); n != 1 {
		t.Errorf("%d submissions dropped, want the one that has finished", n)
	}

	entries := []store.AuditEntry{}
	for seq := range int64(6) {
		entries = append(entries, entryAt(seq+1, func(e *store.AuditEntry) {
			if e.Seq == 3 {
				e.Kind = "rule"
			}
		}))
	}
	if err := f.appendAudit(entries...); err != nil {
		t.Fatal(err)
	}
	bodies := func(after, through int64, limit int, except ...int64) (done int64, n int) {
		f.update(func(tx store.Tx) (err error) {
			done, n, err = tx.Audit.DropBodies(f.ctx, "p", "evaluation", after, through, limit, except)
			return err
		})
		return done, n
	}
	if done, n := bodies(0, 2, 2, 1, 2); done != 2 || n != 0 {
		t.Errorf("all are excepted: %d bodies up to %d", n, done)
	}
	if first, err := f.s.Retention.FirstBody(f.ctx, "p", "evaluation", 5); err != nil || first != 1 {
		t.Errorf("the first body is that of %d, %v", first, err)
	}
	if done, n := bodies(0, 5, 2); done != 2 || n != 2 {
		t.Errorf("first two: %d bodies up to %d", n, done)
	}
	if done, n := bodies(2, 5, 10); done != 5 || n != 2 {
		t.Errorf("the rest: %d bodies up to %d, want 2 up to 5", n, done)
	}
	if done, n := bodies(5, 5, 10); done != 5 || n != 0 {
		t.Errorf("nothing left: %d bodies up to %d", n, done)
	}
	got, err := f.s.Audit.Entries(f.ctx, "p", 0, 10)
	for i := range entries {
		if slices.Contains([]int64{1, 2, 4, 5}, entries[i].Seq) {
			entries[i].Body = []byte{}
		}
	}
	if diff := cmp.Diff(entries, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("entries: %v (-want +got):\n%s", err, diff)
	}
}

func testFeedback(t *testing.T, f *fixture) {
	put := func(edit func(*store.Feedback)) store.Feedback {
		x := store.Feedback{
			ProjectID: "p", EvaluationID: "e", RuleID: "r", Actor: "ann", Correct: true, Note: "yes", RuleVersion: 2, ContentHash: "h",
			Verdict: rule.Deny, Judged: true, At: at,
		}
		edit(&x)
		f.update(func(tx store.Tx) error { return tx.Feedback.Put(f.ctx, x) })
		return x
	}
	put(func(*store.Feedback) {})
	first := put(func(x *store.Feedback) { x.Correct, x.Note = false, "no" }) // replaces
	other := put(func(x *store.Feedback) { x.Actor = "bob" })
	put(func(x *store.Feedback) { x.EvaluationID = "e2" })
	put(func(x *store.Feedback) { x.EvaluationID, x.RuleID = "e2", "r2" })
	got, err := f.s.Feedback.List(f.ctx, "p", "e")
	if diff := cmp.Diff([]store.Feedback{first, other}, got); err != nil || diff != "" {
		t.Errorf("feedback: %v (-want +got):\n%s", err, diff)
	}
	counts, err := f.s.Feedback.Count(f.ctx, "p", "r")
	want := []store.FeedbackCount{
		{RuleID: "r", ContentHash: "h", Verdict: rule.Deny, Judged: true, Correct: false, Count: 1},
		{RuleID: "r", ContentHash: "h", Verdict: rule.Deny, Judged: true, Correct: true, Count: 2},
	}
	if diff := cmp.Diff(want, counts); err != nil || diff != "" {
		t.Errorf("counts: %v (-want +got):\n%s", err, diff)
	}
	if all, err := f.s.Feedback.Count(f.ctx, "p", ""); err != nil || len(all) != 3 {
		t.Errorf("counts of all rules: %v, %v", all, err)
	}
	if none, err := f.s.Feedback.Count(f.ctx, "q", ""); err != nil || len(none) != 0 {
		t.Errorf("counts of another project: %v, %v", none, err)
	}
}
