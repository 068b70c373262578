package diff

import (
	"slices"
	"strconv"
	"strings"
)

// span is a range of lines in a hunk header, with the number of its first line. A span of no lines names the line before it,
// in a combined diff the line after it.
type span struct{ start, count, first int }

// end returns the number of the first line after the span.
func (s span) end() int { return s.first + s.count }

// hunkHeader is a line such as "@@ -1,2 +1,3 @@ func f()". In a combined diff of n parents it has n+1 @ and n old spans.
type hunkHeader struct {
	old     []span
	new     span
	section string
}

// maxParents bounds the work per line of a combined diff. Merges have two parents, rarely a few more.
const maxParents = 100

// parentsOf returns the number of parents in a hunk header, one less than it begins with @; 1 for another line.
func parentsOf(line string) int {
	marks := len(line) - len(strings.TrimLeft(line, "@"))
	return min(max(marks-1, 1), maxParents)
}

// parseHunkHeader reads a hunk header for a number of parents. It reuses the array of old for the old spans.
func parseHunkHeader(line string, parents int, old []span) (h hunkHeader, ok bool) {
	marks := strings.Repeat("@", parents+1)
	rest, ok := strings.CutPrefix(line, marks+" ")
	if !ok {
		return h, false
	}
	ranges, section, ok := strings.Cut(rest, " "+marks)
	if !ok {
		return h, false
	}
	h.old = old[:0]
	for range parents {
		var s span
		if s, ranges, ok = cutSpan(ranges, '-'); !ok {
			return h, false
		}
		h.old = append(h.old, s.numbered(parents))
	}
	if h.new, ranges, ok = cutSpan(ranges, '+'); !ok || ranges != "" {
		return h, false
	}
	h.new = h.new.numbered(parents)
	h.section = sectionText(section)
	return h, true
}

// cutSpan reads a span such as -12,3 or -12, which has one line, and the space after it.
func cutSpan(s string, sign byte) (sp span, rest string, ok bool) {
	const most = 1<<31 - 1
	word, rest, _ := strings.Cut(s, " ")
	if word == "" || word[0] != sign {
		return sp, "", false
	}
	start, count, counted := strings.Cut(word[1:], ",")
	if !counted {
		count = "1"
	}
	a, err1 := strconv.ParseUint(start, 10, 31)
	n, err2 := strconv.ParseUint(count, 10, 31)
	if err1 != nil || err2 != nil || a+n > most || (a == 0 && n > 0) {
		return sp, "", false // a line 0 does not exist
	}
	return span{start: int(a), count: int(n)}, rest, true
}

func (s span) numbered(parents int) span {
	s.first = s.start
	if s.count == 0 && parents == 1 {
		s.first++
	}
	return s
}

// sectionText returns the text after the second @@, cut to a length that fits a location.
func sectionText(s string) string {
	const longest = 256
	s = strings.TrimSpace(s)
	if len(s) > longest {
		s = s[:longest]
	}
	return LineText(s)
}

// hunks reads the hunks that follow, if any, into f. Hunks must be in order in both versions of the file. Files of a plain
// diff have only --- and +++ lines between them.
func (p *parser) hunks(f *File, parents int, plain bool) error {
	oldEnd, newEnd := 1, 1
	for !p.end && p.has("@@") {
		h, ok := parseHunkHeader(p.line, parents, p.spans)
		if !ok {
			return brokenAt(p.no, "%s is not a hunk header; write @@ -START,COUNT +START,COUNT @@ with line numbers from 1", excerpt(p.line))
		}
		p.spans = h.old
		old := h.old[0] // hunkBody counts down the counts in h.old
		if old.first < oldEnd || h.new.first < newEnd {
			return brokenAt(p.no, "this hunk begins inside or before the previous one of the file, so its line numbers cannot be right")
		}
		oldEnd, newEnd = old.end(), h.new.end()
		at := len(p.lines)
		header := p.no
		if err := p.hunkBody(h); err != nil {
			return err
		}
		if parents == 1 && !changes(p.lines[at:]) {
			return brokenAt(header, "this hunk changes no line; if it is of a word diff, make the diff without --word-diff")
		}
		if plain && p.endsInHeader(p.lines[at:]) {
			return brokenAt(header, "this hunk takes in the --- and +++ lines of the next file; its header counts too many lines")
		}
		f.Hunks = append(f.Hunks, Hunk{
			OldStart: old.start, OldLines: old.count, NewStart: h.new.start, NewLines: h.new.count,
			Section: h.section, Lines: p.lines[at:len(p.lines):len(p.lines)],
		})
	}
	return nil
}

