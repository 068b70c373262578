package api

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"tenet/internal/auth"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

func TestJobsAreSeenAndChanged(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		queue := job.NewQueue(time.Now)
		var ids []int64
		add := func(project, kind string) {
			t.Helper()
			err := n.store.Update(t.Context(), func(tx store.Tx) error {
				id, err := queue.Enqueue(t.Context(), tx, kind, project, map[string]string{"text": "private"}, job.Options{})
				ids = append(ids, id)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		add(rule.DefaultProject, "a")
		add(rule.DefaultProject, "b")
		add(store.AllProjects, "a")
		path := func(i int, end string) string { return fmt.Sprintf("/api/v1/jobs/%d%s", ids[i], end) }

		list := into[wire.Page[wire.Job]](n.call("GET", "/api/v1/jobs", nil).want(http.StatusOK))
		if list.Total != 2 || list.Items[0].ID != ids[1] || string(list.Items[0].Args) != `{"text":"private"}` {
			t.Errorf("jobs: %+v", list)
		}
		for query, want := range map[string]int{"kind=a": 1, "state=QUEUED": 2, "state=failed": 0, "project_id=*": 1, "kind=c": 0} {
			if got := into[wire.Page[wire.Job]](n.call("GET", "/api/v1/jobs?"+query, nil).want(http.StatusOK)); got.Total != want || len(got.Items) != want {
				t.Errorf("%s: %+v, want %d", query, got, want)
			}
		}
		n.call("GET", "/api/v1/jobs?state=late", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "state")
		n.call("GET", path(2, ""), nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
		n.call("GET", path(2, "?project_id=*"), nil).want(http.StatusOK)
		n.call("POST", path(0, "/retry"), nil).wantProblem(http.StatusConflict, rule.CodeConflict)
		if got := into[wire.Job](n.call("POST", path(0, "/cancel"), nil).want(http.StatusOK)); got.State != job.Cancelled {
			t.Errorf("cancelled: %+v", got)
		}
		n.call("POST", path(0, "/cancel"), nil).wantProblem(http.StatusConflict, rule.CodeConflict)
		if got := into[wire.Job](n.call("POST", path(0, "/retry"), nil).want(http.StatusOK)); got.State != job.Queued {
			t.Errorf("retried: %+v", got)
		}

		n.makeKey(auth.Admin, store.AllProjects)
		n.key = n.makeKey(auth.Reviewer, rule.DefaultProject)
		for _, r := range []*reply{n.call("GET", path(1, ""), nil), n.call("POST", path(1, "/cancel"), nil)} {
			if got := into[wire.Job](r.want(http.StatusOK)); got.ID != ids[1] || got.Args != nil {
				t.Errorf("a reviewer sees %+v", got)
			}
		}
		if got := into[wire.Page[wire.Job]](n.call("GET", "/api/v1/jobs", nil).want(http.StatusOK)); got.Items[0].Args != nil {
			t.Errorf("a reviewer sees in the list %+v", got.Items[0])
		}
		n.call("GET", path(2, "?project_id=*"), nil).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	})
}
