package linter

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"tenet/internal/lex"
	"tenet/internal/text"
)

// syntaxError is the reason and the line of a settings file that cannot be read.
type syntaxError struct {
	line   int
	reason string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.reason) }

// script reads the data of JSON and JavaScript: objects, lists and scalars, with comments, trailing commas and keys without
// quotes. In JavaScript, an expression that is not plain data becomes a computed node; JSON has none. One reader serves both,
// because people paste settings of one kind into files of the other.
type script struct {
	src   string
	toks  []lex.Token
	pos   int // in toks
	nodes int
	code  bool // JavaScript
}

func newScript(src string, code bool) *script {
	return &script{src: src, toks: lex.Script(src, false), code: code}
}

// readJSON reads JSON with comments and trailing commas.
func readJSON(src string) (*node, error) {
	s := newScript(src, false)
	n, err := s.value(0)
	if err != nil {
		return nil, err
	}
	if s.pos < len(s.toks) {
		return nil, s.errorf("something follows the value")
	}
	return n, nil
}

func (s *script) errorf(format string, args ...any) error {
	return &syntaxError{line: s.next().Line, reason: fmt.Sprintf(format, args...)}
}

// next returns the token that comes next. At the end it is a mark without text on the last line.
func (s *script) next() lex.Token {
	if s.pos < len(s.toks) {
		return s.toks[s.pos]
	}
	return lex.Token{Kind: lex.Mark, Line: 1 + strings.Count(s.src, "\n"), Start: len(s.src), End: len(s.src)}
}

// mark returns the text of the next token if it is a mark; empty at the end and for others.
func (s *script) mark() string {
	if t := s.next(); t.Kind == lex.Mark {
		return t.Text
	}
	return ""
}

// take steps over the next token if it is a name or mark with this text.
func (s *script) take(word string) bool {
	t := s.next()
	if t.Text != word || t.Kind != lex.Name && t.Kind != lex.Mark {
		return false
	}
	s.pos++
	return true
}

func (s *script) ended() bool { return s.pos >= len(s.toks) }

// since returns the source from token from up to the next one.
func (s *script) since(from int) string {
	if s.pos == from {
		return ""
	}
	return s.src[s.toks[from].Start:s.toks[s.pos-1].End]
}

// lastLine returns the last line of the token before the next one.
func (s *script) lastLine() int {
	t := s.toks[s.pos-1]
	return t.Line + strings.Count(s.src[t.Start:t.End], "\n")
}

// value reads one value, and in JavaScript the whole expression that it begins.
func (s *script) value(depth int) (*node, error) {
	start, line := s.pos, s.next().Line
	n, err := s.plain(depth)
	if err != nil {
		return nil, err
	}
	n.line, n.end = line, line
	if s.pos > start {
		n.end = s.lastLine()
	}
	if !s.code || s.ended() {
		return n, nil
	}
	if s.take("as") || s.take("satisfies") {
		return n, s.skip()
	}
	next := s.next()
	switch s.mark() {
	case ",", "}", "]", ")", ";":
		return n, nil
	}
	if n.form != call && n.form != computed && line != next.Line && !strings.ContainsRune(".?+|&=([`", rune(s.src[next.Start])) {
		return n, nil // a statement that ends without a semicolon
	}
	if err := s.skip(); err != nil {
		return nil, err
	}
	return &node{form: computed, text: s.since(start), line: line, end: s.lastLine()}, nil
}

