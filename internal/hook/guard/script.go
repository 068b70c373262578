package guard

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tenet/internal/shell"
)

// copies are the programs that only pass their input on, and runners those that run the program among their arguments.
var (
	copies  = words(`tee sponge dd cat sed tr mail mailx xclip pbcopy wl-copy ssh`)
	runners = words(`npx bunx pnpm yarn npm uvx pipx poetry bundle`)
)

// runner judges the program that a runner of packages starts.
func runner(s *survey, args []string) {
	for i, a := range args {
		if strings.HasPrefix(a, "-") || a == "exec" || a == "run" || a == "dlx" {
			continue
		}
		switch name := filepath.Base(a); name {
		case "husky", "lefthook", "pre-commit", "overcommit":
			if slices.Contains(args[i+1:], "uninstall") {
				s.add("it takes the hooks of %s out", name)
			}
		}
		return
	}
}

// maxScript is the most bytes of a script on disk that is judged as a part of the command.
const maxScript = shell.MaxLength

// script judges a script of a shell that a command runs: one on disk, or one that the command has just written.
func (s *survey) script(c *shell.Command, args []string) {
	name := ""
	switch {
	case shell.IsShell(c.Name) || c.Name == "source" || c.Name == ".":
		for i, a := range args {
			if strings.HasPrefix(a, "-") && strings.Contains(a, "c") && shell.IsShell(c.Name) {
				return // its program is an argument
			}
			if !strings.HasPrefix(a, "-") {
				name = args[i]
				break
			}
		}
		for _, r := range c.Redirects {
			if name == "" && r.Op == "<" {
				name = r.Target.Text
			}
		}
	case strings.Contains(c.Path.Text, "/"):
		name = c.Path.Text
	}
	if name == "" || strings.HasPrefix(name, "/dev/") {
		return
	}
	full := s.absolute(name)
	text := s.content(full)
	if text == "" || len(text) > maxScript || name == c.Path.Text && !shellScript.MatchString(text) {
		return
	}
	inner := &visit{Guard: s.Guard, act: &Act{}, dir: s.dir, depth: s.depth, programs: s.programs}
	inner.program(text)
	for _, found := range inner.found {
		s.add("the script %s: %s", show(name), found)
	}
}

var shellScript = regexp.MustCompile(`^#![^\n]*\b(sh|bash|dash|zsh|ksh)\b`)

// content returns the text of a file as the command leaves it, or as it is on disk.
func (s *survey) content(full string) string {
	if e := s.act.Effect; e != nil {
		for i := range e.Files {
			if f := &e.Files[i]; f.Path == full && f.After != nil {
				return *f.After
			}
		}
	}
	if text := readFile(full); text != nil {
		return *text
	}
	return ""
}

var patchHead = regexp.MustCompile(`(?m)^(?:\+\+\+|---|rename (?:from|to)|copy to|\*\*\*) "?(?:[abciow]/)?([^\t\n"]+)`)

// patches judges the files that a patch names.
func (s *survey) patches(c *shell.Command, args []string) {
	if c.Name != "patch" && !(c.Name == "git" && slices.Contains(args, "apply")) {
		return
	}
	var texts []string
	for _, a := range args {
		if !strings.HasPrefix(a, "-") && a != "apply" {
			texts = append(texts, s.content(s.absolute(a)))
		}
	}
	for _, r := range c.Redirects {
		if r.Op == "<" {
			texts = append(texts, s.content(s.absolute(r.Target.Text)))
		}
	}
	if c.Input != nil {
		texts = append(texts, c.Input.Text)
	}
	for _, text := range texts {
		for _, m := range patchHead.FindAllStringSubmatch(text, maxMatches) {
			s.touch(m[1])
		}
	}
}

// interpreters run programs in languages that are not followed.
var interpreters = regexp.MustCompile(`^(python[0-9.]*|pypy[0-9.]*|node|nodejs|deno|bun|perl[0-9.]*|ruby[0-9.]*|php[0-9.]*|lua[0-9.]*|luajit|awk|gawk|mawk|nawk|osascript|tclsh|Rscript|pwsh|powershell|cmd|groovy|scala|kotlin|elixir|erl|swift|go|ts-node|tsx|ed|ex|vi|vim|nvim|emacs|patch)$`)

func interprets(name string) bool { return interpreters.MatchString(name) }

// interpreter judges a program in another language by the names in its text.
func (s *survey) interpreter(c *shell.Command, args []string) {
	all := slices.Clone(args)
	if c.Input != nil {
		all = append(all, c.Input.Text)
	}
	for _, text := range all {
		if word := mentioned(text); word != "" {
			s.add("its program or an argument names %s, and programs of %s are not followed", word, c.Name)
			return
		}
	}
	for _, name := range targets(c.Name, args) {
		s.touch(name)
	}
	s.unread(c, args)
}

// unread reports a program that a shell or an interpreter takes from a pipe, which nobody can read beforehand.
func (s *survey) unread(c *shell.Command, args []string) {
	if !shell.IsShell(c.Name) && !interpreters.MatchString(c.Name) || c.Name == "ed" || strings.HasSuffix(c.Name, "awk") || c.Name == "patch" {
		return
	}
	plain := slices.DeleteFunc(slices.Clone(args), func(a string) bool {
		return a == "-" || a == "-s" || a == "--" || a == "-x" || a == "-e" && shell.IsShell(c.Name)
	})
	if len(plain) > 0 && !slices.Contains(args, "-s") || len(c.Pipes) == 0 || c.Pipes[len(c.Pipes)-1].Stage == 0 || c.Input != nil && c.Input.Known {
		return
	}
	s.add("%s takes its program from another one, so what it does to the walls is not known", c.Name)
}

// text judges words that are no shell program.
func (v *visit) text(text string) {
	if word := mentioned(text); word != "" && !quietText.MatchString(text) {
		v.add("it names %s, and its effect is not known", word)
	}
}

// quietText is a command of PowerShell that only reads.
var quietText = regexp.MustCompile(`(?i)^\s*(get-content|gc|cat|type|select-string|sls|get-childitem|gci|ls|dir|test-path|get-item)\b[^;|&>\n]*$`)
