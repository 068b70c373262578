package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// documentsCommands are `tenet documents ...`.
type documentsCommands struct {
	Upload  documentsUploadCommand  `cmd:"" help:"Upload files: pdf, docx, html, md or txt."`
	List    documentsListCommand    `cmd:"" data:"read" help:"List documents, newest first."`
	Get     documentsGetCommand     `cmd:"" data:"read" help:"Show a document, its text, or its file."`
	Extract documentsExtractCommand `cmd:"" help:"Find candidate rules in a document."`
	Delete  documentsDeleteCommand  `cmd:"" help:"Delete a document. Rules that come from it stay."`
	Search  documentsSearchCommand  `cmd:"" help:"Find documents by words and meaning."`
}

// maxUpload bounds what is read of a file before the server says what it takes, in bytes.
const maxUpload = 1 << 30

type documentsUploadCommand struct {
	Files []string `arg:"" help:"Files."`
	Title string   `placeholder:"TEXT" help:"Title, for a single file; default is the file's own."`
	Type  string   `placeholder:"NAME" help:"What you call their kind, such as policy."`
	output
}

func (documentsUploadCommand) Help() string {
	return `The content of a file decides its kind; a name that contradicts it is refused. The ids of the documents are printed to stdout, a line for each.

  tenet documents upload travel.pdf --type policy
  tenet documents upload docs/*.md`
}

func (k *documentsUploadCommand) Run(ctx context.Context, s *session) error {
	if k.Title != "" && len(k.Files) > 1 {
		return fmt.Errorf("--title is for a single file, and there are %d", len(k.Files))
	}
	return s.with(ctx, needsData, func(c *client.Client) error {
		uploaded := []wire.Document{}
		for _, path := range k.Files {
			content, err := readUpload(path)
			if err != nil {
				return err
			}
			done := s.progress("reading " + filepath.Base(path))
			d, err := client.UploadDocument(ctx, c, wire.Upload{
				Filename: filepath.Base(path), Content: content, Title: k.Title, DocumentType: k.Type,
			})
			done()
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if uploaded = append(uploaded, d); k.json() {
				continue
			}
			s.note("%s is kept as %q; tenet documents get %s shows it", path, line(d.Title), d.ID)
			if _, err := fmt.Fprintln(s.out, d.ID); err != nil {
				return err
			}
		}
		if k.json() {
			return printJSON(s.out, uploaded)
		}
		return nil
	})
}

func readUpload(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading
	content, err := io.ReadAll(io.LimitReader(f, maxUpload+1))
	if err == nil && len(content) > maxUpload {
		err = fmt.Errorf("%s has more than %d MiB", path, maxUpload>>20)
	}
	return content, err
}

type documentsListCommand struct {
	Page     int `default:"1" placeholder:"N" help:"Page, from 1."`
	PageSize int `default:"50" placeholder:"N" help:"Documents per page, up to 100."`
	output
}

func (k *documentsListCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	list, err := client.Get(ctx, c, op.ListDocuments.Where(wire.PageQuery{Page: k.Page, PageSize: k.PageSize}))
	return show(s, k.output, list, err, printDocuments)
}

// printDocuments prints a table whose last column, the title, is cut to the width of the terminal.
func printDocuments(s *session, page wire.Page[wire.Document]) error {
	err := list(s, fmt.Sprintf("there are no documents here; %d in all", page.Total), "DOCUMENT\tFILE\tTYPE\tPAGES\tRULES\tTITLE", page.Items, func(d *wire.Document) []any {
		return []any{d.ID, d.Filename, d.DocumentType, d.Pages, d.RulesExtracted, d.Title}
	})
	if err == nil && len(page.Items) > 0 {
		s.nextPage("documents", page.Page, page.PageSize, len(page.Items), page.Total)
	}
	return err
}

type documentsGetCommand struct {
	ID   string `arg:"" help:"Id of the document."`
	Text bool   `xor:"what" help:"Print its text."`
	File string `xor:"what" placeholder:"PATH" help:"Write the uploaded file to PATH; - is the output."`
	output
}

func (k *documentsGetCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	switch {
	case k.Text:
		text, err := client.Get(ctx, c, op.GetDocumentContent.At(k.ID).Where(wire.ContentQuery{Format: "text"}))
		if err != nil {
			return err
		}
		return paged(s, func() error {
			for l := range strings.Lines(string(text)) {
				if _, err := fmt.Fprintln(s.out, line(strings.TrimRight(l, "\n"))); err != nil {
					return err
				}
			}
			return nil
		})
	case k.File != "":
		return k.write(ctx, s, c)
	}
	d, err := client.Get(ctx, c, op.GetDocument.At(k.ID))
	return show(s, k.output, d, err, printDocument)
}

// write writes the uploaded file.
func (k *documentsGetCommand) write(ctx context.Context, s *session, c *client.Client) error {
	done := s.progress("downloading")
	content, err := client.Get(ctx, c, op.GetDocumentContent.At(k.ID))
	done()
	if err != nil {
		return err
	}
	if k.File == "-" {
		_, err = s.out.Write(content)
		return err
	}
	return os.WriteFile(k.File, content, 0o600)
}

