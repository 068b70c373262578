package client

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"tenet/internal/document"
)

func TestDocumentCalls(t *testing.T) {
	var target, body string
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		target, body = r.Method+" "+r.URL.RequestURI(), ""
		if file, header, err := r.FormFile("file"); err == nil {
			content, _ := io.ReadAll(file)
			body = header.Filename + ":" + string(content) + ":" + r.FormValue("title") + ":" + r.FormValue("document_type")
		} else {
			b, _ := io.ReadAll(r.Body)
			body = string(b)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"document_id": "d", "total": 7, "items": []any{map[string]any{"filename": "f"}}})
	})
	ctx := t.Context()
	asked := func(wantTarget, wantBody string, err error) {
		t.Helper()
		if err != nil || target != wantTarget || body != wantBody {
			t.Errorf("asked %s with %q, want %s with %q; error %v", target, body, wantTarget, wantBody, err)
		}
	}
	d, err := c.UploadDocument(ctx, document.Upload{Filename: "a b.txt", Content: []byte("x\x00"), Title: "T", DocumentType: "policy"})
	asked("POST /api/v1/documents", "a b.txt:x\x00:T:policy", err)
	if d.ID != "d" {
		t.Errorf("%+v", d)
	}
	list, err := c.Documents(ctx, 2, 5)
	asked("GET /api/v1/documents?page=2&page_size=5", "", err)
	if list.Total != 7 || list.Items[0].Filename != "f" {
		t.Errorf("%+v", list)
	}
	_, err = c.InProject("pay").Document(ctx, "a/b")
	asked("GET /api/v1/documents/a%2Fb?project_id=pay", "", err)
	_, err = c.DocumentFile(ctx, "d")
	asked("GET /api/v1/documents/d/content", "", err)
	_, err = c.DocumentText(ctx, "d")
	asked("GET /api/v1/documents/d/content?format=text", "", err)
	asked("DELETE /api/v1/documents/d", "", c.DeleteDocument(ctx, "d"))
	found, err := c.SearchDocuments(ctx, document.Keyword, "x", SearchPage{Page: 2})
	asked("POST /api/v1/search/documents/fulltext", `{"query":"x","page":2}`, err)
	if found.Total != 7 {
		t.Errorf("%+v", found)
	}
	_, err = c.SearchDocuments(ctx, document.Hybrid, "x", SearchPage{})
	asked("POST /api/v1/search/documents/hybrid", `{"query":"x"}`, err)
	_, err = c.ScanDocuments(ctx, "", SearchPage{})
	asked("POST /api/v1/search/documents", `{}`, err)
	sourced, err := c.SearchBySource(ctx, "d", SearchPage{PageSize: 3})
	asked("POST /api/v1/search/by-source-document", `{"document_id":"d","page_size":3}`, err)
	if sourced.Total != 7 {
		t.Errorf("%+v", sourced)
	}
}
