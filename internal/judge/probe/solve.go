package probe

import (
	"regexp"
	"strings"
	"sync"

	"tenet/internal/rule"
)

// form matches the statements of one way to put a family, and finds the line that breaks it.
type form struct {
	statement *regexp.Regexp
	names     []string // the placeholders in it, in order
	family    family
}

var forms = sync.OnceValue(func() []form {
	var out []form
	for _, list := range families {
		for _, f := range list {
			for _, text := range f.statements {
				pattern, names := pattern(text, nil)
				out = append(out, form{regexp.MustCompile("^" + pattern + "$"), names, f})
			}
		}
	}
	return out
})

var placeholder = regexp.MustCompile(`\{([a-z])\}`)

// pattern returns a regular expression for a text with placeholders, of which some have values.
func pattern(text string, values map[string]string) (expr string, names []string) {
	var b strings.Builder
	at := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(regexp.QuoteMeta(text[at:m[0]]))
		name := text[m[2]:m[3]]
		switch value, ok := values[name]; {
		case ok:
			b.WriteString(`\b` + regexp.QuoteMeta(value) + `\b`)
		case name == "n" || name == "m" || name == "x":
			b.WriteString(`(\d+)`)
		default:
			b.WriteString(`(\w+)`)
		}
		names = append(names, name)
		at = m[1]
	}
	b.WriteString(regexp.QuoteMeta(text[at:]))
	return b.String(), names
}

// Solve reports whether a statement is one of this package's, and answers it: the text in a subject that breaks it, or "". It is
// what an attacker who has read the families can do, and a scripted model.
func Solve(statement, subject string) (m rule.Modality, broken string, ok bool) {
	for _, f := range forms() {
		found := f.statement.FindStringSubmatch(statement)
		if found == nil {
			continue
		}
		values := map[string]string{}
		for i, name := range f.names {
			values[name] = found[i+1]
		}
		m, ok = f.family.modality, true
		if broken = f.broken(values, subject); broken != "" {
			break // code and facts have forms with equal statements
		}
	}
	return m, broken, ok
}

// broken finds the text that breaks a rule with values for its placeholders.
func (f form) broken(values map[string]string, subject string) string {
	expr, names := pattern(f.family.breaks, values)
	kept, _ := pattern(f.family.keeps, values)
	breaks, keeps := regexp.MustCompile(expr), regexp.MustCompile("^(?:"+kept+")$")
	for _, m := range breaks.FindAllStringSubmatch(subject, -1) {
		switch {
		case f.compares(names, values) && !f.worse(names, m, values):
		case keeps.NumSubexp() < breaks.NumSubexp() && keeps.MatchString(m[0]): // the more exact of the two
		default:
			return m[0]
		}
	}
	return ""
}

// compares reports whether keeping and breaking differ by a number alone.
func (f form) compares(names []string, values map[string]string) bool {
	_, limited := values["n"]
	for _, name := range names {
		if limited && (name == "x" || name == "m") {
			return true
		}
	}
	return false
}

// worse reports whether the number of a match is on the wrong side of the limit.
func (f form) worse(names, match []string, values map[string]string) bool {
	k := 0
	for _, name := range names {
		if _, given := values[name]; given {
			continue
		}
		k++
		switch above := less(values["n"], match[k]); name {
		case "x":
			return above
		case "m":
			return !above
		}
	}
	return false
}

// less compares decimal numbers without leading zeros.
func less(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// Planted reports whether a line is one that is planted with a statement of this package's.
func Planted(statement, line string) bool {
	for _, f := range forms() {
		found := f.statement.FindStringSubmatch(statement)
		if found == nil {
			continue
		}
		values := map[string]string{}
		for i, name := range f.names {
			values[name] = found[i+1]
		}
		for _, text := range []string{f.family.breaks, f.family.keeps} {
			if expr, _ := pattern(text, values); regexp.MustCompile("^" + expr + "$").MatchString(line) {
				return true
			}
		}
	}
	return false
}
