package code

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

type kind uint8

const (
	word kind = iota
	number
	literal // a text literal, or a part of one
	regex
	mark // an operator or a bracket
)

// token is a token of a source. Comments are none.
type token struct {
	kind       kind
	text       string // of a literal its body as written
	start, end int
	line, last int
	quote      string // of a literal, with the letters before it
	fresh      bool   // first on its line
	// resumes and pauses report whether an embedded expression precedes and follows this part of a literal.
	resumes, pauses bool
}

// start is where a source begins: in code, or behind the quotes of a literal or of a comment that end with the text.
type start struct {
	end     string
	comment bool
	holes   bool // expressions may be embedded
	raw     bool
}

var inCode = start{}

// otherStarts are the other places in which a part of a file may begin.
func otherStarts(language string) []start {
	comment := start{end: "*/", comment: true}
	switch language {
	case Python:
		return []start{{end: `"""`}, {end: `'''`}, {end: `"""`, holes: true}, {end: `'''`, holes: true}}
	case JavaScript, TypeScript:
		return []start{comment, {end: "`", holes: true}}
	case Java:
		return []start{comment, {end: `"""`}}
	case Rust:
		return []start{comment, {end: `"`}, {end: `"#`, raw: true}, {end: `"##`, raw: true}}
	case Go:
		return []start{comment, {end: "`", raw: true}}
	}
	return nil
}

// hole is an expression that a literal embeds.
type hole struct {
	literal start
	quote   string
	depth   int  // open brackets inside
	spec    bool // it is in the format behind the colon of another one
}

// scanner divides a source into tokens.
type scanner struct {
	language string
	src      string
	pos      int
	line     int
	fresh    bool
	toks     []token
	holes    []hole
	// fault says why the source is malformed, doubt why it can be read in two ways; empty if it is not.
	fault, doubt string
	open         string // says that a literal or comment goes on behind the end
	tags         bool   // it has elements of JSX
	jsx          bool   // it may have
	hidden       int    // the first line of a skipped text that would hide code if it were text between tags; 0 for none
}

func (s *scanner) faulty(line int, format string, args ...any) {
	if s.fault == "" {
		s.fault = fmt.Sprintf("line %d: ", line) + fmt.Sprintf(format, args...)
	}
}

func (s *scanner) doubtful(line int, format string, args ...any) {
	if s.doubt == "" {
		s.doubt = fmt.Sprintf("line %d: ", line) + fmt.Sprintf(format, args...)
	}
}

func scan(language, file, src string, from start) *scanner {
	s := &scanner{language: language, src: src, line: 1, fresh: true}
	s.jsx = language == JavaScript || strings.HasSuffix(strings.ToLower(file), ".tsx")
	switch {
	case from.comment:
		s.skipComment(0)
	case from.end != "":
		s.rest(from, from.end, 0, 1, true)
	}
	for s.pos < len(s.src) {
		s.next()
	}
	if len(s.holes) > 0 && s.open == "" {
		s.open = "an expression in a literal is not closed"
	}
	if s.tags && s.hidden > 0 {
		s.doubtful(s.hidden, "it may be text between tags or code")
	}
	return s
}

func (s *scanner) at(n int) byte {
	if s.pos+n < len(s.src) {
		return s.src[s.pos+n]
	}
	return 0
}

func (s *scanner) has(prefix string) bool { return strings.HasPrefix(s.src[s.pos:], prefix) }

// skip moves to a place and counts lines.
func (s *scanner) skip(to int) {
	to = min(to, len(s.src))
	if n := strings.Count(s.src[s.pos:to], "\n"); n > 0 {
		s.line += n
		s.fresh = true
	}
	s.pos = to
}

func (s *scanner) emit(k kind, text string, from, line int) {
	s.toks = append(s.toks, token{kind: k, text: text, start: from, end: s.pos, line: line, last: s.line, fresh: s.fresh})
	s.fresh = false
}

func nameByte(b byte) bool {
	return b == '_' || b == '$' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= utf8.RuneSelf
}

