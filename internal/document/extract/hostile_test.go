package extract

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tenet/internal/document/documenttest"
	"tenet/internal/rule"
)

// endless is a PDF whose list of former tables is a circle, which the library follows for ever.
func endless() []byte {
	plain := documenttest.PDFOf("", "BT ET")
	at := bytes.LastIndex(plain, []byte("xref\n0"))
	return documenttest.PDFOf(fmt.Sprintf("/Prev %d", at), "BT ET")
}

// bomb is a stream that unpacks to n bytes of the given content, again and again.
func bomb(n int, content string) string { return strings.Repeat(content, n/len(content)) }

func TestHostileFiles(t *testing.T) {
	text := documenttest.PDF([]documenttest.Line{{Text: "Sound.", Size: 11}})
	pages := make([]string, 60)
	for i := range pages {
		pages[i] = "BT /F1 9 Tf 9 9 Td (x) Tj ET"
	}
	small := Limits{Pages: 50, Characters: 100_000, Inflated: 2 << 20, Memory: 160 << 20, Time: 2 * time.Minute}
	p := documenttest.Paragraph
	for name, tt := range map[string]struct {
		format Format
		data   []byte
		code   rule.Code
		want   string
	}{
		"pdf: only a header":     {PDF, []byte("%PDF-1.4\n"), rule.CodeInvalid, "ends too early"},
		"pdf: cut":               {PDF, append(bytes.Clone(text[:len(text)/2]), "\nstartxref\n9\n%%EOF"...), rule.CodeInvalid, "damaged"},
		"pdf: encrypted":         {PDF, documenttest.PDFOf("/Encrypt<</Filter/Standard/V 1/R 2/O(x)/U(y)/P -4>>/ID[(a)(b)]", "BT ET"), rule.CodeInvalid, "encrypted"},
		"pdf: many pages":        {PDF, documenttest.PDFOf("", pages...), rule.CodeTooLarge, "more than 50 pages"},
		"pdf: pages in a circle": {PDF, documenttest.PDFObjects("", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[2 0 R 2 0 R]/Count 9>>"), rule.CodeTooLarge, "tree of pages"},
		"pdf: no pages":          {PDF, documenttest.PDFObjects("", "<</Type/Catalog>>"), rule.CodeInvalid, "no pages"},
		"pdf: no text":           {PDF, documenttest.PDFOf("", "0 0 10 10 re f"), rule.CodeInvalid, "no text"},
		"pdf: bomb of text":      {PDF, documenttest.PDFOf("", "BT /F1 9 Tf "+bomb(1<<20, "(aaaaaaaaaaaaaaaa) Tj ")), rule.CodeTooLarge, "characters"},
		"pdf: bomb of operands":  {PDF, documenttest.PDFOf("", bomb(8<<20, "1 ")), rule.CodeTooLarge, "memory"},
		"pdf: deep arrays":       {PDF, documenttest.PDFOf("", bomb(1<<20, "[")), "", ""},
		"pdf: a form in itself": {PDF, documenttest.PDFObjects("", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
			"<</Type/Page/Resources<</XObject<</X 4 0 R>>>>/Contents 4 0 R>>", "<</Type/XObject/Subtype/Form/Length 12>>\nstream\n/X Do /X Do  \nendstream"), rule.CodeInvalid, "no text"},
		"docx: no zip":        {DOCX, []byte("PK\x03\x04"), rule.CodeInvalid, "no whole zip"},
		"docx: broken XML":    {DOCX, documenttest.DOCX("<w:p"), rule.CodeInvalid, "not valid XML"},
		"docx: zip bomb":      {DOCX, documenttest.DOCX(bomb(3<<20, "<w:x/>")), rule.CodeTooLarge, "zip bomb"},
		"docx: bomb of text":  {DOCX, documenttest.DOCX(p("", bomb(1<<20, "text "))), rule.CodeTooLarge, "characters"},
		"docx: deep":          {DOCX, documenttest.DOCX(bomb(1<<20, "<w:p>")), rule.CodeInvalid, "nests"},
		"docx: entities":      {DOCX, documenttest.DOCX(p("", "&lol9;")), rule.CodeInvalid, "not valid XML"},
		"docx: styles circle": {DOCX, circle(), rule.CodeInvalid, "no text"},
		"docx: many pages":    {DOCX, documenttest.DOCX(bomb(2400, "<w:lastRenderedPageBreak/>")), rule.CodeTooLarge, "pages"},
		"docx: encrypted":     {DOCX, encryptedZip(t), rule.CodeInvalid, "encrypted"},
		"html: deep":          {HTML, []byte(bomb(1<<20, "<div>")), rule.CodeInvalid, "no text"},
		"html: long tag":      {HTML, []byte("<p " + bomb(9<<20, "a=b ")), rule.CodeTooLarge, "tag"},
		"html: only scripts":  {HTML, []byte("<html><script>" + bomb(1<<20, "x()") + "</script>"), rule.CodeInvalid, "no text"},
		"html: much text":     {HTML, []byte(bomb(1<<20, "<b>text</b> ")), rule.CodeTooLarge, "characters"},
		"md: much text":       {Markdown, []byte(bomb(1<<20, "text\n\n")), rule.CodeTooLarge, "characters"},
		"md: deep quotes":     {Markdown, []byte(bomb(1<<13, "> ")), "", ""},
		"txt: many pages":     {Text, []byte(bomb(200, "x\f")), rule.CodeTooLarge, "pages"},
		"txt: only controls":  {Text, []byte("\x01\x02"), rule.CodeInvalid, "no text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := Run(t.Context(), tt.format, tt.data, small)
			switch {
			case tt.code != "" && (rule.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v of code %q, want %s with %q", err, rule.CodeOf(err), tt.code, tt.want)
			case tt.code == "" && err != nil && rule.CodeOf(err) == rule.CodeInternal:
				t.Errorf("error %v", err)
			case err == nil && result == nil:
				t.Error("neither a result nor an error")
			}
		})
	}
}

func circle() []byte {
	return documenttest.Zip(map[string]string{
		"word/styles.xml":   `<s><style styleId="a"><basedOn val="b"/></style><style styleId="b"><basedOn val="a"/></style></s>`,
		"word/document.xml": `<d><p><pPr><pStyle val="a"/></pPr></p></d>`,
	})
}

func encryptedZip(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.CreateRaw(&zip.FileHeader{Name: "word/document.xml", Flags: 1})
	if err == nil {
		_, err = f.Write(nil)
	}
	if err = joinErr(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func joinErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// A process that ends without an answer, as one does that the library has brought down, is a damaged file and no fault.
func TestChildWithoutTaskFails(t *testing.T) {
	var out bytes.Buffer
	if code := child("no json", strings.NewReader(""), &out); code != childFailed || out.Len() > 0 {
		t.Errorf("exit code %d, output %q", code, &out)
	}
	cmd, err := command(t.Context(), "no json")
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != childFailed {
		t.Errorf("%v", err)
	}
}

// fuzzed checks what holds for every file: an answer that fits the limits, or an error of the caller's.
func fuzzed(t *testing.T, f Format, data []byte) {
	l := Limits{Pages: 20, Characters: 20_000, Inflated: 1 << 20, Memory: 512 << 20, Time: 20 * time.Second}
	result, err := read(f, data, l.withDefaults())
	if err != nil {
		if c := rule.CodeOf(err); c != rule.CodeInvalid && c != rule.CodeTooLarge {
			t.Fatalf("error %v of code %q", err, c)
		}
		return
	}
	count := 0
	for _, b := range result.Blocks {
		count += len([]rune(b.Text))
		if b.Text == "" || strings.TrimSpace(b.Text) != b.Text || strings.ContainsRune(b.Text, 0) || b.Heading < 0 || b.Heading > 6 || b.Line < 0 || b.Page < 0 {
			t.Fatalf("block %+v", b)
		}
	}
	if count > l.Characters || result.Pages > l.Pages {
		t.Fatalf("%d characters on %d pages", count, result.Pages)
	}
	if _, err := json.Marshal(result); err != nil {
		t.Fatal(err)
	}
}

func FuzzDOCXBody(f *testing.F) {
	f.Add(documenttest.Paragraph("Heading1", "x") + "<w:tbl><w:tr><w:tc/></w:tr></w:tbl><w:del><w:t>")
	f.Add("</w:p></w:tr></w:t><w:t>x<w:p><w:p></w:p><w:tr><w:p>")
	f.Fuzz(func(t *testing.T, body string) { fuzzed(t, DOCX, documenttest.DOCX(body)) })
}

func FuzzDOCX(f *testing.F) {
	f.Add(documenttest.DOCX(documenttest.Paragraph("", "x")))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzed(t, DOCX, data) })
}

func FuzzHTML(f *testing.F) {
	f.Add([]byte("<title>a</title><h1>b<p>c<li><td>d<pre> e</pre><script>x</script><svg><svg></svg>f"))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzed(t, HTML, data) })
}

