package rest

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

// YAMLTypes are the media types of YAML; the first is the registered one (RFC 9512).
var YAMLTypes = []string{"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"}

// ReadBody reads, checks and decodes the JSON body of a request. Its error names everything that is wrong with it.
func ReadBody[B any](ctx context.Context) (*B, error) {
	x := exchangeFrom(ctx)
	e := x.endpoint
	if e.signer != nil {
		return decodeJSON[B](x.raw, e.body, e.server.cfg.Limits.MaxJSONDepth)
	}
	_, buf, err := x.readAll()
	if err != nil {
		return nil, err
	}
	defer putBuffer(buf)
	if e.optional && len(bytes.TrimSpace(buf.Bytes())) == 0 {
		return new(B), nil
	}
	return decodeJSON[B](buf.Bytes(), e.body, e.server.cfg.Limits.MaxJSONDepth)
}

// ReadFile reads a body that is JSON or YAML, by its media type. parse reads YAML.
func ReadFile[B any](ctx context.Context, parse func([]byte) (*B, error)) (*B, error) {
	x := exchangeFrom(ctx)
	media, buf, err := x.readAll()
	if err != nil {
		return nil, err
	}
	defer putBuffer(buf)
	if media == jsonType {
		return decodeJSON[B](buf.Bytes(), x.endpoint.body, x.endpoint.server.cfg.Limits.MaxJSONDepth)
	}
	return parse(buf.Bytes())
}

// readAll reads the body and returns its media type. The caller puts the buffer back.
func (x *exchange) readAll() (media string, buf *bytes.Buffer, err error) {
	if media, err = x.mediaType(); err != nil {
		return "", nil, err
	}
	buf, err = x.read()
	return media, buf, err
}

// decodeJSON checks data against a schema and decodes it. The check is strict, so the decoding need not be.
func decodeJSON[B any](data []byte, schema *Schema, maxDepth int) (*B, error) {
	data, err := checkJSON(data, schema, maxDepth)
	if err != nil {
		return nil, err
	}
	body := new(B)
	if err := json.Unmarshal(data, body, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		field := "body"
		if e, ok := errors.AsType[*json.SemanticError](err); ok && e.JSONPointer != "" {
			field = strings.ReplaceAll(strings.TrimPrefix(string(e.JSONPointer), "/"), "/", ".")
		}
		return nil, InvalidField(field, "has the wrong form")
	}
	return body, nil
}

// mediaType returns the media type of the body: JSON where the header is absent. It refuses others, and encodings.
func (x *exchange) mediaType() (string, error) {
	if encoding := x.r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return "", withStatus(http.StatusUnsupportedMediaType, "Content-Encoding", "the encoding %q is not supported; send the body as it is", Clip(encoding, maxValue))
	}
	header := x.r.Header.Get("Content-Type")
	if header == "" {
		return jsonType, nil
	}
	media, params, err := mime.ParseMediaType(header)
	supported := media == jsonType || (x.endpoint.yaml && slices.Contains(YAMLTypes, media))
	if err != nil || !supported {
		use := jsonType
		if x.endpoint.yaml {
			use += " or " + YAMLTypes[0]
		}
		return "", withStatus(http.StatusUnsupportedMediaType, "Content-Type", "the media type %q is not supported; send Content-Type: %s",
			Clip(header, maxValue), use)
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "us-ascii") {
		return "", withStatus(http.StatusUnsupportedMediaType, "Content-Type", "the charset %q is not supported; send UTF-8", Clip(charset, maxValue))
	}
	return media, nil
}

// read reads the whole body into a pooled buffer, within the limit of size and time.
func (x *exchange) read() (*bytes.Buffer, error) {
	limit := x.endpoint.limit
	r := x.r
	if r.ContentLength > limit {
		return nil, x.tooLarge(limit, !strings.EqualFold(r.Header.Get("Expect"), "100-continue"))
	}
	timeout := x.awaitBody()
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
func (x *exchange) awaitBody() time.Duration {
	limits := x.endpoint.server.cfg.Limits
	timeout := limits.BodyTimeout
	if x.endpoint.limit > limits.MaxBody {
		timeout *= 4
	}
	x.readDeadline(time.Now().Add(timeout))
	return timeout
}

// brokenBody returns the error for a body that could not be read to its end.
func brokenBody(err error, timeout time.Duration) error {
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return withStatus(http.StatusRequestTimeout, "", "the body did not arrive within %s", timeout)
	}
	return withStatus(http.StatusBadRequest, "", "the body ends too early")
}

func (x *exchange) readDeadline(t time.Time) {
	_ = http.NewResponseController(x.w).SetReadDeadline(t) // only real connections have one
}

// Bounds of what the server reads and discards of a body that is too large. A client that sends all before it reads
// thus gets its answer, instead of a connection reset.
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
