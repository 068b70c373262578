package check

import (
	"context"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/text"
)

// expression is a compiled expression of type bool.
type expression struct {
	program cel.Program
	plain   plainTest // decides most cases of a simple expression; nil for others
	short   string    // the source, cut for messages
	cut     bool      // whether short is only the beginning
	kept    string    // why a check holds
	loops   bool      // whether evaluation may take long and must be interruptible
	reads   reads
	calls   map[int64]*calledOn // calls by their id, for messages
}

// compileExpression compiles source, or notes what is wrong with it and returns nil.
func compileExpression(problems *rule.Problems, field, source string) *expression {
	c := compiling{
		problems: problems, field: field, before: problems.Len(), consts: map[int64]constCall{}, ranges: map[int64]fieldRead{}, openRanges: map[int64]fieldRead{},
		partial: map[int64]func(*partialCall) func(*interpreter.ExecutionFrame) ref.Val{}, nullTests: map[int64]int{},
		names: map[int64]*nameRead{}, nameReads: map[int64]string{}, compared: map[int64]bool{}, exact: map[int64]bool{},
	}
	env := celEnvironment()
	checked, issues := env.cel.Compile(source)
	if issues.Err() != nil {
		c.issues(source, issues)
		return nil
	}
	if out := checked.OutputType(); !out.IsExactType(types.BoolType) && !out.IsExactType(types.DynType) {
		c.problems.Add(field, "1:1: the expression is of type %s; write one that is true or false", out)
		return nil
	}
	c.ast = checked.NativeRep()
	root := ast.NavigateAST(c.ast)
	e := &expression{short: shorten(source), calls: map[int64]*calledOn{}}
	e.cut = len(e.short) < len(text.OneLine(source))
	c.walk(e, root, 0)
	if c.failed() {
		return nil
	}
	c.leaveOpen()
	e.reads = readsOf(root)
	program, err := env.cel.Program(checked, c.options(env)...)
	if err != nil {
		c.problems.Add(field, "1:1: %s", err.Error())
		return nil
	}
	e.program, e.plain = program, plainTestOf(root, 0)
	e.kept = "the check holds" + e.inWords()
	return e
}

// inWords returns the expression as the end of a sentence, or nothing for one that is too long for a reader of verdicts: a part of it would say
// something else.
func (e *expression) inWords() string {
	if e.cut {
		return ""
	}
	return ": " + e.short
}

// compiling is the state of the compilation of one expression.
type compiling struct {
	problems *rule.Problems
	field    string
	before   int
	ast      *ast.AST
	consts   map[int64]constCall

	// By the id of a node: the ranges of loops that are lines of a file, the calls that a part of a field may decide, and the
	// number of the argument that is compared with null.
	ranges map[int64]fieldRead
	// openRanges are the ranges of loops over commands and their arguments.
	openRanges map[int64]fieldRead
	partial    map[int64]func(*partialCall) func(*interpreter.ExecutionFrame) ref.Val
	nullTests  map[int64]int
	// exact are the comparisons of texts that are meant as they are written.
	exact map[int64]bool

	// By the id of a node: the calls that ask about a name of the subject, all reads of names, those that such calls make, and those that
	// are left open. unfolded means that a text outside of such calls has letters in upper case.
	names     map[int64]*nameRead
	nameReads map[int64]string
	compared  map[int64]bool
	open      map[int64]string
	unfolded  bool
	inName    int // how many such calls the walk is in
}

// constCall is a call of matches or glob whose second argument is compiled.
type constCall struct {
	match func(text string) bool
	fits  func(bytes int) bool
	// anywhere means that a match in a line is one in every text with that line.
	anywhere bool
	// folded matches like match, and ignores case too; nil for a pattern.
	folded func(text string) bool
}

