package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tenet/internal/ledger"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// conclude returns one verdict per rule and accounts for what was examined. It may be called while batches are running: then
// their calls count as unanswered.
func (d *decision) conclude() Result {
	d.mu.Lock()
	defer d.mu.Unlock()
	res := Result{
		Verdicts: make([]rule.RuleVerdict, len(d.rules)), Accounts: make([]ledger.Account, len(d.rules)),
		Redacted: d.redacted, Reused: d.reused,
	}
	d.account(&res)
	if d.keys != nil {
		res.Stored = append(res.Stored, storedUnder(d))
		if a := d.address; a != nil && len(a.rules) > 0 && a.keys != nil {
			res.Stored = append(res.Stored, storedUnder(a))
		}
	}
	if d.address != nil {
		accountApart(d.address, &res)
	}
	for i, r := range d.rules {
		o := d.merge(i)
		if o.finding == ledger.Kept {
			o = withhold(d, i, o)
		}
		if o.by == rule.ByCache {
			res.Cost.CachedCalls++
		}
		a := d.accountOf(i)
		res.Verdicts[i], res.Accounts[i] = o.verdictOf(r, &a), a
	}
	return res
}

// withhold turns an ALLOW that cannot be trusted into one that needs confirmation.
func withhold(d *decision, i int, o outcome) outcome {
	if where := d.injection(); where != "" {
		o = o.doubt("The model allowed, but the subject holds text that seems to address the judge (" + where + "), so that is not trusted. It said: ")
		o.issue = issueNone
		return o
	}
	if o.by == rule.ByCache {
		return o // it was stored after its text was judged
	}
	if found, why := addressed(d); found || why != "" && careful(d, i) {
		o = o.doubt("The model allowed, but " + why + ", so that is not trusted. It said: ")
		o.issue = issueNone
	}
	return o
}

// noAnswerYet is why a call in flight, or one that came too late to be made, has no answer.
const noAnswerYet = "the model did not answer in time"

// view is the outcome of one batch for a rule.
type view struct {
	b *batch
	o outcome
}

// conclusive reports whether an outcome is a denial that holds regardless of the rest of the subject.
func (o *outcome) conclusive() bool { return o.finding == ledger.Broken && !o.absent && !o.together }

// viewsOf lists what batches have found about rule i. If the whole was asked about, it lists only what that gave, and
// conclusive denials from before.
func (d *decision) viewsOf(i int) (list []view) {
	whole := slices.ContainsFunc(d.batches, func(b *batch) bool { return b.purpose == CallWhole && slices.Contains(b.members, i) })
	for _, b := range d.batches {
		n := slices.Index(b.members, i)
		if n < 0 {
			continue
		}
		o := b.outcomes[n]
		if whole && b.purpose != CallWhole && !o.conclusive() {
			continue
		}
		if b.waits() && o.by == rule.ByNone && !d.finished {
			o = undecided("The model gave no answer: " + noAnswerYet + ".")
		}
		if !b.secondLooked && b.needsSecondLook(n, &o) {
			o = d.withoutSecondLook(o, noAnswerYet)
		}
		if !b.group.whole && b.purpose != CallWhole && o.decided() && o.finding != ledger.Doubtful && (o.absent || o.together) {
			o = o.doubt("The model was shown what has changed and found that its verdict takes the whole, which it did not get to judge. It said: ")
			o.issue = issueNone
		}
		list = append(list, view{b, o})
	}
	return list
}

