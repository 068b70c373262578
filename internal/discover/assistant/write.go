package assistant

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"tenet/internal/blocks"
	"tenet/internal/rule"
)

// Format is a form of instructions to assistants that rules are written in.
type Format string

// The formats.
const (
	AgentsMD Format = "agents.md" // AGENTS.md, which many assistants read
	ClaudeMD Format = "claude.md" // CLAUDE.md
	Cursor   Format = "cursor"    // .cursor/rules/*.mdc, one file for each set of globs
	Copilot  Format = "copilot"   // .github/copilot-instructions.md, and .github/instructions/*.instructions.md for each set of globs
)

// Formats are all formats, in the order they are shown in.
var Formats = []Format{AgentsMD, ClaudeMD, Cursor, Copilot}

// Write writes rules as instructions to an assistant, and returns the files by path, relative to the root of the repository.
// Reading them again finds the same rules: statement, modality, severity, scope, tags, applies_to, exceptions and
// rationale. The order of rules does not matter; equal rules give equal files. An error, of code invalid, comes for an unknown
// format only. Which rules are worth writing, such as those in force, is the caller's choice.
func Write(f Format, rules []rule.Rule) (map[string][]byte, error) {
	if !slices.Contains(Formats, f) {
		return nil, rule.Errorf(rule.CodeInvalid, "there is no format %q; use one of %s", string(f), rule.Names(Formats))
	}
	groups := map[string]*group{}
	for _, r := range ordered(rules) {
		globs := frontGlobs(f, r.AppliesTo)
		key := strings.Join(globs, ",")
		if groups[key] == nil {
			groups[key] = &group{globs: globs}
		}
		groups[key].rules = append(groups[key].rules, r)
	}
	files := make(map[string][]byte, len(groups))
	names := map[string]int{} // how many files have a name already
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		g := groups[key]
		name := nameFor(g.globs)
		if names[name]++; names[name] > 1 {
			name += fmt.Sprintf("_%d", names[name])
		}
		files[f.path(name)] = g.write(f)
	}
	return files, nil
}

// WriteWithin writes as Write does, with the most severe of the rules so that no file has more than so many bytes, and returns how many rules
// are left out, which the files say too. The error is invalid if not even one rule fits.
func WriteWithin(f Format, rules []rule.Rule, most int) (files map[string][]byte, left int, err error) {
	rules = slices.Clone(rules)
	slices.SortStableFunc(rules, func(a, b rule.Rule) int { return b.Severity.Rank() - a.Severity.Rank() })
	try := func(n int) (map[string][]byte, bool) {
		files, err = Write(f, rules[:n])
		fits := err == nil
		for path, content := range files {
			if n < len(rules) {
				content = fmt.Appendf(content, "\n<!-- Left out, because the file has a limit of %d bytes: %d of %d rules, the least severe. -->\n", most, len(rules)-n, len(rules))
				files[path] = content
			}
			fits = fits && len(content) <= most
		}
		return files, fits
	}
	files, fits := try(len(rules))
	if fits || err != nil {
		return files, 0, err
	}
	n := sort.Search(len(rules), func(n int) bool { _, fits := try(n + 1); return !fits }) // so many fit
	if err != nil {
		return nil, 0, err
	}
	if n == 0 {
		return nil, 0, rule.Errorf(rule.CodeInvalid, "not one rule fits into %d bytes", most)
	}
	files, _ = try(n)
	return files, len(rules) - n, err
}

