package prose

import (
	"slices"
	"strings"

	"tenet/internal/lexicon"
	"tenet/internal/rule"
	"tenet/internal/text"
)

// stated reads a statement of what is done that means what must be done, in texts that regulate: "All backups are encrypted", "Access
// is reviewed every year".
func stated(t []token, c place) (reading, bool) {
	r := reading{modality: rule.Must, means: ByStatement, subject: true}
	if c.genre != Policy || c.facts || c.row || len(t) < 4 || subordinators[t[0].low] {
		return r, false
	}
	if slices.ContainsFunc(t, func(w token) bool { return w.low == "automatically" }) { // what a program does
		return r, false
	}
	whole := universal[t[0].low] // it is about all of a kind
	for i := 1; i < len(t)-1 && i < 30; i++ {
		w := t[i].low
		if t[i].before == ',' && universal[w] {
			whole = true
		}
		if nearby[w] && w != "as" && w != "when" && w != "where" || subordinators[w] || t[i].before == ':' || t[i].before == ';' {
			return r, false
		}
		k := i + 1
		if w == "will" && at(t, k) == "be" {
			k++
		} else if w != "is" && w != "are" {
			if auxiliaries[w] {
				return r, false
			}
			continue
		}
		only := at(t, k) == "only"
		for adverbs[at(t, k)] || only && k == i+1 || strings.HasSuffix(at(t, k), "ly") || at(t, k) == "not" || at(t, k) == "never" {
			k++
		}
		done := at(t, k)
		if !participles[done] && !strings.HasSuffix(done, "ed") || undone[done] || done == "used" && at(t, k+1) == "to" || at(t, i-1) == "there" {
			return r, false
		}
		if !whole && !only && !timed(t, k) || w == "will" && (somebody[at(t, i-1)] || at(t, i-1) == "you" || at(t, i-1) == "we") {
			return r, false
		}
		if t[0].low == "no" || is(t, i+1, "not") || is(t, i+1, "never") {
			r.modality = rule.MustNot
		}
		r.phrase, r.at = w+" "+done, i
		return r, true
	}
	return r, false
}

var (
	// universal words begin a statement about all of a kind.
	universal = text.Words("all every each any no only")
	// undone are words like participles that say what something is like, or that it need not be.
	undone = text.Words("required needed requested related based located interested involved supposed intended called named located considered allowed permitted expected encouraged recommended")
	// times say how often or how soon something is done.
	times = text.Words("annually yearly quarterly monthly weekly daily immediately promptly regularly periodically biannually prior every")
	// numbers are numbers in words.
	numbers = text.Words("a one two three four five six seven ten fourteen thirty sixty ninety")
)

// acts reads a statement of what an organisation or its people do that means what they must do: "Management reviews access every quarter".
func acts(t []token, c place) (reading, bool) {
	r := reading{modality: rule.Must, means: ByStatement, subject: true}
	if c.genre != Policy || c.facts || c.row || len(t) < 5 {
		return r, false
	}
	for i := 1; i < len(t)-1 && i < 12; i++ {
		w, who := t[i].low, t[i-1].low
		if auxiliaries[w] || copulas[w] || subordinators[w] || w == "who" || w == "that" || w == "which" || t[i].before != 0 && t[i].before != ',' {
			return r, false
		}
		if k := headOf(t, i); k >= 0 {
			who = t[k].low
		}
		if t[i].before != 0 || !bound[who] && !organs[who] && !(adverbs[who] && i > 1 && (bound[t[i-2].low] || organs[t[i-2].low])) {
			continue
		}
		if who == "it" && !t[i-1].caps {
			continue // a pronoun, not the department
		}
		base := lexicon.Third(w)
		if plural := strings.HasSuffix(who, "s") || who == "staff"; plural && base == "" && verb(w) && !noun(w) {
			base = w
		}
		if base == "" || idle[base] || len(t) < i+3 {
			continue
		}
		whole := t[0].low == "the" && i == 2 && plainOrgan(who)
		if next := at(t, i+1); !whole && !determiners[next] && !objects[next] && !opens[next] && !organs[next] && !bound[next] && !(next == "and" && lexicon.Third(at(t, i+2)) != "") && !timed(t, i) {
			continue
		}
		r.phrase, r.at = who+" "+w, i
		return r, true
	}
	return r, false
}

