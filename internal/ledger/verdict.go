package ledger

import (
	"tenet/internal/rule"
)

// Finding is the result of an examination, before the account is drawn up.
type Finding uint8

// Findings. The zero value is Open, so that an empty one never passes.
const (
	// Open means that nothing could decide.
	Open Finding = iota
	// Kept means that what was examined keeps the rule.
	Kept
	// Broken means that what was examined breaks the rule.
	Broken
	// Doubtful means that somebody decided that a person has to.
	Doubtful
	// NotConcerned means that the rule has nothing to say about the subject.
	NotConcerned
	// RuledOut means that triage has found that the rule has nothing to say about the subject: a model was shown the rule and the
	// subject, and did not name it.
	RuledOut
)

// FindingOf returns the finding that a verdict is of: that of a model, a record or a stored verdict. An ALLOW among them still has
// to pass [Account.Decide].
func FindingOf(v rule.Verdict, by rule.DecidedBy) Finding {
	switch {
	case v == rule.Allow:
		return Kept
	case v == rule.Deny:
		return Broken
	case by == rule.ByNone || by == "":
		return Open
	}
	return Doubtful
}

// Earns reports whether a finding earns an ALLOW: it is Kept, NotConcerned or RuledOut and nothing that the rule is about is
// missing. Kept and RuledOut need at least one unit: a finding of nothing is no finding.
func (a *Account) Earns(f Finding) bool {
	switch f {
	case Kept, RuledOut:
		return a.complete() && !a.about.Empty()
	case NotConcerned:
		return a.complete()
	default:
		return false
	}
}

// Decide sets the verdict of v, which says in its other fields what was found, by whom and why. Broken is DENY. Kept,
// NotConcerned and RuledOut are ALLOW if the account earns it, else NEEDS_CONFIRMATION with the missing units. All other
// findings are NEEDS_CONFIRMATION.
func (a *Account) Decide(f Finding, v *rule.RuleVerdict) {
	v.Verdict, v.Concerned = rule.NeedsConfirmation, f != NotConcerned && f != RuledOut
	switch f {
	case Broken:
		v.Verdict = rule.Deny
		return
	case Kept, NotConcerned, RuledOut:
		if a.Earns(f) {
			v.Verdict = rule.Allow
			return
		}
	case Open, Doubtful:
		if f == Open {
			v.DecidedBy, v.Confidence = rule.ByNone, 0
			if len(v.Unexamined) == 0 {
				v.Unexamined = a.unexamined(true)
			}
		}
		return
	default:
	}
	v.Concerned, v.DecidedBy, v.Confidence = true, rule.ByNone, 0
	v.Unexamined = a.Unexamined()
	v.IssueDescription = "Nothing of what the rule is about was examined."
	if len(v.Unexamined) > 0 {
		v.IssueDescription = "Not all that the rule is about was examined: " + describe(v.Unexamined) + "."
	}
	v.Reasoning = v.IssueDescription + " What was examined: " + v.Reasoning
}

// Approve draws up the account of a verdict NEEDS_CONFIRMATION that people have confirmed: by their approval they answer for all units, also
// for those that nobody can examine. It is the only way by which an approval becomes an ALLOW, and it lifts no other verdict: it reports
// whether v is ALLOW now, and changes nothing if not.
func Approve(units *Units, v *rule.RuleVerdict, by *rule.AppliedApproval) bool {
	if v.Verdict != rule.NeedsConfirmation || by == nil || len(by.By) == 0 {
		return false
	}
	a := NewAccount(units, nil)
	a.Examined(rule.ByApproval, a.about)
	if !a.Earns(Kept) {
		return false
	}
	v.DecidedBy, v.Confidence, v.Approval = rule.ByApproval, 1, by
	v.IssueDescription, v.FixSuggestion, v.Unexamined = "", "", nil
	a.Decide(Kept, v)
	return true
}
