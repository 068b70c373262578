package norm

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"tenet/internal/lexicon"
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
	// Only marks a clause that allows or demands something of its subject, or at its days, alone: "Only owners may sign".
	Only bool
	// Passive marks clauses whose subject suffers the act.
	Passive bool
	// Waives marks clauses that say that something need not be: "do not need an approval". They are negative permissions.
	Waives bool
	// Head is the verb of what is to be done or not; empty if only the thing is named, as in "eval is forbidden".
	Head string
	// Subject has the words for who or what is bound, Predicate those for the act, without Head, Condition those for when.
	Subject, Predicate, Condition Set
	// Agent has the words of Predicate for who acts in a passive clause: "signed by managers".
	Agent      Set
	Without    Set   // the words of Predicate behind without
	Except     []Set // the words of each exception
	Quantities []Quantity

	words []placed
	all   Set               // all words, once the clause is read
	forms map[string]string // the words as they are written, by how they are compared
}

// Form returns a word of a clause as it is written, by how it is compared.
func (c *Clause) Form(key string) string { return c.forms[key] }

// Wording is the words of a clause that demand, forbid or permit, such as "must not".
type Wording struct {
	Force    Force // 0 if the modality alone says how binding the clause is, as in "Log failed logins" and "Never log passwords"
	Negative bool  // forbids
	// Doubtful marks words that may belong to a part of the clause, as in "Log keys users must not see".
	Doubtful bool
	From, To int // where the words are in the statement, in bytes; equal if the clause has none
}

// Words returns the words of all parts of a clause except its exceptions. The caller must not change them.
func (c *Clause) Words() Set {
	if c.all != nil {
		return c.all
	}
	out := union(c.Subject, c.Predicate, c.Condition)
	if c.Head != "" {
		out[c.Head] = true
	}
	return out
}

// Renamed returns a clause that has other words in place of some, by how they are compared. turned clauses mean the opposite.
func (c *Clause) Renamed(names map[string]string, turned bool) Clause {
	out := *c
	set := func(s Set) Set {
		renamed := Set{}
		for w := range s {
			if n, ok := names[w]; ok {
				w = n
			}
			renamed[w] = true
		}
		return renamed
	}
	out.Subject, out.Predicate, out.Condition, out.Agent = set(c.Subject), set(c.Predicate), set(c.Condition), set(c.Agent)
	if n, ok := names[c.Head]; ok {
		out.Head = n
	}
	if turned {
		out.Negative = !c.Negative
	}
	out.all = nil
	out.all = out.Words()
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
				if d, ok := c.deprived(); ok {
					out = append(out, d)
				}
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
		out[i].all = out[i].Words()
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
	"required": Require, "needed": Require, "necessary": Require, "optional": Permit, "exempt": Permit, "mandatory": Require, "obligatory": Require, "compulsory": Require, "recommended": Recommend, "allowed": Permit, "permitted": Permit,
	"fine": Permit, "ok": Permit, "okay": Permit, "acceptable": Permit, "free": Permit, "welcome": Permit, "entitled": Permit, "able": Permit,
	"forbidden": -Require, "prohibited": -Require, "banned": -Require, "disallowed": -Require, "barred": -Require, "asked": Require, "unacceptable": -Require, "discouraged": -Recommend,
}

// freeing are verdicts only before to: "is free to leave", and not "is free of charge".
var freeing = list("free welcome entitled able")

// commands begin a statement and forbid (-1) or demand (1) what follows.
var commands = map[string]int{
	"avoid": -1, "refrain": -1, "disallow": -1, "disallows": -1, "forbid": -1, "forbids": -1, "prohibit": -1, "prohibits": -1, "ban": -1, "never": -1,
	"don't": -1, "no": -1, "require": 1, "requires": 1, "enforce": 1, "enforces": 1, "mandate": 1, "always": 1, "please": 1, "prefer": 1,
}

