package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"tenet/internal/corpus"
	"tenet/internal/store"
)

const model = "bench"

// quality prints how well each kind of search finds the known answers: over all questions, and apart for those at even and at
// odd places, of which the even ones were used for tuning.
func quality(data, vectors string) error {
	kind := "made from the words (a stand-in for a model)"
	if vectors != "" {
		kind = "of a model"
	}
	fmt.Printf("## Quality, vectors %s\n\n", kind)
	fmt.Println("| collection | search | R@10 | MAP@10 | nDCG@10 | even half | odd half |")
	fmt.Println("|---|---|---|---|---|---|---|")
	for _, name := range []string{"obliqa", "cranfield"} {
		c, err := read(data, name)
		if err != nil {
			return err
		}
		questions, err := c.embed(vectors)
		if err != nil {
			return err
		}
		for _, s := range c.searches(questions) {
			all, even, odd := c.measure(s.run, 0, 1), c.measure(s.run, 0, 2), c.measure(s.run, 1, 2)
			fmt.Printf("| %s | %s | %.3f | %.3f | %.3f | %s | %s |\n", name, s.name, all.recall, all.precision, all.gain, even, odd)
		}
	}
	fmt.Println()
	return nil
}

// embed gives the collection's rules their vectors and returns those of the questions.
func (c *collection) embed(folder string) ([][]float32, error) {
	docs, questions, err := c.vectors(folder)
	if err != nil {
		return nil, err
	}
	embeddings := make([]store.Embedding, len(c.rules))
	for i := range c.rules {
		embeddings[i] = store.Embedding{Model: model, TextHash: corpus.TextHash(&c.rules[i].Rule), Vector: docs[i]}
	}
	c.view = c.view.WithVectors(model, embeddings)
	return questions, nil
}

// search is a way to find things: run returns the ids of what it finds for the question at a place, best first.
type search struct {
	name string
	run  func(i int) []string
}

func (c *collection) searches(vectors [][]float32) []search {
	const top = 10
	return []search{
		{"keyword", func(i int) []string {
			hits, _ := c.view.Keyword(c.queries[i].text, corpus.Filter{}, 0, top)
			return ids(hits)
		}},
		{"vector", func(i int) []string { hits, _ := c.view.Nearest(vectors[i], corpus.Filter{}, 0, top); return ids(hits) }},
		{"hybrid", func(i int) []string {
			hits, _ := c.view.Hybrid(c.queries[i].text, vectors[i], corpus.Filter{}, 0, top)
			return ids(hits)
		}},
		{"by reciprocal rank, k 60", func(i int) []string { return c.reciprocal(i, vectors[i], 60)[:top] }},
		{"by reciprocal rank, k 10", func(i int) []string { return c.reciprocal(i, vectors[i], 10)[:top] }},
	}
}

func ids(hits []corpus.Hit) []string {
	out := make([]string, len(hits))
	for i, h := range hits {
		out[i] = h.Rule.ID
	}
	return out
}

// reciprocal is reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009) of the 100 best of both kinds, to compare with.
func (c *collection) reciprocal(i int, vector []float32, k float64) []string {
	words, _ := c.view.Keyword(c.queries[i].text, corpus.Filter{}, 0, 100)
	near, _ := c.view.Nearest(vector, corpus.Filter{}, 0, 100)
	scores := map[string]float64{}
	for _, hits := range [][]corpus.Hit{words, near} {
		for rank, h := range hits {
			scores[h.Rule.ID] += 1 / (k + float64(rank+1))
		}
	}
	return slices.SortedFunc(maps.Keys(scores), func(a, b string) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b))
	})
}

// figures are means over questions.
type figures struct {
	recall, precision, gain float64
}

func (f figures) String() string {
	return fmt.Sprintf("%.3f / %.3f / %.3f", f.recall, f.precision, f.gain)
}

// measure takes every step-th question from the first.
func (c *collection) measure(run func(int) []string, first, step int) figures {
	var sum figures
	n := 0.0
	for i := first; i < len(c.queries); i += step {
		n++
		answers := c.queries[i].answers
		if len(answers) == 0 {
			continue // nothing can be found: counts as 0
		}
		hits, precision, gain := 0.0, 0.0, 0.0
		for rank, id := range run(i) {
			if answers[id] {
				hits++
				precision += hits / float64(rank+1)
				gain += 1 / math.Log2(float64(rank+2))
			}
		}
		ideal := 0.0
		for rank := range min(10, len(answers)) {
			ideal += 1 / math.Log2(float64(rank+2))
		}
		sum.recall += hits / float64(len(answers))
		sum.precision += precision / float64(len(answers))
		sum.gain += gain / ideal
	}
	return figures{sum.recall / n, sum.precision / n, sum.gain / n}
}
