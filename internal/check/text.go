package check

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tenet/internal/diff"
	"tenet/internal/subject"
)

// content is a text that patterns search: the new lines of a file, the action, or the facts.
type content struct {
	path  string // of the file, empty for action and facts
	file  int    // its number in the subject
	body  string // all lines, each with a line end
	lines []textLine
	added int // how many lines are added

	// cut is the first line that is added behind one that the diff does not show, as in a diff without context; -1 if there is none.
	cut int
	// several is true if the diff changes the file more than once, so that its lines are in several texts.
	several bool

	source   *diff.File // nil for action and facts
	sections []string   // the paths of the values of facts
	isFacts  bool
	// values are those of facts whose lines are not their own text: of numbers, booleans and keys, by section.
	values map[int32]any

	// again is the second reading of the text, if it differs. In a second reading, of is the text itself and origin the number of
	// its line for each line.
	again, of *content
	origin    []int32

	grams grams
	// odd is true if the text has characters beyond ASCII that are equal to ASCII letters when case is ignored.
	odd           bool
	lowerOnce     sync.Once
	lowerBody     string
	functionsOnce sync.Once
	functions     []string // that each line is in
}

// textLine is a line of a text.
type textLine struct {
	start    int32 // offset in body
	number   int32 // in the new file, the action or the value
	section  int32
	added    bool
	adjacent bool // whether it directly follows the line before it
}

// end returns the offset of the end of line i in the body, without its line end.
func (t *content) end(i int) int {
	if i+1 < len(t.lines) {
		return int(t.lines[i+1].start) - 1
	}
	return len(t.body) - 1
}

func (t *content) line(i int) string { return t.body[t.lines[i].start:t.end(i)] }

// lineAt returns the index of the line with the byte at.
func (t *content) lineAt(at int) int {
	i, exact := slices.BinarySearchFunc(t.lines, at, func(l textLine, at int) int { return int(l.start) - at })
	if !exact {
		i--
	}
	return i
}

// functionOf returns the function that a line of a file is in; empty if the diff does not show it.
func (t *content) functionOf(line int) string {
	t.functionsOnce.Do(func() {
		t.functions = make([]string, 0, len(t.lines))
		for i := range t.source.Hunks {
			h := &t.source.Hunks[i]
			for k, name := range subject.Functions(t.source, h) {
				if h.Lines[k].Op != diff.OpDelete {
					t.functions = append(t.functions, name)
				}
			}
		}
	})
	return t.functions[line]
}

// lower returns the body with ASCII letters in lower case.
func (t *content) lower() string {
	t.lowerOnce.Do(func() { t.lowerBody = lowerASCII(t.body) })
	return t.lowerBody
}

func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = lowered[c]
	}
	return string(b)
}

var lowered = func() (table [256]byte) {
	for i := range table {
		table[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			table[i] += 'a' - 'A'
		}
	}
	return table
}()

// textWriter builds a text.
type textWriter struct {
	body strings.Builder
	text content
}

func (w *textWriter) add(s string, number, section int, added, adjacent bool) {
	w.text.lines = append(w.text.lines, textLine{
		start: int32(w.body.Len()), number: int32(number), section: int32(section), added: added, adjacent: adjacent,
	})
	if added {
		w.text.added++
	}
	w.body.WriteString(s)
	w.body.WriteByte('\n')
}

// addLines adds the lines of a text outside of files.
func (w *textWriter) addLines(s, section string) {
	w.text.sections = append(w.text.sections, section)
	number := 0
	for line := range strings.Lines(s) {
		number++
		line = strings.TrimRight(strings.TrimSuffix(line, "\n"), "\r")
		w.add(line, number, len(w.text.sections)-1, true, number > 1)
	}
}

// finish appends the text to all, unless it is empty.
func (w *textWriter) finish(all []*content) []*content {
	t := &w.text
	if len(t.lines) == 0 {
		return all
	}
	t.body = w.body.String()
	t.index()
	t.again = readAgain(t)
	return append(all, t)
}

// index prepares the body for searches.
func (t *content) index() {
	t.grams.room(len(t.body))
	t.grams.add(t.body)
	t.odd = strings.Contains(t.body, "\u017F") || strings.Contains(t.body, "\u212A")
}

