package shell

import (
	"errors"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// specialBuiltins are the builtins whose variables and errors affect the shell itself.
var specialBuiltins = map[string]bool{
	":": true, ".": true, "eval": true, "exec": true, "exit": true, "export": true, "readonly": true, "return": true, "set": true, "shift": true,
	"source": true, "break": true, "continue": true, "times": true, "trap": true, "unset": true,
}

// builtins are the commands of the shell itself, which have no path, and programs the programs whose effect on files is worked out.
var (
	builtins map[string]func(t call, args []string)
	programs map[string]func(t filer, args []string)
)

func init() { // the functions of the table refer to it
	builtins = map[string]func(t call, args []string){
		":": call.succeed, "true": call.succeed, "false": func(t call, _ []string) { t.last = failed },
		"echo": call.echo, "printf": call.printf, "cd": call.cd, "pwd": call.pwd, "test": call.test, "[": call.bracket,
		"eval": call.eval, "set": call.set, "unset": call.unset, "exit": call.exit, "shift": call.shift,
	}
	programs = map[string]func(t filer, args []string){
		"cat": filer.cat, "tee": filer.tee, "cp": filer.cp, "mv": filer.mv, "rm": filer.rm, "mkdir": filer.mkdir, "touch": filer.touch,
		"ln": filer.ln, "chmod": filer.chmod, "sed": func(t filer, args []string) { editor{t}.sed(args) }, "git": func(t filer, args []string) { reading{t}.git(args) }, "apply_patch": func(t filer, args []string) { editor{t}.applyPatch(args) },
	}
}

// call runs a simple command.
type call struct{ *tracer }

// command runs a command with variables of its own.
func (t call) command(words []Word, env map[string]value) {
	name := words[0].Text
	t.last = unsureStatus
	if !words[0].Known {
		t.unsure("the name of a command is not known: %s", name)
		return
	}
	args := make([]string, len(words)-1)
	all := true
	for i, w := range words[1:] {
		args[i] = w.Text
		all = all && w.Known
	}
	if body := t.functions[name]; body != nil {
		t.function(name, body, words[1:], env)
		return
	}
	if specialBuiltins[name] && len(env) > 0 {
		t.unsure("variables of %s are not followed", name)
	}
	switch name {
	case "command", "builtin":
		t.wrapped(name, words[1:], env)
		return
	case "exec":
		t.unsure("exec ends the shell")
		if len(words) > 1 {
			t.command(words[1:], env)
		}
		t.ended = true
		return
	case "sh", "bash", "dash", "zsh", "ksh":
		t.shell(name, words[1:], env)
		return
	}
	if f := builtins[name]; f != nil {
		if all || name == "echo" || name == "printf" {
			f(t, args)
		}
		return
	}
	base := name
	if dir := path.Dir(name); dir == "/bin" || dir == "/usr/bin" {
		base = path.Base(name)
	}
	if f := programs[base]; f != nil {
		if all || base == "cat" || base == "tee" {
			f(filer(t), args)
		}
		return
	}
	reading{filer(t)}.reader(base, args)
}

// function runs a function of the program.
func (t call) function(name string, body *syntax.Stmt, args []Word, env map[string]value) {
	if len(env) > 0 || specialBuiltins[name] {
		t.unsure("the function %s is called in a way that is not followed", name)
	}
	params, all := t.params, t.paramsKnown
	t.params, t.paramsKnown = args, true
	t.last = succeeded
	t.stmt(body)
	t.params, t.paramsKnown = params, all
}

// wrapped runs the command of command and builtin.
func (t call) wrapped(name string, words []Word, env map[string]value) {
	switch {
	case len(words) == 0:
		t.last = succeeded
	case strings.HasPrefix(words[0].Text, "-"):
		if words[0].Text != "-v" {
			t.unsure("the options of %s are not followed", name)
		}
		t.output("", false)
	case specialBuiltins[words[0].Text] || builtins[words[0].Text] == nil && name == "builtin" || words[0].Text == "cd":
		t.unsure("%s %s is not followed", name, words[0].Text)
	default:
		functions := t.functions
		t.functions = nil
		t.command(words, env)
		t.functions = functions
	}
}

// shell runs sh -c TEXT, or the program that a shell has as its input.
func (t call) shell(name string, words []Word, env map[string]value) {
	d := Sh
	if name == "bash" {
		d = Bash
	} else if name != "sh" && name != "dash" {
		t.unsure("the shell %s is not followed", name)
	}
	text := Word{}
	params := words
	switch {
	case len(words) >= 2 && words[0].Text == "-c":
		text = words[1]
		params = words[min(3, len(words)):]
	case len(words) == 0 || len(words) == 1 && (words[0].Text == "-s" || words[0].Text == "-"):
		text.Text, text.Known = t.input()
		params = nil
		t.subshell(func() { t.inner(d, text, nil, env, true) })
		return
	default:
		t.unsure("the options or the file of %s are not followed", name)
		if i := slices.IndexFunc(words, func(w Word) bool { return strings.HasPrefix(w.Text, "-") && strings.HasSuffix(w.Text, "c") }); i >= 0 && i+1 < len(words) {
			text, params = words[i+1], nil
		}
	}
	t.subshell(func() { t.inner(d, text, params, env, false) })
}

// inner runs the program of another shell, which knows the exported variables only.
func (t call) inner(d Dialect, text Word, params []Word, env map[string]value, stdin bool) {
	if !text.Known {
		t.unsure("the program of a shell is not known")
	}
	s, err := ParseAs(text.Text, d)
	if err != nil {
		t.unsure("%s", err.Error())
		return
	}
	vars := map[string]value{}
	for name := range t.exported {
		if v, ok := t.vars[name]; ok {
			vars[name] = v
		}
	}
	for name, v := range env {
		vars[name] = v
		t.exported[name] = true
	}
	dialect := t.dialect
	t.dialect, t.vars, t.functions, t.params, t.paramsKnown = d, vars, nil, params, true
	t.functions = map[string]*syntax.Stmt{}
	t.errexit, t.nounset, t.last = false, false, succeeded
	if stdin { // commands share the input with the shell that reads it
		t.fds[0] = &stream{kind: capture, guess: true}
	}
	t.stmts(s.stmts)
	t.dialect = dialect
}

func (t call) succeed([]string) { t.last = succeeded }

func (t call) echo(args []string) {
	text, sure := echo(args, t.dialect)
	if !sure {
		t.unsure("shells read this in several ways: the options or escapes of echo")
	}
	t.print(text, args)
}

func (t call) printf(args []string) {
	text, sure, ok := printf(args, t.dialect)
	switch {
	case !ok:
		t.unsure("the format of printf is not followed")
	case !sure:
		t.unsure("shells read this in several ways: the format of printf")
	}
	t.print(text, args)
}

// print writes a text that is made of arguments.
func (t call) print(text string, args []string) {
	t.last = succeeded
	sure := len(t.reasons) == 0 || !slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, Hole) || strings.Contains(a, "$") })
	t.output(text, sure)
}

