package shell

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// status is the exit status of a command, as far as it is known.
type status int

// Statuses. A command may or may not succeed if its status is unsureStatus.
const (
	succeeded status = iota
	failed
	unsureStatus
)

func statusOf(ok bool) status {
	if ok {
		return succeeded
	}
	return failed
}

// tracer follows a program and changes a tree as the program would. Once something is not known it continues, to find more of what
// the program writes.
type tracer struct {
	dialect     Dialect
	tree        *tree
	vars        map[string]value
	exported    map[string]bool
	functions   map[string]*syntax.Stmt
	params      []Word
	paramsKnown bool
	dir         string // absolute
	fds         map[int]*stream
	last        status
	errexit     bool // set -e
	nounset     bool // set -u
	tested      int  // depth of conditions, where set -e does nothing
	ended       bool // by exit
	depth       int
	steps       int
	vchanged    int // counts changes of variables and the like
	reasons     []string
}

func newTracer(fsys FS, d Dialect) *tracer {
	t := &tracer{
		dialect: d, vars: map[string]value{}, exported: map[string]bool{}, functions: map[string]*syntax.Stmt{}, paramsKnown: true,
		fds: map[int]*stream{0: {kind: outside}, 1: {kind: outside}, 2: {kind: outside}},
	}
	t.tree = newTree(fsys, t.unsure)
	return t
}

// unsure notes a reason why the effect is not known.
func (t *tracer) unsure(format string, args ...any) {
	for i, a := range args {
		if text, ok := a.(string); ok && len(text) > maxReasonText {
			args[i] = strings.ToValidUTF8(text[:maxReasonText], "") + "..."
		}
	}
	reason := fmt.Sprintf(format, args...)
	if len(t.reasons) < maxReasons && !slices.Contains(t.reasons, reason) {
		t.reasons = append(t.reasons, reason)
	}
}

func (t *tracer) expander() *expander {
	return &expander{
		dialect: t.dialect, lookup: t.lookup, params: t.params, paramsKnown: t.paramsKnown,
		output: t.substitution,
		process: func(p *syntax.ProcSubst) string {
			t.unsure("a process substitution is not followed")
			t.subshell(func() { t.stmts(p.Stmts) })
			return Hole
		},
		assign:  t.assign,
		differs: func(why string) { t.unsure("shells read this in several ways: %s", why) },
	}
}

func (t *tracer) lookup(name string) value {
	v, ok := t.vars[name]
	switch {
	case ok && v.known && !v.set && t.nounset:
		return value{}
	case ok:
		return v
	case name == "IFS":
		return value{defaultIFS, true, true}
	}
	return value{}
}

// special matches the names of variables that change how shells and programs work.
var special = regexp.MustCompile(`^(IFS|ENV|HOME|SHELL|CDPATH|PWD|OLDPWD|PS[0-9]|OPT.*|TERM|EDITOR|VISUAL|LANG|LANGUAGE|LC_.*|TMP.*|TZ.*|NLSPATH|COLUMNS|FUNCNEST|IGNOREEOF|FIGNORE|UID|EUID|PPID|RANDOM|SRANDOM|SECONDS|LINENO|DIRSTACK|GROUPS|HISTCMD|EPOCH.*|REPLY|MAPFILE|COMP_?.*|NULLCMD|READNULLCMD|status|argv|path|cdpath|fpath|mailpath|manpath|module_path|prompt|signals|pipestatus|options|functions|aliases|commands|parameters|PROMPT.*|SIMPLE_.*|VERSION_CONTROL|QUOTING_STYLE|TIME_STYLE|BLOCK.*|MALLOC.*|GLIBC.*|GCONV.*|LOCPATH|RES_.*|http_proxy|https_proxy|no_proxy|all_proxy)$` +
	`|PATH|^LD_|^DYLD_|^BASH|^SHELLOPTS|^GIT|PAGER|^LESS|^XDG|POSIX|^GREP|^RIPGREP|CONFIG|OPTIONS|^SSH|^GO|^GLOB|^HIST|^ZSH|^ZDOT|^TIMEFORMAT|^FCEDIT|^KEYBD|^LS_|^_$`)

func (t *tracer) assign(name string, v value) {
	if special.MatchString(name) {
		t.unsure("the variable %s changes how programs work", name)
	}
	t.vchanged++
	t.vars[name] = v
}

// words returns the arguments that words become, and notes those that are not known.
func (t *tracer) words(e *expander, list []*syntax.Word) []Word {
	words := e.fields(list)
	for _, w := range words {
		if !w.Known {
			t.unsure("an argument is not known: %s", w.Text)
		}
	}
	return words
}

// subshell runs f with a copy of the state of the shell.
func (t *tracer) subshell(f func()) {
	vars, exported, functions, params, all := t.vars, t.exported, t.functions, t.params, t.paramsKnown
	dir, fds, errexit, nounset, changed, tested := t.dir, t.fds, t.errexit, t.nounset, t.vchanged, t.tested
	t.tested = 0
	t.vars, t.exported, t.functions, t.fds = maps.Clone(vars), maps.Clone(exported), maps.Clone(functions), maps.Clone(fds)
	t.deeper(f)
	t.vars, t.exported, t.functions, t.params, t.paramsKnown = vars, exported, functions, params, all
	t.dir, t.fds, t.errexit, t.nounset, t.vchanged, t.tested = dir, fds, errexit, nounset, changed, tested
	t.ended = false
}

