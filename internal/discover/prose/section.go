package prose

import (
	"slices"
	"strings"

	"tenet/internal/blocks"
	"tenet/internal/rule"
)

// firmAround reports whether the list that item i is in regulates, in a document that describes things and often advises: it has three
// items at least, nearly all are orders, and one of them forbids or prefers. Lists of steps seldom say what not to do, and those that do have
// numbers, or a heading about how something is done.
func (f *finder) firmAround(i int) bool {
	if f.list[i].Kind != blocks.Item {
		return false
	}
	from, to := f.listAround(i)
	known, ok := f.firm[from]
	if !ok {
		known = !steps(f.list, from) && firmly(f.list[from:min(to, from+maxList)])
		f.firm[from] = known
	}
	return known
}

// stepSections are headings of steps, as are those of sections below them.
var stepSections = []string{"install", "set up", "setup", "usage", "getting started", "quick start", "quickstart", "build", "run"}

// steps reports whether item i, or one that it is below, has a number, or a heading above it announces steps or facts.
func steps(list []blocks.Block, i int) bool {
	section := list[i].Section
	if factual(section) || slices.ContainsFunc(section, func(s string) bool {
		return announced([]string{s}, stepSections) && !announced([]string{s}, regulating)
	}) {
		return true
	}
	for depth := 0; i >= 0 && depth < 8; depth++ {
		if list[i].Numbered {
			return true
		}
		i = list[i].Lead
	}
	return false
}

// firmly reports whether nearly all of some items are orders, of which one forbids or prefers.
func firmly(items []blocks.Block) bool {
	orders, firm := 0, 0
	for k := range items {
		b := &items[k]
		p := places(b)
		if len(p) == 0 || p[0][1]-p[0][0] > maxSentence || b.BeforeCode {
			continue
		}
		_, body := cutLabel(b.Text[p[0][0]:p[0][1]])
		t := tokenize(unnumbered(body))
		if len(t) < 2 {
			continue
		}
		if r, ok := order(t, place{genre: Policy, item: true}); ok {
			orders++
			if r.means == ByNegation || behindSign(t) || advising[r.phrase] {
				firm++
			}
		}
	}
	n := len(items)
	return n > 2 && firm > 0 && 4*orders >= 3*n
}

// listAround returns where the list that item i is in begins and ends. Its bounds are kept until another list is asked for, so that a list
// costs no more than its length.
func (f *finder) listAround(i int) (from, to int) {
	if f.items[0] <= i && i < f.items[1] {
		return f.items[0], f.items[1]
	}
	same := func(k int) bool {
		return k >= 0 && k < len(f.list) && f.list[k].Kind == blocks.Item && f.list[k].Lead == f.list[i].Lead && slices.Equal(f.list[k].Section, f.list[i].Section)
	}
	from, to = i, i
	for same(from - 1) {
		from--
	}
	for same(to) {
		to++
	}
	f.items = [2]int{from, to}
	return from, to
}

// ordersAround reports whether a third of the items of the list that item i is in are surely orders or demands, and one an order.
func (f *finder) ordersAround(i int) bool {
	from, to := f.listAround(i)
	if known, ok := f.orders[from]; ok {
		return known
	}
	to = min(to, from+maxList)
	orders, bound, verbs := 0, 0, 0
	for k := from; k < to; k++ {
		_, body := cutLabel(f.list[k].Text[:min(len(f.list[k].Text), maxSentence)])
		t := tokenize(unnumbered(body))
		if len(t) > 1 && commands(t) {
			orders++
		} else if len(t) > 2 && demandsIn(t) {
			bound++
		}
		if len(t) > 2 && verb(t[0].low) {
			verbs++
		}
	}
	n := to - from
	f.orders[from] = orders > 0 && (3*(orders+bound) >= n || verbs == n && n > 2)
	return f.orders[from]
}

// maxList bounds the items of a list, from its first, that say what all of it is.
const maxList = 256

// demandsIn reports whether a sentence demands or advises something in so many words.
func demandsIn(t []token) bool {
	for i := range t {
		if r, ok := modal(t, i, place{genre: Policy, item: true}); ok && t[i].low != "" && (r.means == ByBinding || r.means == ByAdvice) {
			return true
		}
	}
	return false
}

// commands reports whether an item surely is an order.
func commands(t []token) bool {
	r, ok := order(t, place{genre: Policy, item: true})
	return ok && (r.means == ByItem || r.means == ByNegation)
}

// span is a lead of the sections below the one that it is in: "The following are prohibited:" with headings below it.
type span struct {
	section []string
	first   string // the heading behind the lead
	lead    lead
}

// holds reports whether the lead is that of a section: one below its own whose headings do not say otherwise. A lead below the title of a
// text, where everything is below it, is the lead of the next section alone.
func (s *span) holds(section []string) bool {
	own := len(s.section)
	if s.lead.says == nil || len(section) <= own || !slices.Equal(section[:own], s.section) || own < 2 && section[own] != s.first {
		return false
	}
	for _, heading := range section[own:] {
		for _, t := range tokenize(unnumbered(heading)) {
			if allowing[t.low] || demandingHeads[t.low] {
				return false
			}
		}
	}
	return true
}

// heads reports whether block i leads to sections below its own.
func (f *finder) heads(i int) bool {
	if i+1 >= len(f.list) || f.list[i].Kind != blocks.Paragraph || f.list[i+1].Kind != blocks.Heading {
		return false
	}
	own, next := f.list[i].Section, f.list[i+1].Section
	return len(next) >= len(own) && slices.Equal(next[:len(own)], own) && blocks.Leads(f.list[i].Text)
}

