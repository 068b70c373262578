package shell

import (
	"maps"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// compound reads a command with commands in it.
func (w *walker) compound(cmd syntax.Command) {
	e := w.expander()
	switch c := cmd.(type) {
	case *syntax.Block:
		w.stmts(c.Stmts)
	case *syntax.Subshell:
		w.apart(func() { w.stmts(c.Stmts) })
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			w.pipeline(c)
			return
		}
		w.stmt(c.X)
		w.maybe([]*syntax.Stmt{c.Y})
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			w.stmts(c.Cond)
			w.maybe(c.Then)
		}
	case *syntax.WhileClause:
		w.forget(c)
		w.stmts(c.Cond)
		w.maybe(c.Do)
	case *syntax.ForClause:
		w.loop(e, c)
	case *syntax.CaseClause:
		e.text(c.Word, false)
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				e.text(p, false)
			}
			w.maybe(item.Stmts)
		}
	case *syntax.FuncDecl:
		if c.Name != nil {
			w.functions[c.Name.Value] = &function{body: c.Body}
			w.order = append(w.order, c.Name.Value)
		}
	case *syntax.DeclClause:
		w.declaration(e, c)
	case *syntax.TimeClause:
		w.stmt(c.Stmt)
	case *syntax.CoprocClause:
		w.apart(func() { w.stmt(c.Stmt) })
	default: // tests and arithmetic
		w.forget(cmd)
		e.visit(cmd)
	}
}

// maybe reads statements that run or not: variables that they change are not known afterwards.
func (w *walker) maybe(list []*syntax.Stmt) {
	before := maps.Clone(w.vars)
	w.stmts(list)
	for name, v := range w.vars {
		if old, ok := before[name]; !ok || old != v {
			w.vars[name] = value{}
			// A value that is set in a branch only is the one that a reader would expect.
			if !ok && v.known {
				w.vars[name] = v
			}
		}
	}
}

// forget makes the variables unknown that a node changes.
func (w *walker) forget(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				w.vars[n.Name.Value] = value{}
			}
		case *syntax.UnaryArithm:
			w.forgetOperand(n.X)
		case *syntax.BinaryArithm:
			w.forgetOperand(n.X)
		}
		return true
	})
}

func (w *walker) forgetOperand(x syntax.ArithmExpr) {
	if word, ok := x.(*syntax.Word); ok && syntax.ValidName(word.Lit()) {
		w.vars[word.Lit()] = value{}
	}
}

// maxTurns is the most turns of a loop that are followed with the value of each.
const maxTurns = 50

func (w *walker) loop(e *expander, c *syntax.ForClause) {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		w.forget(c)
		e.visit(c.Loop)
		w.maybe(c.Do)
		return
	}
	items := e.fields(iter.Items)
	if !iter.InPos.IsValid() {
		items = e.params
	}
	if len(items) == 0 || len(items) > maxTurns {
		items = []Word{{Text: Hole}}
	}
	for _, item := range items {
		w.vars[iter.Name.Value] = value{item.Text, true, item.Known}
		w.stmts(c.Do)
	}
	w.forget(c)
	w.vars[iter.Name.Value] = value{}
}

// declaration reads export, local, readonly, declare and the like.
func (w *walker) declaration(e *expander, c *syntax.DeclClause) {
	first := len(w.list)
	var args []Word
	for _, a := range c.Args {
		name, v := w.assignment(e, a)
		switch {
		case a.Name == nil && a.Value != nil:
			args = append(args, e.fields([]*syntax.Word{a.Value})...)
		case a.Naked:
			args = append(args, known(name))
		default:
			w.vars[name] = v
			args = append(args, Word{name + "=" + v.text, v.known})
		}
	}
	w.emit(Command{Path: known(c.Variant.Value), Args: args}, first, len(w.list))
}

// pipeline reads a | b. Its stages are subshells, whose input is the output of the one before.
func (w *walker) pipeline(c *syntax.BinaryCmd) {
	var stages []*syntax.Stmt
	var flatten func(s *syntax.Stmt)
	flatten = func(s *syntax.Stmt) {
		if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll) && len(s.Redirs) == 0 {
			flatten(b.X)
			flatten(b.Y)
			return
		}
		stages = append(stages, s)
	}
	flatten(c.X)
	flatten(c.Y)
	w.pipelines++
	id := w.pipelines
	var text *Word
	for i, s := range stages {
		first := len(w.list)
		w.apart(func() {
			if i > 0 {
				w.input = text
			}
			w.pipes = append(slices.Clip(w.pipes), Pipe{id, i})
			w.stmt(s)
		})
		text = nil
		if out, ok := w.printedSince(first); ok {
			text = &Word{out, true}
		}
	}
}
