package extract

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tenet/internal/rule"
)

// mainPart is the part of a docx that holds its text. Some writers number it.
var mainPart = regexp.MustCompile(`^word/document[0-9]{0,3}\.xml$`)

// Bounds of an archive and its XML.
const (
	maxParts = 10_000
	maxDepth = 1_000 // elements inside one another
)

// parts are the files of a docx. All together they may unpack to so many bytes.
type parts struct {
	files map[string]*zip.File
	left  int64
}

// readDOCX takes the text of a Word document.
func readDOCX(s *sink, data []byte) error {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return rule.Errorf(rule.CodeInvalid, "the Word file is damaged: it is no whole zip archive")
	}
	if len(archive.File) > maxParts {
		return rule.Errorf(rule.CodeTooLarge, "the Word file has more than %d parts", maxParts)
	}
	p, main := &parts{files: map[string]*zip.File{}, left: s.limits.Inflated}, ""
	for _, f := range archive.File {
		if f.Flags&1 != 0 {
			return rule.Errorf(rule.CodeInvalid, "the Word file is encrypted; save it without a password")
		}
		p.files[f.Name] = f
		if mainPart.MatchString(f.Name) {
			main = f.Name
		}
	}
	if title, err := p.title(); err == nil {
		s.title(title)
	}
	styles, err := p.headings()
	if err != nil {
		return err
	}
	body := &wordBody{sink: s, styles: styles, page: 1}
	if err := p.walk(main, body.start, body.end, body.text); err != nil {
		return err
	}
	if err := p.walkBeside(s, styles); err != nil {
		return err
	}
	if body.page == 1 { // Word has noted no page breaks, so nothing is known of pages
		for i := range s.result.Blocks {
			s.result.Blocks[i].Page = 0
		}
		return nil
	}
	return s.page(body.page)
}

// besidePart matches the parts of a docx with text beside that of its pages.
var besidePart = regexp.MustCompile(`^word/(header|footer|footnotes|endnotes|comments)[0-9]{0,3}\.xml$`)

// unreadParts are folders of parts that hold text in forms that are not read, with their names for people.
var unreadParts = []struct{ prefix, name string }{
	{"word/embeddings/", "embedded objects"}, {"word/charts/", "charts"}, {"word/diagrams/", "diagrams"}, {"word/afchunk", "embedded documents"},
}

// walkBeside adds the texts of headers, footers, notes and comments behind that of the pages, and notes the parts that it does not
// read.
func (p *parts) walkBeside(s *sink, styles map[string]int) error {
	var unread []string
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		if besidePart.MatchString(name) {
			body := &wordBody{sink: s, styles: styles}
			if err := p.walk(name, body.start, body.end, body.text); err != nil {
				return err
			}
		}
		for _, u := range unreadParts {
			if strings.HasPrefix(strings.ToLower(name), u.prefix) && !slices.Contains(unread, u.name) {
				unread = append(unread, u.name)
			}
		}
	}
	if len(unread) > 0 {
		s.unread("it holds " + strings.Join(unread, ", ") + ", which are not read")
	}
	return nil
}

// errTooLarge ends the reading of a part that unpacks to too much.
var errTooLarge = errors.New("too large")

// limited reads a part on the account of all parts.
type limited struct {
	from  io.Reader
	parts *parts
}

func (l limited) Read(b []byte) (int, error) {
	if l.parts.left <= 0 {
		return 0, errTooLarge
	}
	n, err := l.from.Read(b[:min(int64(len(b)), l.parts.left)])
	l.parts.left -= int64(n)
	return n, err
}

// walk reads a part's XML and calls back for its elements and text, as it goes. A part that is missing is nothing.
func (p *parts) walk(name string, start func(xml.StartElement) error, end func(xml.EndElement) error, text func([]byte)) error {
	f, ok := p.files[name]
	if !ok {
		return nil
	}
	r, err := f.Open()
	if err != nil {
		return rule.Errorf(rule.CodeInvalid, "the Word file is damaged: its part %s cannot be unpacked", name)
	}
	defer func() { _ = r.Close() }()
	dec := xml.NewDecoder(limited{r, p})
	dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	for depth := 0; ; {
		token, err := dec.RawToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errTooLarge):
			return rule.Errorf(rule.CodeTooLarge, "the Word file unpacks to too much; it may be a zip bomb")
		case err != nil:
			return rule.Errorf(rule.CodeInvalid, "the Word file is damaged: its part %s is not valid XML", name)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return rule.Errorf(rule.CodeInvalid, "the Word file nests more than %d elements", maxDepth)
			}
			err = start(t)
		case xml.EndElement:
			depth--
			err = end(t)
		case xml.CharData:
			text(t)
		}
		if err != nil {
			return err
		}
	}
}

// attribute returns the value of an attribute in any name space.
func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// title reads the title that the document's properties give.
func (p *parts) title() (string, error) {
	var b strings.Builder
	in := false
	err := p.walk("docProps/core.xml", func(e xml.StartElement) error {
		in = e.Name.Local == "title"
		return nil
	}, func(xml.EndElement) error {
		in = false
		return nil
	}, func(t []byte) {
		if in && b.Len() < 1000 {
			b.Write(t)
		}
	})
	return b.String(), err
}

// wordStyle is a style of paragraphs.
type wordStyle struct {
	level int // of a heading, 0 for none
	based string
}

// headings reads which styles are headings, by their names and outline levels.
func (p *parts) headings() (map[string]int, error) {
	styles, id := map[string]*wordStyle{}, ""
	err := p.walk("word/styles.xml", func(e xml.StartElement) error {
		at := styles[id]
		switch e.Name.Local {
		case "style":
			id = attribute(e, "styleId")
			styles[id] = &wordStyle{}
		case "name":
			if at != nil {
				at.level = max(at.level, headingName(attribute(e, "val")))
			}
		case "basedOn":
			if at != nil {
				at.based = attribute(e, "val")
			}
		case "outlineLvl":
			if n, err := strconv.Atoi(attribute(e, "val")); at != nil && err == nil && n >= 0 && n < 9 {
				at.level = max(at.level, n+1)
			}
		}
		return nil
	}, func(xml.EndElement) error { return nil }, func([]byte) {})
	levels := make(map[string]int, len(styles))
	for name, style := range styles {
		for range 10 { // styles may be based on one another in a circle
			if style == nil || style.level > 0 {
				break
			}
			style = styles[style.based]
		}
		if style != nil {
			levels[name] = style.level
		}
	}
	return levels, err
}

// headingName returns the level of the built-in styles "heading 1" to "heading 9" and "Title"; 0 for others.
func headingName(name string) int {
	name = strings.ToLower(strings.ReplaceAll(name, " ", ""))
	if name == "title" {
		return 1
	}
	digits, ok := strings.CutPrefix(name, "heading")
	if n, err := strconv.Atoi(digits); ok && err == nil && n >= 1 && n <= 9 {
		return n
	}
	return 0
}
