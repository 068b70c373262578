package storetest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func newJob(edit func(*store.Job)) store.Job {
	j := store.Job{ProjectID: "p", Kind: "k", Args: []byte(`{"a":1}`), State: store.JobQueued, Priority: 2, MaxAttempts: 3, RunAt: at, CreatedAt: at}
	if edit != nil {
		edit(&j)
	}
	return j
}

func (f *fixture) addJob(edit func(*store.Job)) (id int64) {
	f.t.Helper()
	f.update(func(tx store.Tx) (err error) {
		id, err = tx.Jobs.Insert(f.ctx, newJob(edit))
		return err
	})
	return id
}

// claim takes jobs of the kind k for a minute.
func (f *fixture) claim(owner string, now time.Time, limit int) (jobs []store.Job) {
	f.t.Helper()
	f.update(func(tx store.Tx) (err error) {
		jobs, err = tx.Jobs.Claim(f.ctx, store.JobClaim{Now: now, Kinds: []string{"k"}, Owner: owner, Lease: now.Add(time.Minute), Limit: limit})
		return err
	})
	return jobs
}

func (f *fixture) job(id int64) store.Job {
	f.t.Helper()
	j, err := f.s.Jobs.Get(f.ctx, "p", id)
	if err != nil {
		f.t.Fatal(err)
	}
	return j
}

func ids(jobs []store.Job) []int64 {
	list := []int64{}
	for _, j := range jobs {
		list = append(list, j.ID)
	}
	return list
}

func testJobLife(t *testing.T, f *fixture) {
	id := f.addJob(nil)
	want := newJob(func(j *store.Job) { j.ID, j.LeaseUntil = id, time.UnixMicro(0).UTC() })
	if diff := cmp.Diff(want, f.job(id)); diff != "" {
		t.Errorf("a queued job (-want +got):\n%s", diff)
	}
	now := at.Add(time.Second)
	claimed := f.claim("me", now, 10)
	want.State, want.Owner, want.Attempt, want.LeaseUntil, want.StartedAt = store.JobRunning, "me", 1, now.Add(time.Minute), &now
	if diff := cmp.Diff([]store.Job{want}, claimed); diff != "" {
		t.Fatalf("claimed (-want +got):\n%s", diff)
	}
	if again := f.claim("you", now, 10); len(again) != 0 {
		t.Errorf("a running job was claimed: %+v", again)
	}
	want.Done, want.Total = 3, 7
	f.update(func(tx store.Tx) error {
		had, err := tx.Jobs.Renew(f.ctx, now.Add(time.Hour), []store.Job{want})
		if len(had) != 1 {
			t.Errorf("renewed %+v", had)
		}
		return err
	})
	if got := f.job(id); got.Done != 3 || got.Total != 7 || !got.LeaseUntil.Equal(now.Add(time.Hour)) {
		t.Errorf("renewed: %+v", got)
	}
	lost := want
	lost.Owner = "you"
	later := want
	later.Attempt = 2
	for _, other := range []store.Job{lost, later} {
		other.State = store.JobFailed
		f.update(func(tx store.Tx) error {
			had, err := tx.Jobs.Renew(f.ctx, now, []store.Job{other})
			if len(had) != 0 {
				t.Errorf("renewed what is another's: %+v", had)
			}
			if err != nil {
				return err
			}
			return tx.Jobs.Finish(f.ctx, []store.Job{other})
		})
	}
	end := now.Add(time.Minute)
	done := want
	done.State, done.FinishedAt, done.Done = store.JobSucceeded, &end, 7
	f.update(func(tx store.Tx) error { return tx.Jobs.Finish(f.ctx, []store.Job{done}) })
	done.Owner, done.LeaseUntil = "", time.UnixMicro(0).UTC()
	if diff := cmp.Diff(done, f.job(id)); diff != "" {
		t.Errorf("finished (-want +got):\n%s", diff)
	}
	if _, any, err := f.s.Jobs.Next(f.ctx); any || err != nil {
		t.Errorf("something is next although all is done: %v", err)
	}
	_, err := f.s.Jobs.Get(f.ctx, "q", id)
	code(t, "a job of another project", err, rule.CodeNotFound)
	f.update(func(tx store.Tx) error {
		n, err := tx.Jobs.DeleteOld(f.ctx, end, 10)
		if n != 0 {
			t.Errorf("%d deleted that had not ended before", n)
		}
		return err
	})
	f.update(func(tx store.Tx) error {
		n, err := tx.Jobs.DeleteOld(f.ctx, end.Add(time.Microsecond), 10)
		if n != 1 {
			t.Errorf("%d deleted, want 1", n)
		}
		return err
	})
}

