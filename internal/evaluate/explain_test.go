package evaluate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/evaluate"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// explained asks for an explanation and lists each rule with its part.
func explained(t *testing.T, ev *evaluate.Evaluator, q evaluate.ExplainQuery) (map[string]string, wire.ExplainedRules) {
	t.Helper()
	q.ProjectID, q.Page = "p", rule.Page{Number: 1, Size: 100}
	found, err := ev.Explain(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for _, r := range found.Items {
		parts[r.RuleSlug] = string(r.Part)
	}
	return parts, found
}

// why lists the reasons of a rule that are not met or open, or else those that are met.
func why(t *testing.T, found wire.ExplainedRules, slug string) string {
	t.Helper()
	i := slices.IndexFunc(found.Items, func(r wire.ExplainedRule) bool { return r.RuleSlug == slug })
	if i < 0 {
		t.Fatalf("%s is not explained", slug)
	}
	var out []string
	for _, r := range found.Items[i].Reasons {
		out = append(out, fmt.Sprintf("%s %s: %s", r.About, r.Met, r.Text))
	}
	return strings.Join(out, "; ")
}

func explainingRules() []rule.Rule {
	return []rule.Rule{
		{Slug: "PY", Statement: "Python.", AppliesTo: &rule.AppliesTo{Kinds: []string{"code_change"}, Paths: []string{"src/**/*.py"}, ExcludePaths: []string{"**/test_*.py"}}},
		{Slug: "GO", Statement: "Go.", Severity: rule.High, AppliesTo: &rule.AppliesTo{Paths: []string{"*.go"}}},
		{Slug: "INFO", Statement: "Info.", Modality: rule.Info, Severity: rule.Low},
		{Slug: "SALES", Statement: "Elsewhere.", Scope: []string{"sales"}},
		{Slug: "DRAFT", Statement: "Not yet.", Status: rule.Draft, Scope: []string{"sales"}},
		{
			Slug: "PAY", Statement: "Large payments need two.", Severity: rule.Critical, Scope: []string{"eng", "finance"},
			AppliesTo: &rule.AppliesTo{Kinds: []string{"transaction", "facts"}},
			Check:     &rule.Check{CEL: "facts.amount <= 100 || facts.approvers >= 2", When: "facts.currency == 'EUR'"},
		},
		{Slug: "TOOL", Statement: "Ask before writing.", Scope: []string{"agents"}, AppliesTo: &rule.AppliesTo{Tools: []string{"files/write_*"}}},
		{
			Slug: "SHELL", Statement: "No eval.", AppliesTo: &rule.AppliesTo{Repositories: []string{"acme/*"}},
			Check: &rule.Check{Pattern: &rule.Pattern{Regex: `eval`, Paths: []string{"*.sh"}}},
		},
	}
}

func TestExplainSaysWhyRulesApplyToFiles(t *testing.T) {
	ev := evaluator(t, noModel(t), explainingRules()...)
	q := evaluate.ExplainQuery{ApplicableQuery: evaluate.ApplicableQuery{
		FilePaths: []string{"src/a/b.py", "README.md"}, Scope: "eng/tools", Repository: "acme/app",
	}}
	parts, found := explained(t, ev.Evaluator, q)
	want := map[string]string{"PY": "applies", "GO": "left_out", "INFO": "context", "SALES": "left_out", "DRAFT": "left_out", "PAY": "left_out", "TOOL": "left_out", "SHELL": "not_concerned"}
	if d := cmp.Diff(want, parts); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if want := (wire.PartCounts{Applies: 1, Context: 1, NotConcerned: 1, LeftOut: 5}); found.Counts != want || found.Total != 8 {
		t.Errorf("counts %+v, total %d", found.Counts, found.Total)
	}
	if last := found.Items[6].RuleSlug; last != "DRAFT" && last != "TOOL" {
		t.Errorf("the last rule is %s, want the one that most conditions leave out", last)
	}
	for slug, want := range map[string]string{
		"PY":    "src/a/b.py is among src/**/*.py (1 of 2 files concern it)",
		"GO":    "path no: src/a/b.py, README.md are not among *.go",
		"SALES": "scope no: it holds in sales, and the scope is eng/tools",
		"DRAFT": "it is DRAFT; only APPROVED and EFFECTIVE rules are asked",
		"PAY":   "kind no: it is about transaction, facts, and the subject is code_change",
		"SHELL": "check no: no file of the subject is among the paths",
		"INFO":  "never judged",
	} {
		if got := why(t, found, slug); !strings.Contains(got, want) {
			t.Errorf("%s: %s; want %q", slug, got, want)
		}
	}
	q.FilePaths, q.Part = []string{"src/test_x.py"}, wire.PartLeftOut
	parts, found = explained(t, ev.Evaluator, q)
	if got := why(t, found, "PY"); parts["INFO"] != "" || found.Total != 6 || !strings.Contains(got, "src/test_x.py is left out by **/test_*.py") {
		t.Errorf("%v: %s", parts, got)
	}
	q.Part, q.Rule = "", "GO"
	if _, found = explained(t, ev.Evaluator, q); len(found.Items) != 1 || found.Total != 1 || found.Counts.LeftOut != 6 {
		t.Errorf("one rule: %+v", found)
	}
	q.Rule = "NO-1"
	if _, err := ev.Explain(t.Context(), q); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("an unknown rule: %v", err)
	}
	if len(ev.rec.records) != 0 {
		t.Error("explaining left a record")
	}
}

