package judge

import (
	"context"
	"errors"
	"strings"

	"tenet/internal/ledger"
	"tenet/internal/rule"
)

// needsSecondLook reports whether an outcome counts only once a second look has agreed: the denial of a CRITICAL rule, and
// what the model allows on a subject that reads as if it gave orders.
func (b *batch) needsSecondLook(o *outcome) bool {
	switch {
	case !o.decided() || o.passes > 1:
		return false
	case o.finding == ledger.Broken:
		return len(b.members) == 1 && b.d.rules[b.members[0]].Severity == rule.Critical
	}
	return o.finding == ledger.Kept && b.d.instruction() != ""
}

// lookAgain takes the second looks that outcomes need. It confirms a denial with the files in another order, and by the
// confirming model if one is configured. It rechecks an ALLOW at text with marks in place of blanks, which a model still
// reads but hardly obeys.
func (b *batch) lookAgain(ctx context.Context) {
	var places []int
	purpose := CallRecheck
	for n := range b.members {
		o := b.outcome(n)
		if !b.needsSecondLook(&o) {
			continue
		}
		places = append(places, n)
		if o.finding == ledger.Broken { // it is alone in its batch
			purpose = CallConfirm
		}
	}
	if len(places) == 0 {
		return
	}
	reply := b.call(ctx, places, purpose)
	for k, n := range places {
		b.setOutcome(n, b.d.secondLook(b.outcome(n), reply, k))
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
	o := first.doubt("The model allowed, but the subject reads as if it gave orders (" + d.instruction() + "), and the second look that this needs failed: " + why + ". It said: ")
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
