package check

import (
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"tenet/internal/charset"
	"tenet/internal/subject"
)

// celFacts is the variable facts. A fact that is null is one that the caller does not know, so it is a gap. So are two facts whose names differ
// only in letter case or in what does not show: programs that ignore that read either of them.
type celFacts struct {
	values map[string]any
	gaps   gaps
}

func newCELFacts(s *subject.Subject, withTwins bool, units func() *subject.Units) *celFacts {
	f := &celFacts{values: s.Facts, gaps: gaps{base: factGaps}}
	if f.values == nil {
		f.values = map[string]any{}
	}
	if withTwins || holdsNull(f.values) {
		f.values = f.withoutGaps(f.values, nil, units().Facts()).(map[string]any)
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

// holdsTwins reports whether a map in a value has two names that are alike.
func holdsTwins(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, holdsTwins)
	case map[string]any:
		for _, e := range v {
			if holdsTwins(e) {
				return true
			}
		}
		return len(v) > 1 && namesAlike(v) != nil
	}
	return false
}

// namesAlike returns for each name of a map that is like another one the other; nil without any.
func namesAlike(m map[string]any) map[string]string {
	var memory [16]string
	folded := memory[:0]
	for name := range m {
		folded = append(folded, foldedName(name))
	}
	slices.Sort(folded)
	if len(slices.Compact(folded)) == len(m) {
		return nil
	}
	names := map[string]string{}
	first := make(map[string]string, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		key := foldedName(name)
		if other, taken := first[key]; taken {
			names[name], names[other] = other, name
		} else {
			first[key] = name
		}
	}
	return names
}

// foldedName is a name of a fact without letter case, without what does not show, and with accents written one way.
func foldedName(name string) string {
	if !plain(name) {
		name = reread(name)
	}
	return charset.Fold(strings.TrimSpace(name))
}

// withoutGaps returns a copy of a value with an unknown for each null inside, and for each of two names that are alike.
func (f *celFacts) withoutGaps(v any, path factPath, unit int) any {
	switch v := v.(type) {
	case nil:
		return f.gaps.add(unit, "%s", nullReason(path))
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = f.withoutGaps(e, append(path, i), unit)
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		others := namesAlike(v)
		for _, key := range slices.Sorted(maps.Keys(v)) { // in order, so that the same gaps are named each time
			if other, ok := others[key]; ok {
				m[key] = f.gaps.add(unit, "fact %q is also named %q", append(path, key).String(), other)
				continue
			}
			m[key] = f.withoutGaps(v[key], append(path, key), unit)
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
