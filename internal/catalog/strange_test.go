package catalog_test

import (
	"strings"
	"testing"

	"tenet/internal/catalog"
	"tenet/internal/lint"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

func TestImportsReportNamesThatNoOtherRuleUses(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, _ store.Store) {
		ann := as(t.Context(), "ann")
		input := func(slug, scope, cel string) wire.RuleInput {
			return wire.RuleInput{Slug: &slug, Statement: "x", Status: rule.Effective, Scope: []string{scope}, Check: &rule.Check{CEL: cel}}
		}
		for _, step := range []struct {
			name, want string
			in         wire.RuleInput
		}{
			{"a first rule", "", input("A-1", "finance/payments", "facts.amount <= 10")},
			{"the same names", "", input("A-2", "Finance/Payments/", "facts.amount <= 20")},
			{"a scope below and one above", "", input("A-3", "finance/payments/eu", "facts.amount <= 30")},
			{"misspelt names", "A-4: no other rule has the scope finance/paymnts, one above it or one below it; did you mean finance/payments?\nA-4: no other rule reads facts.ammount; did you mean amount?", input("A-4", "finance/paymnts", "facts.ammount <= 10")},
			{"new names", "A-5: no other rule has the scope people, one above it or one below it.\nA-5: no other rule reads facts.wage.", input("A-5", "people", "facts.wage <= 10")},
		} {
			for _, dry := range []bool{true, false} {
				result, err := c.Import(ann, "default", &wire.RuleFile{Rules: []wire.RuleInput{step.in}}, catalog.ImportOptions{DryRun: dry})
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(result.Notices, "\n"); got != step.want {
					t.Errorf("%s, dry run %v: %q, want %q", step.name, dry, got, step.want)
				}
			}
		}
	})
}

// A single rule gets a finding for each name that no other rule uses: scopes, facts and repositories.
func TestNamesOfASingleRule(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, _ store.Store) {
		ann := as(t.Context(), "ann")
		create := func(slug, scope, cel, repository string) rule.Rule {
			r, err := c.Create(ann, "default", wire.RuleInput{
				Slug: &slug, Statement: "x", Status: rule.Effective, Scope: []string{scope}, Check: &rule.Check{CEL: cel},
				AppliesTo: &rule.AppliesTo{Repositories: []string{repository}, Kinds: []string{"facts"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		names := func(r rule.Rule) string {
			found, err := c.Names(ann, &r)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, f := range found {
				if f.Code != lint.LoneName || f.Quote == "" {
					t.Errorf("%+v", f)
				}
				out = append(out, f.Quote+": "+f.Message)
			}
			return strings.Join(out, "\n")
		}
		first := create("A-1", "finance/payments", "facts.amount <= 10", "acme/billing")
		if got := names(first); got != "" {
			t.Errorf("the first rule: %s", got)
		}
		if got := names(create("A-2", "Finance/Payments/", "facts.amount <= 20", "https://github.com/acme/billing.git")); got != "" {
			t.Errorf("the same names: %s", got)
		}
		wrong := create("A-3", "finance/paymnts", "facts.ammount <= 10", "acme/biling")
		want := "finance/paymnts: No other rule has the scope finance/paymnts, one above it or one below it; did you mean finance/payments?\n" +
			"ammount: No other rule reads facts.ammount; did you mean amount?\n" +
			"acme/biling: No other rule and no node names the repository acme/biling; did you mean acme/billing?"
		if got := names(wrong); got != want {
			t.Errorf("misspelt names:\n%s\nwant\n%s", got, want)
		}
		revised, err := c.Revise(ann, "default", "A-3", 0, rule.Permission{}, func(r *rule.Rule) error {
			r.Scope, r.Check, r.AppliesTo = first.Scope, first.Check, first.AppliesTo
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := names(revised); got != "" {
			t.Errorf("mended names: %s", got)
		}
	})
}

// Among all rules, a name is a finding only if several rules use one that differs by a slip of the pen.
func TestMisspeltNames(t *testing.T) {
	with := func(id, scope, cel string) rule.Rule {
		return rule.Rule{ID: id, Status: rule.Effective, Scope: []string{scope}, Check: &rule.Check{CEL: cel}}
	}
	found := catalog.MisspeltNames([]rule.Rule{
		with("1", "finance/payments", "facts.amount < 1"), with("2", "finance/payments", "facts.amount < 2"), with("3", "finance/paymets", "facts.ammount < 3"),
		with("4", "people", "facts.has_personal_data"), with("5", "people", "facts.has_personal_data"), with("6", "people", "facts.has_health_data"),
		with("7", "people", "facts.wage > 1"),
		{ID: "8", Status: rule.Retired, Scope: []string{"peopel"}},
	})
	if len(found) != 1 || len(found["3"]) != 2 || found["3"][0].Quote != "finance/paymets" || found["3"][1].Quote != "ammount" {
		t.Errorf("%+v", found)
	}
}
