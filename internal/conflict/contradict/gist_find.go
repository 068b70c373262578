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
	if a.turned != b.turned && a.clause.Bounded(norm.InPredicate) && p.clause.Force != norm.Permit {
		return Finding{}, false // to delete after 30 days is to keep for at most 30 days
	}
	lacking := p.clause.Force == norm.Permit && len(p.clause.Without) > 0 && len(more) < 2 && len(forbidden) == 0 // is done without
	switch {
	case !sameAct(d, p) || !sameAct(p, d), !sameDoing(d, p), p.clause.Force != norm.Permit && actsAlone(p, d):
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
	if t := g.head(); t != nil {
		return t.key
	}
	return ""
}

// head returns the act of a clause; nil for one without.
func (g *gist) head() *term {
	if i := slices.IndexFunc(g.terms, func(t term) bool { return t.head }); i >= 0 {
		return &g.terms[i]
	}
	return nil
}

// sameDoing reports whether two clauses are about the same act, and not only about the same thing: who must not take gifts may have to report them.
func sameDoing(a, b *gist) bool {
	x, y := a.head(), b.head()
	first, second := x != nil && !x.weak, y != nil && !y.weak
	switch {
	case first && second:
		return x.key == y.key || likened(a, b, x, y) || a.also(y) || b.also(x)
	case first:
		return b.does(x)
	case second:
		return a.does(y)
	case x != nil && y != nil:
		return x.key == y.key
	}
	return true
}

// also reports whether an act is the second one of a clause.
func (g *gist) also(act *term) bool {
	at := g.has(act)
	return at >= 0 && g.terms[at].also
}

// does reports whether a clause names an act by a noun and a verb that adds nothing to it: "take minutes", and not "use copies".
func (g *gist) does(act *term) bool {
	head := g.head()
	return g.has(act) >= 0 && (head == nil || light[head.key] || g.turned || g.also(act))
}

// light are the compared forms of verbs that add nothing to a noun for an act.
var light = func() map[string]bool {
	out := map[string]bool{"hold": true} // and what concepts.txt joins with it
	for w := range strings.FieldsSeq("take make do give get receive require need place") {
		out[w], out[norm.Key(w)] = true, true
	}
	delete(out, "")
	return out
}()

// measures reports whether two clauses measure the same: to keep a thing at a temperature and to serve it at another are two acts.
func measures(a, b *gist) bool {
	x, y := a.head(), b.head()
	switch {
	case x == nil || y == nil:
		return true
	case x.opposed != y.opposed && x.key == y.key:
		return false
	case x.weak && !y.weak:
		return a.has(y) >= 0
	case y.weak && !x.weak:
		return b.has(x) >= 0
	}
	return true
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
	if a.turned || b.turned || m.apart(a, b) != 0 || !measures(a, b) || norm.Rate(a.clause) != norm.Rate(b.clause) {
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
	for line := range a.values {
		if _, ok := b.values[line]; !ok {
			n++
		}
	}
	for line := range b.values {
		if _, ok := a.values[line]; !ok {
			n++
		}
	}
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
	x, y := a.values[line], b.values[line]
	if more > 1 || x.place == norm.InSubject || y.place == norm.InSubject || x.describes || y.describes {
		return Finding{}, false
	}
	if !(a.all() || b.all()) || !a.all() && b.clause.Force == norm.Permit || !b.all() && a.clause.Force == norm.Permit || !a.chosen() || !b.chosen() {
		return Finding{}, false
	}
	return Finding{Value, quoted(a.clause) + " and " + quoted(b.clause) + " cannot both be kept", m.sureness(a, b), [2][]norm.Span{{x.Span}, {y.Span}}}, true
}

// all reports whether a clause says of all things of a kind how they are: "Reports are submitted in English". "Publish the report in English" leaves room for
// a second one in German.
func (g *gist) all() bool {
	return g.clause.Force != norm.Permit && (g.clause.Passive || g.clause.Head == "" || g.valued())
}

// valued reports whether the act of a clause is a value: "API dates are ISO 8601 strings".
func (g *gist) valued() bool {
	for _, v := range g.values {
		if v.head {
			return true
		}
	}
	return false
}

// chosen reports whether the act of a clause is one that a thing undergoes once. What is accepted, sent or tested in one way can be in another, too.
func (g *gist) chosen() bool {
	t := g.head()
	return t == nil || t.weak || undergone[t.key]
}

// undergone are the keys of acts that a thing undergoes once.
var undergone = map[string]bool{
	"approve": true, "pay": true, "sign": true, "store": true, "name": true, "indent": true, "represent": true, norm.Key("write"): true, norm.Key("build"): true,
	norm.Key("implement"): true, norm.Key("submit"): true, norm.Key("sort"): true, norm.Key("round"): true,
}

// often finds the same done at different intervals.
func (m *matching) often(a, b *gist) (Finding, bool) {
	if a.negative || b.negative || !a.periodic() || !b.periodic() || len(m.left)+len(m.right) > 0 || m.apart(a, b) != 0 || !measures(a, b) {
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
