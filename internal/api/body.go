package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tenet/internal/rule"
)

// jsonType is the media type of bodies.
const jsonType = "application/json"

// yamlTypes are the media types of rule files in YAML; the first is the registered one (RFC 9512).
var yamlTypes = []string{"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"}

// readBody reads, checks and decodes the JSON body of a request. All that is wrong with it is told at once.
func readBody[B any](ctx context.Context, s *server) (*B, error) {
	x := exchangeFrom(ctx)
	if _, err := x.mediaType(); err != nil {
		return nil, err
	}
	buf, err := s.read(x)
	if err != nil {
		return nil, err
	}
	defer putBuffer(buf)
	if x.plan.optional && buf.Len() == 0 {
		return new(B), nil
	}
	return decodeJSON[B](buf.Bytes(), x.plan.body, s.cfg.Limits.MaxJSONDepth)
}

// decodeJSON checks data against a shape and decodes it. The check is strict, so the decoding need not be.
func decodeJSON[B any](data []byte, sh *shape, maxDepth int) (*B, error) {
	if err := scanJSON(data, sh, maxDepth); err != nil {
		return nil, err
	}
	body := new(B)
	if err := json.Unmarshal(data, body, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		field := "body"
		if e, ok := errors.AsType[*json.SemanticError](err); ok && e.JSONPointer != "" {
			field = strings.ReplaceAll(strings.TrimPrefix(string(e.JSONPointer), "/"), "/", ".")
		}
		return nil, invalidField(field, "has the wrong form")
	}
	return body, nil
}

// mediaType is the media type of the body: JSON unless told otherwise. Others are refused, and other encodings.
func (x *exchange) mediaType() (string, error) {
	if encoding := x.r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return "", withStatus(http.StatusUnsupportedMediaType, "Content-Encoding", "the encoding %q is not supported; send the body as it is", cut(encoding, maxValue))
	}
	header := x.r.Header.Get("Content-Type")
	if header == "" {
		return jsonType, nil
	}
	media, params, err := mime.ParseMediaType(header)
	known := media == jsonType || (x.plan.yaml && slices.Contains(yamlTypes, media))
	if err != nil || !known {
		use := jsonType
		if x.plan.yaml {
			use += " or " + yamlTypes[0]
		}
		return "", withStatus(http.StatusUnsupportedMediaType, "Content-Type", "the media type %q is not supported; send Content-Type: %s",
			cut(header, maxValue), use)
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "us-ascii") {
		return "", withStatus(http.StatusUnsupportedMediaType, "Content-Type", "the charset %q is not supported; send UTF-8", cut(charset, maxValue))
	}
	return media, nil
}

// read reads the whole body into a pooled buffer, within the limit of size and time.
func (s *server) read(x *exchange) (*bytes.Buffer, error) {
	limit := x.plan.limit
	r := x.r
	if r.ContentLength > limit {
		return nil, x.tooLarge(limit, !strings.EqualFold(r.Header.Get("Expect"), "100-continue"))
	}
	timeout := s.awaitBody(x)
	buf := getBuffer()
	if n := r.ContentLength; n > 0 {
		buf.Grow(int(min(n+1, maxPooled))) // a length is only a claim
	}
	n, err := buf.ReadFrom(io.LimitReader(r.Body, limit+1))
	if err == nil && n <= limit {
		return buf, nil // net/http ends the deadline with the body
	}
	putBuffer(buf)
	if err == nil {
		return nil, x.tooLarge(limit, true)
	}
	return nil, brokenBody(err, timeout)
}

// awaitBody limits the time for the client to send the body.
func (s *server) awaitBody(x *exchange) time.Duration {
	timeout := s.cfg.Limits.BodyTimeout
	if x.plan.limit > s.cfg.Limits.MaxBody {
		timeout *= 4
	}
	x.readDeadline(time.Now().Add(timeout))
	return timeout
}

// brokenBody is the error for a body that could not be read to its end.
func brokenBody(err error, timeout time.Duration) error {
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return withStatus(http.StatusRequestTimeout, "", "the body did not arrive within %s", timeout)
	}
	return withStatus(http.StatusBadRequest, "", "the body ends too early")
}

func (x *exchange) readDeadline(t time.Time) {
	_ = http.NewResponseController(x.w).SetReadDeadline(t) // only real connections have one
}

// Bounds of what is read and thrown away of a body that is too large. Clients that send all before they read get their
// answer that way, instead of a connection reset.
const (
	maxDrained   = 128 << 20
	drainTimeout = 10 * time.Second
)

func (x *exchange) tooLarge(limit int64, drain bool) error {
	if drain {
		x.readDeadline(time.Now().Add(drainTimeout))
		n, err := io.CopyN(io.Discard, x.r.Body, maxDrained)
		drain = errors.Is(err, io.EOF) && n < maxDrained
	}
	e := &httpError{cause: rule.Errorf(rule.CodeTooLarge, "the body has more than %d bytes; send less at once", limit)}
	if !drain {
		e.header = http.Header{"Connection": {"close"}}
	}
	return e
}
