package api

import (
	"net/http"
	"strings"
	"testing"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// inForce makes a project bank that demands two people, with a rule PAY-1 in force, and returns the keys of two reviewers.
func (n *node) inForce() (ann, bob string) {
	n.t.Helper()
	n.call("POST", projectsPath, fields{"id": "bank"}).want(http.StatusCreated)
	n.call("POST", rulesPath+"?project_id=bank", fields{"slug": "PAY-1", "statement": "Pay on time.", "severity": "CRITICAL", "status": "EFFECTIVE"}).want(http.StatusCreated)
	n.call("PATCH", projectsPath+"/bank", `{"two_person_approval":true}`).want(http.StatusOK)
	return n.makeKey(auth.Reviewer, "bank"), n.namedKey("bob", auth.Reviewer, "bank")
}

// namedKey makes a key with a name.
func (n *node) namedKey(name string, role auth.Role, projectID string) string {
	n.t.Helper()
	_, secret, err := n.keys.Create(auth.WithActor(n.t.Context(), auth.Local("test")), auth.NewKey{ProjectID: projectID, Name: name, Role: role})
	if err != nil {
		n.t.Fatal(err)
	}
	return secret
}

func TestAPatchOfARuleInForceWaits(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		ann, bob := n.inForce()
		by := func(key, method, target string, body any) *reply {
			t.Helper()
			return n.call(method, target+"?project_id=bank", body, "Authorization", "Bearer "+key)
		}
		one := rulesPath + "/PAY-1"
		patched := by(ann, "PATCH", one, fields{"statement": "Pay early.", "change_note": "sooner"}).want(http.StatusOK)
		r := into[rule.Rule](patched)
		if r.Statement != "Pay on time." || r.Version != 1 || patched.header.Get("ETag") != `"1"` || r.Pending == nil || r.Pending.Number != 1 ||
			r.Pending.Note != "sooner" || r.Pending.Author == "" || len(r.Pending.Changes) != 1 {
			t.Fatalf("patched: %s", patched.body)
		}
		if r := into[rule.Rule](by(bob, "GET", one, nil).want(http.StatusOK)); r.Statement != "Pay on time." || r.Pending != nil {
			t.Errorf("in force: %+v", r)
		}
		for _, path := range []string{rulesPath + "/pending", one + "/pending"} {
			page := into[wire.Page[wire.RevisionDetail]](by(bob, "GET", path, nil).want(http.StatusOK))
			if page.Total != 1 || page.Items[0].Rule.Statement != "Pay early." || page.Items[0].Severity != rule.Critical || page.Items[0].Slug != "PAY-1" || page.Items[0].Rule.Tests == nil {
				t.Errorf("%s: %+v", path, page)
			}
		}
		by(bob, "POST", one+"/pending/1/reject", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "note")
		by(ann, "POST", one+"/pending/1/approve", `{}`).wantProblem(http.StatusConflict, rule.CodeConflict)
		by(bob, "POST", one+"/pending/7/approve", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
		by(bob, "GET", one+"/pending", nil).want(http.StatusOK)
		n.call("GET", one+"/pending?project_id=bank&state=never", nil, "Authorization", "Bearer "+bob).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "state")
		if r := into[rule.Rule](by(bob, "POST", one+"/pending/1/approve", nil).want(http.StatusOK)); r.Statement != "Pay early." || r.Version != 2 {
			t.Errorf("approved: %+v", r)
		}
		by(bob, "POST", one+"/pending/1/approve", nil).wantProblem(http.StatusConflict, rule.CodeConflict)

		by(ann, "PATCH", one, fields{"severity": "LOW"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "change_note")
		milder := into[rule.Rule](by(ann, "PATCH", one, fields{"severity": "LOW", "change_note": "the law changed"}).want(http.StatusOK))
		if milder.Pending == nil || strings.Join(milder.Pending.Weakens, " ") != "severity LOW instead of CRITICAL" {
			t.Errorf("milder: %+v", milder.Pending)
		}
		if w := into[rule.Revision](by(ann, "POST", one+"/pending/2/withdraw", nil).want(http.StatusOK)); w.State != rule.RevisionWithdrawn {
			t.Errorf("withdrawn: %+v", w)
		}
	})
}

// A project that demands tests has them run on what the revision says, and not on what the rule says now.
func TestTestCasesAreTriedOnTheRevision(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		n.call("POST", projectsPath, fields{"id": "bank"}).want(http.StatusCreated)
		made := fields{"slug": "PAY-1", "statement": "No evil.", "status": "EFFECTIVE", "check": fields{"pattern": fields{"regex": "evil"}}}
		n.call("POST", rulesPath+"?project_id=bank", made).want(http.StatusCreated)
		one := rulesPath + "/PAY-1"
		for name, verdict := range map[string]string{"evil": "DENY", "good": "ALLOW"} {
			n.call("POST", one+"/test-cases?project_id=bank", fields{
				"name": name, "sample_input": "do(" + name + ")", "input_type": "code", "expected_verdict": verdict,
			}).want(http.StatusCreated)
		}
		n.call("PATCH", projectsPath+"/bank", `{"two_person_approval":true,"tests_required":true}`).want(http.StatusOK)
		ann, bob := n.namedKey("ann", auth.Reviewer, "bank"), n.namedKey("bob", auth.Reviewer, "bank")
		propose := func(regex string) {
			t.Helper()
			n.call("PATCH", one+"?project_id=bank", fields{"check": fields{"pattern": fields{"regex": regex}}}, "Authorization", "Bearer "+ann).want(http.StatusOK)
		}
		approve := func(number string) *reply {
			return n.call("POST", one+"/pending/"+number+"/approve?project_id=bank", nil, "Authorization", "Bearer "+bob)
		}
		propose("nothing")
		if answer := approve("1").wantProblem(http.StatusConflict, rule.CodeConflict); !strings.Contains(answer.Detail, "of 2, 1 pass") {
			t.Errorf("a revision on which a test case fails: %s", answer.Detail)
		}
		propose("ev.l")
		approve("2").want(http.StatusOK)
	})
}
