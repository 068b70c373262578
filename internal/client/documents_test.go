package client

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"tenet/internal/wire"
	"tenet/internal/wire/op"
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
	d, err := UploadDocument(ctx, c, wire.Upload{Filename: "a b.txt", Content: []byte("x\x00"), Title: "T", DocumentType: "policy"})
	asked("POST /api/v1/documents", "a b.txt:x\x00:T:policy", err)
	if d.ID != "d" {
		t.Errorf("%+v", d)
	}
	list, err := Get(ctx, c, op.ListDocuments.Where(wire.PageQuery{Page: 2, PageSize: 5}))
	asked("GET /api/v1/documents?page=2&page_size=5", "", err)
	if list.Total != 7 || list.Items[0].Filename != "f" {
		t.Errorf("%+v", list)
	}
	_, err = Get(ctx, c.InProject("pay"), op.GetDocument.At("a/b"))
	asked("GET /api/v1/documents/a%2Fb?project_id=pay", "", err)
	_, err = Get(ctx, c, op.GetDocumentContent.At("d"))
	asked("GET /api/v1/documents/d/content", "", err)
	_, err = Get(ctx, c, op.GetDocumentContent.At("d").Where(wire.ContentQuery{Format: "text"}))
	asked("GET /api/v1/documents/d/content?format=text", "", err)
	asked("DELETE /api/v1/documents/d", "", Run(ctx, c, op.DeleteDocument.At("d")))
	found, err := SearchDocuments(ctx, c, wire.Keyword, "x", wire.PageBody{Page: 2})
	asked("POST /api/v1/search/documents/fulltext", `{"query":"x","page":2}`, err)
	if found.Total != 7 {
		t.Errorf("%+v", found)
	}
	_, err = SearchDocuments(ctx, c, wire.Hybrid, "x", wire.PageBody{})
	asked("POST /api/v1/search/documents/hybrid", `{"query":"x"}`, err)
	_, err = Call(ctx, c, op.SearchDocuments, wire.RelationalRequest{Query: "", PageBody: wire.PageBody{}})
	asked("POST /api/v1/search/documents", `{}`, err)
	sourced, err := Call(ctx, c, op.SearchBySourceDocument, wire.BySourceRequest{DocumentID: "d", PageBody: wire.PageBody{PageSize: 3}})
	asked("POST /api/v1/search/by-source-document", `{"document_id":"d","page_size":3}`, err)
	if sourced.Total != 7 {
		t.Errorf("%+v", sourced)
	}
}
