package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// shape is a JSON schema in the form that [scanJSON] checks against: the part of the published schema that the types of
// this package use, so that what is documented is what is checked.
type shape struct {
	kind     kind
	nullable bool
	fields   map[string]*field // of an object
	known    string            // the names of the fields, for messages
	required []*field          // in order of their bits
	extra    *shape            // of an object's other fields; nil if it may have none
	items    *shape            // of an array
	enum     []string          // of a string, in any letter case
	min, max *float64
	// Bounds on the characters of a string or the items of an array; longest is -1 without one.
	shortest, longest int
	dateTime          bool
	binary            bool    // a string may hold NUL characters: whoever takes it says so
	choice            *choice // of an object that has one of several shapes
}

// choice tells by the value of one field, in any letter case, which shape an object has.
type choice struct {
	field  string
	values []string // in the order of the schema
	shapes []*shape // by place in values
}

func (c *choice) shape(value string) *shape {
	at := slices.IndexFunc(c.values, func(v string) bool { return strings.EqualFold(v, value) })
	if at < 0 {
		return nil
	}
	return c.shapes[at]
}

type kind byte

const (
	anything kind = iota
	object
	array
	text
	integer
	number
	boolean
)

// noun is the kind in messages.
func (k kind) noun() string {
	return [...]string{"a value", "an object", "a list", "a string", "an integer", "a number", "true or false"}[k]
}

type field struct {
	*shape
	name string
	bit  uint64 // of a required field, in a set of those that are there
}

// anyShape takes every value.
var anyShape = func() *shape {
	s := &shape{nullable: true, longest: -1}
	s.extra, s.items = s, s
	return s
}()

// compileShape makes a shape from a schema. It panics where the schema says what shapes do not check.
func compileShape(registry huma.Registry, schema *huma.Schema) *shape {
	return (&shapeCompiler{registry, map[*huma.Schema]*shape{}}).compile(schema)
}

type shapeCompiler struct {
	registry huma.Registry
	done     map[*huma.Schema]*shape
}

func (c *shapeCompiler) compile(schema *huma.Schema) *shape {
	for schema.Ref != "" {
		schema = c.registry.SchemaFromRef(schema.Ref)
	}
	if s, ok := c.done[schema]; ok {
		return s
	}
	if len(schema.AnyOf) == 2 && schema.AnyOf[1].Type == nullType {
		s := *c.compile(schema.AnyOf[0])
		s.nullable = true
		c.done[schema] = &s
		return &s
	}
	if schema.Discriminator != nil {
		return c.choice(schema)
	}
	if schema.Type == "" && len(schema.OneOf) == 0 {
		return anyShape
	}
	if schema.Pattern != "" || schema.MultipleOf != nil || schema.UniqueItems || len(schema.OneOf)+len(schema.AllOf)+len(schema.AnyOf) > 0 ||
		schema.Not != nil || schema.ExclusiveMinimum != nil || schema.ExclusiveMaximum != nil || len(schema.DependentRequired) > 0 {
		panic(fmt.Sprintf("api: the schema %q uses what is not checked", schema.Description))
	}
	s := &shape{nullable: schema.Nullable, min: schema.Minimum, max: schema.Maximum, longest: -1}
	c.done[schema] = s
	switch schema.Type {
	case huma.TypeObject:
		c.object(s, schema)
	case huma.TypeArray:
		s.kind, s.items = array, c.compile(schema.Items)
		s.bounds(schema.MinItems, schema.MaxItems)
	case huma.TypeString:
		s.kind, s.dateTime = text, schema.Format == "date-time"
		s.bounds(schema.MinLength, schema.MaxLength)
		for _, v := range schema.Enum {
			s.enum = append(s.enum, fmt.Sprint(v))
		}
	case huma.TypeInteger:
		s.kind = integer
	case huma.TypeNumber:
		s.kind = number
	case huma.TypeBoolean:
		s.kind = boolean
	default:
		panic("api: the schema type " + schema.Type + " is not checked")
	}
	return s
}

// choice compiles a schema whose discriminator says which of its alternatives holds. Each alternative has the field with
// one value of its own.
func (c *shapeCompiler) choice(schema *huma.Schema) *shape {
	ch := &choice{field: schema.Discriminator.PropertyName}
	s := &shape{kind: object, longest: -1, choice: ch}
	c.done[schema] = s
	for _, alternative := range schema.OneOf {
		one := c.compile(alternative)
		f := one.fields[ch.field]
		if f == nil || f.bit == 0 || len(f.enum) != 1 {
			panic("api: an alternative does not say what it is in " + ch.field)
		}
		ch.values, ch.shapes = append(ch.values, f.enum[0]), append(ch.shapes, one)
	}
	return s
}

func (sh *shape) bounds(shortest, longest *int) {
	if shortest != nil {
		sh.shortest = *shortest
	}
	if longest != nil {
		sh.longest = *longest
	}
}

func (c *shapeCompiler) object(s *shape, schema *huma.Schema) {
	s.kind = object
	if extra, ok := schema.AdditionalProperties.(*huma.Schema); ok {
		s.extra = c.compile(extra)
	}
	names := slices.Sorted(maps.Keys(schema.Properties))
	s.known = strings.Join(names, ", ")
	s.fields = make(map[string]*field, len(names))
	for _, name := range names {
		f := &field{shape: c.compile(schema.Properties[name]), name: name}
		s.fields[name] = f
		if slices.Contains(schema.Required, name) {
			f.bit = 1 << len(s.required)
			s.required = append(s.required, f)
		}
	}
	if len(s.required) > 64 {
		panic("api: an object with more than 64 required fields")
	}
}
