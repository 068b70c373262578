package contradict

import (
	"slices"
	"strings"

	"tenet/internal/lexicon"
	"tenet/internal/norm"
)

// gist is a clause as a list of what it speaks of, whichever part of the sentence says so. It is for clauses that say the same in other words.
type gist struct {
	clause   *norm.Clause
	terms    []term
	values   map[int]term // by the line of values that exclude each other
	negative bool
	turned   bool          // negative is so by the tables of this package
	period   norm.Interval // seconds between two times; zero without one
	often    norm.Span
}

// term is one thing of a gist.
type term struct {
	norm.Span

	key, form string
	place     norm.Place
	actor     bool // says who acts
	head      bool // is the act
	weak      bool // says little
	also      bool // is a second act of a passive clause, as in "are caught and logged", or what is had: "have logging turned on"
	opposed   bool // is the opposite of its key, and weak for that
	describes bool // of a value: is before the thing that it describes
}

// weak are the compared forms of words that say little about what a rule is about.
var weak = func() map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq("use do make take have get give put run happen place carry receive conduct perform contain be need require involve ensure provide " +
		"company business organisation organization way time case thing part number value entire whole full complete given specific appropriate relevant corresponding " +
		"respective associated celsius fahrenheit warmer colder hotter degree day hour year week month already always currently " +
		"stay remain suffice sufficient enough last amount obligation system associate continue process present hold obtain specify issue rest") {
		if key := norm.Key(w); key != "" {
			out[key] = true
		}
		out[w] = true
	}
	return out
}()

// gistOf reads a clause.
func gistOf(c *norm.Clause) *gist {
	g := &gist{clause: c, negative: c.Negative}
	words := c.Content()
	g.period, g.often, _ = norm.Period(c)
	periodic := g.period != norm.Interval{}
	for i := 0; i < len(words); {
		w := &words[i]
		if periodic && w.From >= g.often.From && w.To <= g.often.To {
			i++
			continue
		}
		found, n, written, ok := conceptAt(words, i)
		t := term{Span: norm.Span{From: w.From, To: words[i+n-1].To}, key: found.key, form: w.Text, place: w.Place}
		if ok && n > 1 {
			t.form = ""
		}
		switch {
		case !ok && w.Key == "":
			i++
			continue
		case !ok:
			t.key = w.Key
			t.weak = (weak[w.Key] || weak[w.Text]) && !describing(words, i)
		case found.line > 0:
			if g.values == nil {
				g.values = map[int]term{}
			}
			end := i + n
			t.head = written && w.Key == c.Head
			t.describes = w.Key != c.Head && end < len(words) && words[end].Key != "" && words[end].From == t.To+1 && words[end].Place == w.Place
			if _, have := g.values[found.line]; !have {
				g.values[found.line] = t
			}
			i += n
			continue
		case found.turned && w.Turned:
		case w.Turned && written: // inactive is not the opposite of what is enabled
			g.negative = !g.negative
		case found.turned && w.Place != norm.InPredicate:
			t.key = "not " + t.key
		case found.turned && measuring(c):
			t.weak, t.opposed = true, true // to keep at 4 degrees is not to keep
		case found.turned:
			g.negative, g.turned = !g.negative, true
		}
		t.weak = t.weak || weak[t.key] && !describing(words, i)
		t.head = w.Key == c.Head && c.Head != ""
		t.also = w.Place == norm.InPredicate && lexicon.Done(w.Text) && (c.Passive && i > 0 && words[i-1].Text == "and" || c.Head == has && i+n == len(words))
		t.actor = !c.Passive && w.Place == norm.InSubject && c.Head != "" || c.Agent[w.Key]
		if i += n; g.has(&t) < 0 {
			g.terms = append(g.terms, t)
		}
	}
	g.people()
	return g
}

// has is the compared form of the verb in "have logging turned on".
var has = norm.Key("have")

