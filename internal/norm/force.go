package norm

import (
	"slices"
	"strings"

	"tenet/internal/lexicon"
)

// ownForce is the force that the words of a clause express.
type ownForce struct {
	force       Force // 0 if they say nothing
	negative    bool
	conditional bool
	named       bool // the thing is only named, as in "eval is forbidden in tests": no verb follows
	passive     bool // be follows the verb
	waives      bool // says that something need not be
}

// needs are verbs of a demand that become a permission where they are denied.
var needs = list("need needs require requires have-to has-to")

// needed reads a verb such as needs at i, of which a denial makes a permission. at is where its words begin.
func (o *ownForce) needed(words []placed, i int) (at, next int, ok bool) {
	t := words[i].text
	if !needs[t] || i == 0 || words[i].code || (t == "require" || t == "requires") && (i+1 < len(words) && words[i+1].text == "that") {
		return 0, 0, false
	}
	at, next = i, i+1
	switch prev := words[i-1].text; {
	case (prev == "not" || prev == "never") && i > 1:
		o.waives, at = true, i-2
	case strings.HasSuffix(prev, "n't"):
		o.waives, at = true, i-1
	case prev == "to" || modals[prev] != 0:
		return 0, 0, false
	}
	if next < len(words) && words[next].text == "not" || next < len(words) && words[next].text == "no" {
		o.waives = true
		next++
	}
	o.force = Require
	if o.waives {
		o.force, o.negative = Permit, true
	}
	next = o.be(words, next)
	o.leading(words[:at])
	return at, next, true
}

// be skips to and be behind a verb.
func (o *ownForce) be(words []placed, i int) int {
	for i < len(words) && (words[i].text == "to" || isBe(words[i].text)) {
		o.passive = o.passive || isBe(words[i].text)
		i++
	}
	return i
}

// findForce finds the words of a demand, those from at to before next. The words before them are the subject.
func findForce(words []placed) (own ownForce, at, next int) {
	for i := range words {
		if words[i].place != InPredicate {
			continue
		}
		t := words[i].text
		if at, next, ok := own.needed(words, i); ok {
			return own, at, next
		}
		if f := modals[t]; f != 0 && !words[i].code {
			if relative(words, i) {
				continue
			}
			own.force = f
			own.negative = t == "cannot" || strings.HasSuffix(t, "n't")
			next = own.after(words, i+1)
			own.leading(words[:i])
			if v, end := own.verdict(words, next); end > 0 { // must be forbidden
				return v.settled(words[end-1].text), i, end
			}
			return own, i, next
		}
		if isBe(t) {
			rest := ownForce{}
			if v, end := rest.verdict(words, rest.after(words, i)); end > 0 {
				v.leading(words[:i])
				return v.settled(verdictWord(words, end)), i, end
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
		case isBe(t):
			o.passive = true
		case t == "always" || t == "also" || t == "to":
		default:
			return i
		}
	}
	return i
}

// verdict reads a word such as forbidden at i. end is 0 without one.
func (o ownForce) verdict(words []placed, i int) (v ownForce, end int) {
	if i >= len(words) || verdicts[words[i].text] == 0 || freeing[words[i].text] && (i+1 >= len(words) || words[i+1].text != "to") {
		return o, 0
	}
	v = o
	v.force = verdicts[words[i].text]
	if v.force < 0 {
		v.force, v.negative = -v.force, !o.negative
	}
	end = i + 1
	if v.named = true; end < len(words) && (words[end].text == "to" || words[end].text == "from" && end+1 < len(words) && strings.HasSuffix(words[end+1].text, "ing")) {
		v.named = false
		end++
		v.passive = end < len(words) && isBe(words[end].text)
	}
	return v, end
}

// verdictWord returns the word of a verdict that ends before end.
func verdictWord(words []placed, end int) string {
	if w := words[end-1].text; w != "to" && w != "from" {
		return w
	}
	return words[end-2].text
}

// waivable are verdicts that leave somebody free where they are denied: what is not required is allowed to be left undone.
var waivable = list("required mandatory obligatory compulsory needed necessary asked")

// settled makes a denied demand a permission.
func (o ownForce) settled(verdict string) ownForce {
	if o.negative && waivable[verdict] || verdict == "optional" || verdict == "exempt" && !o.negative {
		o.force, o.negative, o.waives = Permit, true, true
	}
	return o
}

// leading reads the words before the subject: no, only.
func (o *ownForce) leading(subject []placed) {
	for i := range subject {
		switch subject[i].text {
		case "no", "nobody", "none", "neither", "never":
			if i+1 < len(subject) && (measures[subject[i+1].text] || subject[i+1].text == "longer") {
				return // no more than three people
			}
			o.negative = !o.negative
			return
		case "only", "alone": // doctors alone may
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
			own.passive = true
			own.leading(words[start:i])
			return own, i, i + 1
		}
	}
	if verb := stating(words, start); verb > 0 {
		own.leading(words[start:verb])
		return own, verb, verb
	}
	return own, start, start
}

// farthest bounds the words before the verb of a clause that says who does what.
const farthest = 8

// stating finds the verb of a clause that says who does what, behind who does it: in its base form behind several ("Suppliers wait"), and in
// the third person behind one ("A guest signs the book"). It is 0 for an order, and where words may be either.
func stating(words []placed, start int) int {
	first := &words[start]
	if first.code || imperatives[first.text] {
		return 0
	}
	order, noun := lexicon.Verb(first.text)
	if order && !noun {
		return 0
	}
	for i := start + 1; i < min(len(words), start+farthest) && words[i].place == InPredicate && words[i-1].end == 0; i++ {
		w, who := &words[i], &words[i-1]
		if anybody[who.text] && i == start+1 && !w.code && lexicon.Third(w.text) != "" {
			return i
		}
		if w.code || who.code || noContent[who.text] || order && i == start+1 {
			continue
		}
		if several(who.text) {
			if is, _ := lexicon.Verb(w.text); is && !noContent[w.text] {
				return i
			}
			continue
		}
		base := lexicon.Third(w.text)
		if base == "" {
			continue
		}
		_, noun := lexicon.Verb(base)
		if !noun || i+1 < len(words) && w.end == 0 && (determiners[words[i+1].text] || several(words[i+1].text) || determiners[first.text] && whens[words[i+1].text]) {
			return i
		}
	}
	if !several(first.text) || order {
		return 0
	}
	// Several things that a phrase describes: "Employees on probation work on site".
	for i := start + 3; i < min(len(words), start+farthest) && words[i].place == InPredicate && words[i-1].end == 0; i++ {
		w := &words[i]
		if is, _ := lexicon.Verb(w.text); is && !w.code && !noContent[w.text] && !noContent[words[i-1].text] && noContent[words[start+1].text] &&
			(i+1 == len(words) || w.end != 0 || noContent[words[i+1].text]) {
			return i
		}
	}
	return 0
}

// anybody are pronouns behind which a word in the third person is a verb.
var anybody = list("nobody everybody everyone anybody anyone somebody")

// whens are words that a time begins with: behind "the kitchen closes", they show that it is a verb.
var whens = list("at until within after before")

// determiners are words that an object begins with.
var determiners = list("a an the this that these those its their his her all any every each no some")

// several reports whether a noun means more than one, by its end.
func several(w string) bool {
	if w == "people" || w == "staff" || w == "personnel" {
		return true
	}
	return len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is")
}
