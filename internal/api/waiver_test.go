package api

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// evalFile is a file of which line, from 1, breaks the rule SEC-1.
func evalFile(line int, text string) fields {
	return fields{"files": []fields{{"path": "a.py", "content": strings.Repeat("x = 1\n", line-1) + text + "\n"}}, "max_rules": 100}
}

func waiver(fingerprint string, more fields) fields {
	w := fields{"rule_id": "SEC-1", "fingerprint": fingerprint, "reason": "a test", "expires_at": time.Now().Add(time.Hour).Format(time.RFC3339)}
	maps.Copy(w, more)
	return w
}

func TestAWaiverCoversOneRepository(t *testing.T) {
	t.Parallel()
	onBoth(t, testAWaiverCoversOneRepository)
}

func testAWaiverCoversOneRepository(t *testing.T, n *node) {
	n.key = n.makeKey(auth.Admin, store.AllProjects)
	n.call("POST", rulesPath, fields{
		"slug": "SEC-1", "statement": "Do not call eval.", "modality": "MUST_NOT", "status": "EFFECTIVE", "severity": "HIGH",
		"check": fields{"pattern": fields{"regex": `\beval\(`}},
	}).want(http.StatusCreated)
	in := func(repository string) fields {
		f := evalFile(2, "eval( y )")
		if repository != "" {
			f["repository"] = repository
		}
		return f
	}
	fingerprint := n.evaluates(in("acme/sandbox")).RuleVerdicts[0].Fingerprint
	w := into[rule.Waiver](n.call("POST", waiversPath, waiver(fingerprint, fields{"repository": "https://GitHub.com/acme/Sandbox.git"})).want(http.StatusCreated))
	if w.Repository != "github.com/acme/sandbox" {
		t.Errorf("made for %q", w.Repository)
	}
	for repository, want := range map[string]rule.Verdict{
		"github.com/acme/sandbox": rule.Allow, "git@github.com:Acme/sandbox": rule.Allow,
		"acme/production": rule.Deny, "github.com/acme/production": rule.Deny, "gitlab.com/acme/sandbox": rule.Deny, "": rule.Deny,
	} {
		if e := n.evaluates(in(repository)); e.OverallVerdict != want {
			t.Errorf("in %q: %s with %d waived, want %s", repository, e.OverallVerdict, e.RulesWaived, want)
		}
	}
	// One without a repository, as all were before they had one, covers what names none.
	n.call("POST", waiversPath, waiver(fingerprint, nil)).want(http.StatusCreated)
	for repository, want := range map[string]rule.Verdict{"": rule.Allow, "acme/production": rule.Deny, "acme/sandbox": rule.Deny} {
		if e := n.evaluates(in(repository)); e.OverallVerdict != want {
			t.Errorf("waived where no repository is named, in %q: %s, want %s", repository, e.OverallVerdict, want)
		}
	}
	for _, bad := range []string{"/", strings.Repeat("a", 1025)} {
		n.call("POST", waiversPath, waiver(fingerprint, fields{"repository": bad})).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "repository")
	}
	if code := n.call("POST", waiversPath, waiver(fingerprint, fields{"repository": "a\x00/b"})).status; code >= http.StatusInternalServerError {
		t.Errorf("a repository with a NUL character: %d", code)
	}
}

func TestSomeRulesMayNotBeWaived(t *testing.T) {
	t.Parallel()
	onBoth(t, testSomeRulesMayNotBeWaived)
}

