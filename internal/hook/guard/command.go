package guard

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tenet/internal/shell"
)

// Bounds of the programs that a program runs: how deep, and how many.
const (
	maxDepth    = 4
	maxPrograms = 60
)

// program judges a shell program.
func (v *visit) program(text string) {
	if v.depth >= maxDepth {
		v.add("it runs scripts that run others, more than %d deep", maxDepth)
		return
	}
	if v.programs == nil {
		v.programs = new(int)
	}
	if *v.programs++; *v.programs > maxPrograms {
		v.add("it runs more than %d programs and scripts", maxPrograms)
		return
	}
	v.depth++
	defer func() { v.depth-- }()
	script, err := shell.Parse(text)
	if err != nil {
		if word := mentioned(text); word != "" {
			v.add("it names %s, and cannot be read as a command: %s", word, err)
		}
		return
	}
	list, assigned := script.Survey()
	for _, a := range assigned {
		v.variable(a.Text, "")
	}
	if name := assignsIfUnset.FindStringSubmatch(text); name != nil {
		v.variable(name[1], "")
	}
	s := survey{visit: v, list: list, text: text, kept: v.kept()}
	s.pathSet = slices.ContainsFunc(assigned, setsPath) || slices.ContainsFunc(list, func(c shell.Command) bool {
		return slices.Contains([]string{"export", "declare", "typeset"}, c.Name) && slices.ContainsFunc(c.Args, setsPath)
	})
	dir := v.dir
	for i := range list {
		v.dir = dir
		if at := list[i].Dir.Text; at != "" && at != "." {
			v.dir = v.absolute(at)
		}
		s.command(&list[i])
	}
	v.dir = dir
}

// assignsIfUnset is an expansion that assigns a variable of Tenet or of git.
var assignsIfUnset = regexp.MustCompile(`\$\{((?:TENET_|GIT_CONFIG)[A-Z0-9_]*):?=`)

func setsPath(w shell.Word) bool { return strings.HasPrefix(w.Text, "PATH=") }

// kept returns the files that a program with a known effect changes, and leaves as walls.
func (v *visit) kept() map[string]bool {
	kept := map[string]bool{}
	e := v.act.Effect
	if e == nil {
		return kept
	}
	certain := len(e.Unknown) == 0
	for i := range e.Files {
		f := &e.Files[i]
		if f.Mode || f.Kind != shell.Regular || len(f.Earlier) > 0 {
			continue
		}
		w, ok := v.wallAt(f.Path)
		if !ok {
			continue
		}
		if why := w.taken(v.Guard, f.Before, f.After, certain); why != "" {
			v.add("it may change %s (%s): %s", show(f.Path), w.what, why)
		} else if certain {
			for _, name := range append([]string{f.Path}, f.Names...) {
				kept[name] = true
			}
		}
	}
	return kept
}

// survey is the judgement of the commands of a program.
type survey struct {
	*visit

	list    []shell.Command
	text    string
	kept    map[string]bool
	pathSet bool
}

func (s *survey) command(c *shell.Command) {
	for _, e := range c.Env {
		s.variable(e.Text, c.Name)
	}
	for _, r := range c.Redirects {
		if strings.Contains(r.Op, ">") && r.Op != ">&" || r.Op == ">&" && strings.ContainsAny(r.Target.Text, "/.") {
			s.touch(r.Target.Text)
		}
	}
	args := texts(c.Args)
	s.tenet(c, args)
	s.agents(c.Name, args)
	s.requests(c, args)
	s.ends(c, args)
	switch {
	case c.Name == "git" || c.Name == "hub":
		s.git(args)
		s.patches(c, args)
		return
	case runners[c.Name] && len(args) > 0:
		runner(s, args)
	case c.Name == "read", c.Name == "mapfile", c.Name == "readarray", c.Name == "getopts", c.Name == "printf" && len(args) > 1 && args[0] == "-v":
		for _, a := range args {
			if strings.HasPrefix(a, "TENET_") || strings.HasPrefix(a, "GIT_CONFIG") {
				s.variable(a, "")
			}
		}
	case c.Name == "export", c.Name == "declare", c.Name == "typeset", c.Name == "readonly", c.Name == "env", c.Name == "unset", c.Name == "setx":
		s.environment(c.Name, args)
	case c.Name == "pre-commit", c.Name == "lefthook", c.Name == "husky", c.Name == "overcommit":
		if slices.Contains(args, "uninstall") || slices.Contains(args, "--uninstall") {
			s.add("it takes the hooks of %s out", c.Name)
		}
	case c.Name == "find", c.Name == "fd", c.Name == "fdfind":
		s.finds(c.Name, args)
		return
	}
	if interprets(c.Name) {
		s.patches(c, args)
		s.interpreter(c, args)
		return
	}
	s.script(c, args)
	if c.Name != "" && shell.Starts(c.Name) {
		s.unread(c, args)
		return
	}
	if reads(c.Name, args) {
		return
	}
	s.written(c, args)
	if c.Input != nil && !copies[c.Name] {
		if word := mentioned(c.Input.Text); word != "" {
			s.add("%s takes words that name %s, and its effect is not known", show(c.Name), word)
		}
	}
}

