package edge_test

import (
	"fmt"
	"testing"

	"tenet/edge"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// BenchmarkEvaluate evaluates facts by checks alone, on one core: 10,000 rules, 100 of them in scope.
func BenchmarkEvaluate(b *testing.B) {
	var rules []wire.RuleInput
	for i := range 10_000 {
		rules = append(rules, wire.RuleInput{
			Slug: new(fmt.Sprintf("B-%d", i)), Statement: fmt.Sprintf("Payments of kind %d must stay below %d EUR.", i%97, i+100), Severity: rule.High, Status: rule.Effective,
			Scope: []string{fmt.Sprintf("team-%d", i%100)}, AppliesTo: &rule.AppliesTo{Kinds: []string{"facts"}}, Check: &rule.Check{CEL: fmt.Sprintf("facts.amount < %d.0", i+1_000_000)},
		})
	}
	var parts [][]wire.RuleInput
	for at := 0; at < len(rules); at += 1000 {
		parts = append(parts, rules[at:at+1000])
	}
	s := newServer(b, parts...)
	e := s.open()
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
	s.http.CloseClientConnections()
	if err := s.Stop(b.Context()); err != nil { // its background jobs would be measured
		b.Fatal(err)
	}
	ask := edge.Request{Facts: map[string]any{"amount": 12.5, "currency": "EUR"}, Scope: "team-7"}
	for b.Loop() {
		a, err := e.Evaluate(b.Context(), ask)
		if err != nil {
			b.Fatal(err)
		}
		if a.OverallVerdict != edge.Allow || a.Coverage.RulesSelected < 100 {
			b.Fatalf("%s by %+v", a.OverallVerdict, a.Coverage)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "evaluations/s")
}
