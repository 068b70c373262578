package api

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

const auditPath = "/api/v1/audit"

func (n *node) audit(query string) wire.AuditPage {
	n.t.Helper()
	return into[wire.AuditPage](n.call("GET", auditPath+"?"+query, nil).want(http.StatusOK))
}

func (n *node) auditEntry(seq int64) wire.AuditEntryDetail {
	n.t.Helper()
	return into[wire.AuditEntryDetail](n.call("GET", fmt.Sprintf("%s/entries/%d", auditPath, seq), nil).want(http.StatusOK))
}

// changeText has changes on one line.
func changeText(list []rule.FieldChange) string {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = fmt.Sprintf("%s: %s -> %s", c.Field, c.Before, c.After)
	}
	return strings.Join(parts, "; ")
}

func TestReadAudit(t *testing.T) {
	t.Parallel()
	onBoth(t, testReadAudit)
}

func testReadAudit(t *testing.T, n *node) {
	n.call("POST", rulesPath, fields{"slug": "PAY-1", "statement": "Payments above 1000 need a second person.", "status": "EFFECTIVE", "check": fields{"cel": "facts.amount <= 1000"}}).want(http.StatusCreated)
	n.call("PATCH", rulesPath+"/PAY-1", fields{"statement": "Payments above 500 need a second person.", "severity": "HIGH", "change_note": "a new law"}).want(http.StatusOK)
	n.call("PATCH", "/api/v1/projects/default", fields{"description": "what we pay"}).want(http.StatusOK)
	n.judging(nil)
	evaluation := n.evaluates(fields{"facts": fields{"amount": 5000}})
	n.call("POST", rulesPath+"/import", fields{"rules": []any{
		fields{"slug": "PAY-1", "statement": "Payments above 100 need a second person."}, fields{"slug": "PAY-2", "statement": "Pay once."},
	}}).want(http.StatusOK)

	revised := n.audit("rule=PAY-1&kind=rule&action=revised")
	if revised.Total != 1 || revised.Items[0].Summary != "rule PAY-1: revised (statement, severity)" || revised.Items[0].Reason != "a new law" || revised.Items[0].Rules[0].Slug != "PAY-1" {
		t.Fatalf("entries about the revision: %+v", revised)
	}
	e := n.auditEntry(revised.Items[0].Seq)
	want := `statement: "Payments above 1000 need a second person." -> "Payments above 500 need a second person."; severity: "MEDIUM" -> "HIGH"`
	if got := changeText(e.Changes); got != want {
		t.Errorf("changes %s, want %s", got, want)
	}
	project := n.audit("kind=project&action=changed")
	if got := changeText(n.auditEntry(project.Items[0].Seq).Changes); got != `description:  -> "what we pay"` {
		t.Errorf("changes of the project: %s", got)
	}
	imported := n.audit("rule=PAY-2")
	if imported.Total != 1 || imported.Items[0].Kind != audit.KindImport {
		t.Fatalf("entries about the imported rule: %+v", imported)
	}
	parts := n.auditEntry(imported.Items[0].Seq).RuleChanges
	if parts.Total != 2 || parts.Items[0].Slug != "PAY-1" || !strings.Contains(changeText(parts.Items[0].Changes), `"Payments above 500 need a second person." -> "Payments above 100`) || len(parts.Items[1].Changes) == 0 {
		t.Errorf("rules of the import: %+v", parts)
	}
	if p := n.audit("evaluation=" + evaluation.EvaluationID); p.Total != 1 || p.Items[0].Verdict != string(evaluation.OverallVerdict) || p.Items[0].EvaluationID != evaluation.EvaluationID {
		t.Errorf("entries about the evaluation: %+v", p)
	}
	if p := n.audit("verdict=deny&rule=PAY-1"); p.Total != 1 {
		t.Errorf("denials of the rule: %+v", p)
	}
	all := n.audit("page_size=3")
	if more := n.audit("page_size=3&cursor=" + all.NextCursor); len(all.Items) != 3 || len(more.Items) == 0 || more.Items[0].Seq != all.Items[2].Seq-1 {
		t.Errorf("pages %+v and %+v", all, more)
	}
	for query, field := range map[string]string{
		"kind=rul": "kind", "rule=NO-1": "rule", "verdict=MAYBE": "verdict", "evaluation=x": "evaluation", "object=x": "object", "cursor=!": "cursor",
		"since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z": "until",
	} {
		n.call("GET", auditPath+"?"+query, nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, field)
	}
	n.call("GET", auditPath+"/entries/999999", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("GET", auditPath+"?project_id=nowhere", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)

	whole := into[wire.AuditReport](n.call("GET", auditPath+"/verify", nil).want(http.StatusOK))
	part := into[wire.AuditReport](n.call("GET", auditPath+"/verify?limit=1", nil).want(http.StatusOK))
	if !whole.OK() || whole.Entries != int64(all.Total) || part.Entries != 1 || part.Next == nil || part.Next.Seq != 1 || !part.OK() {
		t.Errorf("verified %+v and, of one entry, %+v", whole, part)
	}
	first := n.auditEntry(1)
	query := fmt.Sprintf("%s/verify?after_seq=1&after_hash=", auditPath)
	if r := into[wire.AuditReport](n.call("GET", query+first.Hash, nil).want(http.StatusOK)); !r.OK() || r.Entries != whole.Entries-1 {
		t.Errorf("verified after the first: %+v", r)
	}
	if r := into[wire.AuditReport](n.call("GET", query+strings.Repeat("0", 64), nil).want(http.StatusOK)); r.OK() {
		t.Error("an entry that the chain does not have is taken for verified")
	}
	n.call("GET", auditPath+"/verify?after_seq=3", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "after_seq")
}

// Old entries hold the new state of a project alone; what changed comes from the entry before about the same project.
func TestAuditComparesOldEntries(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	ctx := t.Context()
	for _, description := range []string{"one", "two"} {
		body := audit.JSON(map[string]any{"action": "changed", "project": map[string]any{"id": "default", "name": "N", "description": description, "updated_at": description}})
		if err := n.store.Update(ctx, func(tx store.Tx) error {
			return audit.Append(ctx, tx, rule.DefaultProject, audit.Record{Kind: audit.KindProject, Actor: "a", Body: body})
		}); err != nil {
			t.Fatal(err)
		}
	}
	page := n.audit("kind=project")
	e := n.auditEntry(page.Items[0].Seq)
	if got := changeText(e.Changes); got != `description: "one" -> "two"` || e.Compared != page.Items[1].Seq {
		t.Errorf("changes %s, compared with %d", got, e.Compared)
	}
}

// Entries about keys and webhooks show reviewers that something was done, and only administrators the details.
func TestAuditWithholdsFromReviewers(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	reviewer := n.makeKey(auth.Reviewer, "*")
	n.key = n.makeKey(auth.Admin, "*")
	p := into[wire.PolicyWithSecret](n.call("POST", policiesPath, fields{"name": "night watch", "url": "http://127.0.0.1:9/secret-path", "event_types": []string{"alert.created"}}).want(http.StatusCreated))
	n.call("PATCH", policiesPath+"/"+p.ID, fields{"name": "day watch", "enabled": false}).want(http.StatusOK)
	about := "object=" + url.QueryEscape("webhook:"+p.ID)
	if page := n.audit(about); page.Total != 2 || page.Items[0].Summary != "webhook day watch: change (enabled, name)" {
		t.Fatalf("entries about the webhook: %+v", page)
	}
	if got := changeText(n.auditEntry(n.audit(about).Items[0].Seq).Changes); got != `enabled: true -> false; name: "night watch" -> "day watch"` {
		t.Errorf("changes %s", got)
	}
	n.key = reviewer
	page := n.audit(about)
	e := n.auditEntry(page.Items[0].Seq)
	if page.Total != 2 || !e.Withheld || len(e.Changes) != 0 || e.Record != nil || e.Action != "change" {
		t.Errorf("a reviewer sees %+v", e)
	}
	for _, path := range []string{auditPath + "?" + about, auditPath + "/export?" + about, auditPath + "/export?format=csv&" + about, fmt.Sprintf("%s/entries/%d", auditPath, e.Seq)} {
		if body := n.call("GET", path, nil).want(http.StatusOK).body; bytes.Contains(body, []byte("watch")) || bytes.Contains(body, []byte("127.0.0.1")) {
			t.Errorf("%s shows a reviewer %s", path, body)
		}
	}
	n.key = n.makeKey(auth.Admin, "*")
	n.makeProject("other")
	n.key = n.makeKey(auth.Reviewer, "other")
	for _, path := range []string{"", "/entries/1", "/export", "/verify", "/head"} {
		n.call("GET", auditPath+path+"?project_id=default", nil).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	}
}

func TestExportAudit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		for _, statement := range []string{"=HYPERLINK(\"http://evil\")", " +1 is plus", "@cmd, \"quoted\"\nsecond line", "plain"} {
			n.call("POST", rulesPath, fields{"statement": statement}).want(http.StatusCreated)
		}
		total := n.audit("").Total
		var last int64
		lines := bufio.NewScanner(bytes.NewReader(n.call("GET", auditPath+"/export", nil).want(http.StatusOK).body))
		count := 0
		for lines.Scan() {
			var l wire.AuditLine
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil || l.Seq != last+1 || len(l.Record) == 0 {
				t.Fatalf("line %s: %v", lines.Bytes(), err)
			}
			last = l.Seq
			count++
		}
		if count != total {
			t.Errorf("%d lines, want %d", count, total)
		}
		table, err := csv.NewReader(bytes.NewReader(n.call("GET", auditPath+"/export?format=csv&kind=rule", nil).want(http.StatusOK).body)).ReadAll()
		if err != nil || len(table) != 5 {
			t.Fatalf("table %v, %v", table, err)
		}
		for _, row := range table {
			for _, cell := range row {
				if c := strings.TrimLeft(cell, " \t"); c != "" && strings.Contains("=+-@", c[:1]) {
					t.Errorf("the cell %q is a formula", cell)
				}
			}
		}
		after := n.call("GET", fmt.Sprintf("%s/export?after_seq=%d", auditPath, last-1), nil).want(http.StatusOK).body
		if bytes.Count(after, []byte("\n")) != 1 {
			t.Errorf("after the last but one: %s", after)
		}
		n.call("GET", auditPath+"/export?format=xls", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "format")
	})
}
