package api

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"tenet/internal/rule"
)

// Problem is an error as clients get it: application/problem+json of RFC 9457.
type Problem struct {
	Type      string         `json:"type" doc:"Kind of problem: urn:tenet:problem: and the code." example:"urn:tenet:problem:invalid"`
	Title     string         `json:"title" doc:"Short name of the kind of problem."`
	Status    int            `json:"status" doc:"HTTP status."`
	Detail    string         `json:"detail" doc:"What is wrong in this case, and what to do."`
	Code      rule.Code      `json:"code" enum:"invalid,not_found,conflict,precondition_failed,unauthenticated,forbidden,unavailable,too_large,rate_limited,internal" doc:"Kind of problem for programs."`
	Errors    []FieldProblem `json:"errors,omitempty" nullable:"false" doc:"The fields that are wrong."`
	RequestID string         `json:"request_id" doc:"Under this id the server has logged the request."`

	header http.Header
}

// FieldProblem names a field of a request that is wrong.
type FieldProblem struct {
	Field   string `json:"field" doc:"Path in the body, such as check.cel or rules[3].severity, or the name of a parameter."`
	Message string `json:"message" doc:"What is wrong with it."`
	Value   any    `json:"value,omitempty" doc:"The value, if it is short and cannot be a secret."`
}

// Error implements error, as huma demands of what handlers return.
func (p *Problem) Error() string { return p.Detail }

// GetStatus tells huma the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders tells huma the headers of the answer.
func (p *Problem) GetHeaders() http.Header { return p.header }

// ContentType tells huma the media type.
func (p *Problem) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

// kinds is the one table that says how each code is answered.
var kinds = map[rule.Code]struct {
	status int
	title  string
}{
	rule.CodeInvalid:         {http.StatusUnprocessableEntity, "The request is invalid"},
	rule.CodeNotFound:        {http.StatusNotFound, "Not found"},
	rule.CodeConflict:        {http.StatusConflict, "The request conflicts with the state of things"},
	rule.CodePrecondition:    {http.StatusPreconditionFailed, "The change is based on an old version"},
	rule.CodeUnauthenticated: {http.StatusUnauthorized, "Credentials are missing or wrong"},
	rule.CodeForbidden:       {http.StatusForbidden, "Not allowed"},
	rule.CodeUnavailable:     {http.StatusServiceUnavailable, "Not available now"},
	rule.CodeTooLarge:        {http.StatusRequestEntityTooLarge, "Too large"},
	rule.CodeRateLimited:     {http.StatusTooManyRequests, "Too many requests"},
	rule.CodeInternal:        {http.StatusInternalServerError, "Internal error"},
}

// httpError is an error with a status or headers that its code alone does not give: what is wrong with a request as HTTP
// rather than with what it says.
type httpError struct {
	cause  *rule.Error
	status int // 0 leaves it to the table
	header http.Header
}

func (e *httpError) Error() string { return e.cause.Error() }

func (e *httpError) Unwrap() error { return e.cause }

// withStatus makes an invalid error with a status of its own; field may be empty.
func withStatus(status int, field, format string, args ...any) error {
	e := rule.Errorf(rule.CodeInvalid, format, args...)
	if field != "" {
		e.Fields = []rule.FieldError{{Field: field, Message: e.Message}}
	}
	return &httpError{cause: e, status: status}
}

// invalidField makes an invalid error on one field.
func invalidField(field, format string, args ...any) error {
	var p rule.Problems
	p.Add(field, format, args...)
	return p.Err("the request is invalid")
}

// renamed gives fields of an error the names that they have in a request.
func renamed(err error, names map[string]string) error {
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

// problem renders an error, logs it if somebody who runs the server should know, and hides it if it is unknown.
func (s *server) problem(ctx context.Context, err error) *Problem {
	id := requestID(ctx)
	p := &Problem{RequestID: id, header: http.Header{}}
	e, known := errors.AsType[*rule.Error](err)
	switch {
	case known && e.Code != rule.CodeInternal:
	case errors.Is(err, context.DeadlineExceeded):
		e = rule.Errorf(rule.CodeUnavailable, "the server took too long; send the request again")
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		// Nobody reads the answer, and nothing is wrong here.
		e = rule.Errorf(rule.CodeUnavailable, "the client has gone")
	default:
		s.log.ErrorContext(ctx, "request failed", slog.String("request_id", id), slog.Any("error", err))
		e = rule.Errorf(rule.CodeInternal, "internal error")
	}
	p.fill(e)
	cause := e.Unwrap()
	if p.Code == rule.CodeUnavailable && cause != nil {
		// What the cause says (addresses, user names) is for the log.
		p.Detail = strings.TrimSuffix(p.Detail, ": "+cause.Error())
		s.log.WarnContext(ctx, "unavailable", slog.String("request_id", id), slog.Any("error", cause))
	}
	if h, ok := errors.AsType[*httpError](err); ok {
		if h.status != 0 {
			p.Status = h.status
		}
		maps.Copy(p.header, h.header)
	}
	if p.Code == rule.CodeUnavailable {
		p.header.Set("Retry-After", "1")
	}
	return p
}

// fill sets what follows from the error alone.
func (p *Problem) fill(e *rule.Error) {
	kind, ok := kinds[e.Code]
	if !ok {
		e = rule.Errorf(rule.CodeInternal, "internal error")
		kind = kinds[rule.CodeInternal]
	}
	p.Type, p.Title, p.Status, p.Code = "urn:tenet:problem:"+string(e.Code), kind.title, kind.status, e.Code
	p.Detail = cut(e.Message, maxDetail)
	for _, f := range e.Fields[:min(len(e.Fields), maxErrors)] {
		p.Errors = append(p.Errors, FieldProblem{Field: cut(f.Field, maxField), Message: cut(f.Message, maxMessage), Value: short(f.Value)})
	}
}

// short is a value that may be repeated to the caller: numbers, booleans and null, and text that is not long.
func short(v any) any {
	switch v := v.(type) {
	case bool, int, int64, float64:
		return v
	case string:
		if len(v) <= maxValue {
			return v
		}
	}
	return nil
}

// cut shortens text to at most n bytes and keeps it valid UTF-8.
func cut(s string, n int) string {
	if len(s) > n {
		s = s[:n] + "..."
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// writeProblem answers with an error outside huma's handlers.
func (s *server) writeProblem(w http.ResponseWriter, r *http.Request, err error) {
	p := s.problem(r.Context(), err)
	maps.Copy(w.Header(), p.header)
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	encode(w, p)
}

// humaProblem turns the errors that huma makes itself, which are all about parameters, into problems.
func (s *server) humaProblem(ctx huma.Context, _ string, v any) (any, error) {
	model, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	e := rule.Errorf(rule.CodeInvalid, "the request is invalid")
	if model.Status >= http.StatusInternalServerError {
		e = rule.Errorf(rule.CodeInternal, "internal error")
	}
	for _, d := range model.Errors {
		e.Fields = append(e.Fields, rule.FieldError{Field: parameterName(d.Location), Message: d.Message, Value: d.Value})
	}
	p := s.problem(ctx.Context(), e)
	p.Status = model.Status
	return p, nil
}

// parameterName takes the place off a parameter: query.page_size is page_size.
func parameterName(location string) string {
	if _, name, ok := strings.Cut(location, "."); ok {
		return name
	}
	return location
}
