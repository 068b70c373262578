package shell

import (
	"path"
	"slices"
	"strings"
)

// wrapper is a program that runs the command among its own arguments.
type wrapper struct {
	// short are the letters of options that take a value, long are their long names.
	short string
	long  []string
	// skip is how many words precede the command after the options.
	skip int
	// assigns means that NAME=value may precede the command.
	assigns bool
	// extra means that it adds arguments that are not known.
	extra bool
	// text means that the command is the text of a shell program.
	text bool
}

// wrappers are the programs that start the command that follows their options.
var wrappers = map[string]wrapper{
	"builtin": {}, "command": {}, "exec": {short: "a"}, "nohup": {}, "setsid": {}, "noglob": {}, "nocorrect": {}, "busybox": {}, "toybox": {}, "-": {},
	"sudo": {short: "ugCDhpRrtTU", long: []string{"user", "group", "close-from", "chdir", "host", "prompt", "chroot", "role", "type", "command-timeout", "other-user"}, assigns: true},
	"doas": {short: "uC", assigns: true}, "pkexec": {long: []string{"user"}}, "gosu": {skip: 1}, "su-exec": {skip: 1}, "runuser": {short: "ugGsc", long: []string{"user", "group", "shell"}},
	"env":  {short: "uC", long: []string{"unset", "chdir"}, assigns: true},
	"time": {short: "fo", long: []string{"format", "output"}}, "nice": {short: "n", long: []string{"adjustment"}},
	"ionice": {short: "cnpPu", long: []string{"class", "classdata"}}, "chrt": {skip: 1}, "taskset": {skip: 1}, "stdbuf": {short: "ioe", long: []string{"input", "output", "error"}},
	"timeout": {short: "ks", long: []string{"kill-after", "signal"}, skip: 1}, "chroot": {long: []string{"userspec", "groups"}, skip: 1},
	"unshare": {short: "wSGR"}, "nsenter": {short: "tSGWw"}, "strace": {short: "abeEIoOpPsSuX"}, "ltrace": {short: "aAeFlnopsuxX"}, "caffeinate": {short: "tw"},
	"flock": {short: "wEn", long: []string{"timeout", "conflict-exit-code"}, skip: 1}, "prlimit": {}, "systemd-run": {short: "pHMEdtu", long: []string{"unit", "property", "on-calendar", "on-active", "slice", "uid", "gid", "setenv", "description"}},
	"systemd-inhibit": {}, "dbus-run-session": {}, "xvfb-run": {short: "neps"}, "faketime": {skip: 1}, "proot": {short: "rbw"}, "fakeroot": {}, "firejail": {}, "entr": {extra: true},
	"xargs":    {short: "adEIiLlnPs", long: []string{"arg-file", "delimiter", "eof", "replace", "max-lines", "max-args", "max-procs", "max-chars", "process-slot-var"}, extra: true},
	"parallel": {short: "jaINS", long: []string{"jobs", "arg-file"}, extra: true},
	"watch":    {short: "n", long: []string{"interval"}, text: true}, "ssh": {short: "BbcDEeFIiJLlmOopQRSWw", skip: 1, text: true},
}

// shells are the programs that run the text of a shell program.
var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish"}

// starters are the other programs that run what their arguments say.
var starters = []string{"eval", "trap", "alias", "su", "script", "runuser", "find", "fd", "fdfind"}

// Starts reports whether a program runs the command or the shell program among its arguments. Commands lists those after it.
func Starts(name string) bool {
	_, ok := wrappers[name]
	return ok || slices.Contains(shells, name) || slices.Contains(starters, name)
}

// IsShell reports whether a program is a shell.
func IsShell(name string) bool { return slices.Contains(shells, name) }

// starter follows the commands and programs that a command starts.
type starter struct{ *walker }

// started follows the command or the program that a command starts.
func (w starter) started(name string, args []Word) {
	switch {
	case slices.Contains(shells, name):
		w.shell(name, args)
		return
	case name == "find" || name == "fd" || name == "fdfind":
		w.find(name, args)
		return
	}
	switch name {
	case "eval":
		text := joined(args)
		w.program("eval", text.Text, text.Known)
	case "cd", "pushd", "chdir":
		w.changeDir(args)
	case "popd":
		w.dir = Word{Text: Hole}
	case "trap", "alias":
		w.texts(name, args)
	case "hash":
		w.hash(args)
	case "su", "script", "runuser":
		w.flagged(name, args, "-c", "--command", "--session-command")
	case "git":
		w.git(args)
	case "rg":
		w.flagged(name, args, "--pre", "--hostname-bin")
	case "man":
		w.flagged(name, args, "-P", "--pager")
	case "set":
		w.set(args)
	case "shift":
		w.params, w.paramsKnown = nil, false
	case "read", "mapfile", "readarray", "getopts", "unset", "printf":
		w.reads(name, args)
	case "source", ".":
		w.source(args)
	}
	if r, ok := wrappers[name]; ok {
		w.wrapped(name, r, args)
	}
}

