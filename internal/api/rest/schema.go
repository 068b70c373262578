package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// Names of JSON types in schemas.
const (
	typeObject  = "object"
	typeArray   = "array"
	typeString  = "string"
	typeInteger = "integer"
	typeNumber  = "number"
	typeBoolean = "boolean"
	typeNull    = "null"
)

// Schema is a JSON schema of the API description. Bodies and parameters are checked against the very values that are
// published, so the description cannot differ from the check. The zero value allows everything. Fields are in the order
// of their JSON names, which is the order of the description.
type Schema struct {
	Ref                  string             `json:"$ref,omitempty"`
	AdditionalProperties any                `json:"additionalProperties,omitempty"` // false, or the *Schema of all other fields
	AnyOf                []*Schema          `json:"anyOf,omitempty"`                // a schema, or null
	ContentMediaType     string             `json:"contentMediaType,omitempty"`
	Default              json.RawMessage    `json:"default,omitempty"` // of a parameter; see defaultInWords
	Description          string             `json:"description,omitempty"`
	Discriminator        *Discriminator     `json:"discriminator,omitempty"` // for OneOf
	Enum                 values             `json:"enum,omitempty"`
	Examples             []json.RawMessage  `json:"examples,omitempty"`
	Format               string             `json:"format,omitempty"`
	Items                *Schema            `json:"items,omitempty"`
	MaxItems             *int               `json:"maxItems,omitempty"`
	MaxLength            *int               `json:"maxLength,omitempty"`
	Maximum              *float64           `json:"maximum,omitempty"`
	MinLength            *int               `json:"minLength,omitempty"`
	Minimum              *float64           `json:"minimum,omitempty"`
	OneOf                []*Schema          `json:"oneOf,omitempty"`
	Properties           map[string]*Schema `json:"properties,omitempty"`
	Required             []string           `json:"required,omitempty"`
	Type                 string             `json:"-"`
	Nullable             bool               `json:"-"` // published as a second type
	// AllowNUL lets a string hold NUL characters: its reader reports them.
	AllowNUL bool `json:"-"`
	// NotNull refuses null although the field is optional: a field of a PATCH that cannot be cleared.
	NotNull bool `json:"-"`
	// Raw is published in place of the schema.
	Raw map[string]any `json:"-"`
	// defaultInWords publishes the default of a field in its description only. Generators take a field with a default for one that is
	// always there, and their clients then send it: the server could not know any more that the caller has left it out.
	defaultInWords bool

	target *Schema // that Ref refers to
}

// values are the values of an enumeration, of which nullValue is published as null.
type values []string

// nullValue is no text that a field may hold.
const nullValue = "\x00null"

// MarshalJSON implements [json.Marshaler].
func (v values) MarshalJSON() ([]byte, error) {
	out := make([]any, len(v))
	for i, value := range v {
		if value != nullValue {
			out[i] = value
		}
	}
	return json.Marshal(out)
}

// Discriminator names the field whose value says which of several schemas an object has.
type Discriminator struct {
	Mapping      map[string]string `json:"mapping"`
	PropertyName string            `json:"propertyName"`
}

// MarshalJSON implements [json.Marshaler].
func (s *Schema) MarshalJSON() ([]byte, error) {
	if s.Raw != nil {
		return json.Marshal(s.Raw)
	}
	type plain Schema
	published := plain(*s)
	if s.defaultInWords {
		published.Default = nil
		published.Description = strings.TrimSpace(s.Description + " Default: " + strings.Trim(string(s.Default), `"`) + ".")
	}
	out := struct {
		*plain
		Type any `json:"type,omitempty"`
	}{plain: &published}
	if s.Nullable && s.Enum != nil {
		out.Enum = append(slices.Clone(s.Enum), nullValue) // a value must be in the list, whatever its type
	}
	switch {
	case s.Nullable:
		out.Type = []string{s.Type, typeNull}
	case s.Type != "":
		out.Type = s.Type
	}
	return json.Marshal(out)
}

// OrNull returns a schema that also allows null.
func (s *Schema) OrNull() *Schema {
	return &Schema{AnyOf: []*Schema{s, {Type: typeNull}}}
}

// allowNull lets the optional fields of a body be null, which means that they are absent. seen holds the schemas that it has been to.
func (s *Schema) allowNull(seen map[*Schema]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	s.target.allowNull(seen)
	s.Items.allowNull(seen)
	for _, one := range slices.Concat(s.AnyOf, s.OneOf) {
		one.allowNull(seen)
	}
	if others, ok := s.AdditionalProperties.(*Schema); ok {
		others.allowNull(seen)
	}
	for name, f := range s.Properties {
		f.allowNull(seen)
		if slices.Contains(s.Required, name) || f.NotNull {
			continue
		}
		target, nullable := f.resolve()
		switch {
		case nullable || target.any():
		case f.Ref != "" || f.OneOf != nil:
			s.Properties[name] = f.orNull()
		default:
			f.Nullable = true
		}
	}
}

