package corpus

import (
	"slices"
	"sync"
)

// maxRankTerms bounds the distinct terms of a subject that rules are ranked by.
const maxRankTerms = 400

// How subjects rank rules, chosen by what bench/triage measures.
const (
	// conceptWeight is the weight of a word that the subject has only by its concepts.
	conceptWeight = 0.5
	// lengthWeight is how many times more the length of a rule counts than in a search: a subject has hundreds of words, of which a long rule has some by chance.
	lengthWeight = 2
)

// relevance is the BM25 score of each candidate against the query's terms, scaled to 0..1; nil without terms that may distinguish rules. It reads the
// words of the candidates, or the postings of rare terms where these are fewer, so that rules that do not apply cost nothing.
func (q *Query) relevance(x *index, found []candidate) []float64 {
	if len(q.Terms) == 0 || len(found) == 0 {
		return nil
	}
	var concepts []string
	if q.Concepts != nil && len(found) > q.Few {
		concepts = q.Concepts()
	}
	r := x.lexicon().rankTerms(q.Terms, concepts)
	if len(r.terms) == 0 {
		return nil
	}
	scores := make([]float64, len(found))
	highest := 0.0
	marks := marksPool.Get().(*marks)
	defer marksPool.Put(marks)
	for from, to := 0, 0; from < len(found); from = to {
		for to < len(found) && found[to].seg == found[from].seg {
			to++
		}
		text := x.segments[found[from].seg].text()
		if r.postings(text) <= postingsEach*(to-from) {
			r.scoreListed(text, found[from:to], scores[from:to])
			continue
		}
		marks.set(text, r.terms)
		for i := from; i < to; i++ {
			scores[i] = r.score(text, found[i].doc, marks)
		}
		marks.clear(text, r.terms)
	}
	for _, score := range scores {
		highest = max(highest, score)
	}
	if highest > 0 {
		for i := range scores {
			scores[i] /= highest
		}
	}
	return scores
}

// rankTerms are the words of a subject that may distinguish rules.
type rankTerms struct {
	model  bm25
	terms  []string
	rarity []float32 // of each term
	tf     []int     // of each term, in one document
	seen   []int     // terms with a tf
}

// rankTerms takes the words of texts and concepts that occur in the index and not in most rules.
func (l lexicon) rankTerms(texts, concepts []string) *rankTerms {
	r := &rankTerms{model: l.model}
	r.model.slope *= lengthWeight
	seen := map[string]bool{}
	r.take(l, distinctTerms(texts, seen), 1)
	r.take(l, distinctTerms(concepts, seen), conceptWeight)
	r.tf = make([]int, len(r.terms))
	return r
}

// take adds terms of a weight.
func (r *rankTerms) take(l lexicon, terms []string, weight float32) {
	for _, term := range terms {
		df := l.frequency(term)
		if df == 0 || (df > 1000 && 5*df > r.model.docs) {
			continue // a word of every fifth rule says little
		}
		r.terms, r.rarity = append(r.terms, term), append(r.rarity, weight*r.model.rarity(df))
	}
}

// postingsEach is how many postings take less time than the words of one candidate.
const postingsEach = 4

// postings counts the postings of the terms in a segment.
func (r *rankTerms) postings(x *textIndex) int {
	n := 0
	for _, term := range r.terms {
		n += len(x.list(x.ids[term]))
	}
	return n
}

// scoreListed gives candidates of one segment their scores by the postings of the terms: those of [rankTerms.score].
func (r *rankTerms) scoreListed(x *textIndex, found []candidate, scores []float64) {
	places := placesPool.Get().(*places)
	defer placesPool.Put(places)
	places.set(len(x.lengths), found)
	for k, term := range r.terms {
		for _, p := range x.list(x.ids[term]) {
			if i := places.at[p.doc()]; i > 0 {
				scores[i-1] = float64(float32(scores[i-1]) + r.share(k, p.tf(), x.lengths[p.doc()]))
			}
		}
	}
	places.clear(found)
}

// places maps the documents of a segment to candidates, counted from 1. It is as large as the segment and reused, so every place must be cleared.
type places struct{ at []int32 }

var placesPool = sync.Pool{New: func() any { return &places{} }}

func (p *places) set(docs int, found []candidate) {
	if len(p.at) < docs {
		p.at = make([]int32, docs)
	}
	for i := range found {
		p.at[found[i].doc] = int32(i + 1) //nolint:gosec // fewer than the documents of a segment
	}
}

func (p *places) clear(found []candidate) {
	for i := range found {
		p.at[found[i].doc] = 0
	}
}

// score is the score of one document by its words. It adds up the terms in their order, as [rankTerms.scoreListed] does: sums of floating-point numbers
// depend on the order.
func (r *rankTerms) score(x *textIndex, doc int32, marks *marks) float64 {
	r.seen = r.seen[:0]
	x.eachTerm(doc, func(term uint32, field int, _ bool) {
		k := marks.of(term)
		if k < 0 {
			return
		}
		if r.tf[k] == 0 {
			r.seen = append(r.seen, k)
		}
		r.tf[k] += fieldWeights[field]
	})
	slices.Sort(r.seen)
	score := float32(0)
	for _, k := range r.seen {
		score += r.share(k, newPosting(0, r.tf[k]).tf(), x.lengths[doc])
		r.tf[k] = 0
	}
	return float64(score)
}

// share returns the part of a term in the score of a document. It is rounded on every processor, as a product that is part of a sum need not be.
func (r *rankTerms) share(k, tf int, length uint16) float32 {
	return float32(r.rarity[k] * r.model.part(tf, length)) //nolint:unconvert // see above
}

// distinctTerms returns the first terms of some texts, without stop words and those already seen, and adds them to these.
func distinctTerms(texts []string, terms map[string]bool) []string {
	words := map[string]bool{}
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
