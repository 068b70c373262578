package extract

import (
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"tenet/internal/rule"
)

// maxToken bounds one tag or piece of text of an HTML file, in bytes.
const maxToken = 8 << 20

// unread are elements whose content is not text for people.
var unread = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Template: true, atom.Noscript: true, atom.Iframe: true, atom.Object: true, atom.Svg: true,
	atom.Math: true, atom.Select: true, atom.Textarea: true, atom.Button: true, atom.Noframes: true, atom.Canvas: true, atom.Audio: true, atom.Video: true,
}

// blocks are elements that begin and end a piece of text.
var blocks = map[atom.Atom]bool{
	atom.P: true, atom.Div: true, atom.Section: true, atom.Article: true, atom.Main: true, atom.Header: true, atom.Footer: true, atom.Nav: true,
	atom.Aside: true, atom.Ul: true, atom.Ol: true, atom.Li: true, atom.Dl: true, atom.Dt: true, atom.Dd: true, atom.Table: true, atom.Thead: true,
	atom.Tbody: true, atom.Tr: true, atom.Blockquote: true, atom.Figure: true, atom.Figcaption: true, atom.Form: true, atom.Fieldset: true,
	atom.Details: true, atom.Summary: true, atom.Address: true, atom.Hr: true, atom.Body: true, atom.Html: true, atom.Head: true, atom.Caption: true,
	atom.Pre: true,
}

// htmlReader goes once over the tags of a page and makes no tree of them, so that nesting costs nothing.
type htmlReader struct {
	sink *sink
	text strings.Builder
	line int // of the token under way
	from int // line where text begins

	skip      atom.Atom // inside an element that is not read
	skipDepth int
	heading   int
	pre       bool
	title     bool
}

// readHTML takes the text of an HTML page: no scripts, styles and comments.
func readHTML(s *sink, text string) error {
	z := html.NewTokenizer(strings.NewReader(text))
	z.SetMaxBuf(maxToken)
	r := &htmlReader{sink: s, line: 1}
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			if errors.Is(z.Err(), html.ErrBufferExceeded) {
				return rule.Errorf(rule.CodeTooLarge, "the HTML file holds a tag or text of more than %d bytes", maxToken)
			}
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return err
			}
			return r.flush()
		}
		lines := strings.Count(string(z.Raw()), "\n")
		if err := r.take(kind, z); err != nil {
			return err
		}
		r.line += lines
	}
}

func (r *htmlReader) take(kind html.TokenType, z *html.Tokenizer) error {
	switch kind { //nolint:exhaustive // comments, doctypes and errors hold no text
	case html.TextToken:
		if r.skip == 0 {
			return r.write(string(z.Text()))
		}
	case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
		name, _ := z.TagName()
		return r.tag(atom.Lookup(name), kind)
	}
	return nil
}

func (r *htmlReader) tag(tag atom.Atom, kind html.TokenType) error {
	opens := kind == html.StartTagToken
	if r.skip != 0 {
		if tag == r.skip && opens {
			r.skipDepth++
		} else if tag == r.skip && kind == html.EndTagToken {
			if r.skipDepth--; r.skipDepth == 0 {
				r.skip = 0
			}
		}
		return nil
	}
	switch {
	case unread[tag]:
		if opens {
			r.skip, r.skipDepth = tag, 1
		}
	case tag == atom.Title:
		return r.endBlock(func() { r.title = opens })
	case tag == atom.H1, tag == atom.H2, tag == atom.H3, tag == atom.H4, tag == atom.H5, tag == atom.H6:
		return r.endBlock(func() {
			r.heading = 0
			if opens {
				r.heading = int(tag.String()[1] - '0')
			}
		})
	case blocks[tag]:
		return r.endBlock(func() { r.begin(tag, opens) })
	case tag == atom.Td, tag == atom.Th:
		if opens && strings.TrimSpace(r.text.String()) != "" {
			return r.write(" | ")
		}
	case tag == atom.Br:
		r.text.WriteByte('\n')
	}
	return nil
}

// begin notes what a block that opens, or closes, means for the text in it.
func (r *htmlReader) begin(tag atom.Atom, opens bool) {
	switch tag { //nolint:exhaustive // the others mean nothing more
	case atom.Pre:
		r.pre = opens
	case atom.Li:
		if opens {
			r.text.WriteString("- ")
		}
	}
}

// endBlock ends the piece of text under way, and then begins what next says.
func (r *htmlReader) endBlock(next func()) error {
	err := r.flush()
	next()
	return err
}

// write appends text. Outside of <pre> white space is one space, whatever it is.
func (r *htmlReader) write(text string) error {
	if !r.pre {
		words := strings.Join(strings.Fields(text), " ")
		if words == "" {
			if text != "" && r.text.Len() > 0 {
				r.text.WriteByte(' ')
			}
			return nil
		}
		if strings.TrimLeft(text, " \t\n\r\f") != text {
			words = " " + words
		}
		if strings.TrimRight(text, " \t\n\r\f") != text {
			words += " "
		}
		text = words
	}
	if strings.TrimSpace(r.text.String()[:min(r.text.Len(), 3)]) == "" || r.text.Len() == 0 {
		r.from = r.line
	}
	r.text.WriteString(text)
	if r.text.Len() > 4*r.sink.limits.Characters {
		return r.flush() // which refuses it
	}
	return nil
}

// flush adds the piece of text under way to the document.
func (r *htmlReader) flush() error {
	text := r.text.String()
	r.text.Reset()
	if !r.pre {
		var lines []string
		for line := range strings.Lines(text) {
			if l := strings.Join(strings.Fields(line), " "); l != "" {
				lines = append(lines, l)
			}
		}
		text = strings.Join(lines, "\n")
	}
	if text == "-" {
		return nil // an empty list item
	}
	if r.title {
		r.sink.title(text)
		return nil
	}
	return r.sink.add(Block{Heading: r.heading, Text: text, Line: r.from})
}
