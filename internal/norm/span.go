package norm

import (
	"cmp"
	"slices"
	"strings"
)

// Span is a place in a statement: the bytes from From to before To.
type Span struct{ From, To int }

// PartOf reports whether a clause is about a part of something that a set of words is about, such as the sources of files.
func (c *Clause) PartOf(whole Set) bool {
	for i := range c.words {
		part := &c.words[i]
		if i+2 >= len(c.words) || c.words[i+1].text != "of" || part.code || part.place != InPredicate {
			continue
		}
		key := part.key()
		if key == "" || key == c.Head || whole[key] {
			continue
		}
		for k := i + 2; k < min(i+5, len(c.words)); k++ {
			if of := c.words[k].key(); of != "" {
				if whole[of] {
					return true
				}
				break
			}
		}
	}
	return false
}

// Spans returns the places of the content words of a clause, in order, whose compared forms are wanted. Words of exceptions and reasons
// are left out.
func (c *Clause) Spans(wanted func(key string) bool) []Span {
	return c.spans(func(w *placed) bool {
		if base := denied(w.text); base != "" && !w.code && wanted(base) {
			return true
		}
		if key := w.key(); key != "" {
			opposite, turned := opposites()[key]
			return wanted(key) || turned && wanted(opposite)
		}
		return false
	})
}

// Polarity returns the places of the words by which a clause demands or forbids: those of its own wording, and those that turn its act into
// the opposite, such as "without" and "disable". It is empty where the modality alone decides.
func (c *Clause) Polarity() []Span {
	return c.spans(func(w *placed) bool {
		if w.from >= c.Own.From && w.to <= c.Own.To {
			return true
		}
		if w.code {
			return false
		}
		_, opposite := opposites()[w.key()]
		return opposite || denied(w.text) != "" || negations[w.text] || strings.HasSuffix(w.text, "n't")
	})
}

// negations are words that turn the meaning of a clause.
var negations = list("no not never nobody none neither nor without cannot avoid refrain disallow disallows forbid forbids prohibit prohibits ban")

func (c *Clause) spans(wanted func(*placed) bool) []Span {
	var out []Span
	for i := range c.words {
		if w := &c.words[i]; w.place != InException && w.place != dropped && wanted(w) {
			out = append(out, Span{w.from, w.to})
		}
	}
	return out
}

// JoinSpans sorts spans of a statement and joins those with nothing but space between them.
func JoinSpans(statement string, spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	var out []Span
	for _, s := range spans {
		if n := len(out); n > 0 && (s.From <= out[n-1].To || strings.TrimSpace(statement[out[n-1].To:s.From]) == "") {
			out[n-1].To = max(out[n-1].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}
