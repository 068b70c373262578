package corpus_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

// What is selected and what is left out are together all rules, each once, whatever the rules and the query are; and what is left out
// says by which conditions.
func TestPropertySelectedAndLeftOutAreAll(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // the same corpora in every run
	pick := func(list ...[]string) []string { return list[random.IntN(len(list))] }
	one := func(list ...string) string { return list[random.IntN(len(list))] }
	past, future := noon.Add(-time.Hour), noon.Add(time.Hour)
	reasons := map[corpus.Conditions]int{}
	for round := range 200 {
		var v *corpus.View
		var states []store.RuleState
		for i := range 20 {
			states = append(states, newRule(i+1, func(r *rule.Rule) {
				r.Status = rule.Statuses[random.IntN(len(rule.Statuses))]
				if random.IntN(2) == 0 {
					r.Status = rule.Effective
				}
				r.Severity = rule.Severities[random.IntN(len(rule.Severities))]
				r.Modality = []rule.Modality{rule.Must, rule.May}[random.IntN(2)]
				r.Scope = pick(nil, []string{"pay"}, []string{"*"}, []string{"pay/*/eu", "hr"})
				if random.IntN(5) == 0 {
					r.EffectivePeriod.Until = &past
				} else if random.IntN(5) == 0 {
					r.EffectivePeriod.From = &future
				}
				if random.IntN(2) == 0 {
					r.AppliesTo = &rule.AppliesTo{
						Kinds: pick(nil, []string{"code_change"}, []string{"facts"}), Paths: pick(nil, []string{"*.go"}),
						Tools: pick(nil, nil, []string{"files/write_*"}), ExcludePaths: pick(nil, []string{"*_test.go"}), Repositories: pick(nil, []string{"acme/*"}),
					}
				}
			}))
		}
		v = view(t, states[:10]...)
		var err error
		if v, err = v.Apply(2, states[10:]); err != nil {
			t.Fatal(err)
		}
		if random.IntN(2) == 0 {
			f := fed{version: 3, nodes: []store.NodeState{fedNode("org", "", one("", "pay")), fedNode("team", "org", "")}}
			for i := range states {
				if random.IntN(2) == 0 {
					f.attached = append(f.attached, fedRule(one("org", "team"), states[i].Rule))
				}
			}
			if v, err = v.Follow(t.Context(), f, "p"); err != nil {
				t.Fatal(err)
			}
		}
		q := &corpus.Query{
			Now: noon, Scope: one("", "pay", "pay/x/eu", "sales"), Repository: one("", "acme/a", "other/a"), Context: true,
			SeverityMin: []rule.Severity{"", rule.High}[random.IntN(2)], Kinds: []subject.Kind{subject.CodeChange}, AnyKind: random.IntN(3) == 0,
			Paths: pick([]string{"a.go"}, []string{"a_test.go"}, []string{"x.py", "b.go"}), AnyPath: random.IntN(3) == 0, Beside: random.IntN(3) == 0,
		}
		if v.Federation().Len() > 0 {
			if q.Within, err = v.Within(one("org", "team"), noon); err != nil {
				t.Fatal(err)
			}
		}
		found := map[string]corpus.Conditions{}
		for _, m := range v.Applicable(q) {
			found[m.Rule.ID] = 0
		}
		for _, l := range corpus.Excluded(v, q, func(*rule.Rule) bool { return true }) {
			if _, ok := found[l.Rule.ID]; ok || l.Unmet == 0 {
				t.Fatalf("round %d: %s is selected or listed twice; unmet %b", round, l.Rule.Slug, l.Unmet)
			}
			found[l.Rule.ID] = l.Unmet
			for c := corpus.InStatus; c <= corpus.OnPath; c <<= 1 {
				if l.Unmet.Has(c) {
					reasons[c]++
				}
			}
		}
		if len(found) != len(states) {
			t.Fatalf("round %d: %d rules of %d", round, len(found), len(states))
		}
	}
	for c := corpus.InStatus; c <= corpus.OnPath; c <<= 1 {
		if reasons[c] == 0 {
			t.Errorf("no rule was left out by condition %b; the corpora do not test it", c)
		}
	}
}

// BenchmarkLeftOut explains 100,000 rules.
func BenchmarkLeftOut(b *testing.B) {
	var states []store.RuleState
	for i := range 100_000 {
		states = append(states, newRule(i, func(r *rule.Rule) {
			r.Scope = []string{fmt.Sprintf("unit%d", i%1000)}
			r.AppliesTo = &rule.AppliesTo{Paths: []string{fmt.Sprintf("src/%d/**", i%200)}}
		}))
	}
	v := view(b, states...)
	for b.Loop() {
		q := &corpus.Query{Now: noon, Scope: "unit7", Paths: []string{"src/7/a.go"}, Kinds: []subject.Kind{subject.CodeChange}, Context: true}
		if n := len(corpus.Excluded(v, q, func(*rule.Rule) bool { return true })); n != 99_900 {
			b.Fatal(n)
		}
	}
}