// readClause parses a part of a sentence. subject is that of an earlier part of the sentence.
func readClause(part []word, first bool, subject Set) (Clause, bool) {
	part = sufficing(inState(reserved(granted(plain(part)))))
	words := places(part)
	own, at, next := findForce(words)
	if own.force == 0 && !first && !own.negative {
		return Clause{}, false // an explanation
	}
	c := Clause{
		Own: Wording{Force: own.force, Negative: own.negative}, Negative: own.negative, Conditional: own.conditional, Named: own.named,
		Only: own.conditional, Passive: own.passive, Waives: own.waives, Subject: Set{}, Predicate: Set{}, Condition: Set{}, forms: map[string]string{},
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
		texts = append(texts, cmp.Or(w.written, w.text))
	}
	c.Text, c.words = strings.Join(texts, " "), words
	c.Quantities = quantitiesOf(words)
	c.numbered(words)
	c.fill(words)
	if len(c.Subject) == 0 {
		c.Subject = union(subject)
	}
	c.Conditional = c.Conditional || len(c.Except) > 0
	c.retain()
	return c, len(c.Words())+len(c.Quantities) > 0 && !c.unfinished(part, own, at, next)
}

// unfinished reports whether a clause lacks the words that say what it is about: "An insurer must not:", "must be paid", "an
// activity of".
func (c *Clause) unfinished(part []word, own ownForce, at, next int) bool {
	last := part[len(part)-1]
	if !last.code && (hanging[last.text] || modals[last.text] != 0) {
		return true
	}
	if at == 0 && own.negative && part[0].text == "does" {
		return true // does not apply, an item of a list: of what is said before it
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
	case c.Waives:
		c.Force = Permit
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

// fill sorts the words of a clause into its sets, once the words of its force and its quantities are marked as used.
func (c *Clause) fill(words []placed) {
	var exception Set
	agent, without := false, false
	for i := range words {
		w := &words[i]
		if !w.code && preposition[w.text] {
			agent = c.Passive && w.text == "by" && w.place == InPredicate && (i+1 == len(words) || !manners[words[i+1].text])
		}
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
			without = without || w.text == "without"
			continue
		}
		if w.place == InPredicate && (states()[c.Head] || c.Passive && c.Head == keeps()) && !w.code && lexicon.Done(w.text) && !noContent[w.text] {
			c.Head = "" // to stay locked is to be locked
		}
		key := w.key()
		if w.text == "only" && (i+1 >= len(words) || words[i+1].place != InCondition) { // only when something holds
			c.Only = true
		}
		if base := denied(w.text); base != "" && w.place == InPredicate && !w.code && !c.describes(words, i) {
			c.forms[base] = w.text
			c.deny(base)
			continue
		}
		if key != "" {
			c.forms[key] = w.base()
		}
		if key == "" || (len(c.Quantities) > 0 && measures[w.text]) {
			continue
		}
		switch w.place {
		case InSubject:
			if w.text != "nobody" {
				c.Subject[key] = true
			}
		case InCondition:
			c.Condition[key] = true
		default:
			if without {
				if c.Without == nil {
					c.Without = Set{}
				}
				c.Without[key] = true
			}
			if agent && w.text != "only" {
				if c.Agent == nil {
					c.Agent = Set{}
				}
				c.Agent[key] = true
			}
			c.act(key)
		}
	}
	c.Except = slices.DeleteFunc(c.Except, func(s Set) bool { return len(s) == 0 })
	delete(c.Predicate, c.Head)
	delete(c.Subject, c.Head)
}

// describes reports whether the word at i says which things are deleted or kept: "Delete inactive accounts".
func (c *Clause) describes(words []placed, i int) bool {
	return (c.Head == deletes() || c.Head == keeps()) && !c.Passive && i+1 < len(words) && words[i].end == 0 && words[i+1].place == InPredicate && words[i+1].key() != ""
}

// states are verbs before a participle that says what is done: to stay locked, to leave unlocked.
var states = sync.OnceValue(func() map[string]bool {
	return map[string]bool{Key("stay"): true, Key("remain"): true, Key("leave"): true, Key("left"): true}
})

// manners are words behind by that say how something is done, and not by whom.
var manners = list("means way virtue reason")

// preposition are words that end who acts in a passive clause, or begin it.
var preposition = list("by in on at for from with within into onto to of during after before")

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
	if opposite, ok := opposites()[key]; ok {
		c.deny(opposite)
		return
	}
	c.put(key)
}

// deny adds a content word of the predicate whose opposite is written.
func (c *Clause) deny(key string) {
	c.Negative = !c.Negative
	if states()[c.Head] { // to leave unlocked is not to lock
		c.Head = ""
	}
	c.Conditional = c.Conditional || c.Head != ""
	c.put(key)
}

func (c *Clause) put(key string) {
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
