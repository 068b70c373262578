package judge

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tenet/internal/llm"
	"tenet/internal/text"
)

// A masked view shows a subject without the words in which its author could speak to a reader. In code, comments and strings
// become x of the same length; so do long names, names with letters other than ASCII, and bare words in a row, which form prose
// wherever a hunk begins. Short words in strings stay, such as "md5" and "/tmp", but not four words in a row. Rules may be about
// the words of prose, actions and facts, so these stay, each line or field as a quoted string with marks in place of blanks. The
// author's claim is left out.

// syntax holds the marks of comments and strings in a language.
type syntax struct {
	comments string // openers of comments up to the end of the line
	blocks   [][2]string
	quotes   string
	long     bool // strings in three quotes
}

var (
	slashes = &syntax{comments: "//", blocks: [][2]string{{"/*", "*/"}}, quotes: "\"'`"}
	hashes  = &syntax{comments: "#", quotes: "\"'", long: true}
	dashes  = &syntax{comments: "--", blocks: [][2]string{{"/*", "*/"}}, quotes: "\"'`"}

	syntaxes = map[*syntax]string{
		slashes: ".go .js .mjs .cjs .jsx .ts .mts .cts .tsx .java .c .h .cc .cpp .cxx .hpp .hh .cs .rs .kt .kts .swift .scala .dart .proto .groovy .gradle .m .mm .zig .v .sol .css .scss .less .json .jsonc .json5",
		hashes:  ".py .pyi .rb .yaml .yml .toml .r .pl .pm .ex .exs .nix .jl .cr .conf .graphql",
		dashes:  ".sql .lua .hs .elm .ada",
		{comments: "# //", blocks: [][2]string{{"/*", "*/"}}, quotes: "\"'`"}: ".php .tf .hcl",
	}
	syntaxByExt = func() map[string]*syntax {
		m := map[string]*syntax{}
		for s, list := range syntaxes {
			for ext := range strings.FieldsSeq(list) {
				m[ext] = s
			}
		}
		return m
	}()
)

// syntaxOf returns the syntax of a file by its name; nil for prose, commands and what nobody here can read.
func syntaxOf(name string) *syntax { return syntaxByExt[strings.ToLower(path.Ext(name))] }

// keywords are words of languages that may be next to one another without being prose.
var keywords = wordSet("abstract alias and as async await begin bool boolean break by byte case catch chan char class const constexpr continue create crate debugger declare def default defer del delete do " +
	"double elif else elsif end ensure enum export extends extern false final finally float fn for from func function get go goto group if impl implements import in index inline insert instanceof int int32 " +
	"int64 integer interface into internal is join key lambda let limit local long loop match mod module mut namespace native new nil none not null on operator or order override package pass primary " +
	"private protected protocol pub public raise range readonly rescue return returns sealed select self set short signed sizeof static string struct super switch synchronized table template then this throw throws " +
	"trait transient true try type typedef typename typeof uint uint32 uint64 uint8 union unless unsafe unsigned unique update use using val values var virtual void volatile when where while with yield")

// Limits of words that a masked view shows.
const (
	maxNameWords   = 3  // of a name or a short string
	maxNameLetters = 40 // bytes of either
	maxBareWords   = 2  // side by side, with nothing but blanks between; in all, where keywords are among them and two are neighbors
	maxRun         = 5  // the same, keywords included
	maxStringRun   = 3  // strings of one word each, with no name between
	minTextWords   = 3  // of a text that may say something to a reader
)

// masker masks the lines of one file and gathers the texts in them.
type masker struct {
	syntax *syntax
	names  map[string]string // neutral names by masked name
	texts  []string
}

