package contradict

import (
	"math"
	"slices"
	"strings"

	"tenet/internal/norm"
)

// sureness is the confidence of a finding about clauses that share all terms, or have some of their own.
func (m *matching) sureness(a, b *gist) float64 {
	c := .65
	if len(m.left)+len(m.right) > 0 {
		c = .55
	}
	if a.clause.Force == norm.Recommend || b.clause.Force == norm.Recommend {
		c *= .85
	}
	return c
}

// forces finds a demand or permission of what the other clause forbids or waives.
func (m *matching) forces(a, b *gist) (Finding, bool) {
	if a.negative == b.negative || len(a.values) > 0 && len(b.values) > 0 && m.apart(a, b) != 0 {
		return Finding{}, false
	}
	d, p, more, forbidden := a, b, m.left, m.right
	if a.negative {
		d, p, more, forbidden = b, a, m.right, m.left
	}
	if d.clause.Force == norm.Permit && p.clause.Force != norm.Require || p.clause.Force == norm.Permit && d.clause.Force != norm.Require {
		return Finding{}, false
	}
	if !conditionsMeet(a.clause, b.clause) || p.clause.Force != norm.Permit && !sameLimits(d.clause, p.clause) || d.period != p.period && p.periodic() {
		return Finding{}, false
	}
	lacking := p.clause.Force == norm.Permit && len(p.clause.Without) > 0 && len(more) < 2 && len(forbidden) == 0 // is done without
	switch {
	case !sameAct(d, p) || !sameAct(p, d), p.clause.Force != norm.Permit && actsAlone(p, d):
		return Finding{}, false
	case d.clause.Conditional || p.clause.Conditional && len(more)+len(forbidden) > 0 && !lacking:
		return Finding{}, false
	case len(forbidden) > 0 && (p.clause.Force != norm.Permit || slices.ContainsFunc(forbidden, func(t term) bool { return t.place == norm.InPredicate })):
		return Finding{}, false
	case len(more) > 2 || len(forbidden) > 2 || len(more) > 0 && d.clause.PartOf(p.clause.Words()):
		return Finding{}, false
	}
	for line, v := range p.values { // how, where or when it is forbidden
		if _, ok := d.values[line]; !ok || (v.key == "=beforehand" || v.key == "=afterwards") && d.act() != p.act() {
			return Finding{}, false
		}
	}
	for line := range d.values {
		if _, ok := p.values[line]; !ok && p.clause.Force == norm.Permit && !lacking {
			return Finding{}, false
		}
	}
	denies := "forbids"
	if p.clause.Force == norm.Permit {
		denies = "does not demand"
	}
	return Finding{Force, quoted(d.clause) + " " + verb(d.clause) + " what " + quoted(p.clause) + " " + denies + ", in other words", m.sureness(a, b), [2][]norm.Span{polarity(a.clause), polarity(b.clause)}}, true
}

// sameAct reports whether the act of a clause is one of another, and does not only describe its subject: "Exported functions must have comments" speaks
// of no act of exporting.
func sameAct(a, b *gist) bool {
	head := slices.IndexFunc(a.terms, func(t term) bool { return t.head && !t.weak })
	if head < 0 || b.clause.Named || b.clause.Head == "" {
		return true
	}
	return !slices.ContainsFunc(b.terms, func(t term) bool {
		return t.key == a.terms[head].key && t.place == norm.InSubject && !b.clause.Subject[b.clause.Head] && !t.head
	})
}

// act returns the key of the act of a clause; empty for one without.
func (g *gist) act() string {
	if i := slices.IndexFunc(g.terms, func(t term) bool { return t.head }); i >= 0 {
		return g.terms[i].key
	}
	return ""
}

// actsAlone reports whether a clause is for people, other than anybody, whom another does not name, while it names nobody either.
func actsAlone(g, o *gist) bool {
	if slices.ContainsFunc(o.terms, func(t term) bool { return t.actor }) {
		return false
	}
	return slices.ContainsFunc(g.terms, func(t term) bool {
		anybody := t.key == "person" || t.key == "employee" || t.key == "user"
		return t.actor && !anybody && !slices.ContainsFunc(o.terms, func(u term) bool { return u.key == t.key })
	})
}

