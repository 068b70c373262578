package prose

import (
	"strings"

	"tenet/internal/rule"
)

// order reads an order at the beginning of a sentence, behind what says when it holds.
func order(t []token, c place) (reading, bool) {
	if r, ok := orderAt(t, 0, c); ok {
		return r, true
	}
	from := 0
	for from < len(t)-1 && adverbs[t[from].low] && t[from].low != "by" && t[from].low != "as" && t[from].low != "in" {
		from++
	}
	if r, ok := aside(t, c); ok {
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
		if t[i].before != ',' && t[i].before != ':' && t[i].before != '-' {
			continue
		}
		tries++
		if r, ok := orderAt(t, i, c); ok && !follows(t, i) {
			return r, true
		}
	}
	return reading{}, false
}

// aside reads an order behind a dash or a semicolon, in instructions: "CI runs on Windows - ensure that it passes".
func aside(t []token, c place) (reading, bool) {
	if c.genre != Instructions || c.facts || c.row {
		return reading{}, false
	}
	for i := 2; i < len(t); i++ {
		if (t[i].before == '-' || t[i].before == ';' || t[i-1].low == "so" && t[i-1].before == ',') && verbs[t[i].low] && !nouns[t[i].low] {
			if r, ok := orderAt(t, i, c); ok {
				return r, true
			}
		}
	}
	return reading{}, false
}

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
		always = always || t[i].low == "always" || t[i].low == "please" || t[i].low == "remember"
		i++
		if t[i].low == "to" && t[i-1].low == "remember" && i < len(t)-1 {
			i++
		}
	}
	r := reading{modality: rule.Must, means: BySentence, phrase: at(t, i), at: i}
	if c.item {
		r.means = ByItem
	}
	w, next := at(t, i), at(t, i+1)
	if i < len(t) && t[i].quoted {
		return r, false
	}
	switch w {
	case "do", "don't", "dont", "never", "not", "no", "cannot":
		return negation(t, i, c)
	case "only":
		if verbs[next] && (!nouns[next] || follower(t, i+1, c) || is(t, i+3, "when") || is(t, i+3, "if")) {
			r.phrase = "only " + next
			return r, c.genre != Document
		}
		return r, false
	case "make", "be":
		if next == "sure" || next == "certain" {
			return r, true
		}
		if w == "be" && (c.facts || len(t) < i+2) {
			return r, false
		}
	case "ensure":
		return r, c.genre != Document || !c.facts
	}
	if c.facts || c.row || c.genre == Document && !always || c.running && running[w] || !(always && verbs[w]) && !isOrder(t, i, c) {
		return r, false
	}
	if advising[w] {
		r.modality = rule.Should
	}
	return r, true
}

// negation reads do not, never, not and no at the beginning of an order.
func negation(t []token, i int, c place) (reading, bool) {
	r := reading{modality: rule.MustNot, means: ByNegation, phrase: t[i].low, at: i}
	next := at(t, i+1)
	switch t[i].low {
	case "do":
		if next != "not" && next != "never" {
			return r, false
		}
		r.phrase = "do " + next
		next = at(t, i+2)
	case "no":
		// "No exported types" forbids in a list of rules, and tells a fact elsewhere.
		return r, c.genre == Instructions && c.item && !c.facts && len(t) > i+1 && len(t) <= 12 && t[i+1].before == 0 && !says(t, i)
	case "not", "cannot":
		return r, false
	}
	if next == "worry" || next == "hesitate" || next == "mind" || next == "know" {
		return r, false
	}
	if next == "forget" {
		r.modality = rule.Must
	}
	return r, len(t) > i+1
}

// says reports whether a verb follows that tells a fact.
func says(t []token, i int) bool {
	for k := i + 1; k < len(t); k++ {
		if copulas[t[k].low] || t[k].low == "needed" || t[k].low == "required" || t[k].low == "found" || t[k].low == "has" || t[k].low == "have" {
			return true
		}
	}
	return false
}

// subjectAt reports whether the words from i on are the subject of a verb: "Release notes must be written".
func subjectAt(t []token, i int) bool {
	if is(t, i, "order", "to") || is(t, i, "support", "for") || is(t, i, "access", "to") {
		return true
	}
	for k := i + 1; k < len(t) && k < i+8 && t[k].before == 0 && !objects[t[k].low]; k++ {
		switch w := t[k].low; w {
		case "must", "shall", "should", "may", "can", "cannot", "will", "has":
			return true
		default:
			if copulas[w] && w != "being" && w != "been" && w != "be" {
				return true
			}
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
	for k := i + 2; k < len(t) && k < i+7; k++ {
		if strings.HasSuffix(t[k].low, "ly") && t[k].before == 0 { // "Format all keys consistently"
			return true
		}
	}
	if next == "and" || next == "or" { // "Test and document the code", not "Style and Structure"
		return verbs[at(t, i+2)] && !nouns[at(t, i+2)]
	}
	return next == "" || t[i+1].linked || opens[next] || strings.HasSuffix(next, "ly") ||
		strings.HasSuffix(next, "s") && !strings.HasSuffix(next, "ss") && !things[t[i].low]
}

// isOrder reports whether the word at i is a verb that begins an order.
func isOrder(t []token, i int, c place) bool {
	w := at(t, i)
	if w == "" || pointers[w] || i >= len(t) {
		return false
	}
	if c.genre == Policy && !c.item && asides[w] && i == 0 {
		return false
	}
	next := at(t, i+1)
	if i+1 < len(t) && t[i+1].before == ':' {
		return false // a label
	}
	if copulas[next] || next == "of" || next == "have" || subjectAt(t, i) {
		return false
	}
	switch {
	case verbs[w] && !nouns[w]:
		return true
	case nouns[w] && verbs[w]:
		return follower(t, i, c)
	}
	// A word that is not in the lists is an order if it looks like a verb and takes an object.
	if i > 0 && t[i].before == 0 && !adverbs[at(t, i-1)] || strings.HasSuffix(w, "ing") || strings.HasSuffix(w, "ed") || strings.HasSuffix(w, "s") || openers[w] || opens[w] || people[w] || adverbs[w] || len(w) < 3 {
		return false
	}
	object := next == "the" || next == "a" || next == "an" || next == "all" || next == "your" || next == "each" || next == "every" || next == "any"
	made := strings.HasSuffix(w, "ize") || strings.HasSuffix(w, "ise") || strings.HasSuffix(w, "ify") || strings.HasPrefix(w, "re-") || strings.HasPrefix(w, "co-")
	return c.genre == Instructions && c.item && (object || made && i+1 < len(t))
}
