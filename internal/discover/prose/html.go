package prose

import (
	"html"
	"strings"
)

// htmlScanner cuts HTML into blocks, in one pass over its tags. It makes no tree, so nesting costs nothing.
type htmlScanner struct {
	scanner

	text  strings.Builder
	line  int // of the place under way
	from  int // where the text began
	level int // of the heading under way; 0 outside
	item  bool
	row   bool
	lead  []int // block that leads to each open list
}

// unread are elements whose content is not text for people, or is code.
var unread = words("script style template noscript iframe object svg math select textarea button canvas audio video pre nav head")

// breaks are elements that begin and end a piece of text.
var breaks = words(`p div section article main header footer aside ul ol li dl dt dd table thead tbody tr blockquote figure figcaption form fieldset details
summary address hr body html caption h1 h2 h3 h4 h5 h6`)

// HTML cuts a page into blocks.
func HTML(text string) []Block {
	s := &htmlScanner{scanner: scanner{open: -1}, line: 1, from: 1}
	for i := 0; i < len(text); {
		next := strings.IndexByte(text[i:], '<')
		if next != 0 {
			if next < 0 {
				next = len(text) - i
			}
			s.write(text[i : i+next])
			i += next
			continue
		}
		i = s.tag(text, i)
	}
	s.flush()
	return s.blocks
}

// write takes in text, in which entities stand for characters.
func (s *htmlScanner) write(text string) {
	if s.text.Len() == 0 {
		blank := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
		s.line += strings.Count(text[:blank], "\n")
		text = text[blank:]
		s.from = s.line
	}
	s.line += strings.Count(text, "\n")
	if strings.IndexByte(text, '&') >= 0 {
		text = html.UnescapeString(text)
	}
	s.text.WriteString(text)
	if s.text.Len() > maxBlock {
		s.flush()
	}
}

// tag takes in the tag or comment at i, and returns what is behind it.
func (s *htmlScanner) tag(text string, i int) int {
	if strings.HasPrefix(text[i:], "<!--") {
		return s.skip(text, i, i+4, "-->")
	}
	name, closing := tagName(text[i+1:])
	if name == "" && !strings.HasPrefix(text[i:], "<!") && !strings.HasPrefix(text[i:], "<?") {
		s.write("<")
		return i + 1
	}
	end := s.skip(text, i, i+1, ">")
	switch {
	case unread[name] && !closing && !strings.HasSuffix(text[i:end], "/>"):
		s.flush()
		return s.skipElement(text, end, name)
	case breaks[name]:
		s.flush()
		s.begin(name, closing)
	case name == "td", name == "th":
		if !closing && s.text.Len() > 0 {
			s.text.WriteString(" | ")
		}
	case name == "br":
		if s.text.Len() > 0 {
			s.text.WriteString(" ")
		}
	case name == "code":
		s.text.WriteString("`")
		if s.text.Len() == 1 {
			s.from = s.line
		}
	}
	return end
}

// skip goes behind the next end from at on, or to the end of the text, and counts the lines from i.
func (s *htmlScanner) skip(text string, i, at int, end string) int {
	to := len(text)
	if k := strings.Index(text[min(at, to):], end); k >= 0 {
		to = at + k + len(end)
	}
	lines := strings.Count(text[i:to], "\n")
	s.line += lines
	if s.text.Len() > 0 {
		s.text.WriteString(strings.Repeat("\n", lines))
	}
	return to
}

// skipElement goes behind the end of an element that is not read.
func (s *htmlScanner) skipElement(text string, i int, name string) int {
	for at := i; ; {
		k := strings.Index(text[at:], "</")
		if k < 0 {
			return s.skip(text, i, len(text), ">")
		}
		at += k + 2
		if found, _ := tagName(text[at-1:]); found == name {
			return s.skip(text, i, at, ">")
		}
	}
}

// tagName reads the name of a tag, in lower case.
func tagName(s string) (name string, closing bool) {
	s, closing = strings.CutPrefix(s, "/")
	n := 0
	for n < len(s) && n < 20 && (s[n] >= 'a' && s[n] <= 'z' || s[n] >= 'A' && s[n] <= 'Z' || n > 0 && s[n] >= '0' && s[n] <= '9') {
		n++
	}
	return strings.ToLower(s[:n]), closing
}

// begin notes what an element that opens or closes means for the text in it.
func (s *htmlScanner) begin(name string, closing bool) {
	switch name {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		s.level = 0
		if !closing {
			s.level = int(name[1] - '0')
		}
	case "ul", "ol":
		if !closing && len(s.lead) < 64 {
			lead := -1
			if n := len(s.blocks); n > 0 && s.blocks[n-1].Kind != Heading && leads(s.blocks[n-1].Text) {
				lead = n - 1
			}
			s.lead = append(s.lead, lead)
		} else if closing && len(s.lead) > 0 {
			s.lead = s.lead[:len(s.lead)-1]
		}
	case "li", "dd":
		s.item = !closing
	case "tr":
		s.row = !closing
	case "p", "div":
		// inside of an item they change nothing
	default:
		s.item = s.item && len(s.lead) > 0
	}
}

// flush adds the text under way as a block.
func (s *htmlScanner) flush() {
	text := strings.TrimRight(s.text.String(), " \t\r\n|")
	s.text.Reset()
	if text == "" {
		return
	}
	if s.level > 0 {
		s.heading(s.level, text, s.from)
		return
	}
	b := Block{Kind: Paragraph, Text: text, Line: s.from, Lead: -1}
	switch {
	case s.row:
		b.Kind = Row
	case s.item:
		b.Kind = Item
		if n := len(s.lead); n > 0 {
			b.Lead = s.lead[n-1]
		}
	}
	s.add(b, false)
}
