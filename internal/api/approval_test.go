package api

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/approval"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// asking is a node with a rule that asks for confirmation, and keys of callers and of people who decide.
type asking struct {
	*node
	ci, other, ann, bo, admin []string // headers of keys: ci and other evaluate, ann and bo review
	rule                      rule.Rule
}

func newAsking(n *node, severity rule.Severity) *asking {
	n.t.Helper()
	a := &asking{node: n}
	for name, to := range map[string]*[]string{"ci": &a.ci, "other": &a.other, "ann": &a.ann, "bo": &a.bo, "root": &a.admin} {
		role := map[string]auth.Role{"ci": auth.Evaluator, "other": auth.Evaluator, "root": auth.Admin}[name]
		if role == "" {
			role = auth.Reviewer
		}
		_, secret, err := n.keys.Create(auth.WithActor(n.t.Context(), auth.Local("test")), auth.NewKey{ProjectID: "default", Name: name, Role: role})
		if err != nil {
			n.t.Fatal(err)
		}
		*to = []string{"Authorization", "Bearer " + secret}
	}
	a.rule = a.make("ASK-1", "SHOULD_NOT", severity, "drop table")
	return a
}

// make makes a rule about a pattern: one that asks for confirmation, or with MUST_NOT one that denies.
func (a *asking) make(slug, modality string, severity rule.Severity, pattern string) rule.Rule {
	a.t.Helper()
	enforcement := "warn"
	if modality == "MUST_NOT" {
		enforcement = "enforce"
	}
	return into[rule.Rule](a.node.call("POST", "/api/v1/rules", map[string]any{
		"slug": slug, "statement": "Do not " + pattern + ".", "modality": "MUST_NOT", "severity": severity, "status": "EFFECTIVE", "enforcement": enforcement,
		"check": map[string]any{"pattern": map[string]any{"regex": pattern}},
	}, a.admin...).want(http.StatusCreated))
}

func (a *asking) evaluate(key []string, action string, ask bool) rule.Evaluation {
	a.t.Helper()
	return into[rule.Evaluation](a.call("POST", "/api/v1/evaluate/quick", map[string]any{"action": action, "request_approval": ask}, key...).want(http.StatusOK))
}

// asks evaluates an action that needs confirmation, with a request for an approval.
func (a *asking) asks(action string) string {
	a.t.Helper()
	e := a.evaluate(a.ci, action, true)
	if e.OverallVerdict != rule.NeedsConfirmation || e.Approval == nil || e.Approval.State != rule.ApprovalPending || e.Approval.URL == "" {
		a.t.Fatalf("%s with %+v, notices %q", e.OverallVerdict, e.Approval, e.Notices)
	}
	return e.Approval.ID
}

func (a *asking) decide(key []string, id, what, reason string) *reply {
	a.t.Helper()
	return a.call("POST", "/api/v1/approvals/"+id+"/"+what, map[string]any{"reason": reason}, key...)
}

func (a *asking) get(id string) wire.ApprovalDetail {
	a.t.Helper()
	return into[wire.ApprovalDetail](a.call("GET", "/api/v1/approvals/"+id, nil, a.ann...).want(http.StatusOK))
}

func (a *asking) state(id string, want rule.ApprovalState) {
	a.t.Helper()
	if got := a.get(id).State; got != want {
		a.t.Errorf("the approval is %s, want %s", got, want)
	}
}

