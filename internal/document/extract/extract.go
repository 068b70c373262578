// Package extract turns uploaded files into text: PDF, Word (docx), HTML, Markdown and plain text. Files are hostile until
// shown otherwise, so [Run] reads them in a process of their own, with a limit of time and memory, and without the
// service's environment; see docs/adr.
package extract

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"tenet/internal/rule"
	"tenet/internal/text"
)

// Block is a piece of a document in reading order: a heading or a paragraph, a list item, a row of a table.
type Block struct {
	// Heading is 1 to 6 for a heading of that level, and 0 for all other text.
	Heading int    `json:"h,omitempty"`
	Text    string `json:"t"`
	Page    int    `json:"p,omitempty"` // from 1; 0 where the format has none
	Line    int    `json:"l,omitempty"` // of the source, from 1; 0 where the format has none
}

// Result is the text of a document.
type Result struct {
	// Title is the title that the file itself gives; often empty.
	Title string `json:"title,omitempty"`
	// Pages is the number of pages; 0 where the format has none.
	Pages  int     `json:"pages,omitempty"`
	Blocks []Block `json:"blocks"`
	// Unread says what the text leaves out; empty if it is all of the document.
	Unread string `json:"unread,omitempty"`
}

// Limits bound one extraction. Zero fields take the defaults.
type Limits struct {
	Pages      int           `json:"pages"`      // default 5,000
	Characters int           `json:"characters"` // of text; default 10 million, some 4,000 full pages
	Inflated   int64         `json:"inflated"`   // bytes that the parts of a docx may unpack to; default 256 MiB
	Memory     int64         `json:"memory"`     // bytes of the reading process; default 768 MiB
	Time       time.Duration `json:"time"`       // of the reading process; default 60 s
}

// withDefaults fills in what is not set.
func (l Limits) withDefaults() Limits {
	if l.Pages <= 0 {
		l.Pages = 5_000
	}
	if l.Characters <= 0 {
		l.Characters = 10_000_000
	}
	if l.Inflated <= 0 {
		l.Inflated = 256 << 20
	}
	if l.Memory <= 0 {
		l.Memory = 768 << 20
	}
	if l.Time <= 0 {
		l.Time = time.Minute
	}
	return l
}

// read extracts the text of data in this process. Errors have the code invalid, or too_large beyond a limit.
func read(f Format, data []byte, l Limits) (result *Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			result, err = nil, rule.Errorf(rule.CodeInvalid, "the %s file is damaged and cannot be read", f.Noun())
		}
	}()
	s := &sink{limits: l}
	switch f {
	case PDF:
		err = readPDF(s, data)
	case DOCX:
		err = readDOCX(s, data)
	case HTML:
		err = readHTML(s, decode(data))
	case Markdown:
		err = readMarkdown(s, decode(data))
	case Text:
		err = readText(s, decode(data))
	default:
		err = rule.Errorf(rule.CodeInvalid, "there is no format %q", string(f))
	}
	if err != nil {
		if _, ok := errors.AsType[*rule.Error](err); !ok {
			err = rule.Errorf(rule.CodeInvalid, "the %s file is damaged and cannot be read: %s", f.Noun(), plain(err.Error(), 200))
		}
		return nil, err
	}
	return &s.result, nil
}

// sink collects the blocks of a document within its limits.
type sink struct {
	limits Limits
	result Result
	count  int // characters so far
}

// add appends a block; one without text is left out. The error, too_large, ends the extraction.
func (s *sink) add(b Block) error {
	b.Text = tidy(b.Text)
	if b.Text == "" {
		return nil
	}
	if b.Heading > 0 {
		b.Heading = min(b.Heading, 6)
		b.Text = text.OneLine(b.Text)
	}
	s.count += utf8.RuneCountInString(b.Text)
	if s.count > s.limits.Characters {
		return rule.Errorf(rule.CodeTooLarge, "the document holds more than %d characters of text; split it", s.limits.Characters)
	}
	s.result.Blocks = append(s.result.Blocks, b)
	return nil
}

// unreadPages notes pages whose content the text leaves out, for a reason.
func (s *sink) unreadPages(pages []int, one, several string) {
	const most = 10
	if len(pages) == 0 {
		return
	}
	var names []string
	for _, n := range pages[:min(len(pages), most)] {
		names = append(names, strconv.Itoa(n))
	}
	if more := len(pages) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	noun, rest := "page ", one
	if len(pages) > 1 {
		noun, rest = "pages ", several
	}
	s.unread(noun + strings.Join(names, ", ") + rest)
}

// unread notes what the text leaves out.
func (s *sink) unread(what string) {
	if s.result.Unread != "" {
		s.result.Unread += "; "
	}
	s.result.Unread += what
}

// page checks a number of pages against the limit.
func (s *sink) page(n int) error {
	if n > s.limits.Pages {
		return rule.Errorf(rule.CodeTooLarge, "the document has more than %d pages; split it", s.limits.Pages)
	}
	s.result.Pages = max(s.result.Pages, n)
	return nil
}

// title keeps the first title that is one.
func (s *sink) title(text string) {
	if s.result.Title == "" {
		s.result.Title = plain(text, 300)
	}
}

// tidy composes text (NFC), takes out control characters, and trims it. Line breaks and tabs stay.
func tidy(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\f' || r == '\v' || r == '\u2028' || r == '\u2029':
			return '\n'
		case r == '\u00a0' || r == '\u202f' || r == '\u2007':
			return ' '
		case r == '\u00ad' || r == '\ufeff' || unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return norm.NFC.String(ligatures.Replace(strings.TrimSpace(text)))
}

// ligatures are letters that typesetters draw as one, and that nobody types.
var ligatures = strings.NewReplacer("\ufb00", "ff", "\ufb01", "fi", "\ufb02", "fl", "\ufb03", "ffi", "\ufb04", "ffl", "\ufb05", "st", "\ufb06", "st")

// plain returns text on one line, cut to at most n bytes.
func plain(s string, n int) string { return text.Clip(text.OneLine(tidy(s)), n, "") }