// code masks source text, which may begin and end anywhere, and returns it with as many lines.
func (m *masker) code(src string) string {
	out := []byte(src)
	var run []stretch // bare words side by side
	bare, most, words := 0, 0, 0
	var strs []stretch // strings of one word
	flush := func() {
		if most > maxBareWords || most > 1 && words > maxBareWords || len(run) > maxRun {
			m.note(src[run[0].from:run[len(run)-1].to])
			for _, s := range run {
				neutral(out[s.from:s.to])
			}
		}
		run, bare, most, words = run[:0], 0, 0, 0
	}
	flushStrings := func() {
		if len(strs) > maxStringRun {
			m.note(src[strs[0].from:strs[len(strs)-1].to])
			for _, s := range strs {
				neutral(out[s.from:s.to])
			}
		}
		strs = strs[:0]
	}
	comment := -1 // where adjoining comments began
	last := 0
	endComment := func() {
		if comment >= 0 {
			m.note(src[comment:last])
		}
		comment = -1
	}
	for at := 0; at < len(src); {
		c := src[at]
		if n := m.comment(src[at:]); n > 0 {
			flush()
			if comment < 0 {
				comment = at
			}
			neutral(out[at : at+n])
			at += n
			last = at
			continue
		}
		switch {
		case c == ' ' || c == '\t':
			at++
			continue
		case c == '\n':
			flush()
			at++
			continue
		case strings.IndexByte(m.syntax.quotes, c) >= 0:
			endComment()
			flush()
			from, to, end := m.quoted(src, at)
			if from < 0 { // a quote that nothing closes on its line, such as a lifetime
				at++
				continue
			}
			if body := src[from:to]; !short(body) {
				flushStrings()
				m.note(body)
				neutral(out[from:to])
			} else if plainWord(body) {
				strs = append(strs, stretch{from, to})
			}
			at = end
		case nameStart(src[at:]):
			endComment()
			flushStrings()
			n := nameLen(src[at:])
			name := src[at : at+n]
			switch {
			case !short(name):
				flush()
				m.note(name)
				copy(out[at:], m.rename(name))
			default:
				run = append(run, stretch{at, at + n})
				if bare, words = bare+1, words+1; keywords[strings.ToLower(name)] || !hasLetter(name) {
					bare, words = 0, words-1
				}
				most = max(most, bare)
			}
			at += n
		default:
			endComment()
			flush()
			_, n := utf8.DecodeRuneInString(src[at:])
			at += n
		}
	}
	endComment()
	flush()
	flushStrings()
	return string(out)
}

// stretch is a piece of a text.
type stretch struct{ from, to int }

// comment returns the length of the comment that src begins with, up to the end of the text if nothing ends it; 0 if it begins
// with none.
func (m *masker) comment(src string) int {
	for opener := range strings.FieldsSeq(m.syntax.comments) {
		if strings.HasPrefix(src, opener) {
			if n := strings.IndexByte(src, '\n'); n >= 0 {
				return n
			}
			return len(src)
		}
	}
	for _, b := range m.syntax.blocks {
		if strings.HasPrefix(src, b[0]) {
			if n := strings.Index(src[len(b[0]):], b[1]); n >= 0 {
				return len(b[0]) + n + len(b[1])
			}
			return len(src)
		}
	}
	return 0
}

// quoted returns the bounds of the string that begins at a quote, and where the text goes on. from is -1 if it is none.
func (m *masker) quoted(src string, at int) (from, to, end int) {
	q := src[at : at+1]
	lines := q == "`"
	if three := strings.Repeat(q, 3); m.syntax.long && strings.HasPrefix(src[at:], three) {
		q, lines = three, true
	}
	for i := at + len(q); i < len(src); i++ {
		switch {
		case src[i] == '\\' && q != "`":
			i++
		case strings.HasPrefix(src[i:], q):
			return at + len(q), i, i + len(q)
		case src[i] == '\n' && !lines:
			if q == `"` {
				return at + 1, i, i
			}
			return -1, 0, 0
		}
	}
	if q == "'" {
		return -1, 0, 0
	}
	return min(at+len(q), len(src)), len(src), len(src)
}

// rename returns the neutral name for a name: the same for the same name, and as long.
func (m *masker) rename(name string) string {
	if m.names == nil {
		m.names = map[string]string{}
	}
	if m.names[name] == "" {
		n := fmt.Sprintf("x%d", len(m.names)+1)
		m.names[name] = text.Clip(n+strings.Repeat("x", max(0, len(name)-len(n))), len(name), "")
	}
	return m.names[name]
}

// note keeps a text that may say something to a reader.
func (m *masker) note(s string) {
	if saysSomething(s) {
		m.texts = append(m.texts, text.OneLine(s))
	}
}

// saysSomething reports whether a text has several words, or letters of a script that has no blanks between them.
func saysSomething(s string) bool { return nameWords(s) >= minTextWords || !ascii(s) }

// neutral replaces letters by x, and every byte of others.
func neutral(b []byte) {
	for i, c := range b {
		if c >= utf8.RuneSelf || 'a' <= c|0x20 && c|0x20 <= 'z' {
			b[i] = 'x'
		}
	}
}

// short reports whether a masked view may show a name or the text of a string.
func short(s string) bool {
	return len(s) <= maxNameLetters && ascii(s) && !strings.ContainsAny(s, " \t\\") && nameWords(s) <= maxNameWords
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// plainWord reports whether a text is letters alone.
func plainWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
}

func hasLetter(s string) bool { return strings.ContainsFunc(s, unicode.IsLetter) }

// nameWords counts the words of at least two letters in a text, by case and by everything that is no letter.
func nameWords(s string) int {
	n, letters := 0, 0
	var before rune
	end := func() {
		if letters > 1 {
			n++
		}
		letters = 0
	}
	for _, r := range s {
		switch {
		case !unicode.IsLetter(r):
			end()
		case unicode.IsUpper(r) && unicode.IsLower(before):
			end()
			letters = 1
		default:
			letters++
		}
		before = r
	}
	end()
	return n
}

