package storetest

import (
	"slices"
	"testing"
	"time"

	"tenet/internal/store"
)

// testJobsByTurns floods one project with jobs, all of them older than those of others, which get their turns nevertheless.
func testJobsByTurns(t *testing.T, f *fixture) {
	for _, id := range []string{"a", "q", "z"} {
		f.update(func(tx store.Tx) error { return tx.Projects.Create(f.ctx, project(id)) })
	}
	f.update(func(tx store.Tx) error {
		for n := range 200 {
			j := newJob(func(j *store.Job) { j.RunAt = at.Add(time.Duration(n) * time.Millisecond) })
			if _, err := tx.Jobs.Insert(f.ctx, j); err != nil {
				return err
			}
		}
		for _, id := range []string{"a", "q", "z", "a"} {
			j := newJob(func(j *store.Job) { j.ProjectID, j.RunAt = id, at.Add(time.Minute) })
			if _, err := tx.Jobs.Insert(f.ctx, j); err != nil {
				return err
			}
		}
		later := newJob(func(j *store.Job) { j.ProjectID, j.RunAt = "q", at.Add(time.Hour) })
		other := newJob(func(j *store.Job) { j.ProjectID, j.Kind, j.RunAt = "q", "other", at })
		for _, j := range []store.Job{later, other} { // neither is to be claimed
			if _, err := tx.Jobs.Insert(f.ctx, j); err != nil {
				return err
			}
		}
		return nil
	})
	running := map[string]int{}
	claim := func(limit int, after string, share int) (projects []string) {
		f.update(func(tx store.Tx) error {
			jobs, err := tx.Jobs.Claim(f.ctx, store.JobClaim{
				Now: at.Add(2 * time.Minute), Kinds: []string{"k"}, Owner: "me", Lease: at.Add(time.Hour), Limit: limit, Running: running, Share: share, After: after,
			})
			for _, j := range jobs {
				projects = append(projects, j.ProjectID)
			}
			return err
		})
		for _, id := range projects {
			running[id]++
		}
		slices.Sort(projects)
		return projects
	}
	if got := claim(5, "", 0); !slices.Equal(got, []string{"a", "p", "p", "q", "z"}) && !slices.Equal(got, []string{"a", "a", "p", "q", "z"}) {
		t.Errorf("the first five are of %v, want one of each project and one more", got)
	}
	if got := claim(1, "p", 0); !slices.Equal(got, []string{"a"}) && !slices.Equal(got, []string{"p"}) {
		t.Errorf("the next is of %v", got)
	}
	claim(1, "", 0)
	if n := running["a"]; n != 2 {
		t.Errorf("%d jobs of a project run beside a flood, want both", n)
	}
	running = map[string]int{"p": 3}
	if got := claim(10, "", 4); !slices.Equal(got, []string{"p"}) {
		t.Errorf("with a share of four, three of which run, one got %v", got)
	}
	if got := claim(1, "", 4); len(got) != 0 {
		t.Errorf("beyond its share a project got %v", got)
	}
}
