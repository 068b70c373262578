package code

import (
	"strings"
	"unicode/utf8"
)

// kind is what a token is.
type kind int

const (
	name kind = iota
	number
	text    // a string; its text has no quotes, quote has them
	pattern // a regular expression
	mark    // an operator or a bracket
	ended   // a string or the like that its line or the file ends too early
)

// lexeme is a token of Python, TypeScript or JavaScript.
type lexeme struct {
	kind  kind
	text  string
	line  int
	quote string // of a string, with the letters before it
	doc   bool   // a documentation comment stands right before it
	noted bool   // any comment does
	fresh bool   // first on its line
	deep  int    // indentation of a first one, in columns
}

// cursor walks over a source.
type cursor struct {
	src   string
	pos   int
	line  int
	fresh bool
	deep  int
	out   []lexeme
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

func (c *cursor) emit(k kind, text, quote string, line int) {
	c.out = append(c.out, lexeme{kind: k, text: text, line: line, quote: quote, fresh: c.fresh, deep: c.deep})
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
	line := c.line
	from := c.pos
	body, ok := c.quoted(quotes, lines)
	k := text
	if !ok {
		k = ended
	}
	c.emit(k, body, prefix+quotes, line)
	if n := strings.Count(c.src[from:c.pos], "\n"); n > 0 {
		c.line += n
	}
}

// lexPython splits Python into tokens. Comments are left out; a string with letters before it, such as f"...", is one token.
func lexPython(src string) []lexeme {
	c := &cursor{src: src, line: 1, fresh: true}
	for c.pos < len(c.src) {
		switch b := c.at(0); {
		case b == ' ' || b == '\t':
			c.blank()
		case b == '\n':
			c.step(1)
		case b == '\r' || b == '\\' && (c.at(1) == '\n' || c.at(1) == '\r'):
			c.pos++
		case b == '#':
			c.to("\n")
		case b == '"' || b == '\'':
			c.pythonString("")
		case nameByte(b):
			line := c.line
			w := c.word()
			if q := c.at(0); (q == '"' || q == '\'') && len(w) <= 2 && strings.Trim(strings.ToLower(w), "rbuft") == "" {
				c.pythonString(strings.ToLower(w))
				continue
			}
			k := name
			if b >= '0' && b <= '9' {
				k = number
			}
			c.emit(k, w, "", line)
		default:
			c.emit(mark, c.src[c.pos:c.pos+1], "", c.line)
			c.pos++
		}
	}
	return c.out
}

func (c *cursor) pythonString(prefix string) {
	one := c.src[c.pos : c.pos+1]
	if three := strings.Repeat(one, 3); strings.HasPrefix(c.src[c.pos:], three) {
		c.literal(prefix, three, true)
		return
	}
	c.literal(prefix, one, false)
}

// lexScript splits TypeScript or JavaScript into tokens. What template literals embed is split too. Text between tags of JSX comes
// out as words and marks, which is why strings are not counted in such files.
func lexScript(src string, jsx bool) []lexeme {
	c := &cursor{src: src, line: 1, fresh: true}
	var embedded []int // brackets that are open inside each template literal
	doc, noted := false, false
	for c.pos < len(c.src) {
		b := c.at(0)
		count := len(c.out)
		switch {
		case b == ' ' || b == '\t':
			c.blank()
		case b == '\n':
			c.step(1)
		case b == '\r':
			c.pos++
		case b == '/' && c.at(1) == '/' || b == '#' && c.pos == 0 && c.at(1) == '!':
			noted = true
			c.to("\n")
		case b == '/' && c.at(1) == '*':
			doc, noted = c.at(2) == '*', true
			c.step(2)
			c.to("*/")
			c.step(2)
		case b == '"' || b == '\'':
			c.literal("", c.src[c.pos:c.pos+1], false)
		case b == '`':
			if c.template(1) {
				embedded = append(embedded, 0)
			}
		case nameByte(b):
			line := c.line
			k := name
			if b >= '0' && b <= '9' {
				k = number
			}
			w := c.word()
			c.emit(k, w, "", line)
		case b == '/' && c.regexHere(jsx):
			c.regex()
		case b == '}' && len(embedded) > 0 && embedded[len(embedded)-1] == 0:
			embedded = embedded[:len(embedded)-1]
			if c.template(1) {
				embedded = append(embedded, 0)
			}
		default:
			if n := len(embedded); n > 0 && b == '{' {
				embedded[n-1]++
			} else if n > 0 && b == '}' {
				embedded[n-1]--
			}
			c.emit(mark, c.operator(), "", c.line)
		}
		if len(c.out) > count {
			c.out[count].doc, c.out[count].noted = doc, noted
			doc, noted = false, false
		}
	}
	return c.out
}

// operator steps over an operator; those that are looked for are one token.
func (c *cursor) operator() string {
	for _, op := range []string{"===", "!==", "...", "=>", "==", "!=", "<=", ">=", "??", "?.", "&&", "||"} {
		if strings.HasPrefix(c.src[c.pos:], op) {
			c.pos += len(op)
			return op
		}
	}
	c.pos++
	return c.src[c.pos-1 : c.pos]
}

// template emits a template literal, or a part of one, from after the byte that begins it, and reports whether an embedded
// expression follows.
func (c *cursor) template(begin int) bool {
	line := c.line
	c.pos += begin
	start := c.pos
	for c.pos < len(c.src) {
		switch b := c.src[c.pos]; {
		case b == '\\':
			c.pos += 2
			continue
		case b == '`', b == '$' && c.at(1) == '{':
			c.emit(text, c.src[start:c.pos], "`", line)
			c.line += strings.Count(c.src[start:c.pos], "\n")
			c.pos++
			if b == '$' {
				c.pos++
			}
			return b == '$'
		}
		c.pos++
	}
	c.pos = len(c.src)
	c.emit(ended, "", "`", line)
	return false
}

// regexHere reports whether a slash begins a regular expression, by the token before it.
func (c *cursor) regexHere(jsx bool) bool {
	if len(c.out) == 0 {
		return true
	}
	last := c.out[len(c.out)-1]
	switch last.kind {
	case name:
		return last.text == "return" || last.text == "typeof" || last.text == "case" || last.text == "in" || last.text == "of"
	case mark:
		return last.text != ")" && last.text != "]" && last.text != "}" && (!jsx || last.text != "<" && last.text != ">")
	case number, text, pattern, ended:
	}
	return false
}

func (c *cursor) regex() {
	start := c.pos
	class := false
	for i := c.pos + 1; i < len(c.src) && c.src[i] != '\n'; i++ {
		switch b := c.src[i]; {
		case b == '\\':
			i++
		case b == '[':
			class = true
		case b == ']':
			class = false
		case b == '/' && !class:
			c.pos = i + 1
			c.word() // its flags
			c.emit(pattern, c.src[start:c.pos], "", c.line)
			return
		}
	}
	c.emit(mark, "/", "", c.line)
	c.pos++
}
