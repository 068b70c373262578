package console_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// raises makes an alert: a person relates two rules that contradict each other.
func (n *node) raises() rule.Alert {
	n.t.Helper()
	_, err := client.Call(n.t.Context(), n.api, op.CreateRelationship.At("SEC-001"), wire.RelationshipInput{To: "FIN-001", Kind: rule.ConflictsWith, Reason: "for the test"})
	if err != nil {
		n.t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		list, err := client.Get(n.t.Context(), n.api, op.ListAlerts)
		if err != nil {
			n.t.Fatal(err)
		}
		if len(list.Alerts) > 0 {
			return list.Alerts[0]
		}
	}
	n.t.Fatal("no alert is raised")
	return rule.Alert{}
}

// has fails for texts that a page does not show.
func has(t *testing.T, page string, want ...string) {
	t.Helper()
	text := html.UnescapeString(regexp.MustCompile(`\s+`).ReplaceAllString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, ""), " "))
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("the page does not show %q: %s", w, text)
		}
	}
}

// auditScreens are the screens of the audit log, alerts and webhooks.
func auditScreens(n *node) []screen {
	n.raises()
	webhook, err := client.Call(n.t.Context(), n.api, op.CreatePolicy, wire.CreatePolicy{Name: "night watch", URL: "https://hooks.example.com/tenet", EventTypes: rule.EventTypes})
	if err != nil {
		n.t.Fatal(err)
	}
	list, err := client.Get(n.t.Context(), n.api, op.ListAudit.Where(wire.AuditFilter{Kind: []string{"import"}}))
	if err != nil {
		n.t.Fatal(err)
	}
	imported := fmt.Sprint(list.Items[len(list.Items)-1].Seq)
	return []screen{
		{"the audit log", "/p/default/audit", "Audit", []string{"webhook night watch: create", "Verify the chain", "CSV"}},
		{"an entry of the audit log", "/p/default/audit/" + imported, "Entry " + imported + "\nimport", []string{"What changed", "SEC-001", "version 1, create", "Code must not call eval.", "Place in the chain"}},
		{"a wrong filter of the audit log", "/p/default/audit?rule=NO-1", "Audit", []string{"the id or the slug of no rule"}},
		{"alerts", "/p/default/alerts", "Alerts", []string{"Conflict detected", "Acknowledge", "Its conflicts"}},
		{"webhooks", "/p/default/webhooks", "Webhooks", []string{"night watch", "active", "https://hooks.example.com/tenet", "New webhook", "waiver.requested"}},
		{"a webhook", "/p/default/webhooks/" + webhook.ID, "night watch\nactive", []string{"Send a test", "Deliveries", "Make another secret"}},
	}
}

