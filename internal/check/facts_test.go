package check_test

import (
	"strings"
	"testing"

	"tenet/internal/check"
	"tenet/internal/rule"
)

func TestFactNames(t *testing.T) {
	for _, c := range []struct {
		check rule.Check
		names string
		all   bool
	}{
		{rule.Check{CEL: "facts.amount <= 10"}, "amount", false},
		{rule.Check{When: "has(facts.kind) && facts.kind == 'x'", CEL: "facts.payment.amount <= 10 || 'approver' in facts"}, "approver kind payment.amount", false},
		{rule.Check{CEL: "facts.items[0].price > 1.0 && facts['odd key'] == 1"}, `["odd key"] items`, false},
		{rule.Check{CEL: "facts.exists(k, k == 'a') || facts.b"}, "b", true},
		{rule.Check{CEL: "subject.action != ''"}, "", false},
		{rule.Check{Pattern: &rule.Pattern{Regex: "x"}}, "", false},
		{rule.Check{When: "facts.a", Pattern: &rule.Pattern{Regex: "x"}}, "a", false},
	} {
		p, err := check.Compile(&c.check)
		if err != nil {
			t.Fatalf("%+v: %v", c.check, err)
		}
		if names, all := p.FactNames(); strings.Join(names, " ") != c.names || all != c.all {
			t.Errorf("%s %s reads %q, all %v", c.check.When, c.check.CEL, names, all)
		}
	}
}

func TestNamesOfFacts(t *testing.T) {
	facts := map[string]any{"amount": 1.0, "payment": map[string]any{"to": map[string]any{"iban": "x"}, "odd key": 1.0}, "list": []any{map[string]any{"a": 1.0}}, "empty": map[string]any{}}
	if got := strings.Join(check.NamesIn(facts, 100), " "); got != `amount empty list payment["odd key"] payment.to.iban` {
		t.Errorf("names %s", got)
	}
	if got := check.NamesIn(facts, 2); len(got) != 2 {
		t.Errorf("at most two names: %q", got)
	}
}
