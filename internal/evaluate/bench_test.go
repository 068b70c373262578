package evaluate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/evaluate"
	"tenet/internal/judge"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// nowhere forgets records.
type nowhere struct{}

func (nowhere) Append(context.Context, audit.Record) error { return nil }

// BenchmarkRedaction shows what it costs to take secrets out of records: compare redacted with full. Twenty rules with
// checks, no database.
func BenchmarkRedaction(b *testing.B) {
	var states []store.RuleState
	for i := range 40 {
		r := rule.Rule{
			ID: fmt.Sprintf("00000000-0000-7000-8000-%012d", i), ProjectID: "p", Version: 1, Status: rule.Effective, Statement: "Payments need two.",
			Severity: rule.High, AppliesTo: &rule.AppliesTo{Kinds: []string{"facts"}}, Check: &rule.Check{CEL: fmt.Sprintf("facts.amount <= %d || facts.approvals >= 2", 1000+i)},
		}
		if i%2 == 1 {
			r.AppliesTo, r.Check = &rule.AppliesTo{Paths: []string{"**/*.go"}}, &rule.Check{Pattern: &rule.Pattern{Regex: fmt.Sprintf(`\bforbidden_%d\s*\(`, i)}}
		}
		r.Normalize()
		states = append(states, store.RuleState{Rule: r})
	}
	view, err := corpus.New(1, states)
	if err != nil {
		b.Fatal(err)
	}
	var diff strings.Builder
	for f := range 2 {
		fmt.Fprintf(&diff, "diff --git a/f%d.go b/f%d.go\nnew file mode 100644\n--- /dev/null\n+++ b/f%d.go\n@@ -0,0 +1,30 @@\n", f, f, f)
		for line := range 30 {
			fmt.Fprintf(&diff, "+\tif err := ledger.Post(ctx, account%d, amount%d); err != nil { return fmt.Errorf(\"post: %%w\", err) }\n", line, f)
		}
	}
	for name, in := range map[string]subject.Input{
		"facts": {Facts: map[string]any{"amount": 500.0, "approvals": 1.0, "reference": "P-1", "currency": "EUR"}},
		"diff":  {Diff: diff.String()},
	} {
		for _, keep := range []wire.Keep{wire.KeepFull, wire.KeepRedacted} {
			b.Run(name+"/"+string(keep), func(b *testing.B) {
				e := evaluate.New(evaluate.Config{
					Views: fixed{view}, Judge: judge.New(judge.Config{}), Recorder: nowhere{}, Checks: check.NewCache(100), Now: time.Now,
					Redact: redact.New(), Subjects: keep,
				})
				b.ReportAllocs()
				for b.Loop() {
					if _, err := e.Evaluate(b.Context(), evaluate.Request{ProjectID: "p", Input: in}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkFacts lists the facts that 10,000 rules read.
func BenchmarkFacts(b *testing.B) {
	var rules []rule.Rule
	for i := range 10_000 {
		rules = append(rules, rule.Rule{
			Statement: fmt.Sprintf("Payments above %d need a second approval.", i),
			Check:     &rule.Check{CEL: fmt.Sprintf("facts.amount <= %d || facts.approvals_%d >= 2", 1000+i, i%700)},
		})
	}
	ev := evaluator(b, judge.New(judge.Config{}), rules...)
	for b.Loop() {
		list, err := ev.Facts(b.Context(), evaluate.ApplicableQuery{ProjectID: "p"})
		if err != nil || len(list.Facts) != 500 || list.Omitted != 201 {
			b.Fatalf("%d facts, %v", len(list.Facts), err)
		}
	}
}

// BenchmarkApplicable lists 5,000 rules of 10,000, and makes their JSON.
func BenchmarkApplicable(b *testing.B) {
	var rules []rule.Rule
	for i := range 10_000 {
		scope := "elsewhere"
		if i%2 == 0 {
			scope = "here"
		}
		rules = append(rules, rule.Rule{
			Statement: fmt.Sprintf("Payments above %d need a second approval.", i), Scope: []string{scope}, Severity: rule.Severities[i%4],
			Check: &rule.Check{CEL: fmt.Sprintf("facts.amount <= %d", 1000+i)},
		})
	}
	ev := evaluator(b, judge.New(judge.Config{}), rules...)
	b.ReportAllocs()
	for b.Loop() {
		texts, err := ev.ApplicableTexts(b.Context(), evaluate.ApplicableQuery{ProjectID: "p", Scope: "here"})
		if err != nil || len(texts) != 5000 {
			b.Fatal(len(texts), err)
		}
	}
}
