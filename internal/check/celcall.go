package check

import (
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// decorated replaces the parts of an expression that need more care than CEL takes.
func (env *environment) decorated(i interpreter.InterpretableV2) interpreter.InterpretableV2 {
	switch i := i.(type) {
	case interpreter.InterpretableCall:
		return env.gated(i)
	case interpreter.InterpretableConstructor:
		for _, v := range i.InitVals() {
			if _, isConst := v.(interpreter.InterpretableConst); !isConst {
				return &construction{i}
			}
		}
	}
	return i
}

// gated makes a call pass its gate, if it has one.
func (env *environment) gated(call interpreter.InterpretableCall) interpreter.InterpretableV2 {
	function := call.Function()
	pass, o := gates[function], env.overloads[call.OverloadID()]
	if o == nil {
		o = env.overloads[function]
	}
	switch {
	case function == operators.Equals || function == operators.NotEquals:
		return newEquality(call)
	case function == operators.Add && growsLists[call.OverloadID()]:
		return newAddition(call, env.overloads[operators.Add])
	}
	if pass == nil || o == nil {
		return call
	}
	return interpreter.NewCall(call.ID(), function, call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
		if o.OperandTrait != 0 && !args[0].Type().HasTrait(o.OperandTrait) {
			return types.NewErr("no such overload: %s", function)
		}
		if reason := pass(args); reason != "" {
			return types.NewErr("%s", reason)
		}
		return invoke(o, function, args)
	})
}

func invoke(o *functions.Overload, function string, args []ref.Val) ref.Val {
	switch {
	case len(args) == 1 && o.Unary != nil:
		return o.Unary(args[0])
	case len(args) == 2 && o.Binary != nil:
		return o.Binary(args[0], args[1])
	case o.Function != nil:
		return o.Function(args...)
	}
	return types.NewErr("no such overload: %s", function)
}

// equality is == or != with a gate for lists and maps.
type equality struct {
	interpreter.InterpretableCall
	left, right interpreter.InterpretableV2
	negate      bool
}

func newEquality(call interpreter.InterpretableCall) *equality {
	args := call.Args()
	return &equality{call, args[0], args[1], call.Function() == operators.NotEquals}
}

// Exec compares the two sides.
func (e *equality) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	left := e.left.Exec(frame)
	if types.IsUnknownOrError(left) {
		return left
	}
	right := e.right.Exec(frame)
	if types.IsUnknownOrError(right) {
		return right
	}
	if composite(left) {
		if reason := equatable([]ref.Val{left, right}); reason != "" {
			return types.NewErrWithNodeID(e.ID(), "%s", reason)
		}
	}
	result := types.Equal(left, right)
	if e.negate && !types.IsError(result) {
		result = types.Bool(result != types.True)
	}
	if costs := frame.CostTracker(); costs != nil {
		costs.EvalBinary(frame, e.ID(), e, left, right, result)
	}
	return result
}

// Eval compares the two sides.
func (e *equality) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, e.Exec)
}

func composite(v ref.Val) bool {
	switch v.(type) {
	case traits.Lister, traits.Mapper, *types.Optional:
		return true
	}
	return false
}

// weighing is the name under which the cost of a value that an expression makes is counted: as much as it has inside. So
// no value becomes larger than the limit on costs, however often an expression puts values inside one another.
type weighing struct{}

const weighFunction = "@weigh"

// Function returns the name.
func (weighing) Function() string { return weighFunction }

// OverloadID returns the name.
func (weighing) OverloadID() string { return weighFunction }

func charge(frame *interpreter.ExecutionFrame, id int64, v ref.Val) {
	if costs := frame.CostTracker(); costs != nil {
		costs.EvalUnary(frame, id, weighing{}, v, v)
	}
}

// construction is a list or map that an expression makes.
type construction struct {
	interpreter.InterpretableConstructor
}

// Exec makes the list or map.
func (c *construction) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := c.InterpretableConstructor.Exec(frame)
	if !types.IsUnknownOrError(v) {
		charge(frame, c.ID(), v)
	}
	return v
}

// Eval makes the list or map.
func (c *construction) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, c.Exec)
}

// growsLists are the overloads of + that may take lists; that of types known only in evaluation has no id.
var growsLists = map[string]bool{overloads.AddList: true, "": true}

// addition is + where it may join lists.
type addition struct {
	interpreter.InterpretableCall
	left, right interpreter.InterpretableV2
	overload    *functions.Overload
}

func newAddition(call interpreter.InterpretableCall, o *functions.Overload) *addition {
	args := call.Args()
	return &addition{call, args[0], args[1], o}
}

// Exec adds the two sides.
func (a *addition) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	left := a.left.Exec(frame)
	if types.IsUnknownOrError(left) {
		return left
	}
	right := a.right.Exec(frame)
	if types.IsUnknownOrError(right) {
		return right
	}
	if !left.Type().HasTrait(traits.AdderType) {
		return types.NewErrWithNodeID(a.ID(), "no such overload: %s", a.Function())
	}
	result := types.LabelErrNode(a.ID(), invoke(a.overload, a.Function(), []ref.Val{left, right}))
	if costs := frame.CostTracker(); costs != nil {
		costs.EvalBinary(frame, a.ID(), a, left, right, result)
	}
	// A list that filter or map builds grows in place, and what is added to it has been counted. What is on the left is a
	// value that was counted, or that the subject holds.
	if _, inPlace := left.(traits.MutableLister); !inPlace && composite(right) {
		charge(frame, a.ID(), right)
	}
	return result
}

// Eval adds the two sides.
func (a *addition) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, a.Exec)
}
