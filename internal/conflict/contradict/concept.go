package contradict

import (
	_ "embed" // the tables
	"strings"
	"sync"

	"tenet/internal/norm"
)

//go:embed concepts.txt
var conceptLines string

//go:embed exclusive.txt
var exclusiveLines string

// concept is the meaning of a word or a phrase.
type concept struct {
	key    string
	turned bool // it is the opposite
	// line is the number of a line of values that exclude each other; 0 for what is no value.
	line int
}

// longestPhrase bounds the words of a phrase of the tables.
const longestPhrase = 4

// tables are the concepts by words as they are written, and by how words are compared.
type tables struct {
	written, compared map[string]concept
	longest           map[string]int // words of the longest phrase that begins with a word
}

var concepts = sync.OnceValue(func() tables {
	t := tables{map[string]concept{}, map[string]concept{}, map[string]int{}}
	add := func(w string, c concept) {
		if _, ok := t.written[w]; !ok {
			t.written[w] = c
		}
		first, _, _ := strings.Cut(w, "-")
		t.longest[first] = max(t.longest[first], strings.Count(w, "-")+1)
		if strings.Contains(w, "-") {
			return
		}
		if key := norm.Key(w); key != "" {
			if _, ok := t.compared[key]; !ok {
				t.compared[key] = c
			}
		}
	}
	line := 0
	for text := range strings.Lines(exclusiveLines) {
		if strings.HasPrefix(text, "#") {
			continue
		}
		line++
		for side := range strings.SplitSeq(text, "/") {
			names := strings.Fields(side)
			for _, w := range names {
				add(w, concept{key: "=" + names[0], line: line})
			}
		}
	}
	for text := range strings.Lines(conceptLines) {
		if strings.HasPrefix(text, "#") {
			continue
		}
		same, opposite, _ := strings.Cut(text, "/")
		names := strings.Fields(same)
		for _, w := range names {
			add(w, concept{key: names[0]})
		}
		for w := range strings.FieldsSeq(opposite) {
			add(w, concept{key: names[0], turned: true})
		}
	}
	return t
})

// conceptAt returns the concept that begins at a word of a clause, the number of words that name it, and whether the tables have them as they are written.
func conceptAt(words []norm.Content, i int) (c concept, n int, written, ok bool) {
	t := concepts()
	first, _, _ := strings.Cut(words[i].Text, "-")
	for n = min(longestPhrase, len(words)-i, t.longest[first]); n > 0; n-- {
		parts := make([]string, 0, n)
		for k := range n {
			w := &words[i+k]
			if w.Code || k+1 < n && w.End {
				break
			}
			parts = append(parts, w.Text)
		}
		if len(parts) < n {
			continue
		}
		if c, ok = t.written[strings.Join(parts, "-")]; ok {
			return c, n, true, true
		}
	}
	c, ok = t.compared[words[i].Key]
	return c, 1, false, ok
}