func TestAnApprovalServesOneEvaluationOfTheSameSubject(t *testing.T) {
	onBoth(t, func(t *testing.T, n *node) {
		a := newAsking(n, rule.High)
		id := a.asks("drop table a")
		if again := a.asks("drop table a"); again != id {
			t.Errorf("the same request again asks for another approval, %s", again)
		}
		d := a.get(id)
		if d.Subject.Action != "drop table a" || len(d.Rules) != 1 || d.Rules[0].RuleID != a.rule.ID || d.Requester != "key:ci" || d.Effect == "" || len(d.Verdicts) != 1 {
			t.Errorf("the approval does not show what is asked: %+v", d)
		}
		if diff := cmp.Diff([]string{"approve", "reject", "withdraw"}, d.Actions); diff != "" {
			t.Errorf("actions of a reviewer:\n%s", diff)
		}
		a.decide(a.ann, id, "approve", "").wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "reason")
		a.decide(a.ci, id, "approve", "me").want(http.StatusForbidden)
		out := into[rule.Approval](a.decide(a.ann, id, "approve", "It is a copy.").want(http.StatusOK))
		if out.State != rule.ApprovalApproved || out.DecidedBy != "key:ann" || out.ValidUntil == nil {
			t.Errorf("approved: %+v", out)
		}
		a.decide(a.bo, id, "reject", "no").want(http.StatusConflict)

		for name, action := range map[string]string{"another subject": "drop table b", "more of it": "drop table a, b"} {
			if e := a.evaluate(a.ci, action, false); e.OverallVerdict != rule.NeedsConfirmation || e.Approval != nil {
				t.Errorf("%s passes: %s, %+v", name, e.OverallVerdict, e.Approval)
			}
		}
		if e := a.evaluate(a.other, "drop table a", false); e.OverallVerdict != rule.NeedsConfirmation {
			t.Errorf("another caller passes: %s", e.OverallVerdict)
		}
		post := map[string]any{"facts": map[string]any{"x": 1}, "mode": "posthoc", "request_approval": true}
		a.call("POST", "/api/v1/evaluate", post, a.ci...).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "request_approval")

		e := a.evaluate(a.ci, "drop table a", false)
		v := e.RuleVerdicts[0]
		if e.OverallVerdict != rule.Allow || v.DecidedBy != rule.ByApproval || v.Approval == nil || !strings.Contains(v.Reasoning, "key:ann approved this (It is a copy)") {
			t.Fatalf("the approved action is %s: %+v", e.OverallVerdict, v)
		}
		if e.Approval == nil || e.Approval.ID != id || e.Approval.State != rule.ApprovalUsed {
			t.Errorf("the evaluation names %+v", e.Approval)
		}
		a.state(id, rule.ApprovalUsed)
		if again := a.evaluate(a.ci, "drop table a", false); again.OverallVerdict != rule.NeedsConfirmation {
			t.Errorf("a used approval is used again: %s", again.OverallVerdict)
		}
		replay := into[wire.Replay](a.call("POST", "/api/v1/evaluations/"+e.EvaluationID+"/replay", map[string]any{}, a.ann...).want(http.StatusOK))
		if !replay.Agrees {
			t.Errorf("the replay differs: %+v", replay)
		}
		if again := a.get(id); again.UsedBy != e.EvaluationID || again.UsedCount != 1 {
			t.Errorf("used by %s, %d times", again.UsedBy, again.UsedCount)
		}
		// Every transition is in the chain, and the chain is whole.
		page := into[wire.AuditPage](a.call("GET", "/api/v1/audit?kind=approval", nil, a.ann...).want(http.StatusOK))
		var actions []string
		for _, entry := range page.Items {
			actions = append(actions, entry.Action+" by "+entry.Actor)
		}
		if diff := cmp.Diff([]string{"used by key:ci", "approved by key:ann", "requested by key:ci"}, actions); diff != "" {
			t.Errorf("entries of the chain (-want +got):\n%s", diff)
		}
		if r := into[wire.AuditReport](a.call("GET", "/api/v1/audit/verify", nil, a.ann...).want(http.StatusOK)); !r.OK() {
			t.Errorf("the chain is broken: %+v", r.Problems)
		}
	})
}

// An approval serves the agent that asked, and one that nobody's agent asked for serves no agent.
func TestAnApprovalServesTheAgentThatAsked(t *testing.T) {
	onBoth(t, func(t *testing.T, n *node) {
		a := newAsking(n, rule.High)
		as := func(agent, action string, ask bool) rule.Evaluation {
			body := fields{"action": action, "request_approval": ask}
			if agent != "" {
				body["agent"] = agent
			}
			return into[rule.Evaluation](a.call("POST", "/api/v1/evaluate/quick", body, a.ci...).want(http.StatusOK))
		}
		for asking, others := range map[string][]string{"": {"codex", "claude-code"}, "claude-code": {"", "codex"}} {
			action := "drop table of_" + asking
			id := as(asking, action, true).Approval.ID
			a.decide(a.ann, id, "approve", "It is a copy.").want(http.StatusOK)
			for _, other := range others {
				if e := as(other, action, false); e.OverallVerdict != rule.NeedsConfirmation || e.Approval != nil {
					t.Errorf("asked for by %q, it serves %q: %s", asking, other, e.OverallVerdict)
				}
			}
			if e := as(asking, action, false); e.OverallVerdict != rule.Allow {
				t.Errorf("it does not serve %q, who asked: %s", asking, e.OverallVerdict)
			}
		}
	})
}

