package contradict

import (
	"slices"
	"strings"

	"tenet/internal/rule"
)

// force is how binding a clause is.
type force int

const (
	permit force = iota + 1
	recommend
	require
)

// clause is one demand, prohibition or permission of a statement.
type clause struct {
	text     string
	force    force
	negative bool // forbids
	// conditional is set for demands on how something is done if it is done at all: not without, only by.
	conditional bool
	named       bool // has no verb
	// head is the verb of what is to be done or not; empty if only the thing is named, as in "eval is forbidden".
	head                          string
	subject, predicate, condition set // without head
	except                        []set
	quantities                    []quantity
}

func (c *clause) words() set {
	out := union(c.subject, c.predicate, c.condition)
	if c.head != "" {
		out[c.head] = true
	}
	return out
}

// maxClauses bounds the demands of a statement that are compared.
const maxClauses = 6

// clausesOf parses a statement. It leaves out sentences that demand nothing, such as explanations.
func clausesOf(text string, modality rule.Modality) []clause {
	var out []clause
	var sentence []word
	first := true
	end := func() {
		var subject set
		for _, part := range split(sentence) {
			c, ok := readClause(part, modality, first, subject)
			first = false
			if ok && len(out) < maxClauses {
				out = append(out, c)
				subject = c.subject
			}
		}
		sentence = nil
	}
	for _, w := range tokens(text) {
		sentence = append(sentence, w)
		if w.end == '.' {
			end()
		}
	}
	end()
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
var modals = map[string]force{
	"must": require, "shall": require, "mustn't": require, "should": recommend, "shouldn't": recommend, "ought": recommend, "may": permit, "can": permit,
	"cannot": permit, "can't": permit, "needs": require, "need": require, "has-to": require, "have-to": require,
}

// verdicts are words that make a demand of their subject: "is forbidden". Below 0, they forbid.
var verdicts = map[string]force{
	"required": require, "mandatory": require, "obligatory": require, "compulsory": require, "recommended": recommend, "allowed": permit, "permitted": permit,
	"forbidden": -require, "prohibited": -require, "banned": -require, "disallowed": -require, "unacceptable": -require, "discouraged": -recommend,
}

// commands begin a statement and forbid (-1) or demand (1) what follows.
var commands = map[string]int{
	"avoid": -1, "refrain": -1, "disallow": -1, "disallows": -1, "forbid": -1, "forbids": -1, "prohibit": -1, "prohibits": -1, "ban": -1, "never": -1,
	"don't": -1, "no": -1, "require": 1, "requires": 1, "enforce": 1, "enforces": 1, "mandate": 1, "always": 1, "please": 1, "prefer": 1,
}

// readClause parses a part of a sentence. subject is that of an earlier part of the sentence.
func readClause(part []word, modality rule.Modality, first bool, subject set) (clause, bool) {
	words := places(part)
	own, at, next := findForce(words)
	if own.force == 0 && !first && !own.negative {
		return clause{}, false // an explanation
	}
	c := clause{force: own.force, negative: own.negative, conditional: own.conditional, named: own.named, subject: set{}, predicate: set{}, condition: set{}}
	c.weigh(modality, own)
	for i := range words {
		if words[i].place == inPredicate && i < at {
			words[i].place = inSubject
		}
		if i >= at && i < next {
			words[i].used = true
		}
	}
	var texts []string
	for _, w := range part {
		texts = append(texts, w.text)
	}
	c.text = strings.Join(texts, " ")
	c.quantities = quantitiesOf(words)
	c.fill(words)
	if len(c.subject) == 0 {
		c.subject = union(subject)
	}
	c.conditional = c.conditional || len(c.except) > 0
	return c, len(c.words())+len(c.quantities) > 0 && !c.unfinished(part, own, at, next)
}

// unfinished reports whether a clause lacks the words that say what it is about: "An insurer must not:", "must be paid", "an
// activity of".
func (c *clause) unfinished(part []word, own ownForce, at, next int) bool {
	last := part[len(part)-1]
	if !last.code && (hanging[last.text] || modals[last.text] != 0) {
		return true
	}
	if own.force == 0 {
		return false
	}
	if c.head == "" && !c.named && !hasIn(c, inPredicate) {
		return true
	}
	passive := next > at && next <= len(part) && isBe(part[next-1].text)
	return at == 0 && passive && len(c.subject) == 0
}

// hanging are words that no clause ends with.
var hanging = list("a an the of to from by with for into onto over about against between through via per upon and or but that which if when unless not following")

// weigh combines the force and the polarity of the words with the modality. Under MUST_NOT, what a clause names or demands is forbidden; one
// that forbids in its own words does so once, not twice.
func (c *clause) weigh(modality rule.Modality, own ownForce) {
	strength := require
	switch modality {
	case rule.Should:
		strength = recommend
	case rule.May:
		strength = permit
	default:
	}
	switch {
	case own.force == 0: // the modality alone decides
		c.force = strength
		c.negative = c.negative || modality == rule.MustNot
	case modality == rule.MustNot && !c.negative:
		c.force, c.negative = require, true
	case c.negative && own.force == permit: // may not
		c.force = max(strength, recommend)
	case own.force == permit || strength == permit:
		c.force = min(own.force, strength)
	default:
		c.force = strength
	}
}

// ownForce is the force that the words of a clause express.
type ownForce struct {
	force       force // 0 if they say nothing
	negative    bool
	conditional bool
	named       bool // the thing is only named, as in "eval is forbidden in tests": no verb follows
}

// findForce finds the words of a demand, those from at to before next. The words before them are the subject.
func findForce(words []placed) (own ownForce, at, next int) {
	for i := range words {
		if words[i].place != inPredicate {
			continue
		}
		t := words[i].text
		if f := modals[t]; f != 0 && !words[i].code {
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
	start := slices.IndexFunc(words, func(w placed) bool { return w.place == inPredicate })
	if start < 0 {
		return own, 0, 0
	}
	next = start
	for next < len(words) && commands[words[next].text] != 0 && !words[next].code {
		own.negative = own.negative != (commands[words[next].text] < 0)
		if own.force = require; words[next].text == "prefer" {
			own.force = recommend
		}
		next++
	}
	if next > start {
		own.force = 0 // the modality says how binding it is
		return own, start, next
	}
	for i := start; i+1 < len(words) && words[i].place == inPredicate; i++ {
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
func (c *clause) fill(words []placed) {
	var exception set
	for i := range words {
		w := &words[i]
		if w.place == inException {
			if exception == nil || words[i-1].place != inException {
				exception = set{}
				c.except = append(c.except, exception)
			}
			exception.add(w.word)
			continue
		}
		if w.used || w.place == dropped {
			continue
		}
		if w.place == inPredicate && c.turn(words, i) {
			continue
		}
		key := w.key()
		if key == "" || (len(c.quantities) > 0 && measures[w.text]) {
			continue
		}
		switch w.place {
		case inSubject:
			c.subject[key] = true
		case inCondition:
			c.condition[key] = true
		default:
			c.add(key)
		}
	}
	c.except = slices.DeleteFunc(c.except, func(s set) bool { return len(s) == 0 })
	delete(c.predicate, c.head)
	delete(c.subject, c.head)
}

// turn reads words that turn a predicate into its opposite: without, and no.
func (c *clause) turn(words []placed, i int) bool {
	switch words[i].text {
	case "without":
		c.negative, c.conditional = !c.negative, true
		return true
	case "no", "neither", "nor":
		if i+1 < len(words) && !measures[words[i+1].text] {
			c.negative = !c.negative
		}
		return true
	}
	return false
}

// add adds a content word of the predicate.
func (c *clause) add(key string) {
	if opposite, ok := opposites[key]; ok {
		key = opposite
		c.negative = !c.negative
		c.conditional = c.conditional || c.head != ""
	}
	if c.head == "" && !c.named {
		c.head = key
		return
	}
	c.predicate[key] = true
}

// turns are words that begin another part of a clause, which ends at a comma.
var turns = map[string]place{
	"if": inCondition, "when": inCondition, "whenever": inCondition, "while": inCondition, "where": inCondition, "once": inCondition, "during": inCondition,
	"until": inCondition, "unless": inException, "except": inException, "excluding": inException, "besides": inException,
	"because": dropped, "since": dropped, "so": dropped, "whatever": dropped, "regardless": dropped, "even": dropped,
}

// turnPairs are turns of two words.
var turnPairs = map[string]place{
	"other than": inException, "apart from": inException, "aside from": inException, "save for": inException, "instead of": dropped, "rather than": dropped, "and not": dropped,
	"but not": dropped, "so that": dropped, "in order": dropped, "in case": inCondition, "as long": inCondition, "for example": dropped, "such as": dropped,
	"to avoid": dropped, "to prevent": dropped, "to ensure": dropped, "to make": dropped, "as well": dropped,
}

// places divides a clause into its parts. Words outside conditions, exceptions and reasons are in the predicate at first.
func places(part []word) []placed {
	out := make([]placed, len(part))
	now := inPredicate
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
			now = inPredicate
		}
	}
	return out
}
