package lex

import "strings"

// Script divides JavaScript or TypeScript into tokens, and also the expressions that template literals embed. Text between tags of
// JSX becomes names, marks and strings that are none.
func Script(src string, jsx bool) []Token {
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
			if c.template(false) {
				embedded = append(embedded, 0)
			}
		case nameByte(b):
			start, k := c.pos, Name
			if b >= '0' && b <= '9' {
				k = Number
			}
			w := c.word()
			c.emit(k, w, "", start, c.line)
		case b == '/' && c.regexHere(jsx):
			c.regex()
		case b == '}' && len(embedded) > 0 && embedded[len(embedded)-1] == 0:
			embedded = embedded[:len(embedded)-1]
			if c.template(true) {
				embedded = append(embedded, 0)
			}
		default:
			if n := len(embedded); n > 0 && b == '{' {
				embedded[n-1]++
			} else if n > 0 && b == '}' {
				embedded[n-1]--
			}
			start := c.pos
			c.emit(Mark, c.operator(), "", start, c.line)
		}
		if len(c.out) > count {
			c.out[count].Doc, c.out[count].Noted = doc, noted
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

// template emits a template literal, or a part of one, from the byte that begins it, and reports whether an embedded expression
// follows.
func (c *cursor) template(resumes bool) bool {
	begin, line := c.pos, c.line
	c.pos++
	for start := c.pos; c.pos < len(c.src); c.pos++ {
		switch b := c.src[c.pos]; {
		case b == '\\':
			c.pos++
		case b == '`', b == '$' && c.at(1) == '{':
			body := c.src[start:c.pos]
			c.pos++
			if b == '$' {
				c.pos++
			}
			c.emit(String, body, "`", begin, line)
			c.line += strings.Count(body, "\n")
			last := &c.out[len(c.out)-1]
			last.Resumes, last.Pauses = resumes, b == '$'
			return last.Pauses
		}
	}
	c.pos = len(c.src)
	c.emit(Unclosed, "", "`", begin, line)
	return false
}

// regexHere reports whether a slash begins a regular expression, by the token before it.
func (c *cursor) regexHere(jsx bool) bool {
	if len(c.out) == 0 || c.unclosed == c.line {
		return c.unclosed != c.line
	}
	last := c.out[len(c.out)-1]
	switch last.Text {
	case "return", "typeof", "case", "in", "of":
		return last.Kind == Name
	case ")", "]", "}":
		return false
	case "<", ">":
		return last.Kind == Mark && !jsx
	}
	return last.Kind == Mark
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
			c.emit(Regexp, c.src[start:c.pos], "", start, c.line)
			return
		}
	}
	c.unclosed = c.line
	c.pos++
	c.emit(Mark, "/", "", start, c.line)
}
