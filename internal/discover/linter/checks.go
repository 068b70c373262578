package linter

import (
	_ "embed" // the table
	"slices"
	"strconv"
	"strings"
	"sync"

	"tenet/internal/rule"
)

// exact is a check for a rule that a line alone breaks or keeps, by the statement's meaning rather than by the tool: the key is the
// name of the rule in any table. A hit is certain; with both, a line without a hit keeps the rule.
type exact struct {
	regex  string
	unless string
	both   bool
}

//go:embed tables/checks.txt
var checks string

// patterns returns the checks by the names of their rules.
var patterns = sync.OnceValue(func() map[string]exact {
	all := map[string]exact{}
	for _, row := range rowsOf(checks) {
		names, rest, _ := strings.Cut(row, " ")
		what, regex, _ := strings.Cut(rest, " ")
		for name := range strings.SplitSeq(names, ",") {
			e := all[name]
			if what == "unless" {
				e.unless = regex
			} else {
				e.regex, e.both = regex, what == "both"
			}
			all[name] = e
		}
	}
	return all
})

// lengths are rules about the length of lines: the option that holds it.
var lengths = map[string]string{
	"eslint/max-len": "code", "editorconfig/max_line_length": "max_line_length", "ruff/E501": "line-length", "golangci/lll": "line-length",
	"markdownlint/MD013": "line_length", "checkstyle/LineLength": "max", "jshint/maxlen": "n", "rubocop/Layout/LineLength": "Max",
	"python/flake8.max-line-length": "max-line-length", "yamllint/line-length": "max",
}

// maxRepeat is the longest repetition that an RE2 expression may have.
const maxRepeat = 1000

// checkOf makes the check of a setting, where a pattern can decide it with next to no false alarms; nil otherwise.
func checkOf(t *tool, s setting, where *rule.AppliesTo, statement string) *rule.Check {
	pattern, both := s.pattern, true
	if pattern == nil {
		name := t.table + "/" + s.key
		e, ok := patterns()[name]
		switch {
		case ok:
		case lengths[name] != "":
			e, ok = lengthOf(s.args, lengths[name])
		case name == "eslint/no-console":
			e, ok = consoleOf(s.args), true
		}
		if !ok {
			return nil
		}
		if name == "editorconfig/trim_trailing_whitespace" && s.value != "true" {
			return nil
		}
		pattern, both = &rule.Pattern{Regex: e.regex, Unless: e.unless}, e.both
	}
	c := &rule.Check{Pattern: pattern, Decides: rule.Both, Message: statement}
	if !both {
		c.Decides = rule.DenyOnly
	}
	c.Pattern.Lines = rule.LinesAdded
	switch {
	case t.silence != "" && pattern.Unless != "":
		pattern.Unless += "|" + t.silence
	case t.silence != "":
		pattern.Unless = t.silence
	}
	if where != nil {
		pattern.Paths, pattern.ExcludePaths = where.Paths, where.ExcludePaths
	}
	if len(pattern.Paths) == 0 {
		pattern.Paths = []string{"**"} // files only, not actions and facts
	}
	return c
}

func lengthOf(args []*node, name string) (exact, bool) {
	n, err := strconv.Atoi(option(args, name))
	if err != nil || n < 20 || n >= maxRepeat {
		return exact{}, false
	}
	// Every tool lets a line pass that cannot be broken, such as one that holds an address.
	return exact{regex: "^.{" + strconv.Itoa(n+1) + "}", unless: `https?://`, both: true}, true
}

// consoleOf looks for calls of the console that the options do not allow.
func consoleOf(args []*node) exact {
	var allowed []string
	for _, a := range args {
		allowed = append(allowed, a.get("allow").strings()...)
	}
	methods := slices.DeleteFunc([]string{"log", "debug", "info", "warn", "error", "trace", "table", "dir"}, func(m string) bool {
		return slices.Contains(allowed, m)
	})
	return exact{regex: `^\s*console\.(` + strings.Join(methods, "|") + `)\s*\(`}
}
