package prose

import (
	"slices"
	"strings"

	"tenet/internal/blocks"
	"tenet/internal/rule"
	"tenet/internal/text"
)

// lead is the meaning of a block that leads to a list for the items of the list.
type lead struct {
	text string // without marks and the colon
	says *reading
	open bool // the items are the demands: "Agents must:"
	when bool // it says when the items hold: "When committing:"
	ends bool // the items end its sentence: "Staff must not use the systems to:"
	free bool // the items are up to the reader, or are aims: "You could:"
}

// leading notes what a block says that leads to a list, and reports whether it is read with the list.
func (f *finder) leading(i, at int, raw string, c place) bool {
	loose := f.hasLoose(i, raw)
	if !loose && (!blocks.Leads(raw) && !(f.list[i].Kind == blocks.Item && endsOpen(raw)) || !f.hasItems(i) && !f.hasPoints(i) && !f.heads(i)) {
		return false
	}
	t := tokenize(raw)
	if len(t) == 0 {
		return false
	}
	l := lead{text: strings.TrimRight(blocks.Plain(raw), ": "), ends: unfinished[t[len(t)-1].low]}
	if r, ok := classify(t, c); ok {
		l.says = &r
		demand := r.means != ByItem && r.means != BySentence
		l.open = demand && (r.at+4 > len(t) || divides(t) || (r.modality == rule.MustNot || denies(t, r)) && enumerates(t)) || demands(t)
		if !demand && generic(t) {
			l.says = nil
		}
		if r.phrase == "avoid" && r.at < 2 && l.says != nil && f.hasItems(i) && !f.ordersAround(i+1) { // "Avoid changes that are hard to review:"
			f.out = append(f.out, f.norm(i, raw, lineAt(&f.list[i], at), r, c))
			l.says, l.open = &reading{modality: rule.Should, means: ByLead, phrase: r.phrase}, true
		}
		l.open = l.open && !f.asked(i)
	}
	if l.says == nil {
		l.says = bare(t)
		if n := len(t); l.says == nil && f.genre == Policy && n > 2 && is(t, n-2, "will", "be") && !somebody[t[n-3].low] { // "Contractors will be:" with "paid on time" below it
			l.says = &reading{modality: rule.Must, means: ByStatement, phrase: "will be", at: n - 2, subject: true}
		} else if l.says == nil && f.genre == Policy && n > 1 && n <= 8 && t[n-1].low == "will" && people[t[n-2].low] && !somebody[t[n-2].low] && t[n-2].low != "you" && t[n-2].low != "we" && !guarded(t, n-1) { // "All members will:"
			l.says = &reading{modality: rule.Must, means: ByStatement, phrase: "will", at: n - 1, subject: true}
		}
		l.open = l.says != nil
		l.ends = l.ends || l.open && !entitling[l.says.phrase]
	}
	if l.says != nil && l.says.phrase == "requirements" && f.hasItems(i) && f.ordersAround(i+1) { // its items say it themselves
		l.says, l.open, l.ends = nil, false, false
	}
	l.when = openers[t[0].low] && l.says == nil
	l.free = l.says == nil && (offers(t) || aims(t)) || helps(t)
	l = f.nested(i, l)
	f.leads[i] = l
	if !loose && f.heads(i) {
		if !l.open || l.says == nil {
			delete(f.leads, i)
			return false
		}
		f.over = span{section: f.list[i].Section, first: blocks.Plain(f.list[i+1].Text), lead: l}
		return true
	}
	if loose {
		if l.open && l.says != nil {
			f.loose = i
			return true
		}
		delete(f.leads, i)
		return false
	}
	if !f.hasItems(i) {
		if !l.open || l.says == nil || !enumerates(t) {
			delete(f.leads, i)
			return false
		}
		f.points = i
		return true
	}
	if l.says == nil || l.open {
		return true
	}
	f.joined(i, at, raw, l, c)
	return true
}

// asked reports whether most items that block i leads to are questions: they are the objects of its demand.
func (f *finder) asked(i int) bool {
	questions, n := 0, 0
	for k := i + 1; k < len(f.list) && f.list[k].Lead == i; k++ {
		if strings.HasSuffix(strings.TrimRight(f.list[k].Text, "*_ "), "?") {
			questions++
		}
		n++
	}
	return 2*questions > n
}

