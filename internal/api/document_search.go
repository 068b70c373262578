package api

import (
	"context"

	"tenet/internal/api/rest"
	"tenet/internal/document"
	"tenet/internal/rule"
	"tenet/internal/search"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// DocumentSearch serves the searches for documents, and for the rules that come from one.
type DocumentSearch struct {
	Documents *document.Documents
	Search    *search.DocumentSearcher
}

// Routes implements [rest.Resource].
func (s DocumentSearch) Routes(r *rest.Router) {
	r = r.Tag(documentTag)
	byText := func(run documentSearch) func(context.Context, *rest.None, *wire.DocumentRequest) (wire.DocumentSearchPage, error) {
		return func(ctx context.Context, _ *rest.None, body *wire.DocumentRequest) (wire.DocumentSearchPage, error) {
			return findDocuments(ctx, run, body.Query, body.PageBody)
		}
	}
	documentExamples["fulltext"].on(rest.HandleBody(r, searchOperation(op.SearchDocumentsFulltext.Route(), "documents-fulltext", "Search documents by words",
		"Keyword scoring on file names, titles and text. Quotes make a phrase; no text is a syntax error."),
		byText(s.Search.Fulltext)))
	documentExamples["vector"].on(rest.HandleBody(r, searchOperation(op.SearchDocumentsVector.Route(), "documents-vector", "Search documents by meaning",
		"Cosine of the vectors of the query and of pieces of the documents. 503 without an embedding service."),
		byText(s.Search.Vector)))
	documentExamples["hybrid"].on(rest.HandleBody(r, searchOperation(op.SearchDocumentsHybrid.Route(), "documents-hybrid", "Search documents by words and meaning",
		"Without an embedding service, or while it fails, documents are found by words alone, and degraded says so."),
		byText(s.Search.Hybrid)))
	documentExamples["relational"].on(rest.HandleBody(r, searchOperation(op.SearchDocuments.Route(), "documents", "Search documents without the full-text index",
		"Also matches parts of words. Every item has the number of rules from the document. Without a query, all documents, newest first."),
		func(ctx context.Context, _ *rest.None, body *wire.RelationalRequest) (wire.DocumentSearchPage, error) {
			return findDocuments(ctx, s.Search.Relational, body.Query, body.PageBody)
		}))
	documentExamples["source"].on(rest.HandleBody(r, searchOperation(op.SearchBySourceDocument.Route(), "by-source-document", "Find the rules that come from a document",
		"Rules whose source_refs name the document, except superseded and retired ones, oldest first."), s.bySource))
}

type documentSearch func(context.Context, search.DocumentQuery) (search.DocumentResult, error)

// findDocuments runs a search and wraps its page.
func findDocuments(ctx context.Context, run documentSearch, query string, page wire.PageBody) (wire.DocumentSearchPage, error) {
	q := pageOf(page)
	r, err := run(ctx, search.DocumentQuery{ProjectID: rest.Project(ctx), Text: query, Page: documentPage(q)})
	return wire.DocumentSearchPage{
		Items: r.Items, Total: r.Total, Page: q.Page, PageSize: q.PageSize, Query: query, Mode: r.Mode, Degraded: r.Degraded,
	}, err
}

func (s DocumentSearch) bySource(ctx context.Context, _ *rest.None, body *wire.BySourceRequest) (out wire.SourcedRules, err error) {
	if !rule.IsID(body.DocumentID) {
		return out, rest.InvalidField("document_id", "must be the UUID of a document")
	}
	q := pageOf(body.PageBody)
	found, err := s.Documents.BySource(ctx, rest.Project(ctx), body.DocumentID, documentPage(q))
	out = wire.SourcedRules{Document: found.Document, Items: []wire.RuleSearchItem{}, Total: found.Total, Page: q.Page, PageSize: q.PageSize}
	for _, r := range found.Rules {
		out.Items = append(out.Items, wire.RuleSearchItem{Rule: r, Score: 1})
	}
	return out, err
}
