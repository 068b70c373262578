package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tenet/internal/app"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/wire"
)

// The story of a morning at the queue: what waits in two projects is listed by urgency, decided in bulk, taken back, put aside, and never
// shown to those of another project.
func TestQueue(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { testQueue(t, "data", litetest.Dir(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { testQueue(t, "database_url", pgtest.DSN(t)) })
}

func testQueue(t *testing.T, setting, database string) {
	a := node(t, app.Options{Work: true}, map[string]string{setting: database, "no_seed": "true", "poll_interval": "20ms"})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	address := "http://" + a.Addr()
	secrets := map[string]string{}
	do := func(who string, want int, method, path, body string, into any) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Api-Key", secrets[who])
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		b, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != want {
			t.Fatalf("%s %s as %s: status %d, %v, want %d: %s", method, path, who, answer.StatusCode, err, want, b)
		}
		if into != nil {
			if err := json.Unmarshal(b, into); err != nil {
				t.Fatalf("%s %s: %v in %s", method, path, err, b)
			}
		}
	}
	list := func(who, query string) wire.Queue {
		t.Helper()
		var page wire.Queue
		do(who, http.StatusOK, "GET", "/api/v1/queue?project_id=*"+query, "", &page)
		return page
	}
	decide := func(who string, action wire.QueueAction, reason string, items ...wire.QueueItem) wire.QueueDecided {
		t.Helper()
		in := wire.DecideQueue{Action: action, Reason: reason}
		for _, item := range items {
			in.Items = append(in.Items, wire.QueueRef{Kind: item.Kind, ID: item.ID, ProjectID: item.ProjectID})
		}
		body, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out wire.QueueDecided
		do(who, http.StatusOK, "POST", "/api/v1/queue/decisions", string(body), &out)
		return out
	}

	const ann, bo, viewer, hers = "ann", "bo", "vi", "hr"
	var made struct {
		Secret string
		ID     string `json:"evaluation_id"`
	}
	do(ann, http.StatusCreated, "POST", "/api/v1/keys", `{"name": "ann", "role": "admin", "project_id": "*"}`, &made)
	secrets[ann] = made.Secret
	do(ann, http.StatusCreated, "POST", "/api/v1/projects", `{"id": "hr", "two_person_approval": true}`, nil)
	for name, key := range map[string]string{bo: `"role": "admin", "project_id": "*"`, viewer: `"role": "viewer", "project_id": "*"`, hers: `"role": "reviewer", "project_id": "hr"`} {
		do(ann, http.StatusCreated, "POST", "/api/v1/keys", `{"name": "`+name+`", `+key+`}`, &made)
		secrets[name] = made.Secret
	}
	do(ann, http.StatusCreated, "POST", "/api/v1/rules?project_id=hr", `{"statement": "Contracts must be signed by two people.", "severity": "CRITICAL", "status": "REVIEW"}`, nil)
	do(ann, http.StatusCreated, "POST", "/api/v1/rules", `{"statement": "Invoices must be paid within 30 days.", "modality": "MUST", "severity": "HIGH", "status": "EFFECTIVE"}`, nil)
	do(ann, http.StatusCreated, "POST", "/api/v1/rules", `{"statement": "Invoices must be paid within 60 days.", "modality": "MUST", "severity": "LOW", "status": "EFFECTIVE"}`, nil)
	do(ann, http.StatusAccepted, "POST", "/api/v1/discover/scan", `{"sources": ["assistant_md"], "file_contents": {"AGENTS.md": "# Rules\n\n- Always run the tests before a commit.\n- Never push to main.\n"}}`, nil)
	var snapshot struct{ ID string }
	do(ann, http.StatusOK, "PUT", "/api/v1/environments/production/gates", `{"approvals": 1}`, nil)
	do(ann, http.StatusCreated, "POST", "/api/v1/snapshots", `{"name": "v1"}`, &snapshot)
	do(ann, http.StatusOK, "POST", "/api/v1/evaluate", `{"facts": {"amount": 5}, "intent": "Pay the invoice of a supplier", "repository": "acme/pay"}`, &made)

	var all wire.Queue
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if all = list(bo, ""); all.Counts[wire.QueueCandidate] == 2 && all.Counts[wire.QueueConflict] == 1 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the queue has %v", all.Counts)
		}
	}
	if all.Total != 6 || all.Items[0].Kind != wire.QueueRule || all.Items[0].ProjectID != "hr" || all.Items[1].Kind != wire.QueueConflict || all.Items[1].Severity != "HIGH" {
		t.Errorf("by urgency: %+v", all)
	}
	byKind := map[wire.QueueKind]wire.QueueItem{}
	for _, item := range all.Items {
		byKind[item.Kind] = item
	}
	if e := byKind[wire.QueueEvaluation]; e.ID != made.ID || e.Title != "Pay the invoice of a supplier" || !strings.Contains(e.Detail, "acme/pay") || !slices.Equal(e.Actions, []wire.QueueAction{wire.QueueSettle}) {
		t.Errorf("the evaluation is %+v", e)
	}
	if s := byKind[wire.QueueSnapshot]; s.ID != snapshot.ID || s.Title != "v1" || !strings.Contains(s.Detail, "0 of 1") || len(s.Actions) != 1 {
		t.Errorf("the snapshot is %+v", s)
	}
	if s := list(ann, "&kind=snapshot"); s.Total != 1 || len(s.Items[0].Actions) != 0 {
		t.Errorf("who took a snapshot may approve it: %+v", s)
	}

	// What a person may not see or do.
	if seen := list(viewer, ""); len(seen.Items) != 6 || slices.ContainsFunc(seen.Items, func(i wire.QueueItem) bool { return len(i.Actions) > 0 }) {
		t.Errorf("a viewer is offered %+v", seen)
	}
	do(viewer, http.StatusForbidden, "POST", "/api/v1/queue/decisions", `{"items": [], "action": "approve"}`, nil)
	do(hers, http.StatusForbidden, "GET", "/api/v1/queue?project_id=*", "", nil)
	var own wire.Queue
	if do(hers, http.StatusOK, "GET", "/api/v1/queue", "", &own); own.Total != 1 {
		t.Errorf("a project's own queue has %+v", own)
	}
	if out := decide(hers, wire.QueueApprove, "", byKind[wire.QueueConflict]); out.Done != 0 || out.Results[0].Code != "not_found" {
		t.Errorf("another project's conflict: %+v", out)
	}
	for body, want := range map[string]string{
		`{"items": [{"kind": "rule", "id": "` + snapshot.ID + `"}], "action": "reject"}`: "reason",
		`{"items": [], "action": "approve"}`:                                             "items",
		`{"items": [{"kind": "song", "id": "` + snapshot.ID + `"}], "action": "reject"}`: "kind",
	} {
		var problem struct{ Errors []struct{ Field string } }
		if do(bo, http.StatusUnprocessableEntity, "POST", "/api/v1/queue/decisions", body, &problem); len(problem.Errors) == 0 || !strings.Contains(problem.Errors[0].Field, want) {
			t.Errorf("%s: %+v", body, problem)
		}
	}

	// Filters.
	for query, want := range map[string]int{
		"&kind=candidate&kind=conflict": 3, "&severity_min=HIGH": 2, "&by=nobody": 0, "&q=push+MAIN": 1, "&assignee=none": 6, "&assignee=me": 0, "&page_size=2&page=3": 6,
	} {
		if got := list(bo, query); got.Total != want {
			t.Errorf("%s: %d items, want %d", query, got.Total, want)
		}
	}

	// The author of a rule cannot approve it; another person can, and can take it back.
	review := byKind[wire.QueueRule]
	if out := decide(ann, wire.QueueApprove, "", review); out.Failed != 1 || out.Results[0].Code != "conflict" || !strings.Contains(out.Results[0].Error, "second person") {
		t.Errorf("its author: %+v", out)
	}
	for _, action := range []wire.QueueAction{wire.QueueApprove, wire.QueueReject} {
		if out := decide(bo, action, "because", review); out.Done != 1 || !out.Results[0].Undo {
			t.Errorf("%s a rule: %+v", action, out)
		}
		if got := list(bo, "&kind=rule"); got.Total != 0 {
			t.Errorf("after %s: %+v", action, got)
		}
		if out := decide(bo, wire.QueueReopen, "", review); out.Done != 1 || list(bo, "&kind=rule").Total != 1 {
			t.Errorf("reopen after %s: %+v", action, out)
		}
	}

	// Bulk: all the rest at once, then taken back as far as it can be.
	rest := []wire.QueueItem{byKind[wire.QueueConflict]}
	candidates := list(bo, "&kind=candidate").Items
	rest = append(rest, candidates...)
	out := decide(bo, wire.QueueReject, "not now", rest...)
	if out.Done != 3 || out.Failed != 0 || list(bo, "&kind=candidate&kind=conflict").Total != 0 {
		t.Errorf("in bulk: %+v", out)
	}
	if out = decide(bo, wire.QueueReject, "again", rest...); out.Done != 1 || out.Failed != 2 {
		t.Errorf("in bulk, again: %+v", out) // to reject a conflict again changes nothing
	}
	if out = decide(bo, wire.QueueReopen, "", rest...); out.Done != 3 || list(bo, "&kind=candidate&kind=conflict").Total != 3 {
		t.Errorf("taken back: %+v", out)
	}
	if out = decide(bo, wire.QueueApprove, "", candidates...); out.Done != 2 || out.Results[0].RuleID == "" {
		t.Errorf("approved: %+v", out)
	}
	if out = decide(bo, wire.QueueReopen, "", candidates...); out.Failed != 2 {
		t.Errorf("an approved candidate was opened again: %+v", out)
	}
	if out = decide(bo, wire.QueueApprove, "", byKind[wire.QueueSnapshot], byKind[wire.QueueEvaluation]); out.Done != 1 || out.Failed != 1 {
		t.Errorf("a snapshot is approved, and an evaluation is not: %+v", out)
	}
	if out = decide(bo, wire.QueueSettle, "seen", byKind[wire.QueueEvaluation]); out.Done != 1 || !out.Results[0].Undo || list(bo, "&kind=evaluation").Total != 0 {
		t.Errorf("settled: %+v", out)
	}
	if out = decide(bo, wire.QueueReopen, "", byKind[wire.QueueEvaluation]); out.Done != 1 || list(bo, "&kind=evaluation").Total != 1 {
		t.Errorf("not settled any more: %+v", out)
	}

	// Assigned and put aside.
	mark := func(body string) {
		t.Helper()
		var out wire.QueueDecided
		ref := `{"kind": "conflict", "id": "` + byKind[wire.QueueConflict].ID + `"}`
		if do(bo, http.StatusOK, "POST", "/api/v1/queue/marks", `{"items": [`+ref+`], `+body+`}`, &out); out.Done != 1 {
			t.Errorf("mark %s: %+v", body, out)
		}
	}
	mark(`"assignee": "me"`)
	if got := list(bo, "&assignee=me"); got.Total != 1 || got.Items[0].Assignee != "key:bo" {
		t.Errorf("assigned: %+v", got)
	}
	mark(`"snoozed_until": "` + time.Now().Add(time.Hour).Format(time.RFC3339) + `"`)
	if got, aside := list(bo, "&assignee=key:bo"), list(bo, "&assignee=key:bo&snoozed=true"); got.Total != 0 || aside.Total != 1 || aside.Items[0].SnoozedUntil == nil {
		t.Errorf("put aside: %+v, %+v", got, aside)
	}
	mark(`"snoozed_until": "2020-01-01T00:00:00Z", "assignee": ""`)
	if got := list(bo, "&kind=conflict&assignee=none"); got.Total != 1 {
		t.Errorf("back: %+v", got)
	}
	do(bo, http.StatusUnprocessableEntity, "POST", "/api/v1/queue/marks", `{"items": [{"kind": "rule", "id": "`+review.ID+`"}]}`, nil)
}