func (s *scanner) script() bool { return s.language == JavaScript || s.language == TypeScript }

// next reads one token, or what lies between two.
func (s *scanner) next() {
	b := s.at(0)
	if n := len(s.holes); n > 0 && s.inHole(&s.holes[n-1], b) {
		return
	}
	switch {
	case b == ' ' || b == '\t' || b == '\f' || b == '\v':
		s.pos++
	case b == '\n':
		s.skip(s.pos + 1)
	case b == '#' && (s.language == Python || s.pos == 0 && s.at(1) == '!' && s.at(2) != '['):
		s.lineComment()
	case b == '/' && s.at(1) == '/' && s.language != Python:
		s.lineComment()
	case b == '/' && s.at(1) == '*' && s.language != Python:
		s.pos += 2
		s.skipComment(s.pos - 2)
	case s.script() && s.has("<!--"):
		s.doubtful(s.line, "<!-- begins a comment in some programs")
		s.pos += 4
	case b == '"' || b == '\'' || b == '`':
		s.quoted("")
	case b == '\\' && s.language == Python && s.at(1) == '\n':
		s.skip(s.pos + 2)
		s.fresh = false
	case nameByte(b) || b == '#' && s.script() && nameByte(s.at(1)):
		s.name()
	case b == '/' && s.script() && s.slash():
	default:
		s.operator()
	}
}

func (s *scanner) lineComment() {
	from := s.pos
	end := strings.IndexByte(s.src[s.pos:], '\n')
	if end < 0 {
		end = len(s.src) - s.pos
	}
	s.pos += end
	s.hides(s.src[from:s.pos], s.line)
}

// skipComment skips the rest of a comment.
func (s *scanner) skipComment(from int) {
	line, depth := s.line, 1
	for i := s.pos; i < len(s.src); i++ {
		switch {
		case strings.HasPrefix(s.src[i:], "*/"):
			if depth--; depth == 0 {
				s.skip(i + 2)
				s.hides(s.src[from:s.pos], line)
				return
			}
			i++
		case s.language == Rust && strings.HasPrefix(s.src[i:], "/*"):
			depth++
			i++
		}
	}
	s.skip(len(s.src))
	s.open = fmt.Sprintf("line %d: a comment is not closed", line)
}

// hides notes a skipped text that would be code if it were text between tags of JSX.
func (s *scanner) hides(text string, line int) {
	if s.jsx && s.hidden == 0 && strings.Contains(text, "{") && strings.ContainsAny(text, "(=`") {
		s.hidden = line
	}
}

// name reads a name or a number, or a literal that begins with letters.
func (s *scanner) name() {
	from, line := s.pos, s.line
	s.pos++
	for nameByte(s.at(0)) {
		s.pos++
	}
	text := s.src[from:s.pos]
	if b := text[0]; b >= '0' && b <= '9' {
		s.emit(number, text, from, line)
		return
	}
	switch q := s.at(0); {
	case s.language == Python && (q == '"' || q == '\'') && len(text) <= 2 && strings.Trim(strings.ToLower(text), "rbuft") == "":
		s.quoted(strings.ToLower(text))
		return
	case s.language == Rust && q == '"' && slices.Contains([]string{"b", "c", "r", "br", "cr"}, text):
		s.quoted(text)
		return
	case s.language == Rust && q == '\'' && text == "b":
		s.quoted(text)
		return
	case s.language == Rust && q == '#' && slices.Contains([]string{"r", "br", "cr"}, text):
		hashes := 0
		for s.at(hashes) == '#' {
			hashes++
		}
		if s.at(hashes) == '"' {
			s.pos += hashes + 1
			s.rest(start{end: `"` + strings.Repeat("#", hashes), raw: true}, text+`"`, from, line, false)
			return
		}
		if text == "r" && hashes == 1 && nameByte(s.at(1)) { // r#type
			s.pos++
			s.name()
			return
		}
	}
	for _, r := range text {
		if r >= utf8.RuneSelf && !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.Pc) {
			s.doubtful(line, "a name has the character %U", r)
		}
	}
	if s.language == Python { // which compares names in this form
		text = norm.NFKC.String(text)
	}
	s.emit(word, text, from, line)
}

