package prose

import (
	"strings"

	"tenet/internal/rule"
	"tenet/internal/text"
)

// reading is the duty that a sentence states.
type reading struct {
	modality rule.Modality
	means    Means
	phrase   string // the words that say it
	at       int    // the token that they begin at
	subject  bool   // the tokens before them are their subject
}

// turn turns the duty round that the word at i gives where the sentence denies it.
func (r *reading) turn(t []token, i int) {
	not := negated(t, i)
	if not {
		r.phrase += " not"
	}
	if r.modality == rule.Must && (not || denied(t, i, place{})) {
		r.modality = rule.MustNot
	}
}

// place is the surroundings of a sentence.
type place struct {
	genre   Genre
	item    bool // in an item of a list
	running bool // before a block of code that carries it out
	facts   bool // among facts, such as a list of commands: only words that bind count
	row     bool // in a cell of a table
	later   bool // behind another sentence of its item
	aside   bool // where people are asked to report or to ask
	advises bool // in a document that describes things, whose advice counts
	guides  bool // in such a document whose orders under a condition count, too
	// orders reports whether other items of the list are orders; nil outside of lists.
	orders func() bool
	tongue *tongue // nil for English
}

// classify reads a sentence. It returns false for one that regulates nothing.
func classify(t []token, c place) (reading, bool) {
	if c.tongue != nil {
		return c.tongue.classify(t, c)
	}
	if len(t) < 2 && !(len(t) == 1 && c.item) || defines(t) || plays(t) || invites(t, c) || is(t, 0, "for", "example") || is(t, 0, "for", "instance") {
		return reading{}, false
	}
	if r, ok := order(t, c); ok {
		return r, true
	}
	for i := range t {
		if t[i].low == "" || t[i].quoted {
			continue
		}
		if r, ok := modal(t, i, c); ok {
			r.subject = i > 0
			return r, true
		}
	}
	if r, ok := stated(t, c); ok {
		return r, true
	}
	if r, ok := confined(t, c); ok {
		return r, true
	}
	if r, ok := acts(t, c); ok {
		return r, true
	}
	if r, ok := elided(t, c); ok {
		return r, true
	}
	return practice(t, c)
}

// defines reports whether a sentence gives the meaning of a term.
func defines(t []token) bool {
	if (is(t, 0, "the", "scope") || is(t, 0, "the", "purpose") || is(t, 0, "the", "aim") || is(t, 0, "the", "objective")) && at(t, 2) == "of" {
		return true
	}
	for i := 1; i < len(t) && i < 8; i++ {
		switch {
		case t[i].low == "misconception":
			return true
		case is(t, i, "means") && t[i].before == 0 && at(t, i-1) != "that" && at(t, i-1) != "this" && at(t, i-1) != "by":
			return true
		case is(t, i, "refers", "to"), is(t, i, "defined", "as"), is(t, i, "stands", "for"):
			return true
		}
	}
	return false
}

// modal reads the word at i, such as must, with the words around it.
func modal(t []token, i int, c place) (reading, bool) {
	if r := modals.find(t, i, c); r != nil && !guarded(t, i) {
		return r.reading(t, i), true
	}
	return reading{}, false
}

// guarded reports whether the word at i is in a clause that says nothing alone: "if you must ...", "what must ...".
func guarded(t []token, i int) bool {
	for k := i - 1; k >= 0; k-- {
		w := t[k].low
		if w == "then" && k > 0 { // "if you cannot, then you should ..."
			return false
		}
		if w == "which" && t[k].before == ',' || is(t, k, "in", "case") {
			return true
		}
		if (w == "who" || w == "which" || w == "that") && chained(t, k, i) {
			return true
		}
		if subordinators[w] || w == "where" && k > 0 && t[k].before == 0 {
			return true
		}
		if nearby[w] && i-k <= 3 && !announces(t, k) && ((w != "which" && w != "who" && w != "that") || k == i-1 || k == i-2 && (people[t[i-1].low] || somebody[t[i-1].low])) {
			return true
		}
		if t[k].before != 0 && t[k].before != '(' || t[k+1].before == ',' || t[k+1].before == ':' || t[k+1].before == ';' {
			return false
		}
	}
	return false
}

// chained reports whether only verbs are between the relative word at k and the word at i: "who have or are responsible".
func chained(t []token, k, i int) bool {
	if i-k < 2 || announces(t, k) {
		return false
	}
	for n := k + 1; n < i; n++ {
		if w := t[n].low; !copulas[w] && !auxiliaries[w] && !negations[w] && !adverbs[w] && w != "have" && w != "has" && w != "or" && w != "and" {
			return false
		}
	}
	return true
}

// announces reports whether that, at k, begins what the sentence is about: "note that ...".
func announces(t []token, k int) bool { return t[k].low == "that" && announcing[at(t, k-1)] }

// negated reports whether not or never follows, with at most one word between.
func negated(t []token, i int) bool {
	return is(t, i+1, "not") || is(t, i+1, "never") || is(t, i+2, "not") && adverbs[at(t, i+1)]
}

