package prose

import (
	"strings"

	"tenet/internal/rule"
)

// reading is what a sentence says about what is to be done.
type reading struct {
	modality rule.Modality
	means    Means
	phrase   string // the words that say it
	at       int    // the token that they begin at
	subject  bool   // what stands before them is their subject
}

// place is where a sentence stands.
type place struct {
	genre   Genre
	item    bool // in an item of a list
	running bool // before a block of code that carries it out
	facts   bool // among facts, such as a list of commands: only words that bind count
	row     bool // in a cell of a table
}

// classify reads a sentence. It returns false for one that regulates nothing.
func classify(t []token, c place) (reading, bool) {
	if len(t) < 2 && !(len(t) == 1 && c.item) || defines(t) || is(t, 0, "for", "example") || is(t, 0, "for", "instance") {
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
			r.at, r.subject = i, i > 0
			return r, true
		}
	}
	return practice(t, c)
}

// defines reports whether a sentence gives the meaning of a term.
func defines(t []token) bool {
	for i := 1; i < len(t) && i < 8; i++ {
		switch {
		case is(t, i, "means") && t[i].before == 0 && at(t, i-1) != "that" && at(t, i-1) != "this" && at(t, i-1) != "by":
			return true
		case is(t, i, "refers", "to"), is(t, i, "defined", "as"), is(t, i, "stands", "for"):
			return true
		}
	}
	return false
}

// modal reads the word at i, such as must, with what stands around it.
func modal(t []token, i int, c place) (reading, bool) {
	for _, try := range []func([]token, int, place) (reading, bool){binding, required, forbidding, advice, restraint, permission, midway} {
		if r, ok := try(t, i, c); ok {
			if guarded(t, i) {
				return reading{}, false
			}
			return r, true
		}
	}
	return reading{}, false
}

// guarded reports whether the word at i stands in a clause that says nothing by itself: "if you must ...", "what must ...".
func guarded(t []token, i int) bool {
	for k := i - 1; k >= 0; k-- {
		w := t[k].low
		if subordinators[w] {
			return true
		}
		if nearby[w] && i-k <= 3 && !announces(t, k) && ((w != "which" && w != "who" && w != "that") || k == i-1 || k == i-2 && people[t[i-1].low]) {
			return true
		}
		if t[k].before != 0 && t[k].before != '(' || t[k+1].before == ',' || t[k+1].before == ':' || t[k+1].before == ';' {
			return t[k].before == ',' && subordinators[w]
		}
	}
	return false
}

// announces reports whether that, at k, begins what the sentence is about: "note that ...".
func announces(t []token, k int) bool {
	switch at(t, k-1) {
	case "note", "remember", "mind", "aware", "requires", "require", "means", "ensure", "sure", "states", "demands", "so":
		return t[k].low == "that"
	}
	return false
}

// negated reports whether not or never follows, with at most one word between.
func negated(t []token, i int) bool {
	return is(t, i+1, "not") || is(t, i+1, "never") || is(t, i+2, "not") && adverbs[at(t, i+1)]
}

// denied reports whether the subject of the word at i is nobody or nothing.
func denied(t []token, i int) bool {
	for k := i - 1; k >= 0 && i-k < 12; k-- {
		if nothings[t[k].low] && (k == 0 || t[k].before != 0 || t[k-1].low == "that" || t[k-1].low == "and" || t[k-1].low == "but") {
			return at(t, k+1) != "longer"
		}
		if t[k].before == ',' || t[k].before == ';' || t[k].before == ':' {
			break
		}
	}
	return false
}

// binding reads must, shall, need to, have to.
func binding(t []token, i int, c place) (reading, bool) {
	r := reading{modality: rule.Must, means: ByBinding, phrase: t[i].low}
	next := at(t, i+1)
	switch t[i].low {
	case "must", "shall":
		if next == "have" && is(t, i+2, "been") || mentioned(t, i) {
			return r, false
		}
	case "mustn't", "shan't":
		r.modality = rule.MustNot
		return r, true
	case "need", "needs", "has", "have":
		if next != "to" && !(approvals[next] && strings.HasPrefix(t[i].low, "need") && c.genre == Policy) || t[i+1].before != 0 || c.genre == Document || unless(t, i) {
			return r, false
		}
		r.phrase += " " + next
	case "responsible", "accountable":
		return reading{rule.Must, ByBinding, t[i].low + " for", i, true}, c.genre == Policy && copulas[at(t, i-1)] && next == "for"
	default:
		return r, false
	}
	if negated(t, i) || denied(t, i) {
		r.modality = rule.MustNot
		if negated(t, i) {
			r.phrase += " not"
		}
	}
	return r, true
}

// mentioned reports whether the word at i is named rather than used: "MUST, SHOULD or MAY", "a broken SHOULD".
func mentioned(t []token, i int) bool {
	switch at(t, i-1) {
	case "a", "an", "the", "broken", "modality", "like", "or", "of", "word", "words", "says", "say":
		return true
	}
	if i+1 >= len(t) {
		return true
	}
	switch next := t[i+1].low; next {
	case "or", "and", "to", "is", "are", "of", "rule", "rules":
		return true
	default:
		return t[i+1].before == ',' && !openers[next] && !adverbs[next] || t[i+1].before == '(' && next != "not"
	}
}