// replace returns the call with the compiled argument.
func (c constCall) replace(call interpreter.InterpretableCall) interpreter.InterpretableCall {
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args()[:1], func(args ...ref.Val) ref.Val {
		s, ok := args[0].(types.String)
		switch {
		case !ok:
			return types.NewErr("no such overload: %s", call.Function())
		case !c.fits(len(s)):
			return types.NewErr("a text of %d bytes is too long for this pattern", len(s))
		case c.inCaseOnly(string(s)):
			return types.NewUnknown(caseGap, types.NewAttributeTrail(string(s)))
		}
		return types.Bool(c.match(string(s)))
	})
}

// inCaseOnly reports whether a glob matches only if case is ignored. Whether such a path is the one that is meant depends on the
// file system.
func (c constCall) inCaseOnly(path string) bool {
	return c.folded != nil && !c.match(path) && c.folded(path)
}

func (c *compiling) failed() bool { return c.problems.Len() > c.before }

const maxIssues = 5 // problems reported for one expression

func (c *compiling) issues(source string, issues *cel.Issues) {
	var all []issue
	for _, err := range issues.Errors() {
		one := issue{line: 1, column: 1, message: strings.ReplaceAll(err.Message, " (in container '')", "")}
		if at := err.Location; at != nil && at.Line() > 0 {
			one.line, one.column = at.Line(), at.Column()+1
		}
		all = append(all, one)
	}
	x := explaining{source, strings.Split(source, "\n")}
	for i, one := range x.explained(all) {
		if i == maxIssues {
			return
		}
		c.problems.Add(c.field, "%d:%d: %s", one.line, one.column, text.Fit(one.message, maxShort, "..."))
	}
}

func (c *compiling) add(id int64, format string, args ...any) {
	if c.problems.Len() >= c.before+maxIssues {
		return
	}
	at := c.ast.SourceInfo().GetStartLocation(id)
	c.problems.Add(c.field, "%d:%d: %s", max(1, at.Line()), max(0, at.Column())+1, fmt.Sprintf(format, args...))
}

// walk makes checks beyond those of the type checker: it bounds nested loops, and compiles patterns and globs, which must be
// literals, so that compilation reports a wrong one.
func (c *compiling) walk(e *expression, node ast.NavigableExpr, loops int) {
	switch node.Kind() {
	case ast.ComprehensionKind:
		c.walkLoop(e, node, loops)
		return
	case ast.StructKind:
		c.add(node.ID(), "an expression cannot make objects")
	case ast.CallKind:
		call := node.AsCall()
		e.calls[node.ID()] = newCalledOn(call)
		c.partially(node.ID(), call)
		if c.comparesExactly(node) {
			c.exact[node.ID()] = true
		}
		if name := call.FunctionName(); name == "matches" || name == globFunction {
			c.compileConst(node.ID(), call)
		}
		if c.named(node.ID(), call) {
			c.inName++
			defer func() { c.inName-- }()
		}
	case ast.IdentKind, ast.ListKind, ast.LiteralKind, ast.MapKind, ast.SelectKind, ast.UnspecifiedExprKind:
	}
	c.noteNames(node)
	for _, child := range node.Children() {
		c.walk(e, child, loops)
	}
}

// walkLoop walks a loop. Its range is outside of it, and the loop over nothing that binds a variable (in optMap and sortBy) is
// none.
func (c *compiling) walkLoop(e *expression, node ast.NavigableExpr, loops int) {
	loop := node.AsComprehension()
	inside := loops + 1
	if over := loop.IterRange(); over.Kind() == ast.ListKind && over.AsList().Size() == 0 {
		inside = loops
	}
	e.loops = true
	if read, ok := c.fieldOf(loop.IterRange(), "added", "lines"); ok {
		c.ranges[loop.IterRange().ID()] = read
	}
	c.openRange(loop.IterRange())
	if inside == maxLoopDepth+1 && loops == maxLoopDepth {
		c.add(node.ID(), "more than %d loops (all, exists, map, filter, ...) inside one another", maxLoopDepth)
	}
	for _, child := range node.Children() {
		if child.ID() == loop.IterRange().ID() {
			c.walk(e, child, loops)
			continue
		}
		c.walk(e, child, inside)
	}
}

