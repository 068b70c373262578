package webhook_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/webhook"
	"tenet/internal/wire"
)

type slackMessage struct {
	Text   string
	Blocks []struct {
		Type     string
		Text     *struct{ Type, Text string }
		Elements []struct {
			Type, URL string
			Text      json.RawMessage
		}
	}
}

// slack renders an event and gives its headline and the text of its blocks, checking what Slack demands.
func slack(t *testing.T, e store.WebhookEvent) (m slackMessage, body string) {
	t.Helper()
	e.ProjectID, e.ID, e.Time = "p", "id", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	raw, err := webhook.Render(wire.FormatSlack, &e)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &m); err != nil || m.Text == "" || len(m.Blocks) < 2 || m.Blocks[0].Type != "header" {
		t.Fatalf("%s: %v", raw, err)
	}
	if n := utf8.RuneCountInString(m.Blocks[0].Text.Text); n > 150 {
		t.Errorf("a header of %d characters", n)
	}
	for _, b := range m.Blocks[1:] {
		if b.Text != nil {
			body += b.Text.Text + "\n"
		}
		for _, el := range b.Elements {
			if el.Type == "button" {
				body += "button " + el.URL + "\n"
				continue
			}
			var text string
			if err := json.Unmarshal(el.Text, &text); err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			body += text + "\n"
		}
	}
	if utf8.RuneCountInString(body) > 3400 || strings.ContainsAny(m.Text+body, "<>") {
		t.Errorf("the message is %q %q", m.Text, body)
	}
	return m, body
}

func TestSlackMessages(t *testing.T) {
	for name, c := range map[string]struct {
		event       store.WebhookEvent
		title, body string
	}{
		"alert": {
			store.WebhookEvent{Type: rule.AlertCreated, Severity: rule.High, Data: json.RawMessage(`{"type":"high_deny_rate","message":"Denies much.","rule_id":"r-1"}`)},
			"[HIGH] Alert: high deny rate", "Denies much.\nRule r-1\nalert.created · project p · 2026-01-02T03:04:05Z · id\n",
		},
		"alert by agents": {
			store.WebhookEvent{Type: rule.AlertCreated, Data: json.RawMessage(`{"type":"high_deny_rate","message":"Denies much.","acted":[{"actor":"key:ci","agent":"codex","person":"ann","session":"s1","claimed":["agent","session"],"evaluations":3},{"actor":"key:bot","evaluations":1}]}`)},
			"Alert: high deny rate", "Denies much.\nBy key:ci, agent codex (claimed), for ann, session s1 (claimed): 3 denials\nBy key:bot: 1 denial\n",
		},
		"resolved": {
			store.WebhookEvent{Type: rule.AlertResolved, Data: json.RawMessage(`{"type":"dormant_rule","message":"Slept.","resolution_note":"Awake."}`)},
			"Alert resolved: dormant rule", "Slept.\nAwake.\n",
		},
		"violation": {
			store.WebhookEvent{Type: rule.EvaluationViolated, Severity: rule.Critical, Data: json.RawMessage(`{"violations":[{"rule_id":"x","rule_slug":"SEC-1","rule_statement":"No keys.","issue_description":"A key."}]}`)},
			"[CRITICAL] A rule was violated", "SEC-1: No keys.: A key.\n",
		},
		"violation by an agent": {
			store.WebhookEvent{Type: rule.EvaluationViolated, Data: json.RawMessage(`{"identity":{"agent":"codex","person":"ann","claimed":["person"]},"violations":[{"rule_slug":"SEC-1"},{"rule_slug":"SEC-2"}]}`)},
			"2 rules were violated", "By agent codex, for ann (claimed)\nSEC-1\nSEC-2\n",
		},
		"deployed": {
			store.WebhookEvent{Type: rule.SnapshotDeployed, Data: json.RawMessage(`{"environment":"production","snapshot_id":"s-1","action":"deploy","deployed_by":"ann"}`)},
			"Rules deployed to production", "Snapshot s-1\nBy ann\n",
		},
		"submitted": {
			store.WebhookEvent{Type: rule.RuleSubmitted, Severity: rule.High, Data: json.RawMessage(`{"slug":"SEC-1","statement":"No keys.","updated_by":"ann"}`)},
			"[HIGH] A rule waits for approval: SEC-1", "No keys.\nBy ann\n",
		},
		"proposed": {
			store.WebhookEvent{Type: rule.EventRevisionProposed, Data: json.RawMessage(`{"slug":"SEC-1","author":"ann","note":"A new law."}`)},
			"A revision waits for approval: SEC-1", "A new law.\nBy ann\n",
		},
		"rejected": {
			store.WebhookEvent{Type: rule.EventRevisionRejected, Data: json.RawMessage(`{"slug":"SEC-1","author":"ann","decided_by":"bob","decision_note":"No."}`)},
			"A revision was rejected: SEC-1", "No.\nBy bob\nProposed by ann\n",
		},
		"waiver": {
			store.WebhookEvent{Type: rule.WaiverRequested, Data: json.RawMessage(`{"rule_slug":"SEC-1","created_by":"ann","reason":"Until the patch.","expires_at":"2026-12-01T00:00:00Z"}`)},
			"A waiver waits for approval: SEC-1", "Until the patch.\nBy ann\nUntil 2026-12-01T00:00:00Z\n",
		},
		"snapshot": {
			store.WebhookEvent{Type: rule.SnapshotApprovalRequested, Data: json.RawMessage(`{"name":"May","created_by":"ann","environments":[{"environment":"production","approvals":2}]}`)},
			"A snapshot waits for approval: May", "For production\nBy ann\n",
		},
		"tools": {
			store.WebhookEvent{Type: rule.ToolsHeld, Severity: rule.High, Data: json.RawMessage(`{"server":"files","tools":[{"name":"write","hash":"x","why":["it changed its description"]}],"actor":"key:gate"}`)},
			"[HIGH] Tools of an MCP server have changed and are held back: files", "write: it changed its description\nReported by key:gate\n",
		},
		"rolled back": {
			store.WebhookEvent{Type: rule.SnapshotDeployed, Data: json.RawMessage(`{"environment":"staging","action":"rollback"}`)}, "Rules rolled back in staging", "",
		},
		"discovered": {
			store.WebhookEvent{Type: rule.CandidateCreated, Data: json.RawMessage(`{"statement":"Do.","source_file":"AGENTS.md"}`)}, "A rule was discovered", "Do.\nFrom AGENTS.md\n",
		},
		"found": {
			store.WebhookEvent{Type: rule.CandidatesFound, Data: json.RawMessage(`{"repository":"acme/pay","candidates_pending":2,"first":[{"statement":"Do.","source_file":"AGENTS.md"},{"statement":"Do not."}]}`)},
			"2 candidate rules wait for a decision", "In acme/pay\nDo.: AGENTS.md\nDo not.\n",
		},
		"approval asked for": {
			store.WebhookEvent{Type: rule.ApprovalRequested, Severity: rule.Critical, Data: json.RawMessage(`{"state":"pending","title":"Pay ann","requester":"key:ci","agent":"codex","reason":"It is due.","quorum":2,"expires_at":"2026-12-01T00:00:00Z","rules":[{"rule_slug":"PAY-1","statement":"Confirm.","why":"Nobody could tell."}],"decisions":[],"url":"https://tenet.example/p/p/approvals/x?until=1&signature=s"}`)},
			"[CRITICAL] An action waits for approval: Pay ann",
			"Action: Pay ann\nAsked by key:ci\nAgent codex\nWhy: It is due.\nPAY-1: Confirm.: Nobody could tell.\nNeeds 2 approvals until 2026-12-01T00:00:00Z\nbutton https://tenet.example/p/p/approvals/x?until=1&signature=s\n",
		},
		"approval decided": {
			store.WebhookEvent{Type: rule.ApprovalDecided, Data: json.RawMessage(`{"state":"rejected","title":"Pay ann","requester":"key:ci","uncovered":true,"decided_by":"bo","decisions":[{"by":"bo","reason":"No."}],"url":"javascript:alert(1)"}`)},
			"An action was rejected: Pay ann", "Action: Pay ann\nAsked by key:ci\nNo rule covers it.\nDecided by bo: No.\napproval.decided",
		},
		"approval that nobody decided on": {
			store.WebhookEvent{Type: rule.ApprovalDecided, Data: json.RawMessage(`{"state":"rejected","title":"Pay ann","requester":"key:ci","decisions":[]}`)},
			"Nobody approved in time: Pay ann", "Action: Pay ann\nAsked by key:ci\napproval.decided",
		},
		"approval of another form": {store.WebhookEvent{Type: rule.ApprovalDecided, Data: json.RawMessage(`[1]`)}, "approval decided", ""},
		"unknown":                  {store.WebhookEvent{Type: "rule.made", Data: json.RawMessage(`[1]`)}, "rule made", ""},
	} {
		m, body := slack(t, c.event)
		if m.Text != c.title || m.Blocks[0].Text.Text != c.title || !strings.HasPrefix(body, c.body) {
			t.Errorf("%s: %q %q", name, m.Text, body)
		}
	}
}

