package rule_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
)

func fullPolicy() rule.ProjectPolicy {
	return rule.ProjectPolicy{
		Floor: rule.Floor{
			SeverityMin: rule.Medium, Environment: "production", BoundNode: true,
			Scopes: []rule.ScopeFloor{{Repositories: []string{"acme/*", "acme-pay/*"}, Scope: "finance"}},
		},
		Uncovered: map[string]rule.Uncovered{"action": rule.UncoveredDeny, "code_change": rule.UncoveredConfirm},
	}
}

func TestAPolicyIsReadAsItWasStored(t *testing.T) {
	for name, p := range map[string]rule.ProjectPolicy{"zero": {}, "full": fullPolicy(), "one word": {Uncovered: map[string]rule.Uncovered{"facts": rule.UncoveredAllow}}} {
		text, err := p.Stored()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, rule.ReadPolicy([]byte(text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAPolicyThatCannotBeReadAsksForConfirmation(t *testing.T) {
	for _, text := range []string{
		"{", "[]", `{"floor":{"severity_min":"HUGE"}}`, `{"uncovered":{"action":"escalate"}}`, `{"ceiling":{}}`,
		`{"floor":{"scopes":[{"repositories":[],"scope":"a"}]}}`, `{"unreadable":true}`,
	} {
		p := rule.ReadPolicy([]byte(text))
		if !p.Unreadable {
			t.Errorf("%s is read as %+v", text, p)
		}
		for _, kind := range []string{"code_change", "document", "action", ""} {
			if got := p.UncoveredFor(kind); got != rule.UncoveredConfirm {
				t.Errorf("%s: a subject of kind %q that no rule covers is %s", text, kind, got)
			}
		}
		// What was stored once stays unreadable, whatever else of the project is changed.
		if again, err := p.Stored(); err != nil || again == "" {
			t.Errorf("%s is stored as %q, %v", text, again, err)
		}
	}
}

func TestUncoveredByKind(t *testing.T) {
	var none rule.ProjectPolicy
	for kind, want := range map[string]rule.Uncovered{
		"code_change": "allow", "document": "allow", "action": "confirm", "facts": "confirm", "transaction": "confirm", "business_event": "confirm",
		"decision_request": "confirm", "communication": "confirm", "": "confirm", "something new": "confirm",
	} {
		if got := none.UncoveredFor(kind); got != want {
			t.Errorf("default of %q is %s, want %s", kind, got, want)
		}
	}
	p := fullPolicy()
	for kind, want := range map[string]rule.Uncovered{"code_change": "confirm", "action": "deny", "document": "allow", "facts": "confirm"} {
		if got := p.UncoveredFor(kind); got != want {
			t.Errorf("%q is %s, want %s", kind, got, want)
		}
	}
}

func TestLooseningAPolicyIsNamed(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(*rule.ProjectPolicy)
		want []string // parts of the ways, in their order
	}{
		"nothing":             {func(*rule.ProjectPolicy) {}, nil},
		"a lower severity":    {func(p *rule.ProjectPolicy) { p.Floor.SeverityMin = rule.Low }, nil},
		"a higher severity":   {func(p *rule.ProjectPolicy) { p.Floor.SeverityMin = rule.High }, []string{"HIGH instead of MEDIUM"}},
		"no severity":         {func(p *rule.ProjectPolicy) { p.Floor.SeverityMin = "" }, []string{"none instead of MEDIUM"}},
		"another environment": {func(p *rule.ProjectPolicy) { p.Floor.Environment = "staging" }, []string{"staging instead of production"}},
		"free nodes":          {func(p *rule.ProjectPolicy) { p.Floor.BoundNode = false }, []string{"no floor.bound_node"}},
		"one more scope": {func(p *rule.ProjectPolicy) {
			p.Floor.Scopes = append([]rule.ScopeFloor{{Repositories: []string{"x"}, Scope: "y"}}, p.Floor.Scopes...)
		}, nil},
		"more repositories":       {func(p *rule.ProjectPolicy) { p.Floor.Scopes[0].Repositories = []string{"acme-pay/*", "acme/*", "x/*"} }, nil},
		"fewer repositories":      {func(p *rule.ProjectPolicy) { p.Floor.Scopes[0].Repositories = []string{"acme/*"} }, []string{"acme/*, acme-pay/* in finance"}},
		"another scope":           {func(p *rule.ProjectPolicy) { p.Floor.Scopes[0].Scope = "sales" }, []string{"in finance"}},
		"a stricter word":         {func(p *rule.ProjectPolicy) { p.Uncovered["code_change"] = rule.UncoveredDeny }, nil},
		"a looser word":           {func(p *rule.ProjectPolicy) { p.Uncovered["action"] = rule.UncoveredConfirm }, []string{"uncovered.action confirm instead of deny"}},
		"back to a looser word":   {func(p *rule.ProjectPolicy) { delete(p.Uncovered, "code_change") }, []string{"uncovered.code_change allow instead of confirm"}},
		"looser than the default": {func(p *rule.ProjectPolicy) { p.Uncovered["facts"] = rule.UncoveredAllow }, []string{"uncovered.facts allow instead of confirm"}},
		"all at once":             {func(p *rule.ProjectPolicy) { *p = rule.ProjectPolicy{} }, []string{"severity_min", "environment", "bound_node", "scopes", "uncovered.action", "uncovered.code_change"}},
	} {
		base, next := fullPolicy(), fullPolicy()
		tt.edit(&next)
		ways := next.Loosens(&base)
		if len(ways) != len(tt.want) || !slices.EqualFunc(ways, tt.want, strings.Contains) {
			t.Errorf("%s: %q, want %q", name, ways, tt.want)
		}
	}
	strict := fullPolicy()
	if ways := strict.Loosens(&rule.ProjectPolicy{Unreadable: true}); len(ways) != 1 {
		t.Errorf("nobody knows what an unreadable policy demanded, but replacing it is no loosening: %q", ways)
	}
}

func TestNothingBelowTheFloorIsAllowed(t *testing.T) {
	verdict := func(v rule.Verdict) []rule.RuleVerdict {
		return []rule.RuleVerdict{{Verdict: v, DecidedBy: rule.ByCheck, Enforcement: rule.Enforce}}
	}
	below := []rule.Narrowed{{Parameter: "scope", Asked: "x"}, {Parameter: "severity_min", Asked: "HIGH", Floor: "at most LOW"}}
	for _, tt := range []struct {
		verdict  rule.Verdict
		narrowed []rule.Narrowed
		want     rule.Verdict
	}{
		{rule.Allow, nil, rule.Allow},
		{rule.Allow, below[:1], rule.Allow},
		{rule.Allow, below, rule.NeedsConfirmation},
		{rule.NeedsConfirmation, below, rule.NeedsConfirmation},
		{rule.Deny, below, rule.Deny},
	} {
		e := rule.Evaluation{EvaluationID: "e", RuleVerdicts: verdict(tt.verdict), Narrowed: tt.narrowed}
		if e.Tally(); e.OverallVerdict != tt.want {
			t.Errorf("%s narrowed by %d parameters is %s, want %s", tt.verdict, len(tt.narrowed), e.OverallVerdict, tt.want)
		}
		if flaw := e.Flaw(); flaw != "" {
			t.Errorf("%s narrowed by %d parameters: %s", tt.verdict, len(tt.narrowed), flaw)
		}
	}
}

func TestAnOldVerdictConcerns(t *testing.T) {
	for text, want := range map[string]bool{`{"rule_id":"a"}`: true, `{"concerned":true}`: true, `{"concerned":false}`: false} {
		var v rule.RuleVerdict
		if err := json.Unmarshal([]byte(text), &v); err != nil || v.Concerned != want {
			t.Errorf("%s concerns: %v, %v", text, v.Concerned, err)
		}
	}
}
