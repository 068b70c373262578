package norm

import (
	"math"
	"slices"
	"strings"
	"sync"

	"tenet/internal/lexicon"
)

// granted writes "have 72 hours to report" as "must report within 72 hours".
func granted(part []word) []word {
	for i := 1; i+4 < len(part); i++ {
		if (part[i].text != "have" && part[i].text != "has") || part[i+3].text != "to" || units()[part[i+2].text].unit != "time" {
			continue
		}
		if _, _, ok := numberOf(part[i+1].text); !ok {
			continue
		}
		out := append(slices.Clone(part[:i+1]), part[i+4:]...)
		out[i].text = "must"
		last := &out[len(out)-1]
		within := word{text: "within", from: part[i+1].from, to: part[i+1].from}
		amount, unit := part[i+1], part[i+2]
		unit.end, last.end = last.end, 0
		return append(out, within, amount, unit)
	}
	return part
}

// retain writes "delete after 30 days" as "keep at most 30 days", so that it can be compared with how long something is to be kept.
func (c *Clause) retain() {
	if c.Head != deletes() {
		return
	}
	for i := range c.Quantities {
		q := &c.Quantities[i]
		if q.Unit != "time" || q.Place != InPredicate {
			continue
		}
		if q.Lo == q.Hi {
			q.Lo = math.Inf(-1)
		}
		c.Head = keeps()
		return
	}
}

var (
	deletes = sync.OnceValue(func() string { return Key("delete") })
	keeps   = sync.OnceValue(func() string { return Key("keep") })
)

// maxDeprived bounds the words of a clause for what it denies to be read as a demand of its own.
const maxDeprived = 20

// deprived returns what a clause says by the way of a participle that is denied: what may be stored unencrypted need not be encrypted.
func (c *Clause) deprived() (Clause, bool) {
	if len(c.words) > maxDeprived {
		return Clause{}, false
	}
	for i := range c.words {
		w := &c.words[i]
		if w.place != InPredicate || w.used || w.code {
			continue
		}
		base := denied(w.text)
		if base == "" || c.Head == base || c.Own.Negative {
			continue
		}
		d := *c
		d.all = nil
		d.Head, d.Conditional, d.Passive = base, false, true
		d.Predicate = Set{}
		if len(c.Subject) == 0 {
			d.Predicate = union(c.Predicate)
			delete(d.Predicate, base)
		}
		d.Quantities = nil
		return d, len(d.Words()) > 1
	}
	return Clause{}, false
}

// denied returns the compared form of what a participle with a negative prefix denies, such as encrypted of unencrypted.
func denied(w string) string {
	for _, prefix := range []string{"un", "non-", "in"} {
		if rest, ok := strings.CutPrefix(w, prefix); ok && len(rest) > 4 && lexicon.Done(rest) && (prefix != "in" || lexicon.Opposite(w, rest)) {
			return Key(rest)
		}
	}
	return ""
}
