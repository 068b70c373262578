package hook

import (
	"fmt"
	"strings"

	"tenet/internal/cli/report"
	"tenet/internal/rule"
)

// FailMode is what happens where Tenet cannot tell whether a rule is kept.
type FailMode string

// Fail modes. Closed denies, Ask leaves it to the person, Open lets it pass and says so.
const (
	Closed  FailMode = "closed"
	AskMode FailMode = "ask"
	Open    FailMode = "open"
)

// failModes lists all fail modes from the strictest to the loosest.
var failModes = []FailMode{Closed, AskMode, Open}

// FailModes are the fail modes of rules by their severity. A severity without one is closed.
type FailModes map[rule.Severity]FailMode

// ParseFailModes reads fail modes as settings write them: one for all severities (ask), or one for each with commas between
// (CRITICAL=closed,HIGH=ask,MEDIUM=ask,LOW=open). Severities that are not named are closed.
func ParseFailModes(s string) (FailModes, error) {
	modes := FailModes{}
	if mode, ok := rule.Parse(strings.TrimSpace(s), failModes); ok {
		for _, severity := range rule.Severities {
			modes[severity] = mode
		}
		return modes, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(part, "=")
		severity, known := rule.Parse(strings.TrimSpace(name), rule.Severities)
		mode, ok := rule.Parse(strings.TrimSpace(value), failModes)
		if !known || !ok {
			return nil, rule.Errorf(rule.CodeInvalid,
				"%q is no fail mode; use one of %s, or one for each severity such as CRITICAL=closed,HIGH=ask,MEDIUM=ask,LOW=open", s, rule.Names(failModes))
		}
		if _, twice := modes[severity]; twice {
			return nil, rule.Errorf(rule.CodeInvalid, "the fail mode of %s is given twice in %q", severity, s)
		}
		modes[severity] = mode
	}
	return modes, nil
}

func (m FailModes) of(s rule.Severity) FailMode {
	if mode, ok := m[s]; ok {
		return mode
	}
	return Closed
}

// strictest is the fail mode where not even the severity is known.
func (m FailModes) strictest() FailMode {
	mode := Open
	for _, s := range rule.Severities {
		if this := m.of(s); decisions[this].above(decisions[mode]) {
			mode = this
		}
	}
	return mode
}

var decisions = map[FailMode]Decision{Closed: Deny, AskMode: Ask, Open: Allow}

// above reports whether a decision is stricter than another.
func (d Decision) above(other Decision) bool {
	rank := map[Decision]int{Allow: 0, Ask: 1, Deny: 2}
	return rank[d] > rank[other]
}

// Unanswered is the answer where Tenet could judge nothing at all, for a reason in words. A rule of any severity may be broken
// then, so the strictest fail mode counts.
func Unanswered(why string, m FailModes) Answer {
	mode := m.strictest()
	return Answer{Decision: decisions[mode], Reason: fmt.Sprintf("Tenet could not judge this: %s. Fail mode: %s.", strings.TrimRight(report.Line(why, maxLine), ".?"), mode)}
}

// Bounds of a reason. What is left out is told.
const (
	maxFindings = 20
	maxLine     = 600 // characters
)

// Both is the answer that follows from two: the stricter one, for the reasons of both.
func Both(a, b Answer) Answer {
	both := Answer{Decision: a.Decision, Reason: strings.Trim(a.Reason+"\n"+b.Reason, "\n"), Kept: a.Kept && b.Kept}
	if b.Decision.above(a.Decision) {
		both.Decision = b.Decision
	}
	return both
}

// Judged is the answer that follows from an evaluation: a denial denies, what needs confirmation asks, and for a rule that
// nothing could decide the fail mode of its severity counts. An evaluation that contradicts itself, as half an answer does,
// counts as none.
func Judged(e *rule.Evaluation, m FailModes) Answer {
	if why := e.Flaw(); why != "" {
		return Unanswered(why, m)
	}
	a := Answer{Decision: Allow}
	var denied, asked, passed []string
	for i := range e.RuleVerdicts {
		v := &e.RuleVerdicts[i]
		if v.Verdict == rule.Allow || !v.Counts() {
			continue
		}
		d, mode := verdict(v, m)
		line := finding(v, mode)
		switch d {
		case Deny:
			denied = append(denied, line)
		case Ask:
			asked = append(asked, line)
		case Allow:
			passed = append(passed, line)
		}
		if d.above(a.Decision) {
			a.Decision = d
		}
	}
	if e.OverallVerdict == rule.NeedsConfirmation && len(denied)+len(asked)+len(passed) == 0 {
		return Unanswered("there was nothing in it that a rule could be held against", m)
	}
	var parts []string
	add := func(heading string, lines []string) {
		if n := len(lines) - maxFindings; n > 0 {
			lines = append(lines[:maxFindings:maxFindings], fmt.Sprintf("and %d more", n))
		}
		if len(lines) > 0 {
			parts = append(parts, heading+"\n- "+strings.Join(lines, "\n- "))
		}
	}
	add("Tenet: this breaks rules.", denied)
	add("Tenet: this needs confirmation.", asked)
	add("Tenet: these rules could not be judged, and their fail mode lets it pass.", passed)
	if n := e.Coverage.RulesCut; n > 0 {
		parts = append(parts, fmt.Sprintf("%d more rules apply and were not judged, because they are beyond max_rules.", n))
	}
	if n := len(e.Coverage.Unexamined); n > 0 && e.OverallVerdict == rule.Allow {
		lines := make([]string, n)
		for i, u := range e.Coverage.Unexamined {
			lines[i] = report.Line(u.Part+": "+u.Reason, maxLine)
		}
		add("Tenet: this was not examined.", lines)
	}
	a.Kept = a.Decision == Allow && len(parts) == 0 && e.RulesEvaluated > 0 && e.RulesWaived == 0
	if len(parts) > 0 {
		parts = append(parts, "Evaluation "+report.Line(e.EvaluationID, maxLine))
	}
	a.Reason = strings.Join(parts, "\n")
	return a
}

// verdict is what one verdict asks for, and the fail mode that says so, if one does. What would ask for confirmation if it were
// broken does so at most if it is not known whether it is.
func verdict(v *rule.RuleVerdict, m FailModes) (Decision, FailMode) {
	if v.Verdict == rule.Deny {
		return Deny, ""
	}
	if v.DecidedBy != rule.ByNone {
		return Ask, ""
	}
	mode := m.of(v.Severity)
	if mode == Closed && rule.Settle(rule.Deny, v.Modality, v.Enforcement) != rule.Deny {
		mode = AskMode
	}
	return decisions[mode], mode
}

// finding tells a verdict in one line.
func finding(v *rule.RuleVerdict, mode FailMode) string {
	name := v.RuleSlug
	if name == "" {
		name = v.RuleID
	}
	text := fmt.Sprintf("%s (%s): %s", report.Line(name, maxLine), v.Severity, report.Line(v.RuleStatement, maxLine))
	if len(v.Locations) > 0 {
		text += " At " + report.Line(report.Place(&v.Locations[0]), maxLine)
		if n := len(v.Locations) - 1; n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
		text += "."
	}
	why := v.IssueDescription
	if why == "" {
		why = v.Reasoning
	}
	if why != "" {
		text += " " + report.Line(why, maxLine)
	}
	if v.FixSuggestion != "" {
		text += " Fix: " + report.Line(v.FixSuggestion, maxLine)
	}
	if mode != "" {
		text += fmt.Sprintf(" It could not be judged; fail mode of %s: %s.", v.Severity, mode)
	}
	return text
}
