package api

import (
	"net/http"
	"testing"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

func TestKeysJobsAndUsageOfAllProjects(t *testing.T) {
	t.Parallel()
	onBoth(t, testAllProjects)
}

func testAllProjects(t *testing.T, n *node) {
	n.makeProject("pay")
	n.key = n.makeKey(auth.Admin, store.AllProjects)
	n.makeKey(auth.Viewer, "pay")
	keys := into[wire.Page[wire.Key]](n.call("GET", "/api/v1/keys?project_id=*", nil).want(http.StatusOK))
	if keys.Total != 1 || keys.Items[0].LastUsedAt == nil {
		t.Errorf("the keys for all projects: %+v; want one, used just now", keys)
	}
	keys = into[wire.Page[wire.Key]](n.call("GET", "/api/v1/keys?project_id=*&every=true", nil).want(http.StatusOK))
	if keys.Total != 2 || keys.Items[0].ProjectID != "pay" || keys.Items[0].LastUsedAt != nil {
		t.Errorf("all keys: %+v; want the newest first, never used", keys)
	}
	n.call("GET", "/api/v1/keys?project_id=pay&every=true", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "every")
	if err := n.keys.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	stored, err := n.store.Keys.List(t.Context(), store.AllProjects)
	if err != nil || len(stored) != 1 || stored[0].LastUsedAt == nil {
		t.Errorf("stored: %+v, %v; want the time of the last use", stored, err)
	}

	n.call("GET", "/api/v1/jobs?project_id=pay&every=true", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "every")
	jobs := into[wire.Page[wire.Job]](n.call("GET", "/api/v1/jobs?project_id=*&every=true&page_size=100", nil).want(http.StatusOK))
	waiting := 0
	for _, c := range into[wire.JobCounts](n.call("GET", "/api/v1/jobs/counts", nil).want(http.StatusOK)).Items {
		waiting += c.Count
	}
	if waiting > jobs.Total {
		t.Errorf("%d jobs wait, run or have failed, but the list has %d", waiting, jobs.Total)
	}
	usage := into[wire.Usage](n.call("GET", "/api/v1/usage?project_id=*&period_days=7", nil).want(http.StatusOK))
	if len(usage.Days) != 7 || usage.ProjectID != "*" || len(usage.Models) != 0 {
		t.Errorf("usage: %+v", usage)
	}
	n.call("GET", "/api/v1/usage?project_id=none", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	if s := into[wire.Page[wire.Server]](n.call("GET", "/api/v1/servers", nil).want(http.StatusOK)); s.Total != 0 {
		t.Errorf("servers before one serves: %+v", s)
	}
}

func TestViolationsAreFoundByABeginningOfTheirFingerprint(t *testing.T) {
	t.Parallel()
	onBoth(t, testViolations)
}

func testViolations(t *testing.T, n *node) {
	n.judgedRules()
	n.judging(nil)
	n.evaluates(fields{"diff": badDiff, "repository": "acme/app"})
	again := n.evaluates(fields{"diff": badDiff, "repository": "https://example.com/acme/app.git"})
	elsewhere := n.evaluates(fields{"diff": badDiff, "repository": "acme/web"})
	fingerprint := ""
	for _, v := range elsewhere.RuleVerdicts {
		if v.Fingerprint != "" {
			fingerprint = v.Fingerprint
		}
	}
	if len(fingerprint) != 64 {
		t.Fatalf("no denial has a fingerprint: %+v", elsewhere.RuleVerdicts)
	}
	find := func(prefix string) wire.Violations {
		t.Helper()
		return into[wire.Violations](n.call("GET", "/api/v1/violations?fingerprint="+prefix, nil).want(http.StatusOK))
	}
	got := find(fingerprint[:12])
	if got.Total != 3 || got.Items[0].Repository != "acme/web" || got.Items[0].EvaluationID != elsewhere.EvaluationID || got.Items[1].EvaluationID != again.EvaluationID {
		t.Errorf("one for each repository, the newest first: %+v", got)
	}
	if v := got.Items[0]; v.Fingerprint != fingerprint || v.Slug == "" || v.Statement == "" || v.Issue == "" || len(v.Locations) == 0 {
		t.Errorf("a violation: %+v", v)
	}
	if got := find(fingerprint); got.Total != 3 {
		t.Errorf("by the whole fingerprint: %+v", got)
	}
	if got := find(fingerprint[:8] + "0000000000000000"); got.Total != 0 {
		t.Errorf("by another one that begins alike: %+v", got)
	}
	n.call("GET", "/api/v1/violations?fingerprint=abc", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "fingerprint")
	n.call("GET", "/api/v1/violations?fingerprint=notahexvalue", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "fingerprint")
	if ids := n.finds("fingerprint=" + fingerprint[:10]); len(ids) != 3 {
		t.Errorf("evaluations with it: %v", ids)
	}
}
