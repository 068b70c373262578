package rest

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
)

const problemType = "application/problem+json"

// kinds says how the API answers each code.
var kinds = map[rule.Code]struct {
	status int
	title  string
}{
	rule.CodeInvalid:         {http.StatusUnprocessableEntity, "The request is invalid"},
	rule.CodeNotFound:        {http.StatusNotFound, "Not found"},
	rule.CodeConflict:        {http.StatusConflict, "The request conflicts with the current state"},
	rule.CodePrecondition:    {http.StatusPreconditionFailed, "The change is based on an old version"},
	rule.CodeUnauthenticated: {http.StatusUnauthorized, "Credentials are missing or wrong"},
	rule.CodeForbidden:       {http.StatusForbidden, "Not allowed"},
	rule.CodeUnavailable:     {http.StatusServiceUnavailable, "Not available now"},
	rule.CodeTooLarge:        {http.StatusRequestEntityTooLarge, "Too large"},
	rule.CodeRateLimited:     {http.StatusTooManyRequests, "Too many requests"},
	rule.CodeInternal:        {http.StatusInternalServerError, "Internal error"},
}

// httpError is an error with a status or headers that its code alone does not give: a fault of a request as HTTP rather
// than of its content.
type httpError struct {
	cause  *rule.Error
	status int // 0 leaves it to the table
	header http.Header
}

func (e *httpError) Error() string { return e.cause.Error() }

func (e *httpError) Unwrap() error { return e.cause }

// WithStatus returns an error that is answered with another status than its code says.
func WithStatus(status int, cause *rule.Error) error { return &httpError{cause: cause, status: status} }

// withStatus returns an invalid error with a status of its own; field may be empty.
func withStatus(status int, field, format string, args ...any) error {
	e := rule.Errorf(rule.CodeInvalid, format, args...)
	if field != "" {
		e.Fields = []rule.FieldError{{Field: field, Message: e.Message}}
	}
	return &httpError{cause: e, status: status}
}

// InvalidField returns an invalid error on one field.
func InvalidField(field, format string, args ...any) error {
	var p rule.Problems
	p.Add(field, format, args...)
	return p.Err("the request is invalid")
}

// RenameFields gives the fields of an error the names that they have in a request.
func RenameFields(err error, names map[string]string) error {
	e, ok := errors.AsType[*rule.Error](err)
	if !ok || e.Code != rule.CodeInvalid {
		return err
	}
	var p rule.Problems
	for _, f := range e.Fields {
		if name, has := names[f.Field]; has {
			f.Field = name
		}
		p.Add(f.Field, "%s", f.Message)
	}
	if p.Len() == 0 {
		return err
	}
	return p.Err("%s", e.Message)
}

// Bounds of what a problem repeats from a request: a request must not make the answer large.
const (
	maxDetail  = 1000
	maxMessage = 500
	maxField   = 200
	maxErrors  = 200
	maxValue   = 64
)

// ProblemOf renders an error, with the headers of its answer. It logs errors that concern the operator, and hides unknown
// ones from the caller.
func ProblemOf(ctx context.Context, err error) (*wire.Problem, http.Header) {
	x := exchangeFrom(ctx)
	id, log := x.id, x.server.cfg.Logger
	header := http.Header{}
	e, ok := errors.AsType[*rule.Error](err)
	switch {
	case ok && e.Code != rule.CodeInternal:
	case errors.Is(err, context.DeadlineExceeded):
		e = rule.Errorf(rule.CodeUnavailable, "the server took too long; send the request again")
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		// Nobody reads the answer, and nothing is wrong here.
		e = rule.Errorf(rule.CodeUnavailable, "the client has gone")
	default:
		log.ErrorContext(ctx, "request failed", slog.String("request_id", id), slog.Any("error", err))
		e = rule.Errorf(rule.CodeInternal, "internal error")
	}
	p := problemOf(e)
	p.RequestID = id
	cause := e.Unwrap()
	if p.Code == rule.CodeUnavailable && cause != nil {
		// What the cause says (addresses, user names) is for the log.
		p.Detail = strings.TrimSuffix(p.Detail, ": "+cause.Error())
		log.WarnContext(ctx, "unavailable", slog.String("request_id", id), slog.Any("error", cause))
	}
	if h, ok := errors.AsType[*httpError](err); ok {
		if h.status != 0 {
			p.Status = h.status
		}
		maps.Copy(header, h.header)
	}
	if p.Code == rule.CodeUnavailable {
		header.Set("Retry-After", "1")
	}
	return p, header
}

// problemOf returns the problem that follows from an error alone.
func problemOf(e *rule.Error) *wire.Problem {
	kind, ok := kinds[e.Code]
	if !ok {
		e = rule.Errorf(rule.CodeInternal, "internal error")
		kind = kinds[rule.CodeInternal]
	}
	p := &wire.Problem{
		Type: "urn:tenet:problem:" + string(e.Code), Title: kind.title, Status: kind.status, Code: e.Code, Detail: Clip(e.Message, maxDetail),
	}
	for _, f := range e.Fields[:min(len(e.Fields), maxErrors)] {
		p.Errors = append(p.Errors, wire.FieldProblem{Field: Clip(f.Field, maxField), Message: Clip(f.Message, maxMessage), Value: short(f.Value)})
	}
	return p
}

// short returns a value that the answer may repeat: a number, a boolean, null, or a short text. It returns nil for others.
func short(v any) any {
	switch v := v.(type) {
	case bool, int, int64:
		return v
	case float64:
		if finite(v) {
			return v
		}
	case string:
		if len(v) <= maxValue {
			return v
		}
	}
	return nil
}

// finite reports whether JSON can hold a number.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Clip shortens text to at most n bytes and keeps it valid UTF-8.
func Clip(s string, n int) string {
	return text.Clip(strings.ToValidUTF8(s, "\uFFFD"), n, "...")
}

// Refuse answers with an error before the API has the request: it has no id, and an unknown error must not come here.
func Refuse(w http.ResponseWriter, e *rule.Error) {
	p := problemOf(e)
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	encode(w, p)
}

// WriteProblem answers with an error.
func WriteProblem(w http.ResponseWriter, r *http.Request, err error) {
	p, header := ProblemOf(r.Context(), err)
	maps.Copy(w.Header(), header)
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	encode(w, p)
}