func (c *compiling) compileConst(id int64, call ast.CallExpr) {
	args := call.Args()
	second := args[len(args)-1]
	source, ok := literalText(second)
	switch {
	case !ok:
		c.add(second.ID(), "the pattern of %s must be a text in quotes", call.FunctionName())
	case call.FunctionName() == globFunction:
		globs, err := subject.CompileGlobs([]string{source})
		if err != nil {
			c.add(second.ID(), "%s", err.Error())
			return
		}
		c.consts[id] = constCall{match: globs.Match, fits: func(int) bool { return true }, folded: globs.MatchFold}
	default:
		re, err := compileRegex(source)
		if err != nil {
			c.add(second.ID(), "%s", err.Error())
			return
		}
		c.consts[id] = constCall{match: re.MatchString, fits: re.fits, anywhere: anywhere(re.syntax)}
	}
}

func literalText(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

func (c *compiling) options(env *environment) []cel.ProgramOption {
	return []cel.ProgramOption{
		cel.EvalOptions(cel.OptOptimize),
		cel.CostTracking(prices{}),
		cel.CostLimit(maxCost),
		cel.InterruptCheckFrequency(64),
		cel.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
			return c.decorated(env, i), nil
		}),
	}
}

// decorated replaces the parts of an expression that do something else here than in CEL.
func (c *compiling) decorated(env *environment, i interpreter.InterpretableV2) interpreter.InterpretableV2 {
	if read, ok := c.ranges[i.ID()]; ok {
		if _, isField := i.(interpreter.InterpretableAttribute); isField {
			return &shownLines{i, read}
		}
	}
	if read, ok := c.openRanges[i.ID()]; ok {
		if _, isField := i.(interpreter.InterpretableAttribute); isField {
			return &openElements{i, read}
		}
	}
	if field, ok := c.open[i.ID()]; ok {
		return &openName{i, field}
	}
	call, ok := i.(interpreter.InterpretableCall)
	if !ok {
		return weighed(i)
	}
	if operand, ok := c.nullTests[call.ID()]; ok {
		return &nullTest{call.ID(), call.Args()[operand], call.Function() == operators.NotEquals}
	}
	if read, ok := c.names[call.ID()]; ok {
		return newNameCall(read, call)
	}
	if compiled, ok := c.consts[call.ID()]; ok {
		call = compiled.replace(call)
	} else {
		call = env.gated(call, c.exact[call.ID()])
	}
	if decide, ok := c.partial[call.ID()]; ok {
		p := &partialCall{InterpretableCall: call}
		p.decide = decide(p)
		return p
	}
	return call
}

// answer is the result of an expression. If it has none, reason is not empty, and gaps are the units of the subject that it would
// have to know.
type answer struct {
	holds  bool
	reason string
	gaps   []int
	// unread says why the expression could not read what it is about; empty if it could.
	unread string
}

// eval evaluates the expression.
func (e *expression) eval(ctx context.Context, in *Input) answer {
	if e.plain != nil && !in.hasTwins() {
		if result := e.plain(in.facts); result != leftToCEL {
			return answer{holds: result == plainTrue}
		}
	}
	return e.evalWith(ctx, activation{in: in})
}

// evalWith evaluates the expression by CEL, with a reading of the source code.
func (e *expression) evalWith(ctx context.Context, vars activation) answer {
	if e.loops {
		limited, cancel := context.WithTimeout(ctx, maxLoopTime)
		defer cancel()
		ctx = limited
		out, _, err := e.program.ContextEval(ctx, vars)
		return e.result(vars.in, out, err)
	}
	out, _, err := e.program.Eval(vars)
	return e.result(vars.in, out, err)
}

func (e *expression) result(in *Input, out ref.Val, err error) answer {
	if err != nil {
		why := e.explain(in, err)
		a := answer{reason: "could not be evaluated: " + why}
		if gaveUp(err) {
			a.unread = why
		}
		return a
	}
	switch out := out.(type) {
	case types.Bool:
		return answer{holds: bool(out)}
	case *types.Unknown:
		return in.openBy(out)
	}
	return answer{reason: fmt.Sprintf("could not be evaluated: it gives a value of type %s and not true or false", typeName(out))}
}
