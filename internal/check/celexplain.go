package check

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"tenet/internal/text"
)

// calledOn describes a call for the message of an error in it: its name as written and the facts among its arguments.
type calledOn struct {
	name string
	args []factPath // nil for an argument that is not a fact
	// literals are the types of arguments that the expression writes out, else empty.
	literals []string
}

func newCalledOn(call ast.CallExpr) *calledOn {
	c := &calledOn{name: call.FunctionName()}
	if op, ok := operators.FindReverse(c.name); ok && op != "" {
		c.name = op
	}
	args := call.Args()
	if call.IsMemberFunction() {
		args = append([]ast.Expr{call.Target()}, args...)
	}
	for _, arg := range args {
		path, _, ok := factChain(arg)
		if !ok {
			path = nil
		}
		c.args, c.literals = append(c.args, path), append(c.literals, literalType(arg))
	}
	return c
}

// literalType names the type of a literal, or of the elements of a list of literals.
func literalType(e ast.Expr) string {
	if e.Kind() == ast.ListKind && e.AsList().Size() > 0 {
		if of := literalType(e.AsList().Elements()[0]); of != "" {
			return "a list with " + of
		}
	}
	if e.Kind() != ast.LiteralKind {
		return ""
	}
	switch name := typeName(e.AsLiteral()); name {
	case "int", "uint":
		return "an " + name
	default:
		return "a " + name
	}
}

// explain describes in a few words why an evaluation has no result. It names the fact at fault, if it finds one.
func (e *expression) explain(in *Input, err error) string {
	if cancelled, ok := errors.AsType[interpreter.EvalCancelledError](err); ok {
		if cancelled.Cause == interpreter.CostLimitExceeded {
			return "it takes too much work on this subject; make it simpler or use a pattern"
		}
		return "it was stopped before it ended"
	}
	if errors.Is(err, interpreter.InterruptError{}) {
		return "it was stopped before it ended"
	}
	message := err.Error()
	if key, ok := strings.CutPrefix(message, "no such key: "); ok {
		return e.missing(in, key)
	}
	if failed, ok := errors.AsType[*types.Err](err); ok && strings.HasPrefix(message, "no such overload") {
		if call := e.calls[failed.NodeID()]; call != nil {
			return call.mismatch(in)
		}
	}
	return text.Fit(message, maxShort, "...")
}

// refusal is the reason of a gate to refuse a call.
type refusal string

func (r refusal) Error() string { return string(r) }

// gaveUp reports whether an evaluation had no result because of the size of the subject, which its author chooses.
func gaveUp(err error) bool {
	_, refused := errors.AsType[refusal](err)
	_, cancelled := errors.AsType[interpreter.EvalCancelledError](err)
	return refused || cancelled || errors.Is(err, interpreter.InterruptError{})
}

// missing names the first fact of the expression that lacks key.
func (e *expression) missing(in *Input, key string) string {
	for _, read := range e.reads.facts {
		_, at, found := read.path.resolve(in.facts)
		if !found && read.path[at] == key {
			return fmt.Sprintf("fact %q is missing", text.Fit(read.path[:at+1].String(), maxShort, "..."))
		}
	}
	return fmt.Sprintf("the key %q is missing", text.Fit(key, maxShort, "..."))
}

// mismatch describes a call that does not accept the types of its facts.
func (c *calledOn) mismatch(in *Input) string {
	var facts []string
	numbers := false
	for i, path := range c.args {
		if path == nil {
			if c.literals[i] != "" {
				facts = append(facts, "the other side is "+c.literals[i])
			}
			continue
		}
		v, _, _ := path.resolve(in.facts)
		numbers = numbers || typeName(types.DefaultTypeAdapter.NativeToValue(v)) == "double"
		facts = append(facts, fmt.Sprintf("fact %q is %s", text.Fit(path.String(), maxShort, "..."), described(v)))
	}
	message := fmt.Sprintf("%s does not take these types", c.name)
	if len(facts) > 0 {
		message += ": " + strings.Join(facts, ", ")
	}
	if numbers && strings.Contains("+-*/%", c.name) {
		message += "; numbers in facts are doubles, so write 2.0 for 2, or int(facts.x)"
	}
	return message
}

// described names a type in the words of JSON.
func described(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a bool"
	case float64:
		return "a double"
	case string:
		return "a string"
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	}
	return fmt.Sprintf("a %T", v)
}

func typeName(v ref.Val) string {
	if v == nil {
		return "nothing"
	}
	return v.Type().TypeName()
}

const maxShort = 200 // bytes of an expression or an error in a message

// shorten puts an expression on one line and cuts it.
func shorten(source string) string {
	return text.Fit(text.OneLine(source), maxShort, "...")
}

// misses describes an expression that has its result only because it reads the diff and the subject has whole files instead, or the
// other way round. If the subject has both, that counts only if passes is true.
func (e *expression) misses(in *Input, passes bool) string {
	hasDiff, hasWhole := in.holds()
	switch {
	case e.reads.diff && !e.reads.files && hasWhole && (!hasDiff || passes):
		return "looks at diff only, and the subject has whole files; look at files too"
	case e.reads.files && !e.reads.diff && hasDiff && (!hasWhole || passes):
		return "looks at files only, and the subject has a diff; look at diff.files too"
	}
	return ""
}
