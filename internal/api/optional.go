package api

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// nullType is the JSON schema type of null.
const nullType = "null"

// Optional is a field of a PATCH body: absent, null, or a value. Absent leaves things as they are, null clears them.
type Optional[T any] struct {
	Set   bool // the field is there
	Null  bool // and is null
	Value T
}

// UnmarshalJSON implements json.Unmarshaler; it is called only for fields that are there.
func (o *Optional[T]) UnmarshalJSON(b []byte) error {
	o.Set = true
	if string(b) == nullType {
		o.Null = true
		return nil
	}
	return json.Unmarshal(b, &o.Value, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Schema implements huma.SchemaProvider: the schema of T, or null.
func (o Optional[T]) Schema(r huma.Registry) *huma.Schema {
	s := r.Schema(reflect.TypeFor[T](), true, "")
	if s.Ref != "" {
		return &huma.Schema{AnyOf: []*huma.Schema{s, {Type: nullType}}}
	}
	s.Nullable = true
	return s
}

// apply puts the field in place; null clears.
func (o *Optional[T]) apply(to *T) {
	if o.Set {
		*to = o.Value
	}
}

// boolParam is a boolean query parameter that tells absent from false.
type boolParam struct{ value, set bool }

// Receiver implements huma.ParamWrapper.
func (f *boolParam) Receiver() reflect.Value { return reflect.ValueOf(&f.value).Elem() }

// OnParamSet implements huma.ParamReactor.
func (f *boolParam) OnParamSet(set bool, _ any) { f.set = set }

// Schema implements huma.SchemaProvider.
func (f boolParam) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeBoolean} }

// pointer is nil for an absent parameter.
func (f *boolParam) pointer() *bool {
	if !f.set {
		return nil
	}
	return &f.value
}
