package corpus

// maxRankTerms bounds the distinct terms of a subject that rules are ranked by.
const maxRankTerms = 400

// relevance is the BM25 score of each candidate against the query's terms, scaled to 0..1; nil without terms that may distinguish rules. It reads the
// words of the candidates and no postings, so that rules that do not apply cost nothing.
func (q *Query) relevance(x *index, found []candidate) []float64 {
	if len(q.Terms) == 0 || len(found) == 0 {
		return nil
	}
	r := x.lexicon().rankTerms(q.Terms)
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
		text := x.segments[found[from].seg].text
		marks.set(text, r.terms)
		for i := from; i < to; i++ {
			scores[i] = r.score(text, found[i].doc, marks)
			highest = max(highest, scores[i])
		}
		marks.clear(text, r.terms)
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

// rankTerms takes the words of texts that occur in the index and not in most rules.
func (l lexicon) rankTerms(texts []string) *rankTerms {
	r := &rankTerms{model: l.model}
	for _, term := range distinctTerms(texts) {
		df := l.frequency(term)
		if df == 0 || (df > 1000 && 5*df > r.model.docs) {
			continue // a word of every fifth rule says little
		}
		r.terms, r.rarity = append(r.terms, term), append(r.rarity, r.model.rarity(df))
	}
	r.tf = make([]int, len(r.terms))
	return r
}

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
	score := float32(0)
	for _, k := range r.seen {
		score += r.rarity[k] * r.model.part(r.tf[k], x.lengths[doc])
		r.tf[k] = 0
	}
	return float64(score)
}

// distinctTerms returns the first terms of some texts, without stop words.
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