// orNull is OrNull for a field, whose description stays in front.
func (s *Schema) orNull() *Schema {
	inner := *s
	inner.Description = ""
	out := inner.OrNull()
	out.Description = s.Description
	return out
}

// Target returns the schema that a reference refers to.
func (s *Schema) Target() *Schema { return s.target }

// resolve follows references, and reports whether null is allowed too.
func (s *Schema) resolve() (target *Schema, nullable bool) {
	for {
		switch {
		case s.target != nil:
			s = s.target
		case s.AnyOf != nil:
			s, nullable = s.AnyOf[0], true
		default:
			return s, nullable || s.Nullable
		}
	}
}

// any reports whether a schema allows values of every type.
func (s *Schema) any() bool { return s.Type == "" && s.OneOf == nil }

// fieldNames lists the fields of an object for messages.
func (s *Schema) fieldNames() string {
	return strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", ")
}

// schemas derives schemas from Go types. Structs are published once, by name.
type schemas struct {
	byName map[string]*Schema
	types  map[string]reflect.Type
	names  map[reflect.Type]string // names that differ from the type's own
	given  map[reflect.Type]*Schema

	// mu guards the above while the server runs: operations are described when they are first called.
	mu sync.Mutex
	// nullable are those whose optional fields may be null. A schema against which bodies are checked does not change any more.
	nullable map[*Schema]bool
}

var timeType = reflect.TypeFor[time.Time]()

func newSchemas() *schemas {
	return &schemas{
		nullable: map[*Schema]bool{},
		byName:   map[string]*Schema{}, types: map[string]reflect.Type{}, names: map[reflect.Type]string{},
		given: map[reflect.Type]*Schema{timeType: {Type: typeString, Format: "date-time"}, reflect.TypeFor[json.RawMessage](): {}},
	}
}

const refPrefix = "#/components/schemas/"

// schemaName names a struct: Page[tenet/internal/rule.Rule] is PageRule.
func (r *schemas) schemaName(t reflect.Type) string {
	if name, ok := r.names[t]; ok {
		return name
	}
	var name strings.Builder
	for part := range strings.FieldsFuncSeq(t.Name(), func(c rune) bool { return strings.ContainsRune("[],*", c) }) {
		base := part[strings.LastIndexByte(part, '.')+1:]
		name.WriteString(strings.ToUpper(base[:1]) + base[1:])
	}
	if name.Len() == 0 {
		panic("rest: a struct in the API without a name: " + t.String())
	}
	return name.String()
}

// ref returns a reference to a published schema.
func (r *schemas) ref(name string) *Schema {
	return &Schema{Ref: refPrefix + name, target: r.byName[name]}
}

// of returns the schema of a type: a reference for a struct.
func (r *schemas) of(t reflect.Type) *Schema {
	pointer := t.Kind() == reflect.Pointer
	if pointer {
		t = t.Elem()
	}
	if given, ok := r.given[t]; ok {
		s := *given
		s.Nullable = pointer && s.Type != ""
		return &s
	}
	if value, ok := optional(t); ok {
		s := r.of(value)
		if s.Ref != "" {
			return s.OrNull()
		}
		s.Nullable = true
		return s
	}
	switch t.Kind() { //nolint:exhaustive // the API has no others
	case reflect.Struct:
		return r.ofStruct(t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			panic("rest: bytes in the API: " + t.String())
		}
		return &Schema{Type: typeArray, Nullable: true, Items: r.of(t.Elem())}
	case reflect.Map:
		return &Schema{Type: typeObject, AdditionalProperties: r.of(t.Elem())}
	case reflect.Interface:
		return &Schema{}
	}
	s := scalar(t)
	s.Nullable = pointer
	return s
}

// scalar returns the schema of a boolean, number or string.
func scalar(t reflect.Type) *Schema {
	var zero float64
	switch t.Kind() { //nolint:exhaustive // the API has no others
	case reflect.Bool:
		return &Schema{Type: typeBoolean}
	case reflect.Int, reflect.Int64:
		return &Schema{Type: typeInteger, Format: "int64"}
	case reflect.Uint32:
		return &Schema{Type: typeInteger, Format: "int32", Minimum: &zero}
	case reflect.Uint64:
		return &Schema{Type: typeInteger, Format: "int64", Minimum: &zero}
	case reflect.Float64:
		return &Schema{Type: typeNumber, Format: "double"}
	case reflect.String:
		return &Schema{Type: typeString}
	}
	panic("rest: a type that the API has no schema for: " + t.String())
}

