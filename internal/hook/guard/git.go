package guard

import (
	"slices"
	"strings"
)

// gitValued are the options of git itself that take the next word.
var gitValued = []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--exec-path", "--attr-source"}

// git judges the arguments of git.
func (s *survey) git(args []string) {
	aliases := map[string]string{}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		option, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		if !joined && slices.Contains(gitValued, option) && option != "--exec-path" && len(args) > 0 {
			value, args = args[0], args[1:]
		}
		switch {
		case option == "-c" || option == "--config-env":
			key, setting, _ := strings.Cut(value, "=")
			s.gitSetting(key, setting)
			if name, ok := strings.CutPrefix(strings.ToLower(key), "alias."); ok {
				aliases[name] = setting
			}
		case strings.HasPrefix(option, "-c") && len(option) > 2 && option[1] == 'c' && option[2] != 'o':
			key, _, _ := strings.Cut(option[2:], "=")
			s.gitSetting(key, value)
		case option == "--exec-path" && joined:
			s.add("it runs the commands of git from another folder")
		case option == "-C":
			s.dir = s.absolute(value)
		}
	}
	if len(args) == 0 {
		return
	}
	if alias, ok := aliases[strings.ToLower(args[0])]; ok && !strings.HasPrefix(alias, "!") {
		s.gitCommand(append(strings.Fields(strings.NewReplacer(`"`, "", `'`, "").Replace(alias)), args[1:]...))
		return
	}
	s.gitCommand(args)
}

// gitSetting judges a setting of git that a command gives or stores.
func (s *survey) gitSetting(key, value string) {
	key = strings.ToLower(key)
	if runsProgram(key) && value != "" {
		s.program(value)
	}
	switch {
	case key == "core.hookspath":
		s.add("it has git look for its hooks elsewhere (core.hooksPath), so that those of Tenet do not run")
	case strings.HasPrefix(key, "include.") || strings.HasPrefix(key, "includeif."):
		s.add("it has git read other settings (%s), which can turn its hooks off", show(key))
	case strings.HasPrefix(key, "hook."):
		s.add("it changes a hook of git (%s)", show(key))
	case strings.HasPrefix(key, "alias.") && (strings.Contains(value, "-n") || mentioned(value) != "" || strings.Contains(value, "commit-tree")):
		s.add("it gives git a command that skips its hooks (%s)", show(key))
	case key == "init.templatedir":
		s.add("it has git take the hooks of new repositories from elsewhere")
	case strings.ContainsAny(key, "$\uFFFD"):
		s.add("it changes a setting of git whose name is not known, such as core.hooksPath")
	}
}

// runsProgram reports whether the value of a setting of git is a program that git runs.
func runsProgram(key string) bool {
	for _, end := range []string{"editor", "pager", "askpass", "sshcommand", ".cmd", ".clean", ".smudge", ".process", ".textconv", ".command", ".helper", "fsmonitor"} {
		if strings.HasSuffix(key, end) {
			return true
		}
	}
	return strings.HasPrefix(key, "pager.")
}

