package corpus

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// What a query may cost is bounded by how much of it is looked at: its bytes, distinct terms, words, and different phrases. The
// rest of it is left out.
const (
	maxQueryBytes   = 8192
	maxQueryTerms   = 64
	maxQueryWords   = 256
	maxQueryPhrases = 16
)

// Weights of the terms of a query. An identifier counts as a whole, and its parts help a little; the beginning of the last word
// counts less than a word that is there.
const (
	weightPart   = 0.5
	weightPrefix = 0.5
)

// words is a query for words, taken apart. Any text is one: what has no meaning as syntax is text.
type words struct {
	terms []queryTerm
	// order has the indices in terms of the words in the order of the query, without stop words.
	order []int
	// phrases are the terms in quotation marks, which must follow one another.
	phrases [][]string
	// prefix is the beginning of the last word as it is written, or empty.
	prefix string
}

// queryTerm is a distinct term of a query.
type queryTerm struct {
	text   string
	weight float32
	stop   bool
	rarity float32 // times weight, in the view that is searched
}

// parseWords takes a query apart. Text between quotation marks is a phrase; a mark without its match is none.
func parseWords(text string) words {
	p := wordParser{at: map[string]int{}}
	rest := text[:min(len(text), maxQueryBytes)]
	for rest != "" && len(p.q.terms) < maxQueryTerms {
		before, after, opened := cutQuote(rest)
		phrase, behind, closed := cutQuote(after)
		if !opened || !closed {
			p.add(rest, false)
			break
		}
		p.add(before, false)
		p.add(phrase, true)
		p.q.prefix = ""
		rest = behind
	}
	return p.finish()
}

// cutQuote cuts text at its first quotation mark.
func cutQuote(text string) (before, after string, found bool) {
	i := strings.IndexAny(text, "\"“”„«»")
	if i < 0 {
		return text, "", false
	}
	_, size := utf8.DecodeRuneInString(text[i:])
	return text[:i], text[i+size:], true
}

type wordParser struct {
	q  words
	at map[string]int // place of a term
}

// piece is a token of a query.
type piece struct {
	word, term string
	start, end int
	whole      bool
	weight     float32
}

// add adds a part of the query that has no quotation marks, or is between two.
func (p *wordParser) add(text string, phrase bool) {
	pieces := pieces(text)
	var follow []string
	for _, t := range pieces {
		if !t.whole {
			follow = append(follow, t.term)
		}
		if t.weight == 0 {
			continue
		}
		place, ok := p.at[t.term]
		if !ok {
			if len(p.q.terms) == maxQueryTerms {
				break
			}
			place = len(p.q.terms)
			p.at[t.term] = place
			p.q.terms = append(p.q.terms, queryTerm{text: t.term, stop: stopWords[t.term]})
		}
		p.q.terms[place].weight += t.weight
		if !t.whole && len(p.q.order) < maxQueryWords {
			p.q.order = append(p.q.order, place)
		}
	}
	known := slices.ContainsFunc(p.q.phrases, func(other []string) bool { return slices.Equal(other, follow) })
	if phrase && len(follow) > 0 && !known && len(p.q.phrases) < maxQueryPhrases {
		p.q.phrases = append(p.q.phrases, follow)
	}
	p.q.prefix = ""
	if n := len(pieces); n > 0 {
		if last := pieces[n-1]; last.end == len(text) && len(last.word) > 1 && !stopWords[last.word] && last.weight > 0 {
			p.q.prefix = last.word
		}
	}
}

// pieces are the tokens of a text. The parts of a whole count less than it does, and those of a pair of characters of a script
// without spaces nothing.
func pieces(text string) []piece {
	var list []piece
	eachToken(text, func(t token) bool {
		list = append(list, piece{string(t.text), termOf(t), t.start, t.end, t.whole, 1})
		if !t.whole {
			return len(list) < maxQueryWords
		}
		weight := float32(weightPart)
		if r, _ := utf8.DecodeRune(t.text); spaceless(r) {
			weight = 0
		}
		for i := len(list) - 2; i >= 0 && list[i].start >= t.start; i-- {
			if !list[i].whole {
				list[i].weight = min(list[i].weight, weight)
			}
		}
		return true
	})
	return list
}

// finish leaves out the stop words, unless the query has no other words.
func (p *wordParser) finish() words {
	q := p.q
	stops := 0
	for _, t := range q.terms {
		if t.stop {
			stops++
		}
	}
	if stops == len(q.terms) && q.prefix == "" {
		return q
	}
	place := make([]int, len(q.terms))
	kept := q.terms[:0]
	for i, t := range p.q.terms {
		place[i] = -1
		if !t.stop {
			place[i] = len(kept)
			kept = append(kept, t)
		}
	}
	order := q.order[:0]
	for _, i := range p.q.order {
		if place[i] >= 0 {
			order = append(order, place[i])
		}
	}
	q.terms, q.order = kept, order
	return q
}