func TestAnApprovalDoesNotFitAChangedRuleAndLiftsNoDenial(t *testing.T) {
	a := newAsking(newNode(t), rule.High)
	id := a.asks("drop table a")
	a.decide(a.ann, id, "approve", "fine").want(http.StatusOK)
	a.make("ASK-2", "", rule.High, "table a")
	if e := a.evaluate(a.ci, "drop table a", false); e.OverallVerdict != rule.NeedsConfirmation || e.RulesUncertain != 2 {
		t.Errorf("with another rule to be confirmed: %s, %d", e.OverallVerdict, e.RulesUncertain)
	}
	second := a.asks("drop table a")
	a.decide(a.ann, second, "approve", "fine").want(http.StatusOK)
	a.call("PATCH", "/api/v1/rules/ASK-1", map[string]any{"statement": "Never drop table."}, a.admin...).want(http.StatusOK)
	if e := a.evaluate(a.ci, "drop table a", false); e.OverallVerdict != rule.NeedsConfirmation {
		t.Errorf("with a changed rule: %s", e.OverallVerdict)
	}
	third := a.asks("drop table a")
	a.decide(a.ann, third, "approve", "fine").want(http.StatusOK)
	a.make("NO-1", "MUST_NOT", rule.High, "drop")
	if e := a.evaluate(a.ci, "drop table a", true); e.OverallVerdict != rule.Deny || e.Approval != nil || !strings.Contains(fmt.Sprint(e.Notices), "denial") {
		t.Errorf("an approval lifts a denial: %s, %+v, %q", e.OverallVerdict, e.Approval, e.Notices)
	}
	e := a.evaluate(a.ci, "drop table a", false)
	a.call("POST", "/api/v1/approvals", map[string]any{"evaluation_id": e.EvaluationID}, a.ci...).wantProblem(http.StatusConflict, rule.CodeConflict)
	a.state(third, rule.ApprovalApproved)
}

func TestWhatNoRuleCoversCanBeApproved(t *testing.T) {
	a := newAsking(newNode(t), rule.High)
	id := a.asks("send the customer list")
	if d := a.get(id); !d.Uncovered || len(d.Rules) != 0 {
		t.Fatalf("the approval has %+v", d.Approval)
	}
	a.decide(a.ann, id, "approve", "agreed with legal").want(http.StatusOK)
	e := a.evaluate(a.ci, "send the customer list", false)
	if e.OverallVerdict != rule.Allow || !e.Coverage.UncoveredApproved || e.Flaw() != "" {
		t.Errorf("%s, %+v", e.OverallVerdict, e.Coverage)
	}
}

func TestCriticalRulesTakeTwoPeople(t *testing.T) {
	a := newAsking(newNode(t), rule.Critical)
	id := a.asks("drop table a")
	first := into[rule.Approval](a.decide(a.ann, id, "approve", "one").want(http.StatusOK))
	if first.State != rule.ApprovalPending || first.Quorum != 2 {
		t.Errorf("after one: %s of %d", first.State, first.Quorum)
	}
	a.decide(a.ann, id, "approve", "one again").want(http.StatusConflict)
	if e := a.evaluate(a.ci, "drop table a", false); e.OverallVerdict != rule.NeedsConfirmation {
		t.Errorf("one approval is enough: %s", e.OverallVerdict)
	}
	if second := into[rule.Approval](a.decide(a.bo, id, "approve", "two").want(http.StatusOK)); second.State != rule.ApprovalApproved {
		t.Errorf("after two: %s", second.State)
	}
	if e := a.evaluate(a.ci, "drop table a", false); e.OverallVerdict != rule.Allow || len(e.RuleVerdicts[0].Approval.By) != 2 {
		t.Errorf("%s by %+v", e.OverallVerdict, e.RuleVerdicts[0].Approval)
	}
}