func texts(words []shell.Word) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = w.Text
	}
	return list
}

// written judges the files that a command names that may change them.
func (s *survey) written(c *shell.Command, args []string) {
	if strings.HasSuffix(c.Name, "sed") {
		for _, a := range args {
			if word := mentioned(a); word != "" && sedWrites.MatchString(a) {
				s.add("its program writes %s", word)
			}
		}
	}
	for _, name := range targets(c.Name, args) {
		s.touch(name)
		if slices.Contains(removes, c.Name) && len(s.found) == 0 {
			if at := s.holds(name); at != "" && !s.kept[s.absolute(name)] {
				s.add("it may change %s, which holds %s", show(name), show(at))
			}
		}
	}
	unknown := slices.ContainsFunc(args, func(a string) bool { return strings.ContainsAny(a, "$"+shell.Hole) })
	if unknown && slices.Contains(removes, c.Name) && len(s.found) == 0 {
		if word := wallName.FindString(s.text); word != "" {
			s.add("it names %s, and what %s changes is not known", show(word), c.Name)
		} else if w, ok := s.wallAt(s.dir); ok && !w.byContent {
			s.add("it may change files in %s (%s)", show(s.dir), w.what)
		}
	}
	// The names that xargs takes from another program are not known; those that the other program names are.
	if slices.Contains(c.Via, "xargs") || slices.Contains(c.Via, "parallel") || slices.ContainsFunc(args, func(a string) bool { return a == shell.Hole }) {
		for _, other := range s.list {
			if other.Name == c.Name || !sharesPipe(c, &other) && other.Into < 0 {
				continue
			}
			for _, a := range other.Args {
				if other.Name == "find" && guardedName(a.Text) != "" {
					s.add("it may change %s, which is the name of a wall", show(a.Text))
				} else if w, ok := s.wallAt(s.absolute(a.Text)); ok && !w.byContent {
					s.add("it may change %s (%s)", show(a.Text), w.what)
				}
			}
		}
	}
}

func sharesPipe(a, b *shell.Command) bool {
	return slices.ContainsFunc(a.Pipes, func(p shell.Pipe) bool {
		return slices.ContainsFunc(b.Pipes, func(q shell.Pipe) bool { return p.ID == q.ID })
	})
}

// Bounds of a pattern of files: the entries of its folder, and the files that match.
const (
	maxFolder  = 2000
	maxMatches = 200
)

