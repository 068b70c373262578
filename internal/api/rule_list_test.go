package api

import (
	"net/http"
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Lists select and order rules by their sources, their test cases and their health.
func TestRulesAreListedBySourceTestsAndHealth(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		ids := map[string]string{}
		for _, r := range []fields{
			{"slug": "A", "statement": "Logs are kept.", "source_refs": []fields{{"kind": "Law", "uri": "GDPR", "section": "Art. 32"}}, "check": fields{"cel": "facts.kept"}},
			{"slug": "B", "statement": "Keys are rotated.", "source_refs": []fields{{"kind": "policy", "document_id": "0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e6f"}}},
			{"slug": "C", "statement": "Nobody shares keys."},
		} {
			made := into[rule.Rule](n.call("POST", rulesPath, r).want(http.StatusCreated))
			ids[made.Slug] = made.ID
		}
		for _, slug := range []string{"A", "A", "C"} {
			n.call("POST", rulesPath+"/"+slug+"/test-cases", fields{"name": "n", "sample_input": "x", "expected_verdict": "DENY"}).want(http.StatusCreated)
		}
		err := n.store.Update(t.Context(), func(tx store.Tx) error {
			return tx.Health.Put(t.Context(), "default", 20_000, []store.HealthScore{{RuleID: ids["A"], Score: 80}, {RuleID: ids["B"], Score: 40}})
		})
		if err != nil {
			t.Fatal(err)
		}
		list := func(query string) wire.Page[rule.Rule] {
			t.Helper()
			return into[wire.Page[rule.Rule]](n.call("GET", rulesPath+"?"+query, nil).want(http.StatusOK))
		}
		for query, want := range map[string]string{
			"cites=gdpr":         "A",
			"cites=article+32":   "A",
			"cites=art.+3":       "",
			"source_kind=law":    "A",
			"source_kind=POLICY": "B",
			"document_id=0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e6f": "B",
			"has_tests=true":                  "A C",
			"has_tests=false":                 "B",
			"health_min=41":                   "A",
			"health_max=79":                   "B",
			"health_min=40&health_max=80":     "A B",
			"health_min=40&has_tests=true":    "A",
			"health_max=50&source_kind=law":   "",
			"sort=-health":                    "A B C",
			"sort=health":                     "C B A",
			"sort=-tests":                     "A C B",
			"sort=tests":                      "B C A",
			"sort=-has_check&source_kind=law": "A",
			"sort=has_check":                  "B C A",
			"q=KEYS&has_tests=true":           "C",
			"sort=-health&page=2&page_size=2": "C",
		} {
			var got []string
			page := list(query)
			for _, r := range page.Items {
				got = append(got, r.Slug)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s lists %q, want %q", query, got, want)
			}
			if page.Total < len(got) || !strings.Contains(query, "page=") && page.Total != len(got) {
				t.Errorf("%s: a total of %d for %q", query, page.Total, got)
			}
		}
		// A change shows in the next list.
		n.call("POST", rulesPath+"/B/test-cases", fields{"name": "n", "sample_input": "x", "expected_verdict": "DENY"}).want(http.StatusCreated)
		if tested := list("has_tests=true"); tested.Total != 3 {
			t.Errorf("%d rules have tests; want all 3", tested.Total)
		}
		err = n.store.Update(t.Context(), func(tx store.Tx) error {
			return tx.Health.Put(t.Context(), "default", 20_001, []store.HealthScore{{RuleID: ids["C"], Score: 41}})
		})
		if err != nil {
			t.Fatal(err)
		}
		if healthy := list("health_min=41"); healthy.Total != 2 {
			t.Errorf("%d rules have a health of 41 and more; want A and C", healthy.Total)
		}
		with := list("with_health=true").Items
		if with[0].Health == nil || *with[0].Health != 80 || *with[2].Health != 41 || list("").Items[0].Health != nil {
			t.Errorf("health: %v, %v", with[0].Health, with[2].Health)
		}
		if got := into[rule.Rule](n.call("GET", rulesPath+"/A", nil).want(http.StatusOK)); got.Health != nil {
			t.Errorf("one rule has the health %d, which was not asked for", *got.Health)
		}
		n.call("GET", rulesPath+"?health_min=101", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "health_min")
		n.call("GET", rulesPath+"?sort=best", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "sort")
	})
}
