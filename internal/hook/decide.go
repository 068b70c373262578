package hook

import (
	"cmp"
	"fmt"
	"strings"

	"tenet/internal/report"
	"tenet/internal/rule"
)

// FailMode is the decision about a rule that Tenet could not judge.
type FailMode = rule.FailMode

// Fail modes. Closed denies, AskMode leaves the decision to the person, Open allows with a reason.
const (
	Closed  = rule.FailClosed
	AskMode = rule.FailAsk
	Open    = rule.FailOpen
)

// FailModes are the fail modes of rules by their severity. A severity without one is closed.
type FailModes = rule.FailModes

var decisions = map[FailMode]Decision{Closed: Deny, AskMode: Ask, Open: Allow}

// above reports whether a decision is stricter than another.
func (d Decision) above(other Decision) bool {
	rank := map[Decision]int{Allow: 0, Ask: 1, Deny: 2}
	return rank[d] > rank[other]
}

// Failed returns the answer if Tenet could judge nothing, with the reason in words. A rule of any severity may be broken then,
// so the strictest fail mode decides.
func Failed(why string, m FailModes) Answer {
	mode := m.Strictest()
	return Answer{Decision: decisions[mode], Reason: fmt.Sprintf("Tenet could not judge this: %s. Fail mode: %s.", strings.TrimRight(report.Line(why, maxLine), ".?"), mode)}
}

// Suspended returns the answer for a request that Tenet refused because the agent is suspended: a denial in any fail mode.
func Suspended(refusal error) Answer {
	return Answer{Decision: Deny, Reason: "Tenet: " + report.Line(refusal.Error(), maxLine) + "."}
}

// Bounds of a reason, which mentions omissions.
const (
	maxFindings = 20
	maxLine     = 600 // characters
)

// Stricter returns the stricter of two answers, with the reasons of both.
func Stricter(a, b Answer) Answer {
	stricter := Answer{Decision: a.Decision, Reason: strings.Trim(a.Reason+"\n"+b.Reason, "\n"), Approved: a.Approved && b.Approved, Uncovered: cmp.Or(a.Uncovered, b.Uncovered)}
	if b.Decision.above(a.Decision) {
		stricter.Decision = b.Decision
	}
	return stricter
}

// Decide returns the answer for an evaluation: Deny for a denial, Ask for a verdict that needs confirmation, and the fail mode
// of its severity for a rule that Tenet could not judge: that of m, or a stricter one that the project's policy demands. Where no rule covers the subject, the project's policy decides; what it
// allows is not objected to, and not approved either; nor a subject that it wants confirmed by default alone. An evaluation that contradicts itself, such as half an answer, is a
// failure.
func Decide(e *rule.Evaluation, m FailModes) Answer {
	if why := e.Flaw(); why != "" {
		return Failed(why, m)
	}
	m = m.Demanding(e.FailModes)
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
	uncovered := e.Coverage.Uncovered
	// Commands that no rule covers are everyday ones: unless a policy says otherwise, the tool's own permissions decide.
	passes := uncovered == rule.UncoveredConfirm && e.Coverage.UncoveredByDefault && !e.BelowFloor() && e.Coverage.RulesNotAsked == 0
	switch {
	case e.Suspended != nil, uncovered == rule.UncoveredDeny:
		a.Decision = Deny
	case passes:
	case (uncovered == rule.UncoveredConfirm || e.BelowFloor() || e.Coverage.RulesNotAsked > 0) && Ask.above(a.Decision):
		a.Decision = Ask
	case e.OverallVerdict == rule.NeedsConfirmation && len(denied)+len(asked)+len(passed) == 0:
		return Failed("it has nothing that a rule could judge", m)
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
	if e.Suspended != nil {
		parts = append(parts, "Tenet: "+report.Line(e.Suspended.Notice(), maxLine))
	} else if uncovered != rule.UncoveredAllow && !passes {
		lines := make([]string, len(e.Notices))
		for i, notice := range e.Notices {
			lines[i] = report.Line(notice, maxLine)
		}
		add("Tenet: the project's policy.", lines)
	}
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
	if line := approvalLine(e.Approval); line != "" && a.Decision == Ask {
		// The person at the tool is not asked: the answer comes from outside.
		a.Decision = Deny
		parts = append(parts, line)
	}
	a.Approved = a.Decision == Allow && len(parts) == 0 && e.RulesEvaluated > 0 && e.RulesWaived == 0 && uncovered == ""
	if len(parts) > 0 {
		parts = append(parts, "Evaluation "+report.Line(e.EvaluationID, maxLine))
	}
	a.Reason = strings.Join(parts, "\n")
	if passes && a.Decision == Allow {
		a.Uncovered = "Tenet: no rule covers this, so nothing was checked."
	}
	return a
}

// verdict returns the decision about one verdict, and the fail mode if that decides. A rule that asks for confirmation when it
// is broken does no more than that when Tenet could not judge it. What could not be examined of the subject asks at every severity: a
// rule may forbid just what is there.
func verdict(v *rule.RuleVerdict, m FailModes) (Decision, FailMode) {
	if v.Verdict == rule.Deny {
		return Deny, ""
	}
	if v.DecidedBy != rule.ByNone {
		return Ask, ""
	}
	mode := m.Of(v.Severity)
	if mode == Closed && rule.Settle(rule.Deny, v.Modality, v.Enforcement) != rule.Deny {
		mode = AskMode
	}
	if mode == Open && len(v.Unexamined) > 0 {
		mode = AskMode
	}
	return decisions[mode], mode
}

// finding describes a verdict in one line.
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
	if why := v.Why(); why != "" {
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

// Values of the setting hook_approval.
const (
	ApprovalOff  = "off"
	ApprovalAsk  = "ask"
	ApprovalWait = "wait"
)

// ParseApproval reads the setting hook_approval.
func ParseApproval(s string) (string, error) {
	word, ok := rule.Parse(strings.TrimSpace(s), []string{ApprovalOff, ApprovalAsk, ApprovalWait})
	if !ok {
		return "", rule.Errorf(rule.CodeInvalid, "hook_approval is %q; use off, ask or wait", s)
	}
	return word, nil
}

// approvalLine says where an approval is waited for, or how it was decided; empty if the evaluation has not asked for one.
func approvalLine(a *rule.EvaluationApproval) string {
	switch {
	case a == nil || a.State == rule.ApprovalUsed || a.State == rule.ApprovalApproved:
		return ""
	case a.State == rule.ApprovalPending:
		return fmt.Sprintf("Tenet: a person has been asked to approve this, until %s: %s\nDo exactly the same again once it is approved.",
			a.ExpiresAt.UTC().Format("2006-01-02 15:04 UTC"), report.Line(a.URL, maxLine))
	}
	return fmt.Sprintf("Tenet: the approval %s is %s.", report.Line(a.ID, maxLine), a.State)
}
