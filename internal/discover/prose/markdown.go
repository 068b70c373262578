package prose

import (
	"strings"
	"unicode/utf8"
)

const (
	maxSection = 200      // bytes of a heading that are kept
	maxBlock   = 64 << 10 // bytes of a paragraph; the rest of it is another
)

// scanner cuts Markdown or plain text into blocks, in one pass over its lines.
type scanner struct {
	blocks  []Block
	section []string
	levels  []int // of the headings in section
	lists   []list

	open     int             // index of the block that the next line may continue; -1 if there is none
	more     strings.Builder // text of the open block
	gap      bool            // an empty line came since
	fence    string
	comment  bool
	row      bool // the line before was a row of a table
	indented bool // blocks of code may be told by indentation
}

// list is a list under way.
type list struct {
	indent int
	marker byte
	lead   int // block before it that leads to its items
	item   int // its last item
}

// Markdown cuts a text into blocks. It never fails: what is not Markdown is paragraphs. first is the line that text begins at,
// which is not 1 behind front matter.
func Markdown(text string, first int) []Block {
	return scan(text, first, true)
}

// Plain cuts a text without marks into blocks: lists, headings and paragraphs as people type them.
func Plain(text string, first int) []Block {
	return scan(text, first, false)
}

func scan(text string, first int, indented bool) []Block {
	s := &scanner{open: -1, indented: indented}
	number := first
	for line := range strings.Lines(text) {
		s.line(strings.TrimRight(line, "\r\n"), number)
		number++
	}
	s.close()
	return s.blocks
}

// line takes in one line.
func (s *scanner) line(line string, number int) {
	indent, rest := margin(line)
	for strings.HasPrefix(rest, ">") {
		var more int
		more, rest = margin(rest[1:])
		indent += more / 4 // a quote is read as if it were not one
	}
	switch {
	case s.fence != "":
		if strings.HasPrefix(rest, s.fence) && strings.Trim(rest, s.fence[:1]+" \t") == "" {
			s.fence = ""
		}
		return
	case s.comment:
		s.comment = !strings.Contains(rest, "-->")
		return
	case rest == "":
		s.gap, s.row = true, false
		return
	}
	if mark := fenceMark(rest); mark != "" {
		s.fence = mark
		if n := len(s.blocks); n > 0 {
			s.blocks[n-1].Code = true
		}
		s.close()
		return
	}
	if strings.HasPrefix(rest, "<!--") {
		s.comment = !strings.Contains(rest, "-->")
		return
	}
	s.text(indent, rest, number)
}

// text takes in a line that holds text.
func (s *scanner) text(indent int, rest string, number int) {
	level, title := heading(rest)
	width, marker, body := bullet(rest)
	switch {
	case level > 0 && indent < 4:
		s.heading(level, title, number)
	case underline(rest) != 0 && s.underlined(underline(rest)):
	case ruled(rest) || placeholder(rest):
		s.close()
	case strings.HasPrefix(rest, "|"):
		s.tableRow(rest, number)
	case s.code(indent):
		s.close()
	case width > 0:
		s.item(indent, marker, body, number)
	case s.open >= 0 && !s.gap && s.more.Len() < maxBlock:
		s.more.WriteString("\n" + rest)
	default:
		s.paragraph(indent, rest, number)
	}
	s.gap = false
}

// code reports whether a line is code by its indentation alone.
func (s *scanner) code(indent int) bool {
	if !s.indented || s.open >= 0 && !s.gap {
		return false
	}
	if n := len(s.lists); n > 0 {
		return indent >= s.lists[n-1].indent+8
	}
	return indent >= 4
}

// close ends the open block.
func (s *scanner) close() {
	if s.open >= 0 {
		s.blocks[s.open].Text = s.more.String()
		s.more.Reset()
	}
	s.open, s.row = -1, false
}

// add ends the open block and adds another. It is open if its text may go on.
func (s *scanner) add(b Block, open bool) int {
	s.close()
	b.Section = s.section
	s.blocks = append(s.blocks, b)
	if open {
		s.open = len(s.blocks) - 1
		s.more.WriteString(b.Text)
	}
	return len(s.blocks) - 1
}

