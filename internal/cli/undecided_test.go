package cli

import (
	"strings"
	"testing"

	"tenet/internal/config"
	"tenet/internal/hook"
	"tenet/internal/rule"
)

func TestParseUndecided(t *testing.T) {
	for _, s := range []string{"", "maybe", "HIGH", "HIGH=warn,HIGH=fail", "HIGH=warn,", "URGENT=fail", "LOW=closed"} {
		if p, err := parseUndecided(s); err == nil || !strings.HasPrefix(err.Error(), "undecided: ") {
			t.Errorf("%q is read as %v, %v", s, p, err)
		}
	}
	p, err := parseUndecided("high=Warn, LOW=pass")
	if err != nil || p[rule.High] != warnUndecided || p[rule.Low] != passUndecided {
		t.Errorf("the policy is %v, %v", p, err)
	}
	if got := p.of(&rule.RuleVerdict{Severity: rule.Critical}); got != failUndecided {
		t.Errorf("a severity without a word: %s", got)
	}
	if p, err = parseUndecided(defaultOf("undecided")); err != nil || len(p) != len(rule.Severities) || p[rule.High] != failUndecided || p[rule.Medium] != warnUndecided {
		t.Errorf("the default is %v, %v", p, err)
	}
}

func TestVerdictExitsByWhatIsUndecided(t *testing.T) {
	undecided := func(s rule.Severity, unseen ...rule.Unexamined) rule.RuleVerdict {
		return rule.RuleVerdict{Severity: s, Verdict: rule.NeedsConfirmation, DecidedBy: rule.ByNone, Enforcement: rule.Enforce, Modality: rule.Must, Unexamined: unseen}
	}
	evaluation := func(overall rule.Verdict, list ...rule.RuleVerdict) *rule.Evaluation {
		return &rule.Evaluation{OverallVerdict: overall, RuleVerdicts: list, RulesEvaluated: len(list)}
	}
	unseen := rule.Unexamined{Part: "a.bin", Reason: "binary"}
	shadow := undecided(rule.Critical)
	shadow.Enforcement = rule.Shadow
	beyond := func(counts map[rule.Severity]int, notAsked int) *rule.Evaluation {
		e := evaluation(rule.NeedsConfirmation, undecided(rule.Medium))
		e.Coverage.RulesUndecided, e.Coverage.RulesNotAsked = counts, notAsked
		return e
	}
	for _, test := range []struct {
		name, policy, failOn string
		e                    *rule.Evaluation
		code                 int
		note                 string
	}{
		{"from HIGH it fails", "", "deny", evaluation(rule.NeedsConfirmation, undecided(rule.High), undecided(rule.Medium)), 2, "1 rule could not be decided (1 HIGH); exits with 2"},
		{"below it warns", "", "deny", evaluation(rule.NeedsConfirmation, undecided(rule.Medium), undecided(rule.Low)), 0, "warning: 2 rules could not be decided (1 MEDIUM, 1 LOW)"},
		{"in shadow it does not count", "", "deny", evaluation(rule.Allow, shadow), 0, ""},
		{"pass", "pass", "deny", evaluation(rule.NeedsConfirmation, undecided(rule.Critical)), 0, "needs confirmation"},
		{"fail", "fail", "deny", evaluation(rule.NeedsConfirmation, undecided(rule.Low)), 2, "1 LOW"},
		{"what was not seen", "pass", "deny", evaluation(rule.NeedsConfirmation, undecided(rule.Low, unseen)), 2, "1 LOW"},
		{"never", "", "never", evaluation(rule.NeedsConfirmation, undecided(rule.High, unseen)), 0, "--fail-on=never"},
		{"confirmation", "pass", "confirmation", evaluation(rule.NeedsConfirmation, undecided(rule.Low)), 1, ""},
		{"a denial", "fail", "deny", evaluation(rule.Deny, undecided(rule.High)), 1, ""},
		{"CRITICAL beyond the list", "", "deny", beyond(map[rule.Severity]int{rule.Medium: 1, rule.Critical: 5}, 5), 2, "5 rules beyond --max-rules could not be decided; exits with 2"},
		{"MEDIUM beyond the list", "", "deny", beyond(map[rule.Severity]int{rule.Medium: 4}, 3), 0, "warning: 3 rules beyond --max-rules"},
		{"CRITICAL passes", "pass", "deny", beyond(map[rule.Severity]int{rule.Medium: 1, rule.Critical: 5}, 5), 0, "needs confirmation"},
		{"all are listed", "", "deny", beyond(map[rule.Severity]int{rule.Medium: 1}, 0), 0, "warning: 1 rule could"},
		{"of an older server", "warn", "deny", beyond(nil, 5), 2, "5 rules beyond"},
		{"as a whole", "pass", "deny", evaluation(rule.NeedsConfirmation, shadow), 2, "not judged as a whole"},
	} {
		var notes strings.Builder
		s := &session{err: &notes, env: func(string) string { return "" }, globals: &globals{}}
		policy, err := readUndecided(s, test.policy)
		if err != nil {
			t.Fatal(err)
		}
		code := s.conclude(t.Context(), verdict(s, test.e, test.failOn, policy))
		if code != test.code || !strings.Contains(notes.String(), test.note) || test.note == "" && notes.Len() > 0 {
			t.Errorf("%s: exits with %d and %q, want %d and %q", test.name, code, notes.String(), test.code, test.note)
		}
	}
}

