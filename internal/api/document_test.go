package api

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/api/rest"
	"tenet/internal/document/documenttest"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// formOf is a multipart form: a file, and fields in pairs of name and value. It returns the media type too.
func formOf(t testing.TB, filename string, content []byte, fields ...string) (body []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(fields); i += 2 {
		if err := w.WriteField(fields[i], fields[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if filename != "" {
		part, err := w.CreateFormFile("file", filename)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.FormDataContentType()
}

func (n *node) upload(filename string, content []byte, fields ...string) *reply {
	n.t.Helper()
	body, contentType := formOf(n.t, filename, content, fields...)
	return n.call("POST", documentsPath, body, "Content-Type", contentType)
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	onBoth(t, testDocuments)
}

func testDocuments(t *testing.T, n *node) {
	pdf := documenttest.PDF([]documenttest.Line{{Text: "Payment policy", Size: 20}, {Text: "Pay within 30 days.", Size: 11}})
	word := documenttest.DOCX(documenttest.Paragraph("Heading1", "Travel") + documenttest.Paragraph("", "Fly economy."))
	first := into[wire.Document](n.upload("Zahlung \u00a7.pdf", pdf, "title", "Payments", "document_type", "policy").want(http.StatusCreated))
	if first.Title != "Payments" || first.DocumentType != "policy" || first.Pages != 1 || first.UploadedBy == "" || first.ProjectID != "default" {
		t.Errorf("%+v", first)
	}
	n.upload("travel.docx", word).want(http.StatusCreated)
	n.upload("page.html", []byte("<!doctype html><p>Text.")).want(http.StatusCreated)
	last := into[wire.Document](n.upload("notes.txt", []byte("Only text.")).want(http.StatusCreated))

	page := into[wire.Page[wire.Document]](n.call("GET", documentsPath+"?page_size=2", nil).want(http.StatusOK))
	if page.Total != 4 || len(page.Items) != 2 || page.Items[0].ID != last.ID {
		t.Errorf("%+v", page)
	}
	got := into[wire.Document](n.call("GET", documentsPath+"/"+strings.ToUpper(first.ID), nil).want(http.StatusOK))
	if diff := cmp.Diff(first, got); diff != "" {
		t.Errorf("(-uploaded +got)\n%s", diff)
	}
	content := n.call("GET", documentsPath+"/"+first.ID+"/content", nil).want(http.StatusOK)
	if !bytes.Equal(content.body, pdf) {
		t.Errorf("%d bytes, want %d", len(content.body), len(pdf))
	}
	for name, want := range map[string]string{
		"Content-Type": "application/pdf", "Content-Disposition": `attachment; filename*=utf-8''Zahlung%20%C2%A7.pdf`,
		"Content-Security-Policy": filePolicy, "X-Content-Type-Options": "nosniff",
	} {
		if got := content.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	text := n.call("GET", documentsPath+"/"+first.ID+"/content?format=text", nil).want(http.StatusOK)
	if string(text.body) != "Payment policy\n\nPay within 30 days." || text.header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%q as %s", text.body, text.header.Get("Content-Type"))
	}

	if p := n.upload("again.pdf", pdf).wantProblem(http.StatusConflict, rule.CodeConflict); !strings.Contains(p.Detail, first.ID) {
		t.Errorf("detail %q does not name the document", p.Detail)
	}
	n.call("DELETE", documentsPath+"/"+first.ID, nil).want(http.StatusNoContent)
	for _, target := range []string{first.ID, "x", first.ID + "/content", first.ID + "/content?format=text"} {
		n.call("GET", documentsPath+"/"+target, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	}
	n.call("DELETE", documentsPath+"/"+first.ID, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
}

func TestUploadsInProjects(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.makeProject("pay")
	made := into[wire.Document](n.upload("a.txt", []byte("Text."), "project_id", "pay").want(http.StatusCreated))
	if made.ProjectID != "pay" {
		t.Errorf("%+v", made)
	}
	n.call("GET", documentsPath+"/"+made.ID, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("GET", documentsPath+"/"+made.ID+"?project_id=pay", nil).want(http.StatusOK)
	n.upload("a.txt", []byte("Text."), "project_id", "none").wantProblem(http.StatusNotFound, rule.CodeNotFound)
	body, contentType := formOf(t, "a.txt", []byte("x"), "project_id", "hr")
	n.call("POST", documentsPath+"?project_id=pay", body, "Content-Type", contentType).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "project_id")
	n.makeKey("admin", store.AllProjects)
	n.key = n.makeKey("reviewer", "pay")
	n.upload("b.txt", []byte("Other text."), "project_id", "default").wantProblem(http.StatusForbidden, rule.CodeForbidden)
}

func TestBadUploads(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.upload("a.png", []byte("\x89PNG\r\n\x1a\n\x00")).wantProblem(http.StatusUnsupportedMediaType, rule.CodeInvalid, "file")
	n.upload("a.doc", []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")).wantProblem(http.StatusUnsupportedMediaType, rule.CodeInvalid, "file")
	n.upload("a.pdf", []byte("text")).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "file")
	n.upload("a.pdf", []byte("%PDF-1.4\n%%EOF")).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "file")
	n.upload("a.txt", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "file")
	n.upload("", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "file")
	n.upload("a.txt", []byte("x"), "titel", "y").wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "titel")
	n.upload("a.txt", []byte("x"), "title", "y", "title", "z").wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "title")
	n.upload("a.txt", []byte("x"), "title", strings.Repeat("x", 301)).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "title")
	n.upload("a.txt", []byte("x"), "title", strings.Repeat("x", 8<<10+1)).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "title")
	n.upload("a.txt", []byte("x"), "title", "\xff").wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "title")
	n.call("POST", documentsPath, "{}", "Content-Type", jsonType).wantProblem(http.StatusUnsupportedMediaType, rule.CodeInvalid, "Content-Type")
	n.call("POST", documentsPath, "x", "Content-Type", "multipart/form-data").wantProblem(http.StatusUnsupportedMediaType, rule.CodeInvalid, "Content-Type")
	body, contentType := formOf(t, "a.txt", []byte("x"))
	n.call("POST", documentsPath, body, "Content-Type", contentType, "Content-Encoding", "gzip").wantProblem(http.StatusUnsupportedMediaType, rule.CodeInvalid)
	for _, broken := range [][]byte{body[:len(body)-10], nil, []byte("no form"), bytes.ReplaceAll(body, []byte("\r\n\r\n"), []byte("\x00"))} {
		n.call("POST", documentsPath, broken, "Content-Type", contentType).wantProblem(http.StatusBadRequest, rule.CodeInvalid)
	}
	var many []string
	for i := range 21 {
		many = append(many, fmt.Sprint("f", i), "x")
	}
	n.upload("a.txt", []byte("x"), many...).wantProblem(http.StatusBadRequest, rule.CodeInvalid)
	if page := into[wire.Page[wire.Document]](n.call("GET", documentsPath, nil).want(http.StatusOK)); page.Total != 0 {
		t.Errorf("%d documents are left", page.Total)
	}
}

