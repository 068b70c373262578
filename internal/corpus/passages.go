package corpus

import (
	"fmt"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Passages is an immutable index of pieces of documents, which ranks them as rules are ranked: by weighted words and their nearness,
// with the names of the document in the place of the statement.
type Passages struct{ view *View }

// Passage is a piece of a document.
type Passage struct {
	Document string // its id, without a #
	N        int    // its number in the document
	Names    string // of the document
	Text     string
}

// passageEnd is between the id of a document and the number of a piece in the id of an entry.
const passageEnd = "#"

// NewPassages returns an index of nothing.
func NewPassages() *Passages { return &Passages{&View{}} }

// With returns the index with pieces of further documents, and without the documents that keep does not let through. All pieces of a
// document come at once.
func (p *Passages) With(add []Passage, keep func(document string) bool) (*Passages, error) {
	states := make([]store.RuleState, len(add))
	for i, a := range add {
		states[i].Rule = rule.Rule{ID: fmt.Sprintf("%s%s%09d", a.Document, passageEnd, a.N), Status: rule.Effective, Statement: a.Names, Rationale: a.Text}
	}
	view, err := p.view.Restrict(p.view.version+1, nil, func(e *Entry) bool { return keep(documentOf(e)) }, states)
	if err != nil {
		return nil, err
	}
	return &Passages{view}, nil
}

// documentOf returns the document of an entry.
func documentOf(e *Entry) string {
	document, _, _ := strings.Cut(e.Rule.ID, passageEnd)
	return document
}

// Find returns limit of the documents that match a text after offset, by their best pieces, best first, and how many match. N is 0 where
// only the names match. Any text is a query, as in [View.Keyword].
func (p *Passages) Find(text string, offset, limit int) (matches []store.DocumentMatch, total int) {
	offset, limit = pageOf(offset, limit)
	f := Filter{Plain: true}
	lexicon := p.view.index.lexicon()
	var best []found
	var docs []bitset
	var places map[string]int
	for most := max(4*(offset+limit), maxReranked); ; most *= 4 {
		pieces := 0
		best, pieces, docs = lexicon.search(text, &f, most, true)
		matches, places = matches[:0], map[string]int{}
		for _, h := range best {
			e := lexicon.entry(h.seg, h.doc)
			document := documentOf(e)
			if _, ok := places[document]; ok {
				continue
			}
			places[document] = len(matches)
			m := store.DocumentMatch{DocumentID: document, Score: float64(h.score)}
			_, _ = fmt.Sscan(strings.TrimLeft(e.Rule.ID[len(document)+1:], "0"), &m.N)
			matches = append(matches, m)
		}
		if len(matches) >= offset+limit || len(best) >= pieces {
			break
		}
	}
	for i, segment := range docs {
		last := ""
		segment.each(func(doc int32) {
			if document := documentOf(lexicon.entry(int32(i), doc)); document != last { // pieces of a document are in a row
				last = document
				total++
			}
		})
	}
	matches = matches[min(offset, len(matches)):min(offset+limit, len(matches))]
	terms := ParseQuery(text).Terms
	for i := range matches {
		m := &matches[i]
		if e, ok := p.view.index.byID(fmt.Sprintf("%s%s%09d", m.DocumentID, passageEnd, m.N)); ok && !hasAny(e.Rule.Rationale, terms) {
			m.N = 0
		}
	}
	return matches, total
}

// hasAny reports whether a text has one of some terms, of which the last may be the beginning of a word.
func hasAny(text string, terms []string) bool {
	has := false
	EachWord(text, func(w Word) bool {
		has = slices.Contains(terms, w.Term) || len(terms) > 0 && strings.HasPrefix(w.Term, terms[len(terms)-1])
		return !has
	})
	return has
}
