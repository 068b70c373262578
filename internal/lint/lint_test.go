package lint_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"tenet/internal/lint"
	"tenet/internal/rule"
)

func TestStatement(t *testing.T) {
	for _, test := range []struct {
		text     string
		modality rule.Modality
		want     []string
		quote    string // of the first finding
	}{
		{"Payments above 10,000 EUR must be approved by a second person.", rule.Must, nil, ""},
		{"Credentials must not be committed.", rule.Must, nil, ""},
		{"Employees may not share passwords.", rule.Must, nil, ""},
		{"Template environments that render HTML should escape automatically.", rule.Should, nil, ""},
		{"A key that must be rotated is stored in the vault; it must never be logged.", rule.Must, nil, ""},
		{"Leave must be approved by someone else.", rule.Must, nil, ""},
		{"Use parameterised queries.", rule.Must, nil, ""},
		{"No secrets in the repository.", rule.Must, nil, ""},
		{"Do not use `appropriate` or \"where possible\" in names.", rule.Must, nil, ""},
		{"Support answers within 4 hours unless the customer agrees otherwise; this must not be waived.", rule.Must, nil, ""},
		{"Data must not be exported without a ticket.", rule.Must, nil, ""},

		{"Errors must be handled appropriately.", rule.Must, []string{lint.Vague}, "appropriately"},
		{"Logs must be kept as long as reasonable.", rule.Must, []string{lint.Vague}, "reasonable"},
		{"Where possible, services must use TLS.", rule.Must, []string{lint.Escape}, "Where possible"},
		{"Services must use TLS where appropriate.", rule.Must, []string{lint.Escape}, "where appropriate"},
		{"Every change must have a test and must be reviewed by two people.", rule.Must, []string{lint.SeveralDuties}, "must be reviewed by two people."},
		{"Use TLS. Rotate keys every year.", rule.Must, []string{lint.SeveralDuties}, "Rotate keys every year."},
		{"Backups should be encrypted.", rule.Must, []string{lint.Mismatch}, "should"},
		{"Backups must be encrypted.", rule.Should, []string{lint.Mismatch}, "must"},
		{"The sky is blue.", rule.Must, []string{lint.NoDuty}, ""},
		{"The sky is blue.", rule.Info, nil, ""},
		{"Required fields are marked.", rule.Must, []string{lint.NoDuty}, ""},
		{"A reviewer is required.", rule.Must, nil, ""},
		{"Changes must not go without no review.", rule.Must, []string{lint.DoubleNegation}, "without no"},
		{"Credentials must not be committed.", rule.MustNot, []string{lint.DoubleNegation}, "must not be"},
		{"Employees may not share passwords.", rule.MustNot, []string{lint.DoubleNegation}, "may not"},
		{"No secrets in the repository.", rule.MustNot, []string{lint.DoubleNegation}, "No"},
		{"Never log passwords.", rule.MustNot, []string{lint.DoubleNegation}, "Never"},
		{"Calling eval is forbidden.", rule.MustNot, []string{lint.DoubleNegation}, "is forbidden"},
		{"Tokens must not be committed, not even in .npmrc.", rule.Must, nil, ""},
		{"Log passwords.", rule.MustNot, nil, ""},
		{"Deploy without a review.", rule.MustNot, nil, ""},
		{"Log passwords that must not be shared.", rule.MustNot, nil, ""},
		{"Backups must be kept for ten years.", rule.MustNot, []string{lint.Mismatch}, "must be"},
		{"A reviewer is required.", rule.MustNot, []string{lint.Mismatch}, "is required"},
		{"Backups should be kept.", rule.MustNot, []string{lint.Mismatch}, "should be"},
		{"Follow the steps as described above.", rule.Must, []string{lint.Dangling}, "as described above"},
		{"Names must be short " + strings.Repeat("and plain ", 50), rule.Must, []string{lint.TooLong}, ""},
		{"", rule.Must, []string{lint.NoDuty}, ""},
	} {
		found := lint.Statement(test.text, test.modality)
		if got := codes(found); !slices.Equal(got, test.want) {
			t.Errorf("%q as %s: %v, want %v", test.text, test.modality, found, test.want)
			continue
		}
		if len(found) > 0 && found[0].Quote != test.quote {
			t.Errorf("%q: quotes %q, want %q", test.text, found[0].Quote, test.quote)
		}
	}
}

