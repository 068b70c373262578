package contradict

import (
	"math"
	"slices"
	"strings"

	"tenet/internal/lexicon"
	"tenet/internal/norm"
)

// maxApart bounds the words that only one of two clauses has for their meanings to be compared: clauses that differ by more speak of
// different things.
const maxApart = 8

// align returns the second clause in the words of the first: where they mean the same, as doctors and physicians do, and where the acts are
// opposites, as to lock and to unlock are, it says the opposite and turned is set. kinds reports whether a word of one is a kind of a word of the
// other.
func align(a, b *norm.Clause) (aligned *norm.Clause, kinds, turned bool) {
	aw, bw := a.Words(), b.Words()
	left, right := aw.Minus(bw), bw.Minus(aw)
	if len(left) == 0 || len(right) == 0 || len(left) == len(aw) || len(left) > maxApart || len(right) > maxApart {
		return b, false, false
	}
	names := map[string]string{}
	for _, w := range right {
		form := b.Form(w)
		for _, o := range left {
			own := a.Form(o)
			head := w == b.Head && o == a.Head
			if head && alike[[2]string{o, w}] {
				names[w] = o
				break
			}
			if own == "" || form == "" || (w == b.Head) != (o == a.Head) && a.Head != "" && b.Head != "" {
				continue
			}
			switch {
			case lexicon.Same(own, form):
			case head && (lexicon.Opposite(own, form) || opposed[[2]string{o, w}]):
				turned = !turned
			case !head && general(a, b, o, w, own, form):
				kinds = true
			default:
				continue
			}
			names[w] = o
			break
		}
	}
	if len(names) == 0 {
		return b, false, false
	}
	out := b.Renamed(names, turned)
	return &out, kinds, turned
}

// opposed are acts of which one undoes the other, and alike are acts that come to the same, by how words are compared.
var (
	opposed = pairs("keep delete", "open close", "open lock", "open shut", "unlock shut")
	alike   = pairs("use contain", "store keep", "write contain", "put contain", "add contain", "record contain", "access use", "access enter", "give distribute", "give administer", "handle process", "handle answer")
)

func pairs(lines ...string) map[[2]string]bool {
	out := map[[2]string]bool{}
	for _, line := range lines {
		a, b, _ := strings.Cut(line, " ")
		a, b = norm.Key(a), norm.Key(b)
		out[[2]string{a, b}], out[[2]string{b, a}] = true, true
	}
	return out
}

// general reports whether the clause that forbids speaks of a kind of which the other one's word is one: what is forbidden for vehicles is
// forbidden for cars.
func general(a, b *norm.Clause, o, w, own, form string) bool {
	if a.Negative == b.Negative || a.Condition[o] || b.Condition[w] {
		return false
	}
	if a.Negative {
		return lexicon.Kind(form, own)
	}
	return lexicon.Kind(own, form)
}

// onlys finds demands of one act at different days, or of different people, of which one says "only".
func onlys(a, b *norm.Clause) (Finding, bool) {
	if a.Negative || b.Negative || !a.Only && !b.Only {
		return Finding{}, false
	}
	aw, bw := a.Words(), b.Words()
	reason := quoted(a) + " and " + quoted(b) + " cannot both be kept: one leaves no room for the other"
	x, y := day(a), day(b)
	if x != nil && y != nil && x.Apart(y.Interval) && (aw.Within(bw) || bw.Within(aw)) && len(aw) > 0 {
		return Finding{Value, reason, .8, [2][]norm.Span{{x.Span}, {y.Span}}}, true
	}
	for _, pair := range [][2]*norm.Clause{{a, b}, {b, a}} {
		few, other := pair[0], pair[1]
		fewWho, fewWhat := acts(few)
		otherWho, _ := acts(other)
		if !few.Only || len(fewWho) == 0 || len(otherWho) == 0 || few.Head == "" || few.Head != other.Head ||
			len(fewWhat) == 0 || !fewWhat.Within(other.Words()) || shares(fewWho, otherWho) || !quantitiesMeet(few, other) {
			continue
		}
		who := func(c *norm.Clause) []norm.Span {
			set, _ := acts(c)
			return c.Spans(func(key string) bool { return set[key] })
		}
		return Finding{Force, reason, .7, [2][]norm.Span{who(a), who(b)}}, true
	}
	return Finding{}, false
}

