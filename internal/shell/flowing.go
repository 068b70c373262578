package shell

import (
	"path"
	"slices"
	"strings"
)

// Program returns the name of the program of a command: the last part of its path, which may be known although the path is not, as in
// $HOME/bin/x. The name is empty if nothing is run, as by a redirection alone. It returns false if the name is not known, and for a
// command of PowerShell that may change something: it has other words for what it does, and its arguments are read in another way.
func (c *Command) Program() (string, bool) {
	if isCmdlet(c.Name) && !c.onlyShows() {
		return "", false
	}
	if c.Name != "" {
		return c.Name, true
	}
	if c.Path.Text == "" {
		return "", c.Known || len(c.Redirects) > 0 || c.Into >= 0
	}
	dir, base := path.Split(c.Path.Text)
	if c.Path.Known || dir == "" || strings.Contains(base, Hole) || strings.ContainsAny(base, "$*?[{~ ") {
		return "", false
	}
	return base, true
}

// isCmdlet reports whether a program has the name of a command of PowerShell, such as Remove-Item.
func isCmdlet(name string) bool {
	verb, noun, ok := strings.Cut(name, "-")
	if !ok || len(verb) < 2 || noun == "" {
		return false
	}
	for _, part := range []string{verb, noun} {
		if part[0] < 'A' || part[0] > 'Z' || strings.Trim(strings.ToLower(part), "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return true
}

// showingVerbs begin the names of commands of PowerShell that change nothing.
var showingVerbs = []string{"Get", "Select", "Where", "Measure", "Test", "Format", "Sort", "Group", "Compare", "ConvertTo", "ConvertFrom", "Resolve", "Split", "Join"}

// onlyShows reports whether a command of PowerShell changes nothing: by its verb, and without a block of commands among its arguments.
func (c *Command) onlyShows() bool {
	verb, _, _ := strings.Cut(c.Name, "-")
	return slices.Contains(showingVerbs, verb) && !slices.ContainsFunc(c.Args, func(a Word) bool { return strings.ContainsAny(a.Text, "{(`") })
}

// Settled reports whether the text of an argument may be read as what it means: its value is known, or its text begins with what is
// known, as in --tag=$TAG, or it is a pattern such as *.go. The rest of it is as in Text. An argument of which nothing is known at its beginning may be
// any option.
func (w Word) Settled() bool {
	if w.Known || w.Text == "" {
		return w.Known
	}
	rest, ok := strings.CutPrefix(w.Text, Hole)
	if !ok {
		if w.Text[0] != '$' {
			return true
		}
		rest = strings.TrimLeft(w.Text[1:], "{}_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
		switch strings.Trim(w.Text[1:len(w.Text)-len(rest)], "{}") {
		case "HOME", "PWD", "OLDPWD", "TMPDIR", "USER", "HOSTNAME", "LOGNAME":
			return true
		}
	}
	return rest != "" && strings.IndexByte("/:.@", rest[0]) >= 0
}

// Sources returns, for each command, the indexes of those whose output it reads: earlier stages of its pipelines, commands whose output is
// among its words, and the sources of these.
func Sources(list []Command) [][]int {
	direct := make([][]int, len(list))
	for i := range list {
		if into := list[i].Into; into >= 0 && into < len(list) && into != i {
			direct[into] = append(direct[into], i)
		}
	}
	// Commands of a pipeline are neighbours, so that the stages before a command begin shortly before it.
	starts := map[int]int{} // by pipeline
	for i := range list {
		for _, p := range list[i].Pipes {
			if _, ok := starts[p.ID]; !ok {
				starts[p.ID] = i
			}
		}
	}
	for i := range list {
		seen := map[int]bool{}
		for _, p := range list[i].Pipes {
			if p.Stage == 0 {
				continue
			}
			for j := starts[p.ID]; j < len(list) && len(seen) < maxSources; j++ {
				if j != i && !seen[j] && before(&list[j], p) {
					seen[j] = true
					direct[i] = append(direct[i], j)
				}
			}
		}
	}
	all := make([][]int, len(list))
	for i := range list {
		seen := map[int]bool{i: true}
		next := direct[i]
		for len(next) > 0 && len(all[i]) < maxSources {
			var further []int
			for _, j := range next {
				if !seen[j] {
					seen[j] = true
					all[i] = append(all[i], j)
					further = append(further, direct[j]...)
				}
			}
			next = further
		}
	}
	return all
}

// maxSources is the most commands that one reads from, roughly.
const maxSources = 50

// before reports whether a command is in an earlier stage of a pipeline.
func before(c *Command, p Pipe) bool {
	for _, q := range c.Pipes {
		if q.ID == p.ID {
			return q.Stage < p.Stage
		}
	}
	return false
}

// Paths returns the arguments that may be names of files, as absolute paths or relative to the folder in which the program begins, without
// detours such as a/../b; $HOME is ~. Of option=value and @file, the value and the file are among them.
func (c *Command) Paths() []string {
	var list []string
	for _, a := range c.Args {
		if !strings.HasPrefix(a.Text, "-") {
			list = append(list, c.Place(a.Text))
		}
		if at := strings.LastIndexAny(a.Text, "=@"); at >= 0 && at+1 < len(a.Text) {
			list = append(list, c.Place(a.Text[at+1:]))
		}
	}
	return list
}

// Place returns the path of a file that the command names.
func (c *Command) Place(name string) string {
	for _, home := range []string{"$HOME", "${HOME}", "~root", "~"} {
		if rest, ok := strings.CutPrefix(name, home); ok && (rest == "" || rest[0] == '/') {
			return strings.TrimSuffix(path.Join("~/", rest), "/")
		}
	}
	for _, pwd := range []string{"$PWD", "${PWD}"} {
		if rest, ok := strings.CutPrefix(name, pwd); ok && (rest == "" || rest[0] == '/') {
			name = "." + rest
		}
	}
	switch {
	case name == "":
		return ""
	case name[0] == '/' || name[0] == '$' || strings.HasPrefix(name, Hole) || strings.Contains(name, "://"):
		if strings.Contains(name, "://") {
			return name
		}
		return path.Clean(name)
	case strings.HasPrefix(c.Dir.Text, "~") || c.Dir.Known:
		return path.Join(c.Dir.Text, name)
	}
	return path.Clean(name)
}
