package api

import (
	"context"
	"errors"
	"mime"
	"net/http"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/document"
	"tenet/internal/document/extract"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Documents serves the uploaded documents.
type Documents struct{ Documents *document.Documents }

// documentRef names a document in a path.
type documentRef struct {
	ID string `path:"id" id:"document" doc:"Id of the document."`
}

// Routes implements [rest.Resource].
func (s Documents) Routes(r *rest.Router) {
	r = r.Tag(documentTag)
	rest.Handle(r, rest.Operation{
		ID: "upload-document", Route: op.UploadDocument.Route(), Role: auth.Reviewer, Status: http.StatusCreated, Summary: "Upload a document",
		Description: "A file in pdf, docx, html, md or txt, as a form. The content determines its kind; a name that contradicts it is refused, " +
			"and other kinds are 415. The same content again is 409 and names the document that has it.",
	}, s.upload).Upload(map[string]*rest.Schema{
		"file":          rest.File("The file, with its name."),
		"title":         rest.Text("Title, up to 300 characters; the file's own if absent."),
		"document_type": rest.Text("Your name of its kind, such as policy, up to 64 characters."),
		"project_id":    rest.Text("Project, if the query does not name it."),
	})
	rest.Handle(r, rest.Operation{ID: "list-documents", Route: op.ListDocuments.Route(), Role: auth.Viewer, Summary: "List documents", Description: "Newest first."},
		func(ctx context.Context, in *wire.PageQuery) (wire.Page[wire.Document], error) {
			list, total, err := s.Documents.List(ctx, rest.Project(ctx), documentPage(*in))
			return rest.PageOf(*in, list, total), err
		})
	rest.Handle(r, rest.Operation{
		ID: "get-document", Route: op.GetDocument.Route(), Role: auth.Viewer, Summary: "Get a document", Description: "Its metadata. The file is at /content.",
	}, func(ctx context.Context, in *documentRef) (wire.Document, error) {
		return s.Documents.Get(ctx, rest.Project(ctx), in.ID)
	})
	content := rest.Handle(r, rest.Operation{
		ID: "get-document-content", Route: op.GetDocumentContent.Route(), Role: auth.Viewer, Summary: "Get the file of a document",
		Description: "The uploaded bytes, under their media type, as an attachment; or the text extracted from them.",
	}, s.content).Success()
	content.Description = "The file"
	content.Content = map[string]*rest.Media{"application/octet-stream": {Schema: rest.File("")}, "text/plain": {Schema: rest.Text("")}}
	rest.Do(r, rest.Operation{
		ID: "delete-document", Route: op.DeleteDocument.Route(), Role: auth.Reviewer, Summary: "Delete a document",
		Description: "With its file, text and vectors. Rules that were made from it keep their source_refs, with section and quote.",
	}, func(ctx context.Context, in *documentRef) error {
		return s.Documents.Delete(ctx, rest.Project(ctx), in.ID)
	})
}

// documentPage is a page as package document takes it.
func documentPage(q wire.PageQuery) rule.Page {
	return rule.Page{Number: q.Page, Size: q.PageSize}
}

func (s Documents) upload(ctx context.Context, _ *rest.None) (made wire.Document, err error) {
	done, err := rest.ReserveUpload(ctx)
	if err != nil {
		return made, err
	}
	defer done()
	f, err := rest.ReadForm(ctx, "title", "document_type", "project_id")
	if err != nil {
		return made, err
	}
	projectID, err := rest.EnterProject(ctx, f.Fields["project_id"])
	if err != nil {
		return made, err
	}
	made, err = s.Documents.Upload(ctx, projectID, wire.Upload{
		Filename: f.Filename, Content: f.File, Title: f.Fields["title"], DocumentType: f.Fields["document_type"],
	})
	if e, ok := errors.AsType[*rule.Error](err); ok && errors.Is(err, extract.ErrUnsupported) {
		err = rest.WithStatus(http.StatusUnsupportedMediaType, e)
	}
	return made, err
}

type contentOutput struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Policy      string `header:"Content-Security-Policy"`
	Body        []byte
}

// filePolicy keeps a file that a browser shows after all from running scripts and from loading anything.
const filePolicy = "sandbox; default-src 'none'"

func (s Documents) content(ctx context.Context, in *struct {
	documentRef
	wire.ContentQuery
},
) (contentOutput, error) {
	if in.Format == "text" {
		_, text, _, err := s.Documents.Text(ctx, rest.Project(ctx), in.ID)
		return contentOutput{"text/plain; charset=utf-8", "inline", filePolicy, []byte(text)}, err
	}
	d, content, err := s.Documents.Content(ctx, rest.Project(ctx), in.ID)
	disposition := mime.FormatMediaType("attachment", map[string]string{"filename": d.Filename})
	if disposition == "" {
		disposition = "attachment"
	}
	return contentOutput{d.MIMEType, disposition, filePolicy, content}, err
}
