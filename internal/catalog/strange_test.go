package catalog_test

import (
	"strings"
	"testing"

	"tenet/internal/catalog"
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