// printDocument shows a document for people; what is empty is left out.
func printDocument(s *session, d wire.Document) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", s.bold(line(d.Title)))
	row := func(name, value string) {
		if value != "" && value != "0" {
			fmt.Fprintf(&b, "  %s %s\n", s.dim(fmt.Sprintf("%-9s", name)), line(value))
		}
	}
	row("id", d.ID)
	row("file", fmt.Sprintf("%s, %s, %d bytes", d.Filename, d.MIMEType, d.SizeBytes))
	row("type", d.DocumentType)
	row("uploaded", fmt.Sprintf("by %s at %s", d.UploadedBy, d.UploadedAt.Format("2006-01-02 15:04:05Z07:00")))
	row("pages", fmt.Sprint(d.Pages))
	row("text", fmt.Sprintf("%d characters in %d pieces", d.Characters, d.Chunks))
	row("vectors", d.EmbeddingModel)
	row("rules", fmt.Sprint(d.RulesExtracted))
	row("sha256", d.SHA256)
	_, err := io.WriteString(s.out, b.String())
	return err
}

type documentsExtractCommand struct {
	ID     string `arg:"" help:"Id of the document."`
	Format string `short:"f" enum:"table,json,yaml" default:"table" help:"${enum}."`
	jsonFlag
}

func (documentsExtractCommand) Help() string {
	return `Rules that are made of its candidates name the document as their source:

    tenet documents upload travel.pdf --type policy
    tenet documents extract 0199...
    tenet candidates approve 0199...`
}

func (k *documentsExtractCommand) Run(ctx context.Context, s *session) error {
	s.working = true
	return s.with(ctx, keepsData, func(c *client.Client) error {
		scan, err := client.Get(ctx, c, op.ExtractRules.At(k.ID))
		if err == nil {
			scan, err = awaitScan(ctx, s, c, scan)
		}
		if err != nil {
			return err
		}
		report := scanReport{Scans: []wire.Scan{scan}}
		if report.Candidates, err = client.AllCandidates(ctx, c, scan.ID, wire.CandidateQuery{Status: wire.CandidateUndecided}); err != nil {
			return err
		}
		return (&scanCommand{Format: k.or(k.Format)}).print(ctx, s, c, &report)
	})
}

type documentsDeleteCommand struct {
	ID string `arg:"" help:"Id of the document."`
	output
}

func (k *documentsDeleteCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	err := client.Run(ctx, c, op.DeleteDocument.At(k.ID))
	return noted(s, k.output, ended{"document", k.ID, "deleted"}, err, func(e ended) string { return "document " + line(e.ID) + " is deleted" })
}

type documentsSearchCommand struct {
	Words    []string `arg:"" help:"Words to look for; quotes make a phrase."`
	Mode     string   `placeholder:"MODE" help:"keyword, vector or hybrid. Default is hybrid where there is an embedding model, else keyword."`
	Page     int      `default:"1" placeholder:"N" help:"Page, from 1."`
	PageSize int      `default:"10" placeholder:"N" help:"Documents per page, up to 100."`
	output
}

func (documentsSearchCommand) Help() string {
	return `Examples:

    tenet documents search retention of customer data
    tenet documents search '"four eyes"' --mode keyword`
}

// documentModes are the modes of a search for documents.
var documentModes = []wire.SearchMode{wire.Keyword, wire.Vector, wire.Hybrid}

func (k *documentsSearchCommand) Run(ctx context.Context, s *session) error {
	mode, ok := rule.Parse(k.Mode, documentModes)
	if k.Mode != "" && !ok {
		return fmt.Errorf("--mode is %q; use one of %s", k.Mode, rule.Names(documentModes))
	}
	return s.with(ctx, readsData, func(c *client.Client) error {
		if k.Mode == "" {
			status, err := client.Get(ctx, c, op.SearchStatus)
			if err != nil {
				return err
			}
			mode = wire.Hybrid
			if status.EmbeddingModel == "" {
				mode = wire.Keyword
			}
		}
		found, err := client.SearchDocuments(ctx, c, mode, strings.Join(k.Words, " "), wire.PageBody{Page: k.Page, PageSize: k.PageSize})
		return show(s, k.output, found, err, printFoundDocuments)
	})
}

// printFoundDocuments shows what a search for documents has found.
func printFoundDocuments(s *session, f wire.DocumentSearchPage) error {
	if f.Degraded != nil {
		s.note("%s", line(f.Degraded.Reason))
	}
	if len(f.Items) == 0 {
		s.note("no document is found here; %d in all", f.Total)
		return nil
	}
	var b strings.Builder
	for _, it := range f.Items {
		about := []string{it.Filename}
		if it.PageNumber > 0 {
			about = append(about, fmt.Sprintf("page %d", it.PageNumber))
		}
		if it.Section != "" {
			about = append(about, it.Section)
		}
		fmt.Fprintf(&b, "%s  %s\n  %s\n  ", s.bold(line(it.Title)), s.dim(line(strings.Join(about, ", "))), s.dim(it.DocumentID))
		places := make([]wire.Highlight, len(it.Highlights))
		for i, h := range it.Highlights {
			places[i] = wire.Highlight{Start: h.Start, End: h.End}
		}
		printMarked(s, &b, it.Snippet, "", places)
	}
	if _, err := io.WriteString(s.out, b.String()); err != nil {
		return err
	}
	s.nextPage("documents", f.Page, f.PageSize, len(f.Items), f.Total)
	return nil
}
