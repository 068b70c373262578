package text

import (
	"slices"
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"amount", "amount", 0}, {"amounnt", "amount", 1}, {"amuont", "amount", 1}, {"Amount", "amount", 0}, {"", "abc", 3}, {"second_approver", "second-approver", 0}, {"kitten", "sitting", 3}, {"ä", "a", 1}} {
		if got := Distance(c.a, c.b); got != c.want || Distance(c.b, c.a) != got {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestNear(t *testing.T) {
	names := []string{"amount", "approver", "finance/payments", "finance/treasury", "hr", "acme/billing", strings.Repeat("x", 200)}
	for name, want := range map[string]string{
		"amounnt": "amount", "payments": "finance/payments", "paymnts": "finance/payments", "finance/payment": "finance/payments", "eu/finance/payments": "finance/payments",
		"aprover": "approver", "acmee/biling": "acme/billing", "colour": "", "": "", strings.Repeat("x", 199): "", "amount": "",
	} {
		if got := strings.Join(Near(name, names, 1), " "); got != want {
			t.Errorf("near %q: %q, want %q", name, got, want)
		}
	}
	if got := Near("ab", []string{"b", "ac", "aa", "ac"}, 3); !slices.Equal(got, []string{"aa", "ac", "b"}) && !slices.Equal(got, []string{"aa", "ac"}) {
		t.Errorf("near ab: %v", got)
	}
	if got := DidYouMean([]string{"a", "b", "c"}); got != "; did you mean a, b or c?" || DidYouMean(nil) != "" {
		t.Error(got)
	}
}