func (t call) cd(args []string) {
	if len(args) != 1 || args[0] == "" || strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[0], "+") {
		t.unsure("the folder of cd is not known")
		return
	}
	logical := path.Clean(t.absolute(args[0]))
	real, n, err := t.tree.resolve(t.absolute(args[0]), true)
	if err != nil || n == nil || n.kind != Folder {
		if !errors.Is(err, errUnsure) {
			t.last = failed
		}
		return
	}
	if same, _, err := t.tree.resolve(logical, true); err != nil || same != real {
		t.unsure("shells read this in several ways: cd to %s, which leads through a link", args[0])
		return
	}
	t.dir = logical
	t.vchanged++
	t.last = succeeded
}

func (t call) pwd(args []string) {
	real, _, err := t.tree.resolve(t.dir, true)
	t.last = succeeded
	t.output(t.dir+"\n", len(args) == 0 && err == nil && real == t.dir)
}

// eval runs its arguments as a program.
func (t call) eval(args []string) {
	s, err := ParseAs(strings.Join(args, " "), t.dialect)
	if err != nil {
		t.unsure("%s", err.Error())
		return
	}
	t.last = succeeded
	t.deeper(func() { t.stmts(s.stmts) })
}

// set sets options and parameters.
func (t call) set(args []string) {
	t.last = succeeded
	t.vchanged++
	for i := range args {
		switch a := args[i]; a {
		case "-e":
			t.errexit = true
		case "-u":
			t.nounset = true
		case "-eu", "-ue":
			t.errexit, t.nounset = true, true
		case "-x", "+x":
		case "--":
			t.params, t.paramsKnown = nil, true
			for _, p := range args[i+1:] {
				t.params = append(t.params, known(p))
			}
			return
		default:
			t.unsure("the option %s of set is not followed", a)
			return
		}
	}
	if len(args) == 0 {
		t.output("", false)
	}
}

func (t call) unset(args []string) {
	t.last = succeeded
	for _, name := range args {
		if strings.HasPrefix(name, "-") || special.MatchString(name) || t.functions[name] != nil {
			t.unsure("unset %s is not followed", name)
			continue
		}
		t.vchanged++
		t.vars[name] = value{known: true}
	}
}

func (t call) exit(args []string) {
	switch {
	case len(args) == 1 && args[0] == "0":
		t.last = succeeded
	case len(args) == 1:
		n, err := strconv.Atoi(args[0])
		t.last = failed
		if err != nil || n <= 0 || n > 255 {
			t.unsure("the status of exit is not followed")
		}
	case len(args) > 1:
		t.unsure("the status of exit is not followed")
	}
	t.ended = true
}

func (t call) shift(args []string) {
	if len(args) > 0 || len(t.params) == 0 || !t.paramsKnown {
		t.unsure("shift is not followed")
		return
	}
	t.vchanged++
	t.params = t.params[1:]
	t.last = succeeded
}

// gnu notes programs whose options are others on systems without the GNU programs.
func (t *tracer) gnu(name string) {
	if runtime.GOOS != "linux" {
		t.unsure("%s differs between systems", name)
	}
}
