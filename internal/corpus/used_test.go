package corpus_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Names counts the rules that use a name, whatever the history of a view: without those that were replaced, retired or left out.
func TestNamesOfAView(t *testing.T) {
	state := func(id, owner string, s rule.Status) store.RuleState {
		return store.RuleState{Rule: rule.Rule{ID: id, Owner: owner, Status: s, Statement: "The owner of rule " + id + " must sign."}}
	}
	v, err := corpus.New(1, []store.RuleState{state("a", "ann", rule.Effective), state("b", "ann", rule.Draft), state("c", "bob", rule.Effective), state("d", "cem", rule.Retired)})
	if err != nil {
		t.Fatal(err)
	}
	if v, err = v.Apply(2, []store.RuleState{state("b", "dana", rule.Draft)}); err != nil {
		t.Fatal(err)
	}
	names := corpus.NewNames(func(r *rule.Rule) []string { return []string{r.Owner} })
	for range 2 { // the second time from columns
		if diff := cmp.Diff(map[string]int{"ann": 1, "bob": 1, "dana": 1}, names.Used(v, nil)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[string]int{"ann": 1, "dana": 1}, names.Used(v, map[string]bool{"c": true, "d": true, "none": true})); diff != "" {
			t.Error(diff)
		}
	}
	for name, want := range map[string]bool{"ann": true, "cem": false, "eve": false} {
		if got := names.Uses(v, name, nil); got != want {
			t.Errorf("%s is used: %v", name, got)
		}
	}
	if names.Uses(v, "bob", map[string]bool{"c": true}) {
		t.Error("a rule that was left out uses its name")
	}
}