// TestNobodyApprovesWhatTheirOwnKeyAsks asks with a key that belongs to a person, who must not decide by any key or name of theirs.
func TestNobodyApprovesWhatTheirOwnKeyAsks(t *testing.T) {
	a := newAsking(newNode(t), rule.Critical)
	owned := func(name, owner string, role auth.Role) []string {
		t.Helper()
		_, secret, err := a.keys.Create(auth.WithActor(t.Context(), auth.Local("test")), auth.NewKey{ProjectID: "default", Name: name, Role: role, Owner: owner})
		if err != nil {
			t.Fatal(err)
		}
		return []string{"Authorization", "Bearer " + secret}
	}
	agent, same, second, third := owned("agent", "dana", auth.Evaluator), owned("dana-laptop", "Dana", auth.Reviewer), owned("eve-1", "eve", auth.Reviewer), owned("eve-2", "eve", auth.Reviewer)
	e := a.evaluate(agent, "drop table a", true)
	if d := a.get(e.Approval.ID); d.RequesterOwner != "dana" {
		t.Errorf("the owner is %q", d.RequesterOwner)
	}
	a.decide(same, e.Approval.ID, "approve", "mine").want(http.StatusForbidden)
	a.decide(second, e.Approval.ID, "approve", "one").want(http.StatusOK)
	a.decide(third, e.Approval.ID, "approve", "the same person").want(http.StatusConflict)
	a.decide(a.bo, e.Approval.ID, "approve", "two").want(http.StatusOK)
	a.state(e.Approval.ID, rule.ApprovalApproved)
}

func TestTermsOfAnApproval(t *testing.T) {
	a := newAsking(newNode(t), rule.High)
	acting := fields{"action": "drop table z", "request_approval": true, "agent": "claude-code", "on_behalf_of": "corp:zoe", "session": "s-1"}
	a.call("POST", "/api/v1/evaluate/quick", acting, a.ci...).want(http.StatusOK)
	for query, want := range map[string]int{"agent=claude-code": 1, "person=corp:zoe": 1, "person=corp:eve": 0, "session=s-1": 1, "session=s-2": 0, "person=corp:zoe&session=s-1": 1} {
		if page := into[wire.ApprovalPage](a.call("GET", "/api/v1/approvals?"+query, nil, a.ann...).want(http.StatusOK)); page.Total != want || len(page.Items) != want {
			t.Errorf("%s finds %d, want %d", query, page.Total, want)
		}
	}
	e := a.evaluate(a.ci, "drop table a", false)
	for field, terms := range map[string]map[string]any{
		"uses": {"uses": 1001}, "expires_in": {"expires_in": "soon"}, "valid_until": {"valid_until": "2020-01-01T00:00:00Z"}, "reason": {"reason": strings.Repeat("x", 2001)},
	} {
		terms["evaluation_id"] = e.EvaluationID
		a.call("POST", "/api/v1/approvals", terms, a.ci...).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, field)
	}
	a.call("POST", "/api/v1/evaluate/quick", map[string]any{"action": "x", "request_approval": true, "approval": map[string]any{"expires_in": "soon"}}, a.ci...).
		wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "approval.expires_in")
	// Somebody else asks for the caller, who alone can use it; neither of them decides.
	two := into[rule.Approval](a.call("POST", "/api/v1/approvals", map[string]any{"evaluation_id": e.EvaluationID, "uses": 2, "reason": "twice"}, a.bo...).want(http.StatusCreated))
	if two.Requester != "key:ci" || two.AskedBy != "key:bo" || two.Uses != 2 {
		t.Errorf("asked for %+v", two)
	}
	a.decide(a.bo, two.ID, "approve", "mine").want(http.StatusForbidden)
	a.decide(a.ann, two.ID, "approve", "fine").want(http.StatusOK)
	for i, want := range []rule.Verdict{rule.Allow, rule.Allow, rule.NeedsConfirmation} {
		if e := a.evaluate(a.ci, "drop table a", false); e.OverallVerdict != want {
			t.Errorf("evaluation %d: %s, want %s", i+1, e.OverallVerdict, want)
		}
	}
	until := time.Now().Add(2 * time.Hour)
	many := into[rule.Approval](a.call("POST", "/api/v1/approvals", map[string]any{"evaluation_id": e.EvaluationID, "valid_until": until}, a.ci...).want(http.StatusCreated))
	a.decide(a.ann, many.ID, "approve", "fine").want(http.StatusOK)
	for range 3 {
		if e := a.evaluate(a.ci, "drop table a", false); e.OverallVerdict != rule.Allow || e.Approval.State != rule.ApprovalApproved {
			t.Errorf("%s with %+v", e.OverallVerdict, e.Approval)
		}
	}
	a.ahead.Store(int64(3 * time.Hour))
	if e := a.evaluate(a.ci, "drop table a", false); e.OverallVerdict != rule.NeedsConfirmation {
		t.Errorf("after its time: %s", e.OverallVerdict)
	}
	a.state(many.ID, rule.ApprovalExpired)
}

