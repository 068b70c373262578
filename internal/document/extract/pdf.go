package extract

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/ledongthuc/pdf"

	"tenet/internal/rule"
)

// Bounds of a page tree, which may be a circle.
const (
	maxTreeDepth = 32
	maxTreeNodes = 50_000
)

// readPDF takes the text of a PDF. The library panics on malformed input, and may run without end: see [Run].
func readPDF(s *sink, data []byte) error {
	doc, err := openPDF(data)
	if err != nil {
		return err
	}
	s.title(doc.Trailer().Key("Info").Key("Title").Text())
	t := &pageTree{sink: s}
	if err := t.walk(doc.Trailer().Key("Root").Key("Pages"), 0); err != nil {
		return err
	}
	if len(t.pages) == 0 {
		return rule.Errorf(rule.CodeInvalid, "the PDF file is damaged: it has no pages")
	}
	w := &pdfWalker{fonts: map[string]*pdfFont{}, limit: s.limits.Characters}
	var damaged, pictures, noted []int
	for i, page := range t.pages {
		w.page = i + 1
		before := len(w.lines)
		whole, err := w.readPage(page)
		switch {
		case err != nil:
			return err
		case !whole:
			damaged = append(damaged, w.page)
		case len(w.lines) == before && slices.ContainsFunc(streams(page.Key("Contents")), hasContent):
			pictures = append(pictures, w.page)
		}
		if hasNotes(page) {
			noted = append(noted, w.page)
		}
	}
	if len(damaged) == len(t.pages) && len(w.lines) == 0 {
		return rule.Errorf(rule.CodeInvalid, "the PDF file is damaged: none of its pages can be read")
	}
	s.unreadPages(damaged, " can be read in part only", " can be read in part only")
	s.unreadPages(pictures, " shows no text and may be a picture of it", " show no text and may be pictures of it")
	s.unreadPages(noted, " has notes or form fields, which are not read", " have notes or form fields, which are not read")
	return layOut(s, w.lines)
}

// maxNotes bounds the annotations of a page that hasNotes looks at.
const maxNotes = 10_000

// hasNotes reports whether a page has annotations with a text of their own: notes, free text, filled form fields.
func hasNotes(page pdf.Value) bool {
	list := page.Key("Annots")
	for i := range min(list.Len(), maxNotes) {
		note := list.Index(i)
		if note.Key("Subtype").Name() == "Link" {
			continue
		}
		if note.Key("Contents").Text() != "" || note.Key("V").Kind() == pdf.String && note.Key("V").Text() != "" {
			return true
		}
	}
	return false
}

// openPDF opens a file, past the small faults that the library is strict about: bytes before the header and behind the
// end, and versions it does not know.
func openPDF(data []byte) (*pdf.Reader, error) {
	start := bytes.Index(data[:min(len(data), 1024)], []byte("%PDF-"))
	end := bytes.LastIndex(data, []byte("%%EOF"))
	if start < 0 || end < start+9 {
		return nil, rule.Errorf(rule.CodeInvalid, "the PDF file is damaged: it ends too early")
	}
	data = bytes.Clone(data[start : end+len("%%EOF")])
	copy(data, "%PDF-1.7\n")
	doc, err := pdf.NewReader(bytes.NewReader(data), int64(len(data)))
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword):
		return nil, rule.Errorf(rule.CodeInvalid, "the PDF file is encrypted; save it without a password")
	case err != nil && bytes.Contains(data, []byte("/Encrypt")):
		return nil, rule.Errorf(rule.CodeInvalid, "the PDF file is encrypted in a way that cannot be read; save it without encryption")
	}
	return doc, err
}

// pageTree finds the pages in their order.
type pageTree struct {
	sink  *sink
	nodes int
	pages []pdf.Value
}

