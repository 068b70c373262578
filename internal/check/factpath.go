package check

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"tenet/internal/ledger"
	"tenet/internal/rule"
	"tenet/internal/text"
)

// factPath is the path of a value inside facts. A step is a key (string) or an index (int).
type factPath []any

// String returns the path as in an expression, without a leading facts: amount, items[0].price, ["odd key"].
func (p factPath) String() string {
	var b strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		case string:
			switch {
			case !isName(step):
				b.WriteString("[" + strconv.Quote(step) + "]")
			case b.Len() > 0:
				b.WriteString("." + step)
			default:
				b.WriteString(step)
			}
		}
	}
	return b.String()
}

// qualified returns the path with a leading facts.
func (p factPath) qualified() string {
	s := p.String()
	if s == "" || s[0] == '[' {
		return "facts" + s
	}
	return "facts." + s
}

func isName(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// resolve follows the path. If a step is missing, found is false and at is its index.
func (p factPath) resolve(facts map[string]any) (v any, at int, found bool) {
	v = facts
	for i, step := range p {
		switch step := step.(type) {
		case string:
			m, ok := v.(map[string]any)
			if !ok {
				return nil, i, false
			}
			if v, ok = m[step]; !ok {
				return nil, i, false
			}
		case int:
			list, ok := v.([]any)
			if !ok || step < 0 || step >= len(list) {
				return nil, i, false
			}
			v = list[step]
		}
	}
	return v, 0, true
}

// reads lists the parts of a subject that an expression reads.
type reads struct {
	facts       []factRead
	diff, files bool
	code        bool
	// action, intent and texts mean that it reads the action, the intent, and the lines of files.
	action, intent, texts bool
}

// factRead is a fact that an expression reads. A tested fact may be absent.
type factRead struct {
	path   factPath
	tested bool
}

func readsOf(root ast.NavigableExpr) reads {
	var r reads
	r.walk(root, nil)
	return r
}

// walk notes the reads of node. Names in shadowed are variables of loops.
func (r *reads) walk(node ast.Expr, shadowed []string) {
	if path, tested, ok := factChain(node); ok && !slices.Contains(shadowed, "facts") {
		r.add(path, tested)
		return
	}
	switch node.Kind() {
	case ast.IdentKind:
		if name := node.AsIdent(); !slices.Contains(shadowed, name) {
			r.diff = r.diff || name == "diff"
			r.files = r.files || name == "files"
			r.action = r.action || name == commandsVar
			r.code = r.code || name == codeVar
			if name == "subject" { // as a whole
				r.action, r.intent, r.texts = true, true, true
			}
		}
	case ast.CallKind:
		call := node.AsCall()
		r.index(call)
		if call.IsMemberFunction() {
			r.walk(call.Target(), shadowed)
		}
		for _, arg := range call.Args() {
			r.walk(arg, shadowed)
		}
	case ast.SelectKind:
		sel := node.AsSelect()
		r.texts = r.texts || textFields[sel.FieldName()]
		if of := sel.Operand(); of.Kind() == ast.IdentKind && of.AsIdent() == "subject" && !slices.Contains(shadowed, "subject") {
			r.action = r.action || sel.FieldName() == "action" || sel.FieldName() == "text"
			r.intent = r.intent || sel.FieldName() == "intent"
			return
		}
		r.walk(sel.Operand(), shadowed)
	case ast.ListKind:
		for _, e := range node.AsList().Elements() {
			r.walk(e, shadowed)
		}
	case ast.MapKind:
		for _, e := range node.AsMap().Entries() {
			r.walk(e.AsMapEntry().Key(), shadowed)
			r.walk(e.AsMapEntry().Value(), shadowed)
		}
	case ast.ComprehensionKind:
		loop := node.AsComprehension()
		r.walk(loop.IterRange(), shadowed)
		r.walk(loop.AccuInit(), shadowed)
		inner := append(slices.Clone(shadowed), loop.IterVar(), loop.IterVar2(), loop.AccuVar())
		for _, e := range []ast.Expr{loop.LoopCondition(), loop.LoopStep(), loop.Result()} {
			r.walk(e, inner)
		}
	case ast.LiteralKind, ast.StructKind, ast.UnspecifiedExprKind:
	}
}

// textFields are the fields with lines of files.
var textFields = map[string]bool{
	"added": true, "lines": true, "added_text": true, "removed_text": true, "content": true, "text": true, "added_lines": true, "deleted_lines": true,
}

// index notes the field that an index may name.
func (r *reads) index(call ast.CallExpr) {
	switch call.FunctionName() {
	case operators.Index, operators.OptIndex, operators.OptSelect:
		if step, ok := literalStep(call.Args()[1]); ok {
			name, _ := step.(string)
			r.texts = r.texts || textFields[name]
			return
		}
		r.texts = true
	}
}

// about returns the units of the subject that the expression reads, without those that nobody can: it has a result only if that does
// not depend on them. It returns all that can be read for an expression that reads none.
func (e *expression) about(in *Input) *ledger.Set {
	mask := 0
	for i, reads := range []bool{e.reads.action, e.reads.intent, len(e.reads.facts) > 0, e.reads.diff || e.reads.files || e.reads.code, e.reads.texts || e.reads.code} {
		if reads {
			mask |= 1 << i
		}
	}
	r := &in.read[mask]
	r.once.Do(func() {
		var kinds []ledger.Kind
		for i, kind := range []ledger.Kind{ledger.Action, ledger.Intent, ledger.Facts, ledger.Name, ledger.Text} {
			if mask&(1<<i) != 0 {
				kinds = append(kinds, kind)
			}
		}
		if r.units = in.units().Of(kinds...); r.units.Empty() {
			r.units = in.readable()
		}
	})
	return r.units
}

func (r *reads) add(path factPath, tested bool) {
	for i := range r.facts {
		if slices.Equal(r.facts[i].path, path) {
			r.facts[i].tested = r.facts[i].tested || tested
			return
		}
	}
	r.facts = append(r.facts, factRead{path, tested})
}

// factChain parses facts.a.b, facts["a"], facts.a[0], facts.?a, has(facts.a) and "a" in facts.
func factChain(node ast.Expr) (path factPath, tested, ok bool) {
	switch node.Kind() {
	case ast.IdentKind:
		return nil, false, node.AsIdent() == "facts"
	case ast.SelectKind:
		sel := node.AsSelect()
		path, tested, ok = factChain(sel.Operand())
		return append(path, sel.FieldName()), tested || sel.IsTestOnly(), ok
	case ast.CallKind:
		call := node.AsCall()
		args := call.Args()
		if len(args) != 2 {
			return nil, false, false
		}
		operand, index := args[0], args[1]
		switch call.FunctionName() {
		case operators.Index:
		case operators.OptSelect, operators.OptIndex:
			tested = true
		case operators.In:
			operand, index, tested = index, operand, true
			if _, isText := literalText(index); !isText {
				return nil, false, false
			}
		default:
			return nil, false, false
		}
		step, isStep := literalStep(index)
		path, testedBefore, ok := factChain(operand)
		if ok && call.FunctionName() == operators.In && len(path) > 0 {
			return nil, false, false // may be a list: "x" in facts.tags reads facts.tags
		}
		return append(path, step), tested || testedBefore, ok && isStep
	case ast.ComprehensionKind, ast.ListKind, ast.LiteralKind, ast.MapKind, ast.StructKind, ast.UnspecifiedExprKind:
	}
	return nil, false, false
}

func literalStep(e ast.Expr) (any, bool) {
	if e.Kind() != ast.LiteralKind {
		return nil, false
	}
	switch v := e.AsLiteral().(type) {
	case types.String:
		return string(v), true
	case types.Int:
		return int(v), true
	}
	return nil, false
}

const maxFacts = 50 // facts in the evidence of one outcome

// evidence returns the facts that the expression reads, and the absent ones that it tests for.
func (e *expression) evidence(in *Input) []rule.Evidence {
	var out []rule.Evidence
	for _, read := range e.reads.facts {
		if len(out) == maxFacts {
			break
		}
		v, _, found := read.path.resolve(in.facts)
		switch {
		case found:
			out = append(out, rule.Evidence{Kind: rule.EvidenceFact, Fact: read.path.qualified(), Value: factJSON(v)})
		case read.tested:
			out = append(out, rule.Evidence{Kind: rule.EvidenceAbsence, Fact: read.path.qualified()})
		}
	}
	return out
}

const maxValue = 300 // bytes of a value in evidence

// factJSON returns a value as compact JSON with sorted keys, cut to maxValue bytes.
func factJSON(v any) string {
	return text.Fit(string(appendJSON(nil, v)), maxValue, "...")
}

// appendJSON appends a value as JSON. It stops soon after maxValue bytes, so that a large value costs little.
func appendJSON(dst []byte, v any) []byte {
	if len(dst) > maxValue {
		return dst
	}
	switch v := v.(type) {
	case map[string]any:
		dst = append(dst, '{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			if len(dst) > maxValue {
				return dst
			}
			dst = append(appendJSON(dst, key), ':')
			dst = appendJSON(dst, v[key])
		}
		return append(dst, '}')
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			if len(dst) > maxValue {
				return dst
			}
			dst = appendJSON(dst, e)
		}
		return append(dst, ']')
	case string:
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(text.Fit(v, maxValue, "...")); err != nil {
			return dst
		}
		return append(dst, strings.TrimSuffix(b.String(), "\n")...)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return append(dst, "null"...)
	}
	return append(dst, b...)
}