func TestApprovalsRunOutAndAreWithdrawn(t *testing.T) {
	onBoth(t, func(t *testing.T, n *node) {
		a := newAsking(n, rule.High)
		id := a.asks("drop table a")
		a.ahead.Store(int64(61 * time.Minute))
		a.state(id, rule.ApprovalRejected)
		a.decide(a.ann, id, "approve", "late").want(http.StatusConflict)
		if err := n.cfg.Approvals.Expire(t.Context(), wire.Job{}, func(int, int) {}); err != nil {
			t.Fatal(err)
		}
		a.state(id, rule.ApprovalRejected)
		page := into[wire.ApprovalPage](a.call("GET", "/api/v1/approvals?state=rejected&mine=true", nil, a.ci...).want(http.StatusOK))
		if page.Total != 1 || page.Items[0].ID != id || page.Items[0].DecidedBy != "" || !page.Items[0].Unanswered() {
			t.Errorf("rejected: %+v", page)
		}
		// A withdrawn approval is not used, also after it was approved.
		next := a.asks("drop table a")
		a.decide(a.other, next, "withdraw", "not mine").want(http.StatusForbidden)
		a.decide(a.ann, next, "approve", "fine").want(http.StatusOK)
		a.decide(a.ci, next, "withdraw", "").want(http.StatusOK)
		a.state(next, rule.ApprovalWithdrawn)
		if e := a.evaluate(a.ci, "drop table a", false); e.OverallVerdict != rule.NeedsConfirmation {
			t.Errorf("a withdrawn approval is used: %s", e.OverallVerdict)
		}
		rejected := a.asks("drop table a")
		a.decide(a.ann, rejected, "reject", "never").want(http.StatusOK)
		if e := a.evaluate(a.ci, "drop table a", false); e.OverallVerdict != rule.NeedsConfirmation || e.Approval != nil {
			t.Errorf("a rejected approval is used: %s", e.OverallVerdict)
		}
	})
}

func TestRacingApprovals(t *testing.T) {
	onBoth(t, func(t *testing.T, n *node) {
		a := newAsking(n, rule.High)
		id := a.asks("drop table a")
		race := func(racers int, do func(i int) bool) (won int) {
			var wg sync.WaitGroup
			var mu sync.Mutex
			for i := range racers {
				wg.Go(func() {
					if do(i) {
						mu.Lock()
						defer mu.Unlock()
						won++
					}
				})
			}
			wg.Wait()
			return won
		}
		if won := race(100, func(i int) bool {
			key, what := a.ann, "approve"
			if i%2 == 1 {
				key, what = a.bo, "reject"
			}
			return a.decide(key, id, what, "race").status == http.StatusOK
		}); won != 1 {
			t.Errorf("%d of 100 racing decisions have won", won)
		}
		if state := a.get(id).State; state == rule.ApprovalRejected {
			id = a.asks("drop table a")
			a.decide(a.ann, id, "approve", "fine").want(http.StatusOK)
		}
		if won := race(40, func(int) bool { return a.evaluate(a.ci, "drop table a", false).OverallVerdict == rule.Allow }); won != 1 {
			t.Errorf("%d evaluations have used one approval", won)
		}
		a.state(id, rule.ApprovalUsed)
	})
}

