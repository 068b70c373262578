package oracletest

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tenet/internal/rule"
)

// outcome is what a diff does when a tool applies it.
type outcome struct {
	by     string // the tool that applied it, or origin
	before []tree // more than one for a merge
	after  tree
	// sources are the files that the diff renames or copies, by their new paths.
	sources map[string][]string
}

// origin names the outcome that a diff was made of.
const origin = "its origin"

// newOutcome makes the outcome of a diff. Files that are gone may be the sources of all files that are new.
func newOutcome(by, diff string, before []tree, after tree) *outcome {
	o := &outcome{by: by, before: before, after: after, sources: sources(diff)}
	for _, from := range before[0].paths() {
		if _, remains := after[from]; remains {
			continue
		}
		for p := range after {
			if _, existed := before[0][p]; !existed {
				o.sources[p] = append(o.sources[p], from)
			}
		}
	}
	return o
}

var moveLine = regexp.MustCompile(`(?m)^(?:rename|copy) (from|to) (.*)$`)

// sources reads the renamings and copies that a diff names.
func sources(diff string) map[string][]string {
	found := map[string][]string{}
	from := ""
	for _, m := range moveLine.FindAllStringSubmatch(diff, -1) {
		name := m[2]
		if plain, err := strconv.Unquote(name); err == nil {
			name = plain
		}
		if m[1] == "from" {
			from = name
		} else {
			for _, to := range []string{name, strings.TrimSpace(name)} { // patch drops blanks at the end
				found[to] = append(found[to], from)
			}
		}
	}
	return found
}

// touched returns the paths within a domain that have other content or another mode than before.
func (o *outcome) touched(domain func(string) bool) (list []string) {
	for _, p := range o.after.paths() {
		if domain(p) && !slices.ContainsFunc(o.before, func(t tree) bool { return t[p] == o.after[p] }) {
			list = append(list, p)
		}
	}
	return list
}

// brings returns the first line that the change brings into a domain and that holds a word. A line that was in the file before, or
// in the file of the domain that it is moved or copied from, is not new there.
func (o *outcome) brings(domain func(string) bool, holds func(line string) bool) string {
	for _, p := range o.touched(domain) {
		old := map[string]bool{}
		for _, from := range append(o.sources[p], p) {
			if !domain(from) {
				continue
			}
			for _, t := range o.before {
				for _, line := range t[from].lines() {
					old[line] = true
				}
			}
		}
		for _, line := range o.after[p].lines() {
			if holds(line) && !old[line] {
				return strconv.Quote(p) + " gets " + strconv.Quote(line)
			}
		}
	}
	return ""
}

// creates returns the first path that exists after the change only, unless the diff moves or copies a file there. Tools that apply a change
// of a file that is not there make the file; that does not count.
func (o *outcome) creates() string {
	if o.by != origin {
		return ""
	}
	for _, p := range o.touched(everywhere) {
		if !slices.ContainsFunc(o.before, has(p)) && o.sources[p] == nil {
			return strconv.Quote(p) + " is new"
		}
	}
	return ""
}

// removes returns the first path that exists before the change only, unless the diff moves it away.
func (o *outcome) removes() string {
	moved := slices.Concat(slices.Collect(maps.Values(o.sources))...)
	for _, p := range o.before[0].paths() {
		there := !slices.ContainsFunc(o.before, func(t tree) bool { return !has(p)(t) })
		if there && !has(p)(o.after) && !slices.Contains(moved, p) && o.before[0][p].mode != gitMode {
			return strconv.Quote(p) + " is gone"
		}
	}
	return ""
}

// has returns whether a tree has a path.
func has(path string) func(tree) bool {
	return func(t tree) bool {
		_, ok := t[path]
		return ok
	}
}

func everywhere(string) bool { return true }

func inSrc(p string) bool { return strings.HasPrefix(p, "src/") }

func inSecret(p string) bool { return strings.HasPrefix(p, "secret/") }

func isPython(p string) bool { return path.Ext(p) == ".py" && !strings.HasPrefix(p, "vendor/") }

func holdsBad(line string) bool { return strings.Contains(line, bad) }

func holdsOdd(line string) bool { return strings.Contains(strings.ToLower(line), bad) }

// law is a rule with its definition by the outcome: breaks returns why the outcome breaks it, or nothing.
type law struct {
	rule   rule.Rule
	breaks func(o *outcome) string
}

func brings(domain, holds func(string) bool) func(*outcome) string {
	return func(o *outcome) string { return o.brings(domain, holds) }
}

