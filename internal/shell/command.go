package shell

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Command is a simple command that a program may run.
type Command struct {
	// Name is the last part of the path of the program: rm for /bin/rm. It is empty if it is not known.
	Name string
	// Path is the first word of the command.
	Path Word
	// Args are the words after the first.
	Args []Word
	// Env are the variables that are set for this command, as NAME=value.
	Env []Word
	// Dir is the folder in which the command runs, absolute or relative to the folder in which the program begins ("." is that one).
	Dir Word
	// Redirects are its redirections, and those of the groups around it, inner ones first.
	Redirects []Redirect
	// Input is the text of its standard input, if a here-document, a here-string or echo gives it.
	Input *Word
	// Via names the wrappers that start it, the outer first: sudo, xargs, sh, find. Each wrapper is a command of its own as well.
	Via []string
	// Pipes are its places in pipelines, the outer first.
	Pipes []Pipe
	// Into is the index of the command among whose words or inputs the output of this one is: curl in sh -c "$(curl URL)", or in
	// sh <(curl URL). It is -1 for all others.
	Into int
	// Known means that the name, all arguments, redirections and the folder are known.
	Known bool
}

// Pipe is a place in a pipeline.
type Pipe struct {
	// ID is the number of the pipeline within its program; Stage counts from 0.
	ID, Stage int
}

// Redirect is a redirection of a command.
type Redirect struct {
	// FD is the number on the left of the operator; empty without one.
	FD string
	// Op is the operator, such as > or >>.
	Op string
	// Target is the word on its right; of a here-document, its text.
	Target Word
}

// Bounds of the commands of a program, where loops and functions repeat them.
const (
	maxCommands = 2000
	maxSteps    = 10000
	maxBytes    = 4 << 20 // of all words together
)

// Commands returns the simple commands that the program may run, in its order: in all branches, in functions, in the programs that
// sh -c, eval, here-documents and pipes into a shell run, and those that wrappers such as sudo, env, xargs and find -exec start. A
// text that another program takes as an argument, such as the pattern of grep, is no command. The result of a program that
// goes beyond the bounds ends in a command without a name.
func (s Script) Commands() []Command {
	list, _ := s.Survey()
	return list
}

// Survey returns the commands, and as NAME=value the variables that the program assigns in statements of their own. Those of export and of
// a single command are words of that command.
func (s Script) Survey() (list []Command, assigned []Word) {
	w := &walker{vars: map[string]value{}, functions: map[string]*function{}, dir: known("."), paramsKnown: true}
	w.dialect = s.dialect
	w.stmts(s.stmts)
	for changed := true; changed; { // functions that are called by an unknown name, if at all
		changed = false
		for _, name := range w.order {
			if f := w.functions[name]; f != nil && !f.called {
				changed = true
				w.call(f, nil, false)
			}
		}
	}
	if w.full {
		w.list = append(w.list, Command{Into: -1, Dir: w.dir})
	}
	return w.list, w.assigned
}

// function is a function of the program.
type function struct {
	body   *syntax.Stmt
	called bool
}

// walker follows a program and collects its commands.
type walker struct {
	dialect     Dialect
	vars        map[string]value
	functions   map[string]*function
	hashed      map[string]Word // programs that hash -p has given to names
	order       []string
	params      []Word
	paramsKnown bool
	dir         Word
	redirects   []Redirect
	pipes       []Pipe
	pipelines   int
	via         []string
	input       *Word
	depth       int
	steps       int
	bytes       int
	full        bool // a bound is reached
	unsure      bool // the text of the present program has unknown parts
	list        []Command
	assigned    []Word
	outputs     outputs
	sinks       []sink // process substitutions that read what the command with them writes
}

func (w *walker) expander() *expander {
	return &expander{
		dialect: w.dialect, lookup: w.lookup, params: w.params, paramsKnown: w.paramsKnown,
		output:  func(stmts []*syntax.Stmt) (string, bool) { return w.substitution(stmts) },
		process: w.process,
		assign: func(name string, v value) {
			w.vars[name] = v
			w.assigned = append(w.assigned, Word{name + "=" + v.text, v.known})
		},
		differs: func(string) {},
	}
}

func (w *walker) lookup(name string) value {
	v, ok := w.vars[name]
	switch {
	case ok:
		return v
	case name == "IFS":
		return value{defaultIFS, true, true}
	}
	return value{}
}

// deeper runs f one level deeper, within the bounds.
func (w *walker) deeper(f func()) {
	if w.depth >= maxDepth || w.full {
		w.full = true
		return
	}
	w.depth++
	f()
	w.depth--
}

// apart runs f as a subshell: its variables, folder and redirections end with it.
func (w *walker) apart(f func()) {
	vars, dir, redirects, pipes, via, input, params, all := maps.Clone(w.vars), w.dir, w.redirects, w.pipes, w.via, w.input, w.params, w.paramsKnown
	w.deeper(f)
	w.vars, w.dir, w.redirects, w.pipes, w.via, w.input, w.params, w.paramsKnown = vars, dir, redirects, pipes, via, input, params, all
}

