package blocks

import (
	"regexp"
	"strings"

	"tenet/internal/text"
)

// rst divides reStructuredText into blocks.
type rst struct {
	lineReader
	styles []string // of titles: their sign, twice where a line is above them too; the outermost first
	doc    bool     // text was found, behind which no fields of the document come
}

// RST divides reStructuredText, such as the pages of Sphinx, into blocks for [Sentences]. It never fails: what is not
// reStructuredText is paragraphs. first is the line that the text begins at.
func RST(content string, first int) []Block {
	r := &rst{lineReader: newLineReader(content, first)}
	for r.at < len(r.lines) {
		r.step()
	}
	r.close()
	return r.blocks
}

// lineReader goes over the lines of a text whose marks begin lines.
type lineReader struct {
	scanner
	lines    []string // without their ends
	first    int
	at       int      // the next line
	examples []string // the fences of the examples of AsciiDoc that are open, the innermost last
}

func newLineReader(content string, first int) lineReader {
	lines := strings.Split(content, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	return lineReader{scanner: scanner{open: -1}, lines: lines, first: first}
}

// peek returns a line after the next; empty beyond the end.
func (r *lineReader) peek(n int) string {
	if i := r.at + n; i >= 0 && i < len(r.lines) {
		return r.lines[i]
	}
	return ""
}

// number is the number of the next line.
func (r *lineReader) number() int { return r.first + r.at }

// indentOf measures the white space before a line; a tab goes to the next multiple of 8.
func indentOf(line string) int {
	n := 0
	for i := range len(line) {
		switch line[i] {
		case ' ':
			n++
		case '\t':
			n += 8 - n%8
		default:
			return n
		}
	}
	return n
}

// skipDeeper passes over empty lines and those that are indented more than n.
func (r *lineReader) skipDeeper(n int) {
	for r.at < len(r.lines) && (r.lines[r.at] == "" || indentOf(r.lines[r.at]) > n) {
		r.at++
	}
	r.gap = true
}

// code ends the open block before code.
func (r *lineReader) code() {
	r.close()
	if last := len(r.blocks) - 1; last >= 0 {
		r.blocks[last].BeforeCode = true
	}
}

var (
	directive = regexp.MustCompile(`^\.\. (?:\|[^|]+\| )?([A-Za-z][A-Za-z0-9:_+.-]*)::(?:[ \t]+(.*))?$`)
	field     = regexp.MustCompile(`^:[^:` + "`" + `]{1,60}:(?:[ \t]|$)`)
	counted   = regexp.MustCompile(`^\(?#[.)][ \t]+`)
	simple    = regexp.MustCompile(`^=+(?:[ \t]+=+)+$`)
)

// texts are directives whose content is text.
var texts = text.Words(`
admonition attention caution danger error hint important note tip warning seealso versionadded versionchanged deprecated deprecated-removed topic
sidebar container compound epigraph pull-quote highlights only ifconfig rubric class rst-class centered tab tabs dropdown details card
`)

// step reads the next line, and those that belong to it.
func (r *rst) step() {
	line := r.peek(0)
	indent := indentOf(line)
	rest := strings.TrimLeft(line, " \t")
	switch {
	case rest == "":
		r.gap = true
		r.at++
	case r.title():
	case rest == ".." || strings.HasPrefix(rest, ".. "):
		r.explicit(indent, rest)
	case strings.HasPrefix(rest, ">>>"):
		r.code()
		for r.at < len(r.lines) && r.lines[r.at] != "" {
			r.at++
		}
	case simple.MatchString(rest):
		r.simpleTable()
	case strings.HasPrefix(rest, "+-"):
		r.gridTable()
	case field.MatchString(rest) && (!r.doc || r.open < 0):
		r.at++
		r.skipDeeper(indent)
	default:
		r.text(indent, rest)
	}
}

// title reads a title with a line of signs below it, and perhaps above it.
func (r *rst) title() bool {
	over := 0
	if adorned(r.peek(0)) && r.peek(1) != "" && !adorned(r.peek(1)) && r.peek(2) == r.peek(0) {
		over = 1
	}
	name, under := r.peek(over), r.peek(over+1)
	long := len([]rune(strings.TrimSpace(name)))
	if name == "" || adorned(name) || !adorned(under) || len(under) < min(long, 4) || over == 0 && (indentOf(name) > 0 || r.open >= 0 && !r.gap) || len(name) > maxBlock {
		return false
	}
	style := strings.Repeat(under[:1], over+1)
	level := 0
	for level < len(r.styles) && r.styles[level] != style {
		level++
	}
	if level == len(r.styles) && level < maxDepth {
		r.styles = append(r.styles, style)
	}
	number := r.number() + over
	r.at += 2 + over
	r.gap, r.doc = true, true
	r.heading(level+1, strings.TrimSpace(name), number)
	return true
}

// adorned reports whether a line is of one sign alone, repeated, as it is around titles.
func adorned(s string) bool {
	return len(s) >= 2 && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[0]) >= 0 && strings.Trim(s, s[:1]) == ""
}

