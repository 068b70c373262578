package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"tenet/internal/rule"
)

const (
	formType = "multipart/form-data"
	// formExtra is what a form may have, in bytes, beside its file.
	formExtra = 64 << 10
	// maxFormField is the longest text field of a form, in bytes.
	maxFormField = 8 << 10
	maxFormParts = 20
	// maxUploads is how many forms are in memory at once. Further ones wait for uploadPatience, before they are read.
	maxUploads     = 8
	uploadPatience = 20 * time.Second
)

// mayUpload waits until a form may be read. The caller calls done once it needs the form no more.
func (s *server) mayUpload(ctx context.Context) (done func(), err error) {
	timeout := time.NewTimer(uploadPatience)
	defer timeout.Stop()
	select {
	case s.uploads <- struct{}{}:
		return func() { <-s.uploads }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timeout.C:
		return nil, rule.Errorf(rule.CodeUnavailable, "%d uploads are under way already; send it again later", maxUploads)
	}
}

// form is a multipart form with one file.
type form struct {
	filename string
	file     []byte
	fields   map[string]string
}

// bodyReader reads a body up to its limit, and remembers why it could not be read on.
type bodyReader struct {
	from io.Reader
	left int64
	err  error // other than the end
	over bool  // there is more than the limit
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

// readForm reads a form with a file and the given text fields, each once at most, within the limits of size and time.
func (s *server) readForm(ctx context.Context, known ...string) (*form, error) {
	x := exchangeFrom(ctx)
	media, params, err := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	if err != nil || media != formType || params["boundary"] == "" {
		return nil, withStatus(http.StatusUnsupportedMediaType, "Content-Type", "the media type %q is not supported; send %s with the file in the field file",
			cut(x.r.Header.Get("Content-Type"), maxValue), formType)
	}
	if encoding := x.r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, withStatus(http.StatusUnsupportedMediaType, "Content-Encoding", "the encoding %q is not supported; send the body as it is", cut(encoding, maxValue))
	}
	limit := x.plan.limit
	if x.r.ContentLength > limit {
		return nil, x.tooLarge(limit, !strings.EqualFold(x.r.Header.Get("Expect"), "100-continue"))
	}
	timeout := s.awaitBody(x)
	body := &bodyReader{from: x.r.Body, left: limit + 1}
	f, err := parseForm(multipart.NewReader(body, params["boundary"]), known, max(x.r.ContentLength, 0))
	switch {
	case body.over:
		return nil, x.tooLarge(limit, true)
	case body.err != nil:
		return nil, brokenBody(body.err, timeout)
	}
	return f, err
}

// parseForm reads the parts of a form. room is what its file may take, as far as that is known.
func parseForm(parts *multipart.Reader, known []string, room int64) (*form, error) {
	f := &form{fields: map[string]string{}}
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
			p.Add(cut(name, maxField), "is given twice")
		}
		seen[name] = true
		if err := f.take(&p, name, part, known, room); err != nil {
			return nil, err
		}
	}
	if !seen["file"] {
		p.Add("file", "is missing")
	}
	return f, p.Err("the form is invalid")
}

// take reads one part.
func (f *form) take(p *rule.Problems, name string, part *multipart.Part, known []string, room int64) error {
	text := false
	for _, k := range known {
		text = text || k == name
	}
	var from io.Reader = part
	var buf bytes.Buffer
	if name == "file" {
		f.file = nil                        // of two, one at a time
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
		f.filename, f.file = part.FileName(), content
	case !text:
		p.Add(cut(name, maxField), "is not a field of this form; there are file, %s", strings.Join(known, ", "))
	case len(content) > maxFormField:
		p.Add(name, "has more than %d bytes", maxFormField)
	default:
		f.fields[name] = string(content)
	}
	return nil
}
