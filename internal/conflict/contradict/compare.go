package contradict

import (
	"fmt"
	"slices"
	"strings"
)

// forces finds a demand or permission for what the other clause forbids.
func forces(a, b *clause) (Finding, bool) {
	if a.negative == b.negative {
		return Finding{}, false
	}
	d, p := a, b // the demand and the prohibition
	if a.negative {
		d, p = b, a
	}
	if p.force < require && d.force < require {
		if p.force == permit || d.force == permit {
			return Finding{}, false // what is discouraged may be allowed
		}
	}
	if p.force == recommend && d.force == permit || !sameHead(d, p) || !conditionsMeet(d, p) || !sameLimits(d, p) {
		return Finding{}, false
	}
	dw, pw := d.words(), p.words()
	least := 2 // words, or it is not clear what either speaks of
	if d.head == "" || p.head == "" {
		least = 1 // to use a thing is the least that one can do with it
		delete(dw, "use")
		delete(pw, "use")
	}
	if len(pw) < least || len(dw) < least {
		return Finding{}, false
	}
	confidence := 0.0
	missing := pw.minus(dw)
	switch {
	case len(missing) == 0 && len(pw) == len(dw):
		confidence = .95
	case hasIn(d, inPredicate): // the same number for other things
		return Finding{}, false
	case d.conditional || p.conditional:
		return Finding{}, false // how a thing is done says nothing about whether it is
	case len(missing) == 0:
		confidence = .8
	case dw.within(pw) && within(missing, p.subject):
		confidence = .7 // of fewer things than are demanded
	default:
		return Finding{}, false
	}
	switch {
	case d.force == permit:
		confidence *= .8
	case d.force == recommend || p.force == recommend:
		confidence *= .85
	}
	return Finding{Force, fmt.Sprintf("%s %s what %s forbids", d.quoted(), d.verb(), p.quoted()), confidence}, true
}

func (c *clause) verb() string {
	switch c.force {
	case permit:
		return "allows"
	case recommend:
		return "recommends"
	default:
		return "demands"
	}
}

func within(words []string, s set) bool {
	for _, w := range words {
		if !s[w] {
			return false
		}
	}
	return true
}

// sameHead reports whether two clauses are about doing the same: the heads are equal, or one only names the thing.
func sameHead(a, b *clause) bool {
	vague := func(h string) bool { return h == "" || h == "use" }
	return a.head == b.head || (a.head == "" && vague(b.head)) || (b.head == "" && vague(a.head))
}

// conditionsMeet reports whether the numbers that two clauses begin to hold at leave anything that both hold for. Numbers of
// different units say nothing of each other.
func conditionsMeet(a, b *clause) bool {
	for i := range a.quantities {
		for j := range b.quantities {
			x, y := &a.quantities[i], &b.quantities[j]
			if x.place != inPredicate && y.place != inPredicate && x.unit == y.unit && x.apart(y.interval) {
				return false
			}
		}
	}
	return true
}

// sameLimits reports whether two clauses bound what they speak of by the same numbers, or by none. Other numbers are for [limits].
func sameLimits(a, b *clause) bool {
	inside := func(c *clause) []quantity {
		return slices.DeleteFunc(slices.Clone(c.quantities), func(q quantity) bool { return q.place != inPredicate })
	}
	return slices.EqualFunc(inside(a), inside(b), func(x, y quantity) bool { return x.unit == y.unit && x.interval == y.interval })
}

func hasIn(c *clause, p place) bool {
	for i := range c.quantities {
		if c.quantities[i].place == p {
			return true
		}
	}
	return false
}

// limit returns the quantity by which a clause bounds something, with negations resolved; false for none or several.
func (c *clause) limit() (quantity, bool) {
	var found []quantity
	for _, q := range c.quantities {
		if q.place == inPredicate {
			found = append(found, q)
		}
	}
	if len(found) != 1 || c.force == permit {
		return quantity{}, false
	}
	q := found[0]
	if c.negative {
		other, ok := q.not()
		if !ok {
			return quantity{}, false
		}
		q.interval = other
	}
	return q, true
}

