package blocks

import (
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"tenet/internal/text"
)

// MaxToken bounds one tag or piece of text of a page, in bytes.
const MaxToken = 8 << 20

// ErrToken is the error of [HTML] for a page with a tag or piece of text of more than [MaxToken] bytes.
var ErrToken = errors.New("a tag or a piece of text is too long")

// unread are elements whose content is not text for people.
var unread = atoms(`script style template noscript iframe object svg math select textarea button noframes canvas audio video`)

// menus are elements that hold code or navigation, no sentences.
var menus = atoms("pre nav")

// breaks are elements that begin and end a piece of text.
var breaks = atoms(`p div section article main header footer nav aside ul ol li dl dt dd table thead tbody tr blockquote figure figcaption form fieldset
details summary address hr body html head caption pre title h1 h2 h3 h4 h5 h6`)

func atoms(names string) map[atom.Atom]bool {
	set := map[atom.Atom]bool{}
	for name := range strings.FieldsSeq(names) {
		set[atom.Lookup([]byte(name))] = true
	}
	return set
}

// page reads the tags of a page one after the other.
type page struct {
	builder
	extent Extent
	title  string

	text                    strings.Builder // of the block under way
	line                    int             // of the token under way
	from                    int             // line where text begins
	level                   int             // of the heading under way; 0 outside
	item, row, pre, inTitle bool

	leads []int     // index of the block that leads to each open list
	steps []bool    // whether each open list has numbers
	skip  atom.Atom // an element that is not read
	depth int       // of elements like it
}

// HTML divides a page into blocks, and returns its title. The error is [ErrToken].
func HTML(content string, e Extent) (list []Block, title string, err error) {
	z := html.NewTokenizer(strings.NewReader(content))
	z.SetMaxBuf(MaxToken)
	p := &page{extent: e, line: 1, from: 1}
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			p.flush()
			if err := z.Err(); errors.Is(err, html.ErrBufferExceeded) {
				return nil, "", ErrToken
			} else if !errors.Is(err, io.EOF) {
				return nil, "", err
			}
			return p.blocks, p.title, nil
		}
		lines := strings.Count(string(z.Raw()), "\n")
		switch kind { //nolint:exhaustive // comments, doctypes and errors hold no text
		case html.TextToken:
			if p.skip == 0 {
				p.write(string(z.Text()))
			}
			lines, p.line = 0, p.line+lines
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			name, _ := z.TagName()
			p.tag(atom.Lookup(name), kind)
		}
		p.line += lines
		if p.text.Len() > 0 && e == Sentences {
			p.text.WriteString(strings.Repeat("\n", lines))
		}
	}
}

// write adds text to the block under way.
func (p *page) write(s string) {
	if p.text.Len() == 0 {
		trimmed := strings.TrimLeft(s, " \t\r\n\f")
		p.from = p.line + strings.Count(s[:len(s)-len(trimmed)], "\n")
		if !p.pre {
			s = trimmed
		}
	}
	if p.extent == Everything && !p.pre {
		s = strings.ReplaceAll(s, "\n", " ")
	}
	p.text.WriteString(s)
	if p.text.Len() > maxBlock && p.extent == Sentences {
		p.flush()
	}
}

func (p *page) tag(tag atom.Atom, kind html.TokenType) {
	opens := kind == html.StartTagToken
	switch {
	case p.skip != 0:
		if tag == p.skip && opens {
			p.depth++
		} else if tag == p.skip && kind == html.EndTagToken {
			if p.depth--; p.depth == 0 {
				p.skip = 0
			}
		}
	case unread[tag] || menus[tag] && p.extent == Sentences:
		if !opens {
			break // an end without a beginning
		}
		p.skip, p.depth = tag, 1
		if p.extent == Sentences {
			p.flush()
		}
	case breaks[tag]:
		p.flush()
		p.begin(tag, opens)
	case tag == atom.Td, tag == atom.Th:
		if opens && strings.TrimSpace(p.text.String()) != "" {
			p.text.WriteString(" | ")
		}
	case p.extent == Everything:
		if tag == atom.Br {
			p.text.WriteString("\n")
		}
	case tag == atom.Br:
		if p.text.Len() > 0 {
			p.text.WriteString(" ")
		}
	case tag == atom.Code:
		if p.text.Len() == 0 {
			p.from = p.line
		}
		p.text.WriteString("`")
	}
}

// begin notes what an element that opens or closes means for the text in it.
func (p *page) begin(tag atom.Atom, opens bool) {
	switch tag {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		p.level = 0
		if opens {
			p.level = int(tag.String()[1] - '0')
		}
	case atom.Ul, atom.Ol:
		if opens && len(p.leads) < 64 {
			p.leads = append(p.leads, p.lead())
			p.steps = append(p.steps, tag == atom.Ol)
		} else if !opens && len(p.leads) > 0 {
			p.leads = p.leads[:len(p.leads)-1]
			p.steps = p.steps[:len(p.leads)]
		}
	case atom.Li:
		p.item = opens
	case atom.Dd:
		p.item = opens && p.extent == Sentences
	case atom.Tr:
		p.row = opens
	case atom.Pre:
		p.pre = opens
	case atom.Title:
		p.inTitle = opens
	case atom.P, atom.Div: // inside of an item they change nothing
	default:
		p.item = p.item && len(p.leads) > 0
	}
}

// flush adds the text under way as a block.
func (p *page) flush() {
	s := strings.TrimRight(p.text.String(), " \t\r\n|")
	p.text.Reset()
	if p.extent == Everything && !p.pre {
		var lines []string
		for l := range strings.Lines(s) {
			if l = text.OneLine(l); l != "" {
				lines = append(lines, l)
			}
		}
		s = strings.Join(lines, "\n")
	}
	b := Block{Kind: Paragraph, Text: s, Line: p.from, Lead: -1}
	switch {
	case s == "":
		return
	case p.inTitle:
		if p.title == "" {
			p.title = s
		}
		return
	case p.pre:
		b.Kind = Code
	case p.row:
		b.Kind = Row
	case p.item:
		b.Kind = Item
		if n := len(p.leads); n > 0 {
			b.Lead, b.Numbered = p.leads[n-1], p.steps[n-1]
		}
	}
	p.add(b)
	if p.level > 0 {
		p.enter(p.level)
	}
}
