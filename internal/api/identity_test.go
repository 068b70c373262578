package api

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// newKey makes a key as an administrator does.
func (n *node) newKey(body fields) wire.CreatedKey {
	n.t.Helper()
	before := n.key
	defer func() { n.key = before }()
	if n.key == "" {
		n.key = n.makeKey(auth.Admin, store.AllProjects)
	}
	made := into[wire.CreatedKey](n.call("POST", keysPath, body).want(http.StatusCreated))
	return made
}

func TestEvaluationsNameWhoActs(t *testing.T) {
	t.Parallel()
	onBoth(t, testEvaluationsNameWhoActs)
}

func testEvaluationsNameWhoActs(t *testing.T, n *node) {
	admin := n.makeKey(auth.Admin, store.AllProjects)
	n.key = admin
	service := n.newKey(fields{"name": "ci", "role": "evaluator", "owner": "corp:ann@example.com", "project_id": "default"})
	bot := n.newKey(fields{"name": "bot", "role": "evaluator", "owner": "corp:ann@example.com", "agent": "release-bot", "project_id": "default"})
	ask := func(key string, body fields, headers ...string) *rule.Identity {
		t.Helper()
		n.key = key
		body["facts"] = fields{"amount": 1}
		return into[rule.Evaluation](n.call("POST", evaluatePath, body, headers...).want(http.StatusOK)).Identity
	}
	for name, tt := range map[string]struct {
		key     string
		body    fields
		headers []string
		want    *rule.Identity
	}{
		"nobody is named":            {admin, fields{}, nil, nil},
		"the owner of the key":       {service.Secret, fields{}, nil, &rule.Identity{Person: "corp:ann@example.com"}},
		"a claimed person and agent": {service.Secret, fields{"on_behalf_of": "corp:bob@example.com", "agent": "Claude-Code", "session": "s1"}, nil, &rule.Identity{Person: "corp:bob@example.com", Agent: "Claude-Code", Session: "s1", Claimed: []string{"person", "agent", "session"}}},
		"the owner by another name":  {service.Secret, fields{"on_behalf_of": "Ann@example.com", "agent": "a"}, nil, &rule.Identity{Person: "corp:ann@example.com", Agent: "a", Claimed: []string{"agent"}}},
		"the agent of the key":       {bot.Secret, fields{}, nil, &rule.Identity{Person: "corp:ann@example.com", Agent: "release-bot"}},
		"another name of the agent":  {bot.Secret, fields{"agent": "cursor"}, nil, &rule.Identity{Person: "corp:ann@example.com", Agent: "release-bot", Client: "cursor", Claimed: []string{"client"}}},
		"headers":                    {admin, fields{"session": "body"}, []string{wire.AgentHeader, "gemini", wire.SessionHeader, "header"}, &rule.Identity{Agent: "gemini", Session: "body", Claimed: []string{"agent", "session"}}},
	} {
		if diff := cmp.Diff(tt.want, ask(tt.key, tt.body, tt.headers...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	n.key = bot.Secret
	n.call("POST", evaluatePath, fields{"facts": fields{"a": 1}, "on_behalf_of": "corp:bob@example.com"}).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	n.call("POST", evaluatePath, fields{"facts": fields{"a": 1}, "agent": "a\u0007b"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "agent")
	n.call("POST", evaluatePath, fields{"facts": fields{"a": 1}, "session": strings.Repeat("x", 201)}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "session")
	n.call("GET", rulesPath, nil, wire.AgentHeader, strings.Repeat("x", 201)).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "agent")

	// Quick evaluations and submissions take the same fields, also in the background.
	quick := into[rule.Evaluation](n.call("POST", "/api/v1/evaluate/quick", fields{"action": "delete all", "session": "s9"}).want(http.StatusOK))
	if quick.Identity == nil || quick.Identity.Session != "s9" || quick.Identity.Agent != "release-bot" {
		t.Errorf("quick: %+v", quick.Identity)
	}
	submission := into[wire.SubmissionAnswer](n.call("POST", "/api/v1/submissions", fields{
		"subject": fields{"kind": "business_event", "event_type": "login"}, "session": "s10", "submission_id": "one",
	}).want(http.StatusOK))
	if submission.Identity == nil || submission.Identity.Session != "s10" {
		t.Errorf("submission: %+v", submission.Identity)
	}
	n.call("POST", "/api/v1/submissions", fields{
		"subject": fields{"kind": "business_event", "event_type": "login"}, "session": "s11", "submission_id": "one",
	}).wantProblem(http.StatusConflict, rule.CodeConflict)

	// Lists find evaluations and other entries by them.
	n.key = admin
	count := func(query string, want int) {
		t.Helper()
		if page := into[wire.EvaluationPage](n.call("GET", "/api/v1/evaluations?"+query, nil).want(http.StatusOK)); page.Total != want {
			t.Errorf("%s finds %d evaluations, want %d", query, page.Total, want)
		}
	}
	count("agent=claude-code", 1)
	count("agent=RELEASE-bot", 4)
	count("agent=cursor", 1)
	count("person=ann@example.com", 6)
	count("person=corp:ann@example.com&session=s9", 1)
	count("person=other:ann@example.com", 0)
	count("session=s1", 1)
	page := into[wire.EvaluationPage](n.call("GET", "/api/v1/evaluations?session=s1", nil).want(http.StatusOK))
	if i := page.Items[0].Identity; i == nil || i.Person != "corp:bob@example.com" || !i.Claims("person") {
		t.Errorf("the list shows %+v", i)
	}
	n.call("POST", rulesPath, fields{"statement": "Deploys need a ticket.", "severity": "HIGH", "modality": "MUST"}, wire.AgentHeader, "author-bot", wire.SessionHeader, "s7").want(http.StatusCreated)
	for query, want := range map[string]int{"agent=author-bot": 1, "agent=release-bot&kind=evaluation": 4, "session=s1": 1, "person=bob@example.com": 1} {
		entries := into[wire.AuditPage](n.call("GET", "/api/v1/audit?"+query, nil).want(http.StatusOK))
		if entries.Total != want {
			t.Errorf("the audit chain has %d entries for %s, want %d", entries.Total, query, want)
			continue
		}
		for _, e := range entries.Items {
			if e.Identity == nil || e.Identity.IsZero() {
				t.Errorf("%s: the entry %d names nobody", query, e.Seq)
			}
		}
	}
}

func TestKeysDoLessThanTheirRole(t *testing.T) {
	t.Parallel()
	n := newNode(t, func(c *config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} })
	n.key = n.makeKey(auth.Admin, store.AllProjects)
	admin := n.key
	refused := func(key wire.CreatedKey, reason string, times int64) {
		t.Helper()
		n.key = admin
		list := into[wire.Page[wire.Key]](n.call("GET", keysPath, nil).want(http.StatusOK))
		for _, k := range list.Items {
			if k.ID == key.ID && (k.Refused != times || k.LastRefusal != reason || k.LastRefusedAt == nil) {
				t.Errorf("the key %s was refused %d times, last for %q at %v; want %d, %s", k.Name, k.Refused, k.LastRefusal, k.LastRefusedAt, times, reason)
			}
		}
	}
	facts := fields{"facts": fields{"a": 1}}

	only := n.newKey(fields{"name": "only", "role": "admin", "scopes": []string{"evaluate"}, "project_id": "default"})
	n.key = only.Secret
	n.call("POST", evaluatePath, facts).want(http.StatusOK)
	n.call("GET", "/api/v1/whoami", nil).want(http.StatusOK)
	p := n.call("GET", rulesPath, nil).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	if !strings.Contains(p.Detail, "needs the scope read") {
		t.Errorf("the refusal says %q", p.Detail)
	}
	n.call("POST", keysPath, fields{"name": "x", "role": "viewer"}).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	refused(only, "scope", 2)

	reader := n.newKey(fields{"name": "reader", "role": "admin", "scopes": []string{"read"}, "project_id": "default"})
	n.key = reader.Secret
	n.call("GET", rulesPath, nil).want(http.StatusOK)
	n.call("GET", keysPath, nil).want(http.StatusOK)
	n.call("POST", evaluatePath, facts).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	n.call("POST", rulesPath, fields{"statement": "x"}).wantProblem(http.StatusForbidden, rule.CodeForbidden)

	n.key = admin
	near := n.newKey(fields{"name": "near", "role": "viewer", "networks": []string{"198.51.100.0/24", "2001:db8::1"}, "project_id": "default"})
	n.key = near.Secret // the tests call from 192.0.2.1, a trusted proxy
	for from, ok := range map[string]bool{
		"198.51.100.7": true, "2001:db8::1": true, "203.0.113.9, 198.51.100.7, 192.0.2.8": true, "[2001:db8::1]:443": true,
		"203.0.113.9": false, "198.51.100.7, 203.0.113.9": false, "nonsense": false, "": false,
	} {
		got := n.call("GET", rulesPath, nil, "X-Forwarded-For", from)
		if ok {
			got.want(http.StatusOK)
		} else {
			got.wantProblem(http.StatusForbidden, rule.CodeForbidden)
		}
	}
	refused(near, "network", 4)

	slow := n.newKey(fields{"name": "slow", "role": "viewer", "rate": 0.001, "burst": 2, "project_id": "default"})
	n.key = slow.Secret
	n.call("GET", rulesPath, nil).want(http.StatusOK)
	n.call("GET", rulesPath, nil).want(http.StatusOK)
	got := n.call("GET", rulesPath, nil)
	got.wantProblem(http.StatusTooManyRequests, rule.CodeRateLimited)
	if got.header.Get("Retry-After") == "" {
		t.Error("the refusal does not say when to try again")
	}
	refused(slow, "rate", 1)

	n.key = admin
	for field, bad := range map[string]fields{
		"scopes":   {"scopes": []string{"everything"}},
		"networks": {"networks": []string{"10.0.0.0/99"}},
		"node_id":  {"node_id": "n"},
		"burst":    {"burst": 3},
		"owner":    {"owner": "a\nb"},
	} {
		bad["name"], bad["role"] = "x", "viewer"
		n.call("POST", keysPath, bad).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, field)
	}
}

func TestKeyOfANodeEvaluatesThere(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.key = n.makeKey(auth.Admin, store.AllProjects)
	addNode := func(name, level, parent string, repositories ...string) string {
		t.Helper()
		body := fields{"name": name, "level": level}
		if parent != "" {
			body["parent_id"] = parent
		}
		if len(repositories) > 0 {
			body["repositories"] = repositories
		}
		return into[rule.Node](n.call("POST", "/api/v1/federations", body).want(http.StatusCreated)).ID
	}
	root := addNode("acme", "organization", "")
	team := addNode("payments", "team", root)
	project := addNode("billing", "project", team, "acme/billing")
	other := addNode("people", "team", root)
	key := fields{"name": "team", "role": "evaluator", "scopes": []string{"evaluate"}, "node_id": "ACME/Payments", "project_id": "default"}
	made := n.newKey(key)
	if made.NodeID != team {
		t.Errorf("the key is limited to %q, want the id of the node that the path names", made.NodeID)
	}
	for node, project := range map[string]string{"acme/nowhere": "default", audit.NewID(): "default", "acme/payments": "*"} {
		key["node_id"], key["project_id"] = node, project
		n.call("POST", keysPath, key).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "node_id")
	}
	admin := n.key
	n.key = made.Secret
	evaluate := func(body fields) *rule.Evaluation {
		t.Helper()
		body["facts"] = fields{"a": 1}
		e := into[rule.Evaluation](n.call("POST", evaluatePath, body).want(http.StatusOK))
		return &e
	}
	if e := evaluate(fields{}); e.NodeID != team {
		t.Errorf("without a node it evaluates at %q, want %q", e.NodeID, team)
	}
	if e := evaluate(fields{"node_id": project}); e.NodeID != project {
		t.Errorf("it evaluates at %q, want the node below, %q", e.NodeID, project)
	}
	if e := evaluate(fields{"repository": "acme/billing"}); e.NodeID != project {
		t.Errorf("it evaluates at %q, want the node of the repository, %q", e.NodeID, project)
	}
	for _, id := range []string{root, other, "none"} {
		n.call("POST", evaluatePath, fields{"facts": fields{"a": 1}, "node_id": id}).wantProblem(http.StatusForbidden, rule.CodeForbidden)
		n.call("POST", "/api/v1/evaluate/applicable-rules", fields{"node_id": id}).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	}

	n.key = admin
	for node, want := range map[string]int{"acme/payments": 1, team: 1, "billing": 2, "acme/people": 0, audit.NewID(): 0} {
		if page := into[wire.EvaluationPage](n.call("GET", "/api/v1/evaluations?node_id="+node, nil).want(http.StatusOK)); page.Total != want {
			t.Errorf("%d evaluations at %s, want %d", page.Total, node, want)
		}
	}
	n.call("GET", "/api/v1/evaluations?node_id=acme/nowhere", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "node_id")
	hold := func(node string) fields { return fields{"reason": "A claim.", "node_id": node} }
	if h := into[rule.LegalHold](n.call("POST", holdsPath, hold("acme/payments/billing")).want(http.StatusCreated)); h.NodeID != project || *h.Evaluations != 2 {
		t.Errorf("the hold is on %q and covers %d evaluations", h.NodeID, *h.Evaluations)
	}
	n.call("DELETE", "/api/v1/federations/"+project, nil).want(http.StatusNoContent)
	n.call("POST", holdsPath, hold(project)).want(http.StatusCreated) // records name it
	for _, node := range []string{"acme/payments/billing", audit.NewID()} {
		n.call("POST", holdsPath, hold(node)).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "node_id")
	}
}

