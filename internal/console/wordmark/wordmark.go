// Package wordmark compares two texts word by word, for people who read what has changed.
package wordmark

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// Op says where a piece of text is.
type Op int

// Ops.
const (
	Same Op = iota
	Removed
	Added
)

// Piece is a run of words.
type Piece struct {
	Op   Op
	Text string
}

// maxCells bounds the work of one comparison: words of one text times words of the other. Beyond it, what lies between the common
// beginning and the common end counts as replaced.
const maxCells = 4_000_000

// Compare returns the pieces of two texts in order. Those that are not Added make the old text, those that are not Removed the new one.
func Compare(old, new string) []Piece {
	a, b := words(old), words(new)
	out := pieces{old: old, new: new}
	before := 0
	for before < len(a) && before < len(b) && a[before] == b[before] {
		out.add(Same, a[before])
		before++
	}
	a, b = a[before:], b[before:]
	after := 0
	for after < len(a) && after < len(b) && a[len(a)-1-after] == b[len(b)-1-after] {
		after++
	}
	end := a[len(a)-after:]
	a, b = a[:len(a)-after], b[:len(b)-after]
	if len(a)*len(b) > maxCells {
		for _, w := range a {
			out.add(Removed, w)
		}
		for _, w := range b {
			out.add(Added, w)
		}
	} else {
		out.align(a, b)
	}
	for _, w := range end {
		out.add(Same, w)
	}
	return out.list
}

// pieces collects words and joins neighbours of one kind: each piece is a slice of its text.
type pieces struct {
	old, new string // what is left of the texts
	list     []Piece
	begun    string // the text that the last piece begins
}

func (p *pieces) add(op Op, word string) {
	n := len(p.list)
	if n == 0 || p.list[n-1].Op != op {
		p.begun = p.old
		if op == Added {
			p.begun = p.new
		}
		p.list = append(p.list, Piece{Op: op})
		n++
	}
	last := &p.list[n-1]
	last.Text = p.begun[:len(last.Text)+len(word)]
	if op != Added {
		p.old = p.old[len(word):]
	}
	if op != Removed {
		p.new = p.new[len(word):]
	}
}

// align adds the words of two lists along their longest common subsequence.
func (p *pieces) align(a, b []string) {
	width := len(b) + 1
	common := make([]int32, (len(a)+1)*width) // of the words from i and from j on
	for i, one := range slices.Backward(a) {
		for j, other := range slices.Backward(b) {
			switch {
			case one == other:
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			default:
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			p.add(Same, a[i])
			i++
			j++
		case j == len(b) || i < len(a) && common[(i+1)*width+j] >= common[i*width+j+1]:
			p.add(Removed, a[i])
			i++
		default:
			p.add(Added, b[j])
			j++
		}
	}
}

// words cuts a text into words, runs of spaces, and single other characters, which together are the text.
func words(s string) []string {
	var list []string
	for len(s) > 0 {
		n, class := 0, -1
		for n < len(s) {
			r, size := utf8.DecodeRuneInString(s[n:])
			c := classOf(r)
			if class >= 0 && (c != class || c == other) {
				break
			}
			class = c
			n += size
		}
		list = append(list, s[:n])
		s = s[n:]
	}
	return list
}

// Classes of characters.
const (
	letter = iota
	space
	other
)

func classOf(r rune) int {
	switch {
	case unicode.IsLetter(r), unicode.IsDigit(r), r == '_', unicode.IsMark(r):
		return letter
	case unicode.IsSpace(r):
		return space
	}
	return other
}
