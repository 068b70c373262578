// Package lex divides JavaScript, TypeScript and Python into tokens, and finds the functions of these and other languages. It reads any input in one pass and reports no errors: what is
// malformed becomes a token that says so.
package lex

import (
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a [Token].
type Kind int

// The kinds of tokens.
const (
	Name Kind = iota
	Number
	String   // Text has no quotes, Quote has them
	Regexp   // a regular expression
	Mark     // an operator or a bracket
	Unclosed // a string or the like that its line or the file ends too early
)

// Token is a token of a source. Comments are none.
type Token struct {
	Kind       Kind
	Text       string
	Start, End int    // in the source
	Line       int    // the first, from 1
	Quote      string // of a string, with the letters before it
	Doc        bool   // a documentation comment precedes it directly
	Noted      bool   // any comment does
	Fresh      bool   // first on its line
	Indent     int    // of a first one, in columns
	// Resumes and Pauses report whether an expression that a template literal embeds precedes and follows this part of it.
	Resumes, Pauses bool
}

// cursor walks over a source.
type cursor struct {
	src   string
	pos   int
	line  int
	fresh bool
	deep  int
	out   []Token
	// unclosed is the last line on which a regular expression was not closed: no other is looked for on it, or a line of
	// slashes would be read once for each of them.
	unclosed int
}

func (c *cursor) at(n int) byte {
	if c.pos+n < len(c.src) {
		return c.src[c.pos+n]
	}
	return 0
}

// step goes on by n bytes and counts lines.
func (c *cursor) step(n int) {
	end := min(c.pos+n, len(c.src))
	if lines := strings.Count(c.src[c.pos:end], "\n"); lines > 0 {
		c.line += lines
		c.fresh, c.deep = true, 0
	}
	c.pos = end
}

// emit adds a token that began at start and ends here.
func (c *cursor) emit(k Kind, text, quote string, start, line int) {
	c.out = append(c.out, Token{Kind: k, Text: text, Start: start, End: c.pos, Line: line, Quote: quote, Fresh: c.fresh, Indent: c.deep})
	c.fresh = false
}

// blank steps over a space or a tab and measures indentation.
func (c *cursor) blank() {
	if c.fresh {
		c.deep++
		if c.at(0) == '\t' {
			c.deep += 7
		}
	}
	c.pos++
}

// to steps up to a text, or to the end.
func (c *cursor) to(s string) {
	i := strings.Index(c.src[c.pos:], s)
	if i < 0 {
		i = len(c.src) - c.pos
	}
	c.step(i)
}

func nameByte(b byte) bool {
	return b == '_' || b == '$' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= utf8.RuneSelf
}

// word steps over a name or a number.
func (c *cursor) word() string {
	start := c.pos
	for nameByte(c.at(0)) {
		c.pos++
	}
	return c.src[start:c.pos]
}

// quoted steps over a string whose opening quotes come next, and reports whether it ends as it should.
func (c *cursor) quoted(quotes string, lines bool) (string, bool) {
	c.pos += len(quotes)
	start := c.pos
	for c.pos < len(c.src) {
		switch b := c.src[c.pos]; {
		case b == '\\':
			c.pos += 2
		case strings.HasPrefix(c.src[c.pos:], quotes):
			body := c.src[start:c.pos]
			c.pos += len(quotes)
			return body, true
		case b == '\n' && !lines:
			return c.src[start:c.pos], false
		default:
			c.pos++
		}
	}
	c.pos = len(c.src)
	return c.src[min(start, c.pos):], false
}

// literal emits a string with the letters before it and its quotes.
func (c *cursor) literal(prefix, quotes string, lines bool) {
	line, from := c.line, c.pos
	body, ok := c.quoted(quotes, lines)
	k := String
	if !ok {
		k = Unclosed
	}
	c.emit(k, body, prefix+quotes, from-len(prefix), line)
	c.line += strings.Count(c.src[from:c.pos], "\n")
}
