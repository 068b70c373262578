package code

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// quoted reads a literal whose quotes come next, behind the letters of its prefix.
func (s *scanner) quoted(prefix string) {
	from, line := s.pos-len(prefix), s.line
	one := s.src[s.pos : s.pos+1]
	if one == "`" {
		switch s.language {
		case Go:
			s.pos++
			s.rest(start{end: "`", raw: true}, "`", from, line, false)
		case JavaScript, TypeScript:
			s.pos++
			s.rest(start{end: "`", holes: true}, "`", from, line, false)
		default:
			s.faulty(line, "a backtick")
			s.pos++
		}
		return
	}
	if one == "'" && s.language == Rust && prefix == "" && !s.rustChar() {
		s.pos++ // the name of a lifetime
		for nameByte(s.at(0)) {
			s.pos++
		}
		s.emit(mark, "'", from, line)
		return
	}
	end := one
	if three := strings.Repeat(one, 3); (s.language == Python || s.language == Java && one == `"`) && s.has(three) {
		end = three
	}
	s.pos += len(end)
	kind := start{end: end, raw: strings.Contains(prefix, "r")}
	kind.holes = s.language == Python && strings.ContainsAny(prefix, "ft")
	s.rest(kind, prefix+end, from, line, false)
}

// rustChar reports whether a single quote begins a character, not the name of a lifetime.
func (s *scanner) rustChar() bool {
	if s.at(1) == '\\' {
		return true
	}
	_, n := utf8.DecodeRuneInString(s.src[min(s.pos+1, len(s.src)):])
	return s.at(1+n) == '\''
}

// lines reports whether a literal may have several lines.
func (s *scanner) lines(l start) bool {
	return len(l.end) == 3 && s.language != Rust || l.end == "`" || s.language == Rust && l.end[0] == '"'
}

// rest reads the rest of a literal, up to its end or to an embedded expression. From is where the token begins.
func (s *scanner) rest(l start, quote string, from, line int, resumes bool) {
	body := s.pos
	done := func(to int, pauses bool) {
		text, end := s.src[body:to], s.pos
		if pauses {
			end = to
		}
		s.hides(text, line)
		fresh := s.fresh
		s.line += strings.Count(s.src[from:s.pos], "\n") - strings.Count(s.src[from:body], "\n")
		s.toks = append(s.toks, token{
			kind: literal, text: text, start: from, end: end, line: line, last: s.line, quote: quote, fresh: fresh, resumes: resumes, pauses: pauses,
		})
		s.fresh = false
	}
	for i := s.pos; i < len(s.src); i++ {
		b := s.src[i]
		switch {
		case strings.HasPrefix(s.src[i:], l.end):
			s.pos = i + len(l.end)
			done(i, false)
			return
		case b == '\\' && (!l.raw || s.language == Python):
			next := byte(0)
			if i+1 < len(s.src) {
				next = s.src[i+1]
			}
			switch {
			case l.holes && s.language == Python && !l.raw && next == 'N' && strings.HasPrefix(s.src[i+2:], "{"):
				if end := strings.IndexAny(s.src[i:], "}\n"); end > 0 {
					i += end
				}
			case l.holes && s.language == Python && (next == '{' || next == '}'):
			default:
				i++
			}
		case b == '\n' && !s.lines(l):
			s.faulty(line, "a text is not closed")
			s.pos = i
			done(i, false)
			return
		case l.holes && s.script() && b == '$' && strings.HasPrefix(s.src[i:], "${"):
			s.pos = i + 2
			done(i, true)
			s.begin(l, quote, i)
			return
		case l.holes && s.language == Python && (b == '{' || b == '}') && strings.HasPrefix(s.src[i+1:], string(b)):
			i++
		case l.holes && s.language == Python && b == '{':
			s.pos = i + 1
			done(i, true)
			s.begin(l, quote, i)
			return
		}
	}
	s.pos = len(s.src)
	s.open = "line " + strconv.Itoa(line) + ": a text is not closed"
	done(len(s.src), false)
}

// begin begins an embedded expression.
func (s *scanner) begin(l start, quote string, at int) {
	s.holes = append(s.holes, hole{literal: l, quote: quote})
	s.toks = append(s.toks, token{kind: mark, text: "${", start: at, end: s.pos, line: s.line, last: s.line})
	if len(s.holes) > maxDepth {
		s.faulty(s.line, "literals inside one another")
		s.pos = len(s.src)
	}
}

