package judge

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"

	"tenet/internal/rule"
)

// keys are what kept verdicts are found by.
type keys struct {
	whole string
	units []string
	rules []string
}

// keys hashes what verdicts depend on: prompt version and model, what every part shows, and the unit or all units; and the
// content of the rule with the model that confirms it.
func (h *hearing) keys() *keys {
	k := &keys{units: make([]string, len(h.docket.units)), rules: make([]string, len(h.rules))}
	base := hashed(PromptVersion, leading(h.plan.model), h.docket.lead)
	var whole []byte
	for i := range h.docket.units {
		content := h.docket.units[i].content[:]
		k.units[i] = hashed(base, "unit", string(content))
		whole = append(whole, content...)
	}
	k.whole = hashed(base, "whole", "whole"+string(whole))
	for i, r := range h.rules {
		confirm := ""
		if r.Severity == rule.Critical {
			confirm = leading(h.plan.confirm)
		}
		k.rules[i] = hashed(h.contents[i], confirm)
	}
	return k
}

// hashed is the SHA-256 of texts that cannot run into one another.
func hashed(texts ...string) string {
	var b []byte
	for _, s := range texts {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// keepsake is a verdict to be kept.
type keepsake struct {
	project, unit, rule, entry string
}

// keep hands on what this hearing has found out; see entry for what is kept.
func (h *hearing) keep(k *keys) {
	if h.suspicion() != "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []keepsake
	for i := range h.rules {
		views := h.views(i)
		if len(views) == 0 || slices.ContainsFunc(views, func(v view) bool { return v.s.standIn }) {
			continue
		}
		put := func(unit string, e entry) {
			list = append(list, keepsake{h.rules[i].ProjectID, unit, k.rules[i], e.encode()})
		}
		if o := h.merge(i); o.decided() {
			put(k.whole, entryOf(&o))
		}
		for _, v := range views {
			if h.orders() != "" {
				break
			}
			h.keepUnits(&v, func(u int, e entry) { put(k.units[u], e) })
		}
	}
	if len(list) > 0 {
		h.source.keep(h, list)
	}
}

// keepUnits puts what a session found out about single units.
func (h *hearing) keepUnits(v *view, put func(unit int, e entry)) {
	shown := v.s.group.parts[v.s.part].units
	if !v.o.decided() {
		return
	}
	switch v.o.verdict {
	case rule.Allow:
		if !v.o.together {
			for _, u := range shown {
				put(u, entry{Verdict: string(rule.Allow), Passes: v.o.passes, Agreed: v.o.agreed})
			}
		}
	case rule.Deny:
		if v.o.together { // another hunk may come to make good for it
			return
		}
		denied := h.deniedUnits(&v.o)
		for _, u := range shown {
			if quotes := denied[u]; len(quotes) > 0 {
				e := entryOf(&v.o)
				e.Quotes = quotes
				put(u, e)
			} else if len(denied) > 0 {
				put(u, entry{Verdict: seen})
			}
		}
	case rule.NeedsConfirmation:
	}
}

// deniedUnits tells by unit what a denial quotes of it. It is empty unless every quote stands in a unit, and nothing is
// said to be missing.
func (h *hearing) deniedUnits(o *outcome) map[int][]quote {
	if o.absence != "" || slices.ContainsFunc(o.evidence, func(e rule.Evidence) bool { return e.Line == 0 }) {
		return nil
	}
	out := map[int][]quote{}
	for _, e := range o.evidence {
		u := h.docket.unitAt(e.FilePath, e.Line)
		if u < 0 {
			return nil
		}
		out[u] = append(out[u], quote{Quote: e.Quote, File: e.FilePath})
	}
	return out
}
