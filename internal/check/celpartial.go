package check

import (
	"regexp/syntax"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// A field with a gap is unknown as a whole, and some questions about it have an answer nevertheless: a loop over its lines may stop
// at one that is shown, a text contains what its shown lines contain, a count is at least what is shown, and a path matches a glob
// if all its readings do. The types of this file answer these, where an expression asks them of a field directly.

// fieldRead is the selection of a field from a variable, such as f.added.
type fieldRead struct{ variable, field string }

// fieldOf parses the selection of a field of an object of known type.
func (c *compiling) fieldOf(e ast.Expr, fields ...string) (fieldRead, bool) {
	if e.Kind() != ast.SelectKind || e.AsSelect().IsTestOnly() || e.AsSelect().Operand().Kind() != ast.IdentKind {
		return fieldRead{}, false
	}
	operand := e.AsSelect().Operand()
	_, isObject := objectTypes[c.ast.GetType(operand.ID()).TypeName()]
	return fieldRead{operand.AsIdent(), e.AsSelect().FieldName()}, isObject && slices.Contains(fields, e.AsSelect().FieldName())
}

// native returns the Go value of the object whose field is read, or nil.
func (r fieldRead) native(frame *interpreter.ExecutionFrame) any {
	v, _ := frame.ResolveName(r.variable)
	if o, ok := v.(*object); ok {
		return o.native
	}
	return nil
}

// shownLines is the range of a loop: the lines that are shown, then one that is unknown.
type shownLines struct {
	interpreter.InterpretableV2
	read fieldRead
}

// Exec returns the lines.
func (s *shownLines) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := s.InterpretableV2.Exec(frame)
	if !types.IsUnknown(v) {
		return v
	}
	f, ok := s.read.native(frame).(*celFile)
	if !ok {
		return v
	}
	shown := f.text().lines
	if s.read.field == "added" {
		shown = f.text().added
	}
	values, _ := shown.Value().([]ref.Val)
	return refList(append(slices.Clip(values), v))
}

// Eval returns the lines.
func (s *shownLines) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, s.Exec)
}

// partialCall is a call whose result may be known although an argument is not.
type partialCall struct {
	interpreter.InterpretableCall
	decide func(frame *interpreter.ExecutionFrame) ref.Val // returns nil if the result is not known
}

// Exec makes the call.
func (p *partialCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := p.InterpretableCall.Exec(frame)
	if types.IsUnknown(v) {
		if decided := p.decide(frame); decided != nil {
			return decided
		}
	}
	return v
}

// Eval makes the call.
func (p *partialCall) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, p.Exec)
}

// charge notes the cost of looking through a text.
func (p *partialCall) charge(frame *interpreter.ExecutionFrame, text types.String) {
	if costs := frame.CostTracker(); costs != nil {
		costs.EvalBinary(frame, p.ID(), p, text, types.String(""), types.True)
	}
}

// partially notes the calls that may be decided by a part of a field.
func (c *compiling) partially(id int64, call ast.CallExpr) {
	name, args := call.FunctionName(), call.Args()
	if call.IsMemberFunction() {
		args = append([]ast.Expr{call.Target()}, args...)
	}
	if len(args) != 2 {
		return
	}
	switch name {
	case operators.Equals, operators.NotEquals:
		for i, arg := range args {
			if isNullLiteral(arg) && isPlace(args[1-i]) {
				c.nullTests[id] = 1 - i
			}
		}
	case "contains", "matches":
		target, lower := args[0], false
		if target.Kind() == ast.CallKind && target.AsCall().FunctionName() == "lowerAscii" && target.AsCall().IsMemberFunction() {
			target, lower = target.AsCall().Target(), true
		}
		if read, ok := c.fieldOf(target, "added_text", "removed_text", "content", "text"); ok {
			c.partial[id] = func(p *partialCall) func(*interpreter.ExecutionFrame) ref.Val {
				return func(frame *interpreter.ExecutionFrame) ref.Val { return c.inShownText(p, frame, read, lower) }
			}
		}
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		for i, arg := range args {
			if read, ok := c.fieldOf(arg, "added_lines", "deleted_lines"); ok {
				c.partial[id] = func(p *partialCall) func(*interpreter.ExecutionFrame) ref.Val {
					return func(frame *interpreter.ExecutionFrame) ref.Val { return byCount(p, frame, read, i == 0) }
				}
			}
		}
	}
	if read, ok := c.fieldOf(args[0], "path"); ok && args[1].Kind() == ast.LiteralKind && readable[name] {
		c.partial[id] = func(p *partialCall) func(*interpreter.ExecutionFrame) ref.Val {
			return func(frame *interpreter.ExecutionFrame) ref.Val { return c.byReadings(p, frame, read) }
		}
	}
}