// describing reports whether a word is in a relative clause, which says which things are meant: "credits that were used".
func describing(words []norm.Content, i int) bool {
	for k := i - 1; k >= max(0, i-2); k-- {
		switch words[k].Text {
		case "that", "which", "who":
			return true
		}
	}
	return false
}

// measuring reports whether a clause has a number that is no time.
func measuring(c *norm.Clause) bool {
	return slices.ContainsFunc(c.Quantities, func(q norm.Quantity) bool { return q.Place == norm.InPredicate && q.Unit != "time" })
}

// people clears actor in the terms that neither name a person nor describe the person that follows: "Employee sessions end", "Accounts of managers expire".
func (g *gist) people() {
	next := -1 // where the person begins that was read last
	for i := len(g.terms) - 1; i >= 0; i-- {
		t := &g.terms[i]
		if t.actor = t.actor && (person(t) || t.To+1 == next); t.actor {
			next = t.From
		}
	}
}

func (g *gist) periodic() bool { return g.period != norm.Interval{} }

// persons are concepts of people.
var persons = map[string]bool{
	"employee": true, "customer": true, "supplier": true, "visitor": true, "contractor": true, "pupil": true, "child": true, "patient": true, "doctor": true, "nurse": true,
	"tenant": true, "landlord": true, "manager": true, "leaver": true, "applicant": true, "developer": true, "administrator": true, "reviewer": true, "driver": true, "cyclist": true,
	"member": true, "person": true, "board": true, "user": true,
}

// workers are people who are employees, too.
var workers = map[string]bool{"manager": true, "leaver": true, "developer": true, "administrator": true, "reviewer": true, "driver": true, "nurse": true, "doctor": true, "employee": true}

func person(t *term) bool { return persons[t.key] || t.form != "" && lexicon.Kind(t.form, "person") }

// matching is how the terms of two gists belong together.
type matching struct {
	shared      int       // terms of both that say something
	left, right []term    // terms of one alone
	who         [2][]term // those who act, where both say so and name others
}

// match compares the terms of two gists.
func match(a, b *gist) matching {
	var m matching
	taken := make([]bool, len(b.terms))
	actors := func(g *gist) bool { return slices.ContainsFunc(g.terms, func(t term) bool { return t.actor }) }
	both := actors(a) && actors(b)
	for i := range a.terms {
		t := &a.terms[i]
		k := b.has(t)
		if k < 0 {
			k = slices.IndexFunc(b.terms, func(o term) bool { return likened(a, b, t, &o) })
		}
		switch {
		case k >= 0 && !taken[k]:
			taken[k] = true
			if !t.weak && !t.actor {
				m.shared++
			} else if t.actor && both && persons[t.key] {
				m.shared++
			}
		case k >= 0:
		case t.says():
			m.left = append(m.left, *t)
		case t.actor && both:
			m.who[0] = append(m.who[0], *t)
		}
	}
	for k, o := range b.terms {
		switch {
		case taken[k]:
		case o.says():
			m.right = append(m.right, o)
		case o.actor && both:
			m.who[1] = append(m.who[1], o)
		}
	}
	return m
}

// says reports whether a term is part of what a clause is about, besides who acts.
func (t *term) says() bool { return !t.weak && !t.actor }

// has returns the term with the key of another; below 0 for none.
func (g *gist) has(t *term) int {
	return slices.IndexFunc(g.terms, func(o term) bool { return o.key == t.key })
}

// likened reports whether the terms of two gists mean the same by the lexicon.
func likened(a, b *gist, t, o *term) bool {
	return t.form != "" && o.form != "" && !t.weak && !o.weak && (lexicon.Same(t.form, o.form) || t.place == o.place && kinds(a, b, t, o))
}

// odd reports whether a clause speaks of something that the other does not. One such term is enough, so most clauses that have nothing to do with each
// other are left out before all their terms are compared with all others.
func odd(a, b *gist) bool {
	return slices.ContainsFunc(a.terms, func(t term) bool {
		return t.says() && b.has(&t) < 0 && !slices.ContainsFunc(b.terms, func(o term) bool { return likened(a, b, &t, &o) })
	})
}

