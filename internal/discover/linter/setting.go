package linter

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/text"
	"tenet/internal/wire"
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
	// language is a tag too; empty for several.
	language string
	// formats is set for a formatter, which mends what it objects to.
	formats bool
	// silence is an expression for the comment that silences the tool on a line; empty for a tool without such a comment.
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
	set     bool // it names a whole set of rules
	// words replaces the statement of the table.
	words string
	class class
	// why goes before the remark on the line.
	why     string
	pattern *rule.Pattern
}

// Confidences. They are below the shares of candidates that were approved when those from 14 public projects were read one by
// one; docs/discovery-linters.md has the counts and says why.
const (
	sureWorded  = 0.9 // a rule that the table knows, which fails the build
	sureWarned  = 0.8 // one that the tool only warns of
	sureFormat  = 0.7 // a matter of layout
	sureVague   = 0.4 // a set of rules as a whole, or one whose statement leaves open what was agreed
	sureUnknown = 0.3 // a rule that the table does not know
)

// add makes a candidate of a setting.
func (p *page) add(t *tool, s setting) {
	if s.level == off {
		return
	}
	e, listed := lookup(t.table, s.key, s.value)
	if s.words != "" {
		e, listed = entry{class: s.class, statement: s.words}, true
	}
	vague := listed && (s.set || leavesOpen.MatchString(fill(e.statement, s.args)))
	if !listed {
		e = entry{class: design, statement: fmt.Sprintf("Code must pass the check %q of %s.", brief(s.key, 100), t.name)}
	}
	statement := text.FitRunes(fill(e.statement, s.args), rule.MaxStatement, "…")
	f := source.Found{
		Kind: wire.LinterConfig, File: p.path, Line: s.line, Section: brief(s.section, 200),
		Statement: statement, Modality: rule.Must, Severity: e.class.severity(s.level), Tags: tags(t, e.class),
		Method: method(t, s), Note: note(t, s, listed, vague), Rationale: s.why, Confidence: confidence(t, s, e, listed, vague),
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
	if len(s.paths) > 0 && len(p.usableAll(s.paths)) == 0 {
		f.Note += " It is for files that no glob of a rule can name, so it is proposed for all: " + brief(strings.Join(s.paths, ", "), 300) + "."
	}
	f.Check = checkOf(t, s, f.AppliesTo, statement)
	p.found = append(p.found, f)
}

// value adds a setting whose value is an option, if the table has its key and the value is not off.
func (p *page) value(t *tool, key string, s pair, section string) {
	if exact, plain := inTable(t.table, key, s.value); (exact || plain) && !s.value.off() {
		p.add(t, setting{key: key, value: s.value.scalarText(), args: []*node{s.value}, level: fail, line: s.line, end: s.last(), section: section})
	}
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
	name := brief(s.key, 100)
	if s.value != "" {
		name += " = " + brief(s.value, 60)
	}
	how := "error"
	if s.level == warn {
		how = "warning"
	}
	return fmt.Sprintf("setting %s of %s, level %s", name, t.name, how)
}

func note(t *tool, s setting, listed, vague bool) string {
	enforces := t.name + " already enforces this wherever it runs."
	if t.formats {
		enforces = t.name + " already brings files into this form wherever it runs."
	}
	if !listed {
		enforces += " The rule is not in our table, so the statement only names it: say in words what it demands before you approve it."
	}
	switch {
	case s.set:
		enforces += " What the set demands is not written here: approve it only if you want it as a whole."
	case vague:
		enforces += " The statement leaves open what was agreed: add it from the settings before you approve it."
	}
	return strings.TrimSpace(enforces + " " + s.note)
}

func confidence(t *tool, s setting, e entry, listed, vague bool) float64 {
	switch {
	case !listed:
		return sureUnknown
	case vague:
		return sureVague
	case t.formats || e.class == layout:
		return sureFormat
	case s.level == warn:
		return sureWarned
	}
	return sureWorded
}

// appliesTo returns the files of a tool below the folder of its settings, or those that the setting is for.
func (p *page) appliesTo(t *tool, s setting) *rule.AppliesTo {
	a := &rule.AppliesTo{Paths: p.usableAll(s.paths), ExcludePaths: p.usableAll(s.exclude)}
	if len(a.Paths) == 0 {
		a.Paths = p.usableAll(t.paths)
	}
	if len(a.Paths) == 0 && p.dir != "." {
		a.Paths = labelled([]string{escapeGlob(p.dir) + "/**"})
	}
	if a.Empty() {
		return nil
	}
	return a
}

// usableAll returns the globs of a list that a rule can have.
func (p *page) usableAll(globs []string) []string {
	var out []string
	for _, g := range globs {
		out = append(out, p.usable(g))
	}
	return labelled(out)
}

// usable returns a glob from the root, or empty where a rule cannot have it.
func (p *page) usable(g string) string {
	if g == "" || g[0] == '!' {
		return ""
	}
	full, ok := p.globs[g]
	if !ok {
		full = p.glob(g)
		if _, err := subject.CompileGlobs([]string{full}); err != nil {
			full = ""
		}
		p.globs[g] = full
	}
	return full
}

// leavesOpen finds statements that are whole only with what the project agreed.
var leavesOpen = regexp.MustCompile(`\bagreed\b|\bthe (project|company) (allows|forbids|requires|restricts|lists|blocks|disallows|bans|trusts|agreed)|the (checks of gocritic|rules of revive)`)

// placeholder finds an option in a statement: its name and the text that holds without it.
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
				return brief(v.text, 80)
			}
			if all := v.strings(); len(all) > 0 {
				return brief(strings.Join(all, ", "), 200)
			}
		}
		return m[2]
	})
}

// option returns a scalar option of a rule: itself, or the key of that name in a table; empty without one.
func option(args []*node, name string) string {
	return fill("{"+name+"=}", args)
}

// switchedOff returns the note on a set without some of its rules; empty if it has them all.
func switchedOff(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "Switched off in the same file: " + brief(strings.Join(names, ", "), 300) + "."
}

// brief returns a text on one line, cut to n characters.
func brief(s string, n int) string { return text.FitRunes(printable(s), n, "…") }

// printable makes a line of a text.
func printable(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == ' ' || r == 0x7f }), " ")
}
