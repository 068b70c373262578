// Package wire holds the requests and the answers of the HTTP API as Go types, in the form in which they are encoded. The API, its
// clients and the capabilities behind it share them. Their tags are the API description: doc, enum, example, minimum and the like are
// published, and bodies are checked against them.
package wire

import "encoding/json"

// Status says how far work in the background has come.
type Status string

// Statuses.
const (
	Pending   Status = "pending"
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
)

// Optional is a field of a PATCH body: absent, null, or a value. Absent leaves things as they are, null clears them.
type Optional[T any] struct {
	Set   bool // the field is there
	Null  bool // and is null
	Value T
}

// IsZero reports whether the field is absent.
func (o Optional[T]) IsZero() bool { return !o.Set }

// UnmarshalJSON implements json.Unmarshaler; it is called only for fields that are there.
func (o *Optional[T]) UnmarshalJSON(b []byte) error {
	o.Set = true
	if string(b) == "null" {
		o.Null = true
		return nil
	}
	return json.Unmarshal(b, &o.Value)
}

// MarshalJSON implements json.Marshaler. A field that is absent is left out where its tag says omitzero.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if o.Null {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}

// Some is an optional field with a value.
func Some[T any](v T) Optional[T] { return Optional[T]{Set: true, Value: v} }

// Patch implements [rule.Patch].
func (o Optional[T]) Patch() (value any, present bool) {
	if o.Null {
		return nil, o.Set
	}
	return o.Value, o.Set
}

// None is the body of a request or an answer that has none.
type None struct{}

// Page is the envelope of every list.
type Page[T any] struct {
	Items    []T `json:"items" nullable:"false" doc:"Items of this page."`
	Total    int `json:"total" doc:"Items on all pages."`
	Page     int `json:"page" doc:"This page, from 1."`
	PageSize int `json:"page_size" doc:"Items per page."`
}
