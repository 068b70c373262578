package client

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"

	"tenet/internal/document"
	"tenet/internal/search"
)

const documentsPath = "/api/v1/documents"

func documentPath(id string, more ...string) string {
	path := documentsPath + "/" + url.PathEscape(id)
	for _, m := range more {
		path += "/" + m
	}
	return path
}

// UploadDocument keeps a file. The error is a conflict that names the document if the project has the same content already.
func (c *Client) UploadDocument(ctx context.Context, u document.Upload) (document.Document, error) {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	err := func() error {
		for name, value := range map[string]string{"title": u.Title, "document_type": u.DocumentType} {
			if value == "" {
				continue
			}
			if err := w.WriteField(name, value); err != nil {
				return err
			}
		}
		part, err := w.CreateFormFile("file", u.Filename)
		if err != nil {
			return err
		}
		if _, err := part.Write(u.Content); err != nil {
			return err
		}
		return w.Close()
	}()
	if err != nil {
		return document.Document{}, fmt.Errorf("client: encoding the form: %w", err)
	}
	return into[document.Document](ctx, c, call{
		method: http.MethodPost, path: documentsPath, body: body.Bytes(), contentType: w.FormDataContentType(),
	})
}

// Documents returns a page of documents, newest first.
func (c *Client) Documents(ctx context.Context, number, size int) (List[document.Document], error) {
	q := url.Values{}
	page(q, number, size)
	return into[List[document.Document]](ctx, c, get(documentsPath, q))
}

// Document returns a document.
func (c *Client) Document(ctx context.Context, id string) (document.Document, error) {
	return into[document.Document](ctx, c, get(documentPath(id), nil))
}

// DocumentFile returns the bytes that were uploaded.
func (c *Client) DocumentFile(ctx context.Context, id string) ([]byte, error) {
	return c.documentContent(ctx, id, nil)
}

// DocumentText returns the text of a document.
func (c *Client) DocumentText(ctx context.Context, id string) (string, error) {
	text, err := c.documentContent(ctx, id, url.Values{"format": {"text"}})
	return string(text), err
}

func (c *Client) documentContent(ctx context.Context, id string, q url.Values) ([]byte, error) {
	k := get(documentPath(id, "content"), q)
	k.limit = maxExport
	a, err := c.do(ctx, k)
	if err != nil {
		return nil, err
	}
	return a.body, nil
}

// DeleteDocument removes a document. Rules that were made from it keep their source_refs.
func (c *Client) DeleteDocument(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: documentPath(id)})
	return err
}

// FoundDocuments is a page of documents that a search has found, the best first.
type FoundDocuments struct {
	Items    []document.Item    `json:"items"`
	Total    int                `json:"total"`
	Page     int                `json:"page"`
	PageSize int                `json:"page_size"`
	Query    string             `json:"query"`
	Mode     document.Mode      `json:"mode,omitempty"`
	Degraded *document.Degraded `json:"degraded,omitempty"`
}

// documentQuery is the body of a search for documents.
type documentQuery struct {
	Text string `json:"query,omitempty"`
	SearchPage
}

// SearchDocuments finds documents for a text.
func (c *Client) SearchDocuments(ctx context.Context, mode document.Mode, text string, p SearchPage) (FoundDocuments, error) {
	name := string(mode)
	if mode == document.Keyword {
		name = "fulltext"
	}
	return ask[FoundDocuments](ctx, c, "documents/"+name, nil, documentQuery{text, p})
}

// ScanDocuments finds documents without the full-text index; without a text, all of them. Items tell how many rules come
// from them.
func (c *Client) ScanDocuments(ctx context.Context, text string, p SearchPage) (FoundDocuments, error) {
	return ask[FoundDocuments](ctx, c, "documents", nil, documentQuery{text, p})
}

// SourcedRules is a document with a page of the rules whose source_refs name it.
type SourcedRules struct {
	Document document.Document `json:"document"`
	Items    []search.Item     `json:"items"`
	Total    int               `json:"total"`
	Page     int               `json:"page"`
	PageSize int               `json:"page_size"`
}

// SearchBySource finds the rules that come from a document.
func (c *Client) SearchBySource(ctx context.Context, documentID string, p SearchPage) (SourcedRules, error) {
	return ask[SourcedRules](ctx, c, "by-source-document", nil, struct {
		DocumentID string `json:"document_id"`
		SearchPage
	}{documentID, p})
}