func (s *script) plain(depth int) (*node, error) {
	if s.nodes++; s.nodes > maxNodes {
		return nil, s.errorf("there are more than %d values", maxNodes)
	}
	if depth > maxDepth {
		return nil, s.errorf("values are nested more than %d deep", maxDepth)
	}
	t := s.next()
	switch {
	case s.ended():
		return nil, s.errorf("the file ends where a value is expected")
	case t.Text == "{" && t.Kind == lex.Mark:
		return s.object(depth)
	case t.Text == "[" && t.Kind == lex.Mark:
		return s.list(depth, list, "]")
	case t.Quote != "" && t.Quote != "`":
		v, err := s.quoted()
		return &node{form: str, text: v}, err
	case t.Kind == lex.Number, t.Text == "-" || t.Text == "+":
		start := s.pos
		s.adjacent("-+.")
		return &node{form: number, text: s.since(start)}, nil
	case t.Kind == lex.Name:
		return s.name(depth)
	}
	return s.expression()
}

// adjacent steps over the next token, and over names, numbers and the given marks that follow it without a space.
func (s *script) adjacent(marks string) {
	for s.pos++; !s.ended(); s.pos++ {
		t := s.next()
		if t.Start != s.toks[s.pos-1].End || t.Kind != lex.Name && t.Kind != lex.Number && (t.Kind != lex.Mark || !strings.Contains(marks, t.Text)) {
			return
		}
	}
}

// expression reads an expression that does not begin like data.
func (s *script) expression() (*node, error) {
	t := s.next()
	if !s.code {
		_, size := utf8.DecodeRuneInString(s.src[t.Start:])
		return nil, s.errorf("a value cannot begin with %q", s.src[t.Start:t.Start+size])
	}
	if t.Kind == lex.String && !t.Pauses && !strings.Contains(t.Text, `\`) {
		s.pos++
		return &node{form: str, text: t.Text}, nil
	}
	start := s.pos
	err := s.skip()
	if err == nil && s.pos == start {
		err = s.errorf("a value is missing")
	}
	return &node{form: computed, text: s.since(start)}, err
}

// name reads true, false, null, and in JavaScript a name and a call of it.
func (s *script) name(depth int) (*node, error) {
	start := s.pos
	if s.code {
		s.adjacent(".")
	} else {
		s.pos++
	}
	word := s.since(start)
	switch word {
	case "true", "false":
		return &node{form: truth, text: word}, nil
	case "null", "undefined":
		return &node{form: nothing}, nil
	}
	if !s.code {
		s.pos--
		return nil, s.errorf("%q is not a value; write texts in quotes", text.FitRunes(word, 40, "…"))
	}
	if s.mark() == "(" && word != "function" {
		n, err := s.list(depth, call, ")")
		if n != nil {
			n.text = word
		}
		return n, err
	}
	return &node{form: computed, text: word}, nil
}

// list reads the items up to the closing bracket.
func (s *script) list(depth int, as form, closing string) (*node, error) {
	n := &node{form: as}
	err := s.items(closing, func() error {
		s.spread()
		item, err := s.value(depth + 1)
		n.items = append(n.items, item)
		return err
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

// items steps over an opening bracket and reads items with commas between them up to the closing one.
func (s *script) items(closing string, read func() error) error {
	opening := s.next()
	for s.pos++; ; {
		switch {
		case s.ended():
			return &syntaxError{line: opening.Line, reason: "the " + opening.Text + " is never closed"}
		case s.take(closing):
			return nil
		case s.take(","):
			continue
		}
		if err := read(); err != nil {
			return err
		}
		if m := s.mark(); m != "," && m != closing {
			return s.errorf("a , or %s is expected", closing)
		}
	}
}

// spread steps over the ... before a value in JavaScript.
func (s *script) spread() bool { return s.code && s.take("...") }

func (s *script) object(depth int) (*node, error) {
	n := &node{form: table}
	err := s.items("}", func() error {
		p, err := s.pair(depth)
		n.pairs = append(n.pairs, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

func (s *script) pair(depth int) (pair, error) {
	line := s.next().Line
	if s.spread() {
		v, err := s.value(depth + 1)
		return pair{key: "...", line: line, value: v}, err
	}
	key, err := s.key()
	if err != nil {
		return pair{}, err
	}
	if s.take(":") {
		v, err := s.value(depth + 1)
		return pair{key: key, line: line, value: v}, err
	}
	if !s.code {
		return pair{}, s.errorf("a : is expected after the key %q", text.FitRunes(key, 40, "…"))
	}
	// A method, a computed key, or a name that is its own value.
	start, first := s.pos, s.next().Line
	err = s.skip()
	return pair{key: key, line: line, value: &node{form: computed, text: s.since(start), line: first, end: s.lastLine()}}, err
}

func (s *script) key() (string, error) {
	switch t := s.next(); {
	case t.Quote != "" && t.Quote != "`":
		return s.quoted()
	case t.Kind == lex.Name || t.Kind == lex.Number:
		start := s.pos
		s.adjacent("-")
		return s.since(start), nil
	case s.code && s.mark() == "[":
		return "", nil
	}
	return "", s.errorf("a key is expected")
}

