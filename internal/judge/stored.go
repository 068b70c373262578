package judge

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"tenet/internal/ledger"
	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// storedVerdict is a verdict as the cache stores it: what the model said, in a form that holds without line numbers. When it
// is used again, the server looks for its quotes in the subject like for those of a fresh answer.
//
// It is stored under the hash of a unit if that unit alone gives the verdict, and under the hash of the whole:
//
//	unit    ALLOW that does not rest on several places, of a call that showed no text beside that unit; DENY that does not either and whose quotes all occur in units;
//	        shownOnly, where a DENY quotes other units that were shown with it
//	whole   every verdict that the model gave
//
// The cache never stores verdicts that nothing decided (faults, timeouts, unproven denials), those of a fallback model, which
// are good for as long as the first model cannot be asked. Of a subject that addresses the judge or reads like an order it stores the
// whole alone, and a doubt in place of an ALLOW that does not count: the text decides nothing about other subjects, and the same subject
// has the same verdict again.
type storedVerdict struct {
	Verdict   string  `json:"v"`
	Reasoning string  `json:"r,omitempty"`
	Issue     string  `json:"i,omitempty"`
	Fix       string  `json:"f,omitempty"`
	Quotes    []quote `json:"q,omitempty"`
	Absence   string  `json:"a,omitempty"`
	Passes    int     `json:"n,omitempty"`
	Agreed    int     `json:"k,omitempty"`
}

// shownOnly is the verdict of a unit that was shown while another was denied.
const shownOnly = "seen"

// storedVerdictOf returns the stored form of an outcome of the whole.
func storedVerdictOf(o *outcome) storedVerdict {
	v := storedVerdict{
		Verdict: words[o.finding], Reasoning: o.reasoning, Issue: o.issue, Fix: o.fix, Absence: o.absence, Passes: o.passes, Agreed: o.agreed,
	}
	for _, q := range o.quotes {
		if strings.TrimSpace(q.Quote) != "" {
			v.Quotes = append(v.Quotes, q)
		}
	}
	return v
}

// decodeVerdict reads a stored verdict. An unreadable one counts as missing.
func decodeVerdict(entry string) (v storedVerdict, ok bool) {
	if json.Unmarshal([]byte(entry), &v) != nil {
		return v, false
	}
	switch rule.Verdict(v.Verdict) {
	case rule.Allow, rule.Deny, rule.NeedsConfirmation:
		return v, v.Passes > 0 && v.Agreed > 0 && v.Agreed <= v.Passes
	}
	return v, v.Verdict == shownOnly
}

// outcome weighs a stored verdict on the subject at hand. It fails if the verdict does not hold there.
func (v *storedVerdict) outcome(d *decision) (outcome, bool) {
	together := true
	o := weigh(d.subject, &d.layout, &answer{
		Verdict: rule.Verdict(v.Verdict), Evidence: v.Quotes, Absence: v.Absence, Reasoning: v.Reasoning, Issue: v.Issue, Fix: v.Fix, Together: &together,
	})
	if words[o.finding] != v.Verdict {
		return o, false
	}
	o.by, o.passes, o.agreed = rule.ByCache, v.Passes, v.Agreed
	return o, true
}

// cacheKeys are the keys of the verdicts that the cache may hold for a decision.
type cacheKeys struct {
	whole string
	units []string
	rules []string
}

// cacheKeys hashes what verdicts depend on: prompt version and model, what every part shows, and the unit or all units; and
// the content of the rule with the model that confirms it.
func (d *decision) cacheKeys() *cacheKeys {
	k := unitKeys(PromptVersionOf(d.plan.profile), d.plan.model, &d.layout)
	k.rules = make([]string, len(d.rules))
	for i, r := range d.rules {
		confirm := ""
		if r.Severity == rule.Critical {
			confirm = firstModel(d.plan.confirm)
		}
		k.rules[i] = hashed(d.contents[i], confirm)
	}
	return k
}

