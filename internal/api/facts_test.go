package api

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

var factsPath = evaluatePath + "/facts"

// createRules makes rules.
func createRules(n *node, rules ...fields) {
	n.t.Helper()
	for _, r := range rules {
		n.call("POST", rulesPath, r).want(http.StatusCreated)
	}
}

func TestFactsThatRulesRead(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	empty := into[wire.FactList](n.call("GET", factsPath, nil).want(http.StatusOK))
	if empty.Facts == nil || len(empty.Facts) != 0 || empty.RulesTotal != 0 {
		t.Errorf("no rules give %+v", empty)
	}
	createRules(
		n,
		fields{
			"slug": "PAY-1", "statement": "Payments above 10000 need two approvers.", "status": "EFFECTIVE", "scope": []string{"finance"},
			"applies_to": fields{"kinds": []string{"transaction"}}, "check": fields{"cel": "facts.payment.amount <= 10000.50 || facts.approvers >= 2"},
		},
		fields{
			"slug": "PAY-2", "statement": "Payments must be in EUR or USD.", "status": "EFFECTIVE", "scope": []string{"finance"},
			"check": fields{"when": "facts.payment.amount > 1", "cel": "facts.currency in ['EUR', 'USD'] && !facts.blocked"},
		},
		fields{"slug": "PAY-3", "statement": "Nobody pays on Sundays.", "status": "DRAFT", "check": fields{"cel": "facts.day != 'Sunday'"}},
		fields{"slug": "PAY-4", "statement": "Payments must be polite.", "status": "EFFECTIVE", "scope": []string{"finance"}},
		fields{"slug": "HR-1", "statement": "Letters must be signed.", "status": "EFFECTIVE", "scope": []string{"hr"}, "check": fields{"cel": "facts.signed"}},
		fields{"slug": "HR-2", "statement": "Letters may be long.", "modality": "MAY", "status": "EFFECTIVE", "scope": []string{"hr"}, "check": fields{"cel": "facts.long"}},
	)
	got := into[wire.FactList](n.call("GET", factsPath+"?scope=finance/payments&subject_kind=transaction", nil).want(http.StatusOK))
	want := wire.FactList{RulesTotal: 3, Facts: []wire.ReadFact{
		{Name: "payment.amount", Path: []string{"payment", "amount"}, Type: "number", Values: []string{"10000.50", "1"}, Rules: []string{"PAY-1", "PAY-2"}, RulesTotal: 2},
		{Name: "approvers", Path: []string{"approvers"}, Type: "number", Values: []string{"2"}, Rules: []string{"PAY-1"}, RulesTotal: 1},
		{Name: "blocked", Path: []string{"blocked"}, Type: "boolean", Values: []string{}, Rules: []string{"PAY-2"}, RulesTotal: 1},
		{Name: "currency", Path: []string{"currency"}, Type: "text", Values: []string{"EUR", "USD"}, Rules: []string{"PAY-2"}, RulesTotal: 1},
	}}
	for i := range got.Facts {
		slices.Sort(got.Facts[i].Rules)
		slices.SortFunc(got.Facts[i].Values, func(a, b string) int { return len(b) - len(a) })
	}
	for i := range want.Facts {
		slices.SortFunc(want.Facts[i].Values, func(a, b string) int { return len(b) - len(a) })
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	// A rule for transactions does not concern a message.
	got = into[wire.FactList](n.call("GET", factsPath+"?scope=finance&subject_kind=communication", nil).want(http.StatusOK))
	if len(got.Facts) != 3 || got.RulesTotal != 2 {
		t.Errorf("facts of a message: %+v", got)
	}
	got = into[wire.FactList](n.call("GET", factsPath+"?scope=hr", nil).want(http.StatusOK))
	if len(got.Facts) != 1 || got.Facts[0].Name != "signed" {
		t.Errorf("facts of a letter: %+v", got)
	}
	n.call("GET", factsPath+"?subject_kind=song", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid)
	n.call("GET", factsPath+"?node_id=01a204f7-e50c-75aa-8d3c-faed7a3bc691", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
}

// TestFactsAreBounded has more facts than are listed.
func TestFactsAreBounded(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for i := range 30 {
		cel := "true"
		for k := range 20 {
			cel += fmt.Sprintf(" && facts.f%d_%d != 'v%d'", i, k, k)
		}
		for k := range 12 {
			cel += fmt.Sprintf(" && facts.common != 'c%d'", k)
		}
		createRules(n, fields{"statement": fmt.Sprintf("Rule %d must hold.", i), "status": "EFFECTIVE", "check": fields{"cel": cel}})
	}
	got := into[wire.FactList](n.call("GET", factsPath, nil).want(http.StatusOK))
	if len(got.Facts) != 500 || got.Omitted != 101 {
		t.Errorf("%d facts, %d left out", len(got.Facts), got.Omitted)
	}
	first := got.Facts[0]
	if first.Name != "common" || first.RulesTotal != 30 || len(first.Rules) != 5 || len(first.Values) != 10 {
		t.Errorf("the first is %+v", first)
	}
}

func TestSimilarRules(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	createRules(
		n,
		fields{"slug": "OPS-1", "statement": "Access logs must be kept for at least 90 days.", "status": "EFFECTIVE"},
		fields{"slug": "OPS-2", "statement": "Invoices must have a number.", "status": "EFFECTIVE"},
	)
	path := rulesPath + "/similar"
	got := into[wire.SimilarRules](n.call("POST", path, fields{
		"rule": fields{"statement": " Access logs must be kept for at most 30 days. ", "scope": []string{"/it/"}},
	}).want(http.StatusOK))
	if got.Rule.Statement != "Access logs must be kept for at most 30 days." || got.Rule.Severity != rule.Medium || got.Rule.Scope[0] != "it" {
		t.Errorf("the rule is %+v", got.Rule)
	}
	if len(got.Similar) == 0 || got.Similar[0].RuleSlug != "OPS-1" {
		t.Errorf("similar are %+v", got.Similar)
	}
	if len(got.Contradictions) != 1 || got.Contradictions[0].Rule.RuleSlug != "OPS-1" || got.Contradictions[0].FoundBy != "limit" || got.Contradictions[0].Reason == "" {
		t.Errorf("contradictions are %+v", got.Contradictions)
	}
	codes := func(list []rule.Finding) (out []string) {
		for _, f := range list {
			out = append(out, f.Code)
		}
		return out
	}
	if !slices.Contains(codes(got.Lint), "no_test_case") {
		t.Errorf("lint says %v", codes(got.Lint))
	}
	got = into[wire.SimilarRules](n.call("POST", path, fields{
		"rule": fields{"statement": "Cats must be fed."}, "test_cases": []fields{{"name": "bad", "sample_input": "x", "expected_verdict": "DENY"}},
	}).want(http.StatusOK))
	if len(got.Contradictions) != 0 || !slices.Contains(codes(got.Lint), "one_sided_test_cases") {
		t.Errorf("contradictions %+v, lint %v", got.Contradictions, codes(got.Lint))
	}
	for _, in := range []fields{
		{"statement": " "}, {"statement": "x must be", "check": fields{"cel": "facts."}},
	} {
		n.call("POST", path, fields{"rule": in}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid)
	}
	if page := into[wire.Page[rule.Rule]](n.call("GET", rulesPath, nil).want(http.StatusOK)); page.Total != 2 {
		t.Errorf("%d rules are stored", page.Total)
	}
}