func testSomeRulesMayNotBeWaived(t *testing.T, n *node) {
	n.key = n.makeKey(auth.Admin, store.AllProjects)
	made := into[rule.Rule](n.call("POST", rulesPath, fields{
		"slug": "SEC-1", "statement": "Do not call eval.", "modality": "MUST_NOT", "status": "EFFECTIVE", "waivable": false,
		"check": fields{"pattern": fields{"regex": `\beval\(`}},
	}).want(http.StatusCreated))
	if made.MayBeWaived() {
		t.Fatalf("made %+v", made)
	}
	fingerprint := n.evaluates(evalFile(2, "eval( y )")).RuleVerdicts[0].Fingerprint
	n.call("POST", waiversPath, waiver(fingerprint, nil)).wantProblem(http.StatusConflict, rule.CodeConflict)

	n.call("PATCH", rulesPath+"/SEC-1", fields{"waivable": true}).want(http.StatusOK)
	open := n.evaluates(evalFile(2, "eval( y )")).RuleVerdicts[0].Fingerprint
	n.call("POST", waiversPath, waiver(open, nil)).want(http.StatusCreated)
	if e := n.evaluates(evalFile(2, "eval( y )")); e.RulesWaived != 1 {
		t.Errorf("waivable, it is %+v", e)
	}
	// A marking takes back the waivers there are.
	n.call("PATCH", rulesPath+"/SEC-1", fields{"waivable": false}).want(http.StatusOK)
	if e := n.evaluates(evalFile(2, "eval( y )")); e.OverallVerdict != rule.Deny || e.RulesWaived != 0 {
		t.Errorf("marked again, it is %+v", e)
	}
}

func TestWaivers(t *testing.T) {
	t.Parallel()
	onBoth(t, testWaivers)
}

func testWaivers(t *testing.T, n *node) {
	n.key = n.makeKey(auth.Admin, store.AllProjects)
	n.call("POST", rulesPath, fields{
		"slug": "SEC-1", "statement": "Do not call eval.", "modality": "MUST_NOT", "status": "EFFECTIVE", "severity": "HIGH",
		"check": fields{"pattern": fields{"regex": `\beval\(`}},
	}).want(http.StatusCreated)
	before := n.evaluates(evalFile(2, "eval( y )"))
	fingerprint := before.RuleVerdicts[0].Fingerprint
	if before.OverallVerdict != rule.Deny || len(fingerprint) != 64 {
		t.Fatalf("a violation is %+v", before)
	}
	made := n.call("POST", waiversPath, waiver(fingerprint, fields{"approver": "ann"})).want(http.StatusCreated)
	w := into[rule.Waiver](made)
	if w.Status != rule.WaiverActive || w.CreatedBy == "" || w.ApprovedBy != "" || made.header.Get("Location") != waiversPath+"/"+w.ID {
		t.Errorf("made %+v at %s", w, made.header.Get("Location"))
	}

	// Another node knows at once that reads the database; the text may move and be spaced otherwise.
	e := newNodeAt(n).evaluates(evalFile(9, "  eval(  y )"))
	v := e.RuleVerdicts[0]
	if e.OverallVerdict != rule.Allow || v.Verdict != rule.Deny || v.Waiver == nil || v.Waiver.ID != w.ID || v.Waiver.Reason != "a test" ||
		e.RulesWaived != 1 || e.RulesViolated != 0 || len(e.Violations) != 0 || e.FixSummary != "" {
		t.Fatalf("waived, it is %+v", e)
	}
	if r := n.replays(e.EvaluationID, fields{}); !r.Agrees {
		t.Errorf("the replay says %+v", r)
	}

	// Another text, another file, or one violation more is not covered.
	for _, body := range []fields{
		evalFile(2, "eval( z )"),
		{"files": []fields{{"path": "b.py", "content": "eval( y )\n"}}},
		evalFile(2, "eval( y )\neval( y )"),
	} {
		if e := n.evaluates(body); e.OverallVerdict != rule.Deny || e.RulesWaived != 0 {
			t.Errorf("%v is %s with %d waived", body, e.OverallVerdict, e.RulesWaived)
		}
	}

	// A rule that says something else now is not covered; nor is anything after the end or a revocation.
	n.call("PATCH", rulesPath+"/SEC-1", fields{"rationale": "It runs what it is given."}).want(http.StatusOK)
	e = n.evaluates(evalFile(2, "eval( y )"))
	if e.OverallVerdict != rule.Deny || e.RuleVerdicts[0].Fingerprint == fingerprint {
		t.Errorf("the waiver outlives the wording of the rule: %+v", e)
	}
	again := into[rule.Waiver](n.call("POST", waiversPath, waiver(e.RuleVerdicts[0].Fingerprint, nil)).want(http.StatusCreated))
	if e = n.evaluates(evalFile(2, "eval( y )")); e.RulesWaived != 1 {
		t.Fatalf("waived again, it is %+v", e)
	}
	for range 2 {
		if w := into[rule.Waiver](n.call("DELETE", waiversPath+"/"+again.ID, nil).want(http.StatusOK)); w.Status != rule.WaiverRevoked || w.RevokedBy == "" {
			t.Errorf("revoked, it is %+v", w)
		}
	}
	if e := n.evaluates(evalFile(2, "eval( y )")); e.OverallVerdict != rule.Deny {
		t.Errorf("the waiver outlives its revocation: %+v", e)
	}
	list := into[wire.Page[rule.Waiver]](n.call("GET", waiversPath+"?rule_id=SEC-1", nil).want(http.StatusOK))
	if list.Total != 2 || list.Items[0].Status != rule.WaiverRevoked || list.Items[1].Status != rule.WaiverActive {
		t.Errorf("lists %+v", list)
	}
	entries, _, err := n.store.Audit.Find(t.Context(), store.AuditFilter{ProjectID: "default", Kind: "waiver", Limit: 10})
	if err != nil || len(entries) != 3 {
		t.Errorf("%d entries in the audit chain, %v; want two made and one revoked", len(entries), err)
	}
}

