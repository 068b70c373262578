package comment

import (
	"regexp"
	"strings"
)

// remark is a comment: the lines that follow each other, without their marks.
type remark struct {
	text  string // with the line ends of the source
	line  int    // the first, from 1
	about string // the name of what it is before or behind; empty if that is not known
}

// maxRemark bounds a comment, in bytes; what is longer is an essay, or code that was switched off.
const maxRemark = 16 << 10

// collector puts comments together, line by line.
type collector struct {
	lines []string
	out   []remark
	text  strings.Builder
	first int // the first line of the open comment; 0 without one
	last  int
	doc   string // what ends the documentation that is open
	raw   bool   // in a string in backquotes
	deep  int    // bytes of its indentation
	args  bool   // among parameters
	about string // what the open documentation is about
}

// remarks returns the comments of a file.
func remarks(lines []string, s style) []remark {
	c := &collector{lines: lines}
	for i, line := range lines {
		c.read(i+1, strings.TrimRight(line, "\r"), s)
	}
	c.close("")
	return c.out
}

// read reads a line.
func (c *collector) read(n int, line string, s style) {
	trimmed := strings.TrimLeft(line, " \t")
	switch {
	case c.doc != "":
		body, _, ended := strings.Cut(line[min(c.deep, len(line)-len(trimmed)):], c.doc)
		if bare := strings.TrimLeft(body, " "); c.doc == "*/" && strings.HasPrefix(bare, "*") {
			body = strings.TrimPrefix(bare[1:], " ")
		}
		c.add(n, body)
		if ended {
			c.doc = ""
			if s.block {
				return
			}
			c.close(c.about) // documentation is behind the name
		}
	case c.raw:
		c.raw = strings.Count(line, "`")%2 == 0
	case strings.HasPrefix(trimmed, s.line):
		if c.first > 0 && n != c.last+1 {
			c.close("")
		}
		c.add(n, strings.TrimPrefix(strings.TrimLeft(trimmed[len(s.line):], "/!#"), " "))
	case s.block && strings.HasPrefix(trimmed, "/*"):
		c.close("")
		body, _, ended := strings.Cut(trimmed[2:], "*/")
		c.add(n, strings.TrimLeft(body, "*! "))
		if !ended {
			c.doc, c.deep = "*/", len(line)-len(trimmed)
		}
	case s.doc && c.opens(n, trimmed):
	case trimmed == "":
		c.close("")
	default:
		c.code(n, line, trimmed, s)
	}
}

// opens reads documentation in three quotes, whose name is on the line before.
func (c *collector) opens(n int, trimmed string) bool {
	bare := strings.TrimLeft(trimmed, "rRuUbB")
	for _, quotes := range []string{`"""`, "'''"} {
		rest, ok := strings.CutPrefix(bare, quotes)
		if !ok || len(trimmed)-len(bare) > 1 {
			continue
		}
		c.close("")
		c.about = ""
		for k := n - 2; k >= 0 && k > n-12; k-- {
			if name := nameOf(c.lines[k]); name != "" {
				c.about = name
				break
			}
		}
		body, _, ended := strings.Cut(rest, quotes)
		c.add(n, body)
		if ended {
			c.close(c.about)
		} else {
			c.doc, c.deep = quotes, len(c.lines[n-1])-len(strings.TrimLeft(c.lines[n-1], " \t"))
		}
		return true
	}
	return false
}

// code reads a line that is no comment alone: the comment before it is about it, and it may end in one.
func (c *collector) code(n int, line, trimmed string, s style) {
	if strings.HasPrefix(trimmed, "@") || strings.HasPrefix(trimmed, "#[") || strings.HasPrefix(trimmed, "[") { // of what follows
		return
	}
	name := nameOf(trimmed)
	c.close(name)
	if at := strings.LastIndex(line, " "+s.line+" "); at > 0 {
		before := line[:at]
		if strings.Count(before, `"`)%2 == 0 && strings.Count(before, "`")%2 == 0 && strings.Count(before, "'")%2 == 0 {
			c.add(n, line[at+len(s.line)+2:])
			c.close(name)
			return
		}
	}
	if s.raw && strings.Count(line, "`")%2 == 1 {
		c.raw = true
	}
}

// skipped are lines of comments that are for programs, name parameters, or note what is left to do.
var skipped = regexp.MustCompile(`^(?:[@:\\]|TODO|FIXME|XXX|HACK|nolint|eslint|prettier|noqa|pylint|type:|go:|\+build|lint:|region|endregion|#|=+$|-+$|\*+$|>>>|\$ |Example|Output:|Deprecated:)`)

// add adds a line to the open comment. Its position in the text is that in the file.
func (c *collector) add(n int, body string) {
	if c.first == 0 {
		c.first = n
	} else {
		c.text.WriteByte('\n')
	}
	c.last = n
	switch bare := strings.TrimSpace(body); {
	case bare == "":
		c.args = false
	case arguments.MatchString(bare):
		c.args = true
	}
	if c.args {
		return
	}
	if deep := len(body) - len(strings.TrimLeft(body, " \t")); deep >= 4 || skipped.MatchString(strings.TrimLeft(body, " \t")) { // code, or a mark
		return
	}
	if c.text.Len() < maxRemark {
		c.text.WriteString(strings.TrimRight(body, " \t"))
	}
}

// arguments begin the part of a documentation that names parameters and results.
var arguments = regexp.MustCompile(`^(?:Args|Arguments|Parameters|Params|Returns?|Raises|Yields|Attributes|Keyword Args|Examples?|Usage|Throws|Fields|Inputs?|Outputs?):?$`)

// notice is the wording of a notice of copyright.
var notice = regexp.MustCompile(`(?i)copyright|licen[sc]e|warrant|redistribut`)

// close ends the open comment, which is about a name.
func (c *collector) close(about string) {
	if c.first == 0 {
		return
	}
	s := c.text.String()
	if strings.TrimSpace(s) != "" && !notice.MatchString(s[:min(len(s), 2000)]) {
		c.out = append(c.out, remark{text: s, line: c.first, about: about})
	}
	c.text.Reset()
	c.first, c.args = 0, false
}

// names find what a line of code declares.
var (
	declared  = regexp.MustCompile(`^\s*(?:(?:export|default|public|private|protected|internal|static|final|async|abstract|override|pub(?:\([a-z]+\))?|unsafe|extern|inline|virtual|open|data|sealed|suspend)\s+)*(?:func(?:\s+\([^)]*\))?|type|def|class|function\*?|interface|const|let|var|val|fn|fun|struct|enum|trait|object|record|module|package)\s+([A-Za-z_][A-Za-z0-9_]*)`)
	typedName = regexp.MustCompile(`^\s*(?:[a-z]+\s+)*[A-Z][A-Za-z0-9_]*(?:<[^>]*>)?\s+([A-Za-z_][A-Za-z0-9_]*)\s*(?:;|=[^=])`)
	field     = regexp.MustCompile(`^\s*(?:(?:public|private|protected|readonly|static|final|pub)\s+)*([A-Za-z_][A-Za-z0-9_]*)\s*(?::|=|[A-Za-z*\[])`)
)

// nameOf returns the name that a line of code declares; empty if none does.
func nameOf(line string) string {
	if len(line) > 500 {
		return ""
	}
	if m := declared.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	if m := typedName.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	if m := field.FindStringSubmatch(line); m != nil {
		switch m[1] {
		case "if", "for", "return", "else", "switch", "case", "while", "try", "catch", "throw", "go", "defer", "import", "from", "with", "raise", "await", "new", "delete", "select", "break", "continue":
			return ""
		}
		return m[1]
	}
	return ""
}
