package linter

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// syntaxError is why a settings file could not be read, and where.
type syntaxError struct {
	line   int
	reason string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.reason) }

// script reads the data of JSON and JavaScript: objects, lists and scalars, with comments, trailing commas and keys without
// quotes. In JavaScript, what is not plain data becomes a computed node and is stepped over; JSON has none of it. One reader
// serves both, because a settings file of the one kind is often pasted into the other.
type script struct {
	src   string
	pos   int
	line  int
	nodes int
	code  bool // JavaScript
}

// readJSON reads JSON with comments and trailing commas.
func readJSON(src string) (*node, error) {
	s := &script{src: src, line: 1}
	n, err := s.value(0)
	if err != nil {
		return nil, err
	}
	if s.space(); s.pos < len(s.src) {
		return nil, s.errorf("something follows the value")
	}
	return n, nil
}

func (s *script) errorf(format string, args ...any) error {
	return &syntaxError{line: s.line, reason: fmt.Sprintf(format, args...)}
}

// peek is the next byte; 0 at the end. The source holds no NUL.
func (s *script) peek() byte { return s.ahead(0) }

func (s *script) ahead(n int) byte {
	if s.pos+n < len(s.src) {
		return s.src[s.pos+n]
	}
	return 0
}

// step goes on by n bytes and counts lines.
func (s *script) step(n int) {
	end := min(s.pos+n, len(s.src))
	s.line += strings.Count(s.src[s.pos:end], "\n")
	s.pos = end
}

// space steps over blanks and comments.
func (s *script) space() {
	for {
		switch c := s.peek(); {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			s.step(1)
		case c == '/' && s.ahead(1) == '/':
			s.stepPast("\n")
		case c == '/' && s.ahead(1) == '*':
			s.stepPast("*/")
		default:
			return
		}
	}
}

func (s *script) stepPast(mark string) {
	i := strings.Index(s.src[s.pos:], mark)
	if i < 0 {
		s.step(len(s.src))
		return
	}
	s.step(i + len(mark))
}

// value reads one value, and in JavaScript the whole expression that it begins.
func (s *script) value(depth int) (*node, error) {
	s.space()
	start, line := s.pos, s.line
	n, err := s.plain(depth)
	if err != nil {
		return nil, err
	}
	n.line, n.end = line, s.line
	if !s.code {
		return n, nil
	}
	s.space()
	if s.word("as") || s.word("satisfies") {
		return n, s.skip()
	}
	if c := s.peek(); c == 0 || strings.IndexByte(",}]);", c) >= 0 {
		return n, nil
	}
	if n.form != call && n.form != computed && line != s.line && !strings.ContainsRune(".?+|&=([`", rune(s.peek())) {
		return n, nil // a statement that ends without a semicolon
	}
	if err := s.skip(); err != nil {
		return nil, err
	}
	return &node{form: computed, text: strings.TrimSpace(s.src[start:s.pos]), line: line, end: s.line}, nil
}

func (s *script) plain(depth int) (*node, error) {
	if s.nodes++; s.nodes > maxNodes {
		return nil, s.errorf("there are more than %d values", maxNodes)
	}
	if depth > maxDepth {
		return nil, s.errorf("values are nested more than %d deep", maxDepth)
	}
	switch c := s.peek(); {
	case c == 0:
		return nil, s.errorf("the file ends where a value is expected")
	case c == '{':
		return s.object(depth)
	case c == '[':
		return s.list(depth, list, '[', ']')
	case c == '"' || c == '\'':
		v, err := s.quoted(c)
		return &node{form: text, text: v}, err
	case c == '-' || c == '+' || c >= '0' && c <= '9':
		start := s.pos
		for c := s.peek(); c == '-' || c == '+' || c == '.' || wordByte(c); c = s.peek() {
			s.step(1)
		}
		return &node{form: number, text: s.src[start:s.pos]}, nil
	case wordByte(c):
		return s.name(depth)
	}
	return s.expression()
}

