package prose

import (
	"slices"
	"strings"

	"tenet/internal/lexicon"
	"tenet/internal/rule"
	"tenet/internal/text"
)

// order reads an order at the beginning of a sentence, behind what says when it holds.
func order(t []token, c place) (reading, bool) {
	if c.facts && c.genre == Instructions && (openers[t[0].low] && t[0].low != "to" || advising[t[0].low]) { // "When you change it, keep ..." among facts
		c.facts = false
	}
	if c.facts && c.genre == Instructions && !c.running && conditioned(t, c) {
		c.facts = false
	}
	if r, ok := orderAt(t, 0, c); ok {
		return r, true
	}
	from := 0
	for from < len(t)-1 && adverbs[t[from].low] && t[from].low != "by" && t[from].low != "as" && t[from].low != "in" {
		from++
	}
	if r, ok := behindDash(t, c); ok {
		return r, true
	}
	if !openers[t[from].low] {
		return reading{}, false
	}
	if t[from].low == "to" && !c.item && c.genre != Policy { // how, not that
		return reading{}, false
	}
	tries := 0
	for i := from + 1; i < len(t) && tries < 8; i++ {
		if t[i].before != ',' && t[i].before != ':' && t[i].before != '-' && (t[i].low != "then" || i < from+3) {
			continue
		}
		tries++
		if t[i].low == "or" || t[i].low == "and" && !c.item || i > from+1 && spoken(t, from, i) {
			continue
		}
		here := c
		if c.guides && conditions[t[from].low] && !wishing(t, from) && !asides[t[i].low] {
			here.genre = Policy
		}
		if r, ok := orderAt(t, i, here); ok && !follows(t, i) {
			return r, true
		}
	}
	return reading{}, false
}

// conditions begin sentences whose order counts in documents that guide: "If it can live on its own, move it".
var conditions = text.Words("if before unless whenever")

// conditioned reports whether an order among facts regulates: it says when it holds ("Read it before you change it"), or is a paragraph of
// words alone.
func conditioned(t []token, c place) bool {
	words := !c.item
	for i := 1; i < len(t); i++ {
		switch w := t[i].low; {
		case w == "before" || w == "unless" || w == "whenever" || w == "when" && i > 2 || w == "every" || w == "until":
			return true
		case w == "":
			words = false
		}
	}
	return words && len(t) > 3
}

// behindDash reads an order behind a dash or a semicolon, in instructions: "CI runs on Windows - ensure that it passes".
func behindDash(t []token, c place) (reading, bool) {
	if c.genre.describes() || c.facts || c.row {
		return reading{}, false
	}
	for i := 2; i < len(t); i++ {
		if c.genre != Instructions && !(t[i-1].low == "so" && (t[i-1].before == ',' || t[i-1].before == ';') && t[i].low != "be" && t[i].low != "bear") {
			continue
		}
		if i+1 < len(t) && t[i+1].before != '-' && (t[i].before == '-' || t[i].before == ';' || t[i-1].low == "so" && (t[i-1].before == ',' || t[i-1].before == ';')) && verb(t[i].low) && (!noun(t[i].low) || t[i].before == ';' && follower(t, i, c)) {
			if r, ok := orderAt(t, i, c); ok {
				return r, true
			}
		}
	}
	return reading{}, false
}

// spoken reports whether the clause before i, behind the one that begins at from, has a verb of its own: "When asked, staff may not, by
// word or sign, agree".
func spoken(t []token, from, i int) bool {
	main := false
	for k := from + 1; k < i; k++ {
		if t[k].before == ',' || t[k].before == ':' || t[k].before == '-' {
			w := t[k].low
			main = w != "and" && w != "or" && w != "but" && !openers[w] && !nearby[w]
		}
		if w := t[k].low; main && (auxiliaries[w] || copulas[w]) && w != "be" && !relative[at(t, k-1)] {
			return true
		}
	}
	return false
}

// relative words begin a clause about the word before them.
var relative = text.Words("that which who")

// follows reports whether the verb at i is one of an enumeration in the clause before it, as in "Before you add, change or
// remove a file, ...".
func follows(t []token, i int) bool {
	for k := i + 1; k < len(t) && k < i+6; k++ {
		or := t[k].low == "or"
		if (t[k].before == ',' && (or || t[k].low == "and") || or && t[k].before == 0 && t[i].before == ',') && later(t, k) {
			return true
		}
	}
	return false
}

// later reports whether another clause follows.
func later(t []token, i int) bool {
	for k := i + 1; k < len(t); k++ {
		if t[k].before == ',' {
			return true
		}
	}
	return false
}

