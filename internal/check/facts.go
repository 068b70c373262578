package check

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"tenet/internal/rule"
)

// factNames are the names of the facts that a check reads.
type factNames struct {
	names []string // sorted, such as amount and payment.amount
	all   bool     // whether it also reads facts without naming them
}

// FactNames returns the names of the facts that the check reads by its expressions, such as amount and payment.amount, sorted; all is true
// if it also reads facts that it does not name, as facts.exists(k, ...) does. Patterns search the texts of all facts and name none.
func (p *Program) FactNames() (names []string, all bool) { return p.facts.names, p.facts.all }

// namesOf collects the names from the expressions of a check; nil ones have none.
func namesOf(list ...*expression) factNames {
	var out factNames
	for _, e := range list {
		if e == nil {
			continue
		}
		for _, read := range e.reads.facts {
			name := read.path.named().String()
			if name == "" {
				out.all = true
			} else if !slices.Contains(out.names, name) {
				out.names = append(out.names, name)
			}
		}
	}
	slices.Sort(out.names)
	return out
}

// named is the part of the path before the first index of a list.
func (p factPath) named() factPath {
	for i, step := range p {
		if _, isIndex := step.(int); isIndex {
			return p[:i]
		}
	}
	return p
}

// NamesIn returns the names of values in facts, in the form of [Program.FactNames] and in order: those of objects are the names of what
// is in them, except of empty ones; a list has one name. It returns at most most names.
func NamesIn(facts map[string]any, most int) []string {
	var out []string
	var walk func(path factPath, v any)
	walk = func(path factPath, v any) {
		if len(out) >= most {
			return
		}
		if m, ok := v.(map[string]any); ok && len(m) > 0 {
			for _, key := range slices.Sorted(maps.Keys(m)) {
				walk(append(path, key), m[key])
			}
			return
		}
		if len(path) > 0 {
			out = append(out, strings.Clone(path.String()))
		}
	}
	walk(nil, facts)
	return out
}

// factsNamed finds the names of facts in the text of an expression.
var factsNamed = regexp.MustCompile(`\bfacts((?:\.\??[A-Za-z_][A-Za-z0-9_]*)+)(\(?)`)

// FactsNamed returns the names of the facts that the text of a check gives, sorted, such as amount and payment.amount. It does not compile
// the check, so that thousands cost little; [Program.FactNames] is exact.
func FactsNamed(c *rule.Check) []string {
	if c == nil || !strings.Contains(c.When, "facts") && !strings.Contains(c.CEL, "facts") {
		return nil
	}
	var out []string
	for _, m := range factsNamed.FindAllStringSubmatch(c.When+"\n"+c.CEL, -1) {
		name := strings.ReplaceAll(m[1][1:], "?", "")
		if m[2] != "" { // what is called is a function: facts.name.size()
			name = name[:max(strings.LastIndexByte(name, '.'), 0)]
		}
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
