package shell

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// substitute is an s command of sed.
type substitute struct {
	first, last int // lines; 0 and 0 for all, -1 for the last line
	expression  *regexp.Regexp
	nth         int // which match to replace first, from 1
	global      bool
	with        []piece
	ascii       bool // it is only followed in ASCII texts
}

// piece is a part of a replacement: a text, or the match of a group (0 for the whole).
type piece struct {
	text  string
	group int
}

// sed follows s commands with addresses that are line numbers, with -i or without.
func (t editor) sed(args []string) {
	t.last = unsureStatus
	t.gnu("sed")
	inPlace, quiet, extended := false, false, false
	var scripts, operands []string
	sure := true
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "-i" || a == "--in-place":
			inPlace = true
		case a == "-n":
			quiet = true
		case a == "-E" || a == "-r" || a == "--regexp-extended":
			extended = true
		case (a == "-e" || a == "--expression") && i+1 < len(args):
			i++
			scripts = append(scripts, args[i])
		case a == "-Ei" || a == "-ri" || a == "-ni" || a == "-nE" || a == "-nr":
			inPlace, quiet, extended = inPlace || strings.Contains(a, "i"), quiet || strings.Contains(a, "n"), extended || strings.ContainsAny(a, "Er")
		case a == "-ie" || len(a) > 1 && a[0] == '-':
			t.unsure("the option %s of sed is not followed", a)
			inPlace = inPlace || strings.HasPrefix(a, "-i")
			sure = false
		default:
			operands = append(operands, a)
		}
	}
	if len(scripts) == 0 && len(operands) > 0 {
		scripts, operands = operands[:1], operands[1:]
	}
	if quiet && !inPlace && len(scripts) == 1 && printing.MatchString(scripts[0]) {
		t.readsFiles(operands)
		t.output("", false)
		return
	}
	commands, ok := parseSed(strings.Join(scripts, "\n"), extended)
	if !ok || quiet || len(scripts) == 0 {
		t.unsure("the program of sed is not followed: %s", strings.Join(scripts, "; "))
		t.output("", false)
		return
	}
	if inPlace {
		t.sedInPlace(commands, operands, sure)
		return
	}
	t.sedOutput(commands, operands)
}

// printing matches programs of sed -n that print lines.
var printing = regexp.MustCompile(`^([0-9]+|\$)(,([0-9]+|\$))?p$`)

func (t editor) sedInPlace(commands []substitute, operands []string, sure bool) {
	if len(operands) == 0 {
		t.fails("sed", "-i", nil)
		return
	}
	t.last = succeeded
	for _, name := range operands {
		if link, n, err := t.tree.resolve(t.absolute(name), false); err == nil && n != nil && n.kind == Link {
			t.unsure("sed -i replaces the link %s by a file", link)
		}
		_, n, err := t.tree.resolve(t.absolute(name), true)
		if err != nil || n == nil {
			t.fails("sed", name, err)
			return
		}
		real, n, err := t.tree.file(t.absolute(name))
		if err == nil {
			err = t.tree.parent(real)
		}
		if err != nil {
			t.fails("sed", name, err)
			return
		}
		for _, s := range t.fds {
			if s.node == n {
				t.unsure("sed replaces a file that is open")
			}
		}
		text, ok := edited(commands, n.text)
		if !ok {
			t.fails("sed", name, nil)
		}
		t.tree.put(real, n, text)
		n.guess = n.guess || !sure || !ok
		t.done(real)
	}
}

func (t editor) sedOutput(commands []substitute, operands []string) {
	text, known := "", true
	t.last = succeeded
	if len(operands) == 0 {
		text, known = t.input()
	}
	if len(operands) > 1 {
		t.unsure("sed with several files is not followed")
	}
	for _, name := range operands {
		real, n, err := t.tree.resolve(t.absolute(name), true)
		if err != nil || n == nil || n.kind != Regular || t.tree.load(real, n) != nil || name == "-" {
			t.fails("sed", name, err)
			return
		}
		if out := t.fds[1]; out != nil && out.node == n {
			t.unsure("sed reads the file that it writes")
		}
		text, known = text+n.text, known && !n.guess
		t.done(real)
	}
	text, ok := edited(commands, text)
	last := t.last
	t.output(text, known && ok)
	t.last = last
}

