// Package lexicon knows English words: which are verbs, which mean the same, the opposite, or a kind of another. Its tables come from
// WordNet 3.1, whose licence is in LICENSE-WordNet.txt; bench/lexicon makes them. Each is unpacked when it is first asked.
package lexicon

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the tables
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed verbs.txt.gz
var verbsFile []byte

//go:embed senses.txt.gz
var sensesFile []byte

// Licence is the licence of the tables, which copies of them carry along.
//
//go:embed LICENSE-WordNet.txt
var Licence string

// unpack returns a table as text. It panics where the program holds a broken one.
func unpack(packed []byte) string {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic("lexicon: " + err.Error())
	}
	content, err := io.ReadAll(z)
	if err != nil {
		panic("lexicon: " + err.Error())
	}
	return string(content)
}

var verbs = sync.OnceValue(func() map[string]bool {
	out := make(map[string]bool, 9000)
	for line := range strings.Lines(unpack(verbsFile)) {
		w, noun := strings.CutSuffix(strings.TrimSpace(line), "+")
		out[w] = noun
	}
	return out
})

// Verb reports whether a word in small letters is the base form of a verb, and whether it is a noun or an adjective as often.
func Verb(w string) (is, noun bool) {
	noun, is = verbs()[w]
	return is, noun
}

// Third returns the base form of a verb in the third person, such as review for reviews; empty for other words.
func Third(w string) string {
	stem, ok := strings.CutSuffix(w, "s")
	if !ok {
		return ""
	}
	tries := []string{stem}
	if s, ok := strings.CutSuffix(stem, "ie"); ok {
		tries = append(tries, s+"y")
	}
	if s, ok := strings.CutSuffix(stem, "e"); ok {
		tries = append(tries, s)
	}
	for _, t := range tries {
		if is, _ := Verb(t); is {
			return t
		}
	}
	return ""
}

// table is the meanings of words.
type table struct {
	senses    map[Part]map[string][]int32 // by the word; the most frequent first
	opposites map[Part]map[string][]int32
	parents   map[int32][]int32 // what a meaning is a kind of
}

var meanings = sync.OnceValue(func() *table {
	t := &table{senses: map[Part]map[string][]int32{}, opposites: map[Part]map[string][]int32{}, parents: make(map[int32][]int32, 30_000)}
	for _, p := range parts {
		t.senses[p], t.opposites[p] = make(map[string][]int32, 10_000), map[string][]int32{}
	}
	for line := range strings.Lines(unpack(sensesFile)) {
		f := strings.Fields(line)
		if f[1] == "<" {
			from, to := number(f[0]), number(f[2])
			t.parents[from] = append(t.parents[from], to)
			continue
		}
		p := Part(f[1])
		t.senses[p][f[0]] = numbers(f[2])
		if len(f) > 3 {
			t.opposites[p][f[0]] = numbers(f[3])
		}
	}
	return t
})

func number(s string) int32 {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		panic("lexicon: " + err.Error())
	}
	return int32(n)
}

func numbers(list string) []int32 {
	out := make([]int32, 0, 2)
	for s := range strings.SplitSeq(list, ",") {
		out = append(out, number(s))
	}
	return out
}

// Part is a part of speech.
type Part string

// The parts of speech that have meanings.
const (
	Noun      Part = "n"
	VerbPart  Part = "v"
	Adjective Part = "a"
)

// parts are all of them.
var parts = []Part{Noun, VerbPart, Adjective}

// bases returns the forms that a word may be an inflection of: key of keys, stor and store of stored.
func bases(w string) []string {
	var out []string
	for _, cut := range inflections {
		stem, ok := strings.CutSuffix(w, cut.end)
		if !ok || len(stem) < 2 {
			continue
		}
		out = append(out, stem+cut.base)
		if n := len(stem); cut.base == "" && n > 2 && stem[n-1] == stem[n-2] { // planned
			out = append(out, stem[:n-1])
		}
	}
	return out
}

// inflections are ends of words, and what the base form has in their place.
var inflections = []struct{ end, base string }{{"s", ""}, {"es", ""}, {"ies", "y"}, {"ed", ""}, {"ed", "e"}, {"ied", "y"}, {"ing", ""}, {"ing", "e"}}

// of returns the meanings that a table has of a word, or else of a form that it may be an inflection of.
func of(meanings map[string][]int32, w string) []int32 {
	if found := meanings[w]; len(found) > 0 {
		return found
	}
	for _, b := range bases(w) {
		if found := meanings[b]; len(found) > 0 {
			return found
		}
	}
	return nil
}

// Same reports whether the most frequent meaning of one of two words, inflected or not, is a frequent one of the other, as it is of cars and
// automobile.
func Same(a, b string) bool {
	t := meanings()
	for _, p := range parts {
		x := of(t.senses[p], a)
		if len(x) == 0 {
			continue
		}
		if y := of(t.senses[p], b); len(y) > 0 && (slices.Contains(y, x[0]) || slices.Contains(x, y[0])) {
			return true
		}
	}
	return a == b
}

// Done reports whether a word is a participle of a verb, such as encrypted.
func Done(w string) bool {
	if !strings.HasSuffix(w, "ed") && !strings.HasSuffix(w, "en") {
		return false
	}
	return slices.ContainsFunc(bases(w), func(b string) bool {
		is, _ := Verb(b)
		return is
	}) || len(of(meanings().senses[Adjective], w)) > 0
}

// Opposite reports whether two words, inflected or not, mean the opposite of each other, as include and excluded do.
func Opposite(a, b string) bool {
	t := meanings()
	for _, p := range parts {
		if meet(of(t.opposites[p], a), of(t.senses[p], b)) || meet(of(t.opposites[p], b), of(t.senses[p], a)) {
			return true
		}
	}
	return false
}

// highest bounds the steps between a thing and its kind: further up, all things are one.
const highest = 4

// Kind reports whether the first meaning of a noun is a kind of a frequent meaning of another, as doctor is of person, within a few steps.
func Kind(a, b string) bool {
	t := meanings()
	kind, above := of(t.senses[Noun], a), of(t.senses[Noun], b)
	if len(kind) == 0 || len(above) == 0 {
		return false
	}
	level := kind[:1]
	for range highest {
		var up []int32
		for _, s := range level {
			up = append(up, t.parents[s]...)
		}
		if meet(up, above[:1]) {
			return true
		}
		level = up
	}
	return false
}

func meet(a, b []int32) bool {
	return slices.ContainsFunc(a, func(s int32) bool { return slices.Contains(b, s) })
}
