// Package documenttest makes small documents for tests: PDF and Word files, sound ones and hostile ones.
package documenttest

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
)

// Line is a line of a PDF page.
type Line struct {
	Text string
	Size float64 // of the letters, in points
	Bold bool
}

// PDF makes a file with the given pages, whose lines stand one below another.
func PDF(pages ...[]Line) []byte {
	contents := make([]string, len(pages))
	for i, lines := range pages {
		var b strings.Builder
		b.WriteString("BT\n72 760 Td\n")
		for _, l := range lines {
			font := "F1"
			if l.Bold {
				font = "F2"
			}
			escaped := strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(l.Text)
			fmt.Fprintf(&b, "/%s %g Tf\n0 %g Td\n(%s) Tj\n", font, l.Size, -1.4*l.Size, escaped)
		}
		b.WriteString("ET\n")
		contents[i] = b.String()
	}
	return PDFOf("", contents...)
}

// PDFOf makes a file of pages with the given content streams. More is added to the trailer.
func PDFOf(more string, contents ...string) []byte {
	const firstPage = 5 // objects 1 to 4 are the catalog, the tree of pages and two fonts
	var kids strings.Builder
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R>>", "",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold/Encoding/WinAnsiEncoding>>",
	}
	for i, content := range contents {
		page := firstPage + 2*i
		fmt.Fprintf(&kids, "%d 0 R ", page)
		objects = append(objects,
			fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R/F2 4 0 R>>>>/Contents %d 0 R>>", page+1),
			Stream(content))
	}
	objects[1] = fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d>>", kids.String(), len(contents))
	return PDFObjects(more, objects...)
}

// Stream is a compressed stream object.
func Stream(content string) string {
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	_, _ = w.Write([]byte(content)) // to memory
	_ = w.Close()
	return fmt.Sprintf("<</Length %d/Filter/FlateDecode>>\nstream\n%s\nendstream", packed.Len(), packed.String())
}

// PDFObjects makes a file of objects, numbered from 1; the first is the catalog. More is added to the trailer.
func PDFObjects(more string, objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	offsets := make([]int, len(objects))
	for i, o := range objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, more, at)
	return b.Bytes()
}

// Styles is a word/styles.xml with the built-in headings, one of them under another name.
const Styles = `<?xml version="1.0"?><w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">
<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>
<w:style w:type="paragraph" w:styleId="Clause"><w:name w:val="Clause"/><w:basedOn w:val="berschrift2"/></w:style>
</w:styles>`

// Paragraph is a paragraph of a Word body; an empty style is normal text.
func Paragraph(style, text string) string {
	if style != "" {
		style = `<w:pPr><w:pStyle w:val="` + style + `"/></w:pPr>`
	}
	return "<w:p>" + style + `<w:r><w:t xml:space="preserve">` + text + "</w:t></w:r></w:p>"
}

// DOCX makes a Word file with a body.
func DOCX(body string) []byte {
	return Zip(map[string]string{
		"[Content_Types].xml": `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
		"word/styles.xml":     Styles,
		"word/document.xml": `<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>` +
			body + "</w:body></w:document>",
	})
}

// Zip makes a zip archive of files.
func Zip(files map[string]string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range files {
		f, err := w.Create(name)
		if err != nil {
			panic(err) // to memory, so only a bad name could be to blame
		}
		_, _ = f.Write([]byte(content))
	}
	_ = w.Close()
	return b.Bytes()
}