// limits finds different numbers for the same limit.
func limits(a, b *clause) (Finding, bool) {
	x, ok := a.limit()
	y, also := b.limit()
	if !ok || !also || x.unit != y.unit || !conditionsMeet(a, b) {
		return Finding{}, false
	}
	aw, bw := limited(a), limited(b)
	same := len(aw) == len(bw) && aw.within(bw)
	confidence := 0.0
	switch {
	case len(aw) == 0 || len(bw) == 0:
		return Finding{}, false
	case x.apart(y.interval) && same:
		confidence = .95
	case x.apart(y.interval) && x.lo != x.hi && y.lo != y.hi && a.head == b.head && (aw.within(bw) || bw.within(aw)):
		confidence = .75
	case same && x.differs(y.interval):
		confidence = .8
	default:
		return Finding{}, false
	}
	if a.force == recommend || b.force == recommend {
		confidence *= .85
	}
	return Finding{Limit, fmt.Sprintf("%s and %s set different limits: %s, and %s", a.quoted(), b.quoted(), x.text, y.text), confidence}, true
}

// limited returns the words for which a limit is set, without those that only measure.
func limited(c *clause) set {
	out := set{}
	for w := range c.words() {
		if !measured[w] {
			out[w] = true
		}
	}
	return out
}

// measured are the stems of verbs and nouns between a thing and its limit.
var measured = func() map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq("have contain take last be stay keep limit set configure exceed length size duration age time use allow maximum minimum number expire " +
		"long old long-lived complete respond finish be of valid live") {
		out[word{text: w}.key()] = true
		out[stemOf(w)] = true
	}
	delete(out, "")
	return out
}()

// thresholds finds demands of the same that begin to hold at different numbers.
func thresholds(a, b *clause) (Finding, bool) {
	if a.negative != b.negative || a.head != b.head || len(a.quantities) != len(b.quantities) || a.force == permit || b.force == permit {
		return Finding{}, false
	}
	aw, bw := a.words(), b.words()
	if len(aw) != len(bw) || !aw.within(bw) || len(aw) < 2 {
		return Finding{}, false
	}
	different := -1
	for i := range a.quantities {
		x, y := &a.quantities[i], &b.quantities[i]
		switch {
		case x.place != y.place || x.unit != y.unit:
			return Finding{}, false
		case x.interval == y.interval:
		case different >= 0 || x.place == inPredicate || x.apart(y.interval) || !x.differs(y.interval):
			return Finding{}, false
		default:
			different = i
		}
	}
	if different < 0 {
		return Finding{}, false
	}
	x, y := a.quantities[different], b.quantities[different]
	return Finding{Threshold, fmt.Sprintf("%s and %s demand the same from different numbers on: %s, and %s", a.quoted(), b.quoted(), x.text, y.text), .7}, true
}

// values finds demands that differ only in a value, of which a thing can have one only.
func values(a, b *clause) (Finding, bool) {
	if a.negative || b.negative || a.force == permit || b.force == permit || len(a.quantities)+len(b.quantities) > 0 {
		return Finding{}, false
	}
	aw, bw := a.words(), b.words()
	left, right := aw.minus(bw), bw.minus(aw)
	isMeasure := func(w string) bool { return measured[w] } // as in local time
	left, right = slices.DeleteFunc(left, isMeasure), slices.DeleteFunc(right, isMeasure)
	if len(left) != 1 || len(right) != 1 || len(aw) < 2 || a.subject[left[0]] || b.subject[right[0]] {
		return Finding{}, false
	}
	line, other := exclusive[left[0]], exclusive[right[0]]
	if line == 0 || line != other {
		return Finding{}, false
	}
	confidence := .85
	if a.force == recommend || b.force == recommend {
		confidence *= .85
	}
	return Finding{Value, fmt.Sprintf("%s and %s cannot both be kept", a.quoted(), b.quoted()), confidence}, true
}