// TestAuditWithoutScripts reads the audit log, an entry and an export, and verifies the chain.
func TestAuditWithoutScripts(t *testing.T) {
	n := newNode(t, nil)
	_, err := client.Call(t.Context(), n.api, op.ReviseRule.At("DOC-001"), map[string]any{"statement": "Every service must have a page.", "change_note": "<b>now</b>"})
	if err != nil {
		t.Fatal(err)
	}
	n.evaluate("default", badPayment)
	v := n.visitor()
	page := v.get("/p/default/audit?rule=DOC-001").body
	has(t, page, "rule DOC-001: revised (statement)", "rules imported", "<b>now</b>", "1 to 2 of 2")
	entry := regexp.MustCompile(`href="(/p/default/audit/\d+)"`).FindStringSubmatch(page)
	if entry == nil {
		t.Fatalf("no entry in %s", page)
	}
	detail := v.get(entry[1]).body
	has(t, detail, "What changed", "All entries about it", "Hash of the entry before")
	if !strings.Contains(detail, "<del><bdi>should</bdi></del>") || !strings.Contains(detail, "<ins><bdi>must</bdi></ins>") {
		t.Errorf("the changed words are not marked: %s", detail)
	}
	has(t, v.get("/p/default/audit?kind=evaluation&verdict=DENY").body, "1 to 1 of 1")
	has(t, v.get("/p/default/audit?kind=song").body, "kind")
	has(t, v.get("/p/default/audit?actor=nobody").body, "No entry matches these filters.")
	for _, path := range []string{"/p/default/audit/0", "/p/default/audit/x", "/p/default/audit/99999", "/p/nowhere/audit"} {
		if a := v.get(path); a.status != http.StatusNotFound {
			t.Errorf("%s: status %d", path, a.status)
		}
	}
	file := v.get("/p/default/audit/export?format=csv&rule=DOC-001")
	table, err := csv.NewReader(strings.NewReader(file.body)).ReadAll()
	if err != nil || len(table) != 3 || !strings.Contains(file.header.Get("Content-Disposition"), "default-audit.csv") {
		t.Errorf("export: %v, %v, %s", table, err, file.header)
	}
	if a := v.get("/p/default/audit/verify"); a.status != http.StatusSeeOther {
		t.Errorf("a verification that nobody has begun: status %d", a.status)
	}
	if a := v.post("/p/default/audit/verify"); a.status != http.StatusSeeOther || a.header.Get("Location") != "/p/default/audit/verify" {
		t.Fatalf("verify: %d %s", a.status, a.body)
	}
	done := v.get("/p/default/audit/verify")
	for range 50 {
		if done.header.Get("Refresh") == "" {
			break
		}
		done = v.get("/p/default/audit/verify")
	}
	has(t, done.body, "The chain is whole.", "tenet audit verify --expect-seq")
	if a := n.signedIn(n.key("viewer", "viewer", "default")).get("/p/default/audit"); a.status != http.StatusForbidden {
		t.Errorf("a viewer reads the audit log: %d", a.status)
	}
}

// TestAuditOfAnotherProject answers a reader of one project as if the others were not there.
func TestAuditOfAnotherProject(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	if _, err := client.Call(t.Context(), n.api, op.CreateProject, wire.CreateProject{ID: "other"}); err != nil {
		t.Fatal(err)
	}
	if a := n.visitor().get("/p/other/audit/1"); a.status != http.StatusOK {
		t.Fatalf("the entry is not there: status %d", a.status)
	}
	reader := n.signedIn(n.key("reader", "reviewer", "default"))
	for path, status := range map[string]int{"/p/other/audit": http.StatusNotFound, "/p/other/audit/1": http.StatusNotFound, "/p/default/audit/1": http.StatusOK} {
		if a := reader.get(path); a.status != status {
			t.Errorf("%s: status %d, want %d", path, a.status, status)
		}
	}
}

// TestAlertsWithoutScripts acknowledges and resolves an alert.
func TestAlertsWithoutScripts(t *testing.T) {
	n := newNode(t, nil)
	v := n.visitor()
	has(t, v.get("/p/default/alerts").body, "Nothing has raised an alert.")
	a := n.raises()
	page := v.get("/p/default/alerts").body
	has(t, page, "Conflict detected", "1 to 1 of 1", "Active 1")
	after := func(pairs ...string) string {
		t.Helper()
		r := v.post("/p/default/alerts", append(pairs, "next", "/p/default/alerts")...)
		if r.status != http.StatusSeeOther {
			t.Fatalf("%v: %d %s", pairs, r.status, r.body)
		}
		return v.get("/p/default/alerts").body
	}
	has(t, after("do", "resolve"), "No alert is selected.")
	has(t, after("one", "acknowledge 0 "+a.ID), "The alert is acknowledged.", "Acknowledged 1")
	has(t, after("do", "resolve", "alert", a.ID, "note", "mended"), "The alert is resolved.", "Resolved 1", "mended")
	has(t, after("do", "acknowledge", "alert", a.ID), "0 of 1 alert is acknowledged", "is resolved")
	has(t, v.get("/p/default/alerts?status=song").body, "status")
	has(t, v.get("/p/default/alerts?status=active").body, "No alert matches these filters.")
	if r := n.signedIn(n.key("viewer", "viewer", "default")).post("/p/default/alerts", "do", "resolve", "alert", a.ID); r.status != http.StatusForbidden {
		t.Errorf("a viewer resolves an alert: %d", r.status)
	}
}

