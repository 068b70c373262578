package norm

import (
	"slices"
	"strings"

	"tenet/internal/rule"
)

// Force is how binding a clause is.
type Force int

// The forces, from weak to strong.
const (
	Permit Force = iota + 1
	Recommend
	Require
)

// Clause is one demand, prohibition or permission of a statement: who has to do what, or not to do it, and when.
type Clause struct {
	Text string
	// Own is the force and the polarity that the words of the clause express.
	Own Wording
	// Force and Negative are those of words and modality together; Negative forbids.
	Force    Force
	Negative bool
	// Conditional marks demands on how something is done if it is done at all: not without, only by.
	Conditional bool
	Named       bool // has no verb
	// Head is the verb of what is to be done or not; empty if only the thing is named, as in "eval is forbidden".
	Head string
	// Subject has the words for who or what is bound, Predicate those for the act, without Head, Condition those for when.
	Subject, Predicate, Condition Set
	Except                        []Set // the words of each exception
	Quantities                    []Quantity

	words []placed
}

// Wording is the words of a clause that demand, forbid or permit, such as "must not".
type Wording struct {
	Force    Force // 0 if the modality alone says how binding the clause is, as in "Log failed logins" and "Never log passwords"
	Negative bool  // forbids
	// Doubtful marks words that may belong to a part of the clause, as in "Log keys users must not see".
	Doubtful bool
	From, To int // where the words are in the statement, in bytes; equal if the clause has none
}

// Words returns the words of all parts of a clause except its exceptions.
func (c *Clause) Words() Set {
	out := union(c.Subject, c.Predicate, c.Condition)
	if c.Head != "" {
		out[c.Head] = true
	}
	return out
}

// Bounded reports whether a quantity is in a part of the clause.
func (c *Clause) Bounded(p Place) bool {
	return slices.ContainsFunc(c.Quantities, func(q Quantity) bool { return q.Place == p })
}

// maxClauses bounds the demands of a statement that are read.
const maxClauses = 6

// Read parses a statement under a modality. It leaves out sentences that demand nothing, such as explanations.
func Read(statement string, modality rule.Modality) []Clause {
	var out []Clause
	var sentence []word
	first := true
	end := func() {
		var subject Set
		for _, part := range split(sentence) {
			c, ok := readClause(part, first, subject)
			first = false
			if ok && len(out) < maxClauses {
				out = append(out, c)
				subject = c.Subject
			}
		}
		sentence = nil
	}
	for _, w := range tokens(statement) {
		sentence = append(sentence, w)
		if w.end == '.' {
			end()
		}
	}
	end()
	stated := stated(out, modality)
	for i := range out {
		out[i].weigh(stated)
	}
	return out
}

// split divides a sentence where another demand begins: "must name verbs and must not grant all".
func split(sentence []word) [][]word {
	var parts [][]word
	from := 0
	for i := 1; i+1 < len(sentence); i++ {
		if t := sentence[i].text; (t == "and" || t == "but" || t == "or") && modals[sentence[i+1].text] != 0 && i > from {
			parts = append(parts, sentence[from:i])
			from = i + 1
		}
	}
	if from < len(sentence) {
		parts = append(parts, sentence[from:])
	}
	return parts
}

// modals are verbs that a demand follows.
var modals = map[string]Force{
	"must": Require, "shall": Require, "mustn't": Require, "should": Recommend, "shouldn't": Recommend, "ought": Recommend, "may": Permit, "can": Permit,
	"cannot": Permit, "can't": Permit, "needs": Require, "need": Require, "has-to": Require, "have-to": Require,
}

// verdicts are words that make a demand of their subject: "is forbidden". Below 0, they forbid.
var verdicts = map[string]Force{
	"required": Require, "mandatory": Require, "obligatory": Require, "compulsory": Require, "recommended": Recommend, "allowed": Permit, "permitted": Permit,
	"forbidden": -Require, "prohibited": -Require, "banned": -Require, "disallowed": -Require, "unacceptable": -Require, "discouraged": -Recommend,
}

// commands begin a statement and forbid (-1) or demand (1) what follows.
var commands = map[string]int{
	"avoid": -1, "refrain": -1, "disallow": -1, "disallows": -1, "forbid": -1, "forbids": -1, "prohibit": -1, "prohibits": -1, "ban": -1, "never": -1,
	"don't": -1, "no": -1, "require": 1, "requires": 1, "enforce": 1, "enforces": 1, "mandate": 1, "always": 1, "please": 1, "prefer": 1,
}

