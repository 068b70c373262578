package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tenet/internal/corpus"
	"tenet/internal/store"
)

const model = "bench"

// quality prints how well each kind of search finds the known answers: over all questions, and apart for those at even and at
// odd places. Without a folder of vectors it is search by words alone.
func quality(data, vectors string) error {
	fmt.Println("## Quality")
	fmt.Println()
	fmt.Println("| collection | search | R@10 | MAP@10 | nDCG@10 | even questions | odd questions |")
	fmt.Println("|---|---|---|---|---|---|---|")
	var recalls []string
	for _, name := range []string{"obliqa", "cranfield"} {
		c, err := read(data, name)
		if err != nil {
			return err
		}
		searches := c.byWords()
		if vectors != "" {
			docs, questions, err := c.embed(vectors)
			if err != nil {
				return err
			}
			searches = append(searches, c.byVectors(questions)...)
			recalls = append(recalls, fmt.Sprintf("%s %.3f", name, c.recall(docs, questions)))
		}
		for _, s := range searches {
			all, even, odd := c.measure(s.run, 0, 1), c.measure(s.run, 0, 2), c.measure(s.run, 1, 2)
			fmt.Printf("| %s | %s | %.3f | %.3f | %.3f | %s | %s |\n", name, s.name, all.recall, all.precision, all.gain, even, odd)
		}
	}
	if len(recalls) > 0 {
		fmt.Printf("\nVector search, recall@10 of the truly nearest: %s\n", strings.Join(recalls, ", "))
	}
	fmt.Println()
	return nil
}

// embed gives the collection's rules their vectors and returns these and those of the questions.
func (c *collection) embed(folder string) (docs, questions [][]float32, err error) {
	if docs, questions, err = c.vectors(folder); err != nil {
		return nil, nil, err
	}
	embeddings := make([]store.Embedding, len(c.rules))
	for i := range c.rules {
		embeddings[i] = store.Embedding{Model: model, TextHash: corpus.TextHash(&c.rules[i].Rule), Vector: docs[i]}
	}
	c.view = c.view.WithVectors(model, embeddings)
	return docs, questions, nil
}

// ranking is a way to find things: run returns the ids of what it finds for the question at a place, best first.
type ranking struct {
	name string
	run  func(i int) []string
}

// top is how many hits are judged.
const top = 10

func (c *collection) byWords() []ranking {
	return []ranking{{"keyword", func(i int) []string {
		hits, _ := c.view.Keyword(c.queries[i].text, corpus.Filter{}, 0, top)
		return ids(hits)
	}}}
}

func (c *collection) byVectors(vectors [][]float32) []ranking {
	return []ranking{
		{"vector", func(i int) []string {
			hits, _ := c.view.Nearest(vectors[i], corpus.Filter{}, 0, top)
			return ids(hits)
		}},
		{"hybrid", func(i int) []string {
			hits, _ := c.view.Hybrid(c.queries[i].text, vectors[i], corpus.Filter{}, 0, top)
			return ids(hits)
		}},
		{"by reciprocal rank, k 60", func(i int) []string { return c.reciprocal(i, vectors[i], 60) }},
		{"by reciprocal rank, k 10", func(i int) []string { return c.reciprocal(i, vectors[i], 10) }},
	}
}

// recall is the share of the truly nearest texts that vector search finds, over the first questions. Texts that are equally near
// count as the same.
func (c *collection) recall(docs, questions [][]float32) float64 {
	found, wanted := 0, 0
	for i, q := range questions[:min(100, len(questions))] {
		cosines := make([]float64, len(docs))
		for d := range docs {
			cosines[d] = cosine(q, docs[d])
		}
		slices.SortFunc(cosines, func(a, b float64) int { return cmp.Compare(b, a) })
		hits, _ := c.view.Nearest(questions[i], corpus.Filter{}, 0, top)
		for _, h := range hits {
			if h.Score > cosines[top-1]-1e-5 {
				found++
			}
		}
		wanted += top
	}
	return float64(found) / float64(wanted)
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
	best := slices.SortedFunc(maps.Keys(scores), func(a, b string) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b))
	})
	return best[:min(top, len(best))]
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
		for rank := range min(top, len(answers)) {
			ideal += 1 / math.Log2(float64(rank+2))
		}
		sum.recall += hits / float64(len(answers))
		sum.precision += precision / float64(len(answers))
		sum.gain += gain / ideal
	}
	return figures{sum.recall / n, sum.precision / n, sum.gain / n}
}