// ordered returns normalized copies of rules by scope, severity (the most severe first), slug and statement.
func ordered(rules []rule.Rule) []*rule.Rule {
	out := make([]*rule.Rule, len(rules))
	for i := range rules {
		r := rules[i]
		r.Normalize()
		out[i] = &r
	}
	slices.SortStableFunc(out, func(a, b *rule.Rule) int {
		return cmp.Or(cmp.Compare(heading(a), heading(b)), b.Severity.Rank()-a.Severity.Rank(), cmp.Compare(a.Slug, b.Slug),
			cmp.Compare(a.Statement, b.Statement), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// group is the rules of one file.
type group struct {
	globs []string // what the front matter says; empty for all files
	rules []*rule.Rule
}

// frontGlobs returns the globs of a rule if the format can say them in the front matter of a file, so that they are read again as
// they are. Others, such as those with a comma in braces, go into the tag.
func frontGlobs(f Format, a *rule.AppliesTo) []string {
	if (f != Cursor && f != Copilot) || a == nil || len(a.Paths) == 0 || strings.ContainsAny(strings.Join(a.Paths, ""), "\r\n") {
		return nil
	}
	matter, _, _ := blocks.FrontMatter((&group{globs: a.Paths}).front(f))
	if m := readMatter(f.path(nameFor(a.Paths)), matter); !slices.Equal(m.paths, a.Paths) || len(m.exclude)+len(m.problems) > 0 {
		return nil
	}
	return a.Paths
}

// ownName is the name of the file with the rules for all files, without its ending.
const ownName = "tenet"

// path returns the file of a name, which [nameFor] gives.
func (f Format) path(name string) string {
	switch {
	case f == AgentsMD:
		return "AGENTS.md"
	case f == ClaudeMD:
		return "CLAUDE.md"
	case f == Cursor:
		return ".cursor/rules/" + name + ".mdc"
	case name == ownName:
		return ".github/copilot-instructions.md"
	}
	return ".github/instructions/" + name + ".instructions.md"
}

// maxReadable bounds the part of a file name that says which files the rules are for, in bytes.
const maxReadable = 60

// nameFor returns the name of the file for rules with these globs in the front matter, without its ending: src/**/*.py and web/** give
// tenet-src-py-web. Different globs may give one name.
func nameFor(globs []string) string {
	if len(globs) == 0 {
		return ownName
	}
	var b strings.Builder
	for part := range strings.FieldsFuncSeq(strings.ToLower(strings.Join(globs, " ")), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		if b.Len()+1+len(part) > maxReadable {
			break
		}
		b.WriteString("-" + part)
	}
	if b.Len() == 0 { // such as **/*
		b.WriteString("-files")
	}
	return ownName + b.String()
}

// front returns the front matter of a file.
func (g *group) front(f Format) string {
	list := strings.Join(g.globs, ",")
	switch {
	case f == Cursor && list == "":
		return "---\ndescription: Rules of this project\nalwaysApply: true\n---\n\n"
	case f == Cursor:
		return "---\ndescription: Rules for these files\nglobs: \"" + list + "\"\nalwaysApply: false\n---\n\n"
	case f == Copilot && list != "":
		return "---\napplyTo: \"" + list + "\"\n---\n\n"
	}
	return ""
}

// preamble explains the tags to people and assistants.
const preamble = "# Rules\n\n<!-- Written by `tenet rules export`: change the rules there. -->\n\n" +
	"The tag behind a rule tells how binding it is and how much a violation matters.\n"

// write writes the file, with a heading for each scope.
func (g *group) write(f Format) []byte {
	var b bytes.Buffer
	b.WriteString(g.front(f) + preamble)
	under := ""
	for _, r := range g.rules {
		if h := heading(r); h != under {
			under = h
			b.WriteString("\n## " + h + "\n\n")
		}
		b.WriteString(item(r, g.globs))
	}
	return b.Bytes()
}

// heading returns the heading of a rule: its scope, for people; the tag says it exactly.
func heading(r *rule.Rule) string {
	if len(r.Scope) == 0 {
		return "Everywhere"
	}
	return strings.Join(strings.Fields(strings.Join(r.Scope, ", ")), " ")
}

// item writes a rule as an item of a list. globs are those that the front matter says already.
func item(r *rule.Rule, globs []string) string {
	t := tag{modality: r.Modality, severity: r.Severity, slug: r.Slug, scope: r.Scope, tags: r.Tags}
	if a := r.AppliesTo; a != nil {
		t.exclude, t.repos, t.kinds, t.tools = a.ExcludePaths, a.Repositories, a.Kinds, a.Tools
		if len(globs) == 0 {
			t.paths = a.Paths
		}
	}
	var points strings.Builder
	for _, e := range r.Exceptions {
		points.WriteString("  - " + exceptMark + point(e) + "\n")
	}
	if r.Rationale != "" {
		points.WriteString("  - " + whyMark + point(r.Rationale) + "\n")
	}
	text := "- " + indent(r.Statement) + " " + t.String() + "\n"
	if !same(text, r.Statement) { // it has a shape that a list item cannot hold
		t.text = r.Statement
		text = "- " + strings.Join(strings.Fields(r.Statement), " ") + " " + t.String() + "\n"
	}
	return text + points.String()
}

// What the items below a rule begin with.
const (
	exceptMark = "Except: "
	whyMark    = "Why: "
)

// indent moves all lines but the first below the text of the item.
func indent(s string) string {
	lines := strings.Split(s, "\n")
	for i := 1; i < len(lines); i++ {
		if lines[i] != "" {
			lines[i] = "  " + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

// point writes the text of an item below a rule, which is one line.
func point(s string) string {
	if strings.HasPrefix(s, `"`) || quote(s) != `"`+s+`"` && strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '\u0085' }) {
		return quote(s)
	}
	return s
}

// same reports whether an item, read again, gives the statement.
func same(text, statement string) bool {
	found := taggedItems(splitLines(strings.TrimSuffix(text, "\n")))
	return len(found) == 1 && found[0].statement == statement
}
