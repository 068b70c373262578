package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tenet/internal/config"
	"tenet/internal/hook"
	"tenet/internal/rule"
	"tenet/internal/text"
)

// onUndecided names the consequence of a rule that nothing could decide.
type onUndecided string

// Fail ends with an error, warn lets it pass and says so, pass lets it pass.
const (
	failUndecided onUndecided = "fail"
	warnUndecided onUndecided = "warn"
	passUndecided onUndecided = "pass"
)

// undecidedPolicy has the consequence for each severity of the rule. A severity without an entry fails.
type undecidedPolicy map[rule.Severity]onUndecided

// parseUndecided reads one word for all severities (warn), or one for each with commas between (HIGH=fail,MEDIUM=warn).
func parseUndecided(s string) (undecidedPolicy, error) {
	words := []onUndecided{failUndecided, warnUndecided, passUndecided}
	p := undecidedPolicy{}
	if word, ok := rule.Parse(strings.TrimSpace(s), words); ok {
		for _, severity := range rule.Severities {
			p[severity] = word
		}
		return p, nil
	}
	for entry := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(entry, "=")
		severity, isSeverity := rule.Parse(strings.TrimSpace(name), rule.Severities)
		word, ok := rule.Parse(strings.TrimSpace(value), words)
		if !isSeverity || !ok {
			return nil, fmt.Errorf("undecided: %q is none of fail, warn and pass, nor one for each severity such as CRITICAL=fail,HIGH=fail,MEDIUM=warn,LOW=pass", s)
		}
		if _, twice := p[severity]; twice {
			return nil, fmt.Errorf("undecided: %s is given twice in %q", severity, s)
		}
		p[severity] = word
	}
	return p, nil
}

// of returns what follows from an undecided verdict. What could not be examined of the subject fails at every severity: a rule may
// forbid just what is there.
func (p undecidedPolicy) of(v *rule.RuleVerdict) onUndecided {
	word, ok := p[v.Severity]
	if !ok || len(v.Unexamined) > 0 {
		return failUndecided
	}
	return word
}

// demanding returns the policy with the demands of the project of an evaluation: a severity whose rules hooks may not let pass fails.
func (p undecidedPolicy) demanding(e *rule.Evaluation) undecidedPolicy {
	if len(e.FailModes) == 0 {
		return p
	}
	p = maps.Clone(p)
	for severity, mode := range e.FailModes {
		if mode != rule.FailOpen {
			p[severity] = failUndecided
		}
	}
	return p
}

// undecided returns the verdicts that nothing could decide, by what follows from them.
func (p undecidedPolicy) undecided(e *rule.Evaluation) map[onUndecided][]*rule.RuleVerdict {
	by := map[onUndecided][]*rule.RuleVerdict{}
	for i := range e.RuleVerdicts {
		if v := &e.RuleVerdicts[i]; v.DecidedBy == rule.ByNone && v.Counts() {
			by[p.of(v)] = append(by[p.of(v)], v)
		}
	}
	return by
}

// unlisted returns how many further rules nothing could decide that the answer does not list, by what follows from them.
func (p undecidedPolicy) unlisted(e *rule.Evaluation) map[onUndecided]int {
	if e.Coverage.RulesUndecided == nil { // of an older server: the severity of those that were not asked about is not known
		return map[onUndecided]int{failUndecided: e.Coverage.RulesNotAsked}
	}
	left := maps.Clone(e.Coverage.RulesUndecided)
	for i := range e.RuleVerdicts {
		if v := &e.RuleVerdicts[i]; v.DecidedBy == rule.ByNone && v.Counts() {
			left[v.Severity]--
		}
	}
	by := map[onUndecided]int{}
	for severity, n := range left {
		if n > 0 {
			by[p.of(&rule.RuleVerdict{Severity: severity})] += n
		}
	}
	return by
}

// readUndecided reads the policy about undecided rules: from a flag, else from the setting.
func readUndecided(s *session, flag string) (undecidedPolicy, error) {
	if flag != "" {
		return parseUndecided(flag)
	}
	cfg, err := s.configure("", nil)
	if err != nil {
		return nil, err
	}
	return parseUndecided(cfg.Undecided)
}

// severities lists the severities of verdicts, the highest first, and names a rule.
func severities(list []*rule.RuleVerdict) string {
	var names []string
	for _, severity := range slices.Backward(rule.Severities) {
		n := 0
		for _, v := range list {
			if v.Severity == severity {
				n++
			}
		}
		if n > 0 {
			names = append(names, fmt.Sprintf("%d %s", n, severity))
		}
	}
	return fmt.Sprintf("%s could not be decided (%s)", text.Plural(len(list), "rule"), strings.Join(names, ", "))
}

// failModes returns the fail modes of a hook of git. The setting undecided weakens or strengthens those for single rules; it does not
// say what happens where nothing at all could be judged. A user who has set hook_fail and not undecided means hook_fail.
func (p undecidedPolicy) failModes(modes hook.FailModes, cfg *config.Config, flag string) hook.FailModes {
	if flag == "" && cfg.Undecided == defaultOf("undecided") && cfg.HookFail != defaultOf("hook_fail") {
		return modes
	}
	single := hook.FailModes{}
	for _, severity := range rule.Severities {
		mode, ok := modes[severity]
		switch word := p[severity]; {
		case word == warnUndecided || word == passUndecided:
			mode = hook.Open
		case !ok || mode == hook.Open:
			mode = hook.Closed
		}
		single[severity] = mode
	}
	return single
}

// defaultOf returns the default of a setting.
func defaultOf(key string) string {
	for _, s := range config.Settings() {
		if s.Key == key {
			return s.Default
		}
	}
	return ""
}
