package corpus_test

import (
	"slices"
	"testing"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

// Rules that were stored before names had one form apply as if they had it, and keep their content hash.
func TestStoredNamesAreReadInTheirNormalForm(t *testing.T) {
	stored := newRule(1, func(*rule.Rule) {}).Rule
	stored.Scope = []string{"Finance//Payments/"}
	stored.AppliesTo = &rule.AppliesTo{Repositories: []string{"https://GitHub.com/Acme/*.git"}, Paths: []string{`./src\gen\**`}, Kinds: []string{"Code-Change"}}
	stored.Status = rule.Effective
	hash := stored.ContentHash()
	view, err := corpus.New(1, []store.RuleState{{Rule: stored}})
	if err != nil {
		t.Fatal(err)
	}
	query := func(scope, repository, path string) *corpus.Query {
		return &corpus.Query{Now: noon, Scope: scope, Repository: repository, Paths: []string{path}, Kinds: []subject.Kind{subject.CodeChange}, Context: true}
	}
	for _, q := range []*corpus.Query{
		query("finance/payments", "acme/x", "src/gen/a.go"), query("FINANCE.payments", "git@github.com:acme/x.git", "src/gen/b/a.go"), query("", "", "src/gen/a.go"),
	} {
		if got := view.Applicable(q); len(got) != 1 {
			t.Errorf("scope %q, repository %q, path %q: %d rules apply", q.Scope, q.Repository, q.Paths[0], len(got))
		}
	}
	for _, q := range []*corpus.Query{query("finance", "acme/x", "src/gen/a.go"), query("finance/payments", "gitlab.com/acme/x", "src/gen/a.go"), query("finance/payments", "acme/x", "src/a.go")} {
		if got := view.Applicable(q); len(got) != 0 {
			t.Errorf("scope %q, repository %q, path %q: the rule applies", q.Scope, q.Repository, q.Paths[0])
		}
	}
	e, _ := view.Get(stored.ID)
	if e.ContentHash() != hash || e.Rule.Scope[0] != "Finance//Payments/" {
		t.Error("the stored rule has changed")
	}
	if _, total := view.List(corpus.Filter{Scope: "finance"}, 0, 10); total != 1 {
		t.Error("a filter does not find the stored scope")
	}
}

// What the remarks know follows the changes of the view.
func TestRemarksFollowTheView(t *testing.T) {
	r := newRule(1, func(r *rule.Rule) { r.Scope = []string{"finance"} }).Rule
	r.Status = rule.Effective
	view, err := corpus.New(1, []store.RuleState{{Rule: r}})
	if err != nil {
		t.Fatal(err)
	}
	q := &corpus.Query{Now: noon, Scope: "finanse"}
	if got := q.Remarks(view); !slices.Equal(got, []string{"scope finanse: no rule is in it, above it or below it; did you mean finance?"}) {
		t.Errorf("remarks %q", got)
	}
	r.Status = rule.Retired
	if view, err = view.Apply(2, []store.RuleState{{Rule: r}}); err != nil {
		t.Fatal(err)
	}
	if got := q.Remarks(view); got != nil {
		t.Errorf("without rules in a scope: %q", got)
	}
	view, err = view.Follow(t.Context(), fed{version: 3, nodes: []store.NodeState{fedNode("n", "", "Finanse")}}, "p")
	if err != nil {
		t.Fatal(err)
	}
	if got := q.Remarks(view); got != nil {
		t.Errorf("the scope of a node: %q", got)
	}
}
