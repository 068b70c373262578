package hierarchy_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"tenet/internal/hierarchy"
	"tenet/internal/proptest"
	"tenet/internal/wire"
)

// The fast form of effective rules is the usual one, whatever their texts.
func TestEffectiveRulesAsJSON(t *testing.T) {
	entry := rapid.Custom(func(t *rapid.T) wire.EffectiveRule {
		text := rapid.String()
		e := wire.EffectiveRule{
			Rule: wire.RuleBrief{
				ID: text.Draw(t, "id"), Slug: text.Draw(t, "slug"), Version: rapid.Int().Draw(t, "version"), Statement: text.Draw(t, "statement"),
				Scope: append([]string{}, rapid.SliceOf(text).Draw(t, "scope")...), Status: "EFFECTIVE", Modality: "MUST", Severity: "LOW", Enforcement: "warn",
			},
			SourceNodeID: text.Draw(t, "node"), OverriddenSlug: text.Draw(t, "over"), Inherited: rapid.Bool().Draw(t, "inherited"),
		}
		if rapid.Bool().Draw(t, "overrides") {
			e.OverriddenID = &e.OverriddenSlug
		}
		return e
	})
	proptest.Check(t, func(t *rapid.T) {
		rules := wire.EffectiveRules{NodeID: rapid.String().Draw(t, "node"), Rules: append([]wire.EffectiveRule{}, rapid.SliceOfN(entry, 0, 4).Draw(t, "rules")...)}
		rules.Total = len(rules.Rules)
		rules.Everywhere = wire.EverywhereRules{Total: rapid.IntRange(0, 999).Draw(t, "everywhere"), Rules: []wire.RuleBrief{}}
		for range rapid.IntRange(0, 2).Draw(t, "listed") {
			rules.Everywhere.Rules = append(rules.Everywhere.Rules, entry.Draw(t, "rule").Rule)
		}
		fast, err := hierarchy.EncodeEffective(&rules)
		if err != nil {
			t.Fatal(err)
		}
		var usual bytes.Buffer
		if err := json.NewEncoder(&usual).Encode(rules); err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal(fast, &a); err != nil {
			t.Fatalf("%v in %s", err, fast)
		}
		if err := json.Unmarshal(usual.Bytes(), &b); err != nil {
			t.Fatal(err)
		}
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if !bytes.Equal(x, y) {
			t.Fatalf("%s\nbut %s", fast, usual.Bytes())
		}
	})
	if empty, err := hierarchy.EncodeEffective((&wire.EffectiveRules{NodeID: "n"})); err != nil || string(empty) != `{"node_id":"n","effective_rules":[],"total":0,"everywhere":{"total":0,"rules":[]}}`+"\n" {
		t.Errorf("%s, %v", empty, err)
	}
}
