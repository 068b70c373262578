package rule_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
)

func TestScopeApplies(t *testing.T) {
	for _, tt := range []struct {
		scope, subject string
		want           bool
	}{
		{"", "a/b", true},
		{"*", "a/b", true},
		{"a/b", "", true},
		{"a/b", "a/b", true},
		{"a/b", "a/b/c", true},
		{"a/b", "a", false},
		{"a/b", "a/bc", false},
		{"a/*/c", "a/b/c/d", true},
		{"a/*/c", "a/b/x", false},
		{"a/*/c", "a/b", false},
		{"x|a", "a/b", true},
		{"A", "a", true},
	} {
		var scope []string
		if tt.scope != "" {
			scope = strings.Split(tt.scope, "|")
		}
		if got := rule.ScopeApplies(scope, tt.subject); got != tt.want {
			t.Errorf("rule scope %v, subject scope %q: applies %v, want %v", scope, tt.subject, got, tt.want)
		}
	}
}

func TestScopeFindsReadsTheOtherWay(t *testing.T) {
	for _, tt := range []struct {
		rule, filter string
		want         bool
	}{
		{"a", "a", true}, {"a/b", "a", true}, {"a/b/c", "a", true}, {"a", "a/b", false}, {"ab", "a", false}, {"a", "", true},
	} {
		if got := rule.ScopeFinds([]string{tt.rule}, tt.filter); got != tt.want {
			t.Errorf("filter %q on scope %q: found %v, want %v", tt.filter, tt.rule, got, tt.want)
		}
	}
	if rule.ScopeFinds(nil, "a") {
		t.Error("filter a finds a rule without scope")
	}
}

func TestLifeCycle(t *testing.T) {
	allowed := map[string]bool{
		"DRAFT REVIEW": true, "REVIEW APPROVED": true, "APPROVED EFFECTIVE": true, "REVIEW DRAFT": true, "APPROVED REVIEW": true,
		"EFFECTIVE SUPERSEDED": true, "DRAFT RETIRED": true, "REVIEW RETIRED": true, "APPROVED RETIRED": true,
		"EFFECTIVE RETIRED": true, "SUPERSEDED RETIRED": true,
	}
	for _, from := range rule.Statuses {
		for _, to := range rule.Statuses {
			if got, want := rule.CanTransition(from, to), allowed[string(from)+" "+string(to)]; got != want {
				t.Errorf("%s to %s: %v, want %v", from, to, got, want)
			}
		}
	}
}

func TestSettle(t *testing.T) {
	for _, tt := range []struct {
		raw      rule.Verdict
		modality rule.Modality
		enforce  rule.Enforcement
		want     rule.Verdict
	}{
		{rule.Deny, rule.Must, rule.Enforce, rule.Deny},
		{rule.Deny, rule.MustNot, rule.Shadow, rule.Deny},
		{rule.Deny, rule.Should, rule.Enforce, rule.NeedsConfirmation},
		{rule.Deny, rule.Must, rule.Warn, rule.NeedsConfirmation},
		{rule.Allow, rule.Should, rule.Warn, rule.Allow},
		{rule.NeedsConfirmation, rule.Must, rule.Enforce, rule.NeedsConfirmation},
	} {
		if got := rule.Settle(tt.raw, tt.modality, tt.enforce); got != tt.want {
			t.Errorf("%s under %s, %s: %s, want %s", tt.raw, tt.modality, tt.enforce, got, tt.want)
		}
	}
}

