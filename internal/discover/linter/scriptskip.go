package linter

import (
	"strconv"
	"strings"
)

// quoted reads a text in quotes.
func (s *script) quoted(quote byte) (string, error) {
	s.step(1)
	start := s.pos
	plain := true
	for {
		switch c := s.peek(); c {
		case quote:
			raw := s.src[start:s.pos]
			s.step(1)
			if plain {
				return raw, nil
			}
			return unescape(raw), nil
		case 0, '\n':
			return "", s.errorf("a text is not closed on its line")
		case '\\':
			plain = false
			s.step(2)
		default:
			s.step(1)
		}
	}
}

// unescape writes out the escapes of a text; one that is unknown stands for the character after it.
func unescape(raw string) string {
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			b.WriteByte(raw[i])
			continue
		}
		i++
		switch raw[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r', '\n':
		case 'u':
			if i+4 < len(raw) {
				if r, err := strconv.ParseUint(raw[i+1:i+5], 16, 16); err == nil {
					b.WriteRune(rune(r))
					i += 4
				}
			}
		default:
			b.WriteByte(raw[i])
		}
	}
	return b.String()
}

// template steps over a text in back quotes. What it embeds is not looked into but for its brackets.
func (s *script) template() error {
	at := s.line
	s.step(1)
	for depth := 0; ; {
		switch c := s.peek(); {
		case c == 0:
			return &syntaxError{line: at, reason: "a text in back quotes is never closed"}
		case c == '\\':
			s.step(2)
			continue
		case c == '`' && depth == 0:
			s.step(1)
			return nil
		case c == '$' && s.ahead(1) == '{':
			depth++
			s.step(1)
		case c == '}' && depth > 0:
			depth--
		}
		s.step(1)
	}
}

// skip steps over the rest of an expression: up to a , ; or closing bracket that is not its own. It keeps no stack, so that
// brackets may be nested as deep as they like.
func (s *script) skip() error {
	at := s.line
	for depth := 0; ; {
		before := s.pos
		if s.space(); s.pos > before {
			continue
		}
		c := s.peek()
		switch {
		case c == 0 && depth == 0:
			return nil
		case c == 0:
			return &syntaxError{line: at, reason: "a bracket is never closed"}
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			if depth == 0 {
				return nil
			}
			depth--
		case (c == ',' || c == ';') && depth == 0:
			return nil
		}
		if err := s.token(c); err != nil {
			return err
		}
	}
}

// token steps over one token of code.
func (s *script) token(c byte) error {
	switch {
	case c == '"' || c == '\'':
		_, err := s.quoted(c)
		return err
	case c == '`':
		return s.template()
	case c == '/' && s.regexHere():
		s.regex()
	default:
		s.step(1)
	}
	return nil
}

// regexHere reports whether a slash begins a regular expression, by what stands before it.
func (s *script) regexHere() bool {
	before := strings.TrimRight(s.src[max(0, s.pos-80):s.pos], " \t\r\n")
	return before == "" || strings.IndexByte("(,=:[!&|?{};+*%<>~^-", before[len(before)-1]) >= 0 || strings.HasSuffix(before, "return")
}

func (s *script) regex() {
	s.step(1)
	for class := false; ; s.step(1) {
		switch s.peek() {
		case 0, '\n':
			return
		case '\\':
			s.step(1)
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if !class {
				s.step(1)
				return
			}
		}
	}
}

// readScript finds what a settings file in JavaScript exports. A file that builds its settings by code is an error.
func readScript(src string) (*node, error) {
	s := &script{src: src, line: 1, code: true}
	named := map[string]script{} // where the value of a constant begins
	for {
		s.space()
		c := s.peek()
		switch {
		case c == 0:
			return nil, &syntaxError{line: 1, reason: "it exports no plain data; settings that code puts together are not read"}
		case wordByte(c):
			start := s.pos
			for wordByte(s.peek()) || s.peek() == '.' {
				s.step(1)
			}
			word := s.src[start:s.pos]
			switch {
			case word == "export" && s.exportsDefault(), word == "module.exports" && s.assigned():
				return s.exported(named)
			case word == "const" || word == "let" || word == "var":
				s.constant(named)
			}
		case c == '(' || c == '[' || c == '{':
			s.step(1)
			if err := s.skip(); err != nil {
				return nil, err
			}
		default:
			if err := s.token(c); err != nil {
				return nil, err
			}
		}
	}
}

func (s *script) exportsDefault() bool {
	s.space()
	return s.word("default")
}

func (s *script) assigned() bool {
	s.space()
	if s.peek() != '=' || s.ahead(1) == '=' {
		return false
	}
	s.step(1)
	return true
}

// constant notes where the value of a declared name begins.
func (s *script) constant(named map[string]script) {
	s.space()
	start := s.pos
	for wordByte(s.peek()) {
		s.step(1)
	}
	name := s.src[start:s.pos]
	s.space()
	if s.peek() == ':' { // a type
		for c := s.peek(); c != 0 && c != '=' && c != ';' && c != '\n'; c = s.peek() {
			s.step(1)
		}
	}
	if name != "" && s.assigned() && len(named) < 100 {
		named[name] = *s
	}
}

func (s *script) exported(named map[string]script) (*node, error) {
	n, err := s.value(0)
	if err != nil || n.form != computed {
		return n, err
	}
	if from, ok := named[n.text]; ok {
		from.nodes = s.nodes
		return from.value(0)
	}
	return n, nil
}
