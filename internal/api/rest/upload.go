package rest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"time"

	"tenet/internal/rule"
)

const (
	formType = "multipart/form-data"
	// formExtra bounds a form without its file, in bytes.
	formExtra = 64 << 10
	// maxFormField is the longest text field of a form, in bytes.
	maxFormField = 8 << 10
	maxFormParts = 20
	// maxUploads bounds the forms in memory. Further ones wait for uploadPatience before the server reads them.
	maxUploads     = 8
	uploadPatience = 20 * time.Second
)

// ReserveUpload waits until the server may read another form. The caller calls done when it has finished with the form.
func ReserveUpload(ctx context.Context) (done func(), err error) {
	uploads := exchangeFrom(ctx).server.uploads
	timeout := time.NewTimer(uploadPatience)
	defer timeout.Stop()
	select {
	case uploads <- struct{}{}:
		return func() { <-uploads }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timeout.C:
		return nil, rule.Errorf(rule.CodeUnavailable, "%d uploads are under way already; send it again later", maxUploads)
	}
}

// Upload lets an operation take a form with a file and text fields, described by name.
func (e *Endpoint) Upload(fields map[string]*Schema) *Endpoint {
	form := &Schema{Type: typeObject, Required: []string{"file"}, AdditionalProperties: false, Properties: fields}
	return e.Accept(e.server.cfg.Limits.MaxDocument+formExtra, map[string]*Media{formType: {Schema: form}})
}

// Form is a multipart form with one file.
type Form struct {
	Filename string
	File     []byte
	Fields   map[string]string
}

// bodyReader reads a body up to its limit, and records why reading failed.
type bodyReader struct {
	from io.Reader
	left int64
	err  error // other than the end
	over bool  // the body is larger than the limit
}

// Read implements [io.Reader].
func (b *bodyReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.over = true
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// ReadForm reads a form with a file and the given text fields, each at most once, within the limits of size and time.
func ReadForm(ctx context.Context, fields ...string) (*Form, error) {
	x := exchangeFrom(ctx)
	media, params, err := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	if err != nil || media != formType || params["boundary"] == "" {
		return nil, withStatus(http.StatusUnsupportedMediaType, "Content-Type", "the media type %q is not supported; send %s with the file in the field file",
			Clip(x.r.Header.Get("Content-Type"), maxValue), formType)
	}
	if encoding := x.r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, withStatus(http.StatusUnsupportedMediaType, "Content-Encoding", "the encoding %q is not supported; send the body as it is", Clip(encoding, maxValue))
	}
	limit := x.endpoint.limit
	if x.r.ContentLength > limit {
		return nil, x.tooLarge(limit, !strings.EqualFold(x.r.Header.Get("Expect"), "100-continue"))
	}
	timeout := x.awaitBody()
	body := &bodyReader{from: x.r.Body, left: limit + 1}
	f, err := parseForm(multipart.NewReader(body, params["boundary"]), fields, max(x.r.ContentLength, 0))
	switch {
	case body.over:
		return nil, x.tooLarge(limit, true)
	case body.err != nil:
		return nil, brokenBody(body.err, timeout)
	}
	return f, err
}

// parseForm reads the parts of a form. room is the expected size of its file, or 0.
func parseForm(parts *multipart.Reader, fields []string, room int64) (*Form, error) {
	f := &Form{Fields: map[string]string{}}
	var p rule.Problems
	seen := map[string]bool{}
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		if err == io.EOF { // a form that is cut short gives an error that wraps it
			break
		}
		if err != nil {
			return nil, withStatus(http.StatusBadRequest, "", "the body is not a whole multipart form")
		}
		if n == maxFormParts {
			return nil, withStatus(http.StatusBadRequest, "", "the form has more than %d parts", maxFormParts)
		}
		name := part.FormName()
		if seen[name] {
			p.Add(Clip(name, maxField), "is given twice")
		}
		seen[name] = true
		if err := f.take(&p, name, part, fields, room); err != nil {
			return nil, err
		}
	}
	if !seen["file"] {
		p.Add("file", "is missing")
	}
	return f, p.Err("the form is invalid")
}

// take reads one part.
func (f *Form) take(p *rule.Problems, name string, part *multipart.Part, fields []string, room int64) error {
	var from io.Reader = part
	var buf bytes.Buffer
	if name == "file" {
		f.File = nil                        // of two, one at a time
		buf.Grow(int(room) + bytes.MinRead) // grown bit by bit, a large file would take several times its size
	} else {
		from = io.LimitReader(part, maxFormField+1)
	}
	_, err := buf.ReadFrom(from)
	content := buf.Bytes()
	if err != nil {
		return withStatus(http.StatusBadRequest, "", "the body is not a whole multipart form")
	}
	switch {
	case name == "file":
		f.Filename, f.File = part.FileName(), content
	case !slices.Contains(fields, name):
		p.Add(Clip(name, maxField), "is not a field of this form; use file, %s", strings.Join(fields, ", "))
	case len(content) > maxFormField:
		p.Add(name, "has more than %d bytes", maxFormField)
	default:
		f.Fields[name] = string(content)
	}
	return nil
}
