package api

import (
	"net/http"
	"testing"

	"tenet/internal/lint"
	"tenet/internal/rule"
)

// The answer to a creation or a revision reports names that no other rule uses; a rule that is read later does not.
func TestWrittenRulesReportTheirLoneNames(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		check := func(cel string) fields { return fields{"cel": cel} }
		lone := func(r rule.Rule) (names []string) {
			for _, f := range r.Findings {
				if f.Code == lint.LoneName {
					names = append(names, f.Quote)
				}
			}
			return names
		}
		n.call("POST", "/api/v1/rules", fields{"slug": "N-1", "statement": "Amounts must be small.", "check": check("facts.amount < 1")}).want(http.StatusCreated)
		wrong := into[rule.Rule](n.call("POST", "/api/v1/rules", fields{"slug": "N-2", "statement": "Amounts must be small.", "check": check("facts.ammount < 1")}).want(http.StatusCreated))
		if got := lone(wrong); len(got) != 1 || got[0] != "ammount" {
			t.Errorf("created: %q", got)
		}
		if got := lone(into[rule.Rule](n.call("GET", "/api/v1/rules/N-2", nil).want(http.StatusOK))); got != nil {
			t.Errorf("read: %q", got)
		}
		if got := lone(into[rule.Rule](n.call("PATCH", "/api/v1/rules/N-2", fields{"statement": "Amounts must be very small."}).want(http.StatusOK))); len(got) != 1 {
			t.Errorf("revised: %q", got)
		}
		if got := lone(into[rule.Rule](n.call("PATCH", "/api/v1/rules/N-2", fields{"check": check("facts.amount < 2")}).want(http.StatusOK))); got != nil {
			t.Errorf("mended: %q", got)
		}
	})
}