// gitPrograms judges the programs that commands of git run.
func (s *survey) gitPrograms(name string, args []string) {
	for i, a := range args {
		option, value, joined := strings.Cut(a, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		switch {
		case name == "rebase" && (option == "-x" || option == "--exec"), name == "filter-branch" && strings.HasSuffix(option, "-filter"):
			s.program(value)
		case name == "rebase" && strings.HasPrefix(a, "-x") && len(a) > 2:
			s.program(a[2:])
		case name == "bisect" && i == 0 && a == "run", name == "submodule" && a == "foreach":
			s.program(strings.TrimSpace(strings.TrimPrefix(strings.Join(args[i+1:], " "), "--recursive")))
			return
		}
	}
}

// skipping are the commands of git that have --no-verify, with the letters that mean it.
var skipping = map[string]string{"commit": "n", "push": "", "merge": "", "pull": "", "am": "n", "rebase": "", "cherry-pick": "", "revert": "", "ci": "n", "worktree": ""}

// valuedLetters are the letters of git commit whose value is the rest of the word, or the next word.
const valuedLetters, attachedLetters = "mFcCt", "Su"

// valuedOptions are long options of git commit and its like that take the next word.
var valuedOptions = []string{"--message", "--file", "--author", "--date", "--template", "--reuse-message", "--reedit-message", "--fixup", "--squash", "--trailer", "--cleanup"}

func (s *survey) gitCommand(args []string) {
	name, rest := args[0], args[1:]
	s.gitPrograms(name, rest)
	if letters, ok := skipping[name]; ok {
		if option := skips(rest, letters); option != "" {
			s.add("git %s %s skips the hooks of git, so that the change is not judged", name, show(option))
		}
		if (name == "commit" || name == "push") && s.pathSet {
			s.add("it changes PATH before git %s, so that its hook may run another program as tenet", name)
		}
		return
	}
	switch name {
	case "commit-tree", "fast-import":
		s.add("git %s makes a commit around the hooks of git, so that it is not judged", name)
	case "update-ref":
		s.add("git update-ref moves a branch around the hooks of git, so that what it moves to is not judged")
	case "config":
		s.gitConfig(rest)
	case "rm", "mv", "checkout", "restore", "checkout-index", "clean", "update-index":
		if name == "clean" && (!forced(rest) || s.holds(".") == "") {
			return
		}
		if name == "clean" {
			s.add("git clean may remove settings files in which hooks are set, such as %s", show(s.holds(".")))
			return
		}
		if name == "rm" && slices.Contains(rest, "--cached") {
			return
		}
		earlier := len(rest) > 1 && name == "checkout" && !strings.HasPrefix(rest[0], "-") || slices.ContainsFunc(rest, func(a string) bool { return strings.HasPrefix(a, "--source") || a == "-s" })
		for _, a := range rest {
			if at := s.holds(strings.TrimPrefix(a, ":/")); earlier && !strings.HasPrefix(a, "-") && at != "" && (a == "." || strings.Contains(a, "/") || strings.HasPrefix(a, ".")) {
				s.add("git %s may bring back an earlier state of %s", name, show(at))
			}
			if !strings.HasPrefix(a, "-") {
				s.touch(strings.TrimPrefix(strings.TrimPrefix(a, ":/"), ":(top)"))
			}
		}
	case "replace", "symbolic-ref":
		if len(rest) > 1 && !strings.HasPrefix(rest[0], "-l") {
			s.add("git %s moves a name around the hooks of git", name)
		}
	}
}

func forced(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return a == "--force" || strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.Contains(a, "f")
	}) && !slices.ContainsFunc(args, func(a string) bool {
		return a == "--dry-run" || strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.Contains(a, "n")
	})
}

// skips returns the option by which a command of git skips its hooks; empty if it does not. Git takes each beginning of a long option that
// means one only.
func skips(args []string, letters string) string {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return ""
		case strings.HasPrefix(a, "--"):
			if strings.HasPrefix(a, "--no-v") && strings.HasPrefix("--no-verify", a) {
				return a
			}
			if slices.Contains(valuedOptions, a) {
				i++
			}
		case len(a) > 1 && a[0] == '-':
			for at, letter := range a[1:] {
				if strings.ContainsRune(letters, letter) {
					return a
				}
				if strings.ContainsRune(attachedLetters, letter) {
					break
				}
				if strings.ContainsRune(valuedLetters, letter) {
					if at == len(a)-2 {
						i++
					}
					break
				}
			}
		}
	}
	return ""
}

// gitConfig judges git config.
func (s *survey) gitConfig(args []string) {
	var plain []string
	edits := false
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case strings.HasPrefix(a, "--get") || a == "--list" || a == "-l":
			return
		case a == "-f" || a == "--file" || a == "--blob" || a == "--type" || a == "--default" || a == "--comment":
			i++
		case a == "-e" || a == "--edit":
			s.add("it edits the settings of git, which name its hooks")
			return
		case strings.HasPrefix(a, "--unset"), strings.HasPrefix(a, "--re"), strings.HasPrefix(a, "--add"):
			edits = true
		case strings.HasPrefix(a, "-"):
		default:
			plain = append(plain, a)
		}
	}
	if len(plain) > 0 && (plain[0] == "get" || plain[0] == "list") {
		return
	}
	if len(plain) > 0 && slices.Contains([]string{"set", "unset", "remove-section", "rename-section", "edit"}, plain[0]) {
		edits, plain = true, plain[1:]
	}
	if len(plain) == 0 || len(plain) == 1 && !edits {
		return
	}
	value := ""
	if len(plain) > 1 {
		value = plain[1]
	}
	if key := strings.ToLower(plain[0]); key == "core" || key == "include" {
		s.add("it changes the section %s of the settings of git, which names its hooks", key)
		return
	}
	s.gitSetting(plain[0], value)
}