// operators are those of more than one character, longest first.
var operators = []string{
	">>>=", "===", "!==", "**=", "<<=", ">>=", "&&=", "||=", "??=", "...", "==", "!=", "<=", ">=", "=>", "->", "::", ":=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
	"?.", "??", "&&", "||", "++", "--",
}

func (s *scanner) operator() {
	from := s.pos
	b := s.src[from]
	switch {
	case b < ' ' || b == 0x7f:
		s.faulty(s.line, "a control character")
		s.pos++
		return
	case b == '\\':
		s.doubtful(s.line, "a backslash outside of a text")
	}
	n := 1
	for _, op := range operators {
		if s.has(op) && !(op == "?." && s.at(2) >= '0' && s.at(2) <= '9') {
			n = len(op)
			break
		}
	}
	s.pos += n
	text := s.src[from:s.pos]
	if s.jsx && text == "<" && (s.at(0) == '/' || s.at(0) == '>' || nameByte(s.at(0)) && s.beginsValue()) {
		s.tags = true
	}
	s.emit(mark, text, from, s.line)
}

// beginsValue reports whether a value begins here, by the token before: a tag then, no comparison.
func (s *scanner) beginsValue() bool {
	if len(s.toks) == 0 {
		return true
	}
	last := &s.toks[len(s.toks)-1]
	switch last.kind {
	case word:
		return slices.Contains([]string{"return", "case", "default", "yield", "await", "else", "do"}, last.text)
	case mark:
		return last.text != ")" && last.text != "]" && last.text != "}"
	case number, literal, regex:
	}
	return false
}

// slash reads a regular expression, if the slash begins one, and reports whether it has read anything. Where both are possible it notes a doubt.
func (s *scanner) slash() bool {
	const sure, never, either = 0, 1, 2
	begins := sure
	if n := len(s.toks); n > 0 {
		last := &s.toks[n-1]
		switch last.kind {
		case word:
			begins = never
			if slices.Contains([]string{"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "yield", "await", "instanceof"}, last.text) {
				begins = either
				if last.text == "return" && (n < 2 || s.toks[n-2].text != "." && s.toks[n-2].text != "?.") {
					begins = sure
				}
			}
		case mark:
			switch last.text {
			case "]":
				begins = never
			case ")", "}", "++", "--", "!", ">", "<":
				begins = either
			}
		case number, literal, regex:
			begins = never
		}
	}
	if begins == never {
		return false
	}
	end := s.regexEnd()
	if end < 0 { // it divides, or the source is malformed
		if begins == sure && !(s.jsx && s.tags) {
			s.faulty(s.line, "a regular expression is not closed")
		}
		return false
	}
	body := s.src[s.pos:end]
	if begins == either {
		if strings.ContainsAny(body, "(=\"'`{") || strings.Contains(body, "/*") || strings.HasPrefix(s.src[end-1:], "//") {
			s.doubtful(s.line, "a slash may divide or begin a regular expression")
		}
		return false
	}
	s.hides(body, s.line)
	from := s.pos
	s.pos = end
	for nameByte(s.at(0)) {
		s.pos++
	}
	s.emit(regex, s.src[from:s.pos], from, s.line)
	return true
}

const maxRegex = 2_000 // bytes

// regexEnd returns the end of the regular expression that begins here, negative if none ends on the line.
func (s *scanner) regexEnd() int {
	class := false
	for i := s.pos + 1; i < len(s.src) && s.src[i] != '\n'; i++ {
		if i == s.pos+maxRegex {
			s.doubtful(s.line, "a slash on a long line")
			return -1
		}
		switch b := s.src[i]; {
		case b == '\\':
			i++
		case b == '[':
			class = true
		case b == ']':
			class = false
		case b == '/' && !class:
			return i + 1
		}
	}
	return -1
}
