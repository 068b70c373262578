package shell

import (
	"slices"
	"strings"
)

// gitPrograms are the settings of git whose value is a shell program.
var gitPrograms = []string{"core.pager", "core.editor", "core.sshcommand", "core.askpass", "core.fsmonitor", "sequence.editor", "diff.external", "gpg.program"}

// git follows the programs that git runs: of settings, of git -c alias.NAME=!PROGRAM, and of commands that take one.
func (w starter) git(args []Word) {
	command := ""
	for i := 0; i < len(args) && command == ""; i++ {
		switch a := args[i]; {
		case a.Text == "-c" && i+1 < len(args):
			i++
			key, text, _ := strings.Cut(args[i].Text, "=")
			key = strings.ToLower(key)
			alias, isAlias := strings.CutPrefix(text, "!")
			switch {
			case isAlias && (strings.HasPrefix(key, "alias.") || strings.HasPrefix(key, "credential.")):
				w.program("git", alias, args[i].Known)
			case slices.Contains(gitPrograms, key) || strings.HasPrefix(key, "pager.") || strings.HasSuffix(key, ".cmd") || strings.HasSuffix(key, ".textconv"):
				w.program("git", text, args[i].Known)
			}
		case a.Text == "-C" || a.Text == "--git-dir" || a.Text == "--work-tree" || a.Text == "--namespace" || a.Text == "--exec-path":
			i++
		case !strings.HasPrefix(a.Text, "-"):
			command = a.Text
			args = args[i+1:]
		}
	}
	switch command {
	case "bisect":
		if len(args) > 1 && args[0].Text == "run" {
			w.through("git", func() { w.run(args[1:], nil, len(w.list)) })
		}
	case "submodule":
		i := slices.IndexFunc(args, func(a Word) bool { return a.Text == "foreach" })
		if i < 0 {
			return
		}
		for i++; i < len(args) && strings.HasPrefix(args[i].Text, "-"); i++ {
		}
		text := joined(args[i:])
		w.program("git", text.Text, text.Known)
	case "rebase":
		w.flagged("git", args, "-x", "--exec")
	case "difftool":
		w.flagged("git", args, "-x", "--extcmd")
	case "grep":
		w.opensInPager(args)
	case "filter-branch":
		w.flagged("git", args, "--setup", "--env-filter", "--tree-filter", "--index-filter", "--parent-filter", "--msg-filter", "--commit-filter", "--tag-name-filter")
	}
}

// opensInPager follows the program with which git grep -O opens files.
func (w starter) opensInPager(args []Word) {
	for _, a := range args {
		if a.Text == "--" {
			return
		}
		text, ok := strings.CutPrefix(a.Text, "--open-files-in-pager=")
		if !ok {
			text, ok = strings.CutPrefix(a.Text, "-O")
		}
		if ok && text != "" {
			w.program("git", text, a.Known)
		}
	}
}
