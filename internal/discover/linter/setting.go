package linter

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// level is how a tool answers to a broken rule.
type level int

const (
	off level = iota
	warn
	fail
)

// tool is a linter or formatter.
type tool struct {
	name  string   // as people write it
	table string   // of its rules, and its tag
	paths []string // the files that it looks at
	// language is a tag too; empty if there are several.
	language string
	// formats is set for a formatter, which mends what it objects to.
	formats bool
	// silence is an expression for the comment that silences the tool on a line; empty if there is none.
	silence string
}

// setting is one rule of a tool that a settings file switches on.
type setting struct {
	key     string // name of the rule, as in the table
	value   string // the option that changes what it demands, if there is one
	level   level
	args    []*node // other options
	line    int
	end     int
	section string
	paths   []string // nil: all files of the tool
	exclude []string
	note    string
	// words replaces the statement of the table.
	words string
	class class
	// why goes before the remark on the line.
	why     string
	pattern *rule.Pattern
}

// Confidences: of the candidates found so in the settings of 14 public projects, the share that a reviewer approved, rounded
// down. docs/discovery-linters.md has the counts.
const (
	sureWorded  = 0.9 // a rule that the table knows, which fails the build
	sureWarned  = 0.8 // one that the tool only warns of
	sureFormat  = 0.7 // a matter of layout
	sureUnknown = 0.4 // a rule that the table does not know
)

// add makes a candidate of a setting.
func (p *page) add(t *tool, s setting) {
	if s.level == off {
		return
	}
	e, known := lookup(t.table, s.key, s.value)
	if s.words != "" {
		e, known = entry{class: s.class, statement: s.words}, true
	}
	if !known {
		e = entry{class: design, statement: fmt.Sprintf("Code must pass the check %q of %s.", cut(printable(s.key), 100), t.name)}
	}
	statement := cut(fill(e.statement, s.args), rule.MaxStatement)
	f := source.Found{
		Kind: source.LinterConfig, File: p.path, Line: s.line, Section: cut(printable(s.section), 200),
		Statement: statement, Modality: rule.Must, Severity: e.class.severity(s.level), Tags: tags(t, e.class),
		Method: method(t, s), Note: note(t, s, known), Rationale: s.why, Confidence: confidence(t, s, e, known),
	}
	f.Quote, f.EndLine = p.quote(s.line, s.end)
	if strings.Contains(statement, " must not ") || strings.HasPrefix(statement, "Never ") {
		f.Modality = rule.MustNot
	}
	if s.level == warn {
		f.Modality = rule.Should
		f.Statement = strings.Replace(statement, " must ", " should ", 1)
	}
	if remark := p.remark(s.line); remark != "" {
		f.Rationale = strings.TrimSpace(f.Rationale + " Remark in the settings: " + printable(remark))
	}
	f.AppliesTo = p.appliesTo(t, s)
	f.Check = checkOf(t, s, f.AppliesTo, statement)
	p.found = append(p.found, f)
}

func tags(t *tool, c class) []string {
	out := []string{t.table}
	for _, tag := range []string{t.language, string(c)} {
		if tag != "" && !slices.Contains(out, tag) {
			out = append(out, tag)
		}
	}
	return out
}

func method(t *tool, s setting) string {
	name := cut(printable(s.key), 100)
	if s.value != "" {
		name += " = " + cut(printable(s.value), 60)
	}
	how := "error"
	if s.level == warn {
		how = "warning"
	}
	return fmt.Sprintf("setting %s of %s, level %s", name, t.name, how)
}

func note(t *tool, s setting, known bool) string {
	enforces := t.name + " already enforces this wherever it runs."
	if t.formats {
		enforces = t.name + " already brings files into this form wherever it runs."
	}
	if !known {
		enforces += " The rule is not in our table, so the statement only names it: say in words what it demands before you approve it."
	}
	return strings.TrimSpace(enforces + " " + s.note)
}

func confidence(t *tool, s setting, e entry, known bool) float64 {
	switch {
	case !known:
		return sureUnknown
	case t.formats || e.class == layout:
		return sureFormat
	case s.level == warn:
		return sureWarned
	}
	return sureWorded
}

// appliesTo are the files of a tool below the folder of its settings, or those that the setting is for.
func (p *page) appliesTo(t *tool, s setting) *rule.AppliesTo {
	paths := s.paths
	if paths == nil {
		paths = t.paths
	}
	a := &rule.AppliesTo{}
	for _, g := range paths {
		a.Paths = append(a.Paths, p.usable(g))
	}
	for _, g := range s.exclude {
		a.ExcludePaths = append(a.ExcludePaths, p.usable(g))
	}
	a.Paths, a.ExcludePaths = labelled(a.Paths), labelled(a.ExcludePaths)
	if len(a.Paths) == 0 && p.dir != "." {
		a.Paths = labelled([]string{escapeGlob(p.dir) + "/**"})
	}
	if a.Empty() {
		return nil
	}
	return a
}

// usable is a glob from the root, or empty where a rule cannot have it.
func (p *page) usable(g string) string {
	if g == "" || g[0] == '!' {
		return ""
	}
	known, ok := p.globs[g]
	if !ok {
		known = p.glob(g)
		if _, err := subject.CompileGlobs([]string{known}); err != nil {
			known = ""
		}
		p.globs[g] = known
	}
	return known
}

// placeholder stands in a statement for an option: its name and what holds without it.
var placeholder = regexp.MustCompile(`\{([A-Za-z_-]+)=([^}]*)\}`)

// fill puts options into a statement. An option is a scalar, or the key of that name in a table.
func fill(statement string, args []*node) string {
	return placeholder.ReplaceAllStringFunc(statement, func(hole string) string {
		m := placeholder.FindStringSubmatch(hole)
		for _, a := range args {
			v := a
			if a != nil && a.form == table {
				v = a.get(m[1])
			}
			if v.scalar() && v.text != "" {
				return cut(printable(v.text), 80)
			}
			if all := v.strings(); len(all) > 0 {
				return cut(printable(strings.Join(all, ", ")), 200)
			}
		}
		return m[2]
	})
}

// option is a scalar option of a rule: itself, or the key of that name in a table; empty without one.
func option(args []*node, name string) string {
	return fill("{"+name+"=}", args)
}

// printable makes a line of a text.
func printable(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == ' ' || r == 0x7f }), " ")
}