// fileTexts returns the texts of the files that have new lines.
func fileTexts(s *subject.Subject) []*content {
	var all []*content
	first := make(map[string]*content, len(s.Files)) // by path
	for i := range s.Files {
		f := &s.Files[i]
		if len(f.Hunks) == 0 {
			continue
		}
		w := textWriter{text: content{path: f.Path, file: i, source: f, cut: -1}}
		bytes, lines := 0, 0
		for _, l := range f.NewLines {
			bytes, lines = bytes+len(l.Text)+1, lines+1
		}
		w.body.Grow(bytes)
		w.text.lines = make([]textLine, 0, lines)
		last := 0 // the line before, in this hunk or in one that adjoins
		for j := range f.Hunks {
			h := &f.Hunks[j]
			for _, l := range h.Lines {
				if l.Op != diff.OpDelete {
					if l.Op == diff.OpAdd && l.New != last+1 && w.text.cut < 0 {
						w.text.cut = len(w.text.lines)
					}
					w.add(l.Text, l.New, j, l.Op == diff.OpAdd, l.New == last+1 && last > 0)
					last = l.New
				}
			}
		}
		before := len(all)
		if all = w.finish(all); len(all) == before {
			continue
		}
		if other := first[f.Path]; other != nil {
			other.several, all[before].several = true, true
		} else {
			first[f.Path] = all[before]
		}
	}
	return all
}

// looseTexts returns the texts outside of files: the action, and the facts in the order of their keys.
func looseTexts(s *subject.Subject) []*content {
	action := textWriter{text: content{cut: -1}}
	action.addLines(s.Action, "")
	facts := textWriter{text: content{isFacts: true, cut: -1, values: map[int32]any{}}}
	facts.addFacts(s.Facts, nil)
	return facts.finish(action.finish(nil))
}

// addFacts adds keys, texts, numbers and booleans, each as lines of their own.
func (w *textWriter) addFacts(v any, path factPath) {
	switch v := v.(type) {
	case nil:
	case string:
		w.addLines(v, path.qualified())
	case []any:
		for i, e := range v {
			w.addFacts(e, append(path, i)) // a step overwritten by the next sibling is no longer needed
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			w.addValue(key, append(path, key), v[key])
			w.addFacts(v[key], append(path, key))
		}
	case float64:
		text := factJSON(v)
		w.addValue(text, path, v)
		if long := strconv.FormatFloat(v, 'f', -1, 64); long != text { // such as 1e+21
			w.addValue(long, path, v)
		}
	default:
		w.addValue(factJSON(v), path, v)
	}
}

// addValue adds lines that are reported as a value.
func (w *textWriter) addValue(lines string, path factPath, v any) {
	w.text.values[int32(len(w.text.sections))] = v
	w.addLines(lines, path.qualified())
}

// grams is a set of the three-byte pieces of a text in lower case. It may hold more, never less, and finds in a few
// nanoseconds that a text lacks a literal.
type grams struct {
	bits  []uint64
	shift uint
}

// Sizes of the set, as the binary logarithm of the number of its bits.
const (
	minGrams = 9
	maxGrams = 18
)

func gramHash(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 0x9E3779B1
}

// room makes an empty set for so many bytes of text.
func (g *grams) room(bytes int) {
	width := uint(minGrams)
	for width < maxGrams && 1<<width < 8*bytes {
		width++
	}
	g.bits, g.shift = make([]uint64, 1<<(width-6)), 32-width
}

// add adds the pieces of a text.
func (g *grams) add(s string) {
	if len(s) < 3 {
		return
	}
	a, b := lowered[s[0]], lowered[s[1]]
	for i := 2; i < len(s); i++ {
		c := lowered[s[i]]
		h := gramHash(a, b, c) >> g.shift
		g.bits[h>>6] |= 1 << (h & 63)
		a, b = b, c
	}
}

// mayHold reports whether the text may hold a literal whose pieces have these hashes.
func (g *grams) mayHold(hashes []uint32) bool {
	for _, h := range hashes {
		h >>= g.shift
		if g.bits[h>>6]&(1<<(h&63)) == 0 {
			return false
		}
	}
	return true
}

// gramHashes returns the hashes of the pieces of a literal.
func gramHashes(literal string) []uint32 {
	var hashes []uint32
	for i := 2; i < len(literal); i++ {
		hashes = append(hashes, gramHash(lowered[literal[i-2]], lowered[literal[i-1]], lowered[literal[i]]))
	}
	return hashes
}
