package shell

import (
	"path"
	"slices"
	"strings"
)

// readerRule says which arguments of a program that only reads would make it do more.
type readerRule struct {
	// short are letters of options, and long the names of options with one or two dashes; a long option is refused if it is the
	// beginning of a name.
	short string
	long  []string
	// operands is the most operands; 0 means any number, -1 means none.
	operands int
}

// readers are programs that change no file, with the options by which they would.
var readers = map[string]readerRule{
	"ls": {}, "grep": {}, "egrep": {}, "fgrep": {}, "head": {}, "tail": {}, "wc": {}, "whoami": {operands: -1}, "id": {}, "uname": {}, "hostname": {short: "Fb", operands: -1},
	"basename": {}, "dirname": {}, "realpath": {}, "readlink": {}, "stat": {}, "diff": {}, "cmp": {}, "cut": {}, "tr": {}, "nl": {}, "tac": {}, "rev": {}, "seq": {}, "sleep": {},
	"du": {}, "df": {}, "md5sum": {}, "sha1sum": {}, "sha256sum": {}, "od": {}, "comm": {}, "paste": {}, "fold": {}, "expr": {}, "nproc": {}, "arch": {}, "which": {}, "type": {}, "jq": {},
	"date": {short: "s", long: []string{"set"}, operands: -1}, "file": {short: "C", long: []string{"compile"}}, "tree": {short: "oR", long: []string{"output"}},
	"sort": {short: "oT", long: []string{"output", "compress-program", "temporary-directory", "files0-from"}}, "uniq": {operands: 1},
	"rg":   {short: "z", long: []string{"pre", "hostname-bin", "search-zip"}},
	"find": {long: []string{"exec", "execdir", "ok", "okdir", "delete", "fprint", "fprint0", "fprintf", "fls", "files0-from"}},
}

// gitReaders are subcommands of git that change no file, unless an option says so.
var gitReaders = map[string]readerRule{
	"status": {}, "log": gitOutput, "diff": gitOutput, "show": gitOutput, "rev-parse": {}, "ls-files": {}, "ls-tree": {}, "rev-list": {}, "merge-base": {}, "show-ref": {long: []string{"exclude-existing"}},
	"blame": gitOutput, "describe": {}, "cat-file": {long: []string{"textconv", "filters", "batch", "batch-check", "batch-command"}}, "diff-tree": gitOutput,
	"grep": {short: "O", long: []string{"open-files-in-pager", "ext-grep", "textconv"}},
}

var gitOutput = readerRule{long: []string{"output", "ext-diff", "textconv", "output-indicator-new"}}

// allows reports whether a program with these arguments changes no file, and if not, the argument that is to blame.
func (r readerRule) allows(args []string) (string, bool) {
	operands := 0
	for i, a := range args {
		switch {
		case a == "--":
			operands += len(args) - i - 1
			return a, r.operands == 0 || operands <= max(r.operands, 0)
		case strings.HasPrefix(a, "+"): // a format of date, or a count of lines
			if r.operands > 0 {
				operands++
			}
		case a == "-" || !strings.HasPrefix(a, "-"):
			operands++
		default:
			name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
			if name != "" && slices.ContainsFunc(r.long, func(long string) bool {
				return strings.HasPrefix(long, name) && (strings.HasPrefix(a, "--") || name == long)
			}) {
				return a, false
			}
			if r.short != "" && !strings.HasPrefix(a, "--") && strings.ContainsAny(a, r.short) {
				return a, false
			}
		}
	}
	return "an operand", r.operands == 0 || operands <= max(r.operands, 0)
}

// reading runs programs that change no file.
type reading struct{ filer }

// reader runs a program that changes no file. Its output and its status are not known.
func (t reading) reader(name string, args []string) {
	t.last = unsureStatus
	r, ok := readers[name]
	if !ok {
		t.unsure("the effect of the program %s is not known", name)
	} else if arg, ok := r.allows(args); !ok {
		t.unsure("the effect of %s with %s is not known", name, arg)
	}
	t.readsFiles(args)
	t.output("", false)
}

// readsFiles notes which files the arguments of a program name, for the files that a pipeline uses at the same time. A program may
// read any file below.
func (t *tracer) readsFiles(args []string) {
	if len(t.tree.writes) == 0 && t.fds[0].kind == outside && t.fds[1].kind == outside {
		return
	}
	for _, a := range append([]string{"."}, args...) {
		if strings.HasPrefix(a, "-") || len(a) > 4096 || strings.ContainsAny(a, "\x00\n") {
			continue
		}
		t.tree.reads[path.Clean(t.absolute(a))] = true
	}
}

// git follows the subcommands of git that change nothing, and git apply.
func (t reading) git(args []string) {
	t.last = unsureStatus
	dir := t.dir
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch {
		case args[0] == "--no-pager" || args[0] == "--version":
			args = args[1:]
			continue
		case args[0] == "-C" && len(args) > 1:
			dir = t.absolute(args[1])
			args = args[2:]
			continue
		}
		t.unsure("the option %s of git is not followed", args[0])
		break
	}
	if len(args) == 0 {
		t.output("", false)
		return
	}
	name, rest := args[0], args[1:]
	r, reads := gitReaders[name]
	switch {
	case name == "apply":
		editor(t).gitApply(dir, rest)
		return
	case name == "branch" && !slices.ContainsFunc(rest, func(a string) bool {
		return !slices.Contains([]string{"-a", "-r", "-v", "-vv", "--all", "--show-current"}, a)
	}):
	case name == "remote" && (len(rest) == 0 || len(rest) == 1 && rest[0] == "-v"):
	case !reads:
		t.unsure("the effect of git %s is not known", name)
	default:
		if arg, ok := r.allows(rest); !ok {
			t.unsure("the effect of git %s with %s is not known", name, arg)
		}
	}
	t.repository(dir)
	t.readsFiles(rest)
	t.output("", false)
}

// repository notes a folder whose repository is another one than that of the folder in which the program begins: git runs programs
// that the settings of a repository name, and any folder with the right files is a repository.
func (t reading) repository(dir string) {
	own, ok := t.rootOf(t.tree.root)
	other, otherOK := t.rootOf(path.Clean(dir))
	if !ok || !otherOK || own != other {
		t.unsure("the settings of the repository of %s are not known", dir)
	}
}

// rootOf returns the root of the repository of a folder, empty outside of one; false if it is not certain.
func (t reading) rootOf(dir string) (string, bool) {
	for {
		if _, n, err := t.tree.resolve(strings.TrimSuffix(dir, "/")+"/.git", false); err == nil && n != nil {
			return dir, true
		}
		if _, n, err := t.tree.resolve(strings.TrimSuffix(dir, "/")+"/HEAD", false); err == nil && n != nil {
			return "", false // it may be a bare repository
		}
		if dir == "/" {
			return "", true
		}
		dir = path.Dir(dir)
	}
}