func TestRotateKey(t *testing.T) {
	t.Parallel()
	onBoth(t, testRotateKey)
}

func testRotateKey(t *testing.T, n *node) {
	n.key = n.makeKey(auth.Admin, store.AllProjects)
	admin := n.key
	old := n.newKey(fields{"name": "ci", "role": "evaluator", "owner": "ann", "rate": 5, "project_id": "default", "expires_at": time.Now().Add(30 * 24 * time.Hour)})
	if !strings.HasPrefix(old.Secret, old.Prefix) || len(old.Prefix) != 10 || old.Owner != "ann" {
		t.Errorf("made %+v", old.Key)
	}
	path := keysPath + "/" + old.ID + "/rotate"
	next := into[wire.CreatedKey](n.call("POST", path, fields{"overlap_hours": 2}).want(http.StatusCreated))
	if next.Secret == old.Secret || next.RotatedFrom != old.ID || next.Owner != "ann" || next.Rate != 5 || next.Role != "evaluator" {
		t.Errorf("the new key: %+v", next.Key)
	}
	if days := time.Until(*next.ExpiresAt).Hours() / 24; days < 29 || days > 31 {
		t.Errorf("the new key lasts %.1f days, want as long as the old one was made for", days)
	}
	works := func(secret string, ok bool) {
		t.Helper()
		n.key = secret
		if got := n.call("GET", rulesPath, nil); ok {
			got.want(http.StatusOK)
		} else {
			got.wantProblem(http.StatusUnauthorized, rule.CodeUnauthenticated)
		}
	}
	works(old.Secret, true)
	works(next.Secret, true)
	n.ahead.Store(int64(2*time.Hour + time.Second))
	works(old.Secret, false)
	works(next.Secret, true)
	n.key = admin
	n.call("POST", path, fields{}).wantProblem(http.StatusConflict, rule.CodeConflict)
	n.call("POST", keysPath+"/"+next.ID+"/rotate", fields{"overlap_hours": 2161}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "overlap_hours")
	n.call("POST", keysPath+"/0198a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b/rotate", fields{}).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	last := into[wire.CreatedKey](n.call("POST", keysPath+"/"+next.ID+"/rotate", fields{"overlap_hours": 0}).want(http.StatusCreated))
	works(next.Secret, false)
	works(last.Secret, true)
}