// explicit reads what begins with two dots: a directive, a comment, a target. What is not text is passed over.
func (r *rst) explicit(indent int, rest string) {
	m := directive.FindStringSubmatch(rest)
	if m == nil || !texts[strings.ToLower(m[1])] {
		r.code()
		r.at++
		r.skipDeeper(indent)
		return
	}
	r.close()
	r.gap = true
	if indent == 0 {
		r.lists = r.lists[:0]
	}
	number := r.number()
	r.at++
	for r.at < len(r.lines) && field.MatchString(strings.TrimLeft(r.lines[r.at], " \t")) && indentOf(r.lines[r.at]) > indent {
		r.at++ // its options
	}
	name := strings.ToLower(m[1])
	if m[2] != "" && name != "only" && name != "ifconfig" && name != "class" && name != "rst-class" && !strings.HasPrefix(name, "version") && !strings.HasPrefix(name, "deprecated") {
		r.paragraph(indent, strings.TrimSpace(m[2]), number)
		r.gap = name == "admonition" || name == "topic" || name == "rubric" || name == "sidebar" // whose argument is a title
	}
}

// text reads a line of text. A paragraph that ends with two colons is before code.
func (r *rst) text(indent int, rest string) {
	r.doc = true
	if r.open >= 0 && !r.gap && indent > r.indentOpen() && bullet.FindString(rest) == "" { // the definition of a term
		r.close()
		r.gap = true
	}
	literal := strings.HasSuffix(rest, "::") && (r.peek(1) == "" || indentOf(r.peek(1)) > indent)
	if literal {
		rest = rest[:len(rest)-1]
	}
	number := r.number()
	r.at++
	switch mark := counted.FindString(rest); {
	case rest == ":": // two colons alone
	case mark != "":
		r.item(indent, '#', rest[len(mark):], number)
	case strings.HasPrefix(rest, "| "): // a line of a block of lines
		r.scanner.read(indent, strings.TrimLeft(rest, "| "), number)
	default:
		r.scanner.read(indent, rest, number)
	}
	r.gap = false
	if literal {
		r.code()
		own := indent
		if mark := bullet.FindString(rest); mark != "" {
			own += len(mark)
		}
		r.skipDeeper(own)
	}
}

// indentOpen returns the indentation of the lines that go on with the open block.
func (r *rst) indentOpen() int {
	line := r.peek(-1)
	n := indentOf(line)
	rest := strings.TrimLeft(line, " \t")
	if strings.HasPrefix(rest, ".. ") { // text behind a directive goes on below it, indented
		return indentOf(r.peek(0))
	}
	if mark := bullet.FindString(rest); mark != "" {
		return n + len(mark)
	}
	return n + len(counted.FindString(rest))
}

// simpleTable reads a table between lines of =: each of its lines is a row.
func (r *rst) simpleTable() {
	r.close()
	r.at++
	head := false
	from := len(r.blocks)
	for ; r.at < len(r.lines); r.at++ {
		rest := strings.TrimLeft(r.peek(0), " \t")
		if simple.MatchString(rest) {
			if next := r.peek(1); next == "" || head {
				r.at++
				break
			}
			r.blocks, head = r.blocks[:from], true
			continue
		}
		if rest == "" && r.peek(1) == "" {
			break
		}
		if rest != "" && !ruled(rest) {
			r.row(rest, r.number())
		}
	}
	r.gap = true
}

// gridTable reads a table drawn with + - and |. Rows of one line are read; its head is not.
func (r *rst) gridTable() {
	r.close()
	from := len(r.blocks)
	for ; r.at < len(r.lines); r.at++ {
		rest := strings.TrimLeft(r.peek(0), " \t")
		switch {
		case strings.HasPrefix(rest, "+="):
			r.blocks = r.blocks[:from]
		case strings.HasPrefix(rest, "+-"):
		case strings.HasPrefix(rest, "|"):
			above, below := strings.TrimLeft(r.peek(-1), " \t"), strings.TrimLeft(r.peek(1), " \t")
			if strings.HasPrefix(above, "+") && strings.HasPrefix(below, "+") {
				r.row(strings.Trim(rest, "| \t"), r.number())
			}
		default:
			r.gap = true
			return
		}
	}
}
