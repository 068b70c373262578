package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// param adds the value of a variable.
func (e *expander) param(b *builder, p *syntax.ParamExp, quoted bool) {
	if p.Param == nil || p.Excl || p.Width || p.IsSet || p.Flags != nil || p.NestedParam != nil || p.Index != nil || p.Slice != nil ||
		p.Repl != nil || p.Names != 0 || len(p.Modifiers) > 0 || p.Split != 0 || p.GlobSubst != 0 || p.RcExpand != 0 {
		e.visit(p)
		b.hole(Hole)
		return
	}
	name := p.Param.Value
	if (name == "@" || name == "*") && p.Exp == nil && !p.Length {
		e.all(b, name, quoted)
		return
	}
	v := e.value(name)
	if p.Length {
		if v.known {
			e.length(b, v.text)
		} else {
			b.hole(Hole)
		}
		return
	}
	if p.Exp != nil {
		e.expansion(b, name, v, p.Exp, quoted)
		return
	}
	e.add(b, name, v, quoted)
}

func (e *expander) length(b *builder, text string) {
	for i := range len(text) {
		if text[i] >= 0x80 {
			e.differs("the length of a text with other characters than ASCII")
			break
		}
	}
	b.add(strconv.Itoa(len(text)))
}

func (e *expander) add(b *builder, name string, v value, quoted bool) {
	if !v.known {
		b.hole("$" + name)
		return
	}
	if quoted {
		b.quote()
	}
	b.expansion(v.text, quoted, e.differs)
}

// value returns the value of a variable or a parameter.
func (e *expander) value(name string) value {
	if n, err := strconv.Atoi(name); err == nil {
		switch {
		case n == 0:
			return value{}
		case n <= len(e.params):
			return value{e.params[n-1].Text, true, e.params[n-1].Known}
		}
		return value{known: e.paramsKnown}
	}
	switch name {
	case "#":
		return value{strconv.Itoa(len(e.params)), true, e.paramsKnown}
	case "@", "*", "?", "$", "!", "-", "_":
		return value{}
	}
	return e.lookup(name)
}

// all adds "$@", which is a word for each parameter, or $*.
func (e *expander) all(b *builder, name string, quoted bool) {
	if name == "*" && quoted && len(e.params) > 1 {
		e.differs(`"$*"`)
	}
	for i, p := range e.params {
		if i > 0 {
			b.next()
		}
		if quoted {
			b.quote()
		}
		if p.Known {
			b.expansion(p.Text, quoted, e.differs)
		} else {
			b.hole(p.Text)
		}
	}
	if !e.paramsKnown {
		b.hole(Hole)
	}
}

// expansion adds ${x:-word} and the like.
func (e *expander) expansion(b *builder, name string, v value, x *syntax.Expansion, quoted bool) {
	empty := !v.set || v.text == ""
	missing := !v.set
	switch x.Op {
	case syntax.DefaultUnsetOrNull, syntax.AlternateUnsetOrNull, syntax.AssignUnsetOrNull, syntax.ErrorUnsetOrNull:
		missing = empty
	case syntax.DefaultUnset, syntax.AlternateUnset, syntax.AssignUnset, syntax.ErrorUnset:
	default:
		e.trimmed(b, v, x)
		return
	}
	if !v.known {
		if x.Word != nil {
			e.visit(x.Word)
		}
		b.hole("$" + name)
		return
	}
	use := missing
	switch x.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if missing {
			return
		}
		use = true
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		if missing {
			e.visit(x.Word)
			b.hole(Hole) // the shell ends
			return
		}
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if missing {
			w := e.text(x.Word, quoted)
			e.assign(name, value{w.Text, true, w.Known})
			e.add(b, name, value{w.Text, true, w.Known}, quoted)
			return
		}
	default:
	}
	switch {
	case !use:
		e.add(b, name, v, quoted)
	case x.Word != nil:
		e.differsUnlessPlain(x.Word)
		e.parts(b, x.Word.Parts, quoted, false)
	}
}

// differsUnlessPlain reports a default value whose quotes shells read in several ways.
func (e *expander) differsUnlessPlain(w *syntax.Word) {
	if text := w.Lit(); text == "" || strings.ContainsAny(text, " \t\n\\'\"~*?[") {
		e.differs("the default value of a variable")
	}
}

// trimmed adds ${x%word} and the like, for words without patterns.
func (e *expander) trimmed(b *builder, v value, x *syntax.Expansion) {
	w := Word{}
	if x.Word != nil {
		w = e.text(x.Word, false)
	}
	if !v.known || !w.Known {
		b.hole(Hole)
		return
	}
	e.differsUnlessPlain(x.Word)
	switch x.Op {
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		b.expansion(strings.TrimSuffix(v.text, w.Text), true, e.differs)
	case syntax.RemSmallPrefix, syntax.RemLargePrefix:
		b.expansion(strings.TrimPrefix(v.text, w.Text), true, e.differs)
	default:
		b.hole(Hole)
	}
}

// arithmetic returns the value of an expression of numbers and variables.
func (e *expander) arithmetic(x syntax.ArithmExpr, depth int) (int64, bool) {
	const limit = 1 << 31
	switch x := x.(type) {
	case *syntax.Word:
		text := e.text(x, true)
		if name := x.Lit(); name != "" && syntax.ValidName(name) {
			v := e.lookup(name)
			text = Word{v.text, v.known && v.set}
		}
		n, err := strconv.ParseInt(text.Text, 10, 64)
		plain := err == nil && strconv.FormatInt(n, 10) == text.Text // no sign, no octal number
		return n, text.Known && plain && n > -limit && n < limit
	case *syntax.ParenArithm:
		if depth < maxDepth {
			return e.arithmetic(x.X, depth+1)
		}
	case *syntax.BinaryArithm:
		if depth > maxDepth {
			return 0, false
		}
		l, lok := e.arithmetic(x.X, depth+1)
		r, rok := e.arithmetic(x.Y, depth+1)
		if !lok || !rok {
			return 0, false
		}
		n := int64(0)
		switch {
		case x.Op == syntax.Add:
			n = l + r
		case x.Op == syntax.Sub:
			n = l - r
		case x.Op == syntax.Mul:
			n = l * r
		default:
			return 0, false
		}
		return n, n > -limit && n < limit
	}
	return 0, false
}