// readClause parses a part of a sentence. subject is that of an earlier part of the sentence.
func readClause(part []word, first bool, subject Set) (Clause, bool) {
	words := places(part)
	own, at, next := findForce(words)
	if own.force == 0 && !first && !own.negative {
		return Clause{}, false // an explanation
	}
	c := Clause{
		Own: Wording{Force: own.force, Negative: own.negative}, Negative: own.negative, Conditional: own.conditional, Named: own.named,
		Subject: Set{}, Predicate: Set{}, Condition: Set{},
	}
	c.Own.Doubtful = at < next && at > 0 && !words[0].code && imperatives[words[0].text]
	if at < next {
		c.Own.From, c.Own.To = part[at].from, part[next-1].to
	}
	for i := range words {
		if words[i].place == InPredicate && i < at {
			words[i].place = InSubject
		}
		if i >= at && i < next {
			words[i].used = true
		}
	}
	var texts []string
	for _, w := range part {
		texts = append(texts, w.text)
	}
	c.Text, c.words = strings.Join(texts, " "), words
	c.Quantities = quantitiesOf(words)
	c.fill(words)
	if len(c.Subject) == 0 {
		c.Subject = union(subject)
	}
	c.Conditional = c.Conditional || len(c.Except) > 0
	return c, len(c.Words())+len(c.Quantities) > 0 && !c.unfinished(part, own, at, next)
}

// unfinished reports whether a clause lacks the words that say what it is about: "An insurer must not:", "must be paid", "an
// activity of".
func (c *Clause) unfinished(part []word, own ownForce, at, next int) bool {
	last := part[len(part)-1]
	if !last.code && (hanging[last.text] || modals[last.text] != 0) {
		return true
	}
	if own.force == 0 {
		return false
	}
	if c.Head == "" && !c.Named && !c.Bounded(InPredicate) {
		return true
	}
	passive := next > at && next <= len(part) && isBe(part[next-1].text)
	return at == 0 && passive && len(c.Subject) == 0
}

// hanging are words that no clause ends with.
var hanging = list("a an the of to from by with for into onto over about against between through via per upon and or but that which if when unless not following")

// weigh combines the force and the polarity of the words with the modality.
func (c *Clause) weigh(modality rule.Modality) {
	strength := Require
	switch modality {
	case rule.Should:
		strength = Recommend
	case rule.May:
		strength = Permit
	default:
	}
	turned := c.Negative != c.Own.Negative // by words such as disable and without
	forbids := c.Own.Negative
	switch {
	case c.Own.Force == 0: // the modality alone decides
		c.Force = strength
		forbids = forbids || modality == rule.MustNot
	case modality == rule.MustNot && !forbids:
		c.Force, forbids = Require, true
	case forbids && c.Own.Force == Permit: // may not
		c.Force = max(strength, Recommend)
	case c.Own.Force == Permit || strength == Permit:
		c.Force = min(c.Own.Force, strength)
	default:
		c.Force = strength
	}
	c.Negative = forbids != turned
}

// ownForce is the force that the words of a clause express.
type ownForce struct {
	force       Force // 0 if they say nothing
	negative    bool
	conditional bool
	named       bool // the thing is only named, as in "eval is forbidden in tests": no verb follows
}

// findForce finds the words of a demand, those from at to before next. The words before them are the subject.
func findForce(words []placed) (own ownForce, at, next int) {
	for i := range words {
		if words[i].place != InPredicate {
			continue
		}
		t := words[i].text
		if f := modals[t]; f != 0 && !words[i].code {
			if relative(words, i) {
				continue
			}
			own.force = f
			own.negative = t == "cannot" || strings.HasSuffix(t, "n't")
			next = own.after(words, i+1)
			own.leading(words[:i])
			if v, end := own.verdict(words, next); end > 0 { // must be forbidden
				return v, i, end
			}
			return own, i, next
		}
		if isBe(t) {
			rest := ownForce{}
			if v, end := rest.verdict(words, rest.after(words, i)); end > 0 {
				v.leading(words[:i])
				return v, i, end
			}
		}
	}
	return findCommand(words)
}

// relative reports whether a verb is in a relative clause, which describes: "keys that must not be shared", "who the users are". A relative
// clause with a verb of its own ends before the verb, as in "templates that render HTML must escape".
func relative(words []placed, i int) bool {
	for k := i - 1; k >= max(0, i-2) && words[k].end == 0; k-- {
		switch words[k].text {
		case "that", "which", "who", "whose", "whom", "what":
			return true
		}
	}
	return false
}

// after reads the words after a modal verb: not, never, only, be.
func (o *ownForce) after(words []placed, i int) int {
	for ; i < len(words); i++ {
		switch t := words[i].text; {
		case t == "not" || t == "never":
			if i+1 < len(words) && (words[i+1].text == "more" || words[i+1].text == "less") {
				return i
			}
			o.negative = true
		case t == "only":
			o.conditional = true
		case t == "always" || t == "also" || t == "to" || isBe(t):
		default:
			return i
		}
	}
	return i
}

// verdict reads a word such as forbidden at i. end is 0 without one.
func (o ownForce) verdict(words []placed, i int) (v ownForce, end int) {
	if i >= len(words) || verdicts[words[i].text] == 0 {
		return o, 0
	}
	v = o
	v.force = verdicts[words[i].text]
	if v.force < 0 {
		v.force, v.negative = -v.force, !o.negative
	}
	end = i + 1
	if v.named = true; end < len(words) && (words[end].text == "to" || words[end].text == "from") {
		v.named = false
		end++
	}
	return v, end
}

