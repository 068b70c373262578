package rule_test

import (
	"slices"
	"strings"
	"testing"

	"tenet/internal/rule"
)

func TestNodeNormalizesAndValidates(t *testing.T) {
	const id, parent = "0199c2b4-0000-7000-8000-00000000000A", " 0199C2B4-0000-7000-8000-00000000000B "
	above, empty, self, odd := parent, " ", id, "above"
	n := rule.Node{
		ID: id, Name: " Payments ", Level: "TEAM", ParentID: &above, DefaultScope: "/finance/payments/",
		Repositories: []string{" acme/pay-* ", "acme/pay-*"},
	}
	n.Normalize()
	if err := n.Validate(); err != nil {
		t.Errorf("a good node: %v", err)
	}
	if n.ID != strings.ToLower(id) || n.Name != "Payments" || n.Level != rule.LevelTeam || n.Parent() != strings.ToLower(strings.TrimSpace(parent)) ||
		n.DefaultScope != "finance/payments" || !slices.Equal(n.Repositories, []string{"acme/pay-*"}) {
		t.Errorf("normalized %+v", n)
	}
	for name, c := range map[string]struct {
		edit  func(*rule.Node)
		field string
	}{
		"no name":                 {func(n *rule.Node) { n.Name = "  " }, "name"},
		"NUL":                     {func(n *rule.Node) { n.Name = "a\x00" }, "name"},
		"long description":        {func(n *rule.Node) { n.Description = strings.Repeat("x", rule.MaxRationale+1) }, "description"},
		"level":                   {func(n *rule.Node) { n.Level = "squad" }, "level"},
		"repository":              {func(n *rule.Node) { n.Repositories = []string{""} }, "repositories[0]"},
		"organization below":      {func(n *rule.Node) { n.Level = rule.LevelOrganization }, "parent_id"},
		"team without parent":     {func(n *rule.Node) { n.ParentID = nil }, "parent_id"},
		"empty parent is none":    {func(n *rule.Node) { n.ParentID = &empty }, "parent_id"},
		"its own parent":          {func(n *rule.Node) { n.ParentID = &self }, "parent_id"},
		"a parent that is no id":  {func(n *rule.Node) { n.ParentID = &odd }, "parent_id"},
		"many repository globs":   {func(n *rule.Node) { n.Repositories = many(65) }, "repositories"},
		"an overlong repository":  {func(n *rule.Node) { n.Repositories = []string{strings.Repeat("x", rule.MaxLabel+1)} }, "repositories[0]"},
		"an overlong scope":       {func(n *rule.Node) { n.DefaultScope = strings.Repeat("x", rule.MaxLabel+1) }, "default_scope"},
		"a project has a parent":  {func(n *rule.Node) { n.Level, n.ParentID = rule.LevelProject, nil }, "parent_id"},
		"an overlong name counts": {func(n *rule.Node) { n.Name = strings.Repeat("x", rule.MaxLabel+1) }, "name"},
	} {
		bad := n
		c.edit(&bad)
		bad.Normalize()
		err := bad.Validate()
		if rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), c.field+":") {
			t.Errorf("%s: error %v, want one about %s", name, err, c.field)
		}
	}
	if star := (rule.Node{DefaultScope: "*"}); true {
		if star.Normalize(); star.DefaultScope != "" {
			t.Errorf("* as default scope is %q, want none", star.DefaultScope)
		}
	}
}

func many(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = strings.Repeat("x", i+1)
	}
	return list
}

func TestLevelsStandAboveOneAnother(t *testing.T) {
	for i, a := range rule.Levels {
		for j, b := range rule.Levels {
			if a.Above(b) != (i < j) {
				t.Errorf("%s above %s: %v", a, b, a.Above(b))
			}
		}
	}
}

func TestLoosens(t *testing.T) {
	base := rule.Rule{
		Severity: rule.Critical, Modality: rule.Must, Enforcement: rule.Enforce, Scope: []string{"pay/eu", "pay/us"},
		AppliesTo: &rule.AppliesTo{Paths: []string{"a/**"}, ExcludePaths: []string{"a/x"}, Kinds: []string{"facts"}},
	}
	for name, c := range map[string]struct {
		edit func(*rule.Rule)
		want string // the one way it loosens, or empty
	}{
		"equal":            {func(*rule.Rule) {}, ""},
		"severity":         {func(r *rule.Rule) { r.Severity = rule.High }, "severity HIGH instead of CRITICAL"},
		"should":           {func(r *rule.Rule) { r.Modality = rule.Should }, "modality SHOULD instead of MUST"},
		"info":             {func(r *rule.Rule) { r.Modality = rule.Info }, "modality INFO instead of MUST"},
		"must not":         {func(r *rule.Rule) { r.Modality = rule.MustNot }, ""},
		"warn":             {func(r *rule.Rule) { r.Enforcement = rule.Warn }, "enforcement warn instead of enforce"},
		"shadow":           {func(r *rule.Rule) { r.Enforcement = rule.Shadow }, "enforcement shadow instead of enforce"},
		"wider scope":      {func(r *rule.Rule) { r.Scope = []string{"pay"} }, ""},
		"every scope":      {func(r *rule.Rule) { r.Scope = nil }, ""},
		"star scope":       {func(r *rule.Rule) { r.Scope = []string{"*"} }, ""},
		"half the scope":   {func(r *rule.Rule) { r.Scope = []string{"pay/eu"} }, "a narrower scope"},
		"deeper scope":     {func(r *rule.Rule) { r.Scope = []string{"pay/eu/de", "pay/us"} }, "a narrower scope"},
		"every subject":    {func(r *rule.Rule) { r.AppliesTo = nil }, ""},
		"other paths":      {func(r *rule.Rule) { r.AppliesTo = &rule.AppliesTo{Paths: []string{"b/**"}} }, "a narrower applies_to"},
		"more paths":       {func(r *rule.Rule) { r.AppliesTo = &rule.AppliesTo{Paths: []string{"b/**", "a/**"}} }, ""},
		"more exclusions":  {func(r *rule.Rule) { r.AppliesTo = &rule.AppliesTo{ExcludePaths: []string{"a/x", "a/y"}} }, "a narrower applies_to"},
		"one repository":   {func(r *rule.Rule) { r.AppliesTo = &rule.AppliesTo{Repositories: []string{"x"}} }, "a narrower applies_to"},
		"another kind":     {func(r *rule.Rule) { r.AppliesTo = &rule.AppliesTo{Kinds: []string{"code_change"}} }, "a narrower applies_to"},
		"another sentence": {func(r *rule.Rule) { r.Statement = "Anything." }, ""},
	} {
		r := base
		c.edit(&r)
		got := strings.Join(r.Loosens(&base), "; ")
		if got != c.want {
			t.Errorf("%s: loosens by %q, want %q", name, got, c.want)
		}
	}
	everywhere := rule.Rule{Severity: rule.Low, Modality: rule.May, Enforcement: rule.Shadow}
	if ways := base.Loosens(&everywhere); !slices.Equal(ways, []string{"a narrower scope", "a narrower applies_to"}) {
		t.Errorf("narrower than everywhere: %v", ways)
	}
	if ways := (&rule.Rule{Severity: rule.Low, Modality: rule.May, Enforcement: rule.Shadow, Scope: []string{"a"}}).Loosens(
		&rule.Rule{Severity: rule.Low, Modality: rule.May, Enforcement: rule.Shadow, Scope: []string{"*"}}); len(ways) != 1 {
		t.Errorf("narrower than *: %v", ways)
	}
}
