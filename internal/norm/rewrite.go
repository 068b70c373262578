package norm

import (
	"math"
	"slices"
	"strings"
	"sync"

	"tenet/internal/lexicon"
)

// granted writes "have 72 hours to report" as "must report within 72 hours".
func granted(part []word) []word {
	for i := 1; i+4 < len(part); i++ {
		if (part[i].text != "have" && part[i].text != "has") || part[i+3].text != "to" || units()[part[i+2].text].unit != "time" {
			continue
		}
		if _, _, ok := numberOf(part[i+1].text); !ok {
			continue
		}
		out := append(slices.Clone(part[:i+1]), part[i+4:]...)
		out[i].text = "must"
		last := &out[len(out)-1]
		within := word{text: "within", from: part[i+1].from, to: part[i+1].from}
		amount, unit := part[i+1], part[i+2]
		unit.end, last.end = last.end, 0
		return append(out, within, amount, unit)
	}
	return part
}

// reserved writes "Signing is reserved for managers" as "only managers may signing": who alone may do what.
func reserved(part []word) []word {
	for i := 1; i+3 < len(part); i++ {
		if !isBe(part[i].text) || part[i+1].text != "reserved" || part[i+2].text != "for" {
			continue
		}
		at := func(text string, w word) word { return word{text: text, from: w.from, to: w.from} }
		out := append([]word{at("only", part[i+3])}, part[i+3:]...)
		out[len(out)-1].end = 0
		return append(append(out, at("may", part[0])), part[:i]...)
	}
	return part
}

// conditions are adjectives for how things may be kept.
var conditions = list("open closed shut locked unlocked on off enabled disabled encrypted unencrypted secret confidential private public visible hidden clean")

// inState writes "Doors stay closed" and "Keep doors closed" as "Doors must be closed".
func inState(part []word) []word {
	n := len(part)
	if n < 3 || !conditions[part[n-1].text] || part[n-1].code {
		return part
	}
	switch before := part[n-2].text; {
	case before == "remain" || before == "remains" || before == "stay" || before == "stays" || before == "kept" && n > 3 && isBe(part[n-3].text):
		out := slices.Clone(part)
		if out[n-2].text = "be"; before == "kept" {
			return append(out[:n-2], out[n-1])
		}
		if modals[part[n-3].text] != 0 || part[n-3].text == "not" {
			return out
		}
		must := word{text: "must", from: part[n-2].from, to: part[n-2].from}
		return slices.Insert(out, n-2, must)
	case part[0].text == "keep":
		at := func(text string) word { return word{text: text, from: part[0].from, to: part[0].to} }
		out := append(slices.Clone(part[1:n-1]), at("must"), at("be"))
		return append(out, part[n-1])
	}
	return part
}

// sufficing writes "One signature is enough for orders" as "orders may have one signature".
func sufficing(part []word) []word {
	for i := 1; i+1 < len(part); i++ {
		rest := 0
		switch t := part[i].text; {
		case (t == "suffices" || t == "suffice") && part[i+1].text == "for":
			rest = i + 2
		case isBe(t) && i+2 < len(part) && (part[i+1].text == "enough" || part[i+1].text == "sufficient") && part[i+2].text == "for":
			rest = i + 3
		}
		if rest == 0 || rest >= len(part) || slices.ContainsFunc(part, func(w word) bool { return w.text == "not" }) {
			continue
		}
		out := slices.Clone(part[rest:])
		end := out[len(out)-1].end
		out[len(out)-1].end = 0
		at := func(text string) word { return word{text: text, from: part[i].from, to: part[rest-2].to} }
		out = append(out, at("may"), at("have"))
		out = append(out, part[:i]...)
		out[len(out)-1].end = end
		return out
	}
	return part
}

// numbered takes a number of people or things that a clause begins with for a bound of what it says: "No more than three people may use the lift"
// has the limit of "The lift must be used by at most three people", and "Up to five people may use it" allows five.
func (c *Clause) numbered(words []placed) {
	if len(c.Quantities) == 0 || len(words) == 0 || c.Negative {
		return
	}
	q := &c.Quantities[0]
	if q.Place != InSubject || q.From != words[0].from || !strings.HasPrefix(q.Unit, "number of ") || math.IsInf(q.Lo, 0) && math.IsInf(q.Hi, 0) {
		return
	}
	q.Place = InPredicate
	if c.Own.Force == Permit && q.Lo != q.Hi && !strings.HasPrefix(q.Text, "up to") {
		c.Own.Force = Require
	}
}