// orderAt reads an order that begins at i.
func orderAt(t []token, i int, c place) (reading, bool) {
	always := false // what follows is surely a verb
	start := i
	for i < len(t)-1 && adverbs[t[i].low] && !(i > start && t[i].before == ';') {
		always = always || t[i].low == "always" || t[i].low == "please" || t[i].low == "remember" || strings.HasSuffix(t[i].low, "ly") && t[i].low != "only"
		i++
		if t[i].low == "to" && t[i-1].low == "remember" && i < len(t)-1 {
			i++
		}
	}
	r := reading{modality: rule.Must, means: BySentence, phrase: at(t, i), at: i}
	if c.item {
		r.means = ByItem
	}
	if i < len(t) && t[i].quoted {
		return r, false
	}
	if found := openings.find(t, i, c); found != nil {
		r.modality, r.phrase = found.says, found.reading(t, i).phrase
		if found.means == ByNegation {
			r.means = ByNegation
		}
		return r, true
	}
	w := r.phrase
	switch {
	case w == "ensure":
		return r, !c.genre.describes() || !c.facts
	case phrasal[w], w == "be" && len(t) < i+2, c.facts, c.row, c.genre == Document && !always, c.running && running[w]:
		return r, false
	}
	if advising[w] {
		r.modality = rule.Should
	}
	return r, always && verbs[strings.TrimPrefix(w, "self-")] && w != "refer" || isOrder(t, i, c)
}

// unwanted reports whether no, at i, forbids: "No exported types" does in a list of rules, and is a fact elsewhere.
func unwanted(t []token, i int, c place) bool {
	if c.genre.describes() || c.genre == Policy && len(t) <= i+2 || c.facts && !t[i].caps || len(t) <= i+1 || len(t) > 12 || t[i+1].before != 0 {
		return false
	}
	return (t[i].low != "zero" || t[i].caps) && !within(t, i, len(t), func(k int) bool { return stating[t[k].low] })
}

// verbNext reports whether the word behind i, which may be a noun, is a verb.
func verbNext(t []token, i int, c place) bool {
	return !noun(at(t, i+1)) || follower(t, i+1, c) || is(t, i+3, "when") || is(t, i+3, "if")
}

// subjectAt reports whether the words from i on are the subject of a verb: "Release notes must be written".
func subjectAt(t []token, i int) bool {
	if is(t, i, "order", "to") || is(t, i, "support", "for") || is(t, i, "access", "to") {
		return true
	}
	for k := i + 1; k < len(t) && k < i+8 && t[k].before == 0 && !objects[t[k].low]; k++ {
		if auxiliaries[t[k].low] {
			return true
		}
	}
	return false
}

// follower reports whether what follows the word at i, which may be a noun, shows that it is a verb.
func follower(t []token, i int, c place) bool {
	if i+1 >= len(t) {
		return c.item && i > 0
	}
	next := t[i+1].low
	if i > 0 && t[i].before == ',' && !t[i].upper && t[i+1].upper && t[i+1].before == 0 { // "If it burns, page Fire Watch"
		return true
	}
	if strings.HasSuffix(next, "s") && lets(t, i+2) {
		return false
	}
	for k := i + 2; k < len(t) && k < i+7; k++ {
		if strings.HasSuffix(t[k].low, "ly") && t[k].before == 0 { // "Format all keys consistently"
			return true
		}
	}
	if next == "and" || next == "or" { // "Test and document the code", not "Style and Structure"
		return verb(at(t, i+2)) && !noun(at(t, i+2))
	}
	if t[i+1].before == ',' && !verbs[t[i].low] { // "Cash, gifts and travel"
		return false
	}
	if c.item && c.orders != nil && parallel(t, i, next) && c.orders() {
		return true
	}
	if c.genre == Instructions && c.item && way(t, i) {
		return true
	}
	if strings.HasSuffix(next, "ed") && !undone[next] && len(t) > i+2 && t[i+1].before == 0 && t[i+2].before == 0 && !fullSentence(t) { // "Quarantine vendored code"
		return true
	}
	return next == "" || t[i+1].linked || opens[next] || strings.HasSuffix(next, "ly") ||
		strings.HasSuffix(next, "s") && !strings.HasSuffix(next, "ss") && !things[t[i].low]
}

// lets reports whether the word at k, behind one in brackets perhaps, is a verb of things that help people: "Pull requests (PRs) let you ...".
func lets(t []token, k int) bool {
	if k < len(t) && t[k].before == '(' {
		k++
	}
	switch at(t, k) {
	case "let", "help", "allow", "enable", "give", "make":
		return true
	}
	return false
}

// parallel reports whether the word at i, which may be a noun, is a verb where other items of its list are orders: "Report lost devices".
func parallel(t []token, i int, next string) bool {
	if !verbs[t[i].low] || len(t) < i+3 || t[i+1].before != 0 || next == "of" || copulas[next] || strings.HasSuffix(next, "ing") || subjectAt(t, i) {
		return false
	}
	return !things[t[i].low] || !strings.HasSuffix(next, "s")
}

