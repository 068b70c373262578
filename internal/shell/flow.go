package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// flow follows commands with commands in them.
type flow struct{ *tracer }

// compound runs a command with commands in it.
func (t flow) compound(cmd syntax.Command) {
	switch c := cmd.(type) {
	case *syntax.Block:
		t.stmts(c.Stmts)
	case *syntax.Subshell:
		t.subshell(func() { t.stmts(c.Stmts) })
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.Pipe, syntax.PipeAll:
			t.pipeline(c)
		default:
			t.condition(func() { t.stmt(c.X) })
			if t.ended {
				return
			}
			result := t.last
			if c.Op == syntax.OrStmt {
				result = map[status]status{succeeded: failed, failed: succeeded, unsureStatus: unsureStatus}[result]
			}
			t.maybe(result, func() { t.stmt(c.Y) })
		}
	case *syntax.IfClause:
		t.conditional(c)
	case *syntax.WhileClause:
		t.while(c)
	case *syntax.ForClause:
		t.loop(c)
	case *syntax.CaseClause:
		t.choice(c)
	case *syntax.FuncDecl:
		if c.Name == nil {
			t.unsure("a function without a name is not followed")
			return
		}
		t.vchanged++
		t.functions[c.Name.Value] = c.Body
		t.last = succeeded
	case *syntax.DeclClause:
		t.declaration(c)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			t.stmt(c.Stmt)
		}
	case *syntax.TestClause:
		if t.dialect == Sh {
			t.unsure("shells read this in several ways: [[")
		}
		t.last = t.testClause(c.X)
	case *syntax.CoprocClause:
		t.unsure("a command runs in the background")
		t.subshell(func() { t.stmt(c.Stmt) })
	default:
		t.unsure("arithmetic commands are not followed")
		t.expander().visit(cmd)
		t.last = unsureStatus
	}
}

// condition runs f, whose failure does not end the program.
func (t flow) condition(f func()) {
	t.tested++
	f()
	t.tested--
}

func (t flow) conditional(c *syntax.IfClause) {
	if len(c.Cond) == 0 { // else
		t.stmts(c.Then)
		return
	}
	t.condition(func() { t.stmts(c.Cond) })
	if t.ended {
		return
	}
	result := t.last
	switch result {
	case succeeded:
		t.stmts(c.Then)
	case failed:
		t.last = succeeded
		if c.Else != nil {
			t.conditional(c.Else)
		}
	default:
		t.maybe(unsureStatus, func() { t.stmts(c.Then) })
		if c.Else != nil {
			t.maybe(unsureStatus, func() { t.conditional(c.Else) })
		}
	}
}

func (t flow) while(c *syntax.WhileClause) {
	for turn := 0; ; turn++ {
		t.condition(func() { t.stmts(c.Cond) })
		if t.ended {
			return
		}
		result := t.last
		if c.Until && result != unsureStatus {
			result = statusOf(result == failed)
		}
		switch {
		case result == failed:
			t.last = succeeded
			return
		case result == unsureStatus || turn > maxLoopTurns || t.steps > maxSteps:
			t.unsure("how often a loop runs is not known")
			t.maybe(unsureStatus, func() { t.stmts(c.Do) })
			return
		}
		t.stmts(c.Do)
		if t.ended {
			return
		}
	}
}

func (t flow) loop(c *syntax.ForClause) {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok || c.Select || c.Braces {
		t.unsure("how often a loop runs is not known")
		t.maybe(unsureStatus, func() { t.stmts(c.Do) })
		return
	}
	e := t.expander()
	items := t.words(e, iter.Items)
	if !iter.InPos.IsValid() {
		items = t.params
		if !t.paramsKnown {
			t.unsure("how often a loop runs is not known")
		}
	}
	t.last = succeeded
	for _, item := range items {
		if t.ended || t.steps > maxSteps {
			return
		}
		t.assign(iter.Name.Value, value{item.Text, true, item.Known})
		t.stmts(c.Do)
	}
}

// choice runs case. Patterns other than * and plain words are not followed.
func (t flow) choice(c *syntax.CaseClause) {
	e := t.expander()
	word := e.text(c.Word, false)
	t.last = succeeded
	sure := word.Known
	for _, item := range c.Items {
		match := failed
		for _, p := range item.Patterns {
			one := t.matches(e, p, word)
			if one == succeeded || match == failed {
				match = one
			}
		}
		if item.Op != syntax.Break && (match != failed || !sure) {
			t.unsure("a case that falls through to the next is not followed")
		}
		switch {
		case !sure || match == unsureStatus:
			sure = false
			t.unsure("which case applies is not known")
			t.maybe(unsureStatus, func() { t.stmts(item.Stmts) })
		case match == succeeded:
			t.stmts(item.Stmts)
			return
		}
	}
}

