package check

import (
	"maps"
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"tenet/internal/subject"
)

// celFacts is the variable facts. A fact that is null is one that the caller does not know, so it is a gap.
type celFacts struct {
	values map[string]any
	gaps   gaps
}

func newCELFacts(s *subject.Subject, units func() *subject.Units) *celFacts {
	f := &celFacts{values: s.Facts, gaps: gaps{base: factGaps}}
	if f.values == nil {
		f.values = map[string]any{}
	}
	if holdsNull(f.values) {
		f.values = f.withoutNulls(f.values, nil, units().Facts()).(map[string]any)
	}
	return f
}

func holdsNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return slices.ContainsFunc(v, holdsNull)
	case map[string]any:
		for _, e := range v {
			if holdsNull(e) {
				return true
			}
		}
	}
	return false
}

// withoutNulls returns a copy of a value with an unknown for each null inside.
func (f *celFacts) withoutNulls(v any, path factPath, unit int) any {
	switch v := v.(type) {
	case nil:
		return f.gaps.add(unit, "%s", nullReason(path))
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = f.withoutNulls(e, append(path, i), unit)
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) { // in order, so that the same gaps are named each time
			m[key] = f.withoutNulls(v[key], append(path, key), unit)
		}
		return m
	}
	return v
}

// nullTest is a comparison with the literal null, such as facts.note == null: the one way to ask for a fact that is null.
type nullTest struct {
	id      int64
	operand interpreter.InterpretableV2
	negated bool
}

// ID returns the id of the comparison.
func (t *nullTest) ID() int64 { return t.id }

// Exec makes the comparison.
func (t *nullTest) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := t.operand.Exec(frame)
	null := v == types.NullValue || isNull(v)
	if !null && types.IsUnknownOrError(v) {
		return v
	}
	return types.Bool(null != t.negated)
}

// Eval makes the comparison.
func (t *nullTest) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, t.Exec)
}
