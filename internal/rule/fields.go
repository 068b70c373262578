package rule

import (
	"fmt"
	"reflect"
	"strings"
)

// field is a field of a rule or node.
type field struct {
	index int
	name  string // in JSON
	// kind is the tag of this name. Without one, the author writes the field and verdicts depend on it. The author also writes a
	// label, but no verdict depends on it; the service writes a record with each version, and adds what is derived to answers only.
	kind string
}

func (f field) authored() bool { return f.kind == "" || f.kind == "label" }

func fieldsOf(t reflect.Type) []field {
	list := make([]field, t.NumField())
	for i := range list {
		tag := t.Field(i).Tag
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		list[i] = field{i, name, tag.Get("kind")}
	}
	return list
}

var ruleFields = fieldsOf(reflect.TypeFor[Rule]())

// eachField calls fn for each field of form, a pointer to a struct, that has the name of a field of r that its author writes.
func (r *Rule) eachField(form any, fn func(own, other reflect.Value)) {
	own, other := reflect.ValueOf(r).Elem(), reflect.ValueOf(form).Elem()
	index := map[string]int{}
	for _, f := range fieldsOf(other.Type()) {
		index[f.name] = f.index
	}
	for _, f := range ruleFields {
		if i, ok := index[f.name]; ok && f.authored() {
			fn(own.Field(f.index), other.Field(i))
		}
	}
}

// Patch is a field that distinguishes absence from a value that clears.
type Patch interface {
	// Patch returns the value, nil to clear, and whether the field is present.
	Patch() (value any, present bool)
}

// Assign copies to r what the author has written in form, a pointer to a struct whose fields have the JSON names of the fields of
// a rule. It leaves alone the fields of r for which form has an absent [Patch], or the zero value.
func (r *Rule) Assign(form any) {
	r.eachField(form, func(own, other reflect.Value) {
		if p, ok := reflect.TypeAssert[Patch](other); ok {
			switch value, present := p.Patch(); {
			case present && value == nil:
				own.SetZero()
			case present:
				assign(own, reflect.ValueOf(value))
			}
			return
		}
		if !other.IsZero() {
			assign(own, other)
		}
	})
}

// WriteTo is the reverse of [Rule.Assign]: it copies to form what the author of r has written, and leaves out what is empty.
func (r *Rule) WriteTo(form any) {
	r.eachField(form, func(own, other reflect.Value) {
		if empty := own.IsZero() || own.Kind() == reflect.Slice && own.Len() == 0; !empty {
			assign(other, own)
		}
	})
}

// assign copies a value, or what it points to, to a place of its type, or to a pointer to one.
func assign(to, from reflect.Value) {
	switch from = deepCopy(from); {
	case from.Type() == to.Type():
		to.Set(from)
	case from.Kind() == reflect.Pointer && from.Type().Elem() == to.Type():
		to.Set(from.Elem())
	case to.Kind() == reflect.Pointer && to.Type().Elem() == from.Type():
		to.Set(reflect.New(from.Type()))
		to.Elem().Set(from)
	default:
		panic(fmt.Sprintf("rule: a field of type %s cannot be assigned to one of type %s", from.Type(), to.Type()))
	}
}

// Clone returns a copy of the rule that shares nothing with it.
func (r *Rule) Clone() Rule {
	var out Rule
	reflect.ValueOf(&out).Elem().Set(deepCopy(reflect.ValueOf(r).Elem()))
	return out
}

func deepCopy(v reflect.Value) reflect.Value {
	switch v.Kind() { //nolint:exhaustive // the other kinds are copied by value; rules have no maps
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(deepCopy(v.Elem()))
		return out
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(deepCopy(v.Index(i)))
		}
		return out
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if out.Field(i).CanSet() {
				out.Field(i).Set(deepCopy(v.Field(i)))
			}
		}
		return out
	}
	return v
}

// Set assigns *from to *to, unless from is nil.
func Set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// NilIfEmpty returns nil for an empty list, which an encoder then leaves out.
func NilIfEmpty[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}
