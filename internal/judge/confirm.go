package judge

import (
	"context"
	"errors"
	"strings"

	"tenet/internal/rule"
)

// confirm looks a second time at a denial of a CRITICAL rule, which is alone in its session: with the files in another
// order, and by the confirming model if there is one. Where the two looks disagree nobody has decided.
func (s *session) confirm(ctx context.Context) {
	if s.h.rules[s.members[0]].Severity != rule.Critical || len(s.members) != 1 {
		return
	}
	first := s.get(0)
	if first.verdict != rule.Deny || !first.decided() {
		return
	}
	reply := s.call(ctx, []int{0}, CallConfirm)
	if reply.err != nil {
		s.set(0, s.h.alone(first, lookFailed(reply.err)))
		return
	}
	second, fault := reply.outcome(0)
	switch {
	case fault != "":
		s.set(0, first.doubt("The model denied, and the second look that a CRITICAL rule needs gave nothing to use. "+fault+" It said: "))
	case second.verdict == rule.Deny:
		first.passes, first.agreed = 2, 2
		s.set(0, first)
	default:
		s.set(0, disagree(first, second))
	}
}

// recheck looks a second time at what the model allows where the subject reads as if it gave orders: at text in which marks
// stand for blanks, which a model still reads but hardly obeys. Only what is allowed both times is allowed.
func (s *session) recheck(ctx context.Context) {
	var places []int
	for n := range s.members {
		if o := s.get(n); o.verdict == rule.Allow && o.decided() {
			places = append(places, n)
		}
	}
	if len(places) == 0 || s.h.orders() == "" {
		return
	}
	reply := s.call(ctx, places, CallRecheck)
	for k, n := range places {
		first := s.get(n)
		why := ""
		if reply.err != nil {
			why = lookFailed(reply.err) + "."
		} else if second, fault := reply.outcome(k); fault != "" {
			why = fault
		} else if second.verdict != rule.Allow {
			s.set(n, disagree(first, second))
			continue
		}
		if why == "" {
			first.passes, first.agreed = 2, 2
			s.set(n, first)
			continue
		}
		s.set(n, s.h.alone(first, strings.TrimSuffix(why, ".")))
	}
}

// takesTwo reports whether an outcome of session s counts only once a second look has agreed.
func (s *session) takesTwo(o *outcome) bool {
	switch {
	case !o.decided() || o.passes > 1:
		return false
	case o.verdict == rule.Deny:
		return len(s.members) == 1 && s.h.rules[s.members[0]].Severity == rule.Critical
	}
	return o.verdict == rule.Allow && s.h.orders() != ""
}

// alone is what a look comes to whose second one is needed and gave nothing.
func (h *hearing) alone(first outcome, why string) outcome {
	if first.verdict == rule.Deny {
		return first.doubt("The model denied, and the second look that a CRITICAL rule needs failed: " + why + ". It said: ")
	}
	o := first.doubt("The model allowed, but the subject reads as if it gave orders (" + h.orders() + "), and the second look that this needs failed: " + why + ". It said: ")
	o.issue = issueNone
	return o
}

// lookFailed is why a second look gave nothing. In a replay it may be missing because the record was made before it began.
func lookFailed(err error) string {
	if errors.Is(err, errNotRecorded) {
		return noAnswerYet
	}
	return failure(err)
}

// disagree is what two looks come to that do not agree.
func disagree(first, second outcome) outcome {
	o := outcome{
		verdict: rule.NeedsConfirmation, by: rule.ByModel, passes: 2, agreed: 1, together: true,
		reasoning: "Two looks disagree. The first said " + string(first.verdict) + ": " + first.reasoning + " The second said " + string(second.verdict) + ": " + second.reasoning,
		issue:     also(first.issue, second.issue), fix: also(first.fix, second.fix),
		locations: first.locations, evidence: first.evidence, quotes: first.quotes, absence: first.absence,
	}
	if first.verdict == rule.Allow {
		o.locations, o.evidence, o.quotes, o.absence = second.locations, second.evidence, second.quotes, second.absence
	}
	if o.issue == "" {
		o.issue = issueNone
	}
	return o
}
