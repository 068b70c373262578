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

// queueNode is a server with keys.
type queueNode struct {
	t       *testing.T
	address string
	secrets map[string]string // of the keys, by their names
}

func newQueueNode(t *testing.T, setting, database string) *queueNode {
	t.Helper()
	a := node(t, app.Options{Work: true}, map[string]string{setting: database, "no_seed": "true", "poll_interval": "20ms"})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &queueNode{t, "http://" + a.Addr(), map[string]string{}}
}

// do sends a request with the key of a person and reads the answer.
func (n *queueNode) do(who string, want int, method, path, body string, into any) {
	n.t.Helper()
	r, err := http.NewRequestWithContext(n.t.Context(), method, n.address+path, strings.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Api-Key", n.secrets[who])
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	b, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != want {
		n.t.Fatalf("%s %s as %s: status %d, %v, want %d: %s", method, path, who, answer.StatusCode, err, want, b)
	}
	if into != nil {
		if err := json.Unmarshal(b, into); err != nil {
			n.t.Fatalf("%s %s: %v in %s", method, path, err, b)
		}
	}
}

// key makes a key with a role in a project, or * for all. The first must be an administrator's.
func (n *queueNode) key(name, role, project string) {
	n.t.Helper()
	who := "ann"
	var made struct{ Secret string }
	n.do(who, http.StatusCreated, "POST", "/api/v1/keys", `{"name": "`+name+`", "role": "`+role+`", "project_id": "`+project+`"}`, &made)
	n.secrets[name] = made.Secret
}

func (n *queueNode) list(who, query string) wire.Queue {
	n.t.Helper()
	var page wire.Queue
	n.do(who, http.StatusOK, "GET", "/api/v1/queue?project_id=*"+query, "", &page)
	return page
}

func (n *queueNode) decide(who string, action wire.QueueAction, reason string, items ...wire.QueueItem) wire.QueueDecided {
	n.t.Helper()
	in := wire.DecideQueue{Action: action, Reason: reason}
	for _, item := range items {
		in.Items = append(in.Items, wire.QueueRef{Kind: item.Kind, ID: item.ID, ProjectID: item.ProjectID})
	}
	body, err := json.Marshal(in)
	if err != nil {
		n.t.Fatal(err)
	}
	var out wire.QueueDecided
	n.do(who, http.StatusOK, "POST", "/api/v1/queue/decisions", string(body), &out)
	return out
}

// The story of a morning at the queue: what waits in two projects is listed by urgency, decided in bulk, taken back, put aside, and never
// shown to those of another project.
func TestQueue(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { testQueue(t, "data", litetest.Dir(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { testQueue(t, "database_url", pgtest.DSN(t)) })
}

func testQueue(t *testing.T, setting, database string) {
	n := newQueueNode(t, setting, database)
	do, list, decide := n.do, n.list, n.decide

	const ann, bo, viewer, hers = "ann", "bo", "vi", "hr"
	var made struct {
		ID string `json:"evaluation_id"`
	}
	n.key(ann, "admin", "*")
	do(ann, http.StatusCreated, "POST", "/api/v1/projects", `{"id": "hr", "two_person_approval": true}`, nil)
	n.key(bo, "admin", "*")
	n.key(viewer, "viewer", "*")
	n.key(hers, "reviewer", "hr")
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
	var own wire.Queue
	if do(hers, http.StatusOK, "GET", "/api/v1/queue?project_id=*", "", &own); own.Total != 1 || own.Items[0].ProjectID != "hr" {
		t.Errorf("the queue of all projects that a person sees has %+v", own)
	}
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
		"&kind=candidate&kind=conflict": 3, "&severity_min=HIGH": 2, "&by=nobody": 0, "&q=push+MAIN": 1, "&q=SUPPLIER+acme/pay": 1, "&assignee=none": 6, "&assignee=me": 0, "&page_size=2&page=3": 6,
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
	if !out.Results[0].Undo {
		t.Errorf("an approval of a candidate cannot be taken back: %+v", out)
	}
	if out = decide(bo, wire.QueueReopen, "", candidates...); out.Done != 2 || list(bo, "&kind=candidate").Total != 2 {
		t.Errorf("an approval of candidates taken back: %+v", out)
	}
	if out = decide(bo, wire.QueueApprove, "", candidates...); out.Done != 2 {
		t.Errorf("approved again: %+v", out)
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

// Revisions of rules in force wait in the queue too: their authors are offered to withdraw them, and other reviewers to decide.
func TestQueueOfRevisions(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { testQueueOfRevisions(t, "data", litetest.Dir(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { testQueueOfRevisions(t, "database_url", pgtest.DSN(t)) })
}

func testQueueOfRevisions(t *testing.T, setting, database string) {
	n := newQueueNode(t, setting, database)
	const ann, bo, viewer = "ann", "bo", "vi"
	n.key(ann, "admin", "*")
	n.key(bo, "reviewer", "*")
	n.key(viewer, "viewer", "*")
	var made struct{ ID string }
	n.do(ann, http.StatusCreated, "POST", "/api/v1/rules", `{"slug": "PAY-1", "statement": "Invoices must be paid within 30 days.", "modality": "MUST", "severity": "HIGH", "status": "EFFECTIVE"}`, &made)
	n.do(ann, http.StatusOK, "PATCH", "/api/v1/projects/default", `{"two_person_approval": true}`, nil)
	revise := func(who, statement string) {
		t.Helper()
		n.do(who, http.StatusOK, "PATCH", "/api/v1/rules/PAY-1", `{"statement": "`+statement+`", "severity": "CRITICAL", "change_note": "the new law"}`, nil)
	}
	list := func(who string) wire.Queue {
		t.Helper()
		return n.list(who, "&kind=revision")
	}
	revise(ann, "Invoices must be paid within 20 days.")
	revise(bo, "Invoices must be paid within 10 days.")

	got := list(bo)
	if got.Total != 2 || got.Counts[wire.QueueRevision] != 2 {
		t.Fatalf("the queue has %+v", got)
	}
	first, second := got.Items[0], got.Items[1]
	if first.Title != "Invoices must be paid within 20 days." || first.Severity != "CRITICAL" || first.By != "key:ann" || first.RuleID != made.ID || first.Revision != 1 ||
		first.Stale || first.ID != made.ID+"/1" {
		t.Errorf("the revision is %+v", first)
	}
	for _, want := range []string{"PAY-1, revision 1 of version 1, changes statement, severity", "proposed by key:ann", "the new law"} {
		if !strings.Contains(first.Detail, want) {
			t.Errorf("the detail %q lacks %q", first.Detail, want)
		}
	}
	both, reject := []wire.QueueAction{wire.QueueApprove, wire.QueueReject}, []wire.QueueAction{wire.QueueReject}
	if !slices.Equal(first.Actions, both) || !slices.Equal(second.Actions, reject) {
		t.Errorf("bo is offered %v and %v", first.Actions, second.Actions)
	}
	if items := list(ann).Items; !slices.Equal(items[0].Actions, reject) || !slices.Equal(items[1].Actions, both) {
		t.Errorf("ann is offered %+v", items)
	}
	if items := list(viewer).Items; len(items[0].Actions)+len(items[1].Actions) > 0 {
		t.Errorf("a viewer is offered %+v", items)
	}
	if got := n.list(bo, "&kind=revision&q=10+days"); got.Total != 1 {
		t.Errorf("by words: %+v", got)
	}

	// A mark belongs to one revision, not to its rule.
	var out wire.QueueDecided
	n.do(bo, http.StatusOK, "POST", "/api/v1/queue/marks", `{"items": [{"kind": "revision", "id": "`+strings.ToUpper(second.ID)+`"}], "assignee": "me"}`, &out)
	if got := n.list(bo, "&assignee=me"); out.Done != 1 || got.Total != 1 || got.Items[0].ID != second.ID {
		t.Errorf("assigned: %+v, %+v", out, got)
	}

	if out := n.decide(ann, wire.QueueApprove, "", first); out.Failed != 1 || out.Results[0].Code != "conflict" || !strings.Contains(out.Results[0].Error, "second person") {
		t.Errorf("its author: %+v", out)
	}
	if out := n.decide(bo, wire.QueueReopen, "", first); out.Failed != 1 || !strings.Contains(out.Results[0].Error, "no reopen") {
		t.Errorf("there is nothing to take back: %+v", out)
	}
	wrong := first
	wrong.ID = made.ID + "/9"
	if out := n.decide(bo, wire.QueueApprove, "", wrong); out.Failed != 1 || out.Results[0].Code != "not_found" {
		t.Errorf("no such revision: %+v", out)
	}
	wrong.ID = made.ID
	if out := n.decide(bo, wire.QueueApprove, "", wrong); out.Failed != 1 || out.Results[0].Code != "not_found" {
		t.Errorf("a revision without a number: %+v", out)
	}
	wrong = first
	wrong.Kind = wire.QueueRule
	if out := n.decide(bo, wire.QueueApprove, "", wrong); out.Failed != 1 || out.Results[0].Code != "not_found" {
		t.Errorf("a rule by the name of a revision: %+v", out)
	}
	if out := n.decide(bo, wire.QueueApprove, "agreed", first); out.Done != 1 || out.Results[0].Undo || out.Results[0].RuleID != made.ID {
		t.Errorf("approved: %+v", out)
	}
	var now struct {
		Statement string
		Version   int
	}
	if n.do(bo, http.StatusOK, "GET", "/api/v1/rules/PAY-1", "", &now); now.Statement != first.Title || now.Version != 2 {
		t.Errorf("the rule is %+v", now)
	}

	// The other is stale now: nobody can approve it, and its author withdraws it.
	if got := list(ann); got.Total != 1 || !got.Items[0].Stale || !strings.HasPrefix(got.Items[0].Detail, "stale") || !slices.Equal(got.Items[0].Actions, reject) {
		t.Errorf("stale: %+v", got)
	}
	if out := n.decide(bo, wire.QueueReject, "outdated", second); out.Done != 1 || out.Results[0].Undo || list(bo).Total != 0 {
		t.Errorf("withdrawn: %+v", out)
	}
	revise(ann, "Invoices must be paid within 40 days.")
	if out := n.decide(bo, wire.QueueReject, "too late", list(bo).Items...); out.Done != 1 || list(bo).Total != 0 {
		t.Errorf("rejected: %+v", out)
	}
	var all struct {
		Items []struct{ State, DecidedBy string }
	}
	n.do(bo, http.StatusOK, "GET", "/api/v1/rules/PAY-1/pending?state=all", "", &all)
	states := []string{}
	for _, r := range all.Items {
		states = append(states, r.State)
	}
	if !slices.Equal(states, []string{"approved", "withdrawn", "rejected"}) {
		t.Errorf("the revisions are %v", states)
	}
}