// headOf returns the word that a subject with "of" before the verb at i is about: "The owner of each resource reviews ..."; -1 if it is none.
func headOf(t []token, i int) int {
	for k := i - 2; k > 0 && k >= i-5; k-- {
		switch {
		case t[k].before != 0 || t[k+1].before != 0:
			return -1
		case t[k].low == "of":
			if bound[t[k-1].low] || plainOrgan(t[k-1].low) {
				return k - 1
			}
			return -1
		}
	}
	return -1
}

// plainOrgan reports whether a word is one for somebody in office, and not for a crowd that just is as it is.
func plainOrgan(w string) bool {
	return organs[w] && !strings.HasSuffix(w, "s") && w != "company" && w != "team" && !strings.HasPrefix(w, "organi")
}

// duties reads an item of a list of roles: "**Director:** Reviews and approves exceptions".
func duties(t []token, section []string) (reading, bool) {
	r := reading{modality: rule.Must, means: ByStatement, phrase: t[0].low}
	if len(t) < 3 || !announced(section, []string{"role", "responsib", "authority", "accountab", "duties"}) {
		return r, false
	}
	base, next := lexicon.Third(t[0].low), at(t, 1)
	return r, base != "" && !idle[base] && (next == "and" || lexicon.Third(next) == "")
}

// elided reads an item that leaves out must be: "All access logged and reviewed", "Badges revoked within a day".
func elided(t []token, c place) (reading, bool) {
	r := reading{modality: rule.Must, means: ByStatement, subject: true}
	if c.genre != Policy || !c.item || c.facts || len(t) < 4 || fullSentence(t) {
		return r, false
	}
	for i := 1; i < len(t) && t[i].before == 0; i++ {
		w := t[i].low
		if nearby[w] || subordinators[w] || auxiliaries[w] {
			return r, false
		}
		if !participles[w] {
			continue
		}
		r.phrase, r.at = w, i
		if t[0].low == "no" {
			r.modality = rule.MustNot
		}
		if universal[t[0].low] && t[0].low != "any" && (i+1 == len(t) || at(t, i+1) == "and" || opens[at(t, i+1)]) || timed(t, i) {
			return r, true
		}
	}
	return r, false
}

// insteadOf reads an item that is code to use, and other code not to use: "`bun install` (never `npm install`)".
func insteadOf(t []token) (reading, bool) {
	if len(t) >= 3 && contrasted(t) {
		return reading{modality: rule.Must, means: ByItem, phrase: "not"}, true
	}
	if len(t) < 3 || t[0].low != "" {
		return reading{}, false
	}
	for i := 1; i < len(t)-1 && i < 12; i++ {
		switch w := t[i].low; {
		case (w == "never" || w == "not") && t[i].before != 0 && t[i+1].low == "", is(t, i, "instead", "of") && at(t, i+2) == "" && i+2 < len(t):
			return reading{modality: rule.Must, means: ByItem, phrase: w}, true
		case auxiliaries[w] || copulas[w]:
			return reading{}, false
		}
	}
	return reading{}, false
}

// contrasted reports whether an item names what is to be, and what is not: "Methods for behavior, NOT properties".
func contrasted(t []token) bool {
	if fullSentence(t) || len(t) > 12 {
		return false
	}
	for i := 1; i < len(t)-1; i++ {
		if w := t[i].low; (w == "not" || w == "never") && t[i].caps && t[i].before != 0 {
			return true
		}
	}
	return false
}