// substitution reads the program of $(...), and returns its output if that is the text of an echo or printf.
func (w *walker) substitution(stmts []*syntax.Stmt) (string, bool) {
	text, ok := w.printing(stmts)
	return strings.TrimRight(text, "\n"), ok
}

// printing reads statements in a subshell without input, and returns their output if that is the text of an echo or printf.
func (w *walker) printing(stmts []*syntax.Stmt) (text string, ok bool) {
	first := len(w.list)
	w.apart(func() {
		w.input, w.redirects = nil, nil
		w.stmts(stmts)
		if len(stmts) == 1 {
			text, ok = w.printedSince(first)
		}
	})
	return text, ok
}

// printedSince returns the output of the commands from first if all but the last only write what is among its words.
func (w *walker) printedSince(first int) (string, bool) {
	last := len(w.list) - 1
	if last < first || w.list[last].Into >= 0 {
		return "", false
	}
	for i := first; i < last; i++ {
		if into := w.list[i].Into; into <= i || into > last {
			return "", false
		}
	}
	return printed(&w.list[last], w.outputs, w.unsure)
}

// sink is a process substitution >(...). Its commands are those from first to before last of the list; they are in stage 1 of a pipeline
// whose stage 0 is the command with the substitution.
type sink struct{ first, last, pipeline int }

// process reads the program of a process substitution. The word for it begins with Hole and has the number of its output.
func (w *walker) process(p *syntax.ProcSubst) string {
	var output Word
	if p.Op == syntax.CmdOut {
		w.pipelines++
		one := sink{first: len(w.list), pipeline: w.pipelines}
		w.apart(func() {
			w.input = &Word{Text: Hole} // what the command with the substitution writes
			w.pipes = append(slices.Clip(w.pipes), Pipe{one.pipeline, 1})
			w.stmts(p.Stmts)
		})
		one.last = len(w.list)
		w.sinks = append(w.sinks, one)
	} else {
		output.Text, output.Known = w.printing(p.Stmts)
	}
	w.outputs = append(w.outputs, output)
	return Hole + "<" + strconv.Itoa(len(w.outputs)-1) + ">"
}

// outputs are those of the process substitutions, by their number.
type outputs []Word

// of returns the output of the process substitution that a word is. It returns false for every other word.
func (o outputs) of(word Word) (Word, bool) {
	number, ok := strings.CutPrefix(word.Text, Hole+"<")
	at, err := strconv.Atoi(strings.TrimSuffix(number, ">"))
	if word.Known || !ok || err != nil || at < 0 || at >= len(o) {
		return Word{}, false
	}
	return o[at], true
}

// printed returns the output of a command that prints its arguments, its input or process substitutions.
func printed(c *Command, known outputs, unsure bool) (string, bool) {
	input := func(r Redirect) bool { return strings.HasPrefix(r.Op, "<") && r.FD == "" }
	if c.Name == "cat" && len(c.Args) > 0 && len(c.Redirects) == 0 {
		all := ""
		for _, a := range c.Args {
			output, ok := known.of(a)
			if !ok || !output.Known {
				return "", false
			}
			all += output.Text
		}
		return all, true
	}
	if !c.Known && (unsure || c.Name != "cat" || c.Input == nil) || slices.ContainsFunc(c.Redirects, func(r Redirect) bool { return !input(r) }) {
		return "", false
	}
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		args[i] = a.Text
	}
	switch {
	case c.Name == "echo":
		text, _ := echo(args, Bash)
		return text, true
	case c.Name == "printf":
		text, _, ok := printf(args, Bash)
		return text, ok
	case c.Name == "cat" && len(args) == 0 && c.Input != nil:
		return c.Input.Text, c.Input.Known
	}
	return "", false
}

func (w *walker) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		w.stmt(s)
	}
}

func (w *walker) stmt(s *syntax.Stmt) {
	if w.steps++; w.steps > maxSteps {
		w.full = true
	}
	if s == nil || w.full {
		return
	}
	first := len(w.list)
	redirects, input := w.redirects, w.input
	w.redirects = slices.Clone(redirects)
	e := w.expander()
	for _, r := range s.Redirs {
		w.redirect(e, r)
	}
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		w.simple(call, first)
	} else if s.Cmd != nil {
		w.deeper(func() { w.compound(s.Cmd) })
	} else if len(s.Redirs) > 0 {
		w.emit(Command{}, first, len(w.list))
	}
	w.redirects, w.input = redirects, input
}

func (w *walker) redirect(e *expander, r *syntax.Redirect) {
	one := Redirect{Op: r.Op.String()}
	if r.N != nil {
		one.FD = r.N.Value
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		one.Target = e.document(r)
	default:
		one.Target = e.text(r.Word, false)
	}
	if one.FD == "" || one.FD == "0" {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			w.input = &one.Target
		case syntax.WordHdoc:
			w.input = &Word{one.Target.Text + "\n", one.Target.Known}
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn:
			w.input = nil
			if output, ok := w.outputs.of(one.Target); ok && output.Known {
				w.input = &output
			}
		default:
		}
	}
	w.redirects = append(w.redirects, one)
}

