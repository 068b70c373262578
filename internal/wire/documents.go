package wire

import (
	"time"
)

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

// DocumentSearchPage is the envelope of every search for documents.
type DocumentSearchPage struct {
	Items    []DocumentSearchItem `json:"items" nullable:"false" doc:"Documents of this page, the best first."`
	Total    int                  `json:"total" doc:"Documents on all pages."`
	Page     int                  `json:"page" doc:"This page, from 1."`
	PageSize int                  `json:"page_size" doc:"Items per page."`
	Query    string               `json:"query" doc:"What was looked for."`
	Mode     SearchMode           `json:"mode,omitempty" enum:"keyword,vector,hybrid" doc:"How documents were ranked; absent in the search without the full-text index."`
	Degraded *DocumentDegraded    `json:"degraded,omitempty" doc:"Present if the search had to do without something."`
}

// BySourceRequest is the body of the search for the rules that come from a document.
type BySourceRequest struct {
	DocumentID string `json:"document_id" doc:"Id of the document." example:"0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e70"`
	PageBody
}

// SourcedRules are the rules that come from a document.
type SourcedRules struct {
	Document Document         `json:"document" doc:"The document."`
	Items    []RuleSearchItem `json:"items" nullable:"false" doc:"Rules of this page, in the order they were made; their score is always 1."`
	Total    int              `json:"total" doc:"Rules on all pages."`
	Page     int              `json:"page" doc:"This page, from 1."`
	PageSize int              `json:"page_size" doc:"Items per page."`
}

// Document is an uploaded file.
type Document struct {
	ID             string    `json:"document_id" format:"uuid" doc:"Document identifier."`
	ProjectID      string    `json:"project_id" doc:"Project the document belongs to."`
	Filename       string    `json:"filename" doc:"Name of the file, without folders."`
	MIMEType       string    `json:"mime_type" doc:"Media type, as its content shows."`
	SizeBytes      int64     `json:"size_bytes" doc:"Size of the file."`
	Title          string    `json:"title" doc:"Title: as given, else the file's own, else its name."`
	DocumentType   string    `json:"document_type" doc:"What the uploader calls its kind; may be empty." example:"policy"`
	SHA256         string    `json:"sha256" doc:"Hash of the file, in hex."`
	UploadedBy     string    `json:"uploaded_by" doc:"Actor that uploaded it."`
	UploadedAt     time.Time `json:"uploaded_at" doc:"When it was uploaded."`
	Chunks         int       `json:"chunks" doc:"Pieces that its text was divided into for search."`
	Pages          int       `json:"pages" doc:"Pages; 0 where the format has none."`
	Characters     int       `json:"characters" doc:"Characters of its text."`
	Unread         string    `json:"unread,omitempty" doc:"What its text leaves out, such as pages that are pictures: no rule about its content is then ALLOW. Absent if the text is all of it."`
	RulesExtracted int       `json:"rules_extracted" doc:"Rules whose source_refs name the document, without superseded and retired ones."`
	EmbeddingModel string    `json:"embedding_model" doc:"Model that has made vectors of all its chunks; empty while there is none."`
}

// DocumentDegraded says why a search answers with less than was asked for.
type DocumentDegraded struct {
	Reason string `json:"reason" doc:"What was missing, and what was done instead."`
}

// DocumentSearchItem is a document that was found.
type DocumentSearchItem struct {
	DocumentID     string              `json:"document_id" format:"uuid" doc:"Document identifier."`
	Filename       string              `json:"filename" doc:"Name of the file."`
	MIMEType       string              `json:"mime_type" doc:"Media type."`
	SizeBytes      int64               `json:"size_bytes" doc:"Size of the file."`
	UploadedBy     string              `json:"uploaded_by" doc:"Actor that uploaded it."`
	UploadedAt     time.Time           `json:"uploaded_at" doc:"When it was uploaded."`
	Title          string              `json:"title" doc:"Title."`
	DocumentType   string              `json:"document_type" doc:"What the uploader calls its kind; may be empty."`
	Snippet        string              `json:"snippet" doc:"The place that fits best, as plain text without marks; … marks omitted text."`
	Highlights     []DocumentHighlight `json:"highlights" nullable:"false" doc:"Where words of the query occur in the snippet."`
	Section        string              `json:"section,omitempty" doc:"Headings above the snippet, joined by \" > \"."`
	PageNumber     int                 `json:"page,omitempty" doc:"Page of the snippet, from 1; absent where the format has none."`
	Score          float64             `json:"score" doc:"Higher is better. Scores of different searches cannot be compared."`
	RulesExtracted *int                `json:"rules_extracted,omitempty" doc:"Rules whose source_refs name the document; in the relational search."`
}

// DocumentHighlight is a part of a snippet with words of the query.
type DocumentHighlight struct {
	Start int `json:"start" minimum:"0" doc:"First character, counted in Unicode characters from 0."`
	End   int `json:"end" minimum:"0" doc:"Character behind the last."`
}

// Upload is a file to keep.
type Upload struct {
	Filename string
	Content  []byte
	// Title and DocumentType may be empty.
	Title, DocumentType string
}
