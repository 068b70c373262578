package check

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// The objects in expressions. Each declares its fields once: the type checker reads the types, so that a misspelt field is an
// error with line and column, and evaluation reads the getters.
var (
	subjectType = newObjectType("Subject")
	diffType    = newObjectType("Diff")
	fileType    = newObjectType("DiffFile")
	lineType    = newObjectType("Line")
	wholeType   = newObjectType("File")

	objectTypes = map[string]*objectType{}
)

// objectType is a type of object with a fixed set of fields.
type objectType struct {
	cel    *types.Type
	fields map[string]*types.FieldType
	names  []string
}

func newObjectType(name string) *objectType {
	return &objectType{cel: types.NewObjectType(name), fields: map[string]*types.FieldType{}}
}

// field declares a field of objects whose Go value is a T.
func field[T any](t *objectType, name string, typ *types.Type, get func(T) ref.Val) {
	t.names = append(t.names, name)
	t.fields[name] = &types.FieldType{
		Type: typ,
		IsSet: func(target any) bool {
			_, ok := target.(T)
			return ok || isUnknown(target)
		},
		GetFrom: func(target any) (any, error) {
			if isUnknown(target) {
				return target, nil
			}
			v, ok := target.(T)
			if !ok {
				return nil, fmt.Errorf("no such field: %s", name)
			}
			out := get(v)
			if err, failed := out.(*types.Err); failed {
				return nil, errors.New(err.Error()) // not err: CEL writes to it, and it may be shared
			}
			return out, nil
		},
	}
}

func isUnknown(v any) bool {
	_, ok := v.(*types.Unknown)
	return ok
}

func init() {
	texts := types.NewListType(types.StringType)
	lines := types.NewListType(lineType.cel)
	field(subjectType, "kind", types.StringType, func(in *Input) ref.Val { return types.String(leadingKind(in.subject.Kinds)) })
	field(subjectType, "kinds", texts, func(in *Input) ref.Val { return kindList(in.subject.Kinds) })
	field(subjectType, "repository", types.StringType, func(in *Input) ref.Val { return types.String(in.repository().shown()) })
	field(subjectType, "scope", types.StringType, func(in *Input) ref.Val { return types.String(in.scope().shown()) })
	field(subjectType, "intent", types.StringType, func(in *Input) ref.Val { return types.String(in.subject.Intent) })
	field(subjectType, "action", types.StringType, func(in *Input) ref.Val { return types.String(in.subject.Action) })
	field(subjectType, "text", types.StringType, func(in *Input) ref.Val { return in.allText() })

	field(diffType, "files", types.NewListType(fileType.cel), func(in *Input) ref.Val { return in.files().diff })
	field(diffType, "added_lines", types.IntType, func(in *Input) ref.Val { return in.files().addedLines })
	field(diffType, "deleted_lines", types.IntType, func(in *Input) ref.Val { return in.files().deletedLines })

	field(fileType, "path", types.StringType, func(f *celFile) ref.Val { return f.path })
	field(fileType, "old_path", types.StringType, func(f *celFile) ref.Val { return f.oldPath })
	field(fileType, "change", types.StringType, func(f *celFile) ref.Val { return f.change })
	field(fileType, "binary", types.BoolType, func(f *celFile) ref.Val { return types.Bool(f.file.Binary) })
	field(fileType, "added", lines, func(f *celFile) ref.Val { return orGap(f.unseen, func() ref.Val { return f.text().added }) })
	field(fileType, "lines", lines, func(f *celFile) ref.Val { return orGap(f.part, func() ref.Val { return f.text().lines }) })
	field(fileType, "added_text", types.StringType, func(f *celFile) ref.Val { return orGap(f.unseen, func() ref.Val { return f.text().addedText }) })
	field(fileType, "removed_text", types.StringType, func(f *celFile) ref.Val { return orGap(f.removed, func() ref.Val { return f.text().removedText }) })

	field(lineType, "line", types.IntType, func(l *celLine) ref.Val { return types.Int(l.line) })
	field(lineType, "text", types.StringType, func(l *celLine) ref.Val { return types.String(l.text) })

	field(wholeType, "path", types.StringType, func(f *celFile) ref.Val { return f.path })
	field(wholeType, "content", types.StringType, func(f *celFile) ref.Val { return orGap(f.unseen, func() ref.Val { return f.text().addedText }) })
	field(wholeType, "missing", types.BoolType, func(f *celFile) ref.Val { return types.Bool(f.file.Missing) })

	for _, t := range []*objectType{subjectType, diffType, fileType, lineType, wholeType} {
		slices.Sort(t.names)
		objectTypes[t.cel.TypeName()] = t
	}
}

// object is a CEL value with fields. Two objects are equal if they are the same one.
type object struct {
	typ    *objectType
	native any
}

// Get returns the field that index names, for accesses whose type is not known before evaluation.
func (o *object) Get(index ref.Val) ref.Val {
	name, ok := index.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(index)
	}
	f, ok := o.typ.fields[string(name)]
	if !ok {
		return types.NewErr("no such field: %s", string(name))
	}
	v, err := f.GetFrom(o.native)
	if err != nil {
		return types.WrapErr(err)
	}
	return v.(ref.Val)
}

// IsSet reports whether the object has a field of that name.
func (o *object) IsSet(field ref.Val) ref.Val {
	name, ok := field.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(field)
	}
	_, ok = o.typ.fields[string(name)]
	return types.Bool(ok)
}

// ConvertToNative fails: objects do not leave the evaluation.
func (o *object) ConvertToNative(typeDesc reflect.Type) (any, error) {
	return nil, fmt.Errorf("a %s cannot be converted to %v", o.typ.cel.TypeName(), typeDesc)
}

// ConvertToType converts to the type of types only.
func (o *object) ConvertToType(typeVal ref.Type) ref.Val {
	if typeVal == types.TypeType {
		return o.typ.cel
	}
	return types.NewErr("type conversion error from '%s' to '%s'", o.typ.cel.TypeName(), typeVal.TypeName())
}

// Equal reports whether both are the same object.
func (o *object) Equal(other ref.Val) ref.Val {
	p, ok := other.(*object)
	return types.Bool(ok && p.typ == o.typ && p.native == o.native)
}

// Type returns the CEL type.
func (o *object) Type() ref.Type { return o.typ.cel }

// Value returns the Go value, the argument of the getters.
func (o *object) Value() any { return o.native }

// objectProvider provides CEL with the types of the objects, and with no other struct types.
type objectProvider struct{ *types.Registry }

// FindStructType returns the type of that name.
func (p objectProvider) FindStructType(name string) (*types.Type, bool) {
	if t, ok := objectTypes[name]; ok {
		return types.NewTypeTypeWithParam(t.cel), true
	}
	return nil, false
}

// FindStructFieldNames returns the names of the fields of the type of that name.
func (p objectProvider) FindStructFieldNames(name string) ([]string, bool) {
	if t, ok := objectTypes[name]; ok {
		return t.names, true
	}
	return nil, false
}

// FindStructFieldType returns the type and the getter of a field.
func (p objectProvider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if t, ok := objectTypes[name]; ok {
		f, ok := t.fields[field]
		return f, ok
	}
	return nil, false
}

// NewValue fails: expressions cannot make objects.
func (p objectProvider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	return types.NewErr("a %s cannot be made in an expression", name)
}