// kinds reports whether what one clause forbids is the kind of what the other names.
func kinds(a, b *gist, t, o *term) bool {
	if a.negative == b.negative {
		return false
	}
	if a.negative {
		return lexicon.Kind(o.form, t.form)
	}
	return lexicon.Kind(t.form, o.form)
}

// strangers reports whether two clauses are about different people: each names somebody whom the other does not.
func (m *matching) strangers() bool {
	all := func(list []term) bool {
		return slices.ContainsFunc(list, func(t term) bool { return t.key == "person" })
	}
	staff := func(list []term) bool {
		return slices.ContainsFunc(list, func(t term) bool { return t.key == "employee" })
	}
	worker := func(list []term) bool { return slices.ContainsFunc(list, func(t term) bool { return workers[t.key] }) }
	x, y := m.who[0], m.who[1]
	if len(x) == 0 || len(y) == 0 || all(x) || all(y) {
		return false
	}
	return !(staff(x) && worker(y) || staff(y) && worker(x))
}

// leastShared is how many terms two clauses must share to be about the same.
const leastShared = 2

// compareGists returns the finding of two clauses. Their order does not matter.
func compareGists(a, b *gist) (Finding, bool) {
	if a.clause.Text <= b.clause.Text {
		return gists(a, b)
	}
	f, ok := gists(b, a)
	f.Marks[0], f.Marks[1] = f.Marks[1], f.Marks[0]
	return f, ok
}

// gists finds contradictions of clauses that say the same in other words.
func gists(a, b *gist) (Finding, bool) {
	if a.clause.Force == norm.Permit && b.clause.Force == norm.Permit && !a.clause.Only && !b.clause.Only {
		return Finding{}, false
	}
	if len(a.terms) == 0 || len(b.terms) == 0 || a.negative == b.negative && len(a.clause.Quantities) == 0 && len(a.values) == 0 && !a.periodic() && !a.clause.Only && !b.clause.Only {
		return Finding{}, false
	}
	if !a.meets(b) || odd(a, b) && odd(b, a) {
		return Finding{}, false
	}
	m := match(a, b)
	if m.shared == 1 && len(m.left)+len(m.right) == 0 && len(a.values)+len(b.values) == 0 && !m.strangers() && single(a.clause) != nil && timeOnly(a) && timeOnly(b) {
		return m.numbers(a, b) // response times, and how long responses take
	}
	if m.shared+sameDays(a, b) < leastShared || len(m.left) > 0 && len(m.right) > 0 {
		return Finding{}, false
	}
	if f, ok := m.alone(a, b); ok {
		return f, true
	}
	if m.strangers() {
		return Finding{}, false
	}
	for _, find := range []func(a, b *gist) (Finding, bool){m.forces, m.numbers, m.excluded, m.often} {
		if f, ok := find(a, b); ok {
			return f, true
		}
	}
	return Finding{}, false
}

// meets reports whether two clauses share a word that says something.
func (g *gist) meets(o *gist) bool {
	return slices.ContainsFunc(g.terms, func(t term) bool {
		return !t.weak && slices.ContainsFunc(o.terms, func(u term) bool { return u.key == t.key })
	})
}

// timeOnly reports whether a clause says no more of a thing than how long it lasts or takes.
func timeOnly(g *gist) bool {
	q := single(g.clause)
	return q != nil && q.Unit == "time" && len(g.clause.Quantities) == 1 && !slices.ContainsFunc(g.terms, func(t term) bool { return t.head && !t.weak })
}

// sameDays is 1 where two clauses are about the same days of the week.
func sameDays(a, b *gist) int {
	if x, y := day(a.clause), day(b.clause); x != nil && y != nil && !x.Apart(y.Interval) {
		return 1
	}
	return 0
}