// merge joins all that was found about one rule: DENY wins, then NEEDS_CONFIRMATION; ALLOW takes all units. A denial for
// something missing holds only if every part agrees, since another part may have it.
func (d *decision) merge(i int) outcome {
	st := &d.states[i]
	if st.whole != nil {
		return *st.whole
	}
	if len(d.layout.units) == 0 {
		return undecided("Nothing of the subject could be shown to the model (" + describeUnseen(d.layout.unseen) + ").")
	}
	views := d.viewsOf(i)
	var open, allowed []outcome
	denied := slices.Clone(st.denied)
	absent, parts := 0, len(views)+len(st.denied)
	// An answer about the whole covers the units that stored verdicts allow, too.
	whole := slices.ContainsFunc(views, func(v view) bool { return v.b.purpose == CallWhole })
	if st.allowedUnits > 0 && !whole {
		parts++
		allowed = append(allowed, storedAllow(st.allowedUnits))
	}
	for _, v := range views {
		switch o := v.o; {
		case o.finding == ledger.Broken:
			denied = append(denied, o)
			if o.absent {
				absent++
			}
		case o.finding == ledger.Kept && o.decided():
			allowed = append(allowed, o)
		default:
			if len(v.b.group.parts) > 1 {
				o.reasoning = fmt.Sprintf("Part %d of %d (%s): %s", v.b.part+1, len(v.b.group.parts), v.b.group.parts[v.b.part].label, o.reasoning)
			}
			open = append(open, o)
		}
	}
	switch {
	case len(denied) > 0 && (absent < len(denied) || len(denied) == parts):
		return join(slices.DeleteFunc(denied, func(o outcome) bool { return o.absent && absent < len(denied) }))
	case len(denied) > 0:
		return join(denied).doubt("The model denied because something is missing, but only for some parts of the subject, so it may stand in another. It said: ")
	case len(open) > 0:
		return join(open)
	case len(allowed) == 0 || (len(views) == 0 && len(st.need) > 0):
		return undecided("The rule was not reached.")
	}
	return join(allowed)
}

// storedAllow returns the outcome of units that stored verdicts allow.
func storedAllow(units int) outcome {
	return outcome{
		finding: ledger.Kept, by: rule.ByCache, passes: 1, agreed: 1,
		reasoning: fmt.Sprintf("Judged before, unchanged, and found to keep the rule: %d of the subject's pieces.", units),
	}
}

// join makes one outcome of several with the same verdict. It repeats no text, place or quote.
func join(list []outcome) outcome {
	out := list[0]
	for _, o := range list[1:] {
		out.reasoning = also(out.reasoning, o.reasoning)
		out.issue = also(out.issue, o.issue)
		out.fix = also(out.fix, o.fix)
		out.together = out.together || o.together
		out.passes, out.agreed = min(out.passes, o.passes), min(out.agreed, o.agreed)
		out.quotes = union(out.quotes, o.quotes, math.MaxInt)
		out.locations = union(out.locations, o.locations, maxLocations)
		out.evidence = union(out.evidence, o.evidence, maxEvidence)
		if out.absence == "" {
			out.absence = o.absence
		}
		if o.by == rule.ByNone || out.by == rule.ByCache && o.by == rule.ByModel {
			out.by = o.by
		}
	}
	return out
}

// union appends to list what it does not contain of more, up to limit items. It does not change list in place.
func union[T comparable](list, more []T, limit int) []T {
	for _, v := range more {
		if len(list) < limit && !slices.Contains(list, v) {
			list = append(slices.Clip(list), v)
		}
	}
	return list
}

// also appends a text unless text contains it already or would become longer than anybody reads.
func also(text, more string) string {
	switch {
	case more == "" || strings.Contains(text, more) || len(text)+len(more) > maxProse:
		return text
	case text == "":
		return more
	}
	return text + " " + more
}

// account adds the calls to res.
func (d *decision) account(res *Result) {
	res.Parts = 1
	for _, b := range d.batches {
		res.Parts = max(res.Parts, len(b.group.parts))
		for _, c := range b.recordedCalls() {
			res.Calls = append(res.Calls, c)
			res.Cost.Calls++
			res.Cost.InputTokens += c.InputTokens
			res.Cost.OutputTokens += c.OutputTokens
			if c.Error == "" && !slices.Contains(res.Models, c.Model) {
				res.Models = append(res.Models, c.Model)
			}
		}
	}
	if model := firstModel(d.plan.model); len(d.reused) > 0 && !slices.Contains(res.Models, model) {
		res.Models = append(res.Models, model)
	}
}

// recordedCalls lists the calls of a batch, those in flight as failed.
func (b *batch) recordedCalls() (list []wire.ModelCall) {
	var add func(calls []*madeCall)
	add = func(calls []*madeCall) {
		for _, m := range calls {
			switch {
			case m.made:
				list = append(list, m.call)
			case m.pending && !b.d.finished:
				c := m.call
				c.Error, c.ErrorCode = noAnswerYet, string(rule.CodeUnavailable)
				list = append(list, c)
			}
			add(m.controls)
		}
	}
	add(b.calls)
	return list
}

// units lists the units of the batch's part.
func (b *batch) units() []int { return b.group.parts[b.part].units }