func TestACriticalRuleNeedsASecondPersonToWaive(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	first, second := n.makeKey(auth.Admin, store.AllProjects), n.makeKey(auth.Reviewer, "default")
	evaluator := n.makeKey(auth.Evaluator, "default")
	n.key = first
	n.call("POST", rulesPath, fields{
		"slug": "SEC-1", "statement": "Do not call eval.", "modality": "MUST_NOT", "status": "EFFECTIVE", "severity": "CRITICAL",
		"check": fields{"pattern": fields{"regex": `\beval\(`}},
	}).want(http.StatusCreated)
	denied := func(want rule.Verdict) rule.RuleVerdict {
		t.Helper()
		e := n.evaluates(evalFile(1, "eval(y)"))
		if e.OverallVerdict != want {
			t.Fatalf("is %s, want %s", e.OverallVerdict, want)
		}
		return e.RuleVerdicts[0]
	}
	fingerprint := denied(rule.Deny).Fingerprint
	n.key = evaluator
	n.call("POST", waiversPath, waiver(fingerprint, nil)).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	n.key = first
	w := into[rule.Waiver](n.call("POST", waiversPath, waiver(fingerprint, fields{"approver": "reviewer@default"})).want(http.StatusCreated))
	path := waiversPath + "/" + w.ID
	if w.Status != rule.WaiverPending {
		t.Errorf("made, it is %+v", w)
	}
	denied(rule.Deny) // a name in the body is not a second person
	n.call("POST", path+"/approve", nil).wantProblem(http.StatusConflict, rule.CodeConflict)
	denied(rule.Deny)
	n.key = evaluator
	n.call("POST", path+"/approve", nil).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	n.key = second
	if w = into[rule.Waiver](n.call("POST", path+"/approve", nil).want(http.StatusOK)); w.Status != rule.WaiverActive || w.ApprovedBy != "key:reviewer@default" {
		t.Errorf("approved, it is %+v", w)
	}
	if v := denied(rule.Allow); v.Waiver == nil || v.Waiver.Approver != "key:reviewer@default" {
		t.Errorf("the verdict shows %+v", v.Waiver)
	}
	n.call("DELETE", path, nil).want(http.StatusOK)
	n.call("POST", path+"/approve", nil).wantProblem(http.StatusConflict, rule.CodeConflict)
	denied(rule.Deny)

	// Only the approver that is named may approve.
	n.key = first
	w = into[rule.Waiver](n.call("POST", waiversPath, waiver(fingerprint, fields{"approver": "zoe"})).want(http.StatusCreated))
	n.key = second
	n.call("POST", waiversPath+"/"+w.ID+"/approve", nil).wantProblem(http.StatusForbidden, rule.CodeForbidden)
}

