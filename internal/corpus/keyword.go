package corpus

import (
	"slices"
	"sort"
	"strings"
	"sync"
)

// Hit is a rule that a search has found.
type Hit struct {
	*Entry
	// Score orders the hits of one search, the highest first: BM25 for keywords, the cosine for vectors, 0 to 1 for hybrid.
	Score float64
}

// Keyword ranks the rules that match text and filter, best first, and returns limit of them after offset, and their total. A
// rule matches if it has one of the words, and every phrase in quotation marks; the last word, if nothing follows it, may be
// the beginning of one. Any text is a query: what has no meaning as syntax is searched for. Equal scores are ordered by rule
// id.
func (v *View) Keyword(text string, f Filter, offset, limit int) (hits []Hit, total int) {
	offset, limit = pageOf(offset, limit)
	best, total, _ := v.index.lexicon().search(text, &f, offset+limit, false)
	return v.index.page(best, offset, limit), total
}

// pageOf keeps the bounds of a page within what can be added up.
func pageOf(offset, limit int) (int, int) {
	const far = 1 << 30
	return min(max(offset, 0), far), min(max(limit, 0), far)
}

// search finds the documents that match a query and a filter, and returns at least most of the best in order, how many there
// are, and with marked also which, by segment.
func (l lexicon) search(text string, f *Filter, most int, marked bool) (best []found, total int, docs []bitset) {
	q := parseWords(text)
	var cited []string
	if len(q.phrases) == 0 && !f.Plain {
		cited = citationsIn(text)
	}
	best, total, docs = l.matching(&q, f, max(most, maxReranked), marked || len(cited) > 0)
	l.rerank(&q, best)
	if term := definedTerm(text); term != "" && !f.Plain {
		l.withDefined(term, best)
	}
	if len(cited) > 0 {
		best, total = l.withCited(cited, f, best, total, docs)
	}
	return best, total, docs
}

// matching is [lexicon.search] without regard to the distance of the words.
func (l lexicon) matching(q *words, f *Filter, most int, marked bool) (best []found, total int, docs []bitset) {
	prefix := l.prefixLists(q.prefix)
	if !l.weigh(q.terms) && prefix.df == 0 {
		return nil, 0, make([]bitset, len(l.segments))
	}
	top := newTop(l.index, most)
	acc := accumulatorsPool.Get().(*accumulators)
	defer accumulatorsPool.Put(acc)
	for i, s := range l.segments {
		acc.reset(len(s.entries))
		for _, t := range q.terms {
			acc.add(s.text(), s.text().list(s.text().ids[t.text]), t.rarity, l.model)
		}
		if prefix.df > 0 {
			acc.add(s.text(), prefix.lists[i], weightPrefix*l.model.rarity(prefix.df), l.model)
		}
		if d := l.deleted[i]; d != nil {
			acc.touched.without(d.docs)
		}
		for _, phrase := range q.phrases {
			s.text().keepPhrase(acc.touched, phrase)
		}
		f.restrict(s, acc.touched)
		if marked {
			docs = append(docs, slices.Clone(acc.touched))
		}
		total += acc.touched.count()
		top.offerAll(int32(i), acc.touched, acc.scores)
	}
	return top.sorted(), total, docs
}

// accumulators sum the scores of the documents of a segment.
type accumulators struct {
	scores  []float32
	touched bitset
}

var accumulatorsPool = sync.Pool{New: func() any { return &accumulators{} }}

func (a *accumulators) reset(docs int) {
	if cap(a.scores) < docs {
		a.scores, a.touched = make([]float32, docs), newBitset(docs)
		return
	}
	a.scores, a.touched = a.scores[:docs], a.touched[:(docs+63)/64]
	clear(a.scores)
	clear(a.touched)
}

// Lists with at least manyPostings take the shares of documents from a table of all term frequencies below tableTFs and lengths below tableLengths.
const (
	manyPostings = 8192
	tableTFs     = 8
	tableLengths = 256
)

// add gives every document of a list its share of a term's weight.
func (a *accumulators) add(x *textIndex, list []posting, weight float32, model bm25) {
	weight *= bm25K1 + 1
	scores, lengths := a.scores, x.lengths
	if len(list) < manyPostings {
		for _, p := range list {
			doc := p.doc()
			scores[doc] += model.share(weight, p.tf(), lengths[doc])
			a.touched.set(doc)
		}
		return
	}
	var shares [tableTFs * tableLengths]float32 // the same values: ranks do not depend on the table
	for tf := 1; tf < tableTFs; tf++ {
		for length := range tableLengths {
			shares[tf*tableLengths+length] = model.share(weight, tf, uint16(length))
		}
	}
	for _, p := range list {
		doc, tf := p.doc(), p.tf()
		if length := lengths[doc]; tf < tableTFs && length < tableLengths {
			scores[doc] += shares[tf*tableLengths+int(length)]
		} else {
			scores[doc] += model.share(weight, tf, length)
		}
		a.touched.set(doc)
	}
}

// share is the part of a term's weight that a document of a length gets for the frequency of the term in it.
func (m bm25) share(weight float32, frequency int, length uint16) float32 {
	tf := float32(frequency)
	return weight * tf / (tf + m.fix + m.slope*float32(length))
}

// prefixed holds all words that begin with the last one of a query, taken as one.
type prefixed struct {
	lists [][]posting // by segment
	df    int
}

// prefixLists finds the words that begin with a prefix; none without one.
func (l lexicon) prefixLists(prefix string) prefixed {
	var p prefixed
	if prefix == "" {
		return p
	}
	p.lists = make([][]posting, len(l.segments))
	for i, s := range l.segments {
		p.lists[i] = s.text().beginning(prefix)
		for _, posting := range p.lists[i] {
			if !l.deleted[i].has(posting.doc()) {
				p.df++
			}
		}
	}
	return p
}

// beginning is the postings of all words that begin with prefix, as if they were one term.
func (x *textIndex) beginning(prefix string) []posting {
	from := sort.SearchStrings(x.words, prefix)
	var terms []uint32
	for i := from; i < len(x.words) && strings.HasPrefix(x.words[i], prefix); i++ {
		terms = append(terms, x.wordTerms[i])
	}
	slices.Sort(terms)
	terms = slices.Compact(terms)
	if len(terms) == 0 {
		return nil
	}
	if len(terms) == 1 {
		return x.list(terms[0])
	}
	docs := newBitset(len(x.lengths))
	tfs := make([]uint8, len(x.lengths))
	for _, term := range terms {
		for _, p := range x.list(term) {
			docs.set(p.doc())
			tfs[p.doc()] = uint8(min(255, int(tfs[p.doc()])+p.tf()))
		}
	}
	list := make([]posting, 0, docs.count())
	docs.each(func(doc int32) { list = append(list, newPosting(int(doc), int(tfs[doc]))) })
	return list
}
