package oracletest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sample is a diff that a tool wrote, with what it was made of.
type sample struct {
	how    string // the command
	diff   string
	before []tree
	after  tree
	// lossy marks a diff that leaves out changes, as of white space: only what applying it gives is its outcome.
	lossy bool
	// strips are the numbers of leading folders that a reader of this diff may strip.
	strips []string
}

// flagGroups are options of git diff; a drawn diff has one of each group or none.
var flagGroups = [][]string{
	{"-U0", "-U1", "-U20", "--function-context", "--inter-hunk-context=5"},
	{"--patience", "--minimal", "--histogram"},
	{"--no-prefix", "--src-prefix=x/ --dst-prefix=y/", "--src-prefix= --dst-prefix=b/", "--src-prefix=old/src/ --dst-prefix=new/src/", "--src-prefix=b/ --dst-prefix=a/", "--src-prefix=a/ --dst-prefix=a/"},
	{"-M", "-M20%", "-C", "-C --find-copies-harder", "-B", "-B -M", "--no-renames"},
	{"--binary", "--binary", "--text", "--text", "--full-index", "--abbrev=4", "-D"},
	{"-w", "-b", "--ignore-blank-lines", "--ignore-cr-at-eol"},
	{
		"--stat -p", "--raw -p", "--summary -p", "--color=always", "--word-diff", "--word-diff=porcelain", "--output-indicator-new=%", "--output-indicator-new= ",
		"--output-indicator-context=+", "--submodule=log", "--submodule=diff", "-z -p", "--line-prefix=>", "--ignore-submodules", "-R", "--ita-invisible-in-index",
	},
}

// settings are those of git that change its diffs.
var settings = []string{
	"core.quotePath=false", "diff.noprefix=true", "diff.mnemonicPrefix=true", "diff.suppressBlankEmpty=true", "diff.renames=copies", "diff.renames=false",
	"diff.submodule=log", "diff.algorithm=patience", "diff.context=0", "diff.interHunkContext=9", "color.ui=always", "diff.wsErrorHighlight=all", "diff.indentHeuristic=false",
}

// attributes are those of paths that change diffs.
var attributes = []string{
	"* -diff", "* binary", "* diff", "*.py -diff", "src/** binary", "*.py diff=python", "* text eol=crlf", "* working-tree-encoding=UTF-16",
}

// flags draws options and settings of git.
func (d drawer) flags() (config, flags []string) {
	for _, s := range settings {
		if d.one("setting", 24) {
			config = append(config, "-c", s)
		}
	}
	for _, group := range flagGroups {
		if d.one("group", 3) {
			flag := pick(d, "flag", group)
			if strings.HasSuffix(flag, "= ") || strings.HasPrefix(flag, "--line-prefix") {
				flags = append(flags, flag)
			} else {
				flags = append(flags, strings.Fields(flag)...)
			}
		}
	}
	return config, flags
}

// describe fills in what the options of a command mean for its diff.
func (s *sample) describe(args []string) {
	s.how = strings.Join(args, " ")
	s.lossy = slices.ContainsFunc(args, func(a string) bool {
		return a == "-w" || a == "-b" || strings.HasPrefix(a, "--ignore-")
	})
	s.strips = []string{"1"}
	prefixed := slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--src-prefix") })
	if slices.Contains(args, "--no-prefix") || slices.Contains(args, "diff.noprefix=true") && !prefixed {
		s.strips = append(s.strips, "0")
	}
	s.lossy = s.lossy || slices.Contains(args, "--src-prefix=old/src/") // readers strip one folder
	if slices.Contains(args, "-R") {
		s.before, s.after = []tree{s.after}, s.before[0]
	}
}

// sample draws the diff of one tool for a change.
func (d drawer) sample(r *repository, before, after tree) (*sample, error) {
	s := &sample{before: []tree{before}, after: after}
	old, err := r.commit(before, "before")
	if err != nil {
		return nil, err
	}
	subject := pick(d, "message", []string{"after", "after\n\n--- a/x\n+++ b/x\n", "after\n\ndiff --git a/x b/x\nold mode 100644\n", "after\n---\nnotes"})
	newer, err := r.commit(after, subject, old)
	if err != nil {
		return nil, err
	}
	attribute := ""
	if d.one("attributes", 4) {
		attribute = pick(d, "attribute", attributes) + "\n"
	}
	if err := r.attributes(attribute); err != nil {
		return nil, err
	}
	config, flags := d.flags()
	command := pick(d, "command", []string{"diff", "diff", "diff", "diff", "show", "log", "format-patch", "diff -r", "no-index", "merge"})
	var args []string
	switch command {
	case "diff", "show":
		args = slices.Concat(config, []string{command}, flags, []string{newer})
		if command == "diff" {
			args = slices.Concat(config, []string{command}, flags, []string{old, newer})
		}
	case "log":
		args = slices.Concat(config, []string{"log", "-p", "-1", pick(d, "format", []string{"--format=medium", "--format=email", "--format=raw", "--oneline", "--stat", "--format="})}, flags, []string{newer})
	case "format-patch":
		args = slices.Concat(config, []string{"format-patch", "--stdout", pick(d, "format", []string{"-k", "--attach", "--inline", "--no-stat", "--signature=x", "--base=" + old, "--numbered"})}, flags, []string{old + ".." + newer})
	case "merge":
		return s, d.merge(r, s, config, flags)
	default:
		return s, d.folders(r, s, command, config, flags)
	}
	s.describe(args)
	s.diff, err = r.git(args...)
	return s, err
}

