package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tenet/internal/rule"
)

// conclude joins what is known into one verdict per rule and accounts for what was seen. It may be called while sessions
// are under way: what they have not brought by then is told as missing.
func (h *hearing) conclude() Result {
	h.mu.Lock()
	defer h.mu.Unlock()
	res := Result{Verdicts: make([]rule.RuleVerdict, len(h.rules)), Redacted: h.redacted, Reused: h.reused}
	h.account(&res)
	for i, r := range h.rules {
		o := h.merge(i)
		if o.verdict == rule.Allow {
			o = h.withhold(o)
		}
		if o.by == rule.ByCache {
			res.Cost.CachedCalls++
		}
		res.Verdicts[i] = o.verdictOf(r)
	}
	return res
}

// withhold turns an ALLOW that cannot be trusted into one that needs confirmation.
func (h *hearing) withhold(o outcome) outcome {
	switch {
	case h.suspicion() != "":
		o = o.doubt("The model allowed, but the subject holds text that seems to address the judge (" + h.suspicion() + "), so that is not trusted. It said: ")
	case len(h.docket.blind) > 0:
		o = o.doubt("The model allowed what it saw, but not all of the subject was examined (" + unseen(h.docket.blind) + "). It said: ")
	default:
		return o
	}
	o.issue = issueNone
	return o
}

// noAnswerYet is why there is no answer of a call under way, or of one that there was no time to make.
const noAnswerYet = "the model did not answer in time"

// view is what one session found out about a rule.
type view struct {
	s *session
	o outcome
}

// stands reports whether an outcome is a denial that holds whatever the rest of the subject says.
func (o *outcome) stands() bool { return o.verdict == rule.Deny && !o.absent && !o.together }

// views lists what sessions have found out about rule i: if the whole was asked about, only what that gave and what was
// denied before whatever the rest says.
func (h *hearing) views(i int) (list []view) {
	whole := slices.ContainsFunc(h.rounds, func(s *session) bool { return s.purpose == CallWhole && slices.Contains(s.members, i) })
	for _, s := range h.rounds {
		n := slices.Index(s.members, i)
		if n < 0 {
			continue
		}
		o := s.outcomes[n]
		if whole && s.purpose != CallWhole && !o.stands() {
			continue
		}
		if s.pending != nil && o.by == rule.ByNone && !h.finished {
			o = nothing("The model gave no answer: " + noAnswerYet + ".")
		}
		if !s.settled && s.takesTwo(&o) {
			o = h.alone(o, noAnswerYet)
		}
		if !s.group.whole && s.purpose != CallWhole && o.decided() && o.verdict != rule.NeedsConfirmation && (o.absent || o.together) {
			o = o.doubt("The model was shown what has changed and found that its verdict takes the whole, which it did not get to judge. It said: ")
			o.issue = issueNone
		}
		list = append(list, view{s, o})
	}
	return list
}