// acts returns the words for who acts in a clause and for what they act on; nobody where a passive clause does not say who.
func acts(c *norm.Clause) (who, what norm.Set) {
	if !c.Passive {
		return c.Subject, c.Predicate
	}
	return c.Agent, c.Subject
}

// places finds acts on the same thing of which one is inside and the other outside of a place: "must stay inside the EU".
func places(a, b *norm.Clause) (Finding, bool) {
	if a.Negative || b.Negative || a.Conditional || b.Conditional || len(a.Quantities)+len(b.Quantities) > 0 || len(a.Subject) == 0 ||
		!equal(substance(a.Subject), substance(b.Subject)) || a.Force == norm.Permit && b.Force == norm.Permit {
		return Finding{}, false
	}
	for _, two := range [][2]string{{"inside", "outside"}, {"indoors", "outdoors"}, {"online", "offline"}} {
		x, y := norm.Key(two[0]), norm.Key(two[1])
		if b.Predicate[x] {
			x, y = y, x
		}
		if !a.Predicate[x] || !b.Predicate[y] {
			continue
		}
		shared := false
		for w := range a.Predicate {
			shared = shared || w != a.Head && b.Predicate[w]
		}
		if !shared {
			return Finding{}, false
		}
		marks := [2][]norm.Span{a.Spans(func(key string) bool { return key == x }), b.Spans(func(key string) bool { return key == y })}
		return Finding{Value, quoted(a) + " and " + quoted(b) + " cannot both be kept: they name places of which only one can be", .6, marks}, true
	}
	return Finding{}, false
}

// day returns the days of the week at which a clause holds; nil for all.
func day(c *norm.Clause) *norm.Quantity {
	i := slices.IndexFunc(c.Quantities, func(q norm.Quantity) bool { return q.Unit == norm.WeekDay })
	if i < 0 {
		return nil
	}
	return &c.Quantities[i]
}

func shares(a, b norm.Set) bool {
	for w := range a {
		if b[w] {
			return true
		}
	}
	return false
}

// wider finds a permission that goes beyond a limit: "may have up to 200 lines" beside "at most 50 lines".
func wider(a, b *norm.Clause) (Finding, bool) {
	free, bound := a, b
	if b.Force == norm.Permit {
		free, bound = b, a
	}
	if free.Force != norm.Permit || free.Negative || bound.Force == norm.Permit || !conditionsMeet(a, b) {
		return Finding{}, false
	}
	y, ok := limit(bound)
	x := single(free)
	if !ok || x == nil || x.Unit != y.Unit || x.Hours(&y) {
		return Finding{}, false
	}
	beyond := func(x, y float64) bool { return x > y && !math.IsInf(x, 0) && !math.IsInf(y, 0) }
	if !beyond(x.Hi, y.Hi) && !beyond(y.Lo, x.Lo) {
		return Finding{}, false
	}
	aw, bw := limited(free), limited(bound)
	if len(aw) == 0 || len(bw) == 0 || !aw.Within(bw) && !bw.Within(aw) {
		return Finding{}, false
	}
	marks := [2][]norm.Span{{x.Span}, {y.Span}}
	if free == b {
		marks = [2][]norm.Span{{y.Span}, {x.Span}}
	}
	return Finding{Limit, quoted(free) + " allows more than " + quoted(bound) + ": " + x.Text + ", and " + y.Text, .65, marks}, true
}

// single returns the quantity of the act of a clause; nil for none and for several.
func single(c *norm.Clause) *norm.Quantity {
	var found *norm.Quantity
	for i := range c.Quantities {
		if c.Quantities[i].Place == norm.InPredicate {
			if found != nil {
				return nil
			}
			found = &c.Quantities[i]
		}
	}
	return found
}

// quantitiesMeet reports whether something is within all numbers of two clauses: each overlaps with one of the same unit in the other clause, and no
// clause alone has a number.
func quantitiesMeet(a, b *norm.Clause) bool {
	left := slices.Clone(b.Quantities)
	for i := range a.Quantities {
		x := &a.Quantities[i]
		k := slices.IndexFunc(left, func(y norm.Quantity) bool { return x.Unit == y.Unit && !x.Apart(y.Interval) })
		if k < 0 {
			return false
		}
		left = slices.Delete(left, k, k+1)
	}
	return len(left) == 0
}

func equal(a, b norm.Set) bool { return len(a) == len(b) && a.Within(b) }