func (t flow) matches(e *expander, p *syntax.Word, word Word) status {
	if p.Lit() == "*" {
		return succeeded
	}
	text := p.Lit()
	if text == "" || strings.ContainsAny(text, `*?[\~{`) {
		if len(p.Parts) != 1 {
			return unsureStatus
		}
		if _, ok := p.Parts[0].(*syntax.SglQuoted); !ok {
			return unsureStatus
		}
	}
	value := e.text(p, false)
	if !value.Known {
		return unsureStatus
	}
	return statusOf(value.Text == word.Text)
}

func (t flow) declaration(c *syntax.DeclClause) {
	e := t.expander()
	variant := c.Variant.Value
	if variant != "export" && variant != "readonly" && variant != "local" {
		t.unsure("%s is not followed", variant)
	}
	for _, a := range c.Args {
		if a.Name == nil {
			t.unsure("the options of %s are not followed", variant)
			continue
		}
		if !a.Naked {
			if name, v, ok := t.assignment(e, a); ok {
				t.assign(name, v)
			}
		} else if variant != "export" {
			t.unsure("%s is not followed", variant)
		}
		if variant == "export" {
			t.exported[a.Name.Value] = true
		}
		if a.Value != nil && !quotedWord(a.Value) && !t.lookup(a.Name.Value).known {
			t.unsure("the value of %s is not known", a.Name.Value)
		}
		if a.Value != nil && !quotedWord(a.Value) && strings.ContainsAny(t.lookup(a.Name.Value).text, " \t\n*?[") {
			t.unsure("shells read this in several ways: a variable without quotes after %s", variant)
		}
	}
	if variant != "export" {
		t.unsure("%s is not followed", variant)
	}
	t.last = succeeded
}

// pipeline runs a | b one stage after the other, where the order in which shells run them makes no difference.
func (t flow) pipeline(c *syntax.BinaryCmd) {
	var stages []*syntax.Stmt
	var flatten func(s *syntax.Stmt)
	flatten = func(s *syntax.Stmt) {
		if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe && len(s.Redirs) == 0 && !s.Negated {
			flatten(b.X)
			flatten(b.Y)
			return
		}
		stages = append(stages, s)
	}
	if c.Op == syntax.PipeAll {
		t.unsure("|& is not followed")
	}
	flatten(c.X)
	flatten(c.Y)
	reads, writes := t.tree.reads, t.tree.writes
	var before []access
	var in *stream
	for i, s := range stages {
		t.tree.reads, t.tree.writes = map[string]bool{}, map[string]bool{}
		var out *stream
		for _, r := range s.Redirs {
			if r.N == nil && (i > 0 && strings.HasPrefix(r.Op.String(), "<") || i < len(stages)-1 && strings.Contains(r.Op.String(), ">")) {
				t.unsure("shells read this in several ways: a redirection and a pipe")
			}
		}
		changed := t.vchanged
		t.subshell(func() {
			if i > 0 {
				t.fds[0] = in
			}
			if i < len(stages)-1 {
				out = &stream{kind: capture}
				t.fds[1] = out
			}
			t.stmt(s)
			changed = t.vchanged - changed
		})
		if i == len(stages)-1 && changed > 0 {
			t.unsure("shells read this in several ways: a variable or folder that the last command of a pipeline sets")
		}
		now := access{t.tree.reads, t.tree.writes}
		for _, other := range before {
			if other.conflicts(now) || now.conflicts(other) {
				t.unsure("commands of a pipeline use the same file at the same time")
			}
		}
		if in != nil && !in.consumed && len(before[i-1].writes) > 0 {
			t.unsure("a command may end early, because the next one of the pipeline does not read all")
		}
		before = append(before, now)
		if out != nil {
			in = &stream{kind: given, text: out.text, guess: out.guess}
		}
	}
	for _, a := range before {
		for name := range a.reads {
			reads[name] = true
		}
		for name := range a.writes {
			writes[name] = true
		}
	}
	t.tree.reads, t.tree.writes = reads, writes
}

// access is the names of files that a stage of a pipeline reads and writes.
type access struct{ reads, writes map[string]bool }

func (a access) conflicts(b access) bool {
	for name := range a.writes {
		if b.reads[name] || b.writes[name] {
			return true
		}
	}
	return false
}