func FuzzMarkdown(f *testing.F) {
	f.Add([]byte("---\na\n---\n# b\n- c\n\n| a |\n|---|\n| b |\n```\nx\n```\n<div>\n\\* <http://x>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 10_000 { // the parser is slow where brackets are many; Run bounds its time
			fuzzed(t, Markdown, data)
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add([]byte("a\n\nb\fc\r\nd"))
	f.Add([]byte("\xff\xfea\x00"))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzed(t, Text, data) })
}

// The content of a page is what the library leaves to us. Whole files go to it in a process of their own, as in service:
// it may run for ever on them.
func FuzzPDFContent(f *testing.F) {
	f.Add("BT /F1 9 Tf 9 9 Td (x) Tj [(a) -400 (b)] TJ T* (c) ' 1 2 (d) \" ET q 1 0 0 1 9 9 cm Q Q")
	f.Fuzz(func(t *testing.T, content string) {
		if len(content) < 10_000 {
			fuzzed(t, PDF, documenttest.PDFOf("", content))
		}
	})
}

func FuzzPDF(f *testing.F) {
	f.Add(documenttest.PDF([]documenttest.Line{{Text: "x", Size: 9}}))
	f.Add(endless())
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := Run(t.Context(), PDF, data, Limits{Time: time.Second, Memory: 256 << 20})
		if c := rule.CodeOf(err); err != nil && c != rule.CodeInvalid && c != rule.CodeTooLarge {
			t.Fatalf("error %v of code %q", err, c)
		}
	})
}

// A reading process whose parent has been killed ends by itself.
func TestAnOrphanEnds(t *testing.T) {
	spec, err := json.Marshal(task{PDF, Limits{Time: 100 * time.Millisecond}.withDefaults()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd, err := command(ctx, string(spec))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = bytes.NewReader(endless())
	if exited, ok := errors.AsType[*exec.ExitError](cmd.Run()); !ok || exited.ExitCode() != childLate {
		t.Errorf("it ended with %v, want the exit code %d", exited, childLate)
	}
}
