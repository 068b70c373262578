package api

import (
	"context"
	"errors"
	"mime"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"tenet/internal/auth"
	"tenet/internal/document"
	"tenet/internal/document/extract"
	"tenet/internal/rule"
)

const (
	documentsPath = "/api/v1/documents"
	documentTag   = "Documents"
)

func (s *server) documentRoutes() {
	op := register(s, operation{
		id: "upload-document", method: http.MethodPost, path: documentsPath, tag: documentTag, role: auth.Reviewer, status: http.StatusCreated,
		summary: "Upload a document",
		description: "A file in pdf, docx, html, md or txt, as a form. Its kind is told by its content; a name that contradicts it is refused, " +
			"and other kinds are 415. The same content again is 409 and names the document that has it.",
	}, s.uploadDocument)
	text := func(doc string) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Description: doc} }
	op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{formType: {Schema: &huma.Schema{
		Type: huma.TypeObject, Required: []string{"file"}, AdditionalProperties: false,
		Properties: map[string]*huma.Schema{
			"file":          {Type: huma.TypeString, Format: "binary", Description: "The file, with its name."},
			"title":         text("Title, up to 300 characters; the file's own if absent."),
			"document_type": text("What you call its kind, such as policy, up to 64 characters."),
			"project_id":    text("Project, if the query does not name it."),
		},
	}}}}
	p := s.plans[http.MethodPost+" "+documentsPath]
	p.form, p.limit = true, s.cfg.Limits.MaxDocument+formExtra

	register(s, operation{
		id: "list-documents", method: http.MethodGet, path: documentsPath, tag: documentTag, role: auth.Viewer,
		summary: "List documents", description: "Newest first.",
	}, s.listDocuments)
	register(s, operation{
		id: "get-document", method: http.MethodGet, path: documentsPath + "/{id}", tag: documentTag, role: auth.Viewer,
		summary: "Get a document", description: "What is known of it. Its file is at /content.",
	}, s.getDocument)
	file := map[string]*huma.MediaType{
		"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
		"text/plain":               {Schema: &huma.Schema{Type: huma.TypeString}},
	}
	register(s, operation{
		id: "get-document-content", method: http.MethodGet, path: documentsPath + "/{id}/content", tag: documentTag, role: auth.Viewer,
		summary: "Get the file of a document", description: "The bytes that were uploaded, under their media type, as an attachment; or the text that was read from them.",
		responses: map[string]*huma.Response{"200": {Description: "The file", Content: file}},
	}, s.documentContent)
	register(s, operation{
		id: "delete-document", method: http.MethodDelete, path: documentsPath + "/{id}", tag: documentTag, role: auth.Reviewer,
		summary:     "Delete a document",
		description: "With its file, text and vectors. Rules that were made from it keep their source_refs, with section and quote.",
	}, s.deleteDocument)
}

type documentOutput struct{ Body document.Document }

func (s *server) uploadDocument(ctx context.Context, _ *struct{ ProjectQuery }) (*documentOutput, error) {
	done, err := s.mayUpload(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	f, err := s.readForm(ctx, "title", "document_type", "project_id")
	if err != nil {
		return nil, err
	}
	projectID, err := enterNamed(ctx, f.fields["project_id"])
	if err != nil {
		return nil, err
	}
	d, err := s.cfg.Documents.Upload(ctx, projectID, document.Upload{
		Filename: f.filename, Content: f.file, Title: f.fields["title"], DocumentType: f.fields["document_type"],
	})
	if e, ok := errors.AsType[*rule.Error](err); ok && errors.Is(err, extract.ErrUnsupported) {
		return nil, &httpError{cause: e, status: http.StatusUnsupportedMediaType}
	}
	if err != nil {
		return nil, err
	}
	return &documentOutput{d}, nil
}

func (s *server) listDocuments(ctx context.Context, in *struct {
	ProjectQuery
	PageQuery
},
) (*pageOutput[document.Document], error) {
	list, total, err := s.cfg.Documents.List(ctx, project(ctx), in.document())
	if err != nil {
		return nil, err
	}
	return pageOf(in.PageQuery, list, total), nil
}

// document is the page as package document knows it.
func (q PageQuery) document() document.Page { return document.Page{Number: q.Page, Size: q.PageSize} }

// DocumentPath are the parameters of operations on one document.
type DocumentPath struct {
	ProjectQuery
	ID string `path:"id" doc:"Id of the document."`
}

// check refuses what cannot be a document's id.
func (p *DocumentPath) check() error {
	if !rule.IsID(p.ID) {
		return rule.NotFound("document", cut(p.ID, maxValue))
	}
	return nil
}

func (s *server) getDocument(ctx context.Context, in *DocumentPath) (*documentOutput, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	d, err := s.cfg.Documents.Get(ctx, project(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &documentOutput{d}, nil
}

type contentOutput struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Policy      string `header:"Content-Security-Policy"`
	Body        []byte
}

// filePolicy keeps a file that a browser shows after all from running scripts and from loading anything.
const filePolicy = "sandbox; default-src 'none'"

func (s *server) documentContent(ctx context.Context, in *struct {
	DocumentPath
	Format string `query:"format" enum:"file,text" default:"file" doc:"The file as it was uploaded, or its text."`
},
) (*contentOutput, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if in.Format == "text" {
		_, text, err := s.cfg.Documents.Text(ctx, project(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		return &contentOutput{ContentType: "text/plain; charset=utf-8", Disposition: "inline", Policy: filePolicy, Body: []byte(text)}, nil
	}
	d, content, err := s.cfg.Documents.Content(ctx, project(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	disposition := mime.FormatMediaType("attachment", map[string]string{"filename": d.Filename})
	if disposition == "" {
		disposition = "attachment"
	}
	return &contentOutput{ContentType: d.MIMEType, Disposition: disposition, Policy: filePolicy, Body: content}, nil
}

func (s *server) deleteDocument(ctx context.Context, in *DocumentPath) (*struct{}, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	return nil, s.cfg.Documents.Delete(ctx, project(ctx), in.ID)
}
