package check

import (
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"

	"tenet/internal/rule"
)

// Limits on expressions. With them a rule over a diff of 300 KB passes, and the worst expression stops after some 20 ms; see
// BenchmarkBomb.
const (
	maxExprDepth = 64      // nested calls, brackets and operators
	maxExprNodes = 4_000   // nodes after expansion of macros
	maxLoopDepth = 4       // loops (all, exists, map, filter, sortBy, optMap, ...) inside one another
	maxCost      = 600_000 // units of work of one evaluation; one is about 40 ns

	// maxLoopTime stops a loop whose cost the prices underestimate.
	maxLoopTime = time.Second
)

// environment is the CEL environment of all expressions.
type environment struct {
	cel *cel.Env
	// overloads are the implementations of functions by overload id and by name.
	overloads map[string]*functions.Overload
}

// celEnvironment makes the environment once, on the first use: it takes milliseconds.
var celEnvironment = sync.OnceValue(func() *environment {
	env, err := newEnvironment()
	if err != nil {
		panic("check: the CEL environment is fixed and must build: " + err.Error())
	}
	return env
})

func newEnvironment() (*environment, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	env, err := cel.NewEnv(
		cel.CustomTypeProvider(objectProvider{registry}),
		cel.CustomTypeAdapter(types.DefaultTypeAdapter),
		cel.Variable("subject", subjectType.cel),
		cel.Variable("facts", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("diff", diffType.cel),
		cel.Variable("files", cel.ListType(wholeType.cel)),
		cel.Variable(commandsVar, cel.ListType(commandType.cel)),
		cel.Variable(codeVar, cel.ListType(codeType.cel)),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
		commandMacros(),
		ext.Strings(ext.StringsVersion(5)),
		ext.Lists(ext.ListsMaxRangeSize(maxNodes)),
		ext.Math(),
		ext.Sets(),
		cel.Function(globFunction, cel.Overload("glob_string_string",
			[]*cel.Type{cel.StringType, cel.StringType}, cel.BoolType, cel.BinaryBinding(globUncompiled))),
		cel.ParserExpressionSizeLimit(rule.MaxExpr),
		cel.ParserRecursionLimit(maxExprDepth),
		cel.ParserErrorRecoveryLimit(5),
		cel.ExpressionNodeLimit(maxExprNodes),
	)
	if err != nil {
		return nil, err
	}
	// All evaluations share this error, and an evaluation writes its place into an error without one. With a place nobody
	// writes to it any more.
	types.LabelErrNode(-1, types.NoSuchOverloadErr())

	overloads := map[string]*functions.Overload{}
	for _, f := range env.Functions() {
		bindings, err := f.Bindings()
		if err != nil {
			return nil, err
		}
		for _, o := range bindings {
			overloads[o.Operator] = o
		}
	}
	return &environment{cel: env, overloads: overloads}, nil
}

const globFunction = "glob"

// globUncompiled is never called: compilation replaces every call of glob by one with a compiled glob.
func globUncompiled(_, _ ref.Val) ref.Val {
	return types.NewErr("the glob is not compiled")
}
