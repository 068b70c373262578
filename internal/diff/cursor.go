package diff

import (
	"fmt"
	"strings"
)

// brokenAt returns the error for a diff that breaks in a line, counted from 1.
func brokenAt(line int, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))
}

// cursor walks the lines of a text, which it does not copy. It is a value; a copy of it looks ahead without moving the
// original.
type cursor struct {
	text string
	line string // current line without its line end, \n or \r\n
	no   int    // its number, from 1; at the end, the number of the last line
	next int    // offset of the line that follows
	end  bool   // whether the text has ended
}

func newCursor(text string) cursor {
	c := cursor{text: text}
	c.advance()
	return c
}

// advance goes to the next line.
func (c *cursor) advance() {
	if c.next >= len(c.text) {
		c.line, c.end = "", true
		return
	}
	rest := c.text[c.next:]
	length := strings.IndexByte(rest, '\n')
	if length < 0 {
		length = len(rest)
	}
	c.next += length + 1
	c.no++
	c.line = strings.TrimSuffix(rest[:length], "\r")
}

// ahead returns the nth line after the current one, "" after the end.
func (c cursor) ahead(n int) string {
	for range n {
		c.advance()
	}
	return c.line
}

func (c *cursor) has(prefix string) bool { return strings.HasPrefix(c.line, prefix) }

// excerpt quotes a line for an error message.
func excerpt(line string) string {
	const longest = 60
	if len(line) > longest {
		line = line[:longest] + "..."
	}
	return fmt.Sprintf("%q", line)
}
