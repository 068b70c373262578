package check_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenet/internal/check"
	"tenet/internal/rule"
)

func TestFactUses(t *testing.T) {
	for _, c := range []struct{ when, cel, want string }{
		{"'amount' in facts", "facts.amount <= 10000 || facts.approvers >= 2", "amount number [10000], approvers number [2]"},
		{"has(facts.kind) && facts.kind == 'x'", "facts.payment.amount <= 10.50", "kind text [x], payment.amount number [10.50]"},
		{"", "facts.?region.orValue('EU') == 'EU' || facts.requester != facts.approver", "approver unknown [], region text [EU], requester unknown []"},
		{"", "facts.country in ['DE', \"F'R\"] && !facts.external && (facts.signed || facts.draft)", "country text [DE F'R], draft boolean [], external boolean [], signed boolean []"},
		{"", "'legal' in facts.approvals && facts.items.exists(i, i > 1)", "approvals list [legal], items list []"},
		{"", "5000.0 < facts.total && facts.name.startsWith('A') && facts['odd key'] == true", `["odd key"] boolean [], name text [A], total number [5000.0]`},
		{"", "double(facts.rate) * 2.0 < 3.0 && facts.base * 2 > 1 && size(facts.list) > 0", "base number [], list unknown [], rate number []"},
		{"", `facts.quote == 'it\'s "so"'`, `quote text [it's "so"]`},
		{"facts.a", "subject.action != ''", "a boolean []"},
		{"", "facts.exists(k, k == 'a')", ""},
	} {
		var got []string
		for _, u := range check.FactUses(&rule.Check{When: c.when, CEL: c.cel}) {
			got = append(got, fmt.Sprintf("%s %s %v", u.Name(), u.Type, u.Values))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s | %s:\n got %s\nwant %s", c.when, c.cel, strings.Join(got, ", "), c.want)
		}
	}
	if check.FactUses(nil) != nil {
		t.Error("no check uses facts")
	}
}

// TestFactUsesOfALongCheck bounds the work for an expression of nothing but facts: it must not grow with the square of its length.
func TestFactUsesOfALongCheck(t *testing.T) {
	long := strings.Repeat("facts.a&&", 100_000) + "facts.z"
	start := time.Now()
	if got := check.FactUses(&rule.Check{CEL: long}); len(got) != 1 || got[0].Type != check.BooleanFact {
		t.Errorf("got %+v", got)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

func BenchmarkFactUses(b *testing.B) {
	c := &rule.Check{When: "'amount' in facts && facts.transaction_type in ['payment', 'wire']", CEL: "facts.amount <= 10000 || facts.approvers >= 2"}
	for b.Loop() {
		check.FactUses(c)
	}
}

func FuzzFactUses(f *testing.F) {
	f.Add("facts.a == 'x' && 'k' in facts")
	f.Add(`facts["a"]['b'].?c.orValue([]) in [1, 'x`)
	f.Add(`facts.a.size() > '\`)
	f.Fuzz(func(t *testing.T, cel string) {
		for _, u := range check.FactUses(&rule.Check{CEL: cel}) {
			if len(u.Path) == 0 || u.Name() == "" || u.Type == "" {
				t.Errorf("%q: %+v", cel, u)
			}
		}
	})
}
