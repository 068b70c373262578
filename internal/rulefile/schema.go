package rulefile

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
)

// SchemaID is the address of the schema of rule files.
const SchemaID = "https://json.schemastore.org/tenet-rules.json"

// schema is a JSON Schema; fields are in the order in which they are written.
type schema struct {
	Schema               string             `json:"$schema,omitempty"`
	ID                   string             `json:"$id,omitempty"`
	Ref                  string             `json:"$ref,omitempty"`
	Title                string             `json:"title,omitempty"`
	Description          string             `json:"description,omitempty"`
	Type                 any                `json:"type,omitempty"`
	Enum                 []any              `json:"enum,omitempty"`
	Pattern              string             `json:"pattern,omitempty"`
	MinLength            int                `json:"minLength,omitempty"`
	MaxLength            int                `json:"maxLength,omitempty"`
	MinItems             int                `json:"minItems,omitempty"`
	MaxItems             int                `json:"maxItems,omitempty"`
	Items                *schema            `json:"items,omitempty"`
	Properties           properties         `json:"properties,omitempty"`
	Required             []string           `json:"required,omitempty"`
	AdditionalProperties *bool              `json:"additionalProperties,omitempty"`
	AllOf                []*schema          `json:"allOf,omitempty"`
	AnyOf                []*schema          `json:"anyOf,omitempty"`
	OneOf                []*schema          `json:"oneOf,omitempty"`
	Not                  *schema            `json:"not,omitempty"`
	Default              json.RawMessage    `json:"default,omitempty"`
	Examples             []json.RawMessage  `json:"examples,omitempty"`
	Defs                 map[string]*schema `json:"$defs,omitempty"`
}

// properties keeps the order of the fields, in which editors offer them.
type properties []property

type property struct {
	name   string
	schema *schema
}

// MarshalJSON implements [json.Marshaler].
func (p properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, one := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(one.name)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		var inner bytes.Buffer
		enc := json.NewEncoder(&inner)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(one.schema); err != nil {
			return nil, err
		}
		b.Write(inner.Bytes())
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Schema returns the JSON Schema (2020-12) of rule files, from which editors complete and check them.
func Schema() []byte {
	defs := map[string]*schema{}
	root := body(file, defs)
	root.Schema, root.ID, root.Title, root.Description = "https://json-schema.org/draft/2020-12/schema", SchemaID, "Tenet rule file", "Rules, their test cases and the federation nodes that have them, as Tenet imports them."
	root.Type = []string{"object", "null"} // a file of comments alone
	root.Defs = defs
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		panic("rulefile: the schema cannot be encoded: " + err.Error())
	}
	return b.Bytes()
}

// of returns the schema of a value; objects are referred to by name.
func of(s *shape, null bool, defs map[string]*schema) *schema {
	out := &schema{}
	typed := func(name string) {
		out.Type = name
		if null {
			out.Type = []string{name, "null"}
		}
	}
	switch s.kind {
	case object:
		if s.fields == nil {
			typed("object") // facts: any names
			return out
		}
		if _, ok := defs[s.name]; !ok {
			defs[s.name] = nil // under way
			defs[s.name] = body(s, defs)
		}
		ref := &schema{Ref: "#/$defs/" + s.name}
		if !null {
			out.Ref = ref.Ref
			return out
		}
		out.AnyOf = []*schema{ref, {Type: "null"}}
	case list:
		typed("array")
		out.Items, out.MinItems, out.MaxItems = of(s.items, false, defs), s.shortest, s.longest
	case whole:
		typed("integer")
	case truth:
		typed("boolean")
	case words, moment:
		typed("string")
		addText(out, s, null)
	case anything:
	}
	return out
}

// addText adds what a text must be.
func addText(out *schema, s *shape, null bool) {
	out.Pattern, out.MaxLength = s.pattern, s.longest
	if s.shortest > 0 {
		out.MinLength = s.shortest
		if out.Pattern == "" {
			out.Pattern = `\S`
		}
	}
	if s.without != "" {
		out.Not = &schema{Pattern: s.without, Type: "string"}
	}
	if s.values == nil {
		return
	}
	var values []any
	for _, v := range s.values {
		values = append(values, v)
	}
	out.MinLength, out.Pattern = 0, ""
	if !s.folds {
		if null {
			values = append(values, nil)
		}
		out.Enum = values
		return
	}
	// Editors offer the enumeration, and the pattern allows other letter cases.
	out.Type = nil
	out.AnyOf = []*schema{{Enum: values}, {Type: "string", Pattern: anyCase(s.values)}}
	if null {
		out.AnyOf = append(out.AnyOf, &schema{Type: "null"})
	}
}

// anyCase returns an expression for some words in any letter case, without a flag, which expressions in schemas do not have.
func anyCase(all []string) string {
	var b strings.Builder
	b.WriteString("^(")
	for i, word := range all {
		if i > 0 {
			b.WriteByte('|')
		}
		for _, r := range word {
			if up, low := unicode.ToUpper(r), unicode.ToLower(r); up != low {
				b.WriteString("[" + string(up) + string(low) + "]")
				continue
			}
			b.WriteRune(r)
		}
	}
	b.WriteString(")$")
	return b.String()
}

// body returns the schema of an object with fields.
func body(s *shape, defs map[string]*schema) *schema {
	no := false
	out := &schema{Type: "object", AdditionalProperties: &no}
	for _, f := range s.fields {
		v := of(f.shape, !f.never, defs)
		v.Description = f.doc
		if f.fallback != "" {
			v.Default = f.shape.literal(f.fallback)
		}
		if f.example != "" {
			v.Examples = []json.RawMessage{f.shape.literal(f.example)}
		}
		out.Properties = append(out.Properties, property{f.name, v})
		if f.required {
			out.Required = append(out.Required, f.name)
		}
	}
	for _, name := range s.exactly {
		out.OneOf = append(out.OneOf, &schema{Required: []string{name}})
	}
	for _, name := range s.some {
		out.AnyOf = append(out.AnyOf, &schema{Required: []string{name}})
	}
	return out
}