func TestLargeUploads(t *testing.T) {
	t.Parallel()
	n := newNode(t, func(c *config) { c.Limits.MaxBody, c.Limits.MaxDocument = 1<<10, 100<<10 })
	srv := httptest.NewServer(n)
	defer srv.Close()
	for size, want := range map[int]int{100<<10 - 100: http.StatusCreated, 200 << 10: http.StatusRequestEntityTooLarge} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"with length": func(r io.Reader) io.Reader { return r },
			"chunked":     func(r io.Reader) io.Reader { return io.MultiReader(r) },
		} {
			body, contentType := formOf(t, "a.txt", bytes.Repeat(fmt.Appendf(nil, "%-9.9s ", name), size/10))
			res, err := srv.Client().Post(srv.URL+documentsPath, contentType, wrap(bytes.NewReader(body)))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != want {
				t.Errorf("%d bytes %s: %d, want %d: %s, error %v", size, name, res.StatusCode, want, rest.Clip(string(answer), 300), err)
			}
			_ = res.Body.Close()
		}
	}
}

func TestSlowUpload(t *testing.T) {
	t.Parallel()
	n := newNode(t, func(c *config) { c.Limits.BodyTimeout = 20 * time.Millisecond })
	srv := httptest.NewServer(n)
	defer srv.Close()
	got := exchangeRaw(t, srv.Listener.Addr().String(),
		"POST "+documentsPath+" HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000\r\n\r\n--b\r\nContent-Disp")
	if got.status != http.StatusRequestTimeout || !strings.Contains(got.body, `"invalid"`) {
		t.Errorf("%+v", got)
	}
}

func TestDocumentSearches(t *testing.T) {
	t.Parallel()
	onBoth(t, testDocumentSearches)
}