// nested puts the lead of the list that block i is an item of before its own: "Staff must:" and in it "when on call:".
func (f *finder) nested(i int, l lead) lead {
	outer, ok := f.lead(f.list[i].Lead)
	if f.list[i].Lead < 0 && f.list[i].Kind == blocks.Item {
		outer, ok = f.lead(f.loose)
	}
	if ok && outer.open && outer.ends && l.says != nil && l.says.means == ByNegation && outer.says.modality != rule.MustNot && len(outer.text)+len(l.text) <= maxLead {
		l.text = outer.with(l.text, tokenize(l.text)) // "Visitors must:" and in it "never take pictures of:"
		return l
	}
	if !ok || !outer.open || l.says != nil && l.says.means != ByItem && l.says.means != BySentence || len(outer.text)+len(l.text) > maxLead {
		return l
	}
	if l.when {
		l.text, l.ends = outer.text+", "+lowerFirst(l.text)+",", outer.ends
	} else {
		l.text = outer.with(l.text, tokenize(l.text))
	}
	l.says, l.open, l.when = outer.says, true, false
	return l
}

// maxLead bounds the leads of nested lists, in bytes.
const maxLead = 400

// offers reports whether a lead leaves what is below it to the reader: "For example, you could:".
func offers(t []token) bool {
	n := len(t)
	return n > 1 && (t[n-1].low == "could" || t[n-1].low == "can" || t[n-1].low == "might") || n > 2 && (is(t, n-2, "can", "include") || is(t, n-2, "may", "include") || is(t, n-2, "could", "include") || is(t, n-2, "might", "include")) || is(t, 0, "for", "example") || is(t, 0, "for", "instance")
}

// helps reports whether a lead ends with what something is good for: "a tool which will allow you to:".
func helps(t []token) bool {
	n := len(t)
	return is(t, n-3, "allow", "you", "to") || is(t, n-3, "enable", "you", "to") || is(t, n-3, "help", "you", "to") || is(t, n-2, "able", "to")
}

// aims reports whether what is below a lead are aims of what it says: "We use reviews to:".
func aims(t []token) bool {
	n := len(t)
	if n < 4 || t[n-1].low != "to" || verb(t[0].low) || openers[t[0].low] && t[0].low != "using" && t[0].low != "with" {
		return false
	}
	switch t[n-2].low {
	case "remember", "need", "needs", "have", "has", "try", "sure", "want":
		return false
	}
	return true
}

// denies reports whether the word that advises has a negation behind it: "should not do the following in a constructor:".
func denies(t []token, r reading) bool { return r.means == ByAdvice && negated(t, r.at) }

// endsOpen reports whether an item without a colon is the beginning of those in it: "Any change must".
func endsOpen(raw string) bool {
	t := tokenize(raw)
	return len(t) > 1 && unfinished[t[len(t)-1].low] && !strings.ContainsAny(raw[len(raw)-1:], ".!?;,")
}

// divides reports whether each item below a lead is a demand of its own: "Staff must not use the systems to:". Items below "must
// comply with:" are objects of one.
func divides(t []token) bool {
	n := len(t)
	if is(t, n-3, "not", "limited", "to") || helps(t) {
		return false
	}
	switch t[n-1].low {
	case "to", "from", "be":
		return true
	}
	return false
}

// enumerates reports whether a lead is about the items below it: "The following are prohibited:".
func enumerates(t []token) bool {
	for i := range t {
		if subordinators[t[i].low] || t[i].low == "where" || t[i].low == "when" { // they are conditions
			return false
		}
		if enumerating[t[i].low] && !is(t, i, "these", "rules") {
			return true
		}
	}
	return false
}

// with returns an item as its lead begins it, of which t are the tokens.
func (l *lead) with(item string, t []token) string {
	item = strings.TrimLeft(item, signs)
	if len(t) == 0 || !l.ends || !completes(t, l) {
		return l.text + ": " + item
	}
	return l.text + " " + lowerFirst(item)
}

// completes reports whether an item goes on with the clause of a lead rather than being one of its own.
func completes(t []token, l *lead) bool {
	last := l.text[strings.LastIndexByte(l.text, ' ')+1:]
	switch strings.ToLower(last) {
	case "must", "shall", "should", "not", "never", "always", "only", "may", "cannot", "don't", "dont":
		w := t[0].low
		return w == "" || verb(w) || adverbs[w] || w == "not" || w == "never" || w == "only" || w == "be" || w == "have" || strings.HasSuffix(w, "ly") || openers[w]
	}
	return true
}