// retain writes "delete after 30 days" as "keep at most 30 days", so that it can be compared with how long something is to be kept.
func (c *Clause) retain() {
	c.hours()
	if c.Head == stores() && slices.ContainsFunc(c.Quantities, func(q Quantity) bool { return q.Unit == "time" && q.Place == InPredicate && q.lasting }) {
		c.Head = keeps()
		return
	}
	if c.Head != deletes() {
		return
	}
	for i := range c.Quantities {
		q := &c.Quantities[i]
		if q.Unit != "time" || q.Place != InPredicate {
			continue
		}
		if q.Lo == q.Hi {
			q.Lo = math.Inf(-1)
		}
		c.Head = keeps()
		return
	}
}

// hours writes "closes at 22:00" as "is open until 22:00".
func (c *Clause) hours() {
	if c.Negative {
		return
	}
	for i := range c.Quantities {
		q := &c.Quantities[i]
		switch {
		case q.Unit != clock:
		case c.Head == closes() && q.Lo == q.Hi:
			c.Head, q.Lo, q.closing = opens(), math.Inf(-1), true
			return
		case c.Head == opens() && strings.HasPrefix(q.Text, "until "):
			q.closing = true
		}
	}
}

// Hours reports whether one quantity says when something opens and the other when it closes, of which neither bounds the other: a bar may close
// after midnight.
func (q *Quantity) Hours(o *Quantity) bool {
	opening := func(q *Quantity) bool { return q.Unit == clock && (q.Lo == q.Hi || math.IsInf(q.Hi, 1)) }
	return q.closing && opening(o) || o.closing && opening(q)
}

var (
	closes  = sync.OnceValue(func() string { return Key("close") })
	opens   = sync.OnceValue(func() string { return Key("open") })
	deletes = sync.OnceValue(func() string { return Key("delete") })
	stores  = sync.OnceValue(func() string { return Key("store") })
	keeps   = sync.OnceValue(func() string { return Key("keep") })
)

// maxDeprived bounds the words of a clause for what it denies to be read as a demand of its own.
const maxDeprived = 20

// deprived returns what a clause says by the way of a participle that is denied: what may be stored unencrypted need not be encrypted.
func (c *Clause) deprived() (Clause, bool) {
	if len(c.words) > maxDeprived {
		return Clause{}, false
	}
	for i := range c.words {
		w := &c.words[i]
		if w.place != InPredicate || w.used || w.code {
			continue
		}
		base := denied(w.text)
		if base == "" || c.Head == base || c.Own.Negative {
			continue
		}
		d := *c
		d.all = nil
		d.Head, d.Conditional, d.Passive = base, false, true
		d.Predicate = Set{}
		if len(c.Subject) == 0 {
			d.Predicate = union(c.Predicate)
			delete(d.Predicate, base)
		}
		d.Quantities = nil
		return d, len(d.Words()) > 1
	}
	return Clause{}, false
}

// denied returns the compared form of what a participle or an adjective with a negative prefix denies, such as encrypted of unencrypted and
// reversible of irreversible.
func denied(w string) string {
	if strings.HasSuffix(w, "ity") || strings.HasSuffix(w, "ness") || strings.HasSuffix(w, "ion") {
		return "" // inactivity is a thing, and denies nothing
	}
	for _, prefix := range []string{"un", "non-", "in", "im", "ir", "il"} {
		rest, ok := strings.CutPrefix(w, prefix)
		if !ok || len(rest) < 4 {
			continue
		}
		if prefix == "non-" || len(rest) > 4 && prefix == "un" && lexicon.Done(rest) {
			return Key(rest)
		}
		if verb, _ := lexicon.Verb(w); !verb && lexicon.Opposite(w, rest) { // to unlock is a deed of its own
			return Key(rest)
		}
	}
	return ""
}
