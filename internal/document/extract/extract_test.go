package extract

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/document/documenttest"
	"tenet/internal/rule"
)

// run reads a file in this process: one of its own each time would make these tests slow. That Run answers the same is for
// [TestRun] to show.
func run(t *testing.T, f Format, data []byte) *Result {
	t.Helper()
	r, err := read(f, data, Limits{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// outline is a result with its headings marked.
func outline(r *Result) []string {
	var list []string
	for _, b := range r.Blocks {
		list = append(list, strings.TrimLeft(strings.Repeat("#", b.Heading)+" "+b.Text, " "))
	}
	return list
}

func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPDF(t *testing.T) {
	r := run(t, PDF, documenttest.PDF(
		[]documenttest.Line{
			{Text: "Payment policy", Size: 20},
			{Text: "1. Limits", Size: 11, Bold: true},
			{Text: "Payments above 10,000 EUR need two ap-", Size: 11},
			{Text: "provals (see annex).", Size: 11},
			{Text: "- Cash is never accepted.", Size: 11},
		},
		[]documenttest.Line{{Text: "Exceptions", Size: 14}, {Text: "The board may grant exceptions.", Size: 11}},
	))
	same(t, []string{
		"# Payment policy", "### 1. Limits", "Payments above 10,000 EUR need two approvals (see annex).", "- Cash is never accepted.",
		"## Exceptions", "The board may grant exceptions.",
	}, outline(r))
	if last := r.Blocks[len(r.Blocks)-1]; r.Pages != 2 || last.Page != 2 || r.Blocks[0].Page != 1 {
		t.Errorf("%d pages, the first block on page %d, the last on %d", r.Pages, r.Blocks[0].Page, last.Page)
	}
}

// Text that is placed piece by piece is put together by where it stands.
func TestPDFPositions(t *testing.T) {
	r := run(t, PDF, documenttest.PDFOf("",
		"q 1 0 0 1 50 0 cm BT /F1 10 Tf 1 0 0 1 20 700 Tm [(Ke) 20 (ys) -400 (must)] TJ ET Q "+
			"BT /F1 10 Tf 14 TL 140 700 Td (rotate.) Tj T* (And never leak.) Tj 0 -100 Td (Far below.) Tj (half", "BT /F1 10 Tf 10 10 Td (whole) Tj ET"))
	got := outline(r)
	if len(got) < 2 || !strings.HasPrefix(got[0], "Keys must rotate.") || !strings.Contains(strings.Join(got, "\n"), "Far below.") || got[len(got)-1] != "whole" {
		t.Errorf("%q", got)
	}
}

func TestWord(t *testing.T) {
	p := documenttest.Paragraph
	cell := func(text string) string { return "<w:tc>" + p("", text) + "</w:tc>" }
	r := run(t, DOCX, documenttest.DOCX(
		p("Heading1", "Security")+p("Clause", "Passwords &amp; keys")+
			`<w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs><w:numPr/></w:pPr><w:r><w:t>Rotate </w:t></w:r><w:del><w:r><w:delText>never</w:delText><w:t>gone</w:t></w:r></w:del><w:r><w:t>keys</w:t><w:br/><w:t>yearly.</w:t></w:r></w:p>`+
			"<w:tbl><w:tr>"+cell("Role")+cell("May")+"</w:tr><w:tr>"+cell("Clerk")+"<w:tc><w:tbl><w:tr>"+cell("pay")+cell("book")+"</w:tr></w:tbl></w:tc></w:tr></w:tbl>"+
			`<mc:AlternateContent><mc:Choice>`+p("", "once")+`</mc:Choice><mc:Fallback>`+p("", "twice")+`</mc:Fallback></mc:AlternateContent>`+
			`<w:p><w:r><w:lastRenderedPageBreak/><w:t>Next page.</w:t></w:r></w:p>`))
	same(t, []string{
		"# Security", "## Passwords & keys", "- Rotate keys\nyearly.", "Role | May", "Clerk | pay | book", "once", "Next page.",
	}, outline(r))
	if last := r.Blocks[len(r.Blocks)-1]; r.Pages != 2 || last.Page != 2 {
		t.Errorf("%d pages, the last block on page %d", r.Pages, last.Page)
	}
}

// TestUnread has documents of which the text is not all.
func TestUnread(t *testing.T) {
	text := "BT /F1 11 Tf 72 700 Td (Pay late.) Tj ET"
	noted := documenttest.PDFObjects("",
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> /Annots [<< /Subtype /FreeText /Contents (Never mind.) >>] >>",
		documenttest.Stream(text), "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	for name, tt := range map[string]struct {
		format Format
		data   []byte
		want   string
	}{
		"a page that is a picture": {PDF, documenttest.PDFOf("", text, "q 500 0 0 700 0 0 cm /Im1 Do Q"), "page 2 shows no text and may be a picture of it"},
		"several":                  {PDF, documenttest.PDFOf("", "0 0 10 10 re f", text, "0 0 10 10 re f"), "pages 1, 3 show no text and may be pictures of it"},
		"an empty page":            {PDF, documenttest.PDFOf("", text, ""), ""},
		"a note":                   {PDF, noted, "page 1 has notes or form fields, which are not read"},
		"all of it":                {PDF, documenttest.PDFOf("", text), ""},
	} {
		if got := run(t, tt.format, tt.data).Unread; got != tt.want {
			t.Errorf("%s: unread %q, want %q", name, got, tt.want)
		}
	}
}

// TestWordBesideThePages has text in parts beside that of the pages.
func TestWordBesideThePages(t *testing.T) {
	part := func(root, text string) string {
		return `<w:` + root + ` xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">` + documenttest.Paragraph("", text) + `</w:` + root + `>`
	}
	r := run(t, DOCX, documenttest.Zip(map[string]string{
		"[Content_Types].xml":   "<Types/>",
		"word/document.xml":     part("body", "Pay in time."),
		"word/footnotes.xml":    part("footnotes", "Unless told otherwise."),
		"word/header1.xml":      part("hdr", "Confidential"),
		"word/comments.xml":     part("comments", "Is this so?"),
		"word/embeddings/a.bin": "x", "word/charts/chart1.xml": "<c/>",
	}))
	same(t, []string{"Pay in time.", "Is this so?", "Unless told otherwise.", "Confidential"}, texts(r))
	if want := "it holds charts, embedded objects, which are not read"; r.Unread != want {
		t.Errorf("unread %q, want %q", r.Unread, want)
	}
}

func texts(r *Result) (list []string) {
	for _, b := range r.Blocks {
		list = append(list, b.Text)
	}
	return list
}

func TestHTML(t *testing.T) {
	r := run(t, HTML, []byte(`<!doctype html><html><head><title>Travel &amp; more</title><style>p{x:y}</style>
<script>document.write("<p>not this</p>")</script></head><body onload="evil()">
<h1>Travel
   rules</h1><p>Book <b>economy</b> class.<br>Always.</p><!-- nor this -->
<svg><text>nor that</text></svg><ul><li>Keep receipts</li><li></li></ul>
<table><tr><th>City</th><th>Limit</th></tr><tr><td>Oslo</td><td>200</td></tr></table>
<pre>a  b
c</pre>tail</body></html>`))
	same(t, []string{
		"# Travel rules", "Book economy class.\nAlways.", "- Keep receipts", "City | Limit", "Oslo | 200", "a  b\nc", "tail",
	}, outline(r))
	if r.Title != "Travel & more" || r.Blocks[0].Line != 3 {
		t.Errorf("title %q, the heading on line %d", r.Title, r.Blocks[0].Line)
	}
}

func TestMarkdown(t *testing.T) {
	r := run(t, Markdown, []byte("---\nowner: sec\n---\n# Keys\n\nNever *commit* a [key](http://x.test) or `.env`;\nask.\n\n- rotate\n- revoke\n\n  at once\n\n"+
		"Sub\n---\n\n| a | b |\n|---|---|\n| 1 \\| 2 | 3 |\n\n```sh\nrm -rf x\n```\n\n<div><script>x()</script>in html</div>\n\n> quoted \\*text\\*\n"))
	same(t, []string{
		"owner: sec", "# Keys", "Never commit a key or .env; ask.", "- rotate", "- revoke", "at once", "## Sub", "a | b", "1 | 2 | 3",
		"rm -rf x", "in html", "quoted *text*",
	}, outline(r))
	if r.Blocks[1].Line != 4 || r.Blocks[2].Line != 6 {
		t.Errorf("the heading on line %d, the text on line %d", r.Blocks[1].Line, r.Blocks[2].Line)
	}
}

func TestRun(t *testing.T) {
	for f, data := range map[Format][]byte{
		Text: []byte("One\nline."), HTML: []byte("<title>t</title><h1>One</h1><p>line</p>"), Markdown: []byte("# One\n\nline"),
		PDF: documenttest.PDF([]documenttest.Line{{Text: "One line.", Size: 11}}), DOCX: documenttest.DOCX(documenttest.Paragraph("", "One line.")),
	} {
		got, err := Run(t.Context(), f, data, Limits{})
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		same(t, run(t, f, data), got)
	}
}

func TestText(t *testing.T) {
	r := run(t, Text, []byte("One\r\nline.\r\n\r\nTwo.\fThree."))
	same(t, []Block{{Text: "One\nline.", Page: 1, Line: 1}, {Text: "Two.", Page: 1, Line: 4}, {Text: "Three.", Page: 2, Line: 4}}, r.Blocks)
	for name, data := range map[string]string{
		"UTF-8": "Gr\u00fc\u00dfe", "marked UTF-8": "\xef\xbb\xbfGr\u00fc\u00dfe", "Latin-1": "Gr\xfc\xdfe", "decomposed": "Gru\u0308\u00dfe",
		"UTF-16, little end": "\xff\xfeG\x00r\x00\xfc\x00\xdf\x00e\x00", "UTF-16, big end": "\xfe\xff\x00G\x00r\x00\xfc\x00\xdf\x00e",
	} {
		t.Run(name, func(t *testing.T) {
			if f, err := Sniff("a.txt", []byte(data)); f != Text || err != nil {
				t.Errorf("sniffed as %q, %v", f, err)
			}
			same(t, "Gr\u00fc\u00dfe", run(t, Text, []byte(data)).Blocks[0].Text)
		})
	}
}

func TestSniff(t *testing.T) {
	pdf, docx := string(documenttest.PDF([]documenttest.Line{{Text: "x", Size: 9}})), string(documenttest.DOCX(""))
	for _, tt := range []struct {
		name, data string
		want       Format
	}{
		{"a.pdf", pdf, PDF},
		{"A.PDF", "\n" + pdf, PDF},
		{"noname", pdf, PDF},
		{"a.docx", docx, DOCX},
		{"", docx, DOCX},
		{"a.docx", string(documenttest.Zip(map[string]string{"word/document2.xml": "<d/>"})), DOCX},
		{"a.html", "<p>part</p>", HTML},
		{"a", "<!-- c --> <!DOCTYPE HTML>", HTML},
		{"a.xhtml", "<?xml version='1.0'?><html>", HTML},
		{"AGENTS.md", "# a", Markdown},
		{"a.markdown", "a", Markdown},
		{"a.txt", "a", Text},
		{"LICENSE", "a", Text},
		{"a.log", "a", Text},
	} {
		if got, err := Sniff(tt.name, []byte(tt.data)); got != tt.want || err != nil {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
	for _, tt := range []struct {
		name, data, want string
		unsupported      bool
	}{
		{"a.txt", pdf, "holds PDF", false},
		{"a.pdf", "just text", "holds text", false},
		{"a.docx", "<!doctype html>", "holds HTML", false},
		{"a.md", "<html>", "holds HTML", false},
		{"a.pdf", "", "empty", false},
		{"a.txt", " \n", "empty", false},
		{"a.docx", string(documenttest.Zip(map[string]string{"xl/workbook.xml": "x"})), "does not hold Word", true},
		{"a.doc", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest", "encrypted Office", true},
		{"a.rtf", `{\rtf1}`, "RTF", true},
		{"a.png", "\x89PNG\r\n\x1a\n\x00\x00", "binary", true},
		{"a.txt", "\x7fELF\x00\x01", "binary", true},
		{"a.zip", "PK\x03\x04junk", "damaged zip", true},
	} {
		_, err := Sniff(tt.name, []byte(tt.data))
		if rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), tt.want) || errors.Is(err, ErrUnsupported) != tt.unsupported {
			t.Errorf("%s of %.10q: %v, want one with %q", tt.name, tt.data, err, tt.want)
		}
	}
}

func TestTheReadingProcessIsAlone(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "not for readers")
	cmd, err := command(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	same(t, []string{childVariable + "=x"}, cmd.Env)
}

func TestCancelling(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, Text, []byte("x"), Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := Run(t.Context(), PDF, endless(), Limits{Time: 300 * time.Millisecond}); rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), "takes longer") {
		t.Errorf("a file that is read for ever: %v", err)
	}
}