// begins reports whether the word at i begins a clause: not "the guidelines you need to follow".
func begins(t []token, i int) bool {
	if i <= 0 || t[i].before != 0 {
		return true
	}
	w := t[i-1].low
	return adverbs[w] || w == "that" || w == "and" || w == "then"
}

// test is a condition of a pattern on the word at i.
type test func(t []token, i int, c place) bool

// denied reports whether the subject of the word at i is nobody or nothing.
func denied(t []token, i int, _ place) bool {
	for k := i - 1; k >= 0 && i-k < 20; k-- {
		if nothings[t[k].low] && (k == 0 || t[k].before != 0 || t[k-1].low == "that" || t[k-1].low == "and" || t[k-1].low == "but") {
			return at(t, k+1) != "longer"
		}
		if t[k].before == ',' && t[0].low == "no" && enumerated(t, i) { // "No tents, fires or dogs are allowed"
			continue
		}
		if t[k].before == ',' && (is(t, k, "other", "than") || is(t, k, "except")) { // "No parcel, other than those of guests, may ..."
			continue
		}
		if t[k].before == ',' || t[k].before == ';' || t[k].before == ':' {
			break
		}
	}
	return false
}

// enumerated reports whether the words before i enumerate things: they have commas, and or or, and no verb of their own.
func enumerated(t []token, i int) bool {
	joined := false
	for k := range t[:i] {
		if copulas[t[k].low] && k < i-1 || auxiliaries[t[k].low] || nearby[t[k].low] {
			return false
		}
		joined = joined || t[k].low == "or" || t[k].low == "and"
	}
	return joined
}

// used reports whether the sentence uses the word at i and does not just name it: "MUST, SHOULD or MAY", "a broken SHOULD".
func used(t []token, i int, _ place) bool {
	if mentions[at(t, i-1)] && at(t, i+1) != "be" || i+1 >= len(t) || mentionedTails[t[i+1].low] {
		return false
	}
	next := t[i+1].low
	if prev := at(t, i-1); i == 1 && (prev == "this" || prev == "that") && (next == "make" || next == "allow" || next == "give" || next == "enable") { // it is expected
		return false
	}
	if t[i].low == "should" && next == "not" && (at(t, i+2) == "happen" || at(t, i+2) == "occur" || at(t, i+2) == "matter") {
		return false
	}
	return !(t[i+1].before == ',' && !openers[next] && !adverbs[next] || t[i+1].before == '(' && next != "not")
}

// advised reports whether the should at i advises in a document that describes things, and often says how they should be.
func advised(t []token, i int, c place) bool {
	if c.facts || c.row || c.running || t[i].low == "should" && !used(t, i, c) {
		return false
	}
	for k := i - 1; k >= 0 && t[k+1].before != ','; k-- { // "how many of them should be tested"
		if w := t[k].low; w == "how" || w == "what" || w == "whether" {
			return false
		}
	}
	return true
}

// needed reports whether need or have at i is a duty: not negated, asked or wished, nor of something that just needs.
func needed(t []token, i int, _ place) bool {
	for k := i - 1; k >= 0 && i-k <= 3; k-- {
		if wishes[t[k].low] {
			return false
		}
	}
	prev := at(t, i-1)
	if at(t, 0) == "to" {
		return false
	}
	switch prev {
	case "will", "just", "usually", "often", "sometimes", "occasionally", "probably", "likely", "typically": // "you will need to"
		return false
	case "you", "they", "he", "she", "it":
		return begins(t, i-1)
	}
	return i > 0 && t[i+1].before == 0 && prev != "we"
}

// prescribed reports whether what is to be done at i is done to something that a text regulates: not "the purpose is to be clear".
func prescribed(t []token, i int, _ place) bool {
	for k := i - 1; k >= 0; k-- {
		switch t[k].low {
		case "purpose", "intentions", "goals", "goal", "aim", "role", "intent", "intention", "objective", "idea", "first", "if", "reason", "likely", "way":
			return false
		}
	}
	return true
}

// extent reports whether what is allowed at i is allowed only so far.
func extent(t []token, i int, _ place) bool {
	return within(t, i, 20, func(k int) bool {
		return is(t, k, "only", "to", "the", "extent") || is(t, k, "only", "if") || is(t, k, "only", "when") || is(t, k, "only", "for") || is(t, k, "only", "with") || is(t, k, "only", "after")
	})
}

// due reports whether what will be done at i is a duty, and not what follows from a breach.
func due(t []token, i int, _ place) bool {
	if done := at(t, i+2); !participles[done] && !strings.HasSuffix(done, "ed") || undone[done] {
		return false
	}
	for k := i - 1; k >= 0 && i-k < 10; k-- {
		if breaches[t[k].low] {
			return false
		}
	}
	return !t[i].upper && !somebody[at(t, i-1)] && !nearby[at(t, i-1)] && at(t, i-1) != "this"
}