// way reports whether the words behind the one at i say how or when it is done, or go on with another order: "Format code by running
// it", "Map the fields and keep their order", "Wrap long calls to stop them".
func way(t []token, i int) bool {
	if len(t) < i+4 || fullSentence(t) {
		return false
	}
	for k := i + 2; k < len(t)-1 && t[k].before != ':'; k++ {
		switch w := t[k].low; {
		case w == "via" || w == "using" || w == "by" || w == "before" || w == "after" || w == "when" || w == "through":
			return true
		case (w == "and" || w == "to") && verb(at(t, k+1)) && !noun(at(t, k+1)) && k+2 < len(t):
			return true
		}
	}
	return false
}

// claims are verbs of orders that a clause follows: "Verify the build is green".
var claims = text.Words("verify ensure confirm assert assume")

// isOrder reports whether the word at i is a verb that begins an order.
func isOrder(t []token, i int, c place) bool {
	w, next := strings.TrimPrefix(at(t, i), "self-"), at(t, i+1)
	switch {
	case t[i].linked && linkedName(t, i), t[i].caps && requests[w], offersAny(t, i), is(t, 0, "for", "more"):
		return false
	case noun(w) && lexicon.Third(next) != "" && !noun(lexicon.Third(next)) && (determiners[at(t, i+2)] || objects[at(t, i+2)] || adverbs[at(t, i+2)]): // "Misuse includes both ..."
		return false
	case is(t, i, "subject", "to") || is(t, i, "keep", "in", "mind") || is(t, i, "write", "to") || is(t, i, "write", "us"):
		return false
	case w == "" || pointers[w] || c.genre == Policy && !c.item && asides[w] && leadless(t, i):
		return false
	case i+1 < len(t) && t[i+1].before == ':', noun(w) && i+2 < len(t) && t[i+2].before == ':', copulas[next], next == "of", next == "have", !claims[w] && subjectAt(t, i): // a label or a subject
		return false
	case verbs[w]:
		return !noun(w) || follower(t, i, c)
	case verb(w):
		return rarer(t, i, c)
	}
	return c.genre == Instructions && c.item && coined(t, i)
}

// requests are the methods of HTTP, which are names where they are in capitals.
var requests = text.Words("get put post delete patch head options")

// offersAny reports whether what the word at i begins is up to the reader: "Use whatever tool you like".
func offersAny(t []token, i int) bool {
	if w := at(t, i+1); w != "whatever" && w != "whichever" && w != "any" {
		return false
	}
	return within(t, i+1, 7, func(k int) bool {
		return is(t, k, "you", "like") || is(t, k, "you", "want") || is(t, k, "you", "prefer") || is(t, k, "you", "wish")
	})
}

// linkedName reports whether the link that begins at i is the subject of a verb: "[Start a project](start.md) explains the rest".
func linkedName(t []token, i int) bool {
	for k := i + 1; k < len(t) && k < i+8 && t[k].before == 0; k++ {
		if t[k].low == "and" || t[k].low == "or" || t[k].low == "to" {
			return false
		}
		if base := lexicon.Third(t[k].low); base != "" && verbs[base] && !noun(base) && (determiners[at(t, k+1)] || at(t, k+1) == "how" || at(t, k+1) == "that") {
			return true
		}
	}
	return false
}

// rarer reports whether the word at i, a verb that only the lexicon knows, begins an order: in a list, or before its object.
func rarer(t []token, i int, c place) bool {
	if i+1 >= len(t) || t[i+1].before != 0 || opens[t[i].low] || c.genre.describes() {
		return false
	}
	next := t[i+1].low
	object := determiners[next] || objects[next] || next == "someone" || next == "somebody" || next == "everyone"
	if noun(t[i].low) {
		return object
	}
	return object || c.item && (opens[next] || t[i+1].linked || strings.HasSuffix(next, "s") && lexicon.Third(next) == "")
}

// leadless reports whether nothing but adverbs, such as please, is before i.
func leadless(t []token, i int) bool {
	for k := range i {
		if !adverbs[t[k].low] {
			return false
		}
	}
	return true
}

// coined reports whether the word at i, which is in no list of verbs, looks like a verb and takes an object.
func coined(t []token, i int) bool {
	w := t[i].low
	if i > 0 && t[i].before == 0 && !adverbs[at(t, i-1)] || len(w) < 3 || openers[w] || opens[w] || people[w] || adverbs[w] || hasAny(w, inflections, strings.HasSuffix) {
		return false
	}
	made := hasAny(w, coinages, strings.HasSuffix) || hasAny(w, prefixes, strings.HasPrefix)
	return determiners[at(t, i+1)] || made && i+1 < len(t)
}

// hasAny reports whether s has one of the parts.
func hasAny(s string, parts []string, has func(s, part string) bool) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return has(s, p) })
}
