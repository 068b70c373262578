package rule

import (
	"errors"
	"fmt"
)

// Code classifies an [Error]. Every surface (HTTP, CLI, MCP) maps codes by one table of its own.
type Code string

// Codes.
const (
	CodeInvalid         Code = "invalid"
	CodeNotFound        Code = "not_found"
	CodeConflict        Code = "conflict"
	CodePrecondition    Code = "precondition_failed"
	CodeUnauthenticated Code = "unauthenticated"
	CodeForbidden       Code = "forbidden"
	CodeUnavailable     Code = "unavailable"
	CodeTooLarge        Code = "too_large"
	CodeRateLimited     Code = "rate_limited"
	CodeInternal        Code = "internal"
)

// Error is the one error type that callers may show to users. Anything else is internal and shown to nobody.
type Error struct {
	Code    Code
	Message string // one sentence that says what to do
	Fields  []FieldError
	cause   error
}

// FieldError names a field that is wrong and why. Field is a path such as check.cel or rules[3].severity.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
	Value   any    `json:"value,omitempty"`
}

func (e *Error) Error() string {
	s := e.Message
	for i, f := range e.Fields {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		s += sep + f.Field + ": " + f.Message
	}
	return s
}

// Unwrap returns the cause, which is for logs only.
func (e *Error) Unwrap() error { return e.cause }

// Errorf makes an error with a code. A %w verb keeps the cause for logs.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// NotFound makes the error for a missing thing, such as NotFound("rule", id).
func NotFound(noun, ref string) *Error {
	return Errorf(CodeNotFound, "there is no %s %q", noun, ref)
}

// CodeOf returns the code of err: that of the first [Error] in its chain, or internal. The code of nil is empty.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// Problems collects field errors. The zero value is ready to use.
type Problems struct{ fields []FieldError }

// Add notes that field is wrong.
func (p *Problems) Add(field, format string, args ...any) {
	p.fields = append(p.fields, FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

// AddAll notes the field errors of err under a prefix; a nil err adds nothing.
func (p *Problems) AddAll(prefix string, err error) { p.AddNamed(prefix, "", err) }

// AddNamed is [Problems.AddAll] with the name of the thing that is wrong before each message.
func (p *Problems) AddNamed(prefix, name string, err error) {
	if err == nil {
		return
	}
	e, ok := errors.AsType[*Error](err)
	if !ok || len(e.Fields) == 0 {
		p.Add(prefix, "%s", err.Error())
		return
	}
	for _, f := range e.Fields {
		f.Field = prefix + "." + f.Field
		if name != "" {
			f.Message = name + ": " + f.Message
		}
		p.fields = append(p.fields, f)
	}
}

// Len returns the number of field errors.
func (p *Problems) Len() int { return len(p.fields) }

// Err returns nil without field errors, else an invalid error that carries them.
func (p *Problems) Err(format string, args ...any) error {
	if len(p.fields) == 0 {
		return nil
	}
	e := Errorf(CodeInvalid, format, args...)
	e.Fields = p.fields
	return e
}
