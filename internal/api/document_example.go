package api

import (
	"tenet/internal/rule"
	"tenet/internal/wire"
)

var exampleDocument = wire.Document{
	ID: "0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e70", ProjectID: rule.DefaultProject, Filename: "data-policy.pdf", MIMEType: "application/pdf",
	SizeBytes: 182_044, Title: "Data protection policy", DocumentType: "policy",
	SHA256:     "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	UploadedBy: "key:compliance", UploadedAt: exampleTime, Chunks: 41, Pages: 18, Characters: 44_102, RulesExtracted: 12,
	EmbeddingModel: "ollama:nomic-embed-text",
}

// exampleFound is a page that holds the example document.
func exampleFound(query string, mode wire.SearchMode, score float64) wire.DocumentSearchPage {
	d := exampleDocument
	it := wire.DocumentSearchItem{
		DocumentID: d.ID, Filename: d.Filename, MIMEType: d.MIMEType, SizeBytes: d.SizeBytes, UploadedBy: d.UploadedBy, UploadedAt: d.UploadedAt,
		Title: d.Title, DocumentType: d.DocumentType, Section: "Storage > Encryption", PageNumber: 7, Score: score,
		Snippet: "Customer data must be encrypted at rest.", Highlights: []wire.DocumentHighlight{{Start: 0, End: 13}, {Start: 22, End: 31}},
	}
	if mode == "" {
		it.RulesExtracted = &exampleDocument.RulesExtracted
	}
	return wire.DocumentSearchPage{Items: []wire.DocumentSearchItem{it}, Total: 1, Page: 1, PageSize: 20, Query: query, Mode: mode}
}

var documentExamples = map[string]searchExample{
	"fulltext": {
		map[string]any{"query": `"customer data" encrypted`, "page": 1, "page_size": 20},
		exampleFound(`"customer data" encrypted`, wire.Keyword, 7.31),
	},
	"vector":     {map[string]any{"query": "keep records secret"}, exampleFound("keep records secret", wire.Vector, 0.82)},
	"hybrid":     {map[string]any{"query": "keep records secret"}, exampleFound("keep records secret", wire.Hybrid, 0.033)},
	"relational": {map[string]any{"query": "encrypted"}, exampleFound("encrypted", "", 1)},
	"source": {
		map[string]any{"document_id": exampleDocument.ID},
		wire.SourcedRules{Document: exampleDocument, Items: []wire.RuleSearchItem{{Rule: exampleRule, Score: 1}}, Total: 1, Page: 1, PageSize: 20},
	},
}
