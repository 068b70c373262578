package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"tenet/internal/corpus"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// snippetLength is about how many bytes of a chunk are shown.
const snippetLength = 280

// span is a part of a text, in bytes.
type span struct{ start, end int }

// snippet returns the part of a text with the most different words of a query, on one line, with the places of the words.
func snippet(whole string, terms []string) (string, []wire.DocumentHighlight) {
	line := text.OneLine(whole)
	wanted := make(map[string]bool, len(terms))
	for _, t := range terms {
		wanted[t] = true
	}
	var hits []span
	var words []string // of each hit
	corpus.EachWord(line, func(w corpus.Word) bool {
		if !wanted[w.Term] {
			return true
		}
		for len(hits) > 0 && hits[len(hits)-1].start >= w.Start { // a whole takes in its parts
			hits, words = hits[:len(hits)-1], words[:len(words)-1]
		}
		if n := len(hits); n > 0 && hits[n-1].end > w.Start {
			hits[n-1].end = w.End
		} else {
			hits, words = append(hits, span{w.Start, w.End}), append(words, w.Term)
		}
		return true
	})
	window := widen(line, densest(hits, words))
	return mark(line, window, hits)
}

// densest returns the stretch with the most different words, the first of several.
func densest(hits []span, words []string) span {
	var best span
	most := 0
	for i := range hits {
		seen := map[string]bool{}
		j := i
		for ; j < len(hits) && hits[j].end-hits[i].start <= snippetLength; j++ {
			seen[words[j]] = true
		}
		if len(seen) > most {
			best, most = span{hits[i].start, hits[j-1].end}, len(seen)
		}
	}
	return best
}

// widen grows a stretch to the length of a snippet, a little before it and the rest behind, and to whole words.
func widen(text string, s span) span {
	room := max(snippetLength-(s.end-s.start), 0)
	start := max(s.start-room/3, 0)
	end := min(start+max(snippetLength, s.end-start), len(text))
	start = max(min(start, end-snippetLength), 0)
	for start > 0 && !utf8.RuneStart(text[start]) {
		start--
	}
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	if start > 0 {
		if i := strings.IndexFunc(text[start:s.start+1], unicode.IsSpace); i >= 0 && s.start > start {
			start += i + 1
		}
	}
	if end < len(text) && s.end < end {
		if i := strings.LastIndexFunc(text[s.end:end], unicode.IsSpace); i > 0 {
			end = s.end + i
		}
	}
	return span{start, end}
}

// mark cuts a snippet out and counts the places of its hits in characters.
func mark(text string, window span, hits []span) (string, []wire.DocumentHighlight) {
	before, after := "", ""
	if window.start > 0 {
		before = "…"
	}
	if window.end < len(text) {
		after = "…"
	}
	marks := []wire.DocumentHighlight{}
	for _, h := range hits {
		if h.start < window.start || h.end > window.end {
			continue
		}
		at := utf8.RuneCountInString(before) + utf8.RuneCountInString(text[window.start:h.start])
		marks = append(marks, wire.DocumentHighlight{Start: at, End: at + utf8.RuneCountInString(text[h.start:h.end])})
	}
	return before + text[window.start:window.end] + after, marks
}