// Text from outside can name nobody, hide no link and pass for no line of its own.
func TestSlackMessagesOfHostileText(t *testing.T) {
	data, err := json.Marshal(map[string]string{"type": "<!channel>", "message": "<https://evil.example|Tenet> & <@U1>\n*Approved* by all", "rule_id": strings.Repeat("x<", 5000)})
	if err != nil {
		t.Fatal(err)
	}
	m, body := slack(t, store.WebhookEvent{Type: rule.AlertCreated, Data: data})
	if m.Text != "Alert: &lt;!channel&gt;" || !strings.HasPrefix(body, "&lt;https://evil.example|Tenet&gt; &amp; &lt;@U1&gt; *Approved* by all\n") {
		t.Errorf("%q %q", m.Text, body)
	}
	var many []map[string]string
	for range 100 {
		many = append(many, map[string]string{"rule_slug": strings.Repeat("&", 500)})
	}
	if data, err = json.Marshal(map[string]any{"violations": many}); err != nil {
		t.Fatal(err)
	}
	if m, body = slack(t, store.WebhookEvent{Type: rule.EvaluationViolated, Data: data}); m.Text != "100 rules were violated" || !strings.Contains(body, "more") {
		t.Errorf("%q %q", m.Text, body)
	}
}

func FuzzSlack(f *testing.F) {
	f.Add("alert.created", `{"type":"x","message":"<&>"}`)
	f.Add("evaluation.violated", `{"violations":[{}]}`)
	f.Add("snapshot.deployed", `{"environment":"\u0000\ud800"}`)
	f.Fuzz(func(t *testing.T, kind, data string) {
		if !json.Valid([]byte(data)) {
			return
		}
		slack(t, store.WebhookEvent{Type: rule.EventType(kind), Data: json.RawMessage(data)})
	})
}

func TestASlackPolicySendsMessages(t *testing.T) {
	b := newBed(t)
	e := newEndpoint(t)
	b.policy(e.URL, func(in *webhook.Input) { in.Format = new(wire.FormatSlack) })
	b.publish()
	b.work()
	if got := e.messages(); len(got) != 1 || !strings.HasPrefix(string(got[0].body), `{"text":"[HIGH] Alert: dormant rule","blocks":[`) {
		t.Errorf("got %s", got)
	}
}