// unless reports whether need or have at i is not a duty: negated, asked, wished, or of something that just needs.
func unless(t []token, i int) bool {
	for k := i - 1; k >= 0 && i-k <= 3; k-- {
		w := t[k].low
		if negations[w] || w == "if" || w == "might" || w == "may" || w == "would" || w == "could" || w == "i" || w == "why" || w == "that" || w == "who" || w == "which" {
			return true
		}
	}
	return i == 0 || at(t, i-1) == "we" || at(t, i-1) == "you" && !begins(t, i-1)
}

// begins reports whether the word at i begins a clause: not "the guidelines you need to follow".
func begins(t []token, i int) bool {
	if i <= 0 || t[i].before != 0 {
		return true
	}
	w := t[i-1].low
	return adverbs[w] || w == "that" || w == "and" || w == "then"
}

// required reads is required, requires, mandatory.
func required(t []token, i int, c place) (reading, bool) {
	r := reading{modality: rule.Must, means: ByBinding, phrase: t[i].low}
	prev, next := at(t, i-1), at(t, i+1)
	switch t[i].low {
	case "required", "obliged", "obligated", "mandatory":
		if t[i].low == "mandatory" && !copulas[prev] {
			return r, false
		}
		if !copulas[prev] && !(adverbs[prev] && copulas[at(t, i-2)]) && next != "to" && !(i == 1 && prev == "all") || next == "by" {
			return r, false
		}
		if c.genre == Document && next != "to" && t[i].low == "required" {
			return r, false
		}
		return r, !negations[prev] && !negations[at(t, i-2)] && !denied(t, i)
	case "require", "requires":
		if i == 0 || c.genre == Document || negations[prev] || nearby[prev] || prev == "may" || prev == "might" || prev == "would" || prev == "could" || prev == "will" || prev == "to" || prev == "can" {
			return r, false
		}
		for k := i + 1; k < len(t) && k < i+8; k++ {
			if t[k].low == "to" || t[k].low == "that" || approvals[t[k].low] {
				return r, true
			}
		}
		return r, c.genre == Policy && people[prev]
	}
	return r, false
}

// forbidding reads is prohibited, is not allowed, prohibits.
func forbidding(t []token, i int, c place) (reading, bool) {
	w, prev := t[i].low, at(t, i-1)
	r := reading{modality: rule.MustNot, means: ByBinding, phrase: w}
	switch {
	case forbiddenWords[w]:
		return r, copulas[prev] || copulas[at(t, i-2)] || i == len(t)-1 && i > 0 && c.item
	case allowedWords[w]:
		if negations[prev] || prev == "longer" || prev == "never" || negations[at(t, i-2)] && copulas[prev] {
			r.phrase = prev + " " + w
			return r, c.genre != Document || prev == "not"
		}
		return r, copulas[prev] && denied(t, i)
	case forbids[w]:
		return r, c.genre != Document && i > 0 && prev != "that" && prev != "which" && prev != "to" && prev != "and" && at(t, i+1) != "by"
	case w == "allow" || w == "permit" || w == "tolerate" || w == "accept":
		r.phrase = prev + " " + w
		who := at(t, i-2)
		if who == "do" && prev == "not" {
			who, r.phrase = at(t, i-3), "do not "+w
		}
		return r, (prev == "not" || prev == "don't" || prev == "never") && (who == "we" || c.genre == Policy && people[who])
	}
	return r, false
}

// advice reads should, is recommended, we encourage.
func advice(t []token, i int, c place) (reading, bool) {
	if c.genre == Document {
		return reading{}, false
	}
	w, prev, next := t[i].low, at(t, i-1), at(t, i+1)
	r := reading{modality: rule.Should, means: ByAdvice, phrase: w}
	switch {
	case w == "should":
		if negated(t, i) {
			r.phrase = "should not"
		}
		return r, i > 0 && !mentioned(t, i) && !unsaid[next] && !(next == "be" && at(t, i+2) == "able") && next != "you" && next != "now" && next != "i" && next != "we"
	case w == "shouldn't":
		return r, i > 0
	case w == "ought":
		return r, next == "to"
	case recommendedWords[w]:
		return r, (copulas[prev] || copulas[at(t, i-2)]) && !(w == "expected" && next != "to") && !negations[prev]
	case recommends[w]:
		who := i - 1
		if prev == "strongly" || prev == "highly" {
			who--
		}
		return r, (at(t, who) == "we" || at(t, who) == "i") && begins(t, who)
	case w == "best":
		r.phrase = "best to"
		return r, next == "to" || next == "if"
	}
	return r, false
}