// emit adds a command. The commands from first to before last are those whose outputs its words take.
func (w *walker) emit(c Command, first, last int) *Command {
	for _, a := range c.Args {
		w.bytes += len(a.Text)
	}
	if len(w.list) >= maxCommands || w.bytes > maxBytes {
		w.full = true
		return &c
	}
	c.Dir, c.Redirects, c.Input, c.Into = w.dir, w.redirects, w.input, -1
	c.Via, c.Pipes = slices.Clone(w.via), slices.Clone(w.pipes)
	if w.unsure {
		c.Path.Known = c.Path.Known && !strings.Contains(c.Path.Text, Hole)
	}
	if c.Path.Known {
		c.Name = path.Base(c.Path.Text)
	}
	unknown := func(a Word) bool { return !a.Known }
	c.Known = !w.unsure && (c.Path.Known || c.Path.Text == "" && len(c.Args) == 0) && c.Dir.Known && !slices.ContainsFunc(c.Args, unknown) &&
		!slices.ContainsFunc(c.Env, unknown) && !slices.ContainsFunc(c.Redirects, func(r Redirect) bool { return !r.Target.Known })
	reading := len(w.sinks) // the first of the sinks that read this command
	for reading > 0 && w.sinks[reading-1].first >= first {
		reading--
	}
	for _, s := range w.sinks[reading:] {
		c.Pipes = append(c.Pipes, Pipe{s.pipeline, 0})
	}
	for i := first; i < last; i++ {
		reads := slices.ContainsFunc(w.sinks[reading:], func(s sink) bool { return s.first <= i && i < s.last })
		if w.list[i].Into < 0 && !reads {
			w.list[i].Into = len(w.list)
		}
	}
	w.sinks = w.sinks[:reading]
	w.list = append(w.list, c)
	return &w.list[len(w.list)-1]
}

// simple reads a simple command.
func (w *walker) simple(call *syntax.CallExpr, first int) {
	e := w.expander()
	var env []Word
	for _, a := range call.Assigns {
		name, v := w.assignment(e, a)
		if len(call.Args) == 0 {
			w.vars[name] = v
			if w.bytes += len(v.text); w.bytes > maxBytes {
				w.full = true
				return
			}
			w.assigned = append(w.assigned, Word{name + "=" + v.text, v.known})
			continue
		}
		env = append(env, Word{name + "=" + v.text, v.known})
	}
	if len(call.Args) == 0 {
		if len(w.redirects) > 0 || len(w.list) > first {
			w.emit(Command{}, first, len(w.list))
		}
		return
	}
	words := e.fields(call.Args)
	if len(words) == 0 {
		return
	}
	w.run(words, env, first)
	for _, a := range env {
		if name, text, _ := strings.Cut(a.Text, "="); slices.Contains(programVariables, name) && strings.ContainsAny(text, " \t\n;|&$`") {
			w.program(name, text, a.Known)
		}
	}
}

// programVariables are the variables whose value other programs run as a shell program. A value of one word is the name of a program such as vim.
var programVariables = []string{
	"PAGER", "MANPAGER", "EDITOR", "VISUAL", "BROWSER", "PROMPT_COMMAND", "LESSOPEN", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF",
}

// run adds the command of the words, and those that it starts.
func (w *walker) run(words, env []Word, first int) {
	c := w.emit(Command{Path: words[0], Args: words[1:], Env: env}, first, len(w.list))
	if w.full || !c.Path.Known {
		return
	}
	name, args := c.Name, words[1:]
	if program, ok := w.hashed[c.Path.Text]; ok && program.Text != c.Path.Text { // besides the command itself: another process may run it, and knows nothing of hash
		w.through("hash", func() { w.deeper(func() { w.run(append([]Word{program}, args...), env, len(w.list)) }) })
	}
	if f := w.functions[c.Path.Text]; f != nil {
		w.call(f, args, true)
		return
	}
	w.deeper(func() { starter{w}.started(name, args) })
}

// call follows a function.
func (w *walker) call(f *function, args []Word, all bool) {
	f.called = true
	params, whole := w.params, w.paramsKnown
	w.params, w.paramsKnown = args, all
	w.deeper(func() { w.stmt(f.body) })
	w.params, w.paramsKnown = params, whole
}

// assignment returns the name and the value of an assignment.
func (w *walker) assignment(e *expander, a *syntax.Assign) (string, value) {
	if a.Name == nil {
		if a.Value != nil {
			e.visit(a.Value)
		}
		return "", value{}
	}
	name := a.Name.Value
	if a.Array != nil || a.Index != nil {
		e.visit(a)
		return name, value{}
	}
	v := e.text(a.Value, false)
	result := value{v.Text, true, v.Known}
	if a.Append {
		before := w.lookup(name)
		result.text, result.known = before.text+v.Text, v.Known && before.known
	}
	return name, result
}