// confined reads a statement of what something only is or does: "Versions are set only in the manifest", "Workers contain only jobs".
func confined(t []token, c place) (reading, bool) {
	r := reading{modality: rule.Must, means: ByRestraint, phrase: "only", subject: true}
	if c.genre.describes() || c.row || len(t) < 4 || subordinators[t[0].low] || nearby[t[0].low] || resumes(t[:1]) {
		return r, false
	}
	if t[0].caps && universal[t[0].low] && len(t[0].low) > 2 { // "ALL handlers return a result"
		r.phrase, r.means = t[0].low, ByStatement
		return r, true
	}
	for i := 1; i < len(t); i++ {
		w, prev := t[i].low, t[i-1].low
		if nearby[w] || subordinators[w] || w == "can" || w == "if" || w == "currently" || w == "we" {
			return r, false
		}
		if w != "only" || t[i].before != 0 && t[i].before != '(' {
			continue
		}
		r.at = i
		switch {
		case i+1 < len(t) && fixed[prev] && t[i].before == 0: // contains only
			return r, true
		case i+2 < len(t) && placed[at(t, i+1)] && i > 1 && (participles[prev] || strings.HasSuffix(prev, "ed") || objectless(t, i)):
			return r, true
		case i+2 < len(t) && (is(t, i+1, "where") || is(t, i+1, "when") || is(t, i+1, "if")) && i > 2 && t[i].before == 0:
			return r, true
		case i+1 == len(t) && i > 3 && within(t, 0, i, func(k int) bool { return placed[t[k].low] && i-k < 6 && verbBefore(t, k) }):
			return r, true
		}
		return r, false
	}
	return r, false
}

// fixed verbs say what something consists of or takes.
var fixed = text.Words("contain contains hold holds accept accepts reference references import imports depend depends cover covers use uses expose exposes serve serves")

// placed words say where, how or when something is done.
var placed = text.Words("in via through from by within inside under with on at during after")

// objectless reports whether the words before i are a noun phrase without a verb: "Environment variables only via the settings".
func objectless(t []token, i int) bool {
	for k := range t[:i] {
		if w := t[k].low; t[k].before != 0 && k > 0 || copulas[w] || auxiliaries[w] || lexicon.Third(w) != "" && !noun(lexicon.Third(w)) {
			return false
		}
	}
	return i < 5
}

// verbBefore reports whether a verb of what comes, goes or is done is before k: "comes from", "goes through", "are taken from".
func verbBefore(t []token, k int) bool {
	prev := at(t, k-1)
	return participles[prev] || strings.HasSuffix(prev, "ed") || prev == "comes" || prev == "come" || prev == "goes" || prev == "go" || prev == "lives" || prev == "live" || prev == "belongs" || prev == "belong"
}

// frequencies come before the name of a routine: "annual review".
var frequencies = text.Words("annual biannual semi-annual biennial quarterly monthly weekly daily continuous regular periodic")

// routines are names of acts that people repeat.
var routines = text.Words("review reviews audit audits test tests testing training check checks scan scans scanning rotation report reports assessment assessments reassessment inspection")

// recurs reports whether the text behind a label says how often something is done: "Vendors: annual review".
func recurs(t []token) bool {
	if len(t) < 2 || len(t) > 8 || !frequencies[t[0].low] {
		return false
	}
	for i := 1; i < len(t); i++ {
		if routines[t[i].low] {
			return true
		}
	}
	return false
}

// timed reports whether a sentence says how often or how soon something is done, from k on.
func timed(t []token, k int) bool {
	for ; k < len(t); k++ {
		next := at(t, k+1)
		switch w := t[k].low; {
		case times[w], w == "at" && next == "least", w == "upon" && strings.HasSuffix(next, "ion"), w == "for" && next == "all", is(t, k, "in", "accordance", "with"):
			return true
		case w == "within" || w == "after":
			if numbers[next] || next != "" && next[0] >= '0' && next[0] <= '9' {
				return true
			}
		}
	}
	return false
}