// affirmed reports whether nothing denies the word at i.
func affirmed(t []token, i int, c place) bool {
	return !negations[at(t, i-1)] && !negations[at(t, i-2)] && !denied(t, i, c)
}

// demanding reports whether a duty follows the word at i.
func demanding(t []token, i int, _ place) bool {
	return within(t, i, 8, func(k int) bool {
		return t[k].low == "to" || t[k].low == "that" && (k == i+1 || t[k].before != 0) || approvals[t[k].low] // "require features that ..." demands none
	})
}

// governed reports whether something that regulates follows the word at i: "we follow the standards of the guild".
func governed(t []token, i int, _ place) bool {
	return within(t, i, 8, func(k int) bool { return governing[t[k].low] })
}

// governing are names of texts that regulate.
var governing = text.Words("guideline guidelines standard standards convention conventions policy policies rules styleguide")

// within reports whether a condition holds for a token less than n behind i.
func within(t []token, i, n int, holds func(k int) bool) bool {
	for k := i + 1; k < len(t) && k < i+n; k++ {
		if holds(k) {
			return true
		}
	}
	return false
}

// ours reports whether the we or I before the word at i begins a clause.
func ours(t []token, i int, _ place) bool {
	if w := at(t, i-1); w == "strongly" || w == "highly" {
		i--
	}
	return begins(t, i-1)
}

// peopled reports whether the sentence of the word at i begins with people, whose second verb it may be.
func peopled(t []token, i int, _ place) bool {
	for k := range t[:min(i, 3)] {
		if people[t[k].low] {
			return true
		}
	}
	return false
}

// refused reports whether the sentence takes back some of what the word at i allows: "can add but not remove ...".
func refused(t []token, i int, _ place) bool {
	return within(t, i, 7, func(k int) bool { return is(t, k, "but", "not") || is(t, k, "but", "cannot") })
}

// bounded reports whether a number is bounded after i.
func bounded(t []token, i int, _ place) bool {
	return within(t, i, 7, func(k int) bool {
		return is(t, k, "at", "most") || is(t, k, "no", "more", "than") || is(t, k, "up", "to") && at(t, k+2) != "and"
	})
}

// only reports whether the sentence allows something to few: "Only administrators may ...".
func only(t []token, i int, _ place) bool {
	for k := i - 1; k >= 0 && i-k < 10; k-- {
		if t[k].low == "only" {
			return true
		}
		if t[k].before == ',' || t[k].before == ';' {
			return false
		}
	}
	return false
}

// few reports whether the clause of the word at i begins by allowing something to few: "Only the owner can open it".
func few(t []token, i int, _ place) bool {
	for k := i - 1; k >= 0; k-- {
		if k == 0 || t[k].before != 0 {
			return t[k].low == "only"
		}
	}
	return false
}

// namedOffice reports whether the word before i names an office: IT, not the pronoun.
func namedOffice(t []token, i int, _ place) bool {
	prev := &t[i-1]
	return (prev.low != "it" || prev.caps) && (prev.low != "resources" || at(t, i-2) == "human")
}

// joined reports whether the word at i begins a clause behind a sign or a word that joins clauses.
func joined(t []token, i int, _ place) bool {
	return t[i].before != 0 && t[i].before != '(' && t[i].before != '|' || joining[at(t, i-1)]
}

// parted reports whether a dash or a semicolon is before the word at i.
func parted(t []token, i int, _ place) bool { return t[i].before == '-' || t[i].before == ';' }

// placing are words behind a verb that says where something is.
var placing = text.Words("in to at under behind inside on")

// practice reads a statement of how things are that means how they must be: "You use Python 3.12", "Logic belongs in the service
// layer".
func practice(t []token, c place) (reading, bool) {
	r := reading{modality: rule.Must, means: ByPractice, phrase: "you"}
	if c.genre != Instructions || c.facts || c.row {
		return r, false
	}
	for i := range t {
		if (i == 0 || t[i].before == ',') && t[i].low == "you" && !t[i].quoted {
			k := i + 1
			for adverbs[at(t, k)] || at(t, k) == "never" {
				k++
			}
			if w := at(t, k); verbs[w] && !descriptive[w] && !guarded(t, i) {
				r.at = k
				return r, true
			}
		}
		if w := t[i].low; (w == "needs" || w == "need") && i > 0 && universal[at(t, 0)] && (at(t, i+1) == "a" || at(t, i+1) == "an") && !guarded(t, i) {
			return reading{rule.Must, ByPractice, w, i, true}, true
		}
		if w := t[i].low; (w == "belongs" || w == "belong" || (w == "go" || w == "goes" || w == "live" || w == "lives") && universal[at(t, 0)]) && i > 0 && placing[at(t, i+1)] && !guarded(t, i) && at(t, i-1) != "that" {
			return reading{rule.Must, ByPractice, w, i, true}, true
		}
	}
	return r, false
}