// matches returns the files that a pattern names: in a folder that is known, all of them; in other folders, the walls.
func (s *survey) matches(full string) []string {
	if !strings.ContainsAny(full, "*?[") || strings.Contains(full, shell.Hole) {
		return nil
	}
	var list []string
	dir, last := filepath.Split(full)
	if strings.ContainsAny(dir, "*?[") {
		for _, standing := range s.walls() {
			if globbed(full, standing) {
				list = append(list, standing)
			}
		}
		return list
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()      // only read
	names, _ := f.Readdirnames(maxFolder) // those that can be read
	slices.Sort(names)
	for _, name := range names {
		if globbed(last, name) && len(list) < maxMatches {
			list = append(list, dir+name)
		}
	}
	return list
}

// touch judges a command that may change a file, or that moves or removes a folder. The name may be a pattern.
func (s *survey) touch(name string) {
	if name == "" || name == "-" || strings.HasPrefix(name, "/dev/") {
		return
	}
	for _, part := range []string{name, after(name, "="), after(name, ":")} { // of=FILE, host:FILE
		if part == "" {
			continue
		}
		for _, p := range s.spellings(part) {
			if s.kept[p] {
				continue
			}
			if w, ok := s.wallAt(p); ok {
				if why := w.taken(s.Guard, readFile(p), nil, false); why != "" {
					s.add("it may change %s (%s)", show(part), w.what)
					return
				}
			}
		}
	}
	full := s.absolute(name)
	for _, match := range s.matches(full) {
		if w, ok := s.wallAt(match); ok && w.taken(s.Guard, readFile(match), nil, false) != "" {
			s.add("it may change %s (%s)", show(match), w.what)
			return
		}
	}
	if strings.ContainsAny(full, "$"+shell.Hole) {
		if word := mentioned(name); word != "" {
			s.add("it may change %s, which names %s", show(name), word)
		}
	}
}

func after(text, sep string) string {
	_, rest, _ := strings.Cut(text, sep)
	return rest
}

// maxRead bounds the size of a file that is searched for lines of Tenet, in bytes.
const maxRead = 1 << 20

func readFile(name string) *string {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxRead {
		return nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	text := string(b)
	return &text
}

// removes are the programs that remove or move a folder with all below it.
var removes = []string{"rm", "mv", "rsync", "shred", "srm", "trash", "rmdir", "unlink", "chmod", "chown", "chattr", "gio", "trash-put", "del", "rimraf"}

// targets returns the arguments of a program that it may change.
func targets(name string, args []string) []string {
	var plain, list []string
	into := ""
	for i, a := range args {
		switch {
		case a == "-t" || a == "--target-directory" || a == "-C" || a == "--directory":
			if i+1 < len(args) {
				into = args[i+1]
			}
		case strings.HasPrefix(a, "--target-directory="):
			into = after(a, "=")
		case strings.HasPrefix(a, "-") && !strings.Contains(a, "/") && !strings.Contains(a, "="):
		default:
			plain = append(plain, a)
		}
	}
	switch name {
	case "cp", "install", "scp", "rsync":
		if into == "" && len(plain) > 0 {
			into, plain = plain[len(plain)-1], plain[:len(plain)-1]
		}
		list = append(list, into)
		for _, source := range plain { // a folder takes files under their own names
			list = append(list, into+"/"+filepath.Base(source))
		}
		return list
	case "mv", "ln":
		list = slices.Clone(plain)
		if into == "" && len(plain) > 1 {
			into = plain[len(plain)-1]
		}
		for _, source := range plain {
			if into != "" && source != into {
				list = append(list, into+"/"+filepath.Base(source))
			}
		}
		return append(list, into)
	}
	if into != "" {
		plain = append(plain, into)
	}
	return plain
}

// readers are the programs that change no file that they name.
var readers = words(`cat bat less more head tail tac nl grep egrep fgrep zgrep rg ag ack ls dir tree exa eza lsd stat file wc diff colordiff delta cmp comm md5sum sha1sum
	sha256sum sha512sum cksum b2sum shasum basename dirname realpath readlink test [ [[ echo printf true false : jq gron od hexdump strings cut fold column tr paste join
	which type whereis command du df cd pushd popd pwd mkdir source . let local set shift return exit wait sleep date whoami id uname hostname env printenv ps pgrep pidof
	lsof ncdu fzf code cursor windsurf open xdg-open tmux screen gh glab kill pkill killall systemctl service curl http wget`)

func words(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}

// reads reports whether a command changes no file that it names.
func reads(name string, args []string) bool {
	has := func(options ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(options, a) })
	}
	switch name {
	case "sed", "gsed":
		return !slices.ContainsFunc(args, func(a string) bool {
			return strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.Contains(a, "i") || strings.HasPrefix(a, "--in-place") || sedWrites.MatchString(a)
		})
	case "sort":
		return !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-o") || strings.HasPrefix(a, "--ou") })
	case "uniq", "xxd":
		return len(targets(name, args)) < 2
	case "yq":
		return !has("-i", "--inplace")
	case "tar", "bsdtar":
		return len(args) > 0 && (strings.Contains(strings.TrimPrefix(args[0], "-"), "c") || strings.Contains(strings.TrimPrefix(args[0], "-"), "t")) && !strings.Contains(args[0], "x")
	case "curl", "wget", "http":
		return !slices.ContainsFunc(args, func(a string) bool {
			return strings.HasPrefix(a, "-o") || strings.HasPrefix(a, "-O") || strings.HasPrefix(a, "--output")
		})
	}
	return readers[name]
}

var sedWrites = regexp.MustCompile(`(^|[;}/0-9gip\s])w\s+\S`)

// wallName are the names of walls in a path.
var wallName = regexp.MustCompile(`(?i)\.claude\b|\.cursor\b|\.codex\b|\.gemini\b|\.windsurf\b|\.codeium\b|\.github/hooks|\.copilot\b|\.git/hooks|\.githooks|\.husky|tenet\.ya?ml|\.tenet\b|\.mcp\.json`)

// mention are names of walls in a text of any language, and the words of ways around them.
var mention = regexp.MustCompile(`(?i)\.claude(\.json|["'\\/,)\s]+(hooks|settings))|managed-(settings|mcp)|\.cursor["'\\/,)\s]+(hooks|mcp|cli)|\.mcp\.json|\.codex["'\\/,)\s]+(hooks|config)|\.gemini["'\\/,)\s]+(settings|hooks)|` +
	`\.windsurf["'\\/,)\s]+(hooks|mcp)|\.codeium|\.github["'\\/,)\s]+hooks|\.copilot["'\\/]|\.git["'\\/,)\s]+(hooks|config|refs|head)|\.githooks|\.husky|lefthook|\.pre-commit-config|core\.hookspath|\.gitconfig|` +
	`\btenet\.ya?ml|\.tenet\b|disableallhooks|allowmanagedhooksonly|--no-veri|\btenet_[a-z]+\b|git_config_|--dangerously-(skip|bypass)|\btenet["',\s]+(hook["',\s]+(un)?install|waivers["',\s]+(add|approve)|policy["',\s]+set|rules["',\s]+(apply|import)|keys["',\s]+(create|revoke))|` +
	`/api/v1/(waivers|rules/import|keys)|claude_code_s(imple|afe_mode)`)

// mentioned returns the first name of a wall in a text; empty if it has none.
func mentioned(text string) string {
	if len(text) > maxRead {
		text = text[:maxRead]
	}
	return show(mention.FindString(text))
}