// optional returns the type of the value of a field that holds null besides: wire's Optional.
func optional(t reflect.Type) (reflect.Type, bool) {
	if t.Kind() != reflect.Struct || !strings.HasPrefix(t.Name(), "Optional[") {
		return nil, false
	}
	value, ok := t.FieldByName("Value")
	return value.Type, ok
}

// oneOf returns the schema of a type that holds one of several structs, each with its own value in a field.
func (r *schemas) oneOf(field string, forms []reflect.Type) *Schema {
	s := &Schema{Discriminator: &Discriminator{PropertyName: field, Mapping: map[string]string{}}}
	for _, t := range forms {
		form := r.of(t)
		f := form.target.Properties[field]
		if f == nil || !slices.Contains(form.target.Required, field) || len(f.Enum) != 1 {
			panic("rest: " + t.String() + " has no value of its own in " + field)
		}
		s.OneOf = append(s.OneOf, form)
		s.Discriminator.Mapping[f.Enum[0]] = form.Ref
	}
	return s
}

func (r *schemas) ofStruct(t reflect.Type) *Schema {
	name := r.schemaName(t)
	if _, ok := r.byName[name]; ok {
		if r.types[name] != t {
			panic(fmt.Sprintf("rest: %s and %s have one name in the API, %s", t, r.types[name], name))
		}
		return r.ref(name)
	}
	s := &Schema{Type: typeObject, AdditionalProperties: false, Properties: map[string]*Schema{}}
	r.byName[name], r.types[name] = s, t
	for _, f := range jsonFields(t) {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "" {
			tag = f.Name
		}
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		fs := r.ofField(f)
		if f.Type.Kind() == reflect.Pointer && strings.Contains(options, "omitempty") && f.Tag.Get("nullable") != "true" {
			fs.Nullable = false // it is absent rather than null
		}
		if f.Type.Kind() == reflect.Pointer && !optional && fs.Ref != "" {
			fs = fs.orNull()
		}
		fs.defaultInWords = fs.Default != nil
		s.Properties[tag] = fs
		if required := f.Tag.Get("required"); required == "true" || (required == "" && !optional) {
			s.Required = append(s.Required, tag)
		}
	}
	return r.ref(name)
}

// jsonFields lists the fields of a struct as they appear in JSON: those of embedded structs after its own.
func jsonFields(t reflect.Type) []reflect.StructField {
	var own, embedded []reflect.StructField
	for f := range t.Fields() {
		switch {
		case f.Anonymous && f.Tag.Get("json") == "":
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			embedded = append(embedded, jsonFields(inner)...)
		case f.IsExported() && f.Tag.Get("json") != "-":
			own = append(own, f)
		}
	}
	for _, f := range embedded {
		if !slices.ContainsFunc(own, func(o reflect.StructField) bool { return o.Name == f.Name }) {
			own = append(own, f)
		}
	}
	return own
}

// ofField returns the schema of a struct field with what its tags say. Bounds and values of a list are those of its items.
func (r *schemas) ofField(f reflect.StructField) *Schema {
	s := r.of(f.Type)
	tag := f.Tag
	if doc := tag.Get("doc"); doc != "" {
		s.Description = doc
	}
	each := s
	if s.Type == typeArray {
		each = s.Items
	}
	if format := tag.Get("format"); format != "" {
		each.Format = format
	}
	if enum := tag.Get("enum"); enum != "" {
		each.Enum = strings.Split(enum, ",")
	}
	if value, ok := tag.Lookup("default"); ok {
		s.Default = s.literal(value)
	}
	if value, ok := tag.Lookup("example"); ok {
		s.Examples = []json.RawMessage{s.literal(value)}
	}
	each.AllowNUL = tag.Get("nul") == "true"
	switch tag.Get("nullable") {
	case "true":
		s.Nullable = true
	case "false":
		s.Nullable = false
		_, s.NotNull = optional(f.Type)
	}
	each.Minimum, each.Maximum = number(tag, "minimum", each.Minimum), number[float64](tag, "maximum", nil)
	each.MinLength, each.MaxLength = number[int](tag, "minLength", nil), number[int](tag, "maxLength", nil)
	s.MaxItems = number[int](tag, "maxItems", nil)
	return s
}

// literal is a value of a tag as JSON. Text has no quotes there.
func (s *Schema) literal(value string) json.RawMessage {
	if target, _ := s.resolve(); target.Type != typeString {
		return json.RawMessage(value)
	}
	quoted, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return quoted
}

// number reads a number of a tag.
func number[N int | float64](tag reflect.StructTag, name string, absent *N) *N {
	text, ok := tag.Lookup(name)
	if !ok {
		return absent
	}
	n := new(N)
	if err := json.Unmarshal([]byte(text), n); err != nil {
		panic("rest: the tag " + name + " is no number: " + text)
	}
	return n
}