func TestTestCases(t *testing.T) {
	allow := lint.Case{Name: "small", Input: "amount: 5", Expected: rule.Allow}
	deny := lint.Case{Name: "large", Input: "amount: 50000", Expected: rule.Deny}
	contrary := lint.Case{Name: "small again", Input: " amount:  5\n", Expected: rule.Deny}
	for _, test := range []struct {
		name  string
		cases []lint.Case
		want  []string
	}{
		{"none", nil, []string{lint.NoTestCase}},
		{"both", []lint.Case{allow, deny}, nil},
		{"one side", []lint.Case{allow, allow}, []string{lint.OneSided}},
		{"contradiction", []lint.Case{allow, deny, contrary}, []string{lint.Contradiction}},
	} {
		r := &rule.Rule{Statement: "Large payments must be approved.", Modality: rule.Must, Scope: []string{"finance"}}
		if got := codes(lint.Rule(r, lint.Look(test.cases))); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestScope(t *testing.T) {
	both := []lint.Case{{Input: "a", Expected: rule.Allow}, {Input: "b", Expected: rule.Deny}}
	r := rule.Rule{Statement: "Large payments must be approved.", Modality: rule.Must}
	for _, test := range []struct {
		name   string
		narrow func(*rule.Rule)
		want   bool
	}{
		{"nothing", func(*rule.Rule) {}, true},
		{"everywhere", func(r *rule.Rule) { r.Scope = []string{"*"} }, true},
		{"a scope", func(r *rule.Rule) { r.Scope = []string{"finance"} }, false},
		{"paths", func(r *rule.Rule) { r.AppliesTo = &rule.AppliesTo{Paths: []string{"**/*.go"}} }, false},
		{"a check", func(r *rule.Rule) { r.Check = &rule.Check{} }, false},
		{"context only", func(r *rule.Rule) { r.Modality = rule.May }, false},
	} {
		narrowed := r
		test.narrow(&narrowed)
		if got := slices.Contains(codes(lint.Rule(&narrowed, lint.Look(both))), lint.NoScope); got != test.want {
			t.Errorf("%s: no_scope is %t", test.name, got)
		}
	}
}

func TestEveryCodeHasItsPlace(t *testing.T) {
	r := &rule.Rule{Statement: "It is proper where possible, as described above, without no " + strings.Repeat("words ", 90), Modality: rule.Must}
	found := codes(lint.Rule(r, lint.Look([]lint.Case{{Input: "a", Expected: rule.Allow}, {Input: "a", Expected: rule.Deny}})))
	if !slices.IsSortedFunc(found, func(a, b string) int { return slices.Index(lint.Codes, a) - slices.Index(lint.Codes, b) }) {
		t.Errorf("findings are out of order: %v", found)
	}
	for _, c := range found {
		if !slices.Contains(lint.Codes, c) {
			t.Errorf("%s is not among Codes", c)
		}
	}
}

func FuzzStatement(f *testing.F) {
	for _, s := range []string{"", "must", "`", "A must B; C should not D.", "don't — never…", "not no", "\xff must", "1. 2.", "where where possible"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, finding := range lint.Statement(s, rule.Must) {
			if utf8.ValidString(s) && !utf8.ValidString(finding.Quote) {
				t.Errorf("quotes %q", finding.Quote)
			}
			if !strings.Contains(s, strings.TrimSuffix(finding.Quote, "…")) && finding.Code != lint.Mismatch {
				t.Errorf("%q is not in the statement", finding.Quote)
			}
		}
	})
}

func codes(found []rule.Finding) []string {
	var out []string
	for _, f := range found {
		out = append(out, f.Code)
	}
	return out
}