func testDocumentSearches(t *testing.T, n *node) {
	one := into[wire.Document](n.upload("keys.md", []byte("# Keys\n\nSecrets are rotated every year.\n")).want(http.StatusCreated))
	n.upload("cash.txt", []byte("Cash is refused every year.")).want(http.StatusCreated)
	created := into[rule.Rule](n.call("POST", rulesPath, map[string]any{
		"statement": "Secrets must be rotated.", "source_refs": []any{map[string]any{"kind": "document", "document_id": one.ID, "section": "Keys"}},
	}).want(http.StatusCreated))

	for path, mode := range map[string]wire.SearchMode{"/documents/fulltext": wire.Keyword, "/documents/hybrid": wire.Keyword, "/documents": ""} {
		found := into[wire.DocumentSearchPage](n.call("POST", searchPath+path, map[string]any{"query": "rotated year", "page_size": 1}).want(http.StatusOK))
		if found.Total != 2 || len(found.Items) != 1 || found.Page != 1 || found.PageSize != 1 || found.Query != "rotated year" || found.Mode != mode ||
			(found.Degraded != nil) != (path == "/documents/hybrid") {
			t.Errorf("%s: %+v", path, found)
			continue
		}
		it := found.Items[0]
		if it.DocumentID != one.ID || it.Snippet != "Keys Secrets are rotated every year." || it.Score <= 0 || len(it.Highlights) != 2 {
			t.Errorf("%s: %+v", path, it)
		}
		if path == "/documents" && (it.RulesExtracted == nil || *it.RulesExtracted != 1) {
			t.Errorf("%s: rules_extracted is missing or wrong: %+v", path, it)
		}
		beyond := into[wire.DocumentSearchPage](n.call("POST", searchPath+path, map[string]any{"query": "year", "page": 9}).want(http.StatusOK))
		if beyond.Total != 2 || len(beyond.Items) != 0 || beyond.Page != 9 || beyond.PageSize != 20 {
			t.Errorf("%s beyond the end: %+v", path, beyond)
		}
		for _, query := range []string{`"`, "a AND OR NOT (", "😀", "*:*", strings.Repeat("long ", 400)} {
			n.call("POST", searchPath+path, map[string]any{"query": query}).want(http.StatusOK)
		}
		n.call("POST", searchPath+path, map[string]any{"query": "x", "page_size": 101}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "page_size")
		n.call("POST", searchPath+path, map[string]any{"query": "x", "page": 0}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "page")
		n.call("POST", searchPath+path+"?project_id=none", map[string]any{"query": "x"}).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	}
	n.call("POST", searchPath+"/documents/fulltext", map[string]any{"query": ""}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "query")
	n.call("POST", searchPath+"/documents/fulltext", map[string]any{}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "query")
	all := into[wire.DocumentSearchPage](n.call("POST", searchPath+"/documents", map[string]any{}).want(http.StatusOK))
	if all.Total != 2 || all.Items[0].Filename != "cash.txt" {
		t.Errorf("without a query: %+v", all)
	}
	p := n.call("POST", searchPath+"/documents/vector", map[string]any{"query": "x"}).wantProblem(http.StatusServiceUnavailable, rule.CodeUnavailable)
	if !strings.Contains(p.Detail, "TENET_EMBEDDING_MODEL") {
		t.Errorf("detail %q does not say what to do", p.Detail)
	}

	sourced := into[wire.SourcedRules](n.call("POST", searchPath+"/by-source-document", map[string]any{"document_id": one.ID}).want(http.StatusOK))
	if sourced.Total != 1 || sourced.Items[0].Rule.ID != created.ID || sourced.Document.ID != one.ID || sourced.Document.RulesExtracted != 1 {
		t.Errorf("%+v", sourced)
	}
	n.call("DELETE", documentsPath+"/"+one.ID, nil).want(http.StatusNoContent)
	n.call("POST", searchPath+"/by-source-document", map[string]any{"document_id": one.ID}).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("POST", searchPath+"/by-source-document", map[string]any{"document_id": "x"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "document_id")
	left := into[rule.Rule](n.call("GET", rulesPath+"/"+url.PathEscape(created.ID), nil).want(http.StatusOK))
	if len(left.SourceRefs) != 1 || left.SourceRefs[0].DocumentID != one.ID {
		t.Errorf("the rule lost its source: %+v", left.SourceRefs)
	}
}