func TestWaiversThatAreRefused(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	good := strings.Repeat("0a", 32)
	n.call("POST", rulesPath, fields{"slug": "SEC-1", "statement": "Do not call eval.", "status": "EFFECTIVE"}).want(http.StatusCreated)
	for name, test := range map[string]struct {
		body  fields
		field string
	}{
		"no such rule":       {waiver(good, fields{"rule_id": "NO-1"}), "rule_id"},
		"no fingerprint":     {waiver("abc", nil), "fingerprint"},
		"no reason":          {waiver(good, fields{"reason": " "}), "reason"},
		"a long reason":      {waiver(good, fields{"reason": strings.Repeat("x", rule.MaxWaiverReason+1)}), "reason"},
		"an end in the past": {waiver(good, fields{"expires_at": "2020-01-01T00:00:00Z"}), "expires_at"},
		"an end far away":    {waiver(good, fields{"expires_at": time.Now().AddDate(2, 0, 0).Format(time.RFC3339)}), "expires_at"},
		"a long approver":    {waiver(good, fields{"approver": strings.Repeat("x", rule.MaxLabel+1)}), "approver"},
	} {
		t.Run(name, func(t *testing.T) {
			n.call("POST", waiversPath, test.body).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, test.field)
		})
	}
	body := waiver(good, nil)
	delete(body, "expires_at")
	n.call("POST", waiversPath, body).want(http.StatusUnprocessableEntity)
	for _, id := range []string{"nope", "01a1fdea-0000-7000-8000-000000000000"} {
		n.call("GET", waiversPath+"/"+id, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
		n.call("DELETE", waiversPath+"/"+id, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	}

	// What rests on a fact or on what is absent quotes nothing, and cannot be waived.
	n.call("POST", rulesPath, fields{"slug": "FIN-1", "statement": "At most 10.", "status": "EFFECTIVE", "check": fields{"cel": "facts.amount <= 10"}}).want(http.StatusCreated)
	e := n.evaluates(fields{"facts": fields{"amount": 11}})
	for _, v := range e.Violations {
		if v.Fingerprint != "" {
			t.Errorf("%s has a fingerprint", v.RuleSlug)
		}
	}
	if e.RulesViolated != 1 {
		t.Errorf("violated are %d", e.RulesViolated)
	}

	// A comment in the text waives nothing.
	n.call("PATCH", rulesPath+"/SEC-1", fields{"check": fields{"pattern": fields{"regex": `\beval\(`}}}).want(http.StatusOK)
	if e := n.evaluates(evalFile(1, "eval(x)  # tenet:ignore SEC-1 nosec noqa")); e.OverallVerdict != rule.Deny {
		t.Errorf("a comment makes it %s", e.OverallVerdict)
	}
}

// unreadable has waivers that cannot be read.
type unreadable struct{ store.WaiverReader }

func (unreadable) ListLive(context.Context, string, time.Time) ([]rule.Waiver, error) {
	return nil, errors.New("the disk is gone")
}

func TestWaiversThatCannotBeReadCoverNothing(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.judgedRules()
	e := n.evaluates(evalFile(1, "eval(y)"))
	i := 0
	for e.RuleVerdicts[i].RuleSlug != "SEC-1" {
		i++
	}
	n.call("POST", waiversPath, waiver(e.RuleVerdicts[i].Fingerprint, nil)).want(http.StatusCreated)
	if e = n.evaluates(evalFile(1, "eval(y)")); e.OverallVerdict == rule.Deny {
		t.Fatalf("not waived: %+v", e)
	}
	n.tampered = true // the other node closes the store
	damaged := n.store
	damaged.Waivers = unreadable{damaged.Waivers}
	broken := newNodeOn(t, damaged)
	if e = broken.evaluates(evalFile(1, "eval(y)")); e.OverallVerdict != rule.Deny {
		t.Errorf("is %s", e.OverallVerdict)
	}
}
