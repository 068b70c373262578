package judge

import (
	"context"
	"errors"
	"strings"

	"tenet/internal/ledger"
	"tenet/internal/rule"
)

// careful reports whether an ALLOW of rule i takes a second look, at a masked view, and text that addresses nobody: for a CRITICAL
// or HIGH rule, and where the subject reads as if it gave orders.
func careful(d *decision, i int) bool {
	s := d.rules[i].Severity
	return !d.apart && (s == rule.Critical || s == rule.High || d.instruction() != "")
}

// careful returns the places of the members whose ALLOW takes a second look.
func (b *batch) careful() []int {
	var places []int
	for n, i := range b.members {
		if careful(b.d, i) {
			places = append(places, n)
		}
	}
	return places
}

// needsSecondLook reports whether an outcome counts only once a second look has agreed: the denial of a CRITICAL rule, and an
// ALLOW of [batch.careful].
func (b *batch) needsSecondLook(n int, o *outcome) bool {
	switch {
	case !o.decided() || o.passes > 1:
		return false
	case o.finding == ledger.Broken:
		return len(b.members) == 1 && b.d.rules[b.members[0]].Severity == rule.Critical
	}
	return o.finding == ledger.Kept && careful(b.d, b.members[n])
}

// join takes the second looks that outcomes need. An ALLOW is joined with the reply about careful members at the masked view. A
// denial is confirmed with the files in another order, and by the confirming model if one is configured.
func (b *batch) join(ctx context.Context, careful []int, recheck *reply) {
	for k, n := range careful {
		if o := b.outcome(n); o.finding == ledger.Kept && b.needsSecondLook(n, &o) {
			b.setOutcome(n, b.d.secondLook(o, recheck, k))
		}
	}
	if o := b.outcome(0); o.finding == ledger.Broken && b.needsSecondLook(0, &o) { // it is alone in its batch
		b.setOutcome(0, b.d.secondLook(o, b.call(ctx, b.begin(), []int{0}, CallConfirm), 0))
	}
}

// secondLook joins a first look with the k-th entry of the reply to a second one. Looks that disagree decide nothing.
func (d *decision) secondLook(first outcome, r *reply, k int) outcome {
	if r.err != nil {
		return d.withoutSecondLook(first, secondLookError(r.err))
	}
	second, fault := r.outcome(k)
	switch {
	case fault != "" && first.finding == ledger.Broken:
		return first.doubt("The model denied, and the second look that a CRITICAL rule needs gave nothing to use. " + fault + " It said: ")
	case fault != "":
		return d.withoutSecondLook(first, strings.TrimSuffix(fault, "."))
	case first.finding == ledger.Kept && second.finding == ledger.Doubtful && r.answers[k].Verdict == rule.NeedsConfirmation:
		// The rule is about words that the masked view hides. They are judged apart; see addressed.
		first.passes = 2
		return first
	case second.finding != first.finding:
		return disagree(first, second)
	}
	first.passes, first.agreed = 2, 2
	return first
}

// withoutSecondLook returns the outcome of a first look that needs a second one and got none.
func (d *decision) withoutSecondLook(first outcome, why string) outcome {
	if first.finding == ledger.Broken {
		return first.doubt("The model denied, and the second look that a CRITICAL rule needs failed: " + why + ". It said: ")
	}
	reason := "an ALLOW of a CRITICAL or HIGH rule takes a second look at a masked view, and that failed: "
	if where := d.instruction(); where != "" {
		reason = "the subject reads as if it gave orders (" + where + "), and the second look that this needs failed: "
	}
	o := first.doubt("The model allowed, but " + reason + why + ". It said: ")
	o.issue = issueNone
	return o
}

// secondLookError is why a second look gave nothing. A replay may miss it because the record was made before it began.
func secondLookError(err error) string {
	if errors.Is(err, errNotRecorded) {
		return noAnswerYet
	}
	return failure(err)
}

// disagree returns the outcome of two looks that do not agree.
func disagree(first, second outcome) outcome {
	o := outcome{
		finding: ledger.Doubtful, by: rule.ByModel, passes: 2, agreed: 1, together: true,
		reasoning: "Two looks disagree. The first said " + words[first.finding] + ": " + first.reasoning + " The second said " + words[second.finding] + ": " + second.reasoning,
		issue:     also(first.issue, second.issue), fix: also(first.fix, second.fix),
		locations: first.locations, evidence: first.evidence, quotes: first.quotes, absence: first.absence,
	}
	if first.finding == ledger.Kept {
		o.locations, o.evidence, o.quotes, o.absence = second.locations, second.evidence, second.quotes, second.absence
	}
	if o.issue == "" {
		o.issue = issueNone
	}
	return o
}