// edited returns a text after commands; false if programs of sed may return another.
func edited(commands []substitute, text string) (string, bool) {
	if text == "" {
		return "", true
	}
	ok := strings.IndexByte(text, 0) < 0 && (isASCII(text) || !slices.ContainsFunc(commands, func(s substitute) bool { return s.ascii }))
	body, end := strings.CutSuffix(text, "\n")
	lines := strings.Split(body, "\n")
	total := 0
	for i, line := range lines {
		for _, c := range commands {
			if c.applies(i+1, i == len(lines)-1) {
				line = c.replace(line)
			}
			if len(line) > maxText {
				return text, false
			}
		}
		lines[i] = line
		if total += len(line); total > maxFileBytes {
			return text, false
		}
	}
	result := strings.Join(lines, "\n")
	if end {
		result += "\n"
	}
	return result, ok
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

func (s *substitute) applies(line int, last bool) bool {
	switch {
	case s.first == 0:
		return true
	case s.first == -1:
		return last
	case s.last == -1:
		return line >= s.first
	case s.last < s.first:
		return line == s.first
	}
	return line >= s.first && line <= s.last
}

func (s *substitute) replace(line string) string {
	matches := s.expression.FindAllStringSubmatchIndex(line, -1)
	var b strings.Builder
	at := 0
	for i, m := range matches {
		if i+1 < s.nth || !s.global && i+1 > s.nth {
			continue
		}
		b.WriteString(line[at:m[0]])
		for _, p := range s.with {
			switch {
			case p.group < 0:
				b.WriteString(p.text)
			case m[2*p.group] >= 0:
				b.WriteString(line[m[2*p.group]:m[2*p.group+1]])
			}
		}
		at = m[1]
	}
	return b.String() + line[at:]
}

// sedAddress matches the lines of a command.
var sedAddress = regexp.MustCompile(`^([0-9]+|\$)(,([0-9]+|\$))?[ \t]*`)

// parseSed reads the s commands of a program; false for anything else.
func parseSed(text string, extended bool) (list []substitute, ok bool) {
	for text = strings.TrimLeft(text, " \t\n;"); text != ""; text = strings.TrimLeft(text, " \t\n;") {
		var s substitute
		if m := sedAddress.FindStringSubmatch(text); m != nil {
			s.first, s.last = sedLine(m[1]), sedLine(m[1])
			if m[3] != "" {
				s.last = sedLine(m[3])
			}
			if s.first == 0 || s.last == 0 || s.first == -1 && m[3] != "" {
				return nil, false
			}
			text = text[len(m[0]):]
		}
		if len(text) < 2 || text[0] != 's' || strings.ContainsRune("\\\n \t", rune(text[1])) || text[1] >= 0x80 {
			return nil, false
		}
		delimiter := text[1]
		expression, rest, fine := sedPart(text[2:], delimiter)
		if !fine {
			return nil, false
		}
		with, rest, fine := sedPart(rest, delimiter)
		if !fine {
			return nil, false
		}
		end := strings.IndexAny(rest, "\n; }")
		if end < 0 {
			end = len(rest)
		}
		s.nth = 1
		flags := rest[:end]
		text = rest[end:]
		if global, ok := strings.CutSuffix(flags, "g"); ok {
			s.global, flags = true, global
		}
		if flags != "" {
			n, err := strconv.Atoi(flags)
			if err != nil || n < 1 || n > 100 {
				return nil, false
			}
			s.nth = n
		}
		var groups int
		if s.expression, s.ascii, groups, fine = sedExpression(expression, extended); !fine {
			return nil, false
		}
		if s.nth > 1 && s.expression.MatchString("") {
			return nil, false
		}
		if s.with, fine = sedReplacement(with, groups); !fine || len(list) > 50 {
			return nil, false
		}
		list = append(list, s)
	}
	return list, len(list) > 0
}

func sedLine(text string) int {
	if text == "$" {
		return -1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n > 1<<30 {
		return 0
	}
	return n
}

// sedPart returns the text up to a delimiter that no backslash precedes.
func sedPart(text string, delimiter byte) (part, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == delimiter:
			if strings.IndexByte(`.*[]^$+?(){}|&123456789nt`, delimiter) >= 0 {
				return "", "", false // it is special as well
			}
			b.WriteByte(delimiter)
			i++
		case text[i] == '\\' && i+1 < len(text):
			b.WriteString(text[i : i+2])
			i++
		case text[i] == delimiter:
			return b.String(), text[i+1:], true
		case text[i] == '[' && delimiter != '/':
			return "", "", false // a delimiter in brackets counts or does not
		case text[i] == '\n':
			return "", "", false
		default:
			b.WriteByte(text[i])
		}
	}
	return "", "", false
}