// forbidding reports whether a heading forbids what the items below it name, or one above it that does not allow.
func forbidding(section []string) bool {
	for _, heading := range slices.Backward(section) {
		t := tokenize(unnumbered(heading))
		for k := range t {
			if w := t[k].low; allowing[w] {
				return false
			}
			if (len(t) <= 3 || k >= 2 && at(t, k-1) == "and") && refusing[t[k].low] || is(t, k, "do", "not") || is(t, k, "not", "to", "do") || is(t, k, "must", "not") {
				return true
			}
		}
	}
	return false
}

// demanded returns the lead of an item without a verb below a heading that demands what the items name, such as "Mandatory checks".
func (f *finder) demanded(i int, raw string, t []token) (lead, bool) {
	b := &f.list[i]
	if f.genre != Policy || b.Kind != blocks.Item || b.Lead >= 0 || len(b.Section) == 0 || len(t) < 2 || fullSentence(t) || named(t) || strings.Contains(raw, "](") {
		return lead{}, false
	}
	heading := b.Section[len(b.Section)-1]
	h := tokenize(unnumbered(heading))
	if len(h) > 5 {
		return lead{}, false
	}
	for k := range h {
		says := &reading{modality: rule.Must, means: ByLead, phrase: h[k].low}
		switch {
		case h[k].low == "recommended":
			says.modality = rule.Should
		case !demandingHeads[h[k].low]:
			continue
		}
		return lead{text: blocks.Plain(unnumbered(heading)), says: says, open: true}, true
	}
	return lead{}, false
}

// named reports whether an item names a thing, such as a program with its version, or is code.
func named(t []token) bool {
	return t[0].low == "" || len(t) <= 3 && strings.ContainsAny(t[1].low, "0123456789") && strings.Trim(t[0].low, "0123456789") != ""
}

// within notes what the lines behind a sentence of a paragraph go on with: "Keys must not be:" with "Lent to guests." in the next line.
func (f *finder) within(i int, raw string) {
	head, rest, ok := strings.Cut(raw, ":\n")
	if f.list[i].Kind != blocks.Paragraph || f.genre != Policy || !ok || strings.Contains(rest, ":\n") {
		return
	}
	t := tokenize(head)
	if r, ok := classify(t, f.context(i)); ok && r.at+4 > len(t) {
		f.inner = lead{text: blocks.Plain(head), says: &r, open: true, ends: true}
	}
}

// goesOn reports whether a sentence has no subject: "Stored in plain text.", "Are the same as those before.".
func goesOn(t []token) bool {
	w := t[0].low
	return len(t) > 1 && (participles[w] || copulas[w] || strings.HasSuffix(w, "ed") && !auxiliaries[at(t, 1)] && !fullSentence(t))
}

// resumes reports whether a sentence speaks about the one before it: "This includes stairs.", "The list is in the hall."
func resumes(t []token) bool {
	switch t[0].low {
	case "this", "these", "such", "it", "they", "that", "those":
		return true
	}
	return determiners[t[0].low] && fullSentence(t)
}

// limits reports whether an item is nothing but a limit: "Up to 20 parcels a day", "One parcel per guest".
func limits(t []token) bool {
	k := 2
	switch {
	case is(t, 0, "up", "to"), is(t, 0, "at", "most"), is(t, 0, "at", "least"):
	case is(t, 0, "no", "more", "than"), is(t, 0, "no", "less", "than"), is(t, 0, "a", "maximum", "of"), is(t, 0, "a", "minimum", "of"):
		k = 3
	case at(t, 0) == "one":
		return len(t) <= 8 && within(t, 0, 6, func(k int) bool { return t[k].low == "per" }) // "One change per commit"
	case at(t, 0) == "minimum" || at(t, 0) == "maximum":
		k = 1
	default:
		return false
	}
	w := at(t, k)
	return w != "" && (numbers[w] || w[0] >= '0' && w[0] <= '9')
}

// bounds reports whether the text behind a label sets a bound: "Expiration: 90 days", "Identity check: required".
func bounds(t []token) bool {
	for i := range t {
		switch w := t[i].low; {
		case w == "minimum" || w == "maximum" || w == "required" || w == "mandatory" || is(t, i, "at", "least") || is(t, i, "at", "most") || is(t, i, "not", "allowed"):
			return true
		case i+1 < len(t) && w != "" && strings.Trim(w, "0123456789") == "" && counted[t[i+1].low]:
			return true
		}
	}
	return false
}

// unnumbered takes the number of a clause off its text: "4.2 ", "(a) ", "iv) ".
func unnumbered(s string) string {
	marks := s[:len(s)-len(strings.TrimLeft(s, "*_ "))]
	rest := s[len(marks):]
	n := strings.IndexByte(rest, ' ')
	if n < 1 || n > 8 {
		return s
	}
	number := strings.Trim(rest[:n], "().§")
	if rest[n-1] != ')' && rest[n-1] != '.' && !strings.Contains(number, ".") || number == "" {
		return s
	}
	digits := strings.Trim(number, "0123456789.") == ""
	letter := len(number) == 1 && number >= "a" && number <= "z" || strings.Trim(number, "ivx") == ""
	if !digits && !letter {
		return s
	}
	return marks + strings.TrimLeft(rest[n:], " ")
}
