package judge

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"tenet/internal/rule"
)

// entry is a verdict as it is kept: what the model said, in a form that holds without line numbers. Taken again, its quotes
// are looked for in the subject like those of a fresh answer.
//
// It is kept under the hash of a unit, for verdicts that a unit gives by itself, and under the hash of the whole:
//
//	unit    ALLOW that does not rest on several places; DENY that does not either and whose quotes all stand in units;
//	        seen, where a DENY quotes other units that were shown beside it
//	whole   every verdict that the model gave
//
// Never kept are verdicts that nothing decided (faults, timeouts, unproven denials), those that a model gave in place of the
// first of a chain, which are good for as long as that one cannot be asked, and nothing of a subject that addresses the judge. Of one that reads like an order, only the whole is kept: whatever the order did to the model shall not
// outlive it.
type entry struct {
	Verdict   string  `json:"v"`
	Reasoning string  `json:"r,omitempty"`
	Issue     string  `json:"i,omitempty"`
	Fix       string  `json:"f,omitempty"`
	Quotes    []quote `json:"q,omitempty"`
	Absence   string  `json:"a,omitempty"`
	Passes    int     `json:"n,omitempty"`
	Agreed    int     `json:"k,omitempty"`
}

// seen is the verdict of a unit that was shown while another was denied.
const seen = "seen"

// entryOf makes the entry of an outcome of the whole.
func entryOf(o *outcome) entry {
	e := entry{
		Verdict: string(o.verdict), Reasoning: o.reasoning, Issue: o.issue, Fix: o.fix, Absence: o.absence, Passes: o.passes, Agreed: o.agreed,
	}
	for _, q := range o.quotes {
		if strings.TrimSpace(q.Quote) != "" {
			e.Quotes = append(e.Quotes, q)
		}
	}
	return e
}

// denies takes the kept denial of a unit into what is known of rule i, if one of its quotes still stands in that unit.
func (h *hearing) denies(i int, e *entry, u int) bool {
	o, ok := h.outcome(e)
	if !ok || !slices.ContainsFunc(o.locations, func(l rule.Location) bool { return h.docket.unitAt(l.FilePath, l.StartLine) == u }) {
		return false
	}
	h.matters[i].denied = append(h.matters[i].denied, o)
	return true
}

func (e *entry) encode() string { return plainJSON(e) }

// decodeEntry reads a kept verdict. What cannot be read is not there.
func decodeEntry(text string) (e entry, ok bool) {
	if json.Unmarshal([]byte(text), &e) != nil {
		return e, false
	}
	switch rule.Verdict(e.Verdict) {
	case rule.Allow, rule.Deny, rule.NeedsConfirmation:
		return e, e.Passes > 0 && e.Agreed > 0 && e.Agreed <= e.Passes
	}
	return e, e.Verdict == seen
}

// outcome weighs a kept verdict on the subject at hand. It fails if the verdict does not hold there.
func (h *hearing) outcome(e *entry) (outcome, bool) {
	together := true
	o := weigh(h.subject, &h.docket, &answer{
		Verdict: rule.Verdict(e.Verdict), Evidence: e.Quotes, Absence: e.Absence, Reasoning: e.Reasoning, Issue: e.Issue, Fix: e.Fix, Together: &together,
	})
	if string(o.verdict) != e.Verdict {
		return o, false
	}
	o.by, o.passes, o.agreed = rule.ByCache, e.Passes, e.Agreed
	return o, true
}

// recall looks up what is known of each rule and notes which units the model has to see.
func (h *hearing) recall(ctx context.Context, k *keys) {
	known := h.source.recall(ctx, h, k)
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.matters {
		m := &h.matters[i]
		take := func(unit, text string) {
			u := Reused{RuleID: h.rules[i].ID, Unit: unit, Rule: k.rules[i], Entry: text}
			if len(h.reused) == 0 {
				u.Seed, u.Plan = hex.EncodeToString(h.seed[:]), h.plan.String()
			}
			h.reused = append(h.reused, u)
		}
		if text, ok := known.get(h.rules[i].ProjectID, k.whole, k.rules[i]); ok {
			if e, ok := decodeEntry(text); ok && e.Verdict != seen {
				if o, ok := h.outcome(&e); ok {
					m.whole = &o
					take(k.whole, text)
					continue
				}
			}
		}
		h.recallUnits(i, known, k, take)
	}
}

// recallUnits looks up what is known of rule i on each unit.
func (h *hearing) recallUnits(i int, known kept, k *keys, take func(unit, text string)) {
	m := &h.matters[i]
	texts := make([]string, len(h.docket.units))
	var shown []int // while another unit was denied
	for u := range h.docket.units {
		text, _ := known.get(h.rules[i].ProjectID, k.units[u], k.rules[i])
		e, ok := decodeEntry(text)
		texts[u] = text
		switch {
		case ok && e.Verdict == string(rule.Allow):
			m.clear++
			take(k.units[u], text)
		case ok && e.Verdict == seen:
			shown = append(shown, u)
		case ok && e.Verdict == string(rule.Deny) && h.denies(i, &e, u):
			take(k.units[u], text)
		default:
			m.need = append(m.need, u)
		}
	}
	if len(m.denied) == 0 { // what was denied then is gone: what was only shown beside it must be judged
		m.need = append(m.need, shown...)
		slices.Sort(m.need)
		return
	}
	for _, u := range shown {
		take(k.units[u], texts[u])
	}
}
