package corpus

import "slices"

// Weights and reach of nearness: how much of the mean rarity of two words that are neighbours in the query a document gains in
// which they are side by side (or with one word between), or near each other in any order. bench/search measured them.
const (
	sideBySide = 0.8
	nearby     = 0.4
	sideReach  = 2
	nearReach  = 10
	// nearHalf is how often words must be together to gain half.
	nearHalf = 0.3
)

// maxReranked is the number of the best hits that rerank orders again. It does not depend on the page, so that pages fit
// together: a hit that rises was above the rest before.
const maxReranked = 100

// pair is two words that are neighbours in a query, by their places among its terms.
type pair struct {
	first, second int
	rarity        float32
}

// pairs are the distinct pairs of a query whose words are both known.
func (q *words) pairs() []pair {
	var list []pair
	for i := 1; i < len(q.order); i++ {
		p := pair{first: q.order[i-1], second: q.order[i]}
		a, b := q.terms[p.first].rarity, q.terms[p.second].rarity
		p.rarity = (a + b) / 2
		if a > 0 && b > 0 && p.first != p.second && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// rerank raises the best documents by the nearness of the query's words in them, and sorts them again.
func (l lexicon) rerank(q *words, best []found) {
	best = best[:min(len(best), maxReranked)]
	n := newNearness(q)
	if len(n.pairs) == 0 {
		return
	}
	terms := make([]string, len(q.terms))
	for i, t := range q.terms {
		terms[i] = t.text
	}
	marks := marksPool.Get().(*marks)
	defer marksPool.Put(marks)
	for seg, s := range l.segments {
		marks.set(s.text(), terms)
		for i := range best {
			if int(best[i].seg) == seg {
				best[i].score += n.of(s.text(), best[i].doc, marks)
			}
		}
		marks.clear(s.text(), terms)
	}
	slices.SortFunc(best, l.compare)
}

// nearness counts how often the pairs of a query are together in a document.
type nearness struct {
	pairs  []pair
	with   [][]int // the pairs of each term
	last   []int   // the last place of each term
	side   []int   // of each pair: how often side by side
	nearby []int   // of each pair: how often near
}

func newNearness(q *words) *nearness {
	n := &nearness{pairs: q.pairs(), with: make([][]int, len(q.terms)), last: make([]int, len(q.terms))}
	n.side, n.nearby = make([]int, len(n.pairs)), make([]int, len(n.pairs))
	for i, p := range n.pairs {
		n.with[p.first], n.with[p.second] = append(n.with[p.first], i), append(n.with[p.second], i)
	}
	return n
}

// of returns the gain of a document.
func (n *nearness) of(x *textIndex, doc int32, marks *marks) float32 {
	const farBefore = -1 << 20
	for i := range n.last {
		n.last[i] = farBefore
	}
	clear(n.side)
	clear(n.nearby)
	place, in := 0, 0
	x.eachTerm(doc, func(term uint32, field int, whole bool) {
		if whole {
			return
		}
		place++
		k := marks.of(term)
		if k < 0 {
			return
		}
		if field != in {
			place, in = place+2*nearReach, field // the fields stand apart
		}
		n.note(k, place)
	})
	gain := float32(0)
	for i, p := range n.pairs {
		side, near := float32(n.side[i]), float32(n.nearby[i])
		gain += p.rarity * (sideBySide*side/(side+nearHalf) + nearby*near/(near+nearHalf))
	}
	return gain
}

// note counts the pairs that term k ends at a place.
func (n *nearness) note(k, place int) {
	for _, i := range n.with[k] {
		p := &n.pairs[i]
		other := p.first
		if other == k {
			other = p.second
		}
		distance := place - n.last[other]
		if distance > nearReach {
			continue
		}
		n.nearby[i]++
		if k == p.second && distance <= sideReach {
			n.side[i]++
		}
	}
	n.last[k] = place
}
