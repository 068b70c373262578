package api

import (
	"context"
	"net/http"

	"tenet/internal/auth"
	"tenet/internal/document"
	"tenet/internal/rule"
	"tenet/internal/search"
)

// documentSearchRoutes are the searches for documents, and for the rules that come from one.
func (s *server) documentSearchRoutes() {
	op := func(id, path, summary, description string) operation {
		return operation{
			id: id, method: http.MethodPost, path: searchPath + path, tag: documentTag, role: auth.Viewer, summary: summary, description: description,
		}
	}
	exampleOf(registerBody(s, op("search-documents-fulltext", "/documents/fulltext", "Search documents by words",
		"Keyword scoring on file names, titles and text. Any text is a query: quotes make a phrase, and nothing is a syntax error."),
		s.searchDocuments(s.cfg.Documents.Fulltext)), documentExamples["fulltext"])
	exampleOf(registerBody(s, op("search-documents-vector", "/documents/vector", "Search documents by meaning",
		"Cosine of the vectors of the query and of pieces of the documents. 503 without an embedding service."),
		s.searchDocuments(s.cfg.Documents.Vector)), documentExamples["vector"])
	exampleOf(registerBody(s, op("search-documents-hybrid", "/documents/hybrid", "Search documents by words and meaning",
		"Without an embedding service, or while it fails, documents are found by words alone, and degraded says so."),
		s.searchDocuments(s.cfg.Documents.Hybrid)), documentExamples["hybrid"])
	exampleOf(registerBody(s, op("search-documents", "/documents", "Search documents without the full-text index",
		"Words are also found inside others. Every item tells how many rules come from the document. Without a query, all documents, newest first."),
		s.searchDocumentsRelational), documentExamples["relational"])
	exampleOf(registerBody(s, op("search-by-source-document", "/by-source-document", "Find the rules that come from a document",
		"Rules whose source_refs name the document, superseded and retired ones aside, in the order they were made."),
		s.searchBySource), documentExamples["source"])
}

// DocumentRequest is the body of a search for documents.
type DocumentRequest struct {
	Query string `json:"query" maxLength:"10000" doc:"What to look for." example:"retention of customer data"`
	PageBody
}

// RelationalRequest is the body of the search for documents without the full-text index.
type RelationalRequest struct {
	Query string `json:"query,omitempty" nullable:"true" maxLength:"10000" doc:"Words to look for; absent means all documents." example:"retention"`
	PageBody
}

// DocumentSearch is the envelope of every search for documents.
type DocumentSearch struct {
	Items    []document.Item    `json:"items" nullable:"false" doc:"Documents of this page, the best first."`
	Total    int                `json:"total" doc:"Documents on all pages."`
	Page     int                `json:"page" doc:"This page, from 1."`
	PageSize int                `json:"page_size" doc:"Items per page."`
	Query    string             `json:"query" doc:"What was looked for."`
	Mode     document.Mode      `json:"mode,omitempty" enum:"keyword,vector,hybrid" doc:"How documents were ranked; absent in the search without the full-text index."`
	Degraded *document.Degraded `json:"degraded,omitempty" doc:"Present if the search had to do without something."`
}

type documentSearchOutput struct{ Body DocumentSearch }

type documentSearch func(context.Context, document.Query) (document.Result, error)

// findDocuments runs a search and wraps its page.
func findDocuments(ctx context.Context, run documentSearch, query string, page PageBody) (*documentSearchOutput, error) {
	q := page.query()
	r, err := run(ctx, document.Query{ProjectID: project(ctx), Text: query, Page: q.document()})
	if err != nil {
		return nil, err
	}
	return &documentSearchOutput{DocumentSearch{
		Items: r.Items, Total: r.Total, Page: q.Page, PageSize: q.PageSize, Query: query, Mode: r.Mode, Degraded: r.Degraded,
	}}, nil
}

func (s *server) searchDocuments(run documentSearch) func(context.Context, *struct{ ProjectQuery }, *DocumentRequest) (*documentSearchOutput, error) {
	return func(ctx context.Context, _ *struct{ ProjectQuery }, body *DocumentRequest) (*documentSearchOutput, error) {
		return findDocuments(ctx, run, body.Query, body.PageBody)
	}
}

func (s *server) searchDocumentsRelational(ctx context.Context, _ *struct{ ProjectQuery }, body *RelationalRequest) (*documentSearchOutput, error) {
	return findDocuments(ctx, s.cfg.Documents.Relational, body.Query, body.PageBody)
}

// BySourceRequest is the body of the search for the rules that come from a document.
type BySourceRequest struct {
	DocumentID string `json:"document_id" doc:"Id of the document." example:"0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e70"`
	PageBody
}

// SourcedRules are the rules that come from a document.
type SourcedRules struct {
	Document document.Document `json:"document" doc:"The document."`
	Items    []search.Item     `json:"items" nullable:"false" doc:"Rules of this page, in the order they were made; their score is always 1."`
	Total    int               `json:"total" doc:"Rules on all pages."`
	Page     int               `json:"page" doc:"This page, from 1."`
	PageSize int               `json:"page_size" doc:"Items per page."`
}

type sourcedOutput struct{ Body SourcedRules }

func (s *server) searchBySource(ctx context.Context, _ *struct{ ProjectQuery }, body *BySourceRequest) (*sourcedOutput, error) {
	if !rule.IsID(body.DocumentID) {
		return nil, invalidField("document_id", "must be the UUID of a document")
	}
	q := body.query()
	found, err := s.cfg.Documents.BySource(ctx, project(ctx), body.DocumentID, q.document())
	if err != nil {
		return nil, err
	}
	out := SourcedRules{Document: found.Document, Items: []search.Item{}, Total: found.Total, Page: q.Page, PageSize: q.PageSize}
	for _, r := range found.Rules {
		out.Items = append(out.Items, search.Item{Rule: r, Score: 1})
	}
	return &sourcedOutput{out}, nil
}