// lowerFirst returns text whose first word has a small letter, unless it is a name.
func lowerFirst(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if word == "" || word[0] < 'A' || word[0] > 'Z' || word == "I" || strings.ToLower(word[1:]) != word[1:] || strings.ContainsAny(word, "._0123456789") && !strings.HasSuffix(word, ".") {
		return s
	}
	if low := strings.ToLower(strings.TrimRight(word, ",.;:")); len(word) > 1 && !verbs[low] && !openers[low] && !adverbs[low] && !determiners[low] && !auxiliaries[low] && !participles[low] && !prefixed[low] {
		return s // it may be a name
	}
	return strings.ToLower(word[:1]) + s[1:]
}

// prefixed are further words that begin items and are no names.
var prefixed = map[string]bool{"not": true, "never": true, "only": true, "no": true, "any": true, "have": true, "be": true, "those": true, "such": true, "their": true}

// hasLoose reports whether block i ends in the middle of a sentence, without a colon, before a list that goes on with it.
func (f *finder) hasLoose(i int, raw string) bool {
	return f.list[i].Kind == blocks.Paragraph && i+1 < len(f.list) && f.list[i+1].Kind == blocks.Item && f.list[i+1].Lead < 0 && endsOpen(raw)
}

// hasPoints reports whether block i leads to paragraphs of its section, as people write lists without marks.
func (f *finder) hasPoints(i int) bool {
	if i+1 >= len(f.list) || f.list[i].Kind != blocks.Paragraph {
		return false
	}
	next := &f.list[i+1]
	return next.Kind == blocks.Paragraph && next.Lead < 0 && len(next.Section) == len(f.list[i].Section)
}

// point returns the lead of a paragraph that is a point below it: it names a doing and is no sentence of its own.
func (f *finder) point(i int, t []token) (lead, bool) {
	b := &f.list[i]
	if f.points < 0 || b.Kind != blocks.Paragraph || b.Lead >= 0 || len(t) < 2 || f.genre.describes() || !slices.Equal(b.Section, f.list[f.points].Section) {
		return lead{}, false
	}
	w := t[0].low
	if !strings.HasSuffix(w, "ing") && !nominal(t) || fullSentence(t) {
		return lead{}, false
	}
	return f.lead(f.points)
}

// nominal reports whether a sentence names a doing: "Introduction of ...", "Unauthorized use ...".
func nominal(t []token) bool {
	for i := range t[:min(len(t), 4)] {
		w := t[i].low
		if (strings.HasSuffix(w, "tion") || strings.HasSuffix(w, "tions") || strings.HasSuffix(w, "ment") || w == "use" || w == "form" || w == "misuse" || w == "abuse") && i+1 < len(t) {
			switch at(t, i+1) {
			case "of", "or", "and", "":
				return true
			}
		}
	}
	return false
}

// hasItems reports whether block i leads to the next block.
func (f *finder) hasItems(i int) bool {
	return i+1 < len(f.list) && f.list[i+1].Lead == i
}

// lead returns the meaning of block i for the blocks below it.
func (f *finder) lead(i int) (lead, bool) {
	l, ok := f.leads[i]
	return l, ok && i >= 0
}

// demands reports whether a lead ends by demanding what follows: "policy requires that:", "You are required to:".
func demands(t []token) bool {
	n := len(t)
	if is(t, n-3, "not", "limited", "to") {
		return false
	}
	if at(t, n-1) == "for" && (at(t, n-2) == "responsible" || at(t, n-2) == "accountable") {
		return true
	}
	for _, last := range []int{n - 1, n - 2, n - 3} {
		switch at(t, last) {
		case "not":
			if last == n-1 || auxiliaries[at(t, last-1)] || copulas[at(t, last-1)] || at(t, last-1) == "do" { // not "use make (not scripts directly):"
				return true
			}
		case "must", "shall", "should", "requires", "require", "prohibits", "prohibit", "never", "prohibited", "forbidden", "required", "avoid", "always", "forbid":
			return true
		}
	}
	return false
}

// generic reports whether an order only points to the list below it: "Follow these guidelines:".
func generic(t []token) bool {
	for i := range t {
		switch t[i].low {
		case "follow", "following", "these", "below", "rules", "guidelines", "steps", "needed":
			if !(t[i].low == "following" && (at(t, i+1) == "information" || at(t, i+1) == "with")) {
				return true
			}
		}
	}
	return false
}

// maxJoined bounds a statement that is joined from a lead and its items, in bytes.
const maxJoined = 800