// merge joins what is known about one rule: DENY wins, then NEEDS_CONFIRMATION; ALLOW takes all units. That something is
// missing shows only where every part agrees: what one part lacks another may have.
func (h *hearing) merge(i int) outcome {
	m := &h.matters[i]
	if m.whole != nil {
		return *m.whole
	}
	if len(h.docket.units) == 0 {
		return nothing("Nothing of the subject could be shown to the model (" + unseen(h.docket.blind) + ").")
	}
	views := h.views(i)
	var open, allowed []outcome
	denied := slices.Clone(m.denied)
	absent, parts := 0, len(views)+len(m.denied)
	// What was asked about the whole speaks for the units that kept verdicts allow, too.
	whole := slices.ContainsFunc(views, func(v view) bool { return v.s.purpose == CallWhole })
	if m.clear > 0 && !whole {
		parts++
		allowed = append(allowed, keptAllow(m.clear))
	}
	for _, v := range views {
		switch o := v.o; {
		case o.verdict == rule.Deny:
			denied = append(denied, o)
			if o.absent {
				absent++
			}
		case o.verdict == rule.Allow && o.decided():
			allowed = append(allowed, o)
		default:
			if len(v.s.group.parts) > 1 {
				o.reasoning = fmt.Sprintf("Part %d of %d (%s): %s", v.s.part+1, len(v.s.group.parts), v.s.group.parts[v.s.part].label, o.reasoning)
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
	case len(allowed) == 0 || (len(views) == 0 && len(m.need) > 0):
		return nothing("The rule was not reached.")
	}
	return join(allowed)
}

// keptAllow is the outcome of units that kept verdicts allow.
func keptAllow(units int) outcome {
	return outcome{
		verdict: rule.Allow, by: rule.ByCache, passes: 1, agreed: 1,
		reasoning: fmt.Sprintf("Judged before, unchanged, and found to keep the rule: %d of the subject's pieces.", units),
	}
}

// join makes one outcome of several with the same verdict, saying each thing once.
func join(list []outcome) outcome {
	out := list[0]
	for _, o := range list[1:] {
		out.reasoning = also(out.reasoning, o.reasoning)
		out.issue = also(out.issue, o.issue)
		out.fix = also(out.fix, o.fix)
		out.together = out.together || o.together
		out.passes, out.agreed = min(out.passes, o.passes), min(out.agreed, o.agreed)
		for _, q := range o.quotes {
			if !slices.Contains(out.quotes, q) {
				out.quotes = append(slices.Clip(out.quotes), q)
			}
		}
		if out.absence == "" {
			out.absence = o.absence
		}
		if o.by == rule.ByNone || out.by == rule.ByCache && o.by == rule.ByModel {
			out.by = o.by
		}
		for _, l := range o.locations {
			if len(out.locations) < maxLocations && !slices.Contains(out.locations, l) {
				out.locations = append(slices.Clip(out.locations), l)
			}
		}
		for _, e := range o.evidence {
			if len(out.evidence) < maxEvidence && !slices.Contains(out.evidence, e) {
				out.evidence = append(slices.Clip(out.evidence), e)
			}
		}
	}
	return out
}

// also appends a text unless it is there already or all would become longer than anybody reads.
func also(text, more string) string {
	switch {
	case more == "" || strings.Contains(text, more) || len(text)+len(more) > maxProse:
		return text
	case text == "":
		return more
	}
	return text + " " + more
}

// account fills what res tells about calls and about what was seen.
func (h *hearing) account(res *Result) {
	sights := make([]bool, len(h.docket.units))
	var deaf []*session // that no call has answered
	for _, s := range h.rounds {
		res.Parts = max(res.Parts, len(s.group.parts))
		if !s.answered {
			deaf = append(deaf, s)
		} else {
			see(sights, s.group.parts[s.part].units)
		}
		for _, c := range h.callsOf(s) {
			res.Calls = append(res.Calls, c)
			res.Cost.Calls++
			res.Cost.InputTokens += c.InputTokens
			res.Cost.OutputTokens += c.OutputTokens
			if c.Error == "" && !slices.Contains(res.Models, c.Model) {
				res.Models = append(res.Models, c.Model)
			}
		}
	}
	h.recalled(res, sights)
	for _, s := range deaf {
		if p := s.group.parts[s.part]; len(p.units) > 0 && slices.ContainsFunc(p.units, func(u int) bool { return !sights[u] }) {
			if u := h.silent(s); !slices.Contains(res.Unexamined, u) {
				res.Unexamined = append(res.Unexamined, u)
			}
		}
	}
	res.Unexamined = append(res.Unexamined, h.docket.dropped...)
	unseenHunks := maps.Clone(h.docket.maimed)
	any := false
	for i, u := range h.docket.units {
		if any = any || sights[i]; sights[i] {
			res.BytesExamined += u.bytes
		} else if u.hunk >= 0 {
			unseenHunks[u.hunk] = true
		}
	}
	if any {
		res.BytesExamined += h.docket.leadBytes
	}
	res.HunksExamined = h.docket.hunks - len(unseenHunks)
}

// recalled marks as seen what a model had seen when it gave the kept verdicts, and names that model.
func (h *hearing) recalled(res *Result, sights []bool) {
	for i := range h.matters {
		m := &h.matters[i]
		if m.whole != nil {
			see(sights, h.docket.all())
		} else if m.clear > 0 || len(m.denied) > 0 {
			for u := range sights {
				if _, asked := slices.BinarySearch(m.need, u); !asked {
					sights[u] = true
				}
			}
		}
	}
	res.Parts = max(res.Parts, 1)
	if model := leading(h.plan.model); len(h.reused) > 0 && !slices.Contains(res.Models, model) {
		res.Models = append(res.Models, model)
	}
}

func see(sights []bool, units []int) {
	for _, u := range units {
		sights[u] = true
	}
}

// callsOf lists the calls of a session, the one under way as failed.
func (h *hearing) callsOf(s *session) []Call {
	if s.pending == nil || h.finished {
		return s.calls
	}
	c := *s.pending
	c.Error, c.ErrorCode = noAnswerYet, string(rule.CodeUnavailable)
	return append(slices.Clip(s.calls), c)
}

// silent names a part that no answered call has seen.
func (h *hearing) silent(s *session) rule.Unexamined {
	const reason = "no model call about it was answered"
	if len(s.group.parts) == 1 && s.group.whole {
		return rule.Unexamined{Part: "the whole subject", Reason: reason}
	}
	return rule.Unexamined{Part: fmt.Sprintf("part %d of %d (%s)", s.part+1, len(s.group.parts), s.group.parts[s.part].label), Reason: reason}
}