// readable are the calls on a path that are made for each of its readings.
var readable = map[string]bool{
	globFunction: true, "matches": true, "contains": true, "startsWith": true, "endsWith": true, operators.Equals: true, operators.NotEquals: true,
}

func isNullLiteral(e ast.Expr) bool {
	return e.Kind() == ast.LiteralKind && e.AsLiteral() == types.NullValue
}

// isPlace reports whether an expression names a place, such as facts.a or x[0], and computes nothing.
func isPlace(e ast.Expr) bool {
	switch e.Kind() {
	case ast.IdentKind, ast.SelectKind:
		return true
	case ast.CallKind:
		return e.AsCall().FunctionName() == operators.Index
	case ast.ComprehensionKind, ast.ListKind, ast.LiteralKind, ast.MapKind, ast.StructKind, ast.UnspecifiedExprKind:
	}
	return false
}

// inShownText returns true if a shown line alone makes contains or matches true, whatever is around it.
func (c *compiling) inShownText(p *partialCall, frame *interpreter.ExecutionFrame, read fieldRead, lower bool) ref.Val {
	var shown ref.Val
	switch from := read.native(frame).(type) {
	case *celFile:
		shown = from.text().addedText
		if read.field == "removed_text" {
			shown = from.text().removedText
		}
	case *Input:
		shown = from.text()
	}
	text, ok := shown.(types.String)
	if !ok {
		return nil
	}
	p.charge(frame, text)
	var in func(line string) bool
	if compiled, isConst := c.consts[p.ID()]; isConst {
		if !compiled.anywhere || !compiled.fits(len(text)) {
			return nil
		}
		in = compiled.match
	} else {
		needle, isText := p.Args()[1].Exec(frame).(types.String)
		if !isText || strings.Contains(string(needle), "\n") {
			return nil
		}
		in = func(line string) bool { return strings.Contains(line, string(needle)) }
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if lower {
			line = lowerASCII(line)
		}
		if in(line) {
			return types.True
		}
	}
	return nil
}

// anywhere reports whether a match in a line is one in every text with that line: the expression does not ask for the begin or
// the end of the text.
func anywhere(re *syntax.Regexp) bool {
	return re.Op != syntax.OpBeginText && re.Op != syntax.OpEndText && !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !anywhere(sub) })
}

// byCount compares a count of lines that is at least what is shown.
func byCount(p *partialCall, frame *interpreter.ExecutionFrame, read fieldRead, left bool) ref.Val {
	in, ok := read.native(frame).(*Input)
	other := p.Args()[0]
	if left {
		other = p.Args()[1]
	}
	bound, numeric := other.Exec(frame).(interface{ Compare(ref.Val) ref.Val })
	if !ok || !numeric {
		return nil
	}
	shown := types.Int(in.files().added)
	if read.field == "deleted_lines" {
		shown = types.Int(in.files().deleted)
	}
	sign, ok := bound.Compare(shown).(types.Int) // negative if the bound is less than what is shown
	if !ok {
		return nil
	}
	function := p.Function()
	if !left {
		function = map[string]string{
			operators.Less: operators.Greater, operators.LessEquals: operators.GreaterEquals,
			operators.Greater: operators.Less, operators.GreaterEquals: operators.LessEquals,
		}[function]
	}
	switch {
	case function == operators.LessEquals && sign < 0, function == operators.Less && sign <= 0:
		return types.False
	case function == operators.Greater && sign < 0, function == operators.GreaterEquals && sign <= 0:
		return types.True
	}
	return nil
}

// byReadings returns the result of a call on a path if it is the same for all readings of the path.
func (c *compiling) byReadings(p *partialCall, frame *interpreter.ExecutionFrame, read fieldRead) ref.Val {
	f, ok := read.native(frame).(*celFile)
	literal, isConst := p.Args()[len(p.Args())-1].(interpreter.InterpretableConst)
	compiled, isCompiled := c.consts[p.ID()]
	if !ok || !isCompiled && !isConst {
		return nil
	}
	var result ref.Val
	for _, path := range append([]string{f.file.Path}, f.file.Others...) {
		var holds bool
		if isCompiled {
			if compiled.inCaseOnly(path) {
				return nil
			}
			holds = compiled.match(path)
		} else {
			with, isText := literal.Value().(types.String)
			if !isText {
				return nil
			}
			holds = asked(p.Function(), path, string(with))
		}
		if result != nil && result != types.Bool(holds) {
			return nil
		}
		result = types.Bool(holds)
	}
	return result
}

// asked answers a question about a path.
func asked(function, path, with string) bool {
	switch function {
	case "contains":
		return strings.Contains(path, with)
	case "startsWith":
		return strings.HasPrefix(path, with)
	case "endsWith":
		return strings.HasSuffix(path, with)
	case operators.NotEquals:
		return path != with
	}
	return path == with
}
