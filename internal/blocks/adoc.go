package blocks

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

var (
	// adocTitle is a title: as many signs as its level.
	adocTitle = regexp.MustCompile(`^(={1,6}|#{1,6})[ \t]+(\S.*)$`)
	// adocItem is the mark of an item, whose length is its depth.
	adocItem = regexp.MustCompile(`^(\*{1,6}|-|\.{1,6}|[0-9]{1,9}\.)[ \t]+(\S.*)$`)
	// adocTerm begins the definition of a term.
	adocTerm = regexp.MustCompile(`^\S[^:]{0,60}::(?:[ \t]|$)`)
	// adocNote begins a paragraph of its own.
	adocNote = regexp.MustCompile(`^(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ \t]+`)
	// adocMark is a line that is no text: an attribute, a macro, the title or the attributes of a block.
	adocMark = regexp.MustCompile(`^(?::[^: ][^:]*:(?:[ \t].*)?|\[.*\]|\.[^ .].*|[a-z]+::\S*\[.*\]|'''|<<<|\+)$`)
	// adocFence parts blocks from the text around them.
	adocFence = regexp.MustCompile("^(?:-{4,}|\\.{4,}|\\+{4,}|/{4,}|={4,}|\\*{4,}|_{4,}|```.*|--|\\|===)$")
)

// Adoc divides AsciiDoc into blocks for [Sentences]. It never fails: what is not AsciiDoc is paragraphs. first is the line that
// the text begins at.
func Adoc(content string, first int) []Block {
	r := newLineReader(content, first)
	for r.at < len(r.lines) {
		r.adoc()
	}
	r.close()
	return r.blocks
}

// adoc reads the next line, and those that belong to it.
func (r *lineReader) adoc() {
	line := r.peek(0)
	rest := strings.TrimLeft(line, " \t")
	number := r.number()
	r.at++
	title, item := adocTitle.FindStringSubmatch(line), adocItem.FindStringSubmatch(rest)
	level := 0
	if rest != "" && (r.gap || r.open < 0) && !slices.Contains(r.examples, r.peek(0)) {
		level = underlined(line, r.peek(0))
	}
	switch {
	case rest == "":
		r.gap = true
	case strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "////"):
	case level > 0:
		r.heading(level, line, number)
		r.at++
		r.gap = true
	case adocFence.MatchString(line):
		r.fenced(line)
	case title != nil:
		r.heading(len(title[1]), title[2], number)
	case item != nil && (r.gap || r.open < 0 || len(r.lists) > 0):
		depth := len(item[1])
		if item[1][0] >= '0' && item[1][0] <= '9' {
			depth = 1
		}
		r.item(depth, item[1][0], item[2], number)
		r.gap = false
	case adocMark.MatchString(line):
		if line != "+" || len(r.lists) == 0 {
			r.gap = true
		}
	default:
		if mark := adocNote.FindString(rest); mark != "" && (r.gap || r.open < 0) {
			r.close()
			rest = rest[len(mark):]
		}
		if adocTerm.MatchString(rest) && (r.gap || r.open < 0 || r.blocks[r.open].Kind == Item) {
			r.lists = r.lists[:0]
			r.begin(Block{Kind: Item, Text: rest, Line: number, Lead: -1})
			r.gap = false
			return
		}
		if line[0] == ' ' && (r.gap || r.open < 0) { // an indented paragraph is literal
			r.code()
			for r.at < len(r.lines) && r.lines[r.at] != "" {
				r.at++
			}
			return
		}
		r.scanner.read(0, rest, number)
		r.gap = false
	}
}

// underlines are the signs below titles of two lines, from the outermost level.
const underlines = "=-~^+"

// underlined returns the level of a title that the next line underlines, as long as it is or one sign more or less, as Asciidoctor
// reads it; 0 for none. The attributes or the title of a block are no title of a section: the line below them begins a block.
func underlined(title, next string) int {
	if len(next) < 3 || strings.Trim(next, next[:1]) != "" {
		return 0
	}
	if strings.IndexByte(" |.", title[0]) >= 0 || title[0] == next[0] || adocMark.MatchString(title) {
		return 0
	}
	if off := utf8.RuneCountInString(title) - len(next); off < -1 || off > 1 {
		return 0
	}
	return 1 + strings.IndexByte(underlines, next[0])
}

// fenced reads what is behind a fence: rows of a table; text of examples, sidebars and quotes goes on as it is; code and comments
// are passed over.
func (r *lineReader) fenced(fence string) {
	r.close()
	r.gap = true
	if strings.HasPrefix(fence, "==") {
		if open := slices.Index(r.examples, fence); open >= 0 { // it closes the examples within too
			r.examples = r.examples[:open]
		} else {
			r.examples = append(r.examples, fence)
		}
		return
	}
	if strings.HasPrefix(fence, "**") || strings.HasPrefix(fence, "__") || fence == "--" {
		return
	}
	if fence != "|===" {
		r.code()
	}
	closing := fence
	if strings.HasPrefix(fence, "```") {
		closing = "```"
	}
	for first := true; r.at < len(r.lines); r.at++ {
		line := r.lines[r.at]
		if line == closing {
			r.at++
			return
		}
		if fence == "|===" && strings.HasPrefix(line, "|") {
			if !first || r.peek(1) != "" { // a line alone is the head
				r.row(strings.Trim(line, "| \t"), r.number())
			}
			first = false
		}
	}
}
