package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

func TestSubmitReplayFeedback(t *testing.T) {
	data := t.TempDir()
	const payment = `{"kind":"transaction","transaction_type":"payment","amount":25000,"currency":"EUR",` +
		`"facts":{"requester":"dana","approver":"dana","second_approver":"lee"}}`
	code, out, errs := run(t, payment, "--data", data, "submit", "-", "--format", "json")
	var a wire.SubmissionAnswer
	if err := json.Unmarshal([]byte(out), &a); err != nil || code != exitFound || a.OverallVerdict != rule.Deny || a.SubjectKind != "transaction" {
		t.Fatalf("submit exits with %d: %v\n%s%s", code, err, out, errs)
	}
	slug := a.Violations[0].RuleSlug
	whole := `{"subject":` + payment + `,"severity_min":"LOW","scope":"finance","submission_id":"p-1"}`
	code, out, errs = run(t, whole, "--data", data, "submit", "-", "--max-rules", "1")
	if code != exitFound || !strings.Contains(out, "FIN-") {
		t.Errorf("submit of a whole submission exits with %d\n%s%s", code, out, errs)
	}
	if code, _, errs = run(t, whole, "--data", data, "submit", "-", "--max-rules", "2"); code != exitFailed || !strings.Contains(errs, "p-1") {
		t.Errorf("the same id with another request exits with %d: %s", code, errs)
	}
	code, out, errs = run(t, "", "--data", data, "replay", a.EvaluationID)
	if code != exitOK || !strings.Contains(out, "agrees") || !strings.Contains(out, slug) {
		t.Errorf("replay exits with %d\n%s%s", code, out, errs)
	}
	_, out, _ = runIn(t.Context(), t, payment, []string{"TENET_RECORD_SUBJECTS=none"}, "--data", data, "submit", "-", "--format", "json")
	var without wire.SubmissionAnswer
	if err := json.Unmarshal([]byte(out), &without); err != nil {
		t.Fatal(err)
	}
	code, out, _ = run(t, "", "--data", data, "replay", without.EvaluationID)
	if code != exitFailed || strings.Contains(out, "agrees") || !strings.Contains(out, without.EvaluationID+" cannot be replayed") {
		t.Errorf("replay of what was not kept exits with %d\n%s", code, out)
	}
	code, out, errs = run(t, "", "--data", data, "replay", a.EvaluationID, "--format", "json")
	var r wire.Replay
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitOK || len(r.Rules) != len(a.RuleVerdicts) {
		t.Errorf("replay as JSON exits with %d: %v\n%s%s", code, err, out, errs)
	}
	code, out, errs = run(t, "", "--data", data, "feedback", a.EvaluationID, slug, "--wrong", "--note", "An intern.")
	if code != exitOK || !strings.Contains(out, "wrong") {
		t.Errorf("feedback exits with %d\n%s%s", code, out, errs)
	}
}

func TestSubmitAtANodeByItsName(t *testing.T) {
	data := t.TempDir()
	for _, args := range [][]string{
		{"nodes", "create", "acme", "--level", "organization"},
		{"nodes", "create", "payments", "--level", "team", "--parent", "acme"},
		{"nodes", "attach", "payments", "FIN-002", "--reason", "Only payments are paid."},
	} {
		if code, out, errs := run(t, "", append([]string{"--data", data}, args...)...); code != exitOK {
			t.Fatalf("%v exits with %d\n%s%s", args, code, out, errs)
		}
	}
	const payment = `{"kind":"transaction","transaction_type":"payment","amount":25000,"currency":"EUR",` +
		`"facts":{"requester":"dana","approver":"lee","second_approver":"kim"}}`
	code, out, errs := run(t, payment, "--data", data, "submit", "-", "--node", "acme/payments", "--format", "json")
	var a wire.SubmissionAnswer
	of := func(v rule.RuleVerdict) bool {
		return v.RuleSlug == "FIN-002" && v.SourceNodeID == a.NodeID && a.NodeID != ""
	}
	if err := json.Unmarshal([]byte(out), &a); err != nil || code != exitOK || !slices.ContainsFunc(a.RuleVerdicts, of) {
		t.Errorf("submit at a node exits with %d: %v\n%s%s", code, err, out, errs)
	}
}

func TestSubmitSaysWhatIsWrong(t *testing.T) {
	for _, test := range []struct {
		stdin string
		args  []string
		want  string
	}{
		{"[]", []string{"submit", "-"}, "JSON object"},
		{`{"subject":{"kind":"transaction"},"max":1}`, []string{"submit", "-"}, "max"},
		{`{"kind":"poem"}`, []string{"submit", "-"}, "decision_request"},
		{`{"kind":"transaction"}`, []string{"submit", "-", "--async"}, "--server"},
		{`{"kind":"transaction","amount":1}`, []string{"submit", "-", "--environment", "staging"}, "staging"},
		{"", []string{"submit", "/no/such/file"}, "/no/such/file"},
		{"", []string{"feedback", "x", "y"}, "--correct"},
		{"", []string{"feedback", "x", "y", "--correct", "--wrong"}, "--wrong"},
	} {
		if code, out, errs := run(t, test.stdin, test.args...); code != exitFailed || !strings.Contains(errs, test.want) {
			t.Errorf("%v exits with %d, want %d and %q\n%s%s", test.args, code, exitFailed, test.want, out, errs)
		}
	}
}