// inHole reads what ends an embedded expression, and reports whether it has read anything.
func (s *scanner) inHole(h *hole, b byte) bool {
	if h.spec {
		return s.spec(h)
	}
	switch b {
	case '(', '[', '{':
		h.depth++
	case ')', ']', '}':
		if h.depth > 0 {
			h.depth--
			return false
		}
		if b != '}' {
			return false
		}
		s.endHole(h)
		return true
	case ':':
		if s.language == Python && h.depth == 0 {
			s.pos++
			h.spec = true
			return true
		}
	}
	return false
}

// spec reads the format behind an embedded expression of Python.
func (s *scanner) spec(h *hole) bool {
	for i := s.pos; i < len(s.src); i++ {
		switch s.src[i] {
		case '{':
			s.skip(i + 1)
			s.holes = append(s.holes, hole{literal: h.literal, quote: ""})
			s.toks = append(s.toks, token{kind: mark, text: "${", start: i, end: i + 1, line: s.line, last: s.line})
			return true
		case '}':
			s.skip(i)
			s.endHole(h)
			return true
		case '\n':
			if !s.lines(h.literal) {
				s.faulty(s.line, "a text is not closed")
				s.skip(i)
				s.holes = s.holes[:len(s.holes)-1]
				return true
			}
		}
	}
	s.skip(len(s.src))
	return true
}

// endHole ends an embedded expression and goes on with its literal, or with the format of the one around it.
func (s *scanner) endHole(h *hole) {
	from := s.pos
	s.pos++
	s.emit(mark, "}", from, s.line)
	l, quote := h.literal, h.quote
	s.holes = s.holes[:len(s.holes)-1]
	if quote == "" { // within a format
		return
	}
	s.rest(l, quote, s.pos, s.line, true)
}

// value returns the text of a literal with its escapes resolved, as far as they are usual ones.
func (t *token) value() string {
	if !strings.Contains(t.text, `\`) || strings.HasPrefix(t.quote, "r") || strings.HasPrefix(t.quote, "br") || strings.HasPrefix(t.quote, "rb") {
		return t.text
	}
	var b strings.Builder
	s := t.text
	for s != "" {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 == len(s) {
			break
		}
		b.WriteString(s[:i])
		c := s[i+1]
		s = s[i+2:]
		switch c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case '\n':
		case 'x':
			s = hexRune(&b, s, 2)
		case 'U':
			s = hexRune(&b, s, 8)
		case 'u':
			if inner, ok := strings.CutPrefix(s, "{"); ok {
				if end := strings.IndexByte(inner, '}'); end > 0 && end <= 8 {
					hexRune(&b, inner[:end], end)
					s = inner[end+1:]
					continue
				}
			}
			s = hexRune(&b, s, 4)
		case '0', '1', '2', '3', '4', '5', '6', '7':
			n := int(c - '0')
			for k := 0; k < 2 && s != "" && s[0] >= '0' && s[0] <= '7'; k++ {
				n, s = n*8+int(s[0]-'0'), s[1:]
			}
			b.WriteRune(rune(n))
		default:
			b.WriteByte(c)
		}
	}
	b.WriteString(s)
	return b.String()
}

// hexRune writes the character that the first n digits give, and returns the rest.
func hexRune(b *strings.Builder, s string, n int) string {
	if len(s) < n {
		return s
	}
	code, err := strconv.ParseUint(s[:n], 16, 32)
	if err != nil || code > utf8.MaxRune {
		return s
	}
	b.WriteRune(rune(code))
	return s[n:]
}

// javaEscapes resolves the escapes of characters that Java resolves before all else, also in comments.
func javaEscapes(src string) (string, string) {
	if !strings.Contains(src, `\u`) {
		return src, ""
	}
	var b strings.Builder
	for i := 0; i < len(src); i++ {
		if src[i] != '\\' || i+1 == len(src) {
			b.WriteByte(src[i])
			continue
		}
		if src[i+1] != 'u' {
			b.WriteString(src[i : i+2])
			i++
			continue
		}
		at := i + 1
		for at < len(src) && src[at] == 'u' {
			at++
		}
		code, err := strconv.ParseUint(src[at:min(at+4, len(src))], 16, 32)
		if err != nil || at+4 > len(src) {
			return "", "it has an escape that is none"
		}
		if code == '\n' || code == '\r' || code == '\\' {
			return "", "it writes the end of a line or a backslash as an escape"
		}
		b.WriteRune(rune(code))
		i = at + 3
	}
	return b.String(), ""
}