func (s *scanner) heading(level int, title string, number int) {
	s.add(Block{Kind: Heading, Text: title, Line: number, Lead: -1}, false)
	s.lists = s.lists[:0]
	s.under(level, title)
}

// under makes title, that of the block added last, the innermost heading.
func (s *scanner) under(level int, title string) {
	n := len(s.levels)
	for n > 0 && s.levels[n-1] >= level {
		n--
	}
	if len(title) > maxSection {
		title = strings.ToValidUTF8(title[:maxSection], "")
	}
	s.blocks[len(s.blocks)-1].Section = s.section[:n:n]
	s.levels = append(s.levels[:n], level)
	s.section = append(s.section[:n:n], plain(title)) // blocks share what there was
}

// underlined makes a heading of the paragraph above a line of = or -.
func (s *scanner) underlined(level int) bool {
	if s.open < 0 || s.gap || s.blocks[s.open].Kind != Paragraph || s.more.Len() > maxSection || strings.Contains(s.more.String(), "\n") {
		return false
	}
	b := &s.blocks[s.open]
	b.Kind = Heading
	s.close()
	s.under(level, b.Text)
	s.lists = s.lists[:0]
	return true
}

func (s *scanner) tableRow(rest string, number int) {
	cells := strings.Trim(rest, "| \t")
	if strings.Trim(cells, "|:- \t") == "" { // below the head of the table, which says nothing
		if n := len(s.blocks); s.row && n > 0 && s.blocks[n-1].Kind == Row {
			s.blocks = s.blocks[:n-1]
		}
		return
	}
	s.lists = s.lists[:0]
	s.add(Block{Kind: Row, Text: cells, Line: number, Lead: -1}, false)
	s.row = true
}

// item begins an item of a list.
func (s *scanner) item(indent int, marker byte, body string, number int) {
	s.close()
	lead := -1
	if n := len(s.blocks); n > 0 && leads(s.blocks[n-1].Text) && s.blocks[n-1].Kind != Heading {
		lead = n - 1
	}
	n := len(s.lists)
	for n > 0 && (s.lists[n-1].indent > indent || s.lists[n-1].indent == indent && s.lists[n-1].marker != marker && s.has(n-1, indent, marker)) {
		n--
	}
	s.lists = s.lists[:n]
	if n == 0 || s.lists[n-1].indent < indent || s.lists[n-1].marker != marker {
		if lead < 0 && n > 0 && s.lists[n-1].indent < indent {
			lead = s.lists[n-1].item
		}
		s.lists = append(s.lists, list{indent: indent, marker: marker, lead: lead})
		n++
	}
	s.lists[n-1].item = s.add(Block{Kind: Item, Text: body, Line: number, Lead: s.lists[n-1].lead}, true)
}

// has reports whether a list outside of the n-th has this indentation and marker.
func (s *scanner) has(n, indent int, marker byte) bool {
	for i := n - 1; i >= 0 && s.lists[i].indent == indent; i-- {
		if s.lists[i].marker == marker {
			return true
		}
	}
	return false
}

// maxTitle is the longest line, in characters, that can be a heading without a mark.
const maxTitle = 60

func (s *scanner) paragraph(indent int, rest string, number int) {
	lead := -1
	if len(s.lists) > 0 {
		if top := &s.lists[len(s.lists)-1]; indent > top.indent {
			lead = top.item
		} else if indent <= s.lists[0].indent {
			s.lists = s.lists[:0]
		}
	}
	if lead < 0 && capitals(rest) {
		s.heading(6, rest, number)
		return
	}
	s.add(Block{Kind: Paragraph, Text: rest, Line: number, Lead: lead}, true)
}

// margin measures the white space at the start of a line; a tab counts 4.
func margin(line string) (indent int, rest string) {
	for i := range len(line) {
		switch line[i] {
		case ' ':
			indent++
		case '\t':
			indent += 4
		default:
			return indent, strings.TrimRight(line[i:], " \t")
		}
	}
	return indent, ""
}