// pattern makes a rule with a pattern.
func pattern(slug string, p rule.Pattern) rule.Rule {
	return rule.Rule{Slug: slug, Statement: "No forbidden calls.", Modality: rule.MustNot, Check: &rule.Check{Pattern: &p}}
}

// expression makes a rule with an expression and a guard, which may be empty.
func expression(slug, cel, when string) rule.Rule {
	return rule.Rule{Slug: slug, Statement: "Changes are in order.", Modality: rule.Must, Check: &rule.Check{CEL: cel, When: when}}
}

// within limits a rule to files.
func within(r rule.Rule, globs ...string) rule.Rule {
	r.AppliesTo = &rule.AppliesTo{Paths: globs}
	return r
}

// judged makes a rule for the model.
func judged(slug string) rule.Rule {
	return rule.Rule{Slug: slug, Statement: "Nobody calls " + slug + " functions.", Modality: rule.MustNot}
}

// laws are rules of every kind. Content breaks them by the forbidden word, so that every drawn change tries all of them.
var laws = []law{
	{pattern("PATTERN", rule.Pattern{Regex: `forbidden\(`}), brings(everywhere, holdsBad)},
	{pattern("PATTERN-FOLD", rule.Pattern{Regex: `(?i)forbidden\(`, Lines: rule.LinesAny}), brings(everywhere, holdsOdd)},
	{pattern("PATTERN-SRC", rule.Pattern{Regex: `forbidden\(`, Paths: []string{"src/**"}}), brings(inSrc, holdsBad)},
	{pattern("PATTERN-PY", rule.Pattern{Regex: `forbidden\(`, Paths: []string{"*.py"}, ExcludePaths: []string{"vendor/**"}}), brings(isPython, holdsBad)},
	{pattern("PATTERN-MULTI", rule.Pattern{Regex: `(?s)forbidden\(`, Multiline: true}), brings(everywhere, holdsBad)},
	{within(pattern("PATTERN-APPLIES", rule.Pattern{Regex: `forbidden\(`}), "src/**"), brings(inSrc, holdsBad)},

	{expression("CEL-TEXT", "diff.files.all(f, !f.added_text.contains('forbidden('))", ""), brings(everywhere, holdsBad)},
	{expression("CEL-ADDED", "diff.files.all(f, f.added.all(l, !l.text.contains('forbidden(')))", ""), brings(everywhere, holdsBad)},
	{expression("CEL-LINES", "!diff.files.exists(f, f.lines.exists(l, l.text.lowerAscii().contains('forbidden(')))", ""), brings(everywhere, holdsOdd)},
	{expression("CEL-SUBJECT", "!subject.text.contains('forbidden(')", ""), brings(everywhere, holdsBad)},
	{
		expression("CEL-SRC", "diff.files.filter(f, glob(f.path, 'src/**')).all(f, !f.added_text.contains('forbidden('))", "diff.files.exists(f, glob(f.path, 'src/**'))"),
		brings(inSrc, holdsBad),
	},
	{expression("CEL-WHEN", "false", "diff.files.exists(f, f.added_text.contains('forbidden('))"), brings(everywhere, holdsBad)},
	{within(expression("CEL-APPLIES", "diff.files.all(f, !f.added_text.contains('forbidden('))", ""), "src/**"), brings(inSrc, holdsBad)},
	{expression("CEL-PATH", "diff.files.all(f, !glob(f.path, 'secret/**'))", ""), touchesSecret},
	{within(expression("CEL-NEVER", "false", ""), "secret/**"), touchesSecret},
	{expression("CEL-CREATED", "diff.files.all(f, f.change != 'added')", ""), (*outcome).creates},
	{expression("CEL-DELETED", "!diff.files.exists(f, f.change == 'deleted')", ""), (*outcome).removes},

	{judged("JUDGED"), brings(everywhere, holdsBad)},
	{within(judged("JUDGED-SRC"), "src/**"), brings(inSrc, holdsBad)},
	{within(judged("JUDGED-PY"), "*.py"), brings(func(p string) bool { return path.Ext(p) == ".py" }, holdsBad)},
	{
		rule.Rule{
			Slug: "PATTERN-JUDGED", Statement: "Nobody calls such functions.", Modality: rule.MustNot,
			Check: &rule.Check{Pattern: &rule.Pattern{Regex: "never there"}, Decides: rule.DenyOnly},
		},
		brings(everywhere, holdsBad),
	},
}

func touchesSecret(o *outcome) string {
	if list := o.touched(inSecret); len(list) > 0 {
		return strconv.Quote(list[0]) + " is touched"
	}
	return ""
}