func nameStart(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r)
}

func nameLen(s string) int {
	for i, r := range s {
		if r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.M, r) {
			return i
		}
	}
	return len(s)
}

// masked returns the text of a unit in a masked view, and the texts in it.
func (u *unit) masked(mark string) (view string, texts []string) {
	if u.file < 0 {
		return u.maskedCore(mark)
	}
	lines := strings.SplitAfter(u.text, "\n")
	m := &masker{syntax: syntaxOf(u.label)}
	if m.syntax == nil {
		return u.maskedProse(lines, mark)
	}
	if head, section, ok := strings.Cut(strings.TrimSuffix(lines[0], "\n"), " "); ok {
		lines[0] = head + " " + m.section(section) + "\n"
	}
	var which [2][]int // lines of the new file, and removed ones
	for i, line := range lines {
		if bar := strings.Index(line, "| "); i > 0 && bar >= 0 && bar+2 < len(line) {
			k := 0
			if line[bar+2] == '-' {
				k = 1
			}
			which[k] = append(which[k], i)
		}
	}
	for _, list := range which {
		var b strings.Builder
		for _, i := range list {
			b.WriteString(content(lines[i]))
		}
		masked := strings.SplitAfter(m.code(b.String()), "\n")
		for n, i := range list {
			lines[i] = lines[i][:len(lines[i])-len(content(lines[i]))] + masked[n]
		}
	}
	return strings.Join(lines, ""), m.texts
}

// section masks what a diff says that a hunk is in: all of it, unless it reads like the beginning of a function or a type.
func (m *masker) section(s string) string {
	masked := m.code(s)
	if masked == s && (strings.ContainsAny(s, "({=:;") || len(strings.Fields(s)) <= maxBareWords) {
		return s
	}
	if masked == s {
		m.note(s)
	}
	b := []byte(s)
	neutral(b)
	return string(b)
}

// content returns a rendered line behind its number, bar and sign.
func content(line string) string { return line[strings.Index(line, "| ")+3:] }

// maskedProse quotes each line.
func (u *unit) maskedProse(lines []string, mark string) (string, []string) {
	var texts []string
	for i, line := range lines {
		bar := strings.Index(line, "| ")
		if i == 0 || bar < 0 || bar+2 >= len(line) {
			if rest, ok := strings.CutPrefix(line, "@@ "); ok && i == 0 {
				texts = append(texts, strings.TrimSpace(rest))
				lines[i] = "@@ " + marked(rest, mark)
			}
			continue
		}
		s := strings.TrimSuffix(content(line), "\n")
		texts = append(texts, s)
		lines[i] = line[:bar+3] + marked(llm.JSON(s), mark) + "\n"
	}
	return strings.Join(lines, ""), slices.DeleteFunc(texts, func(s string) bool { return !saysSomething(s) })
}

// maskedCore quotes facts and actions, and leaves a claim out.
func (u *unit) maskedCore(mark string) (string, []string) {
	lines := strings.SplitAfter(u.text, "\n")
	var texts []string
	for i, line := range lines[1:] {
		s := strings.TrimSpace(strings.TrimPrefix(line, "| "))
		texts = append(texts, s)
		switch lead := line[:len(line)-len(strings.TrimLeft(line, " "))]; u.label {
		case "action":
			lines[i+1] = marked(llm.JSON(s), mark) + "\n"
		case "intent":
			lines[i+1] = ""
		default: // facts are JSON, a field on a line
			name, value, ok := strings.Cut(strings.TrimLeft(line, " "), `": `)
			if ok {
				name += `": `
			} else {
				name, value = "", name
			}
			lines[i+1] = lead + marked(strings.TrimSuffix(name, " "), mark) + name[len(strings.TrimSuffix(name, " ")):] + marked(strings.TrimRight(value, "\n"), mark)
			if strings.HasSuffix(line, "\n") {
				lines[i+1] += "\n"
			}
		}
	}
	return strings.Join(lines, ""), slices.DeleteFunc(texts, func(s string) bool { return !saysSomething(s) })
}

// maskedPath masks the parts of a path that have more words than a name.
func maskedPath(name string) string {
	parts := strings.Split(visible(name), "/")
	for i, p := range parts {
		if ext := path.Ext(p); !short(p) {
			b := []byte(p)
			if short(ext) {
				b = b[:len(p)-len(ext)]
			} else {
				ext = ""
			}
			neutral(b)
			parts[i] = strings.ReplaceAll(string(b), " ", "x") + ext
		}
	}
	return strings.Join(parts, "/")
}