func testJobOrder(t *testing.T, f *fixture) {
	late := f.addJob(func(j *store.Job) { j.RunAt = at.Add(time.Second) })
	early := f.addJob(nil)
	last := f.addJob(func(j *store.Job) { j.Priority = 3 })
	first := f.addJob(func(j *store.Job) { j.Priority, j.RunAt = 1, at.Add(2*time.Second) })
	f.addJob(func(j *store.Job) { j.Kind = "other" })
	if next, any, err := f.s.Jobs.Next(f.ctx); !any || !next.Equal(at) || err != nil {
		t.Errorf("next is at %v (%v, %v)", next, any, err)
	}
	if got := ids(f.claim("me", at.Add(-time.Microsecond), 10)); len(got) != 0 {
		t.Errorf("claimed before their time: %v", got)
	}
	var order []int64
	for range 3 {
		order = append(order, ids(f.claim("me", at.Add(2*time.Second), 1))...)
	}
	if diff := cmp.Diff([]int64{first, early, late}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if got := ids(f.claim("me", at.Add(time.Hour), 10)); len(got) != 1 || got[0] != last {
		t.Errorf("at the end %v, want %d alone", got, last)
	}
}

func testJobUnique(t *testing.T, f *fixture) {
	keyed := func(run time.Time) func(*store.Job) {
		return func(j *store.Job) { j.UniqueKey, j.RunAt = "u", run }
	}
	one := f.addJob(keyed(at.Add(time.Hour)))
	if again := f.addJob(keyed(at)); again != one || !f.job(one).RunAt.Equal(at) {
		t.Errorf("a second waiting job %d beside %d, which starts at %v", again, one, f.job(one).RunAt)
	}
	if other := f.addJob(func(j *store.Job) { j.UniqueKey, j.Kind = "u", "other" }); other == one {
		t.Error("a key of another kind is the same")
	}
	if other := f.addJob(func(j *store.Job) { j.UniqueKey, j.ProjectID = "u", "q" }); other == one {
		t.Error("a key of another project is the same")
	}
	running := f.claim("me", at, 10)
	if len(running) != 2 {
		t.Fatalf("claimed %v, want one of each project", ids(running))
	}
	two := f.addJob(keyed(at))
	if two == one {
		t.Fatal("a job was not added because one runs, which may have looked already")
	}
	if got := f.claim("me", at, 10); len(got) != 0 {
		t.Errorf("two of a key run at once: %v", ids(got))
	}
	first := running[0]
	if first.ID != one {
		first = running[1]
	}
	first.State = store.JobQueued
	f.update(func(tx store.Tx) error { return tx.Jobs.Finish(f.ctx, []store.Job{first}) })
	if got := f.job(one); got.State != store.JobCancelled || got.FinishedAt == nil {
		t.Errorf("a failed attempt beside a waiting job of its key: %+v, want it cancelled", got)
	}
	f.fails(rule.CodeConflict, func(tx store.Tx) error {
		_, err := tx.Jobs.Retry(f.ctx, "p", one, at)
		return err
	})
	if got := ids(f.claim("me", at, 10)); len(got) != 1 || got[0] != two {
		t.Errorf("claimed %v, want %d", got, two)
	}
}

func testJobsByHand(t *testing.T, f *fixture) {
	waiting, running := f.addJob(func(j *store.Job) { j.RunAt = at.Add(time.Hour) }), f.addJob(nil)
	claimed := f.claim("me", at, 1)
	cancel := func(id int64) (j store.Job) {
		f.update(func(tx store.Tx) (err error) {
			j, err = tx.Jobs.Cancel(f.ctx, "p", id, at)
			return err
		})
		return j
	}
	if j := cancel(waiting); j.State != store.JobCancelled || j.FinishedAt == nil || j.Cancel {
		t.Errorf("a waiting job that was cancelled: %+v", j)
	}
	if j := cancel(running); j.State != store.JobRunning || !j.Cancel || j.FinishedAt != nil {
		t.Errorf("a running job that was cancelled: %+v", j)
	}
	f.update(func(tx store.Tx) error {
		had, err := tx.Jobs.Renew(f.ctx, at.Add(time.Hour), claimed)
		if len(had) != 1 || !had[0].Cancel {
			t.Errorf("its owner hears %+v", had)
		}
		return err
	})
	claimed[0].State = store.JobQueued
	f.update(func(tx store.Tx) error { return tx.Jobs.Finish(f.ctx, claimed) })
	if j := f.job(running); j.State != store.JobCancelled || j.Cancel {
		t.Errorf("a cancelled job that would be tried again: %+v", j)
	}
	for name, change := range map[string]func(tx store.Tx, id int64) error{
		"cancel": func(tx store.Tx, id int64) error { _, err := tx.Jobs.Cancel(f.ctx, "p", id, at); return err },
		"retry":  func(tx store.Tx, id int64) error { _, err := tx.Jobs.Retry(f.ctx, "p", id, at); return err },
	} {
		f.fails(rule.CodeNotFound, func(tx store.Tx) error { return change(tx, 1<<40) })
		if name == "cancel" {
			f.fails(rule.CodeConflict, func(tx store.Tx) error { return change(tx, running) })
		}
	}
	f.update(func(tx store.Tx) error {
		j, err := tx.Jobs.Retry(f.ctx, "p", running, at.Add(time.Minute))
		if j.State != store.JobQueued || j.Attempt != 0 || j.FinishedAt != nil || !j.RunAt.Equal(at.Add(time.Minute)) {
			t.Errorf("retried: %+v", j)
		}
		return err
	})
	f.fails(rule.CodeConflict, func(tx store.Tx) error { _, err := tx.Jobs.Retry(f.ctx, "p", running, at); return err })
}

func testFindJobs(t *testing.T, f *fixture) {
	a := f.addJob(func(j *store.Job) { j.RunAt = at.Add(time.Hour) })
	b := f.addJob(func(j *store.Job) { j.Kind = "l"; j.RunAt = at.Add(time.Hour) })
	c := f.addJob(nil)
	f.addJob(func(j *store.Job) { j.ProjectID = store.AllProjects; j.RunAt = at.Add(time.Hour) })
	f.claim("me", at, 10)
	for _, tt := range []struct {
		filter store.JobFilter
		want   []int64
		total  int
	}{
		{store.JobFilter{Limit: 10}, []int64{c, b, a}, 3},
		{store.JobFilter{Limit: 1, Offset: 1}, []int64{b}, 3},
		{store.JobFilter{Limit: 10, Kind: "l"}, []int64{b}, 1},
		{store.JobFilter{Limit: 10, State: store.JobRunning}, []int64{c}, 1},
		{store.JobFilter{Limit: 10, Kind: "k", State: store.JobQueued}, []int64{a}, 1},
	} {
		tt.filter.ProjectID = "p"
		list, total, err := f.s.Jobs.Find(f.ctx, tt.filter)
		if diff := cmp.Diff(tt.want, ids(list)); err != nil || diff != "" || total != tt.total {
			t.Errorf("%+v: total %d, want %d; %v (-want +got):\n%s", tt.filter, total, tt.total, err, diff)
		}
	}
	f.update(func(tx store.Tx) error {
		_, err := tx.Jobs.Cancel(f.ctx, "p", a, at)
		return err
	})
	counts, err := f.s.Jobs.Count(f.ctx)
	want := []store.JobCount{{Kind: "k", State: "queued", Count: 1}, {Kind: "k", State: "running", Count: 1}, {Kind: "l", State: "queued", Count: 1}}
	if diff := cmp.Diff(want, counts); err != nil || diff != "" {
		t.Errorf("counts: %v (-want +got):\n%s", err, diff)
	}
}

func testExpiredJobs(t *testing.T, f *fixture) {
	f.addJob(nil)
	claimed := f.claim("me", at, 1)
	look := func(now time.Time) (jobs []store.Job) {
		f.update(func(tx store.Tx) (err error) {
			jobs, err = tx.Jobs.ListExpired(f.ctx, now, 10)
			return err
		})
		return jobs
	}
	if got := look(claimed[0].LeaseUntil); len(got) != 0 {
		t.Errorf("expired before its lease has ended: %+v", got)
	}
	if diff := cmp.Diff(claimed, look(claimed[0].LeaseUntil.Add(time.Microsecond))); diff != "" {
		t.Errorf("expired (-want +got):\n%s", diff)
	}
}

// Sixteen handles claim the same jobs: one gets each job.
func testRaceJobs(t *testing.T, f *fixture) {
	const jobs = 40
	f.update(func(tx store.Tx) error {
		for range jobs {
			if _, err := tx.Jobs.Insert(f.ctx, newJob(nil)); err != nil {
				return err
			}
		}
		return nil
	})
	other := f.open(t)
	var all errgroup.Group
	var taken, rounds atomic.Int64
	for i := range 16 {
		s := f.s
		if i%2 == 1 {
			s = other
		}
		all.Go(func() error {
			for {
				var got []store.Job
				var won bool
				err := s.Update(f.ctx, func(tx store.Tx) (err error) {
					if won, err = tx.Jobs.TakeRound(f.ctx, "k", at); err != nil {
						return err
					}
					got, err = tx.Jobs.Claim(f.ctx, store.JobClaim{Now: at, Kinds: []string{"k"}, Owner: "me", Lease: at, Limit: 3})
					return err
				})
				if won && err == nil {
					rounds.Add(1)
				}
				if err != nil || len(got) == 0 {
					return err
				}
				taken.Add(int64(len(got)))
			}
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	if taken.Load() != jobs || rounds.Load() != 1 {
		t.Errorf("%d jobs were taken of %d, and the round %d times", taken.Load(), jobs, rounds.Load())
	}
	f.update(func(tx store.Tx) error {
		again, err := tx.Jobs.TakeRound(f.ctx, "k", at)
		next, err2 := tx.Jobs.TakeRound(f.ctx, "k", at.Add(time.Minute))
		if again || !next || err2 != nil {
			t.Errorf("the round again: %v; the next one: %v, %v", again, next, err2)
		}
		return err
	})
}

func testWatchJobs(t *testing.T, f *fixture) {
	added, stop := f.s.WatchJobs()
	defer stop()
	_ = f.s.Update(f.ctx, func(tx store.Tx) error {
		if _, err := tx.Jobs.Insert(f.ctx, newJob(nil)); err != nil {
			t.Error(err)
		}
		return rule.Errorf(rule.CodeConflict, "no")
	})
	f.update(func(tx store.Tx) error { return tx.Projects.Create(f.ctx, project("q")) })
	select {
	case <-added:
		t.Error("told of a job that was rolled back")
	default:
	}
	if _, total, err := f.s.Jobs.Find(f.ctx, store.JobFilter{ProjectID: "p", Limit: 1}); total != 0 || err != nil {
		t.Errorf("%d jobs after a rollback, %v", total, err)
	}
	f.addJob(nil)
	f.addJob(nil)
	select {
	case <-added:
	case <-time.After(10 * time.Second):
		t.Error("not told of a new job")
	}
}