// through adds a wrapper for the commands of f.
func (w *walker) through(name string, f func()) {
	via := w.via
	w.via = append(slices.Clip(via), name)
	f()
	w.via = via
}

// program reads the text of a shell program. Where not all of the text is known, a command without a name takes its place.
func (w *walker) program(name, text string, all bool) {
	w.through(name, func() {
		s, err := Parse(text)
		if err != nil || !all {
			w.emit(Command{Path: Word{Text: text}}, len(w.list), len(w.list))
		}
		if err == nil {
			unsure := w.unsure
			w.unsure = unsure || !all
			w.deeper(func() { w.stmts(s.stmts) })
			w.unsure = unsure
		}
	})
}

// joined returns words with a blank between.
func joined(words []Word) Word {
	text := known("")
	for i, a := range words {
		if i > 0 {
			text.Text += " "
		}
		text.Text += a.Text
		text.Known = text.Known && a.Known
	}
	return text
}

// wrapped follows the command that a wrapper starts.
func (w starter) wrapped(name string, r wrapper, args []Word) {
	env, rest, sure := r.options(args)
	if name == "env" {
		if text, ok := splitString(args); ok {
			w.program(name, text.Text, text.Known)
			return
		}
	}
	if (name == "command") && slices.ContainsFunc(args[:len(args)-len(rest)], func(a Word) bool { return a.Text == "-v" || a.Text == "-V" }) {
		return
	}
	if name == "parallel" && (len(rest) == 0 || strings.HasPrefix(rest[0].Text, "::")) {
		w.lines(rest)
		return
	}
	if len(rest) <= r.skip {
		return
	}
	rest = rest[r.skip:]
	if name == "ssh" || name == "watch" || (r.text && len(rest) == 1) {
		text := joined(rest)
		w.program(name, text.Text, text.Known)
		return
	}
	if name == "flock" && len(rest) == 2 && rest[0].Text == "-c" {
		w.program(name, rest[1].Text, rest[1].Known)
		return
	}
	if r.extra {
		options := args[:len(args)-len(rest)]
		if mark := replaced(name, options); mark != "" && slices.ContainsFunc(rest, func(a Word) bool { return strings.Contains(a.Text, mark) }) {
			rest = slices.Clone(rest)
			for i, a := range rest {
				if strings.Contains(a.Text, mark) {
					rest[i] = Word{Text: strings.ReplaceAll(a.Text, mark, Hole)}
				}
			}
		} else {
			rest = append(slices.Clone(rest), w.inputWords(options)...)
		}
	}
	if !sure {
		rest = append(slices.Clone(rest), Word{Text: Hole})
	}
	w.through(name, func() { w.run(rest, env, len(w.list)) })
}

// options returns the assignments among the arguments of a wrapper and the words after them. It is not sure of the words if an
// argument before them is not known.
func (r wrapper) options(args []Word) (env, rest []Word, sure bool) {
	sure = true
	for i := 0; i < len(args); i++ {
		a := args[i]
		sure = sure && a.Known
		text := a.Text
		switch {
		case text == "--":
			return env, args[i+1:], sure
		case strings.HasPrefix(text, "--"):
			if slices.Contains(r.long, text[2:]) {
				i++
			}
		case len(text) > 1 && (text[0] == '-' || text[0] == '+') && len(args) > 1:
			at := strings.IndexAny(text[1:], r.short)
			if r.short != "" && at == len(text)-2 {
				i++
			}
		case r.assigns && assignment(text):
			env = append(env, a)
		default:
			return env, args[i:], sure
		}
	}
	return env, nil, sure
}

func assignment(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && name != "" && !strings.ContainsAny(name, "/ ")
}

// splitString returns the command of env -S.
func splitString(args []Word) (Word, bool) {
	for i, a := range args {
		for _, prefix := range []string{"-S", "--split-string=", "-vS"} {
			if text, ok := strings.CutPrefix(a.Text, prefix); ok {
				all := append([]Word{{text, a.Known}}, args[i+1:]...)
				return joined(all), true
			}
		}
		if a.Text == "--split-string" {
			return joined(args[i+1:]), true
		}
		if !strings.HasPrefix(a.Text, "-") && !assignment(a.Text) {
			break
		}
	}
	return Word{}, false
}

// shell follows the program of sh -c TEXT, or that of its standard input.
func (w starter) shell(name string, args []Word) {
	command, file := false, false
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		switch {
		case text == "--" || text == "-":
			continue
		case strings.HasPrefix(text, "--"):
			if text == "--rcfile" || text == "--init-file" {
				i++
			}
			if name == "fish" && text == "--command" {
				command = true
			}
			continue
		case len(text) > 1 && (text[0] == '-' || text[0] == '+'):
			command = command || text[0] == '-' && strings.Contains(text, "c")
			file = file || strings.Contains(text, "s")
			if strings.HasSuffix(text, "o") || strings.HasSuffix(text, "O") {
				i++
			}
			continue
		}
		if !command {
			if file { // sh -s ARG
				break
			}
			if text == "/dev/stdin" || text == "/dev/fd/0" {
				break
			}
			if output, ok := w.outputs.of(args[i]); ok {
				w.piped(name, output)
			} else if text == Hole { // a file that another program names
				w.program(name, text, false)
			}
			return // a file, whose content is not part of the program
		}
		params := w.params
		all := w.paramsKnown
		rest := args[i+1:]
		w.apart(func() {
			w.params, w.paramsKnown = nil, true
			if len(rest) > 1 {
				w.params = rest[1:]
			}
			w.program(name, args[i].Text, args[i].Known)
		})
		w.params, w.paramsKnown = params, all
		return
	}
	if w.input != nil {
		input := *w.input
		w.apart(func() {
			w.input = nil
			w.program(name, input.Text, input.Known)
		})
	}
}