// joined adds the norm of a lead whose items are only its objects: "Include the following: ...". Items that are norms are norms of
// their own.
func (f *finder) joined(i, from int, raw string, l lead, c place) {
	b := &f.list[i]
	s, last := blocks.Plain(raw), i
	size := len(s)
	for k := i + 1; k < len(f.list) && f.list[k].Lead == i; k++ {
		for _, p := range sentences(f.list[k].Text) {
			if p[1]-p[0] > maxSentence {
				continue
			}
			if _, ok := classify(tokenize(f.list[k].Text[p[0]:p[1]]), f.context(k)); ok && !l.free {
				size = maxJoined
			}
		}
		if size += len(f.list[k].Text); size > maxJoined {
			last = i
			break
		}
		last = k
	}
	n := f.norm(i, raw, lineAt(b, from), *l.says, c)
	if last == i {
		n.Statement = clean(l.text)
		if strings.Count(l.text, " ") > 2 || l.says.means == ByNegation { // "Change flights:" is a title
			f.out = append(f.out, n)
		}
		return
	}
	parts := make([]string, 0, last-i)
	for k := i + 1; k <= last; k++ {
		parts = append(parts, strings.TrimRight(blocks.Plain(f.list[k].Text), ".;, "))
		n.Quote += "\n" + f.list[k].Text
	}
	n.Statement = clean(l.text + ": " + strings.Join(parts, "; "))
	n.EndLine = lineAt(&f.list[last], len(f.list[last].Text))
	n.Quote = text.FitRunes(n.Quote, maxQuote, "")
	f.out = append(f.out, n)
}

// refusals begin an item that shows what not to do.
var refusals = []string{"❌", "🚫", "⛔", "✗", "✘", "👎"}

// leader returns the lead of block i, of which raw is a sentence: a block before it, its heading, or a sign.
func (f *finder) leader(i int, raw string) (lead, bool) {
	no := lead{text: "Do not", says: &reading{modality: rule.MustNot, means: ByNegation}, open: true, ends: true}
	for _, sign := range refusals {
		if strings.HasPrefix(raw, sign) {
			return no, true
		}
	}
	if l, ok := f.lead(f.list[i].Lead); ok {
		return l, true
	}
	if l, ok := f.lead(f.loose); ok && f.list[i].Kind == blocks.Item && f.list[i].Lead < 0 {
		return l, true
	}
	if f.list[i].Kind != blocks.Item || f.list[i].Lead >= 0 {
		return lead{}, false
	}
	if f.over.holds(f.list[i].Section) {
		return f.over.lead, true
	}
	if f.genre.describes() || !forbidding(f.list[i].Section) {
		return lead{}, false
	}
	if section := f.list[i].Section; f.tongue != nil {
		no.text, no.ends = blocks.Plain(unnumbered(section[len(section)-1])), false
	}
	return no, true
}

// entitling words end leads that are titles of what is below them.
var entitling = text.Words("banned disallowed requirements")

// bare reads a lead that ends with the word that binds: "Never:", "Any new feature must:".
func bare(t []token) *reading {
	n := len(t)
	if n == 0 || n > 40 {
		return nil
	}
	last, r := at(t, n-1), &reading{at: n - 1, phrase: at(t, n-1), subject: n > 1}
	if n > 2 && guarded(t, n-1) {
		return nil
	}
	switch last {
	case "banned", "disallowed": // "Patterns (BANNED):"
		r.modality, r.means = rule.MustNot, ByNegation
	case "requirements": // "Pre-commit requirements:"
		if n == 1 || n > 4 || verb(t[0].low) || determiners[t[0].low] {
			return nil
		}
		r.modality, r.means = rule.Must, ByBinding
	case "never", "not", "don't", "dont", "don'ts", "forbidden", "prohibited", "cannot":
		if n > 2 && !auxiliaries[at(t, n-2)] && at(t, n-2) != "do" && last != "cannot" {
			return nil
		}
		r.modality, r.means = rule.MustNot, ByNegation
		if at(t, n-2) == "should" {
			r.modality, r.means = rule.Should, ByAdvice
		}
	case "should":
		r.modality, r.means = rule.Should, ByAdvice
	case "avoid":
		if n > 2 {
			return nil
		}
		r.modality, r.means = rule.Should, ByAdvice
	case "must", "shall":
		r.modality, r.means = rule.Must, ByBinding
		if denied(t, n-1, place{}) {
			r.modality = rule.MustNot
		}
	case "always":
		if n > 2 && !auxiliaries[at(t, n-2)] {
			return nil
		}
		r.modality, r.means = rule.Must, ByBinding
	default:
		return nil
	}
	return r
}

// underLead puts what says when an item holds before it.
func (f *finder) underLead(statement string, l lead, led bool) string {
	if !led || !l.when || len(l.text) > 160 {
		return statement
	}
	return text.FitRunes(l.text+": "+statement, rule.MaxStatement, "")
}