// quoted reads a string in quotes.
func (s *script) quoted() (string, error) {
	t := s.next()
	if t.Kind == lex.Unclosed {
		return "", s.unclosed(t)
	}
	s.pos++
	return unescape(t.Text), nil
}

func (s *script) unclosed(t lex.Token) error {
	if t.Quote == "`" {
		return s.errorf("a text in back quotes is never closed")
	}
	return s.errorf("a text is not closed on its line")
}

// unescape replaces the escapes of a string; one that it does not know means the character after it.
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

// skip steps over the rest of an expression: up to a , ; or closing bracket that is not its own. It keeps no stack, so that
// nesting has no limit.
func (s *script) skip() error {
	at := s.next().Line
	for depth := 0; ; s.pos++ {
		t := s.next()
		switch {
		case s.ended() && depth > 0:
			return &syntaxError{line: at, reason: "a bracket is never closed"}
		case s.ended():
			return nil
		case t.Kind == lex.Unclosed:
			return s.unclosed(t)
		case t.Pauses && !t.Resumes:
			depth++
		case t.Resumes && !t.Pauses:
			depth--
		}
		switch m := s.mark(); m {
		case "(", "[", "{":
			depth++
		case ")", "]", "}", ",", ";":
			if depth == 0 {
				return nil
			}
			if m != "," && m != ";" {
				depth--
			}
		}
	}
}

// readScript finds the settings that a file in JavaScript exports. A file that builds its settings by code is an error.
func readScript(src string) (*node, error) {
	s := newScript(src, true)
	named := map[string]int{} // where the value of a constant begins
	for !s.ended() {
		t := s.next()
		switch m := s.mark(); {
		case t.Kind == lex.Unclosed:
			return nil, s.unclosed(t)
		case t.Kind == lex.Name:
			start := s.pos
			s.adjacent(".")
			switch word := s.since(start); {
			case word == "export" && s.take("default"), word == "module.exports" && s.take("="):
				return s.exported(named)
			case word == "const" || word == "let" || word == "var":
				s.constant(named)
			}
		case m == "(" || m == "[" || m == "{":
			s.pos++
			if err := s.skip(); err != nil {
				return nil, err
			}
		default:
			s.pos++
		}
	}
	return nil, &syntaxError{line: 1, reason: "it exports no plain data; settings that code puts together are not read"}
}

// constant notes where the value of a declared name begins.
func (s *script) constant(named map[string]int) {
	name := s.next()
	if name.Kind != lex.Name {
		return
	}
	s.pos++
	if s.take(":") { // a type
		for m := s.mark(); !s.ended() && m != "=" && m != ";" && s.next().Line == name.Line; m = s.mark() {
			s.pos++
		}
	}
	if s.take("=") && len(named) < 100 {
		named[name.Text] = s.pos
	}
}

func (s *script) exported(named map[string]int) (*node, error) {
	n, err := s.value(0)
	if err != nil || n.form != computed {
		return n, err
	}
	if from, ok := named[n.text]; ok {
		s.pos = from
		return s.value(0)
	}
	return n, nil
}