// storedUnder returns the keys of stored verdicts as a record holds them.
func storedUnder(d *decision) wire.StoredUnder {
	out := wire.StoredUnder{Units: append([]string{d.keys.whole}, d.keys.units...), Rules: make([]wire.StoredRule, len(d.rules))}
	for i, unit := range out.Units {
		out.Units[i] = d.j.placed(ownUnit(d.caller, unit))
	}
	for i, r := range d.rules {
		out.Rules[i] = wire.StoredRule{RuleID: r.ID, Key: d.keys.rules[i]}
	}
	return out
}

// unitKeys hashes the units of a layout, and all of them, with the prompt version and the first model.
func unitKeys(version, model string, l *layout) *cacheKeys {
	k := &cacheKeys{units: make([]string, len(l.units))}
	base := hashed(version, firstModel(model), l.lead)
	var whole []byte
	for i := range l.units {
		content := l.units[i].content[:]
		k.units[i] = hashed(base, "unit", string(content))
		whole = append(whole, content...)
	}
	k.whole = hashed(base, "whole", "whole"+string(whole))
	return k
}

// hashed returns the SHA-256 of texts that cannot run into one another.
func hashed(texts ...string) string {
	var b []byte
	for _, s := range texts {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// takeStored takes the stored verdicts of each rule and notes which units the model has to see.
func (d *decision) takeStored(k *cacheKeys, find lookup) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, r := range d.rules {
		get := func(unit string) (storedVerdict, string) {
			entry, _ := find(r.ProjectID, unit, k.rules[i])
			v, ok := decodeVerdict(entry)
			if !ok {
				v.Verdict = ""
			}
			return v, entry
		}
		take := func(unit, entry string) {
			u := wire.ReusedVerdict{RuleID: r.ID, Unit: unit, Rule: k.rules[i], Entry: entry}
			if len(d.reused) == 0 {
				u.Seed, u.Plan = hex.EncodeToString(d.seed[:]), d.plan.String()
			}
			d.reused = append(d.reused, u)
		}
		if v, entry := get(k.whole); v.Verdict != "" && v.Verdict != shownOnly {
			if o, ok := v.outcome(d); ok {
				d.states[i].whole = &o
				take(k.whole, entry)
				continue
			}
		}
		d.takeUnits(i, k.units, get, take)
	}
}

// takeUnits takes the stored verdicts of rule i on single units.
func (d *decision) takeUnits(i int, units []string, get func(unit string) (storedVerdict, string), take func(unit, entry string)) {
	st := &d.states[i]
	entries := make([]string, len(units))
	var shown []int // while another unit was denied
	for u, unit := range units {
		v, entry := get(unit)
		entries[u] = entry
		switch {
		case v.Verdict == words[ledger.Kept]:
			st.allowedUnits++
			take(unit, entry)
		case v.Verdict == shownOnly:
			shown = append(shown, u)
		case v.Verdict == string(rule.Deny) && st.takeDenial(d, &v, u):
			take(unit, entry)
		default:
			st.need = append(st.need, u)
		}
	}
	if len(st.denied) == 0 { // the unit denied then is gone, so the model must judge those shown with it
		st.need = append(st.need, shown...)
		slices.Sort(st.need)
		return
	}
	for _, u := range shown {
		take(units[u], entries[u])
	}
}

// takeDenial takes the stored denial of a unit, if one of its quotes still occurs in that unit.
func (st *ruleState) takeDenial(d *decision, v *storedVerdict, unit int) bool {
	o, ok := v.outcome(d)
	if !ok || !slices.ContainsFunc(o.locations, func(l rule.Location) bool { return d.layout.unitAt(l.FilePath, l.StartLine) == unit }) {
		return false
	}
	st.denied = append(st.denied, o)
	return true
}

// store hands the verdicts of this decision to the cache; see storedVerdict for which.
func (d *decision) store(k *cacheKeys, epochs map[string]int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []store.Verdict
	found, _ := addressed(d)
	found = found || d.injection() != ""
	for i := range d.rules {
		views := d.viewsOf(i)
		if len(views) == 0 || slices.ContainsFunc(views, func(v view) bool { return v.b.fallback }) {
			continue
		}
		put := func(unit string, v storedVerdict) {
			list = append(list, store.Verdict{ProjectID: d.rules[i].ProjectID, Unit: unit, Rule: k.rules[i], Entry: llm.JSON(v), Epoch: epochs[d.rules[i].ProjectID]})
		}
		o, open := d.merge(i), false
		if o.decided() {
			if o.finding == ledger.Kept {
				if doubted := withhold(d, i, o); !doubted.decided() {
					open = !found // whether its text addresses the judge is asked again
					o.finding, o.reasoning, o.issue = ledger.Doubtful, doubted.reasoning, doubted.issue
				}
			}
			if !open {
				put(k.whole, storedVerdictOf(&o))
			}
		}
		if found || d.instruction() != "" {
			continue
		}
		for _, v := range views {
			stored := v.unitVerdicts(&d.layout)
			if open && v.o.finding == ledger.Kept {
				continue
			}
			for _, u := range slices.Sorted(maps.Keys(stored)) {
				put(k.units[u], stored[u])
			}
		}
	}
	if len(list) > 0 {
		d.source.store(list)
	}
}

// unitVerdicts returns what a batch found about single units, by unit.
func (v *view) unitVerdicts(l *layout) map[int]storedVerdict {
	out := map[int]storedVerdict{}
	if !v.o.decided() || v.o.together { // another hunk may yet make good for one place of several
		return out
	}
	shown := v.b.group.parts[v.b.part].units
	switch v.o.finding {
	case ledger.Kept:
		for _, u := range l.uninfluenced(shown) {
			out[u] = storedVerdict{Verdict: words[ledger.Kept], Passes: v.o.passes, Agreed: v.o.agreed}
		}
	case ledger.Broken:
		denied := l.deniedUnits(&v.o)
		for _, u := range shown {
			if quotes := denied[u]; len(quotes) > 0 {
				e := storedVerdictOf(&v.o)
				e.Quotes = quotes
				out[u] = e
			} else if len(denied) > 0 {
				out[u] = storedVerdict{Verdict: shownOnly}
			}
		}
	default:
	}
	return out
}

// uninfluenced returns those of the units that a call showed whose ALLOW nothing else can have brought about: where no other unit
// says anything. A note in one file could talk a model into allowing another file, for everybody who has that file.
func (l *layout) uninfluenced(shown []int) []int {
	if slices.ContainsFunc(l.top, func(u unit) bool { return u.speaks() }) {
		return nil
	}
	var speaking []int
	for _, i := range shown {
		if l.units[i].speaks() {
			speaking = append(speaking, i)
		}
	}
	switch len(speaking) {
	case 0:
		return shown
	case 1:
		return speaking
	}
	return nil
}

// speaks reports whether a unit holds text that may say something to a reader; its file's name counts.
func (u *unit) speaks() bool {
	_, texts := u.masked(marks[0])
	return len(texts) > 0 || u.masking != u.head
}

// deniedUnits returns by unit what a denial quotes of it. It is empty unless every quote occurs in a unit, and nothing is
// said to be missing.
func (l *layout) deniedUnits(o *outcome) map[int][]quote {
	if o.absence != "" || slices.ContainsFunc(o.evidence, func(e rule.Evidence) bool { return e.Line == 0 }) {
		return nil
	}
	out := map[int][]quote{}
	for _, e := range o.evidence {
		u := l.unitAt(e.FilePath, e.Line)
		if u < 0 {
			return nil
		}
		out[u] = append(out[u], quote{Quote: e.Quote, File: e.FilePath})
	}
	return out
}
