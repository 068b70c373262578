package check

import (
	"math"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"tenet/internal/rule"
)

// Most checks of facts compare a few of them with constants. A plainTest decides those without CEL, in a fraction of the time. Wherever CEL could see
// anything but a true or false comparison, such as a fact that is missing, null, of another type or too large, it leaves the whole expression to CEL.
type plainTest func(facts map[string]any) plainResult

type plainResult uint8

const (
	leftToCEL plainResult = iota
	plainTrue
	plainFalse
)

func plainOf(holds bool) plainResult {
	if holds {
		return plainTrue
	}
	return plainFalse
}

// Bounds of what is plain: CEL counts the cost of longer texts, and larger numbers lose digits.
const (
	maxPlainText   = 1_000
	maxPlainNumber = rule.MaxWholeNumber
	maxPlainDepth  = 16
)

// plainTestOf returns the test of an expression; nil for one that needs CEL.
func plainTestOf(e ast.Expr, depth int) plainTest {
	if depth > maxPlainDepth {
		return nil
	}
	if path, ok := plainPath(e); ok {
		return func(facts map[string]any) plainResult {
			holds, isBool := resolvePlain(path, facts).(bool)
			if !isBool {
				return leftToCEL
			}
			return plainOf(holds)
		}
	}
	if e.Kind() != ast.CallKind {
		return nil
	}
	call := e.AsCall()
	args := call.Args()
	switch name := call.FunctionName(); name {
	case operators.LogicalNot:
		test := plainTestOf(args[0], depth+1)
		if test == nil {
			return nil
		}
		return func(facts map[string]any) plainResult {
			switch test(facts) {
			case plainTrue:
				return plainFalse
			case plainFalse:
				return plainTrue
			case leftToCEL:
			}
			return leftToCEL
		}
	case operators.LogicalAnd, operators.LogicalOr:
		decides := plainOf(name == operators.LogicalOr)
		a, b := plainTestOf(args[0], depth+1), plainTestOf(args[1], depth+1)
		if a == nil || b == nil {
			return nil
		}
		return func(facts map[string]any) plainResult {
			if first := a(facts); first == decides || first == leftToCEL {
				return first
			}
			return b(facts)
		}
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return plainComparison(name, args[0], args[1])
	case operators.In:
		return plainIn(args[0], args[1])
	}
	return nil
}

// turned are the comparisons with their sides exchanged.
var turned = map[string]string{
	operators.Less: operators.Greater, operators.LessEquals: operators.GreaterEquals, operators.Greater: operators.Less, operators.GreaterEquals: operators.LessEquals,
	operators.Equals: operators.Equals, operators.NotEquals: operators.NotEquals,
}

// plainComparison returns the test of a comparison of a fact with a constant.
func plainComparison(operator string, left, right ast.Expr) plainTest {
	path, ok := plainPath(left)
	if !ok {
		if path, ok = plainPath(right); !ok {
			return nil
		}
		operator, right = turned[operator], left
	}
	constant := plainConstant(right)
	switch want := constant.(type) {
	case float64:
		compare := numberComparisons[operator]
		return func(facts map[string]any) plainResult {
			x, isNumber := resolvePlain(path, facts).(float64)
			if !isNumber || !(math.Abs(x) <= maxPlainNumber) {
				return leftToCEL
			}
			return plainOf(compare(x, want))
		}
	case string, bool:
		if operator != operators.Equals && operator != operators.NotEquals {
			return nil
		}
		equal := operator == operators.Equals
		return func(facts map[string]any) plainResult {
			same, comparable := samePlain(resolvePlain(path, facts), want)
			if !comparable {
				return leftToCEL
			}
			return plainOf(same == equal)
		}
	}
	return nil
}

var numberComparisons = map[string]func(x, y float64) bool{
	operators.Less:   func(x, y float64) bool { return x < y },
	operators.Equals: func(x, y float64) bool { return x == y }, operators.NotEquals: func(x, y float64) bool { return x != y },
	operators.LessEquals: func(x, y float64) bool { return x <= y }, operators.Greater: func(x, y float64) bool { return x > y },
	operators.GreaterEquals: func(x, y float64) bool { return x >= y },
}

// plainIn returns the test of whether a fact is one of some constants.
func plainIn(element, list ast.Expr) plainTest {
	path, ok := plainPath(element)
	if !ok || list.Kind() != ast.ListKind || list.AsList().Size() == 0 || list.AsList().Size() > maxUses {
		return nil
	}
	constants := make([]any, 0, list.AsList().Size())
	for _, e := range list.AsList().Elements() {
		constant := plainConstant(e)
		if constant == nil {
			return nil
		}
		constants = append(constants, constant)
	}
	return func(facts map[string]any) plainResult {
		v := resolvePlain(path, facts)
		found := false
		for _, constant := range constants {
			same, comparable := samePlain(v, constant)
			if !comparable {
				return leftToCEL
			}
			found = found || same
		}
		return plainOf(found)
	}
}

// samePlain reports whether a fact has the value of a constant, and whether the two can be compared.
func samePlain(v, constant any) (same, comparable bool) {
	switch want := constant.(type) {
	case float64:
		x, ok := v.(float64)
		return x == want, ok && math.Abs(x) <= maxPlainNumber
	case string:
		s, ok := v.(string)
		return s == want, ok && len(s) <= maxPlainText && (s == want || !lookAlike(s, want))
	case bool:
		b, ok := v.(bool)
		return b == want, ok
	}
	return false, false
}

// plainConstant returns a literal as float64, string or bool; nil for any other.
func plainConstant(e ast.Expr) any {
	if e.Kind() != ast.LiteralKind {
		return nil
	}
	switch v := e.AsLiteral().(type) {
	case types.Double:
		if x := float64(v); math.Abs(x) <= maxPlainNumber {
			return x
		}
	case types.Int:
		if v >= -maxPlainNumber && v <= maxPlainNumber {
			return float64(v)
		}
	case types.Uint:
		if v <= maxPlainNumber {
			return float64(v)
		}
	case types.String:
		if len(v) <= maxPlainText {
			return string(v)
		}
	case types.Bool:
		return bool(v)
	}
	return nil
}

// plainPath returns the keys of facts.a.b or facts["a"].
func plainPath(e ast.Expr) ([]string, bool) {
	path, tested, ok := factChain(e)
	if !ok || tested || len(path) == 0 {
		return nil, false
	}
	keys := make([]string, len(path))
	for i, step := range path {
		if keys[i], ok = step.(string); !ok {
			return nil, false
		}
	}
	return keys, true
}

// resolvePlain returns a fact; nil for one that is missing.
func resolvePlain(path []string, facts map[string]any) any {
	for _, key := range path[:len(path)-1] {
		inner, ok := facts[key].(map[string]any)
		if !ok {
			return nil
		}
		facts = inner
	}
	return facts[path[len(path)-1]]
}
