package main

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"tenet/internal/corpus"
	"tenet/internal/store"
)

// vectors returns the vectors of the texts and of the questions, from files of a folder or else made from the words.
func (c *collection) vectors(folder string) (docs, questions [][]float32, err error) {
	texts := make([]string, len(c.rules))
	for i := range c.rules {
		texts[i] = corpus.EmbeddingText(&c.rules[i].Rule)
	}
	asked := make([]string, len(c.queries))
	for i, q := range c.queries {
		asked[i] = q.text
	}
	if folder == "" {
		p := newProjection(texts)
		return p.all(texts), p.all(asked), nil
	}
	if docs, err = readVectors(filepath.Join(folder, c.name, "docs.f32"), len(texts)); err != nil {
		return nil, nil, err
	}
	questions, err = readVectors(filepath.Join(folder, c.name, "queries.f32"), len(asked))
	return docs, questions, err
}

// readVectors reads n vectors of equal length, and fills shorter ones up with zeros, which changes no cosine.
func readVectors(path string, n int) ([][]float32, error) {
	data, err := os.ReadFile(path) //nolint:gosec // the user's own file
	if err != nil {
		return nil, err
	}
	width := len(data) / 4 / max(n, 1)
	if width*n*4 != len(data) || width == 0 || width > store.Dimensions {
		return nil, fmt.Errorf("%s has %d bytes; it should have %d vectors of at most %d numbers", path, len(data), n, store.Dimensions)
	}
	list := make([][]float32, n)
	for i := range list {
		list[i] = make([]float32, store.Dimensions)
		for d := range width {
			list[i][d] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*(i*width+d):]))
		}
	}
	return list, nil
}

// projection makes vectors of texts without a model: words weighed by how rare they are, each sent in a direction of its own that
// its hash gives. The cosine of two texts is then about that of their words. No meaning is in it: it is a stand-in.
type projection struct {
	texts     int
	documents map[string]int // of each word
}

func newProjection(texts []string) *projection {
	p := &projection{texts: len(texts), documents: map[string]int{}}
	for _, text := range texts {
		for word := range counted(text) {
			p.documents[word]++
		}
	}
	return p
}

func counted(text string) map[string]int {
	counts := map[string]int{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		counts[word]++
	}
	return counts
}

func (p *projection) all(texts []string) [][]float32 {
	list := make([][]float32, len(texts))
	for i, text := range texts {
		list[i] = p.vector(text)
	}
	return list
}

func (p *projection) vector(text string) []float32 {
	v := make([]float32, store.Dimensions)
	v[0] = 1e-6 // so that an empty text has a direction
	counts := counted(text)
	for _, word := range slices.Sorted(maps.Keys(counts)) { // in one order, since sums of floats depend on it
		weight := (1 + math.Log(float64(counts[word]))) * math.Log(float64(p.texts+1)/float64(p.documents[word]+1))
		h := fnv.New64a()
		_, _ = h.Write([]byte(word)) // never fails
		for state, i := h.Sum64(), 0; i < 16; i++ {
			state = state*6364136223846793005 + 1442695040888963407
			sign := 1 - 2*float32(state>>40&1)
			v[state>>41%store.Dimensions] += sign * float32(weight)
		}
	}
	return v
}
