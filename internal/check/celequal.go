package check

import (
	"math"

	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"tenet/internal/rule"
)

// CEL compares values of different types: they are unequal. Facts have no declared types, so a caller could keep
// facts.approver != facts.requester with a number, and !(facts.country in ['IR']) with a list. Here a comparison of different
// types has no result, like every other call with types that it does not take, and neither has one with a value that is not
// known.

// compare returns true, false, an error for values of different types, or an unknown. Lists and maps are unequal if any of their
// parts are.
func compare(a, b ref.Val) ref.Val {
	switch {
	case types.IsUnknownOrError(a):
		return a
	case types.IsUnknownOrError(b):
		return b
	case a == types.NullValue || b == types.NullValue:
		return types.Equal(a, b) // only an expression writes this null; see withoutGaps
	case classOf(a) != classOf(b):
		return errTypes()
	}
	switch x := a.(type) {
	case *types.Optional:
		y, ok := b.(*types.Optional)
		if !ok || !x.HasValue() || !y.HasValue() {
			return types.Bool(ok && x.HasValue() == y.HasValue())
		}
		return compare(x.GetValue(), y.GetValue())
	case traits.Lister:
		if y, ok := b.(traits.Lister); ok {
			return compareLists(x, y)
		}
	case traits.Mapper:
		if y, ok := b.(traits.Mapper); ok {
			return compareMaps(x, y)
		}
	}
	equal := types.Equal(a, b)
	if equal == types.True && (rounded(a) || rounded(b)) {
		return types.NewErr("%s", errRounded)
	}
	if x, isText := a.(types.String); isText && equal == types.False && lookAlike(string(x), string(b.(types.String))) {
		return types.NewErr("%s", errAlike)
	}
	return equal
}

// orders are the functions that put two values in order.
var orders = map[string]bool{operators.Less: true, operators.LessEquals: true, operators.Greater: true, operators.GreaterEquals: true}

// ordered returns what an order of two numbers gives in place of CEL's result: no result where the order depends on digits that large
// numbers have lost. It returns nil for all others.
func ordered(a, b ref.Val) ref.Val {
	if (rounded(a) || rounded(b)) && types.Equal(a, b) == types.True {
		return types.NewErr("%s", errRounded)
	}
	return nil
}

// errRounded is why two large numbers have no result: JSON numbers become doubles, so that equal ones may have differed.
const errRounded = "numbers beyond 9007199254740991 lose digits, so equal ones may differ; compare such numbers as strings"

// rounded reports whether several whole numbers become this double.
func rounded(v ref.Val) bool {
	d, ok := v.(types.Double)
	return ok && math.Abs(float64(d)) > rule.MaxWholeNumber
}

// isDoubtful reports whether a result is [errRounded] or [errAlike].
func isDoubtful(v ref.Val) bool {
	err, ok := v.(*types.Err)
	return ok && (err.Error() == errRounded || err.Error() == errAlike)
}

// errTypes begins as CEL's own error does, so that [expression.explain] finds the facts at fault.
func errTypes() ref.Val { return types.NewErr("no such overload") }

// classOf names the type of a value. All numbers are of one class.
func classOf(v ref.Val) string {
	switch v.(type) {
	case types.Int, types.Uint, types.Double:
		return "number"
	case traits.Lister:
		return "list"
	case traits.Mapper:
		return "map"
	}
	return v.Type().TypeName()
}

func compareLists(a, b traits.Lister) ref.Val {
	if size(a) != size(b) {
		return types.False
	}
	result := all{}
	other := b.Iterator()
	for it := a.Iterator(); it.HasNext() == types.True && other.HasNext() == types.True; {
		if result.add(compare(it.Next(), other.Next())) {
			return types.False
		}
	}
	return result.value()
}

func compareMaps(a, b traits.Mapper) ref.Val {
	if size(a) != size(b) {
		return types.False
	}
	result := all{}
	for it := a.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		x, _ := a.Find(key)
		y, found := b.Find(key)
		if !found {
			return hasAlike(b, key)
		}
		if result.add(compare(x, y)) {
			return types.False
		}
	}
	return result.value()
}

// all is the conjunction of results: false if one is false, else one that is no result, else true.
type all struct{ open ref.Val }

// add reports whether the conjunction is false.
func (a *all) add(v ref.Val) bool {
	if types.IsUnknownOrError(v) && (a.open == nil || types.IsUnknown(v)) {
		a.open = v
	}
	return v == types.False
}

func (a *all) value() ref.Val {
	if a.open != nil {
		return a.open
	}
	return types.True
}

// negated returns the negation of a result.
func negated(v ref.Val) ref.Val {
	if b, ok := v.(types.Bool); ok {
		return !b
	}
	return v
}

// within reports whether a list has an equal element. If it has not, and an element is of another type, there is no result. In a
// list that the expression itself writes, such as ['EUR', 978], it is enough that one element is of the right type.
func within(v ref.Val, list traits.Iterable, written bool) ref.Val {
	return withinBy(func(e ref.Val) ref.Val { return compare(v, e) }, list, written)
}

// withinBy does the same with a comparison.
func withinBy(compare func(ref.Val) ref.Val, list traits.Iterable, written bool) ref.Val {
	var open ref.Val
	comparable := false
	for it := list.Iterator(); it.HasNext() == types.True; {
		switch result := compare(it.Next()); {
		case result == types.True:
			return types.True
		case result == types.False:
			comparable = true
		case open == nil || types.IsUnknown(result) || isDoubtful(result):
			open = result
		}
	}
	if open == nil || written && comparable && !types.IsUnknown(open) && !isDoubtful(open) {
		return types.False
	}
	return open
}