func TestPolicyOfApprovals(t *testing.T) {
	a := newAsking(newNode(t), rule.High)
	route := map[string]any{
		"kinds": []string{"action"}, "ask": true, "approvers": []string{"key:ann"}, "substitutes": []string{"key:bo"}, "escalate_after": "10m", "expires_in": "30m",
	}
	set := func(routes any, reason string) *reply {
		return a.call("PATCH", "/api/v1/projects/default", map[string]any{"policy": map[string]any{"approvals": routes, "reason": reason}}, a.admin...)
	}
	set([]any{map[string]any{"kinds": []string{"nonsense"}}}, "").want(http.StatusUnprocessableEntity)
	set([]any{route}, "").want(http.StatusOK)
	set(nil, "").want(http.StatusUnprocessableEntity)

	e := a.evaluate(a.ci, "drop table a", false)
	if e.Approval == nil {
		t.Fatalf("the policy does not ask: %q", e.Notices)
	}
	d := a.get(e.Approval.ID)
	if !d.Auto || d.ExpiresAt.Sub(d.CreatedAt) != 30*time.Minute {
		t.Errorf("asked: %+v", d.Approval)
	}
	a.decide(a.bo, d.ID, "approve", "early").want(http.StatusForbidden)
	a.ahead.Store(int64(11 * time.Minute))
	if err := a.cfg.Approvals.Expire(t.Context(), wire.Job{}, func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	if d := a.get(d.ID); !d.Escalated || d.State != rule.ApprovalPending {
		t.Errorf("not escalated: %+v", d.Approval)
	}
	out := into[rule.Approval](a.decide(a.bo, d.ID, "approve", "ann is away").want(http.StatusOK))
	if out.State != rule.ApprovalApproved || !out.Decisions[0].Substitute {
		t.Errorf("by a substitute: %+v", out)
	}
}

func TestTheWholeActionIsShown(t *testing.T) {
	a := newAsking(newNode(t), rule.High)
	long := "drop table " + strings.Repeat("a", 4000) + "\u202e\x1b[2J\u200bz"
	d := a.get(a.asks(long))
	if d.Subject.Action != long || len(d.Display) != 1 || d.Display[0].Marks != 3 {
		t.Fatalf("shown: %d texts", len(d.Display))
	}
	if text := d.Display[0].Text; !strings.HasSuffix(text, "a⟨U+202E⟩⟨U+001B⟩[2J⟨U+200B⟩z") || !strings.HasPrefix(text, "drop table aaaa") {
		t.Errorf("display: %s", text[4000:])
	}
	if strings.ContainsAny(d.Title, "\u202e\x1b\u200b") || len([]rune(d.Title)) > 200 {
		t.Errorf("title: %q", d.Title)
	}
}

func TestSignedLinksOpenOneApproval(t *testing.T) {
	a := newAsking(newNode(t), rule.High)
	one, two := a.get(a.asks("drop table a")), a.get(a.asks("drop table b"))
	at, query, _ := strings.Cut(one.URL, "?")
	if at != "https://tenet.example.com/p/default/approvals/"+one.ID {
		t.Errorf("the link goes to %s", at)
	}
	open := func(id, query string) *reply { return a.call("GET", "/api/v1/approvals/"+id+"?"+query, nil, a.ann...) }
	open(one.ID, query).want(http.StatusOK)
	open(two.ID, query).want(http.StatusForbidden)
	open(one.ID, strings.Replace(query, "until=1", "until=2", 1)).want(http.StatusForbidden)
	open(one.ID, "until=1&signature=x").want(http.StatusForbidden)
	open(one.ID, "until=1").want(http.StatusForbidden)
	a.call("GET", "/api/v1/approvals/"+one.ID+"?"+query, nil).want(http.StatusUnauthorized)
	a.ahead.Store(int64(8 * 24 * time.Hour))
	open(one.ID, query).want(http.StatusForbidden)
}

func TestWaitingForADecisionOnAnotherNode(t *testing.T) {
	onBoth(t, func(t *testing.T, n *node) {
		a := newAsking(n, rule.High)
		elsewhere := newNodeAt(n)
		elsewhere.cfg.Approvals = approval.New(approval.Config{
			Store: approval.Store{Updater: n.store, Approvals: n.store.Approvals, Projects: n.store.Projects}, Views: n.live, Poll: 50 * time.Millisecond, Logger: n.cfg.Logger, Now: n.now,
		})
		elsewhere.serve()
		go elsewhere.cfg.Approvals.Run(t.Context())
		id := a.asks("drop table a")
		wait := func(n *node, wait string) wire.ApprovalDetail {
			return into[wire.ApprovalDetail](n.call("GET", "/api/v1/approvals/"+id+"?wait="+wait, nil, a.ci...).want(http.StatusOK))
		}
		if d := wait(n, "1ms"); d.State != rule.ApprovalPending || d.Subject != nil {
			t.Errorf("after a short wait: %s", d.State)
		}
		a.call("GET", "/api/v1/approvals/"+id+"?wait=1h", nil, a.ci...).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "wait")
		var wg sync.WaitGroup
		var decided time.Time
		for _, on := range []*node{n, elsewhere, elsewhere} {
			wg.Go(func() {
				if d := wait(on, "2m"); d.State != rule.ApprovalApproved {
					t.Errorf("waited for %s", d.State)
				}
				if late := time.Since(decided); late > time.Minute {
					t.Errorf("answered %s after the decision", late)
				}
			})
		}
		events := make(chan string, 1)
		wg.Go(func() {
			events <- string(elsewhere.call("GET", "/api/v1/approvals/"+id, nil, append([]string{"Accept", eventType}, a.ann...)...).want(http.StatusOK).body)
		})
		time.Sleep(200 * time.Millisecond) // most of them wait by now
		decided = time.Now()
		a.decide(a.ann, id, "approve", "fine").want(http.StatusOK)
		wg.Wait()
		if got := <-events; !strings.Contains(got, "event: done\n") || !strings.Contains(got, `"state":"approved"`) {
			t.Errorf("events:\n%s", got)
		}
	})
}

