package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"tenet/internal/conflict"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// findConflicts does the jobs that look for conflicts and wait.
func (n *node) findConflicts() {
	n.t.Helper()
	jobs, _, err := n.store.Jobs.Find(n.t.Context(), store.JobFilter{ProjectID: rule.DefaultProject, Kind: conflict.FindKind, State: job.Queued, Limit: 10})
	if err != nil || len(jobs) == 0 {
		n.t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	for _, j := range jobs {
		if err := n.cfg.Conflicts.Find(n.t.Context(), wire.Job{ProjectID: j.ProjectID, Args: j.Args}, func(int, int) {}); err != nil {
			n.t.Fatal(err)
		}
	}
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		n.t = t
		const path = "/api/v1/conflicts"
		if got := into[wire.ConflictPage](n.call("GET", path, nil).want(http.StatusOK)); got.Total != 0 || got.Items == nil || got.Page.Page != 1 || got.PageSize != 20 {
			t.Errorf("none: %+v", got)
		}
		for slug, statement := range map[string]string{
			"PAY-1": "Invoices must be paid within 14 days.", "LOG-1": "Secrets must be logged.", "LOG-2": "Secrets must not be logged.",
		} {
			n.call("POST", "/api/v1/rules", map[string]any{"slug": slug, "statement": statement, "status": "EFFECTIVE"}).want(http.StatusCreated)
		}
		n.call("POST", "/api/v1/rules", map[string]any{"slug": "PAY-2", "statement": "Invoices must be paid in at most 30 days."}).want(http.StatusCreated)
		n.findConflicts()
		list := into[wire.ConflictPage](n.call("GET", path+"?rule_id=PAY-1&state=Suggested", nil).want(http.StatusOK))
		if list.Total != 1 || list.Items[0].Rule.Slug != "PAY-2" || list.Items[0].Other.Slug != "PAY-1" || list.Items[0].Other.Statement == "" {
			t.Fatalf("%+v", list)
		}
		c := list.Items[0]
		if got := into[wire.ConflictPage](n.call("GET", path+"?page_size=1&page=2", nil).want(http.StatusOK)); got.Total != 2 || len(got.Items) != 1 {
			t.Errorf("second page: %+v", got)
		}
		if got := into[wire.Conflict](n.call("GET", path+"/"+c.ID, nil).want(http.StatusOK)); got.ID != c.ID || got.DecidedAt != nil {
			t.Errorf("%+v", got)
		}
		search := func() wire.RuleConflicts {
			t.Helper()
			return into[wire.RuleConflicts](n.call("POST", searchPath+"/conflict?rule_id=PAY-1", nil).want(http.StatusOK))
		}
		if got := search(); got.Total != 1 || got.Conflicts[0].State != "suggested" || got.Conflicts[0].ConflictID != c.ID ||
			got.Conflicts[0].Rule.Slug != "PAY-2" || got.Conflicts[0].Confidence != c.Confidence || got.Conflicts[0].Relationship != rule.ConflictsWith {
			t.Errorf("search: %+v", got)
		}
		confirmed := into[wire.Conflict](n.call("POST", path+"/"+c.ID+"/confirm", map[string]any{"note": "yes"}).want(http.StatusOK))
		if confirmed.State != "confirmed" || confirmed.Note != "yes" || confirmed.DecidedBy == "" || confirmed.DecidedAt == nil {
			t.Errorf("%+v", confirmed)
		}
		n.call("POST", path+"/"+c.ID+"/confirm", map[string]any{}).want(http.StatusOK)
		n.call("POST", path+"/"+c.ID+"/reject", map[string]any{}).want(http.StatusConflict)
		if got := search(); got.Total != 1 || got.Conflicts[0].State != "confirmed" || got.Conflicts[0].Confidence != c.Confidence {
			t.Errorf("search: %+v", got)
		}
		rels := into[wire.Page[rule.Relationship]](n.call("GET", "/api/v1/rules/PAY-1/relationships", nil).want(http.StatusOK))
		if rels.Total != 1 || rels.Items[0].Kind != rule.ConflictsWith || rels.Items[0].ID != confirmed.RelationshipID {
			t.Errorf("relationships: %+v", rels)
		}
		other := into[wire.ConflictPage](n.call("GET", path+"?rule_id=LOG-1", nil).want(http.StatusOK)).Items[0]
		n.call("POST", path+"/"+other.ID+"/reject", map[string]any{"note": nil}).want(http.StatusOK)
		if got := into[wire.RuleConflicts](n.call("POST", searchPath+"/conflict?rule_id=LOG-1", nil).want(http.StatusOK)); got.Total != 0 {
			t.Errorf("a rejected conflict is found: %+v", got)
		}
		r := n.call("POST", path+"/scan", map[string]any{}).want(http.StatusAccepted)
		made := into[wire.Job](r)
		if made.Kind != conflict.FindKind || !strings.HasPrefix(r.header.Get("Location"), jobsPath+"/") {
			t.Errorf("scan: %+v, %v", made, r.header)
		}
		n.findConflicts()
		states := []string{}
		for _, c := range into[wire.ConflictPage](n.call("GET", path, nil).want(http.StatusOK)).Items {
			states = append(states, c.State)
		}
		slices.Sort(states)
		if !slices.Equal(states, []string{"confirmed", "rejected"}) {
			t.Errorf("after a scan: %v", states)
		}
	})
}

func TestConflictsRefused(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	const path = "/api/v1/conflicts"
	for target, want := range map[string]int{
		"GET " + path + "?state=maybe":   http.StatusUnprocessableEntity,
		"GET " + path + "?rule_id=NONE":  http.StatusNotFound,
		"GET " + path + "/x":             http.StatusNotFound,
		"GET " + path + "?page_size=101": http.StatusUnprocessableEntity,
		"POST " + path + "/x/confirm":    http.StatusNotFound,
		"POST " + path + "/" + "00000000-0000-7000-8000-000000000000" + "/reject": http.StatusNotFound,
	} {
		method, target, _ := strings.Cut(target, " ")
		var body any
		if method == http.MethodPost {
			body = map[string]any{}
		}
		n.call(method, target, body).want(want)
	}
	n.call("POST", path+"/x/confirm", map[string]any{"reason": "x"}).want(http.StatusUnprocessableEntity)
	n.call("POST", path+"/scan", map[string]any{"model": true}).want(http.StatusServiceUnavailable)
}