// piped follows the program that a shell reads from a process substitution: as in a pipe, one that no text is known of is no part of
// the program.
func (w starter) piped(name string, output Word) {
	if output.Known {
		w.apart(func() {
			w.input = nil
			w.program(name, output.Text, true)
		})
	}
}

// source follows a program that . reads from its standard input, or from a process substitution.
func (w starter) source(args []Word) {
	if len(args) == 0 {
		return
	}
	if output, ok := w.outputs.of(args[0]); ok {
		if output.Known {
			w.program("source", output.Text, true)
		}
		return
	}
	switch {
	case args[0].Text == Hole:
		w.program("source", args[0].Text, false)
	case w.input != nil && (args[0].Text == "/dev/stdin" || args[0].Text == "/dev/fd/0"):
		w.program("source", w.input.Text, w.input.Known)
	}
}

// find follows the commands of -exec, -execdir, -ok and -okdir.
func (w starter) find(name string, args []Word) {
	actions := []string{"-exec", "-execdir", "-ok", "-okdir"}
	if name != "find" {
		actions = []string{"-x", "-X", "--exec", "--exec-batch"}
	}
	for i := 0; i < len(args); i++ {
		if !slices.Contains(actions, args[i].Text) {
			continue
		}
		end := i + 1
		for end < len(args) && args[end].Text != ";" && args[end].Text != "+" {
			end++
		}
		var words []Word
		for _, a := range args[i+1 : end] {
			if strings.Contains(a.Text, "{}") {
				a = Word{strings.ReplaceAll(a.Text, "{}", Hole), false}
			}
			words = append(words, a)
		}
		if len(words) > 0 {
			w.through(name, func() { w.run(words, nil, len(w.list)) })
		}
		i = end
	}
}

// changeDir follows cd.
func (w starter) changeDir(args []Word) {
	for len(args) > 0 && (args[0].Text == "--" || len(args[0].Text) == 2 && strings.ContainsAny(args[0].Text[1:], "LPe@n") && args[0].Text[0] == '-') {
		args = args[1:]
	}
	switch {
	case len(args) == 0:
		w.dir = Word{Text: "~"}
	case args[0].Text == "-" || args[0].Text == "":
		w.dir = Word{Text: Hole}
	case path.IsAbs(args[0].Text) || strings.HasPrefix(args[0].Text, "~") || strings.HasPrefix(args[0].Text, "$"):
		w.dir = Word{path.Clean(args[0].Text), args[0].Known}
	default:
		w.dir = Word{path.Join(w.dir.Text, args[0].Text), w.dir.Known && args[0].Known}
	}
}

// texts follows the programs of trap and alias.
func (w starter) texts(name string, args []Word) {
	for i, a := range args {
		if strings.HasPrefix(a.Text, "-") {
			continue
		}
		if name == "trap" {
			if len(args) > i+1 {
				w.program(name, a.Text, a.Known)
			}
			return
		}
		if _, text, ok := strings.Cut(a.Text, "="); ok {
			w.program(name, text, a.Known)
		}
	}
}

// flagged follows the program that an option takes.
func (w starter) flagged(name string, args []Word, flags ...string) {
	for i, a := range args {
		if slices.Contains(flags, a.Text) && i+1 < len(args) {
			w.program(name, args[i+1].Text, args[i+1].Known)
		}
		for _, flag := range flags {
			if text, ok := strings.CutPrefix(a.Text, flag+"="); ok && strings.HasPrefix(flag, "--") {
				w.program(name, text, a.Known)
			}
		}
	}
}

// set follows set -- ARG....
func (w starter) set(args []Word) {
	for i, a := range args {
		switch {
		case a.Text == "--":
			w.params, w.paramsKnown = args[i+1:], true
			return
		case !strings.HasPrefix(a.Text, "-") && !strings.HasPrefix(a.Text, "+"):
			w.params, w.paramsKnown = nil, false
			return
		}
	}
}

// reads forgets the variables that a builtin sets.
func (w starter) reads(name string, args []Word) {
	if name == "printf" && (len(args) < 2 || args[0].Text != "-v") {
		return
	}
	for _, a := range args {
		if name == "unset" {
			w.vars[a.Text] = value{known: true}
		} else {
			w.vars[a.Text] = value{}
		}
	}
}