// A payment is explained by its facts, as far as they are given.
func TestExplainReadsFacts(t *testing.T) {
	ev := evaluator(t, noModel(t), explainingRules()...)
	for _, tt := range []struct {
		name       string
		facts      map[string]any
		part, says string
	}{
		{"no facts", nil, "applies", "check open: it is concerned where facts.currency == 'EUR'; that is not known"},
		{"another currency", map[string]any{"currency": "CHF", "amount": 500}, "not_concerned", "the condition when does not hold"},
		{"this one", map[string]any{"currency": "EUR"}, "applies", "check yes: its condition holds"},
		{"a missing fact", map[string]any{"amount": 500}, "applies", "check yes: its condition holds, or cannot be ruled out"},
	} {
		parts, found := explained(t, ev.Evaluator, evaluate.ExplainQuery{Kind: wire.Transaction, Facts: tt.facts, ApplicableQuery: evaluate.ApplicableQuery{Scope: "finance"}})
		if got := why(t, found, "PAY"); parts["PAY"] != tt.part || !strings.Contains(got, tt.says) {
			t.Errorf("%s: %s: %s", tt.name, parts["PAY"], got)
		}
		if parts["PY"] != "left_out" || parts["GO"] != "left_out" {
			t.Errorf("%s: rules about files: %v", tt.name, parts)
		}
	}
	for says, facts := range map[string]map[string]any{
		"tool open: it is about calls of files/write_*; no tool is given":              nil,
		"tool no: it is about calls of files/write_*, and the tool is files/read_file": {"server": "files", "tool": "read_file"},
		"tool yes: it is about calls of files/write_*":                                 {"server": "files", "tool": "write_file"},
	} {
		_, found := explained(t, ev.Evaluator, evaluate.ExplainQuery{Kind: wire.ToolCall, Facts: facts, ApplicableQuery: evaluate.ApplicableQuery{Scope: "agents"}})
		if got := why(t, found, "TOOL"); !strings.Contains(got, says) {
			t.Errorf("%v: %s; want %s", facts, got, says)
		}
	}
	_, err := ev.Explain(t.Context(), evaluate.ExplainQuery{
		Kind: wire.Transaction, ApplicableQuery: evaluate.ApplicableQuery{ProjectID: "p", FilePaths: []string{"a"}}, Page: rule.Page{Number: 1, Size: 1},
	})
	if rule.CodeOf(err) != rule.CodeInvalid {
		t.Errorf("a payment with files: %v", err)
	}
}

// Without facts and severity, what applies and what is context are the applicable rules.
func TestExplainAgreesWithApplicable(t *testing.T) {
	ev := evaluator(t, noModel(t), explainingRules()...)
	for _, q := range []evaluate.ApplicableQuery{
		{}, {FilePaths: []string{"src/x.py"}}, {FilePaths: []string{"run.sh", "a.go"}, Repository: "acme/x"}, {Scope: "sales"}, {Repository: "other/x", Scope: "eng"},
	} {
		q.ProjectID = "p"
		list, err := ev.Applicable(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, r := range list {
			want = append(want, r.Slug)
		}
		_, found := explained(t, ev.Evaluator, evaluate.ExplainQuery{ApplicableQuery: q})
		for _, r := range found.Items {
			// A check that finds no file of its own among those given is not concerned, which applicable-rules does not look at.
			if r.Part == wire.PartApplies || r.Part == wire.PartContext || r.Part == wire.PartNotConcerned {
				got = append(got, r.RuleSlug)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%+v (-applicable +explained):\n%s", q, d)
		}
	}
}
