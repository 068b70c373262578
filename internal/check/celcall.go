package check

import (
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// weighed wraps the lists and maps that an expression makes, whose work CEL does not bound.
func weighed(i interpreter.InterpretableV2) interpreter.InterpretableV2 {
	if made, ok := i.(interpreter.InterpretableConstructor); ok {
		for _, v := range made.InitVals() {
			if _, isConst := v.(interpreter.InterpretableConst); !isConst {
				return &construction{made}
			}
		}
	}
	return i
}

// gated makes a call pass its gate, if it has one, and compare values of one type only. Exact says that texts are compared as they are.
func (env *environment) gated(call interpreter.InterpretableCall, exact bool) interpreter.InterpretableCall {
	function, overload := call.Function(), call.OverloadID()
	pass, counts, o := gates[function], counting[function], env.overloads[overload]
	if o == nil {
		o = env.overloads[function]
	}
	equality := function == operators.Equals || function == operators.NotEquals
	if pass == nil && !counts && !orders[function] || o == nil && !equality {
		return call
	}
	_, written := call.Args()[len(call.Args())-1].(interpreter.InterpretableConst)
	if function == operators.In {
		overload = "" // CEL replaces in of a list by a look-up that takes a value of another type for absent
	}
	return interpreter.NewCall(call.ID(), function, overload, call.Args(), func(args ...ref.Val) ref.Val {
		if !equality && o.OperandTrait != 0 && !args[0].Type().HasTrait(o.OperandTrait) {
			return types.NewErr("no such overload: %s", function)
		}
		if counts {
			for _, arg := range args {
				if unknown := unknownWithin(arg); unknown != nil {
					return unknown
				}
			}
		}
		if pass != nil {
			if reason := pass(args); reason != "" {
				return types.WrapErr(refusal(reason))
			}
		}
		if exact {
			if result := sameTexts(function, args); result != nil {
				return result
			}
		}
		if result := inPlaceOf(function, args, written); result != nil {
			return result
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

func composite(v ref.Val) bool {
	switch v.(type) {
	case traits.Lister, traits.Mapper, *types.Optional:
		return true
	}
	return false
}

// weighing is the call under which a construction is charged for the values inside. So no value grows beyond the limit on
// costs, however often an expression puts values inside one another.
type weighing struct{}

const weighFunction = "@weigh"

// Function returns the name.
func (weighing) Function() string { return weighFunction }

// OverloadID returns the name.
func (weighing) OverloadID() string { return weighFunction }

// construction is a list or map that an expression makes.
type construction struct {
	interpreter.InterpretableConstructor
}

// Exec makes the list or map.
func (c *construction) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := c.InterpretableConstructor.Exec(frame)
	if costs := frame.CostTracker(); costs != nil && !types.IsUnknownOrError(v) {
		costs.EvalUnary(frame, c.ID(), weighing{}, v, v)
	}
	return v
}

// Eval makes the list or map.
func (c *construction) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, c.Exec)
}