func TestOverallNeverFailsOpen(t *testing.T) {
	v := func(verdict rule.Verdict, e rule.Enforcement) rule.RuleVerdict {
		return rule.RuleVerdict{Verdict: verdict, Enforcement: e}
	}
	for _, tt := range []struct {
		name     string
		verdicts []rule.RuleVerdict
		want     rule.Verdict
	}{
		{"all allow", []rule.RuleVerdict{v(rule.Allow, rule.Enforce), v(rule.Allow, rule.Warn)}, rule.Allow},
		{"one uncertain", []rule.RuleVerdict{v(rule.Allow, rule.Enforce), v(rule.NeedsConfirmation, rule.Warn)}, rule.NeedsConfirmation},
		{"denial behind uncertainty", []rule.RuleVerdict{v(rule.NeedsConfirmation, rule.Enforce), v(rule.Deny, rule.Enforce)}, rule.Deny},
		{"shadow does not count", []rule.RuleVerdict{v(rule.Allow, rule.Enforce), v(rule.Deny, rule.Shadow)}, rule.Allow},
		{"an unknown verdict is no permission", []rule.RuleVerdict{v("allow", rule.Enforce)}, rule.NeedsConfirmation},
		{"an empty verdict is no permission", []rule.RuleVerdict{v("", rule.Enforce)}, rule.NeedsConfirmation},
	} {
		if got := rule.Overall(tt.verdicts); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestTally(t *testing.T) {
	e := rule.Evaluation{RuleVerdicts: []rule.RuleVerdict{
		{RuleSlug: "A-1", Verdict: rule.Deny, DecidedBy: rule.ByCheck, FixSuggestion: "Use a vault."},
		{RuleSlug: "A-2", Verdict: rule.Deny, DecidedBy: rule.ByCheck, FixSuggestion: "Use a vault."},
		{Verdict: rule.NeedsConfirmation, DecidedBy: rule.ByNone, FixSuggestion: "Ask."},
		{Verdict: rule.Allow, DecidedBy: rule.ByModel, FixSuggestion: "Nothing."},
	}}
	e.Tally()
	if e.OverallVerdict != rule.Deny || e.RulesEvaluated != 4 || e.RulesPassed != 1 || e.RulesViolated != 2 || e.RulesUncertain != 1 {
		t.Errorf("counts: %+v", e)
	}
	if len(e.Violations) != 2 || len(e.Warnings) != 1 || e.Coverage.RulesJudged != 3 {
		t.Errorf("violations %d, warnings %d, judged %d; want 2, 1, 3", len(e.Violations), len(e.Warnings), e.Coverage.RulesJudged)
	}
	if want := "A-1: Use a vault.\nAsk."; e.FixSummary != want {
		t.Errorf("fix summary %q, want %q", e.FixSummary, want)
	}
}

func valid() rule.Rule {
	r := rule.Rule{Statement: "Code must not call eval."}
	r.Normalize()
	return r
}

func TestNormalizeFillsDefaultsAndCleans(t *testing.T) {
	r := rule.Rule{
		Statement: "  Text ", Modality: "must_not", Severity: "high", Scope: []string{"/a/b/ ", "a/b"}, Tags: []string{" x ", "x"},
		AppliesTo: &rule.AppliesTo{}, Check: &rule.Check{Pattern: &rule.Pattern{Regex: "x"}},
	}
	r.Normalize()
	want := rule.Rule{
		Statement: "Text", Modality: rule.MustNot, Severity: rule.High, Status: rule.Draft, Enforcement: rule.Enforce,
		Scope: []string{"a/b"}, Tags: []string{"x"}, SourceRefs: []rule.SourceRef{},
		Check: &rule.Check{Decides: rule.Both, Pattern: &rule.Pattern{Regex: "x", Lines: rule.LinesAdded}},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValidateNamesTheField(t *testing.T) {
	now := time.Now()
	many := make([]string, rule.MaxListItems+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for field, edit := range map[string]func(*rule.Rule){
		"statement":              func(r *rule.Rule) { r.Statement = "" },
		"rationale":              func(r *rule.Rule) { r.Rationale = "a\x00b" },
		"owner":                  func(r *rule.Rule) { r.Owner = "\xff" },
		"slug":                   func(r *rule.Rule) { r.Slug = "has space" },
		"modality":               func(r *rule.Rule) { r.Modality = "SHALL" },
		"severity":               func(r *rule.Rule) { r.Severity = "SEVERE" },
		"status":                 func(r *rule.Rule) { r.Status = "LIVE" },
		"enforcement":            func(r *rule.Rule) { r.Enforcement = "block" },
		"scope[0]":               func(r *rule.Rule) { r.Scope = []string{""} },
		"tags":                   func(r *rule.Rule) { r.Tags = many },
		"tags[1]":                func(r *rule.Rule) { r.Tags = []string{"a", strings.Repeat("x", 257)} },
		"source_refs[0].kind":    func(r *rule.Rule) { r.SourceRefs = []rule.SourceRef{{Kind: "rumour", URI: "x"}} },
		"source_refs[0].uri":     func(r *rule.Rule) { r.SourceRefs = []rule.SourceRef{{Kind: "law"}} },
		"effective_period.until": func(r *rule.Rule) { r.EffectivePeriod = rule.EffectivePeriod{From: &now, Until: &now} },
		"exceptions":             func(r *rule.Rule) { r.Exceptions = many[:rule.MaxPoints+1] },
		"exceptions[0]":          func(r *rule.Rule) { r.Exceptions = []string{""} },
		"examples[0].input":      func(r *rule.Rule) { r.Examples = []rule.Example{{Verdict: rule.Deny}} },
		"examples[0].verdict":    func(r *rule.Rule) { r.Examples = []rule.Example{{Input: "x", Verdict: rule.NeedsConfirmation}} },
		"examples[0].note": func(r *rule.Rule) {
			r.Examples = []rule.Example{{Input: "x", Verdict: rule.Allow, Note: strings.Repeat("x", 501)}}
		},
		"check":         func(r *rule.Rule) { r.Check = &rule.Check{Decides: rule.Both} },
		"check.decides": func(r *rule.Rule) { r.Check = &rule.Check{CEL: "true", Decides: "allow"} },
		"check.cel":     func(r *rule.Rule) { r.Check = &rule.Check{CEL: strings.Repeat("x", 8001), Decides: rule.Both} },
		"check.pattern.regex": func(r *rule.Rule) {
			r.Check = &rule.Check{Pattern: &rule.Pattern{Lines: rule.LinesAny}, Decides: rule.Both}
		},
		"applies_to.exclude_paths[0]": func(r *rule.Rule) { r.AppliesTo = &rule.AppliesTo{ExcludePaths: []string{""}} },
	} {
		r := valid()
		edit(&r)
		err := r.Validate()
		e, ok := errors.AsType[*rule.Error](err)
		if !ok || e.Code != rule.CodeInvalid {
			t.Errorf("%s: error %v, want an invalid error", field, err)
			continue
		}
		if len(e.Fields) != 1 || e.Fields[0].Field != field {
			t.Errorf("%s: errors %+v, want one that names the field", field, e.Fields)
		}
	}
	if err := new(valid()).Validate(); err != nil {
		t.Errorf("a valid rule: %v", err)
	}
}

func TestContentHashIsOfWhatTheRuleSays(t *testing.T) {
	base := valid()
	same := base
	same.ID, same.Version, same.Status, same.Owner, same.UpdatedAt = "x", 7, rule.Effective, "me", time.Now()
	if base.ContentHash() != same.ContentHash() {
		t.Error("identity, version, status, owner and time change the content hash")
	}
	for name, edit := range map[string]func(*rule.Rule){
		"statement":   func(r *rule.Rule) { r.Statement += "!" },
		"severity":    func(r *rule.Rule) { r.Severity = rule.Critical },
		"rationale":   func(r *rule.Rule) { r.Rationale = "why" },
		"exceptions":  func(r *rule.Rule) { r.Exceptions = []string{"On Sundays."} },
		"examples":    func(r *rule.Rule) { r.Examples = []rule.Example{{Input: "x", Verdict: rule.Deny}} },
		"check":       func(r *rule.Rule) { r.Check = &rule.Check{CEL: "true"} },
		"enforcement": func(r *rule.Rule) { r.Enforcement = rule.Warn },
		"scope":       func(r *rule.Rule) { r.Scope = []string{"a"} },
	} {
		other := valid()
		edit(&other)
		if other.ContentHash() == base.ContentHash() {
			t.Errorf("another %s gives the same content hash", name)
		}
	}
}

func TestErrorsKeepTheirCause(t *testing.T) {
	cause := errors.New("disk full")
	err := fmt.Errorf("saving: %w", rule.Errorf(rule.CodeUnavailable, "the database is away: %w", cause))
	if !errors.Is(err, cause) || rule.CodeOf(err) != rule.CodeUnavailable {
		t.Errorf("code %s, cause kept %v", rule.CodeOf(err), errors.Is(err, cause))
	}
	if rule.CodeOf(cause) != rule.CodeInternal || rule.CodeOf(nil) != "" {
		t.Error("a foreign error is internal, and nil has no code")
	}
}