// changes reports whether the lines of a hunk change something. A word diff puts changes inside of lines, and all of its lines look like
// context. A hunk without lines is none.
func changes(lines []Line) bool {
	return len(lines) == 0 || slices.ContainsFunc(lines, func(l Line) bool { return l.Op != OpContext })
}

// noNewline begins the line after a last line without a line end. The rest of it depends on the language of the tool.
const noNewline = `\ `

// hunkBody reads the lines of a hunk into p.lines until it has as many as the header counts.
//
// A line of a combined diff has one column per parent. It is deleted if it is not in the result (some column is -), added
// if it is in the result and some parent lacks it (some column is +), else context: so a line that a merge brings into
// either branch counts as added. Old numbers are those of the first parent.
func (p *parser) hunkBody(h hunkHeader) error {
	header, begun := p.no, len(p.lines)
	left := hunkRest{old: h.old, new: h.new.count}
	oldNo, newNo := h.old[0].first, h.new.first
	p.advance()
	for left.any() {
		if p.end {
			return brokenAt(p.no, "the diff ends inside the hunk that begins in line %d: %s more; send the whole diff", header, left.String())
		}
		if p.has(noNewline) && len(p.lines) > begun {
			p.advance() // no newline at the end of the file
			continue
		}
		op, inFirst, ok := left.take(p.line)
		switch {
		case !ok:
			return brokenAt(p.no, "%s is no line of the hunk that begins in line %d, whose header promises %s more",
				excerpt(p.line), header, left.String())
		case left.over:
			return brokenAt(p.no, "the hunk that begins in line %d has other lines than its header counts; its line numbers cannot be trusted", header)
		}
		l := Line{Op: op, Text: p.lineText(p.line[min(len(h.old), len(p.line)):])}
		if op != OpDelete {
			l.New = newNo
			newNo++
		}
		if inFirst {
			if op != OpAdd {
				l.Old = oldNo
			}
			oldNo++
		}
		p.lines = append(p.lines, l)
		p.advance()
	}
	if !p.end && p.has(noNewline) && len(p.lines) > begun {
		p.advance()
	}
	return nil
}

// endsInHeader reports whether the last lines of a hunk are the --- and +++ lines of the next file, whose hunks would then
// go to this one: the header counts one deleted and one added line too many.
func (p *parser) endsInHeader(body []Line) bool {
	if len(body) < 2 || p.end || !p.has("@@ -") {
		return false
	}
	last, next := body[len(body)-2], body[len(body)-1]
	older, ok1 := strings.CutPrefix(last.Text, "-- ")
	newer, ok2 := strings.CutPrefix(next.Text, "++ ")
	if !ok1 || !ok2 || last.Op != OpDelete || next.Op != OpAdd {
		return false
	}
	return names{older, newer}.prefixed() || older == devNull || newer == devNull
}

// hunkRest counts the lines that a hunk must still have, per parent and in the new version.
type hunkRest struct {
	old  []span // the counts of the header, counted down
	new  int
	over bool // the hunk has more lines than its header counts
}

func (r *hunkRest) any() bool {
	for i := range r.old {
		if r.old[i].count > 0 {
			return true
		}
	}
	return r.new > 0
}

// take counts a line. It returns the operation of the line and whether the first parent has it; ok is false if it cannot be
// a line of a hunk. An empty line is an empty context line that has lost its blanks.
func (r *hunkRest) take(line string) (op Op, inFirst, ok bool) {
	op = OpContext
	columns := line[:min(len(r.old), len(line))]
	for i := range len(columns) {
		switch c := Op(columns[i]); {
		case c == OpContext:
		case c != OpAdd && c != OpDelete, op != OpContext && op != c:
			return op, false, false
		default:
			op = c
		}
	}
	for i := range r.old {
		column := OpContext
		if i < len(columns) {
			column = Op(columns[i])
		}
		// A deleted line is in the parents that have a -, any other in those that have a blank.
		if (op == OpDelete) == (column == OpDelete) && column != OpAdd {
			r.old[i].count--
			r.over = r.over || r.old[i].count < 0
			inFirst = inFirst || i == 0
		}
	}
	if op != OpDelete {
		r.new--
		r.over = r.over || r.new < 0
	}
	return op, inFirst, true
}

func (r *hunkRest) String() string {
	var b strings.Builder
	for i := range r.old {
		b.WriteString(strconv.Itoa(r.old[i].count) + " old and ")
	}
	b.WriteString(strconv.Itoa(r.new) + " new lines")
	return b.String()
}