// sedExpression translates a regular expression of POSIX; false for what is not certain to mean the same.
func sedExpression(text string, extended bool) (compiled *regexp.Regexp, ascii bool, groups int, ok bool) {
	var b strings.Builder
	if text == "" {
		return nil, false, 0, false
	}
	atom, open := false, 0 // something precedes that * may repeat
	empty := false         // a group has just begun
	for i := 0; i < len(text); i++ {
		c := text[i]
		escapedChar := c == '\\'
		if escapedChar {
			if i++; i == len(text) {
				return nil, false, 0, false
			}
			c = text[i]
		}
		special := escapedChar != extended // the character has its meaning in this form of expressions
		begins := empty
		empty = false
		switch {
		case c == '(' && special:
			b.WriteByte('(')
			groups++
			open++
			atom, empty = false, true
		case c == ')' && special:
			if open == 0 || begins {
				return nil, false, 0, false
			}
			b.WriteByte(')')
			open--
			atom = false
			if next := text[i+1:]; strings.HasPrefix(next, "*") || strings.HasPrefix(next, `\{`) || strings.HasPrefix(next, `\+`) || strings.HasPrefix(next, `\?`) || extended && next != "" && strings.ContainsRune("+?{", rune(next[0])) {
				return nil, false, 0, false // which repetition a group holds differs
			}
		case strings.IndexByte("+?", c) >= 0 && special:
			if !atom {
				return nil, false, 0, false
			}
			b.WriteByte(c)
			ascii, atom = true, false
		case strings.IndexByte("{}|", c) >= 0 && special, escapedChar && strings.IndexByte(`.*[]^$/\+?(){}|-"'`, c) < 0:
			return nil, false, 0, false
		case escapedChar:
			b.WriteString(regexp.QuoteMeta(string(c)))
			atom = true
		case c == '*':
			if !atom {
				return nil, false, 0, false
			}
			b.WriteByte('*')
			ascii, atom = true, false
		case c == '.':
			b.WriteByte('.')
			ascii, atom = true, true
		case c == '^':
			if i != 0 {
				return nil, false, 0, false
			}
			b.WriteByte('^')
		case c == '$':
			if i != len(text)-1 {
				return nil, false, 0, false
			}
			b.WriteByte('$')
		case c == '[':
			n, fine := sedBracket(&b, text[i:])
			if !fine {
				return nil, false, 0, false
			}
			i += n - 1
			ascii, atom = true, true
		case c >= 0x80:
			return nil, false, 0, false
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
			atom = true
		}
	}
	if open > 0 {
		return nil, false, 0, false
	}
	parsed, err := syntax.Parse(b.String(), syntax.POSIX)
	if err != nil || parsed.MaxCap() != groups {
		return nil, false, 0, false
	}
	compiled, err = regexp.CompilePOSIX(b.String())
	return compiled, ascii, groups, err == nil
}

// sedBracket translates [...] with letters, digits and some signs in it, and returns its length.
func sedBracket(b *strings.Builder, text string) (int, bool) {
	end := strings.IndexByte(text, ']')
	if end < 2 {
		return 0, false
	}
	inner := text[1:end]
	set, not := strings.CutPrefix(inner, "^")
	if set == "" {
		return 0, false
	}
	for i := range len(set) {
		c := set[i]
		plain := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte(` _"'=,;:()<>/.+*#@!%&`, c) >= 0
		ranged := c == '-' && i > 0 && i < len(set)-1 && slices.Contains([]string{"0-9", "a-z", "A-Z"}, set[i-1:i+2])
		if !plain && !ranged {
			return 0, false
		}
	}
	b.WriteByte('[')
	if not {
		b.WriteByte('^')
	}
	b.WriteString(set + "]")
	return end + 1, true
}

// sedReplacement reads a replacement.
func sedReplacement(text string, groups int) (list []piece, ok bool) {
	add := func(s string) { list = append(list, piece{s, -1}) }
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '&':
			list = append(list, piece{group: 0})
		case c != '\\':
			add(string([]byte{c}))
		case i+1 == len(text):
			return nil, false
		default:
			i++
			switch c := text[i]; {
			case c >= '1' && c <= '9':
				if int(c-'0') > groups {
					return nil, false
				}
				list = append(list, piece{group: int(c - '0')})
			case c == 'n':
				add("\n")
			case c == 't':
				add("\t")
			case strings.IndexByte(`&\/.*[]()"'$^-+?|{}`, c) >= 0:
				add(string([]byte{c}))
			default:
				return nil, false
			}
		}
	}
	return list, true
}
