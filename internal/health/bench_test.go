package health

import (
	"encoding/json"
	"fmt"
	"testing"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// BenchmarkTally counts the record of an evaluation of 20 rules.
func BenchmarkTally(b *testing.B) {
	e := rule.Evaluation{RuleVerdicts: make([]rule.RuleVerdict, 20)}
	for i := range e.RuleVerdicts {
		e.RuleVerdicts[i] = rule.RuleVerdict{
			RuleID: fmt.Sprintf("00000000-0000-7000-8000-%012d", i), RuleStatement: "In unit 7, payments above 1000 must be approved by a second person.",
			Verdict: rule.Allow, DecidedBy: rule.ByCheck, Reasoning: "facts.amount is 12, which is at most 1000.",
		}
	}
	body, err := json.Marshal(map[string]any{"evaluation": e, "subject": map[string]any{"facts": map[string]any{"amount": 12, "currency": "EUR"}}})
	if err != nil {
		b.Fatal(err)
	}
	entry := store.AuditEntry{Kind: audit.KindEvaluation, Verdict: string(rule.Allow), Body: audit.Compress(body), At: now}
	s := newSums()
	b.ReportAllocs()
	for b.Loop() {
		s.tally([]store.AuditEntry{entry}, func(_ string, err error) { b.Error(err) })
	}
}
