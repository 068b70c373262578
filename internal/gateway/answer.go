package gateway

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"tenet/internal/rule"
	"tenet/internal/text"
)

// Bounds of the text of a refusal, which a model reads.
const (
	maxFindings = 10
	maxText     = 500 // bytes of one part of it
)

// Passes reports whether a call may pass. Only ALLOW of an evaluation that does not contradict itself is a permission.
func Passes(e *rule.Evaluation) bool {
	return e != nil && e.Flaw() == "" && e.OverallVerdict == rule.Allow && e.Coverage.RulesCut == 0
}

// Refusal returns the text of a refusal: that nothing was done, which rules say so, and what to do. It is for a model and for the person
// who reads over its shoulder.
func Refusal(c *Call, e *rule.Evaluation) string {
	if flaw := e.Flaw(); flaw != "" {
		return Failure(c, flaw)
	}
	var b strings.Builder
	what := "was not carried out"
	if c.Result != nil {
		what = "was carried out, but its result is withheld"
	}
	if e.OverallVerdict == rule.Deny {
		fmt.Fprintf(&b, "Tenet: %s %s, because it breaks rules.\n", Visible(c.String()), what)
	} else {
		fmt.Fprintf(&b, "Tenet: %s %s, because it needs confirmation.\n", Visible(c.String()), what)
	}
	n, more := 0, 0
	for _, list := range [][]rule.RuleVerdict{e.Violations, e.Warnings} {
		for i := range list {
			switch {
			case list[i].Enforcement == rule.Shadow:
			case n == maxFindings:
				more++
			default:
				n++
				finding(&b, &list[i])
			}
		}
	}
	if more > 0 {
		fmt.Fprintf(&b, "- and %d more\n", more)
	}
	for _, notice := range e.Notices[:min(len(e.Notices), maxFindings)] {
		b.WriteString("- " + Visible(notice) + "\n")
	}
	if e.Coverage.RulesCut > 0 {
		fmt.Fprintf(&b, "- %d more rules apply and were not judged.\n", e.Coverage.RulesCut)
	}
	b.WriteString(todo(e))
	fmt.Fprintf(&b, "\nEvaluation %s", Visible(e.EvaluationID))
	return b.String()
}

// todo says what to do about a refusal.
func todo(e *rule.Evaluation) string {
	switch {
	case e.OverallVerdict == rule.Deny && e.Coverage.Uncovered != "":
		return "The project denies calls that no rule covers. Do not try another way; ask the user, who can write a rule about this tool."
	case e.OverallVerdict == rule.Deny:
		return "Do not try another way to the same end. Change the call as the rules say, or ask the user."
	case e.Coverage.Uncovered != "" && len(e.Violations)+len(e.Warnings) == 0:
		return "No rule covers this tool. Tell the user, who can write a rule about it or change the project's policy for tool_call (tenet policy set --help)."
	}
	return "A person has to confirm it. Tell the user what you want to do and why, and name the evaluation."
}

// finding writes a verdict as one line of a list.
func finding(b *strings.Builder, v *rule.RuleVerdict) {
	fmt.Fprintf(b, "- %s (%s): %s", Visible(cmp.Or(v.RuleSlug, v.RuleID)), v.Severity, Visible(v.RuleStatement))
	if why := v.Why(); why != "" {
		b.WriteString(" " + Visible(why))
	}
	if v.FixSuggestion != "" {
		b.WriteString(" Fix: " + Visible(v.FixSuggestion))
	}
	b.WriteString("\n")
}

// Failure returns the text of a refusal where nothing could be evaluated. Why says the reason in words.
func Failure(c *Call, why string) string {
	what := "was not carried out"
	if c.Result != nil {
		what = "was carried out, but its result is withheld"
	}
	return fmt.Sprintf("Tenet: %s %s, because it could not be evaluated: %s.\nThat is no permission. Try again in a moment; if it happens again, tell the user.",
		Visible(c.String()), what, strings.TrimRight(Visible(why), ".?! "))
}

// Visible makes a text harmless on one line, within bounds: what a reader does not see becomes U+FFFD, so that it cannot steer a model.
func Visible(s string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
	return text.Clip(text.OneLine(clean), maxText, " ...")
}
