package corpus

import "sync"

// maxRankTerms bounds the distinct terms of a subject that rules are ranked by.
const maxRankTerms = 400

// rankTerm is a word of a subject that may tell rules apart.
type rankTerm struct {
	text   string
	rarity float32
}

// relevance is the BM25 score of each candidate against the query's terms, scaled to 0..1; nil without terms. It reads the
// words of the candidates and no postings, so that rules that do not apply cost nothing.
func (v *View) relevance(q *Query, found []candidate) []float64 {
	if len(q.Terms) == 0 || len(found) == 0 {
		return nil
	}
	model := v.bm25()
	var terms []rankTerm
	for _, term := range distinctTerms(q.Terms) {
		df := v.frequency(term)
		if df == 0 || (df > 1000 && 5*df > model.docs) {
			continue // a word of every fifth rule tells little
		}
		terms = append(terms, rankTerm{term, model.rarity(df)})
	}
	scores := make([]float64, len(found))
	highest := 0.0
	places := placesPool.Get().(*places)
	defer placesPool.Put(places)
	for from := 0; from < len(found); {
		seg := found[from].seg
		to := from
		for to < len(found) && found[to].seg == seg {
			to++
		}
		text := v.segments[seg].text
		places.mark(text, terms)
		for i := from; i < to; i++ {
			scores[i] = places.score(text, found[i].doc, terms, model)
			highest = max(highest, scores[i])
		}
		places.clear(text, terms)
		from = to
	}
	if highest > 0 {
		for i := range scores {
			scores[i] /= highest
		}
	}
	return scores
}

// places tells, for the terms of a segment, which of the terms looked for they are.
type places struct {
	of   []uint16 // by the segment's term: the place among the terms looked for, plus one
	tf   []int    // by place
	seen []uint16 // places with a tf
}

var placesPool = sync.Pool{New: func() any { return &places{} }}

func (p *places) mark(x *textIndex, terms []rankTerm) {
	if n := x.vocabulary(); len(p.of) < n {
		p.of = make([]uint16, n)
	}
	if len(p.tf) < len(terms) {
		p.tf = make([]int, len(terms))
	}
	for i, t := range terms {
		if id := x.ids[t.text]; id != 0 {
			p.of[id] = uint16(i + 1)
		}
	}
}

// clear undoes mark, at the cost of the terms and not of the vocabulary.
func (p *places) clear(x *textIndex, terms []rankTerm) {
	for _, t := range terms {
		if id := x.ids[t.text]; id != 0 {
			p.of[id] = 0
		}
	}
}

func (p *places) score(x *textIndex, doc int32, terms []rankTerm, model bm25) float64 {
	p.seen = p.seen[:0]
	x.eachTerm(doc, func(term uint32, field int, _ bool) {
		at := p.of[term]
		if at == 0 {
			return
		}
		if p.tf[at-1] == 0 {
			p.seen = append(p.seen, at-1)
		}
		p.tf[at-1] += fieldWeights[field]
	})
	score := float32(0)
	for _, at := range p.seen {
		score += terms[at].rarity * model.part(p.tf[at], x.lengths[doc])
		p.tf[at] = 0
	}
	return float64(score)
}

// distinctTerms are the first terms of some texts, stop words aside.
func distinctTerms(texts []string) []string {
	words, terms := map[string]bool{}, map[string]bool{}
	var out []string
	for _, text := range texts {
		eachToken(text, func(t token) bool {
			if words[string(t.text)] {
				return true
			}
			words[string(t.text)] = true
			if term := termOf(t); !stopWords[term] && !terms[term] {
				terms[term] = true
				out = append(out, term)
			}
			return len(out) < maxRankTerms
		})
		if len(out) >= maxRankTerms {
			break
		}
	}
	return out
}