// contains reports whether each element of a list is in another one.
func contains(list, elements traits.Lister) ref.Val {
	result := all{}
	for it := elements.Iterator(); it.HasNext() == types.True; {
		if result.add(within(it.Next(), list, false)) {
			return types.False
		}
	}
	return result.value()
}

// intersects reports whether two lists have an element in common.
func intersects(a, b traits.Lister) ref.Val {
	var none all
	for it := a.Iterator(); it.HasNext() == types.True; {
		result := within(it.Next(), b, false)
		if result == types.True {
			return types.True
		}
		none.add(negated(result))
	}
	return negated(none.value())
}

// equivalent reports whether each of two lists contains the other.
func equivalent(a, b traits.Lister) ref.Val {
	result := all{}
	if result.add(contains(a, b)) || result.add(contains(b, a)) {
		return types.False
	}
	return result.value()
}

// hasKey reports whether a map has a key. There is no result if its value is not known, if all keys are of another type, or if one is a text that
// looks like the key.
func hasKey(m traits.Mapper, key ref.Val) ref.Val {
	v, found := m.Find(key)
	if types.IsUnknownOrError(v) {
		return v
	}
	if found {
		return types.True
	}
	for it := m.Iterator(); it.HasNext() == types.True; {
		if classOf(it.Next()) == classOf(key) {
			return hasAlike(m, key)
		}
	}
	if size(m) > 0 {
		return errTypes()
	}
	return types.False
}

// hasAlike returns what a map without a key says of it: false, or nothing if it has a text that looks like the key.
func hasAlike(m traits.Mapper, key ref.Val) ref.Val {
	text, isText := key.(types.String)
	for it := m.Iterator(); isText && it.HasNext() == types.True; {
		if other, ok := it.Next().(types.String); ok && lookAlike(string(text), string(other)) {
			return types.NewErr("%s", errAlike)
		}
	}
	return types.False
}

// distinguishable returns why the elements of a list that differ cannot be counted: they are of several types, or two of them may be the same. It
// returns nil if they can.
func distinguishable(list traits.Lister) ref.Val {
	if !ofOneType(list) {
		return errTypes()
	}
	var seen []ref.Val
	for it := list.Iterator(); it.HasNext() == types.True; {
		e := it.Next()
		for _, other := range seen {
			if result := compare(e, other); isDoubtful(result) {
				return result
			}
		}
		seen = append(seen, e)
	}
	return nil
}

// ofOneType reports whether all elements of a list are of one type.
func ofOneType(list traits.Lister) bool {
	first := ""
	for it := list.Iterator(); it.HasNext() == types.True; {
		class := classOf(it.Next())
		if first == "" {
			first = class
		}
		if class != first {
			return false
		}
	}
	return true
}

// inPlaceOf returns what a call of a comparing function gives here in place of CEL's result. It returns nil for any other call.
func inPlaceOf(function string, args []ref.Val, written bool) ref.Val {
	switch function {
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return ordered(args[0], args[1])
	case "_==_":
		return compare(args[0], args[1])
	case "_!=_":
		return negated(compare(args[0], args[1]))
	case "@in":
		switch in := args[1].(type) {
		case traits.Lister:
			return within(args[0], in, written)
		case traits.Mapper:
			return hasKey(in, args[0])
		}
		return nil
	case "hasValue":
		if o, ok := args[0].(*types.Optional); ok && len(args) == 2 && o.HasValue() {
			return compare(o.GetValue(), args[1])
		}
		return nil
	case "distinct":
		if list, ok := args[0].(traits.Lister); ok {
			return distinguishable(list)
		}
		return nil
	}
	if len(args) != 2 {
		return nil
	}
	a, isList := args[0].(traits.Lister)
	b, areLists := args[1].(traits.Lister)
	if !isList || !areLists {
		return nil
	}
	switch function {
	case "sets.contains", "hasAll":
		return contains(a, b)
	case "hasOnly":
		return contains(b, a)
	case "sets.intersects", "hasAny":
		return intersects(a, b)
	case "sets.equivalent", "hasExactly":
		return equivalent(a, b)
	}
	return nil
}

// counting are the functions whose result depends on each element of a list or map, and that CEL lets have elements of any kind:
// they have no result if an element is not known. ["ada", null] are not two approvers.
var counting = map[string]bool{
	"size": true, "distinct": true, "sort": true, "@sortByAssociatedKeys": true, "join": true, "format": true,
	"math.@min": true, "math.@max": true,
}

// unknownWithin returns the first element of a list or map that is not known, or nil.
func unknownWithin(v ref.Val) ref.Val {
	switch v := v.(type) {
	case traits.Lister:
		if native, ok := v.Value().([]any); ok {
			for _, e := range native {
				if u, unknown := e.(*types.Unknown); unknown {
					return u
				}
			}
			return nil
		}
		for it := v.Iterator(); it.HasNext() == types.True; {
			if e := it.Next(); types.IsUnknown(e) {
				return e
			}
		}
	case traits.Mapper:
		if native, ok := v.Value().(map[string]any); ok {
			for _, e := range native {
				if u, unknown := e.(*types.Unknown); unknown {
					return u
				}
			}
		}
	}
	return nil
}
