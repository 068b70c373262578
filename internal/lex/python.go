package lex

import "strings"

// Python divides Python into tokens. A string with letters before it, such as f"...", is one token.
func Python(src string) []Token {
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
			start := c.pos
			w := c.word()
			if q := c.at(0); (q == '"' || q == '\'') && len(w) <= 2 && strings.Trim(strings.ToLower(w), "rbuft") == "" {
				c.pythonString(strings.ToLower(w))
				continue
			}
			k := Name
			if b >= '0' && b <= '9' {
				k = Number
			}
			c.emit(k, w, "", start, c.line)
		default:
			c.pos++
			c.emit(Mark, c.src[c.pos-1:c.pos], "", c.pos-1, c.line)
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
