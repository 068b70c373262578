// Package blocks divides Markdown, HTML and plain text into headings, paragraphs, list items and table rows, with the lines at
// which they begin. Bounds on nesting and on what is read at once limit what hostile text costs.
package blocks

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"tenet/internal/text"
)

// Block is a piece of text in reading order.
type Block struct {
	Kind  Kind
	Level int // of a heading, 1 to 6
	// Text has no marks of the block. In [Sentences] it has the line ends of the source, so that the line of a place in it can be
	// counted, and the marks of emphasis, code and links, which [Plain] removes. In [Everything] it is the text that people see.
	Text string
	Line int // from 1
	// Section lists the headings above the block, outermost first. Blocks share it: never change it.
	Section []string
	// Lead is the index of the block that leads to this one, such as "Agents must:" before a list; -1 if none does.
	Lead int
	// BeforeCode reports whether a block of code follows.
	BeforeCode bool
	// Box reports whether an item has a box to tick. In [Everything] the box is part of its text.
	Box bool
	// Numbered reports whether an item has a number, as steps do.
	Numbered bool
}

// Kind is the kind of a [Block].
type Kind int

// The kinds of blocks. Comments and front matter are none.
const (
	Heading Kind = iota
	Paragraph
	Item // of a list
	Row  // of a table, with bars between its cells
	Code // only in Everything
)

// Extent selects what of a text becomes blocks.
type Extent int

// The extents.
const (
	Sentences  Extent = iota // what may hold sentences: no code, no heads of tables, no navigation
	Everything               // all text that people see
)

// Leads reports whether a text leads to the text below it: it ends with a colon.
func Leads(s string) bool { return strings.HasSuffix(strings.TrimRight(s, "*_ \t"), ":") }

const (
	maxTitle   = 60       // bytes of a line that can be a heading without a mark
	maxSection = 200      // bytes of a heading in Section
	maxBlock   = 64 << 10 // bytes of a paragraph; the rest of it is another
)

// builder collects blocks below their headings.
type builder struct {
	blocks  []Block
	section []string
	levels  []int // of the headings in section
}

// add appends a block and returns its index.
func (b *builder) add(block Block) int {
	block.Section = b.section
	b.blocks = append(b.blocks, block)
	return len(b.blocks) - 1
}

// enter makes the last block a heading, and the innermost one of the blocks that follow.
func (b *builder) enter(level int) {
	n := len(b.levels)
	for n > 0 && b.levels[n-1] >= level {
		n--
	}
	last := &b.blocks[len(b.blocks)-1]
	last.Kind, last.Level, last.Lead, last.Section = Heading, level, -1, b.section[:n:n]
	b.levels = append(b.levels[:n], level)
	b.section = append(b.section[:n:n], Plain(text.Clip(last.Text, maxSection, ""))) // blocks share the slice
}

// lead returns the index of the last block if it leads to a list; -1 if not.
func (b *builder) lead() int {
	if n := len(b.blocks); n > 0 && b.blocks[n-1].Kind != Heading && Leads(b.blocks[n-1].Text) {
		return n - 1
	}
	return -1
}

// Decode makes text of the bytes of a file: UTF-16 with a byte order mark, or UTF-8, in which it replaces what is invalid.
// It returns false for binary data, which holds a NUL.
func Decode(data []byte) (content string, ok bool) {
	s, _, err := transform.Bytes(unicode.BOMOverride(unicode.UTF8.NewDecoder()), data)
	if err != nil || bytes.IndexByte(s, 0) >= 0 {
		return "", false
	}
	if content = string(s); !strings.Contains(content, "\n") {
		content = strings.ReplaceAll(content, "\r", "\n") // line ends of old
	}
	return content, true
}

// maxMatter bounds front matter, in bytes.
const maxMatter = 64 << 10

// FrontMatter divides a text into the settings at its beginning, between two lines of ---, and the rest. first is the line that
// rest begins at.
func FrontMatter(content string) (matter, rest string, first int) {
	opening, after, ok := strings.Cut(content, "\n")
	if !ok || strings.TrimRight(opening, " \t\r") != "---" {
		return "", content, 1
	}
	line, at := 2, 0
	for l := range strings.Lines(after) {
		if strings.TrimRight(l, " \t\r\n") == "---" {
			return after[:at], after[at+len(l):], line + 1
		}
		if at += len(l); at > maxMatter {
			break
		}
		line++
	}
	return "", content, 1
}

// WordByte reports whether c is part of a word.
func WordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= utf8.RuneSelf
}
