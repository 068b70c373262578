package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tenet/internal/rule"
)

// conclude joins the outcomes of all parts into one verdict per rule and accounts for what was seen.
func (h *hearing) conclude() Result {
	res := Result{Verdicts: make([]rule.RuleVerdict, len(h.rules)), Parts: len(h.docket.parts)}
	h.account(&res)
	suspicion := sync.OnceValue(func() string { return suspect(h.subject) })
	for i, r := range h.rules {
		o := h.merge(i)
		if o.verdict == rule.Allow {
			o = h.withhold(o, suspicion())
		}
		res.Verdicts[i] = o.verdictOf(r)
	}
	return res
}

// withhold turns an ALLOW that cannot be trusted into one that needs confirmation.
func (h *hearing) withhold(o outcome, suspicion string) outcome {
	switch {
	case suspicion != "":
		o = o.doubt("The model allowed, but the subject holds text that seems to address the judge (" + suspicion + "), so that is not trusted. It said: ")
	case len(h.docket.blind) > 0:
		o = o.doubt("The model allowed what it saw, but not all of the subject was examined (" + unseen(h.docket.blind) + "). It said: ")
	default:
		return o
	}
	o.issue = issueNone
	return o
}

// merge joins the outcomes of one rule over all parts: DENY wins, then NEEDS_CONFIRMATION; ALLOW takes all parts. That
// something is missing shows only where every part agrees: what one part lacks another may have.
func (h *hearing) merge(i int) outcome {
	if len(h.outcomes) == 1 {
		return h.outcomes[0][i]
	}
	var denied, open, allowed []outcome
	absent := 0
	for p := range h.outcomes {
		switch o := h.outcomes[p][i]; {
		case o.verdict == rule.Deny:
			denied = append(denied, o)
			if o.absent {
				absent++
			}
		case o.verdict == rule.Allow && o.by == rule.ByModel:
			allowed = append(allowed, o)
		default:
			o.reasoning = fmt.Sprintf("Part %d of %d (%s): %s", p+1, len(h.outcomes), h.docket.parts[p].label, o.reasoning)
			open = append(open, o)
		}
	}
	switch {
	case len(denied) > 0 && (absent < len(denied) || len(denied) == len(h.outcomes)):
		return join(slices.DeleteFunc(denied, func(o outcome) bool { return o.absent && absent < len(denied) }))
	case len(denied) > 0:
		return join(denied).doubt("The model denied because something is missing, but only for some parts of the subject, so it may stand in another. It said: ")
	case len(open) > 0:
		return join(open)
	}
	return join(allowed)
}

// join makes one outcome of several with the same verdict, saying each thing once.
func join(list []outcome) outcome {
	out := list[0]
	for _, o := range list[1:] {
		out.reasoning = also(out.reasoning, o.reasoning)
		out.issue = also(out.issue, o.issue)
		out.fix = also(out.fix, o.fix)
		if o.by == rule.ByNone {
			out.by = rule.ByNone
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
	heard := make([]bool, len(h.docket.parts))
	for _, s := range h.sessions {
		heard[s.part] = heard[s.part] || s.answered
		for _, c := range s.calls {
			res.Calls = append(res.Calls, c)
			res.Cost.Calls++
			res.Cost.InputTokens += c.InputTokens
			res.Cost.OutputTokens += c.OutputTokens
			if c.Error == "" && !slices.Contains(res.Models, c.Model) {
				res.Models = append(res.Models, c.Model)
			}
		}
	}
	seen := make([]bool, len(h.docket.blocks))
	for p, ok := range heard {
		if !ok {
			res.Unexamined = append(res.Unexamined, h.silent(p))
			continue
		}
		for _, b := range h.docket.parts[p].blocks {
			seen[b] = true
		}
	}
	res.Unexamined = append(res.Unexamined, h.docket.dropped...)
	unseenHunks := maps.Clone(h.docket.maimed)
	for i, b := range h.docket.blocks {
		if seen[i] {
			res.BytesExamined += b.bytes
		} else if b.hunk >= 0 {
			unseenHunks[b.hunk] = true
		}
	}
	res.HunksExamined = h.docket.hunks - len(unseenHunks)
}

// silent names a part that no answered call has seen.
func (h *hearing) silent(p int) rule.Unexamined {
	const reason = "no model call about it was answered"
	if len(h.docket.parts) == 1 {
		return rule.Unexamined{Part: "the whole subject", Reason: reason}
	}
	return rule.Unexamined{Part: fmt.Sprintf("part %d of %d (%s)", p+1, len(h.docket.parts), h.docket.parts[p].label), Reason: reason}
}
