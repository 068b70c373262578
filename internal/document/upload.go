package document

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/corpus"
	"tenet/internal/document/extract"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// Bounds on what is said about a document, in characters, and on its chunks.
const (
	maxFilename = 255
	maxTitle    = 300
	maxType     = 64
	maxChunks   = 20_000
)

// Upload reads a file and stores it, all of it or nothing. The error is invalid for a file that cannot be read, with
// [extract.ErrUnsupported] in its chain if no file of its kind can be; too_large for one beyond a limit; and conflict,
// naming the document, if the project has the same content already.
func (d *Documents) Upload(ctx context.Context, projectID string, u wire.Upload) (wire.Document, error) {
	u.Filename = cleanFilename(u.Filename)
	if err := checkUpload(&u); err != nil {
		return wire.Document{}, err
	}
	sum := sha256.Sum256(u.Content)
	hash := hex.EncodeToString(sum[:])
	if err := d.absent(ctx, projectID, hash); err != nil {
		return wire.Document{}, err
	}
	format, err := extract.Sniff(u.Filename, u.Content)
	if err != nil {
		return wire.Document{}, asField(err)
	}
	result, err := extract.Run(ctx, format, u.Content, d.cfg.Limits)
	if err != nil {
		return wire.Document{}, asField(err)
	}
	made := store.Document{
		ProjectID: projectID, ID: audit.NewID(), Filename: u.Filename, MIMEType: format.MIMEType(), Title: titleOf(&u, result),
		DocumentType: u.DocumentType, SHA256: hash, SizeBytes: int64(len(u.Content)), UploadedBy: auth.ActorFrom(ctx).Name,
		UploadedAt: rule.Instant(d.cfg.Now()), Pages: result.Pages, Unread: result.Unread,
	}
	chunks := divide(result.Blocks)
	if len(chunks) > maxChunks {
		return wire.Document{}, rule.Errorf(rule.CodeTooLarge, "the document has more than %d sections and pieces of text; split it", maxChunks)
	}
	for _, c := range chunks {
		made.Characters += utf8.RuneCountInString(c.Text)
	}
	made.Chunks = len(chunks)
	chunks = append(chunks, store.DocumentChunk{Text: u.Filename + "\n" + made.Title})
	for i := range chunks {
		index(&chunks[i])
	}
	if err := d.keep(ctx, made, u.Content, chunks); err != nil {
		return wire.Document{}, err
	}
	return documentOf(made, 0), nil
}

// keep stores a document, asks for its vectors, and records it, in one transaction.
func (d *Documents) keep(ctx context.Context, made store.Document, content []byte, chunks []store.DocumentChunk) error {
	err := d.store.Update(ctx, func(tx store.Tx) error {
		if err := tx.Documents.Insert(ctx, made, content, chunks); err != nil {
			return err
		}
		if err := d.enqueue(ctx, tx, made.ProjectID, made.ID); err != nil {
			return err
		}
		return d.note(ctx, tx, "uploaded", made)
	})
	if rule.CodeOf(err) == rule.CodeConflict { // somebody was faster
		if found := d.absent(ctx, made.ProjectID, made.SHA256); found != nil {
			return found
		}
	}
	return err
}

// absent returns a conflict that names the document with a content, or nil without one.
func (d *Documents) absent(ctx context.Context, projectID, hash string) error {
	have, err := d.store.Documents.GetBySum(ctx, projectID, hash)
	switch {
	case rule.CodeOf(err) == rule.CodeNotFound:
		return nil
	case err != nil:
		return err
	}
	return rule.Errorf(rule.CodeConflict, "the project has this content already: it is document %s, %q", have.ID, have.Filename)
}

// asField makes an error about the content one about the field file.
func asField(err error) error {
	if e, ok := errors.AsType[*rule.Error](err); ok && e.Code == rule.CodeInvalid && len(e.Fields) == 0 {
		e.Fields = []rule.FieldError{{Field: "file", Message: e.Message}}
	}
	return err
}

// cleanFilename takes folders and control characters off a name.
func cleanFilename(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	name = strings.TrimSpace(path.Base(strings.ReplaceAll(name, `\`, "/")))
	if name == "." || name == ".." || name == "/" {
		return ""
	}
	return name
}

func checkUpload(u *wire.Upload) error {
	var p rule.Problems
	if u.Filename == "" {
		p.Add("file", "has no name; send it with a filename")
	}
	for _, f := range []struct {
		name, text string
		longest    int
	}{{"file", u.Filename, maxFilename}, {"title", u.Title, maxTitle}, {"document_type", u.DocumentType, maxType}} {
		switch n := utf8.RuneCountInString(f.text); {
		case !utf8.ValidString(f.text) || strings.ContainsFunc(f.text, unicode.IsControl):
			p.Add(f.name, "holds control characters or is not valid UTF-8")
		case n > f.longest && f.name == "file":
			p.Add(f.name, "has a name of %d characters; at most %d are allowed", n, f.longest)
		case n > f.longest:
			p.Add(f.name, "has %d characters; at most %d are allowed", n, f.longest)
		}
	}
	return p.Err("the upload is invalid")
}

// titleOf returns the uploader's title, else the file's own, else its first heading where it begins with one, else its name.
func titleOf(u *wire.Upload, r *extract.Result) string {
	title := strings.TrimSpace(u.Title)
	switch {
	case title != "":
	case r.Title != "":
		title = r.Title
	case r.Blocks[0].Heading == 1:
		title = r.Blocks[0].Text
	default:
		title = strings.TrimSuffix(u.Filename, path.Ext(u.Filename))
	}
	return text.FitRunes(title, maxTitle, "…")
}

// index fills in the words that a chunk is found by: those of its text, and of its section, which other chunks may hold the
// headings of.
func index(c *store.DocumentChunk) {
	text := c.Text
	if c.Section != "" && !strings.HasPrefix(text, c.Section) {
		text = c.Section + "\n" + text
	}
	corpus.EachWord(text, func(w corpus.Word) bool {
		if w.Whole {
			c.Wholes = append(c.Wholes, w.Term)
		} else {
			c.Words = append(c.Words, w.Term)
		}
		return true
	})
}