func (t *pageTree) walk(node pdf.Value, depth int) error {
	if t.nodes++; t.nodes > maxTreeNodes || depth > maxTreeDepth {
		return rule.Errorf(rule.CodeTooLarge, "the PDF file has a tree of pages that is too large; split it")
	}
	kids := node.Key("Kids")
	if kids.Kind() != pdf.Array {
		if node.Kind() == pdf.Dict {
			t.pages = append(t.pages, node)
			return t.sink.page(len(t.pages))
		}
		return nil
	}
	for i := range kids.Len() {
		if err := t.walk(kids.Index(i), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// inherited finds an entry of a page or of a node above it.
func inherited(page pdf.Value, key string) pdf.Value {
	for range maxTreeDepth {
		if v := page.Key(key); !v.IsNull() {
			return v
		}
		page = page.Key("Parent")
	}
	return pdf.Value{}
}

// pdfFont is the part of a font that reading its text needs.
type pdfFont struct {
	encoder pdf.TextEncoding
	wide    bool            // codes of two bytes
	widths  map[int]float64 // by code, in thousandths of the size
	other   float64         // width of all other codes
	bold    bool
}

// usualWidth is the width of letters where a font gives none, in thousandths of its size.
const usualWidth = 500

// advance returns how far a string moves on, in thousandths of the size, and how many codes it has.
func (f *pdfFont) advance(raw string) (sum float64, codes int) {
	step := 1
	if f.wide {
		step = 2
	}
	for i := 0; i+step <= len(raw); i += step {
		code := int(raw[i])
		if f.wide {
			code = code<<8 | int(raw[i+1])
		}
		width, ok := f.widths[code]
		if !ok {
			width = f.other
		}
		sum += width
		codes++
	}
	return sum, codes
}

// readFont reads a font's dictionary.
func readFont(v pdf.Value) *pdfFont {
	f := &pdfFont{widths: map[int]float64{}, other: usualWidth, bold: bytes.Contains(bytes.ToLower([]byte(v.Key("BaseFont").Name())), []byte("bold"))}
	font := pdf.Font{V: v}
	f.encoder = font.Encoder()
	if v.Key("Subtype").Name() != "Type0" {
		first, widths := int(v.Key("FirstChar").Int64()), v.Key("Widths")
		for i := range min(widths.Len(), 256) {
			if w := widths.Index(i).Float64(); w > 0 {
				f.widths[first+i] = w
			}
		}
		return f
	}
	f.wide = true
	under := v.Key("DescendantFonts").Index(0)
	if w := under.Key("DW").Float64(); w > 0 {
		f.other = w
	} else {
		f.other = 1000
	}
	f.wideWidths(under.Key("W"))
	return f
}

// wideWidths reads the widths of a font of two-byte codes: "first [w w w]" or "first last w", again and again.
func (f *pdfFont) wideWidths(list pdf.Value) {
	for i := 0; i+1 < list.Len(); {
		first, next := int(list.Index(i).Int64()), list.Index(i+1)
		if next.Kind() == pdf.Array {
			for j := range min(next.Len(), 1<<16) {
				f.widths[first+j] = next.Index(j).Float64()
			}
			i += 2
			continue
		}
		last, width := int(next.Int64()), list.Index(i+2).Float64()
		for code := max(first, 0); code <= min(last, 1<<16); code++ {
			f.widths[code] = width
		}
		i += 3
	}
}

// streams returns the parts of a page's content.
func streams(contents pdf.Value) []pdf.Value {
	if contents.Kind() != pdf.Array {
		return []pdf.Value{contents}
	}
	parts := make([]pdf.Value, 0, min(contents.Len(), 1000))
	for i := range contents.Len() {
		parts = append(parts, contents.Index(i))
	}
	return parts
}

// hasContent reports whether a stream has anything to read.
func hasContent(v pdf.Value) bool {
	if v.Kind() != pdf.Stream {
		return false
	}
	var one [1]byte
	_, err := io.ReadFull(v.Reader(), one[:])
	return err == nil
}