// TestAlertsNameWhoActed shows whose denials have raised an alert.
func TestAlertsNameWhoActed(t *testing.T) {
	n := newNode(t, map[string]string{"alert_deny_min": "2"})
	for range 2 {
		body := `{"files": [{"path": "a.py", "content": "eval(x)\n"}], "agent": "codex", "on_behalf_of": "ann", "session": "s1"}`
		if _, err := client.Call(t.Context(), n.api, op.Evaluate, any(json.RawMessage(body))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.Get(t.Context(), n.api, op.GetInsights); err != nil { // counts the evaluations
		t.Fatal(err)
	}
	v := n.visitor()
	has(t, v.get("/p/default/alerts?agent=Codex&person=ann").body, "High deny rate", "agent codex (claimed)", "for ann (claimed)", "session s1", "2 denials", "1 to 1 of 1")
	has(t, v.get("/p/default/alerts?agent=cursor").body, "No alert matches these filters.")
	has(t, v.get("/p/default/alerts?agent="+strings.Repeat("x", 300)).body, "agent")
}

// TestWebhooksWithoutScripts makes, tests, changes, rotates, redelivers and deletes.
func TestWebhooksWithoutScripts(t *testing.T) {
	got := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("webhook-id")
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("<i>short and stout</i>"))
	}))
	t.Cleanup(receiver.Close)
	n := newNode(t, map[string]string{"webhook_allow_networks": "127.0.0.0/8"})
	v := n.visitor()
	has(t, v.get("/p/default/webhooks").body, "No webhook receives the events of this project.")
	wrong := v.post("/p/default/webhooks", "name", "tea", "url", "ftp://x", "event", "rule.submitted", "format", "standard")
	if wrong.status != http.StatusUnprocessableEntity {
		t.Errorf("a wrong address: %d", wrong.status)
	}
	has(t, wrong.body, "Some fields need another look.")
	made := v.post("/p/default/webhooks", "name", "tea", "url", receiver.URL, "event", "rule.submitted", "format", "standard", "severity_min", "", "rules", "")
	has(t, made.body, "it is not shown again", "whsec_")
	list := v.get("/p/default/webhooks").body
	has(t, list, "tea", "active", "rule.submitted")
	path := regexp.MustCompile(`href="(/p/default/webhooks/[0-9a-f-]+)"`).FindStringSubmatch(list)[1]
	act := func(pairs ...string) string {
		t.Helper()
		if r := v.post(path+"/act", pairs...); r.status != http.StatusSeeOther {
			t.Fatalf("%v: %d %s", pairs, r.status, r.body)
		}
		return v.get(path).body
	}
	has(t, act("do", "test"), "The endpoint did not take the test.", "418", "<i>short and stout</i>")
	<-got
	n.inReview(1)
	first := <-got
	var page string
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && !strings.Contains(page, "418"); time.Sleep(20 * time.Millisecond) {
		page = v.get(path).body
	}
	has(t, page, "rule.submitted", first, "418")
	has(t, act("do", "disable"), "The webhook is disabled.", "disabled")
	rotated := v.post(path+"/act", "do", "rotate", "overlap", "24")
	has(t, rotated.body, "another secret", "whsec_", "signs until")
	for _, later := range []string{v.get(path).body, v.get("/p/default/webhooks").body} {
		if strings.Contains(later, "whsec_") {
			t.Error("a secret is shown again")
		}
	}
	if r := v.post(path, "name", "coffee", "url", receiver.URL, "event", "alert.created", "format", "slack", "severity_min", "HIGH", "rules", "SEC-001"); r.status != http.StatusSeeOther {
		t.Errorf("change: %d %s", r.status, r.body)
	}
	has(t, v.get(path).body, "coffee", "The webhook is changed.")
	has(t, act("do", "delete"), "Nothing was deleted.")
	if r := v.post(path+"/act", "do", "delete", "sure", "yes"); r.header.Get("Location") != "/p/default/webhooks" {
		t.Errorf("delete: %d %s", r.status, r.body)
	}
	if r := v.get(path); r.status != http.StatusNotFound {
		t.Errorf("a deleted webhook: %d", r.status)
	}
	if r := n.signedIn(n.key("reviewer", "reviewer", "default")).get("/p/default/webhooks"); r.status != http.StatusForbidden {
		t.Errorf("a reviewer sees webhooks: %d", r.status)
	}
}
