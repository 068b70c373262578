package attest

import (
	"encoding/json"
	"strings"
	"testing"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// TestASealedRecordIsTheOneInTheLog compares an answer and an opened record with the entry, which holds neither as it is.
func TestASealedRecordIsTheOneInTheLog(t *testing.T) {
	rec := &wire.EvaluationRecord{
		Evaluation: &rule.Evaluation{EvaluationID: "x1", ProjectID: "pay", OverallVerdict: rule.NeedsConfirmation, RuleVerdicts: []rule.RuleVerdict{{
			RuleID: "r", Verdict: rule.NeedsConfirmation, Reasoning: "the mail is ann@example.com", Concerned: true, Evidence: []rule.Evidence{{Kind: rule.EvidenceFact, Fact: "facts.mail", Value: "ann@example.com"}},
		}}},
		Subject:     wire.RecordedSubject{Facts: map[string]any{"mail": "ann@example.com", "purpose": "refund", "n": 1.5}},
		SubjectHash: "abc", Calls: []wire.ModelCall{{Model: "m", Raw: "ann@example.com"}},
	}
	rec.Evaluation.Tally()
	answer := *rec.Evaluation
	rec.Evaluation.Violations, rec.Evaluation.Warnings = nil, nil
	fields := []string{"facts.mail"}
	logged := rec.Strip(fields)
	logged.Personal = &wire.SealedData{Fields: fields, Keys: []string{"k"}, Box: "box"}
	body := audit.Compress(audit.JSON(logged))
	entry := store.AuditEntry{ProjectID: "pay", ID: "x1", Kind: audit.KindEvaluation, Body: body, BodyHash: audit.BodyHash(body)}
	if strings.Contains(string(audit.JSON(logged)), "ann@") {
		t.Fatalf("the log holds %s", audit.JSON(logged))
	}
	opened := *rec
	opened.Personal, opened.Audit = &wire.SealedData{State: wire.SealedOpen, Fields: fields, Keys: []string{"k"}}, &wire.AuditPlace{Seq: 7}
	forgotten := *logged
	forgotten.Personal = &wire.SealedData{State: wire.SealedForgotten, Fields: fields, Keys: []string{"k"}}
	text := func(v any) string {
		t.Helper()
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for about, c := range map[string]struct {
		given string
		same  bool
	}{
		"the answer": {text(answer), true}, "the record": {text(opened), true}, "the record without the forgotten": {text(forgotten), true},
		"another verdict": {strings.ReplaceAll(text(answer), "NEEDS_CONFIRMATION", "ALLOW"), false}, "another purpose": {strings.Replace(text(opened), "refund", "salary", 1), false},
	} {
		r := &Result{Entry: entry}
		if err := r.open(); err != nil {
			t.Fatal(err)
		}
		if err := r.compare([]byte(c.given)); (err == nil) != c.same {
			t.Errorf("%s: %v", about, err)
		}
	}
}
