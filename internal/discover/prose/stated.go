package prose

import (
	"strings"

	"tenet/internal/rule"
	"tenet/internal/text"
)

// stated reads a statement of what is done that means what must be done, in texts that regulate: "All backups are encrypted", "Access
// is reviewed every year".
func stated(t []token, c place) (reading, bool) {
	r := reading{modality: rule.Must, means: ByStatement, subject: true}
	if c.genre != Policy || c.facts || c.row || len(t) < 4 {
		return r, false
	}
	for i := 1; i < len(t)-1 && i < 16; i++ {
		w := t[i].low
		if nearby[w] || subordinators[w] || auxiliaries[w] && !copulas[w] || t[i].before == ':' || t[i].before == ';' {
			return r, false
		}
		if w != "is" && w != "are" {
			continue
		}
		k := i + 1
		for adverbs[at(t, k)] || strings.HasSuffix(at(t, k), "ly") || at(t, k) == "not" || at(t, k) == "never" {
			k++
		}
		done := at(t, k)
		if !participles[done] || done == "used" && at(t, k+1) == "to" || at(t, i-1) == "there" || !universal[t[0].low] && !timed(t, k) {
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
	// times say how often or how soon something is done.
	times = text.Words("annually yearly quarterly monthly weekly daily immediately promptly regularly periodically biannually prior every")
	// numbers are numbers in words.
	numbers = text.Words("a one two three four five six seven ten fourteen thirty sixty ninety")
)

// timed reports whether a sentence says how often or how soon something is done, from k on.
func timed(t []token, k int) bool {
	for ; k < len(t); k++ {
		next := at(t, k+1)
		switch w := t[k].low; {
		case times[w], w == "at" && next == "least", w == "upon" && strings.HasSuffix(next, "ion"):
			return true
		case w == "within" || w == "after":
			if numbers[next] || next != "" && next[0] >= '0' && next[0] <= '9' {
				return true
			}
		}
	}
	return false
}