// numbers finds different numbers for the same thing.
func (m *matching) numbers(a, b *gist) (Finding, bool) {
	if a.turned || b.turned {
		return Finding{}, false
	}
	x, y := single(a.clause), single(b.clause)
	more := m.things(a, b)
	if x == nil || y == nil || unit(x) != unit(y) || x.Hours(y) || !conditionsMeet(a.clause, b.clause) || more > 1 || a.periodic() || b.periodic() {
		return Finding{}, false
	}
	v, w := x.Interval, y.Interval
	var ok bool
	if a.negative {
		if v, ok = v.Not(); !ok {
			return Finding{}, false
		}
	}
	if b.negative {
		if w, ok = w.Not(); !ok {
			return Finding{}, false
		}
	}
	exact := v.Lo == v.Hi || w.Lo == w.Hi
	switch {
	case a.clause.Force == norm.Permit && !beyond(v, w), b.clause.Force == norm.Permit && !beyond(w, v):
		return Finding{}, false
	case a.clause.Force == norm.Permit || b.clause.Force == norm.Permit:
	case v.Apart(w) && (!exact || more == 0):
	case exact || !v.Differs(w) || more > 0:
		return Finding{}, false
	}
	reason := quoted(a.clause) + " and " + quoted(b.clause) + " set different limits: " + x.Text + ", and " + y.Text
	return Finding{Limit, reason, m.sureness(a, b), [2][]norm.Span{{x.Span}, {y.Span}}}, true
}

// things is the number of terms of one clause alone, without an act where the other clause only says how much of a thing is wanted: to pay a deposit of
// three months' rent, and that the deposit is two.
func (m *matching) things(a, b *gist) int {
	acts := func(g *gist) bool {
		return slices.ContainsFunc(g.terms, func(t term) bool { return t.head && !t.weak })
	}
	n := len(m.left) + len(m.right)
	if n == 1 && m.shared > 1 && slices.ContainsFunc(slices.Concat(m.left, m.right), func(t term) bool { return t.head }) && acts(a) != acts(b) {
		return 0
	}
	return n
}

// beyond reports whether a permission reaches over a bound.
func beyond(free, bound norm.Interval) bool {
	over := func(x, y float64) bool { return x > y && !math.IsInf(x, 0) && !math.IsInf(y, 0) }
	return over(free.Hi, bound.Hi) || over(bound.Lo, free.Lo)
}

// unit is the unit of a quantity; what is counted is a concept.
func unit(q *norm.Quantity) string {
	counted, ok := strings.CutPrefix(q.Unit, "number of ")
	if !ok {
		return q.Unit
	}
	if c, ok := concepts().compared[counted]; ok {
		return c.key
	}
	return counted
}

// apart returns a line of values of which the two clauses name different ones; 0 for none.
func (m *matching) apart(a, b *gist) int {
	for line, v := range a.values {
		if w, ok := b.values[line]; ok && v.key != w.key {
			return line
		}
	}
	return 0
}

// excluded finds values for the same thing of which only one can be.
func (m *matching) excluded(a, b *gist) (Finding, bool) {
	if a.negative || b.negative || len(a.clause.Quantities)+len(b.clause.Quantities) > 0 {
		return Finding{}, false
	}
	line := m.apart(a, b)
	if line == 0 {
		return Finding{}, false
	}
	more := len(m.left) + len(m.right)
	for other, v := range a.values {
		if w, ok := b.values[other]; !ok {
			more++
		} else if other != line && w.key != v.key {
			return Finding{}, false
		}
	}
	if more > 1 {
		return Finding{}, false
	}
	x, y := a.values[line], b.values[line]
	if x.place == norm.InSubject || y.place == norm.InSubject {
		return Finding{}, false
	}
	return Finding{Value, quoted(a.clause) + " and " + quoted(b.clause) + " cannot both be kept", m.sureness(a, b), [2][]norm.Span{{x.Span}, {y.Span}}}, true
}

// often finds the same done at different intervals.
func (m *matching) often(a, b *gist) (Finding, bool) {
	if a.negative || b.negative || !a.periodic() || !b.periodic() || len(m.left)+len(m.right) > 0 || m.apart(a, b) != 0 {
		return Finding{}, false
	}
	x, y := a.period, b.period
	if !x.Apart(y) || x.Lo == x.Hi && y.Lo == y.Hi && math.Abs(x.Lo-y.Lo) < x.Lo/10 { // a month has 28 days, or 31
		return Finding{}, false
	}
	reason := quoted(a.clause) + " and " + quoted(b.clause) + " want the same at different intervals"
	return Finding{Limit, reason, m.sureness(a, b), [2][]norm.Span{{a.often}, {b.often}}}, true
}

// alone finds that one clause reserves for some what the other gives to others.
func (m *matching) alone(a, b *gist) (Finding, bool) {
	if a.negative || b.negative || !a.clause.Only && !b.clause.Only || !m.strangers() || len(m.left)+len(m.right) > 0 || !quantitiesMeet(a.clause, b.clause) || m.apart(a, b) != 0 {
		return Finding{}, false
	}
	spans := func(list []term) (out []norm.Span) {
		for _, t := range list {
			out = append(out, t.Span)
		}
		return out
	}
	reason := quoted(a.clause) + " and " + quoted(b.clause) + " cannot both be kept: one leaves no room for the other"
	return Finding{Force, reason, m.sureness(a, b), [2][]norm.Span{spans(m.who[0]), spans(m.who[1])}}, true
}
