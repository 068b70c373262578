package blocks

import (
	"regexp"
	"slices"
	"strings"
)

// scanner divides text without marks into blocks, in one pass over its lines.
type scanner struct {
	builder
	extent Extent
	lists  []list

	open int             // index of the block that the next line may continue; -1 if none
	more strings.Builder // text of the open block
	gap  bool            // an empty line came since
}

// list is a list under way.
type list struct {
	indent int
	marker byte
	lead   int // index of the block that leads to its items
	item   int // index of its last item
}

var (
	// bullet is the mark of an item: - * + •, 1. 1) (1), a) (a).
	bullet = regexp.MustCompile(`^(?:([-*+•◦▪–])|[0-9]{1,9}[.)]|\([0-9]{1,9}\)|(\(?(?:[a-z]|[ivx]{2,4})\)))[ \t]+`)
	// tagged is the tag of an item of a list in HTML among other text.
	tagged = regexp.MustCompile(`^<li(?: [^>]{0,200})?>[ \t]*`)
	// capitals is a heading by its letters alone, such as CODING STYLE.
	capitals = regexp.MustCompile("^(?:[^a-z.;,`=!?*<>[:^ascii:]]*[A-Z]){4}[^a-z.;,`=!?*<>[:^ascii:]]*$")
	// placeholder is a mark of a template or of a note, or a tag.
	placeholder = regexp.MustCompile(`^(?:\[!.*\]|!!! .*|<[^>]*>|\{\{(?:[^{]|\{[^{])*\}\}|\{%.*%\})$`)
)

// read reads a line that holds text.
func (s *scanner) read(indent int, rest string, number int) {
	mark := bullet.FindStringSubmatchIndex(rest)
	if tag := tagged.FindString(rest); tag != "" && s.extent == Sentences && len(tag) < len(rest) {
		s.item(indent, '<', rest[len(tag):], number)
		return
	}
	switch {
	case ruled(rest) || placeholder.MatchString(rest):
		s.close()
	case strings.HasPrefix(rest, "|"):
		if strings.Trim(rest, "|:- \t") != "" {
			s.row(strings.Trim(rest, "| \t"), number)
		}
	case mark != nil:
		marker := byte('1')
		if mark[2] >= 0 {
			marker = rest[mark[2]]
		} else if mark[4] >= 0 {
			marker = 'a'
		}
		s.item(indent, marker, rest[mark[1]:], number)
	case s.extent == Sentences && strings.HasPrefix(rest, ": ") && s.open >= 0 && s.definition(rest, number):
	case s.open >= 0 && !s.gap && s.more.Len() < maxBlock:
		s.more.WriteString("\n" + rest)
	default:
		s.paragraph(indent, rest, number)
	}
}

// definition adds a line that defines the term in the line above it, as an item that begins with the term. Further definitions of the term
// are items of their own. It reports whether the line is one.
func (s *scanner) definition(rest string, number int) bool {
	term := &s.blocks[s.open]
	text := s.more.String()
	switch {
	case term.Kind == Paragraph && term.Lead < 0 && len(text) <= maxTitle && !strings.ContainsAny(text, ".\n:"):
		s.lists = s.lists[:0]
		if s.gap { // a quote has the lines of its text, so the term stays apart
			s.begin(Block{Kind: Item, Text: strings.TrimLeft(rest[1:], " \t"), Line: number, Lead: -1})
			return true
		}
		term.Kind = Item
		s.more.WriteString("\n" + rest)
	case term.Kind == Item && strings.Contains(text, "\n: "):
		s.begin(Block{Kind: Item, Text: strings.TrimLeft(rest[1:], " \t"), Line: number, Lead: -1})
	default:
		return false
	}
	return true
}

// close ends the open block.
func (s *scanner) close() {
	if s.open >= 0 {
		s.blocks[s.open].Text = s.more.String()
		s.more.Reset()
	}
	s.open = -1
}

// begin ends the open block and adds another, which the next lines may continue.
func (s *scanner) begin(b Block) int {
	s.close()
	s.open = s.add(b)
	s.more.WriteString(b.Text)
	return s.open
}

func (s *scanner) heading(level int, title string, number int) {
	s.close()
	s.lists = s.lists[:0]
	s.add(Block{Text: title, Line: number, Lead: -1})
	s.enter(level)
}

// row adds a row of a table.
func (s *scanner) row(cells string, number int) {
	s.close()
	s.lists = s.lists[:0]
	s.add(Block{Kind: Row, Text: cells, Line: number, Lead: -1})
}

// numbers are the markers of items with numbers, in all the formats.
const numbers = "0123456789.)#"

// item begins an item of a list.
func (s *scanner) item(indent int, marker byte, body string, number int) {
	s.close()
	lead := s.lead()
	n := len(s.lists)
	outer := slices.IndexFunc(s.lists, func(l list) bool { return l.indent == indent && l.marker == marker })
	for n > 0 && (s.lists[n-1].indent > indent || outer >= 0 && n-1 > outer) {
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
	boxed := false
	for _, box := range []string{"[ ] ", "[x] ", "[X] "} {
		if s.extent == Sentences && strings.HasPrefix(body, box) {
			body, boxed = body[len(box):], true
		}
	}
	s.lists[n-1].item = s.begin(Block{Kind: Item, Text: body, Line: number, Lead: s.lists[n-1].lead, Box: boxed, Numbered: strings.IndexByte(numbers, marker) >= 0})
}

func (s *scanner) paragraph(indent int, rest string, number int) {
	lead := -1
	if len(s.lists) > 0 {
		if top := &s.lists[len(s.lists)-1]; indent > top.indent {
			lead = top.item
		} else if indent <= s.lists[0].indent {
			s.lists = s.lists[:0]
		}
	}
	if lead < 0 && s.extent == Sentences && len(rest) <= maxTitle && capitals.MatchString(rest) {
		s.heading(6, rest, number)
		return
	}
	s.begin(Block{Kind: Paragraph, Text: rest, Line: number, Lead: lead})
}

// margin measures the white space at the start of a line; a tab counts 4. A quote is read as if it were not one.
func margin(line []byte) int {
	n := 0
	for i, c := range line {
		switch {
		case c == '\t':
			n += 4
		case c == ' ' && (i == 0 || line[i-1] != '>'):
			n++
		case c != ' ' && c != '>':
			return n
		}
	}
	return n
}

// ruled reports whether a line is drawn rather than written.
func ruled(s string) bool {
	return len(s) >= 3 && strings.Trim(s, "-*_=+ ~#") == "" && !strings.HasPrefix(s, "# ")
}
