package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// writer makes up rules and queries of words that are as unevenly frequent as those of a language.
type writer struct {
	random *rand.Rand
	words  []string
	choose *rand.Zipf
}

func newWriter() *writer {
	syllables := strings.Fields("ba ce di fo gu ha je ki lo mu na pe ri so tu va xe yo zu tra ple con ster ment ing ation")
	w := &writer{random: rand.New(rand.NewPCG(5, 6)), words: make([]string, 60_000)} //nolint:gosec // the same words in every run
	for i := range w.words {
		for range 2 + w.random.IntN(3) {
			w.words[i] += syllables[w.random.IntN(len(syllables))]
		}
	}
	w.choose = rand.NewZipf(w.random, 1.07, 20, uint64(len(w.words)-1))
	return w
}

// text is n words, a third of which carry no meaning.
func (w *writer) text(n int) string {
	small := []string{"the", "of", "must", "not", "a", "in", "and", "to"}
	words := make([]string, n)
	for i := range words {
		if words[i] = w.words[w.choose.Uint64()]; w.random.IntN(3) == 0 {
			words[i] = small[w.random.IntN(len(small))]
		}
	}
	return strings.Join(words, " ")
}

// query is n words that carry meaning.
func (w *writer) query(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = w.words[w.choose.Uint64()]
	}
	return strings.Join(words, " ")
}

func (w *writer) rules(n int) []store.RuleState {
	list := make([]store.RuleState, n)
	for i := range list {
		list[i].Rule = rule.Rule{
			ID: fmt.Sprintf("00000000-0000-7000-8000-%012d", i), Slug: fmt.Sprintf("R-%d", i), Version: 1, Status: rule.Effective,
			Statement: w.text(20 + w.random.IntN(20)), Rationale: w.text(20 + w.random.IntN(40)),
			Modality: rule.Must, Severity: rule.Severities[i%len(rule.Severities)],
			Scope: []string{fmt.Sprintf("unit%d", i%100)}, Tags: []string{fmt.Sprintf("tag%d", i%50)},
		}
	}
	return list
}

// cloud makes up vectors as models give them: they share a direction, come in clusters, and vary in some dimensions more than
// in others. A row's vector is always the same.
type cloud struct {
	centres [][]float32
	shared  []float32
	spread  []float32 // of each dimension
}

func newCloud(n int) *cloud {
	random := rand.New(rand.NewPCG(7, 8)) //nolint:gosec // the same cloud in every run
	c := &cloud{centres: make([][]float32, max(n/100, 10)), spread: make([]float32, store.Dimensions)}
	for d := range c.spread {
		c.spread[d] = float32(1 / math.Sqrt(1+float64(d)/100))
	}
	c.shared = c.draw(random)
	for i := range c.centres {
		c.centres[i] = c.draw(random)
	}
	return c
}

func (c *cloud) draw(random *rand.Rand) []float32 {
	v := make([]float32, store.Dimensions)
	for d := range v {
		v[d] = c.spread[d] * float32(random.NormFloat64())
	}
	return v
}

func (c *cloud) vector(row int) []float32 {
	random := rand.New(rand.NewPCG(9, uint64(row))) //nolint:gosec // the same vector for a row in every run
	centre := c.centres[random.IntN(len(c.centres))]
	v := c.draw(random)
	for d := range v {
		v[d] = 0.8*v[d] + centre[d] + c.shared[d]
	}
	return v
}

// embed gives the rules of a view vectors, a part at a time.
func (c *cloud) embed(v *corpus.View, rules []store.RuleState) *corpus.View {
	const part = 8192
	for from := 0; from < len(rules); from += part {
		list := make([]store.Embedding, 0, part)
		for i := from; i < min(from+part, len(rules)); i++ {
			list = append(list, store.Embedding{Model: model, TextHash: corpus.TextHash(&rules[i].Rule), Vector: c.vector(i)})
		}
		v = v.WithVectors(model, list)
	}
	return v
}
