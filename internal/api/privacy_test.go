package api

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/privacy"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

const privacyPath = "/api/v1/privacy"

// personalPolicy is a project with personal data, and a rule that quotes them.
func personalPolicy(n *node) {
	n.t.Helper()
	n.call("POST", rulesPath, fields{
		"slug": "PAY-1", "statement": "Nobody gets more than 100.", "modality": "SHOULD", "status": "EFFECTIVE", "severity": "HIGH",
		"check": fields{"cel": "facts.amount <= 100 && facts.customer.email != ''"},
	}).want(http.StatusCreated)
	n.call("PATCH", "/api/v1/projects/default", fields{"policy": fields{"personal": fields{
		"people": []string{"facts.customer.id"}, "fields": []string{"facts.customer", "facts.amount", "action"},
	}}}).want(http.StatusOK)
}

// pays evaluates a payment to a customer.
func pays(n *node, customer, email string) *rule.Evaluation {
	n.t.Helper()
	e := into[rule.Evaluation](n.call("POST", evaluatePath, fields{
		"action": "pay 4711.25 to " + email, "facts": fields{"amount": 4711.25, "purpose": "refund", "customer": fields{"id": customer, "email": email}}, "request_approval": true,
	}).want(http.StatusOK))
	return &e
}

func recordOf(n *node, id string) wire.EvaluationRecord {
	n.t.Helper()
	return into[wire.EvaluationRecord](n.call("GET", evaluationsPath+"/"+id, nil).want(http.StatusOK))
}

func TestAPersonIsForgotten(t *testing.T) {
	t.Parallel()
	onBoth(t, testAPersonIsForgotten)
}

