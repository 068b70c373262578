package corpus_test

import (
	"slices"
	"testing"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

func TestRestrict(t *testing.T) {
	const n = 60
	var states []store.RuleState
	for i := range n {
		states = append(states, store.RuleState{Rule: ruleAt(i, "old words")})
	}
	live, err := corpus.New(1, states)
	if err != nil {
		t.Fatal(err)
	}
	// Two edits leave tombstones and further segments in the live view.
	if live, err = live.Apply(2, []store.RuleState{{Rule: ruleAt(3, "new words")}, {Rule: ruleAt(n, "another")}}); err != nil {
		t.Fatal(err)
	}
	before := statements(live)
	old, err := live.Restrict(7, nil, func(e *corpus.Entry) bool { return e.Rule.ID != ruleAt(3, "").ID && e.Rule.ID != ruleAt(n, "").ID },
		[]store.RuleState{{Rule: ruleAt(3, "old words")}})
	if err != nil {
		t.Fatal(err)
	}
	want, err := corpus.New(7, states)
	if err != nil {
		t.Fatal(err)
	}
	if old.Version() != 7 || old.Len() != n || !slices.Equal(statements(old), statements(want)) {
		t.Errorf("version %d, %d rules: %v", old.Version(), old.Len(), statements(old))
	}
	if e, ok := old.Get(ruleAt(3, "").ID); !ok || e.Rule.Statement != "old words" {
		t.Errorf("the replaced rule is %v", e)
	}
	if _, ok := old.Get(ruleAt(n, "").ID); ok {
		t.Error("a rule that was not kept is there")
	}
	if !slices.Equal(statements(live), before) {
		t.Error("the view it was made from has changed")
	}
	if none, err := live.Restrict(8, nil, func(*corpus.Entry) bool { return false }, nil); err != nil || none.Len() != 0 {
		t.Errorf("keeping nothing leaves %d rules, %v", none.Len(), err)
	}
}

func statements(v *corpus.View) []string {
	var out []string
	for e := range v.All() {
		out = append(out, e.Rule.ID+" "+e.Rule.Statement)
	}
	return out
}

func ruleAt(n int, statement string) rule.Rule {
	r := rule.Rule{
		ID: "0199f0a0-0000-7000-8000-0000000000" + string("0123456789abcdef"[n/16]) + string("0123456789abcdef"[n%16]), ProjectID: "p", Version: 1,
		Statement: statement, Modality: rule.Must, Severity: rule.High, Status: rule.Effective, Enforcement: rule.Enforce,
	}
	r.Normalize()
	return r
}