// restraint reads cannot, may not, may only, can ... at most.
func restraint(t []token, i int, c place) (reading, bool) {
	w, prev, next := t[i].low, at(t, i-1), at(t, i+1)
	r := reading{modality: rule.MustNot, means: ByRestraint, phrase: w}
	if c.genre == Document || i == 0 {
		return r, false
	}
	person := people[prev] && prev != "we"
	switch w {
	case "cannot", "can't":
		return r, (c.genre == Policy || person && prev == "you" && c.item) && prev != "we" && prev != "it" && prev != "i" && prev != "that" && !unsaid[next] && !(next == "be" && unsaid[at(t, i+2)])
	case "may", "can":
		rest := i + 2
		switch {
		case next == "not" && w == "may":
			r.phrase = "may not"
			return r, (c.genre == Policy || person) && prev != "we" && prev != "it" && !unsaid[at(t, rest)] && !(is(t, rest, "be") && (at(t, rest+1) == "able" || at(t, rest+1) == "a" || at(t, rest+1) == "the"))
		case next == "only" && (c.genre == Policy || person), c.genre == Policy && only(t, i):
			return reading{rule.Must, ByRestraint, "only", i, true}, true
		case c.genre == Policy && denied(t, i) && w == "may":
			return r, true
		case c.genre == Policy && refused(t, i):
			r.phrase += " ... but not"
			return r, true
		case c.genre == Policy && bounded(t, i):
			return reading{rule.Must, ByRestraint, "at most", i, true}, true
		}
	}
	return r, false
}

// refused reports whether some of what is allowed at i is taken back: "can add but not remove ...".
func refused(t []token, i int) bool {
	for k := i + 1; k < len(t) && k < i+7; k++ {
		if is(t, k, "but", "not") || is(t, k, "but", "cannot") {
			return true
		}
	}
	return false
}

// only reports whether the sentence allows something to few: "Only administrators may ...".
func only(t []token, i int) bool {
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

// bounded reports whether a number is bounded after i.
func bounded(t []token, i int) bool {
	for k := i + 1; k < len(t) && k < i+7; k++ {
		if is(t, k, "at", "most") || is(t, k, "no", "more", "than") || is(t, k, "up", "to") {
			return true
		}
	}
	return false
}

// permission reads you may, is allowed to.
func permission(t []token, i int, c place) (reading, bool) {
	r := reading{modality: rule.May, means: ByPermission, phrase: t[i].low}
	if c.genre == Document || i == 0 {
		return r, false
	}
	prev, next := at(t, i-1), at(t, i+1)
	switch {
	case t[i].low == "may":
		return r, people[prev] && prev != "we" && next != "be" && next != "have" && next != "also" && next != "not" && !unsaid[next] && next != "need" && next != "want"
	case allowedWords[t[i].low]:
		return r, copulas[prev] && (next == "to" || t[i].low == "acceptable")
	}
	return r, false
}

// midway reads an order in the middle of a sentence: "..., but do not ...".
func midway(t []token, i int, c place) (reading, bool) {
	r := reading{modality: rule.MustNot, means: ByNegation, phrase: t[i].low}
	if c.genre == Document {
		return r, false
	}
	joined := t[i].before != 0 && t[i].before != '(' && t[i].before != '|' || at(t, i-1) == "so" || at(t, i-1) == "but" || at(t, i-1) == "and" || at(t, i-1) == "please" || at(t, i-1) == "then"
	switch t[i].low {
	case "do", "don't":
		next := i + 1
		if t[i].low == "do" {
			next++
			if !is(t, i+1, "not") {
				return r, false
			}
			r.phrase = "do not"
		}
		return r, i > 0 && joined && (verbs[at(t, next)] || at(t, next) == "") && next < len(t)
	case "never":
		who := at(t, i-1)
		return r, i > 0 && verbs[at(t, i+1)] && who != "we" && who != "i" && who != "they" && who != "it" && who != "who" && who != "that" && who != "will" && who != "would" && who != "can" && who != "could" && (joined || !copulas[who])
	}
	return r, false
}

// practice reads what is so because it is to be so: "You use Python 3.12", "Logic belongs in the service layer".
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
			if w := at(t, k); verbs[w] && w != "have" && w != "work" && w != "specialize" && w != "know" && !guarded(t, i) {
				r.at = k
				return r, true
			}
		}
		if w := t[i].low; (w == "belongs" || w == "belong") && i > 0 && (at(t, i+1) == "in" || at(t, i+1) == "to") && !guarded(t, i) && at(t, i-1) != "that" {
			return reading{rule.Must, ByPractice, w, i, true}, true
		}
	}
	return r, false
}

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
	for k := i; k < len(t) && k < i+6; k++ {
		if k > i && t[k].before == ',' && (t[k].low == "or" || t[k].low == "and") || k > i && (t[k].low == "or") && t[k].before == 0 && t[i].before == ',' && later(t, k) {
			return later(t, k)
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
	if i+1 < len(t) && t[i+1].before == ':' && t[i+1].before != 0 {
		return false // a label
	}
	if i+1 < len(t) && (copulas[next] || next == "of" || next == "must" || next == "should" || next == "may" || next == "can" || next == "will" || next == "has" || next == "have" && w != "have") {
		return false
	}
	if subjectAt(t, i) {
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
