package rest

import (
	"slices"
)

// maxExampleDepth bounds the example of a schema that contains itself.
const maxExampleDepth = 6

// example returns a value that has the schema: the fields that are required, and those that have an example of their own.
func (s *Schema) example(depth int) any {
	if len(s.Examples) > 0 {
		return s.Examples[0]
	}
	if len(s.OneOf) > 0 {
		return s.OneOf[0].example(depth)
	}
	t, _ := s.resolve()
	if t != s && len(t.Examples) > 0 {
		return t.Examples[0]
	}
	switch t.Type {
	case typeObject:
		value := map[string]any{}
		for name, field := range t.Properties {
			if required := slices.Contains(t.Required, name); depth > 0 && (required || len(field.Examples) > 0) {
				value[name] = field.example(depth - 1)
			}
		}
		return value
	case typeArray:
		if t.Items == nil || depth == 0 {
			return []any{}
		}
		return []any{t.Items.example(depth - 1)}
	case typeBoolean:
		return true
	case typeInteger, typeNumber:
		if t.Minimum != nil {
			return *t.Minimum
		}
		return 1
	}
	switch {
	case len(t.Enum) > 0:
		return t.Enum[0]
	case t.Format == "date-time":
		return "2030-01-01T00:00:00Z"
	}
	return "text"
}
