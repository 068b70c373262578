package code

import (
	_ "embed" // the table
	"slices"
	"strings"

	"tenet/internal/rule"
)

// convention is an answer that makes a rule when nearly all places give it.
type convention struct {
	question, choice string
	words            string // written with must; it becomes should where some place breaks it
	places           string // what was counted
	severity         rule.Severity
	tags             []string
	// paths are its files: nil for all of its language.
	paths   []string
	exclude []string
	// regex finds a line that breaks it with next to no false alarms; empty if none does. both says that a file without a hit
	// keeps the rule.
	regex  string
	unless string
	both   bool
}

func (c *convention) language() string {
	language, _, _ := strings.Cut(c.question, ".")
	if language == script {
		return "typescript"
	}
	return language
}

var globs = map[string][]string{
	golang: {"**/*.go"}, python: {"**/*.py"}, "typescript": {"**/*.{ts,tsx,mts,cts,js,jsx,mjs,cjs}"},
}

// Files of tests, where a convention is only about other code.
var (
	goTests     = []string{"**/*_test.go"}
	pythonTests = []string{"**/test_*.py", "**/*_test.py", "**/tests/**", "**/test/**", "**/conftest.py"}
	scriptTests = []string{"**/*.{test,spec}.*", "**/__tests__/**", "**/tests/**", "**/test/**", "**/e2e/**"}
)

func (c *convention) appliesTo(s *survey) *rule.AppliesTo {
	a := &rule.AppliesTo{Paths: c.paths, ExcludePaths: slices.Clone(c.exclude)}
	if a.Paths == nil {
		a.Paths = globs[c.language()]
	}
	if c.question == "go.print" {
		for dir := range s.mains {
			a.ExcludePaths = append(a.ExcludePaths, dir)
		}
		slices.Sort(a.ExcludePaths)
		if len(a.ExcludePaths) > rule.MaxListItems {
			a.ExcludePaths = a.ExcludePaths[:rule.MaxListItems]
		}
	}
	return a
}

func (c *convention) check(where *rule.AppliesTo, statement string) *rule.Check {
	if c.regex == "" || len(where.ExcludePaths) == rule.MaxListItems {
		return nil
	}
	decides := rule.DenyOnly
	if c.both {
		decides = rule.Both
	}
	return &rule.Check{Decides: decides, Message: statement, Pattern: &rule.Pattern{
		Regex: c.regex, Unless: c.unless, Paths: where.Paths, ExcludePaths: where.ExcludePaths, Lines: rule.LinesAdded,
	}}
}

// fileSets are the files that conventions.txt names.
var fileSets = map[string][]string{
	"go tests": goTests, "python tests": pythonTests, "script tests": scriptTests, "typescript": {"**/*.{ts,tsx,mts,cts}"},
	"jsx": {"**/*.{tsx,jsx}"},
}

//go:embed conventions.txt
var table string

// conventions holds the rows of conventions.txt in their order.
var conventions = readConventions(table)

// readConventions reads the table. It panics where a line is malformed.
func readConventions(content string) []convention {
	var all []convention
	for line := range strings.Lines(content) {
		line = strings.TrimRight(line, "\n")
		key, value, _ := strings.Cut(line, ": ")
		c := &convention{}
		if len(all) > 0 {
			c = &all[len(all)-1]
		}
		switch {
		case line == "", line[0] == '#':
		case line[0] == '[':
			name, about, _ := strings.Cut(line[1:], "] ")
			question, choice, _ := strings.Cut(name, " = ")
			words := strings.Fields(about)
			all = append(all, convention{question: question, choice: choice, severity: rule.Severity(words[0]), tags: words[1:]})
		case c.words == "":
			c.words = line
		case key == "counted":
			c.places = value
		case key == "in":
			c.paths = fileSets[value]
		case key == "not in":
			c.exclude = fileSets[value]
		case key == "broken by", key == "decided by":
			c.regex, c.both = value, key == "decided by"
		case key == "unless":
			c.unless = value
		default:
			panic("code: conventions.txt has the line " + line)
		}
	}
	return all
}