func TestApprovalsInLists(t *testing.T) {
	a := newAsking(newNode(t), rule.High)
	var ids []string
	for i := range 5 {
		ids = append([]string{a.asks(fmt.Sprintf("drop table %d", i))}, ids...)
	}
	var got []string
	cursor := ""
	for range 3 {
		page := into[wire.ApprovalPage](a.call("GET", "/api/v1/approvals?page_size=2&rule=ASK-1&severity_min=HIGH&state=pending"+cursor, nil, a.ann...).want(http.StatusOK))
		if page.Total != 5 {
			t.Errorf("total %d", page.Total)
		}
		for i := range page.Items {
			got = append(got, page.Items[i].ID)
		}
		if cursor = page.NextCursor; cursor != "" {
			cursor = "&cursor=" + cursor
		}
	}
	if diff := cmp.Diff(ids, got); diff != "" || cursor != "" {
		t.Errorf("cursor %q (-want +got):\n%s", cursor, diff)
	}
	for query, want := range map[string]int{
		"mine=true": 0, "requester=key:ci": 5, "severity_min=CRITICAL": 0, "rule=" + a.rule.ID: 5, "repository=acme/x": 0, "evaluation=none": 0, "agent=none": 0,
	} {
		if page := into[wire.ApprovalPage](a.call("GET", "/api/v1/approvals?"+query, nil, a.ann...).want(http.StatusOK)); page.Total != want {
			t.Errorf("%s: %d, want %d", query, page.Total, want)
		}
	}
	for _, query := range []string{"state=gone", "cursor=x", "severity_min=grave", "cursor=" + ids[0] + "&page=2"} {
		a.call("GET", "/api/v1/approvals?"+query, nil, a.ann...).want(http.StatusUnprocessableEntity)
	}
}