// leading reads the words before the subject: no, only.
func (o *ownForce) leading(subject []placed) {
	for i := range subject {
		switch subject[i].text {
		case "no", "nobody", "none", "neither", "never":
			o.negative = !o.negative
			return
		case "only":
			o.conditional = true
			return
		}
	}
}

func isBe(t string) bool {
	return t == "be" || t == "is" || t == "are" || t == "been" || t == "being" || t == "was" || t == "were"
}

// findCommand is findForce for statements without a modal verb: "Never log passwords", "Logs do not hold passwords".
func findCommand(words []placed) (own ownForce, at, next int) {
	start := slices.IndexFunc(words, func(w placed) bool { return w.place == InPredicate })
	if start < 0 {
		return own, 0, 0
	}
	next = start
	for next < len(words) && commands[words[next].text] != 0 && !words[next].code {
		own.negative = own.negative != (commands[words[next].text] < 0)
		if own.force = Require; words[next].text == "prefer" {
			own.force = Recommend
		}
		next++
	}
	if next > start {
		own.force = 0 // the modality says how binding it is
		return own, start, next
	}
	for i := start; i+1 < len(words) && words[i].place == InPredicate; i++ {
		t, n := words[i].text, words[i+1].text
		switch {
		case (t == "do" || t == "does" || isBe(t)) && (n == "not" || n == "never"):
			return ownForce{negative: true}, i, i + 2
		case t == "never":
			return ownForce{negative: true}, i, i + 1
		case isBe(t) && i > start:
			return own, i, i + 1
		}
	}
	return own, start, start
}

// fill sorts the words of a clause into its sets, once the words of its force and its quantities are marked as used.
func (c *Clause) fill(words []placed) {
	var exception Set
	for i := range words {
		w := &words[i]
		if w.place == InException {
			if exception == nil || words[i-1].place != InException {
				exception = Set{}
				c.Except = append(c.Except, exception)
			}
			exception.add(w.word)
			continue
		}
		if w.used || w.place == dropped {
			continue
		}
		if w.place == InPredicate && c.turn(words, i) {
			continue
		}
		key := w.key()
		if key == "" || (len(c.Quantities) > 0 && measures[w.text]) {
			continue
		}
		switch w.place {
		case InSubject:
			c.Subject[key] = true
		case InCondition:
			c.Condition[key] = true
		default:
			c.act(key)
		}
	}
	c.Except = slices.DeleteFunc(c.Except, func(s Set) bool { return len(s) == 0 })
	delete(c.Predicate, c.Head)
	delete(c.Subject, c.Head)
}

// turn reads words that turn a predicate into its opposite: without, and no.
func (c *Clause) turn(words []placed, i int) bool {
	switch words[i].text {
	case "without":
		c.Negative, c.Conditional = !c.Negative, true
		return true
	case "no", "neither", "nor":
		if i+1 < len(words) && !measures[words[i+1].text] {
			c.Negative = !c.Negative
		}
		return true
	}
	return false
}

// act adds a content word of the predicate.
func (c *Clause) act(key string) {
	if opposite, ok := opposites[key]; ok {
		key = opposite
		c.Negative = !c.Negative
		c.Conditional = c.Conditional || c.Head != ""
	}
	if c.Head == "" && !c.Named {
		c.Head = key
		return
	}
	c.Predicate[key] = true
}

// turns are words that begin another part of a clause, which ends at a comma.
var turns = map[string]Place{
	"if": InCondition, "when": InCondition, "whenever": InCondition, "while": InCondition, "where": InCondition, "once": InCondition, "during": InCondition,
	"until": InCondition, "unless": InException, "except": InException, "excluding": InException, "besides": InException,
	"because": dropped, "since": dropped, "so": dropped, "whatever": dropped, "regardless": dropped, "even": dropped,
}

// turnPairs are turns of two words.
var turnPairs = map[string]Place{
	"other than": InException, "apart from": InException, "aside from": InException, "save for": InException, "instead of": dropped, "rather than": dropped, "and not": dropped,
	"but not": dropped, "so that": dropped, "in order": dropped, "in case": InCondition, "as long": InCondition, "for example": dropped, "such as": dropped,
	"to avoid": dropped, "to prevent": dropped, "to ensure": dropped, "to make": dropped, "as well": dropped,
}

// places divides a clause into its parts. Words outside conditions, exceptions and reasons are in the predicate at first.
func places(part []word) []placed {
	out := make([]placed, len(part))
	now := InPredicate
	for i, w := range part {
		if !w.code {
			pair := ""
			if i+1 < len(part) {
				pair = w.text + " " + part[i+1].text
			}
			if p, ok := turnPairs[pair]; ok {
				now = p
			} else if p, ok := turns[w.text]; ok {
				now = p
			}
		}
		out[i] = placed{word: w, place: now}
		if w.end == ',' {
			now = InPredicate
		}
	}
	return out
}