func (t *tracer) deeper(f func()) {
	if t.depth >= maxDepth {
		t.unsure("the program has more than %d levels", maxDepth)
		return
	}
	t.depth++
	f()
	t.depth--
}

// substitution runs a command substitution.
func (t *tracer) substitution(stmts []*syntax.Stmt) (string, bool) {
	out := &stream{kind: capture}
	t.subshell(func() {
		t.fds[1] = out
		t.stmts(stmts)
	})
	text := strings.TrimRight(out.text, "\n")
	if strings.IndexByte(text, 0) >= 0 {
		out.guess = true
	}
	return text, !out.guess
}

func (t *tracer) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		if t.ended {
			return
		}
		t.stmt(s)
	}
}

func (t *tracer) stmt(s *syntax.Stmt) {
	if t.steps++; t.steps > maxSteps {
		t.unsure("the program takes more than %d steps", maxSteps)
		return
	}
	if s.Background || s.Coprocess || s.Disown {
		t.unsure("a command runs in the background")
	}
	fds := t.fds
	keep := false
	if c, ok := s.Cmd.(*syntax.CallExpr); ok {
		keep = t.simple(s, c)
	} else {
		t.fds = maps.Clone(fds)
		fine := t.redirects(t.expander(), s.Redirs)
		if s.Cmd == nil {
			t.last = statusOf(fine)
			if t.fds[0] != fds[0] || fds[0].kind != outside {
				t.unsure("shells read this in several ways: redirections without a command")
			}
		} else {
			if s.Negated {
				t.tested++
			}
			t.deeper(func() { flow{t}.compound(s.Cmd) })
			if s.Negated {
				t.tested--
			}
		}
	}
	if !keep {
		t.fds = fds
	}
	if s.Negated {
		t.last = map[status]status{succeeded: failed, failed: succeeded, unsureStatus: unsureStatus}[t.last]
	} else if t.errexit && t.tested == 0 && t.last != succeeded {
		t.unsure("the program ends where a command fails (set -e)")
	}
}

// simple runs a simple command. Keep means that its redirections last, as those of exec do.
func (t *tracer) simple(s *syntax.Stmt, c *syntax.CallExpr) (keep bool) {
	if s.Negated {
		t.tested++
		defer func() { t.tested-- }()
	}
	e := t.expander()
	words := t.words(e, c.Args)
	fds := t.fds
	t.fds = maps.Clone(fds)
	if len(words) == 0 {
		if len(c.Args) > 0 || len(s.Redirs) > 0 {
			t.unsure("shells read this in several ways: redirections without a command")
		}
		t.last = succeeded
		for _, a := range c.Assigns {
			if name, v, ok := t.assignment(e, a); ok {
				t.assign(name, v)
			}
		}
		t.redirects(e, s.Redirs)
		return false
	}
	name := words[0].Text
	if len(s.Redirs) > 0 && (name == "exec" && len(words) > 1 || specialBuiltins[name] && name != "exec" && name != ":") {
		t.unsure("redirections of %s are not followed", name)
	}
	t.redirects(e, s.Redirs)
	if name == "exec" && len(words) == 1 {
		t.last = succeeded
		if len(c.Assigns) > 0 {
			t.unsure("variables of exec are not followed")
		}
		return true
	}
	env := map[string]value{}
	for _, a := range c.Assigns {
		if variable, v, ok := t.assignment(e, a); ok {
			env[variable] = v
			if special.MatchString(variable) {
				t.unsure("the variable %s changes how programs work", variable)
			}
		}
	}
	t.deeper(func() { call{t}.command(words, env) })
	return false
}

// assignment returns the name and the value of an assignment; false for one without a name.
func (t *tracer) assignment(e *expander, a *syntax.Assign) (string, value, bool) {
	if a.Name == nil || a.Array != nil || a.Index != nil {
		e.visit(a)
		t.unsure("an array is not followed")
		if a.Name == nil {
			return "", value{}, false
		}
		return a.Name.Value, value{}, true
	}
	if a.Value != nil && strings.HasPrefix(a.Value.Lit(), "~") || a.Value != nil && strings.Contains(a.Value.Lit(), ":~") {
		t.unsure("the folder of a user is not known")
	}
	v := e.text(a.Value, false)
	result := value{v.Text, true, v.Known}
	if a.Append {
		before := t.lookup(a.Name.Value)
		result = value{before.text + v.Text, true, v.Known && before.known}
		if len(result.text) > maxText {
			result = value{result.text[:maxText], true, false}
		}
	}
	return a.Name.Value, result, true
}

// maybe runs f, which the program does if the result of another command is succeeded, and does not if it is failed.
func (t *tracer) maybe(result status, f func()) {
	switch result {
	case failed:
		return
	case succeeded:
		f()
		return
	case unsureStatus:
	}
	before, ended := t.state(), t.ended
	f()
	if !maps.Equal(before, t.state()) || t.ended != ended {
		t.unsure("whether a command runs depends on the result of another")
		t.ended = ended
	}
	t.last = unsureStatus
}

// state returns what later commands depend on: counts of changes, and the positions of open files.
func (t *tracer) state() map[int]stream {
	m := map[int]stream{-1: {offset: t.tree.changed}, -2: {offset: t.vchanged}}
	for fd, s := range t.fds {
		m[fd] = stream{kind: s.kind, name: s.name, node: s.node, offset: s.offset + len(s.text), guess: s.guess, consumed: s.consumed}
	}
	return m
}
