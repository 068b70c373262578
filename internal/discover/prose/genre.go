package prose

import (
	"slices"
	"strings"

	"tenet/internal/blocks"
)

// Bounds of what shows that a text regulates.
const (
	maxSurvey = 400 // sentences that are read for it
	leastFirm = 4   // sentences among them that forbid or prefer
	fewFirm   = 2   // the same where nearly all are orders
	leastAll  = 12  // sentences of a text that few of them decide about
	leastBind = 8   // sentences with must or should in a text where they are many

	leastAdvice = 3 // sentences with must or should in a text whose advice counts
)

// prescribes reports whether a text is there to regulate, whatever its name: a quarter of its sentences say must or should, or most are
// orders, some of which forbid or prefer, or two fifths are orders and demands, in a text of leastAll sentences of which a tenth forbid or prefer.
// Manuals give orders, too, but they seldom say what not to do, and they show code to type.
func (n counts) prescribes() bool {
	if n.binding >= leastBind && 4*n.binding >= n.all {
		return true
	}
	if 4*n.code > n.all {
		return false
	}
	if n.firm >= leastFirm && n.all >= leastAll && 10*n.firm >= n.all && 5*(n.firm+n.orders+n.binding) >= 2*n.all { // of orders and demands together
		return true
	}
	return n.firm >= leastFirm && 10*n.firm >= n.all && 2*(n.firm+n.orders) >= n.all || n.firm >= fewFirm && n.all >= leastAll && 3*(n.firm+n.orders) >= 2*n.all
}

// advises reports whether a text that describes things also says how they should be: in a tenth of its sentences, three at least.
func (n counts) advises() bool { return n.binding >= leastAdvice && 10*n.binding >= n.all }

// guides reports whether such a text says in a fifth of its sentences how things should be, and shows little code: its orders under a condition
// are rules then, and steps elsewhere.
func (n counts) guides() bool { return n.advises() && 5*n.binding >= n.all && 10*n.code <= n.all }

// counts are numbers of sentences of a text.
type counts struct {
	all, firm, orders int // all, those that forbid or prefer, and other orders
	binding           int // with must, should and the like
	code              int // blocks before code
}

// survey counts the sentences of a text.
func survey(list []blocks.Block) (n counts) {
	for i := range list {
		b := &list[i]
		if n.all == maxSurvey {
			break
		}
		if b.Kind == blocks.Heading || b.Kind == blocks.Row || silent(b.Section) {
			continue
		}
		if b.BeforeCode {
			n.code++
		}
		for _, p := range places(b) {
			if n.all == maxSurvey {
				break
			}
			if p[1]-p[0] > maxSentence {
				continue
			}
			_, body := cutLabel(b.Text[p[0]:p[1]])
			t := tokenize(unnumbered(body))
			if len(t) < 2 {
				continue
			}
			n.all++
			switch r, ok := order(t, place{genre: Policy, item: b.Kind == blocks.Item}); {
			case ok && (r.means == ByNegation || behindSign(t) || advising[r.phrase] || t[0].low == "always"):
				n.firm++
			case ok:
				n.orders++
			case demandsIn(t):
				n.binding++
			}
		}
	}
	return n
}

// behindSign reports whether a sentence forbids something behind a dash or a semicolon: "Rebase your branch; never force it".
func behindSign(t []token) bool {
	for i := 1; i+1 < len(t); i++ {
		if (t[i].before == ';' || t[i].before == '-') && (t[i].low == "never" || t[i].low == "don't" || is(t, i, "do", "not")) {
			return true
		}
	}
	return false
}

// guidingSections are headings of advice in texts that are there for something else.
var guidingSections = []string{
	"best practice", "best practices", "guideline", "guidelines", "convention", "conventions", "code style", "coding style", "style guide", "coding standards", "house rules",
	"coding rules", "do's and don'ts", "dos and don'ts", "responsibilities", "expectations", "good practices", "review checklist", "etiquette", "ground rules", "guidance",
}

// genreOf returns how to read a block of a section, in a text of genre g: a section of rules regulates also in a text that does not.
func genreOf(section []string, g Genre) Genre {
	if g != Document {
		return g
	}
	for _, heading := range section {
		if forbidding([]string{heading}) {
			return Policy
		}
		heading = " " + strings.TrimRight(strings.ToLower(heading), " .:") + " "
		if slices.ContainsFunc(guidingSections, func(s string) bool { return strings.Contains(heading, " "+s+" ") }) {
			return Policy
		}
	}
	return g
}

// plans are headings of lists of what is still to do.
var plans = []string{"roadmap", "todo", "to do", "to-do", "task", "plan", "progress", "status", "milestone", "backlog", "next step", "type of change"}

// ticked reads an item with a box, in a text of rules: what is to be ticked off is to be so. Boxes of plans, and what somebody declares
// ("I have read ..."), are none.
func ticked(b *blocks.Block, t []token, g Genre) (reading, bool) {
	if !b.Box || g.describes() || len(t) < 3 && !(len(t) == 2 && participles[t[1].low]) || t[0].low == "i" || announced(b.Section, plans) {
		return reading{}, false
	}
	r := reading{modality: "MUST", means: ByBox, phrase: t[0].low}
	for k := range t[:min(len(t), 8)] {
		if t[k].before == ',' || nearby[t[k].low] || subordinators[t[k].low] {
			break
		}
		if w := t[k].low; w == "no" || w == "not" || w == "never" {
			r.modality = "MUST_NOT"
		}
	}
	return r, true
}

// titled reports whether an item is a title of what is below it: nothing but emphasised words that may be nouns.
func titled(raw string, t []token) bool {
	s := strings.TrimSpace(raw)
	if len(s) < 3 || s[0] != '*' && s[0] != '_' || s[len(s)-1] != s[0] || len(t) > 6 || strings.ContainsAny(s, ".!") {
		return false
	}
	return strings.Count(strings.Trim(s, "*_"), s[:1]) == 0 && noun(t[0].low)
}