func TestChangeKey(t *testing.T) {
	t.Parallel()
	onBoth(t, testChangeKey)
}

// testChangeKey changes a key: it gets no more than it had.
func testChangeKey(t *testing.T, n *node) {
	n.key = n.makeKey(auth.Admin, store.AllProjects)
	admin := n.key
	ends := time.Now().Add(30 * 24 * time.Hour)
	key := n.newKey(fields{"name": "ci", "role": "evaluator", "scopes": []string{"evaluate", "read"}, "rate": 5, "project_id": "default", "expires_at": ends})
	path := keysPath + "/" + key.ID
	changed := into[wire.Key](n.call("PATCH", path, fields{"name": "build", "networks": []string{"10.1.0.0/16"}, "rate": nil, "scopes": []string{"read"}, "expires_at": ends.Add(-time.Hour)}).want(http.StatusOK))
	if changed.Name != "build" || len(changed.Networks) != 1 || changed.Rate != 0 || len(changed.Scopes) != 1 || !changed.ExpiresAt.Before(ends) || changed.Role != "evaluator" {
		t.Errorf("changed: %+v", changed)
	}
	n.key = key.Secret
	n.call("GET", rulesPath, nil).wantProblem(http.StatusForbidden, rule.CodeForbidden) // from another network
	n.key = admin
	n.call("PATCH", path, fields{"networks": nil}).want(http.StatusOK)
	n.key = key.Secret
	n.call("GET", rulesPath, nil).want(http.StatusOK)
	n.call("POST", evaluatePath, fields{"facts": fields{"a": 1}}).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	n.call("PATCH", path, fields{"name": "x"}).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	n.key = admin
	for field, body := range map[string]fields{
		"scopes":     {"scopes": []string{"evaluate"}},
		"expires_at": {"expires_at": ends},
		"networks":   {"networks": []string{"nowhere"}},
		"name":       {"name": " "},
		"rate":       {"rate": -1},
		"burst":      {"burst": 3},
	} {
		n.call("PATCH", path, body).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, field)
	}
	n.call("PATCH", path, fields{"scopes": []string{}}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "scopes")
	if page := into[wire.AuditPage](n.call("GET", "/api/v1/audit?kind=key&action=changed", nil).want(http.StatusOK)); page.Total != 2 {
		t.Errorf("the audit chain has %d changes of keys, want 2", page.Total)
	}
	n.call("PATCH", path, fields{"expires_at": time.Now().Add(-time.Minute)}).want(http.StatusOK)
	n.key = key.Secret
	n.call("GET", rulesPath, nil).wantProblem(http.StatusUnauthorized, rule.CodeUnauthenticated)
	n.key = admin
	n.call("DELETE", path, nil).want(http.StatusNoContent)
	n.call("PATCH", path, fields{"name": "late"}).wantProblem(http.StatusConflict, rule.CodeConflict)
	n.call("PATCH", keysPath+"/0198a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b", fields{"name": "x"}).wantProblem(http.StatusNotFound, rule.CodeNotFound)
}