// expression reads an expression that does not begin like data.
func (s *script) expression() (*node, error) {
	if !s.code {
		return nil, s.errorf("a value cannot begin with %q", s.src[s.pos:s.pos+runeLen(s.src[s.pos:])])
	}
	start := s.pos
	if s.peek() == '`' {
		if err := s.template(); err != nil {
			return nil, err
		}
		if body := s.src[start+1 : s.pos-1]; !strings.Contains(body, "${") && !strings.Contains(body, `\`) {
			return &node{form: text, text: body}, nil
		}
		return &node{form: computed, text: s.src[start:s.pos]}, nil
	}
	err := s.skip()
	if err == nil && s.pos == start {
		err = s.errorf("a value is missing")
	}
	return &node{form: computed, text: strings.TrimSpace(s.src[start:s.pos])}, err
}

// name reads true, false, null, and in JavaScript the name of something and a call of it.
func (s *script) name(depth int) (*node, error) {
	start := s.pos
	for wordByte(s.peek()) || s.code && s.peek() == '.' {
		s.step(1)
	}
	word := s.src[start:s.pos]
	switch word {
	case "true", "false":
		return &node{form: truth, text: word}, nil
	case "null", "undefined":
		return &node{form: nothing}, nil
	}
	if !s.code {
		return nil, s.errorf("%q is not a value; write texts in quotes", cut(word, 40))
	}
	if s.peek() == '(' && word != "function" {
		n, err := s.list(depth, call, '(', ')')
		if n != nil {
			n.text = word
		}
		return n, err
	}
	return &node{form: computed, text: word}, nil
}

func (s *script) list(depth int, as form, opening, closing byte) (*node, error) {
	n := &node{form: as}
	at := s.line
	s.step(1)
	for {
		s.space()
		switch c := s.peek(); {
		case c == closing:
			s.step(1)
			return n, nil
		case c == 0:
			return nil, &syntaxError{line: at, reason: fmt.Sprintf("the %c is never closed", opening)}
		case c == ',':
			s.step(1)
			continue
		}
		item, err := s.item(depth)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
		s.space()
		if c := s.peek(); c != ',' && c != closing {
			return nil, s.errorf("a , or %c is expected", closing)
		}
	}
}

// item is a value, or in JavaScript what ... spreads.
func (s *script) item(depth int) (*node, error) {
	if !s.code || !strings.HasPrefix(s.src[s.pos:], "...") {
		return s.value(depth + 1)
	}
	s.step(3)
	return s.value(depth + 1)
}

func (s *script) object(depth int) (*node, error) {
	n := &node{form: table}
	at := s.line
	s.step(1)
	for {
		s.space()
		switch s.peek() {
		case '}':
			s.step(1)
			return n, nil
		case 0:
			return nil, &syntaxError{line: at, reason: "the { is never closed"}
		case ',':
			s.step(1)
			continue
		}
		p, err := s.pair(depth)
		if err != nil {
			return nil, err
		}
		n.pairs = append(n.pairs, p)
		s.space()
		if c := s.peek(); c != ',' && c != '}' {
			return nil, s.errorf("a , or } is expected")
		}
	}
}

func (s *script) pair(depth int) (pair, error) {
	line := s.line
	if s.code && strings.HasPrefix(s.src[s.pos:], "...") {
		v, err := s.item(depth)
		return pair{key: "...", line: line, value: v}, err
	}
	key, err := s.key()
	if err != nil {
		return pair{}, err
	}
	s.space()
	if s.peek() == ':' {
		s.step(1)
		v, err := s.value(depth + 1)
		return pair{key: key, line: line, value: v}, err
	}
	if !s.code {
		return pair{}, s.errorf("a : is expected after the key %q", cut(key, 40))
	}
	// A method, a computed key, or a name that stands for itself.
	start := s.pos
	err = s.skip()
	return pair{key: key, line: line, value: &node{form: computed, text: s.src[start:s.pos], line: line, end: s.line}}, err
}

func (s *script) key() (string, error) {
	switch c := s.peek(); {
	case c == '"' || c == '\'':
		return s.quoted(c)
	case wordByte(c):
		start := s.pos
		for c := s.peek(); wordByte(c) || c == '-'; c = s.peek() {
			s.step(1)
		}
		return s.src[start:s.pos], nil
	case s.code && c == '[':
		return "", nil
	}
	return "", s.errorf("a key is expected")
}

// word steps over a word if it comes next.
func (s *script) word(w string) bool {
	if !strings.HasPrefix(s.src[s.pos:], w) || wordByte(s.ahead(len(w))) {
		return false
	}
	s.step(len(w))
	return true
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

func runeLen(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}