// merge makes the combined diff of a merge of two changes.
func (d drawer) merge(r *repository, s *sample, config, flags []string) error {
	other := d.change(s.before[0])
	base, err := r.commit(s.before[0], "base")
	if err != nil {
		return err
	}
	var parents []string
	for _, t := range []tree{s.after, other} {
		id, err := r.commit(t, "side", base)
		if err != nil {
			return err
		}
		parents = append(parents, id)
	}
	s.before = []tree{s.after, other}
	s.after = d.change(s.after)
	merged, err := r.commit(s.after, "merge", parents...)
	if err != nil {
		return err
	}
	flags = withoutRenames(flags)
	kind := pick(d, "kind", [][]string{{"-c"}, {"--cc"}, {"-m"}, {"--first-parent"}, {"--cc", "--combined-all-paths"}})
	args := slices.Concat(config, []string{"show", "--no-renames"}, kind, flags, []string{merged})
	s.describe(args)
	if slices.Contains(args, "--first-parent") {
		s.before = s.before[:1]
	}
	s.strips = nil
	s.diff, err = r.git(args...)
	return err
}

// folderFlags are options of diff that show changed lines, and some that do not.
var folderFlags = []string{
	"-ru", "-ruN", "-ruNa", "-rU0", "-ruN --unidirectional-new-file", "-ruw", "-ruN --strip-trailing-cr", "-rup", "-rq", "-rc", "-r", "-rN",
}

// folderNames are pairs of folders that people compare.
var folderNames = [][]string{{"a", "b"}, {"x.orig", "x"}, {"old/src", "new/src"}, {"src", "src.new"}}

// folders makes the diff of two folders, which shows no submodules.
func (d drawer) folders(r *repository, s *sample, command string, config, flags []string) error {
	names := pick(d, "names", folderNames)
	s.before, s.after = []tree{withoutSubmodules(s.before[0])}, withoutSubmodules(s.after)
	if command == "no-index" {
		args := slices.Concat(config, []string{"diff", "--no-index", "--no-renames"}, withoutRenames(flags), names)
		s.describe(args)
		// With prefixes, or with folders of two names, a reader has to strip two folders to find the files.
		s.lossy = s.lossy || !slices.Contains(args, "--no-prefix") || strings.Contains(names[0], "/")
		return d.compare(r, s, "git", args, names)
	}
	args := slices.Concat([]string{"--no-dereference"}, strings.Fields(pick(d, "flags", folderFlags)), names)
	s.describe(args)
	// Readers strip one folder.
	s.lossy = s.lossy || slices.Contains(args, "-ruw") || slices.Contains(args, "--strip-trailing-cr") || strings.Contains(names[0], "/")
	for path, e := range s.after {
		if old, ok := s.before[0][path]; ok && e.mode != linkMode && old.mode != linkMode { // it shows no modes
			s.after[path] = entry{old.mode, e.data}
		}
	}
	if strings.Contains(args[1], "N") { // it takes an absent file for an empty one
		maps.DeleteFunc(s.before[0], func(_ string, e entry) bool { return e.data == "" })
		maps.DeleteFunc(s.after, func(_ string, e entry) bool { return e.data == "" })
	}
	return d.compare(r, s, "diff", args, names)
}

// compare writes two folders and runs a program that compares them.
func (d drawer) compare(r *repository, s *sample, program string, args, names []string) error {
	dir, err := r.folder()
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for i, t := range []tree{s.before[0], s.after} {
		if err := os.MkdirAll(filepath.Join(dir, names[i]), 0o750); err != nil {
			return err
		}
		if err := t.write(filepath.Join(dir, names[i])); err != nil {
			return err
		}
	}
	s.diff, err = r.run(dir, "", program, args...)
	return err
}

// withoutRenames returns options of git without those that find renamings and the one that reverses diffs.
func withoutRenames(flags []string) []string {
	return slices.DeleteFunc(slices.Clone(flags), func(f string) bool {
		return strings.HasPrefix(f, "-M") || strings.HasPrefix(f, "-C") || strings.HasPrefix(f, "-B") || f == "--find-copies-harder" || f == "-R"
	})
}

func withoutSubmodules(t tree) tree {
	rest := tree{}
	for path, e := range t {
		if e.mode != gitMode {
			rest[path] = e
		}
	}
	return rest
}
