package client

import (
	"encoding/json"
	"net/http"
	"strings"

	"tenet/internal/rule"
)

// Error is an answer that is not a success. It unwraps to a [*rule.Error], so [rule.CodeOf] works on it.
type Error struct {
	Status    int    // of HTTP
	RequestID string // under which the server has logged it; may be empty
	Err       *rule.Error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error with its code and the fields that are wrong.
func (e *Error) Unwrap() error { return e.Err }

// codes gives the code of an answer whose body does not name one.
var codes = map[int]rule.Code{
	http.StatusBadRequest:            rule.CodeInvalid,
	http.StatusUnauthorized:          rule.CodeUnauthenticated,
	http.StatusForbidden:             rule.CodeForbidden,
	http.StatusNotFound:              rule.CodeNotFound,
	http.StatusMethodNotAllowed:      rule.CodeInvalid,
	http.StatusConflict:              rule.CodeConflict,
	http.StatusPreconditionFailed:    rule.CodePrecondition,
	http.StatusRequestEntityTooLarge: rule.CodeTooLarge,
	http.StatusUnsupportedMediaType:  rule.CodeInvalid,
	http.StatusUnprocessableEntity:   rule.CodeInvalid,
	http.StatusTooManyRequests:       rule.CodeRateLimited,
	http.StatusBadGateway:            rule.CodeUnavailable,
	http.StatusServiceUnavailable:    rule.CodeUnavailable,
	http.StatusGatewayTimeout:        rule.CodeUnavailable,
}

// body is application/problem+json (RFC 9457) with Tenet's members.
type body struct {
	Title     string     `json:"title"`
	Detail    string     `json:"detail"`
	Code      rule.Code  `json:"code"`
	RequestID string     `json:"request_id"`
	Errors    []badField `json:"errors"`
	// Failure is the error in the answer of an agent.
	Failure *struct {
		Code    rule.Code `json:"code"`
		Message string    `json:"message"`
	} `json:"error"`
}

type badField struct {
	Field    string `json:"field"`
	Location string `json:"location"`
	Message  string `json:"message"`
	Value    any    `json:"value"`
}

// problem reads the error of an answer. It has a message for any body.
func problem(a *answer) *Error {
	e := &Error{Status: a.status, RequestID: a.header.Get("X-Request-Id"), Err: &rule.Error{Code: codes[a.status]}}
	if e.Err.Code == "" {
		e.Err.Code = rule.CodeInternal
	}
	if to := a.header.Get("Location"); a.status >= 300 && a.status < 400 && to != "" {
		e.Err.Code, e.Err.Message = rule.CodeInvalid, "the server redirects to "+to+"; use that address"
		return e
	}
	var b body
	err := json.Unmarshal(a.body, &b)
	if err == nil && b.Failure != nil {
		b.Code, b.Detail = b.Failure.Code, b.Failure.Message
	}
	if err != nil || (b.Title == "" && b.Detail == "") {
		e.Err.Message = "the server answered " + http.StatusText(a.status)
		if http.StatusText(a.status) == "" {
			e.Err.Message = "the server answered with an unknown status"
		}
		return e
	}
	if b.Code != "" {
		e.Err.Code = b.Code
	}
	if b.RequestID != "" {
		e.RequestID = b.RequestID
	}
	e.Err.Message = b.Detail
	if e.Err.Message == "" {
		e.Err.Message = b.Title
	}
	for _, f := range b.Errors {
		name := f.Field
		if name == "" {
			name = strings.TrimPrefix(f.Location, "body.")
		}
		e.Err.Fields = append(e.Err.Fields, rule.FieldError{Field: name, Message: f.Message, Value: f.Value})
	}
	return e
}