// fenceMark is the mark that begins a block of code.
func fenceMark(s string) string {
	if len(s) < 3 || (s[0] != '`' && s[0] != '~') {
		return ""
	}
	n := len(s) - len(strings.TrimLeft(s, s[:1]))
	if n < 3 || s[0] == '`' && strings.Contains(s[n:], "`") {
		return ""
	}
	return s[:n]
}

// heading reads a heading such as ## Title.
func heading(s string) (level int, title string) {
	level = len(s) - len(strings.TrimLeft(s, "#"))
	if level == 0 || level > 6 || len(s) > level && s[level] != ' ' && s[level] != '\t' {
		return 0, ""
	}
	return level, strings.TrimSpace(strings.TrimRight(s[level:], "# \t"))
}

// underline is the level of the heading that a line below it makes; 0 if it is none.
func underline(s string) int {
	switch {
	case len(s) < 3:
		return 0
	case strings.Trim(s, "=") == "":
		return 1
	case strings.Trim(s, "-") == "":
		return 2
	}
	return 0
}

// ruled reports whether a line is drawn rather than written.
func ruled(s string) bool {
	return len(s) >= 3 && strings.Trim(s, "-*_=+ ~#") == "" && !strings.HasPrefix(s, "# ")
}

// placeholder reports whether a line is a mark of a template or of a note, or a tag.
func placeholder(s string) bool {
	return strings.HasPrefix(s, "[!") && strings.HasSuffix(s, "]") || strings.HasPrefix(s, "!!! ") ||
		strings.HasPrefix(s, "<") && strings.IndexByte(s, '>') == len(s)-1 ||
		strings.HasPrefix(s, "{{") && strings.HasSuffix(s, "}}") && strings.Count(s, "{{") == 1 ||
		strings.HasPrefix(s, "{%") && strings.HasSuffix(s, "%}")
}

// bullet reads the mark of an item: - * + •, 1. 1) (1) a) (a), and the box of a checklist behind it. The width is 0 if there is
// none. marker tells marks of different lists apart.
func bullet(s string) (width int, marker byte, body string) {
	if r, size := utf8.DecodeRuneInString(s); strings.ContainsRune("-*+•◦▪–", r) && len(s) > size && (s[size] == ' ' || s[size] == '\t') {
		width, marker = size, s[size-1]
	}
	if width == 0 {
		if width, marker = numbered(s); width == 0 {
			return 0, 0, ""
		}
	}
	body = strings.TrimLeft(s[width:], " \t")
	for _, box := range []string{"[ ] ", "[x] ", "[X] "} {
		body = strings.TrimPrefix(body, box)
	}
	if body == "" {
		return 0, 0, ""
	}
	return width, marker, body
}

// numbered reads the number of an item.
func numbered(s string) (width int, marker byte) {
	i := 0
	if strings.HasPrefix(s, "(") {
		i = 1
	}
	from := i
	kind := byte('1')
	for i < len(s) && i-from < 9 && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == from {
		kind = 'a'
		for i < len(s) && i-from < 4 && (s[i] >= 'a' && s[i] <= 'z') {
			i++
		}
		if i-from > 1 && strings.Trim(s[from:i], "ivx") != "" {
			return 0, 0
		}
	}
	if i == from || i >= len(s) {
		return 0, 0
	}
	closer := s[i]
	if closer != ')' && (closer != '.' || from == 1 || kind == 'a') {
		return 0, 0
	}
	if i+1 < len(s) && s[i+1] != ' ' && s[i+1] != '\t' {
		return 0, 0
	}
	return i + 1, kind
}

// capitals reports whether a line is a heading by its letters alone, such as CODING STYLE.
func capitals(s string) bool {
	letters := 0
	for _, r := range s {
		switch {
		case r >= 'A' && r <= 'Z':
			letters++
		case r >= 'a' && r <= 'z' || r > utf8.RuneSelf || strings.ContainsRune(".;,`=!?*<>", r):
			return false
		}
	}
	return letters >= 4 && len(s) <= maxTitle
}

// leads reports whether a text leads to what follows it.
func leads(s string) bool {
	return strings.HasSuffix(strings.TrimRight(s, "*_ \t"), ":")
}