// TestWhatTheBaseHasHidesNothingThatIsNotListed has an answer whose listed violations are all in the base.
func TestWhatTheBaseHasHidesNothingThatIsNotListed(t *testing.T) {
	e := &rule.Evaluation{RuleVerdicts: []rule.RuleVerdict{{Verdict: rule.Deny, Severity: rule.High, DecidedBy: rule.ByCheck}}}
	e.Tally()
	known := map[*rule.RuleVerdict]bool{&e.RuleVerdicts[0]: true}
	if got := standing(e, known).OverallVerdict; got != rule.Allow {
		t.Errorf("without the violation of the base it is %s", got)
	}
	e.Coverage.RulesUnlistedBroken = 1
	if got := standing(e, known).OverallVerdict; got != rule.Deny {
		t.Errorf("with a violation that is not listed it is %s", got)
	}
}

func TestFailModesOfSingleRules(t *testing.T) {
	modes, err := rule.ParseFailModes(defaultOf("hook_fail"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, flag, setting, hookFail string
		critical, medium, low         hook.FailMode
	}{
		{"default", "", "", "", hook.Closed, hook.Open, hook.Open},
		{"the flag", "fail", "", "", hook.Closed, hook.AskMode, hook.Closed},
		{"the flag over hook_fail", "warn", "", "ask", hook.Open, hook.Open, hook.Open},
		{"the setting over hook_fail", "", "CRITICAL=fail,LOW=pass", "ask", hook.Closed, hook.AskMode, hook.Open},
		{"hook_fail alone", "", "", "ask", hook.Closed, hook.AskMode, hook.Open},
	} {
		cfg := config.Config{Undecided: defaultOf("undecided"), HookFail: defaultOf("hook_fail")}
		if test.setting != "" {
			cfg.Undecided = test.setting
		}
		if test.hookFail != "" {
			cfg.HookFail = test.hookFail
		}
		words := cfg.Undecided
		if test.flag != "" {
			words = test.flag
		}
		p, err := parseUndecided(words)
		if err != nil {
			t.Fatal(err)
		}
		got := p.failModes(modes, &cfg, test.flag)
		if got[rule.Critical] != test.critical || got[rule.Medium] != test.medium || got[rule.Low] != test.low {
			t.Errorf("%s: the fail modes are %v", test.name, got)
		}
	}
}