func testAPersonIsForgotten(t *testing.T, n *node) {
	n.key = n.makeKey(auth.Admin, store.AllProjects)
	admin := n.key
	personalPolicy(n)
	e := pays(n, "CUST-7", "ann@example.com")
	other := pays(n, "CUST-8", "bob@example.com")
	if e.Approval == nil || e.RuleVerdicts[0].Evidence[0].Value != "4711.25" {
		t.Fatalf("the caller got %+v", e)
	}
	// No entry of the log holds the data: neither the record nor the approval that was asked for.
	entries, err := n.store.Audit.Entries(t.Context(), rule.DefaultProject, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		body, err := audit.Body(entries[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"CUST-7", "cust-7", "ann@", "4711"} {
			if bytes.Contains(body, []byte(text)) {
				t.Errorf("entry %d (%s) holds %q: %s", entries[i].Seq, entries[i].Kind, text, body)
			}
		}
	}
	approval := n.call("GET", "/api/v1/approvals", nil).want(http.StatusOK).body
	if strings.Contains(string(approval), "ann@") || strings.Contains(string(approval), "4711") {
		t.Errorf("the approval holds %s", approval)
	}
	// Reviewers read them, others do not, and the index does not have them.
	rec := recordOf(n, e.EvaluationID)
	customer, _ := rec.Subject.Facts["customer"].(map[string]any)
	if rec.Personal == nil || rec.Personal.State != wire.SealedOpen || customer["email"] != "ann@example.com" || rec.Evaluation.RuleVerdicts[0].Evidence[0].Value != "4711.25" {
		t.Errorf("a reviewer reads %+v of %+v", rec.Subject, rec.Personal)
	}
	n.key = n.makeKey(auth.Viewer, store.AllProjects)
	text := n.call("GET", evaluationsPath+"/"+e.EvaluationID, nil).want(http.StatusOK).body
	if rec := recordOf(n, e.EvaluationID); rec.Personal.State != wire.SealedClosed || rec.Subject.Facts["purpose"] != "refund" || strings.Contains(string(text), "ann@") || strings.Contains(string(text), "4711") {
		t.Errorf("a viewer reads %s", text)
	}
	n.call("POST", privacyPath+"/forget", fields{"person": "CUST-7", "reason": "x"}).want(http.StatusForbidden)
	n.key = admin
	count := func(query string) int {
		return into[wire.EvaluationPage](n.call("GET", evaluationsPath+"?"+query, nil).want(http.StatusOK)).Total
	}
	kept := into[wire.PersonKept](n.call("POST", privacyPath+"/find", fields{"person": " cust-7"}).want(http.StatusOK))
	if kept.Records != 1 || len(kept.Holds) != 0 || count("personal_key="+kept.Key) != 1 || count("fact=customer.email:ann@example.com") != 0 || count("q=4711.25") != 0 || count("fact=purpose:refund") != 2 {
		t.Errorf("found: %+v", kept)
	}
	replay := func() wire.Replay {
		return into[wire.Replay](n.call("POST", evaluationsPath+"/"+e.EvaluationID+"/replay", fields{}).want(http.StatusOK))
	}
	if r := replay(); !r.Agrees || r.Unreplayable != 0 {
		t.Errorf("replay: %+v", r)
	}
	entry, err := n.store.Audit.Get(t.Context(), rule.DefaultProject, e.EvaluationID)
	if err != nil {
		t.Fatal(err)
	}
	n.call("POST", evaluationsPath+"/"+e.EvaluationID+"/test-cases", fields{"expected_verdict": "DENY"}).wantProblem(http.StatusConflict, rule.CodeConflict)
	// A legal hold that covers a record of the person keeps the data; one that covers others does not.
	place := func(f fields) rule.LegalHold {
		return into[rule.LegalHold](n.call("POST", holdsPath, f).want(http.StatusCreated))
	}
	place(fields{"reason": "another case", "repository": "acme/none"})
	hold := place(fields{"reason": "case 17", "rule": "PAY-1"})
	if p := n.call("POST", privacyPath+"/forget", fields{"person": "CUST-7", "reason": "request 1"}).wantProblem(http.StatusConflict, rule.CodeConflict); !strings.Contains(p.Detail, "case 17") {
		t.Errorf("held: %+v", p)
	}
	n.call("POST", holdsPath+"/"+hold.ID+"/lift", fields{"reason": "closed"}).want(http.StatusOK)
	n.call("POST", privacyPath+"/forget", fields{"person": "CUST-7", "reason": "cust-7 asked for it"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "reason")
	n.call("POST", privacyPath+"/forget", fields{"person": "CUST-7", "reason": ""}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "reason")
	n.call("POST", privacyPath+"/forget", fields{"reason": "x"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "person")
	if f := into[wire.ForgottenPerson](n.call("POST", privacyPath+"/forget", fields{"person": "CUST-7", "reason": "request 1"}).want(http.StatusOK)); f.Records != 1 || f.Key != kept.Key {
		t.Errorf("forgotten: %+v", f)
	}
	n.call("POST", privacyPath+"/forget", fields{"person": "CUST-7", "reason": "request 1"}).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	// They are gone for everybody; the record, its entry and the chain are what they were.
	rec = recordOf(n, e.EvaluationID)
	if rec.Personal.State != wire.SealedForgotten || rec.Subject.Facts["customer"] != wire.SealedText || rec.Evaluation.OverallVerdict != e.OverallVerdict {
		t.Errorf("afterwards: %+v", rec)
	}
	if r := replay(); r.Unreplayable != 1 || !r.Agrees {
		t.Errorf("replay afterwards: %+v", r)
	}
	after, err := n.store.Audit.Get(t.Context(), rule.DefaultProject, e.EvaluationID)
	if err != nil || after.Hash != entry.Hash || !bytes.Equal(after.Body, entry.Body) {
		t.Errorf("the entry has changed: %v", err)
	}
	if r := into[wire.AuditReport](n.call("GET", "/api/v1/audit/verify", nil).want(http.StatusOK)); len(r.Problems) != 0 {
		t.Errorf("verified: %+v", r)
	}
	page := n.call("GET", "/api/v1/audit?kind=privacy", nil).want(http.StatusOK)
	if l := into[wire.AuditPage](page); l.Total != 1 || l.Items[0].Action != "forgotten" || strings.Contains(strings.ToLower(string(page.body)), "cust-7") {
		t.Errorf("the audit log: %s", page.body)
	}
	// Nobody else is forgotten, and the same person can come again, under another key.
	if rec := recordOf(n, other.EvaluationID); rec.Personal.State != wire.SealedOpen {
		t.Errorf("another person: %+v", rec.Personal)
	}
	if rec := recordOf(n, pays(n, "CUST-7", "ann@example.com").EvaluationID); rec.Personal.State != wire.SealedOpen || rec.Personal.Keys[0] == kept.Key {
		t.Errorf("again: %+v", rec.Personal)
	}
	if p := into[wire.Privacy](n.call("GET", privacyPath, nil).want(http.StatusOK)); p.People != 2 || p.Forgotten != 1 || p.Problem != "" {
		t.Errorf("privacy: %+v", p)
	}
	// A record that names nobody has a key of its own.
	lone := into[rule.Evaluation](n.call("POST", evaluatePath, fields{"facts": fields{"amount": 3}}).want(http.StatusOK))
	n.call("POST", privacyPath+"/forget", fields{"evaluation": lone.EvaluationID, "reason": "request 2"}).want(http.StatusOK)
	if rec := recordOf(n, lone.EvaluationID); rec.Personal.State != wire.SealedForgotten {
		t.Errorf("a record of nobody: %+v", rec.Personal)
	}
	// Naming less needs a reason.
	n.call("PATCH", "/api/v1/projects/default", fields{"policy": fields{"personal": nil}}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "policy.reason")
	n.call("PATCH", "/api/v1/projects/default", fields{"policy": fields{"personal": fields{"fields": []string{"customer"}}}}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "policy.personal.fields[0]")
}

// TestKeysOfPeopleStayWhereTheyAre moves keys and sealed data in the database: nothing opens that did not before.
func TestKeysOfPeopleStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	onBothTampering(t, func(t *testing.T, w *tampering) {
		n := w.node
		personalPolicy(n)
		ann, bob := pays(n, "CUST-7", "ann@example.com"), pays(n, "CUST-8", "bob@example.com")
		one, two := sealedRecord(n, ann.EvaluationID), sealedRecord(n, bob.EvaluationID)
		state := func(rec wire.EvaluationRecord, personal wire.SealedData) wire.SealedState {
			t.Helper()
			rec.Personal = &personal
			out, err := n.privacy.Open(t.Context(), &rec)
			if err != nil {
				t.Fatal(err)
			}
			return out.Personal.State
		}
		cut, less, none := *one.Personal, *one.Personal, *one.Personal
		cut.Box, less.Fields, none.Keys = cut.Box[:8], less.Fields[:1], nil
		for about, c := range map[string]struct {
			rec      *wire.EvaluationRecord
			personal *wire.SealedData
			want     wire.SealedState
		}{
			"as they are": {one, one.Personal, wire.SealedOpen}, "of another record": {one, two.Personal, wire.SealedUnreadable}, "cut": {one, &cut, wire.SealedUnreadable},
			"with other fields": {one, &less, wire.SealedUnreadable}, "without keys": {one, &none, wire.SealedUnreadable},
		} {
			if got := state(*c.rec, *c.personal); got != c.want {
				t.Errorf("sealed data %s are %s, not %s", about, got, c.want)
			}
		}
		// The key of one person in the place of another one's, under that one's name.
		keyA, keyB := one.Personal.Keys[0], two.Personal.Keys[0]
		swap := []string{
			"UPDATE personal_keys SET name = 'x' || name", "UPDATE personal_keys SET name = (SELECT o.name FROM personal_keys o WHERE o.project_id = personal_keys.project_id AND o.id <> personal_keys.id) || 'y' WHERE id = '" + keyA + "'",
		}
		w.tamper(swap...)
		for about, rec := range map[string]*wire.EvaluationRecord{"renamed": one, "renamed too": two} {
			if got := state(*rec, *rec.Personal); got != wire.SealedUnreadable {
				t.Errorf("with a key %s, the data are %s", about, got)
			}
		}
		w.tamper("UPDATE personal_keys SET wrapped = (SELECT o.wrapped FROM personal_keys o WHERE o.id = '" + keyB + "') WHERE id = '" + keyA + "'")
		if got := state(*one, *one.Personal); got != wire.SealedUnreadable {
			t.Errorf("with the key of another person, the data are %s", got)
		}
		w.tamper("DELETE FROM personal_keys")
		if rec := recordOf(n, ann.EvaluationID); rec.Personal.State != wire.SealedUnreadable {
			t.Errorf("without a row the data are %s", rec.Personal.State)
		}
	})
}

// TestWithoutTheKeyFileNothingIsSealedOrRead has another key file, and none.
func TestWithoutTheKeyFileNothingIsSealedOrRead(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.key = n.makeKey(auth.Admin, store.AllProjects)
	personalPolicy(n)
	id := pays(n, "CUST-7", "ann@example.com").EvaluationID
	rec := recordOf(n, id)
	for about, key := range map[string]*privacy.KeyFile{
		"another file": privacy.NewKeyFile(filepath.Join(t.TempDir(), "key"), true), "no file": privacy.NewKeyFile("", false), "a file that is gone": privacy.NewKeyFile(filepath.Join(t.TempDir(), "gone"), false),
	} {
		k := privacy.New(privacy.Config{Store: n.store, Read: n.store.PersonalKeys, Retention: n.store.Retention, Projects: n.store.Projects, Audit: n.store.Audit, Now: n.now, Key: key})
		if _, err := k.Seal(t.Context(), &rec, []string{"eve"}, []string{"action"}); rule.CodeOf(err) != rule.CodeUnavailable {
			t.Errorf("%s: %v; want unavailable", about, err)
		}
		if p, err := k.Get(t.Context(), rule.DefaultProject); err != nil || p.Problem == "" {
			t.Errorf("%s: %+v, %v", about, p, err)
		}
	}
	if used, _, err := n.store.PersonalKeys.Count(t.Context(), rule.DefaultProject); err != nil || used != 1 {
		t.Errorf("%d keys, %v", used, err)
	}
}

func TestTheAuditorsPageIsServed(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.call("GET", "/audit/page", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	const head = `<!DOCTYPE html><html><head><meta http-equiv="Content-Security-Policy" content="`
	for policy, want := range map[string]int{
		"default-src 'none'; script-src 'sha256-abc+/=' 'wasm-unsafe-eval'; base-uri 'none'": http.StatusOK,
		"default-src *": http.StatusServiceUnavailable, "default-src 'none'; script-src 'unsafe-inline'": http.StatusServiceUnavailable,
		"default-src 'none'; connect-src https://evil.example": http.StatusServiceUnavailable,
	} {
		file := filepath.Join(t.TempDir(), "page.html")
		if err := os.WriteFile(file, []byte(head+policy+`">x`), 0o600); err != nil {
			t.Fatal(err)
		}
		n.page = file
		n.serve()
		got := n.call("GET", "/audit/page", nil).want(want)
		if want == http.StatusOK && got.header.Get("Content-Security-Policy") != policy+"; frame-ancestors 'none'" {
			t.Errorf("the policy is %q", got.header.Get("Content-Security-Policy"))
		}
	}
}
