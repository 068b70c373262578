package linter

import (
	"slices"
	"strconv"
	"strings"

	"tenet/internal/rule"
)

// exact are checks for rules that a line alone breaks or keeps, by the statement's meaning rather than by the tool: the key is the
// name of the rule in any table. A hit is certain; whether the rule is kept without one, too, is what both says.
type exact struct {
	regex  string
	unless string
	both   bool
}

const (
	notComment = `^\s*(//|/?\*|#|--)`
	anyQuote   = "'\"`/*"
)

var patterns = map[string]exact{
	"eslint/no-debugger":                        {regex: `^\s*debugger\s*;?\s*$`, both: true},
	"eslint/no-var":                             {regex: `^\s*(export\s+)?var\s+[A-Za-z_$\[{]`, unless: notComment, both: true},
	"jshint/varstmt":                            {regex: `^\s*(export\s+)?var\s+[A-Za-z_$\[{]`, unless: notComment, both: true},
	"eslint/no-eval":                            {regex: `^[^` + anyQuote + `]*(^|[^.\w$])eval\s*\(`},
	"eslint/no-global-eval":                     {regex: `^[^` + anyQuote + `]*(^|[^.\w$])eval\s*\(`},
	"eslint/no-new-func":                        {regex: `^[^` + anyQuote + `]*\bnew\s+Function\s*\(`},
	"eslint/no-with":                            {regex: `^\s*with\s*\([^)]*\)\s*\{`, both: true},
	"eslint/no-trailing-spaces":                 {regex: `[ \t]+\r?$`, both: true},
	"eslint/no-tabs":                            {regex: `\t`, both: true},
	"eslint/jest/no-focused-tests":              {regex: `^\s*(describe|it|test)\.only\s*\(|^\s*f(describe|it)\s*\(`},
	"eslint/mocha/no-exclusive-tests":           {regex: `^\s*(describe|it|test|context)\.only\s*\(`},
	"eslint/no-focused-tests":                   {regex: `^\s*(describe|it|test)\.only\s*\(|^\s*f(describe|it)\s*\(`},
	"eslint/import/no-default-export":           {regex: `^\s*export\s+default\b`, both: true},
	"eslint/no-default-export":                  {regex: `^\s*export\s+default\b`, both: true},
	"eslint/@typescript-eslint/ban-ts-comment":  {regex: `^\s*(//|/\*)\s*@ts-(ignore|nocheck)\s*(\*/)?\s*$`},
	"eslint/@typescript-eslint/no-explicit-any": {regex: `^[^` + anyQuote + `]*[\w)\]?]\s*:\s*any\s*([;,)=\[{]|$)`},
	"eslint/no-explicit-any":                    {regex: `^[^` + anyQuote + `]*[\w)\]?]\s*:\s*any\s*([;,)=\[{]|$)`},
	"eslint/unicorn/prefer-node-protocol":       {regex: `^\s*import\s.*\bfrom\s+['"](fs|path|os|http|https|crypto|util|child_process|url|stream|events|assert|buffer|zlib)(/promises)?['"]\s*;?\s*$`},
	"eslint/use-nodejs-import-protocol":         {regex: `^\s*import\s.*\bfrom\s+['"](fs|path|os|http|https|crypto|util|child_process|url|stream|events|assert|buffer|zlib)(/promises)?['"]\s*;?\s*$`},
	"ruff/E722":                                 {regex: `^\s*except\s*:\s*(#.*)?$`, both: true},
	"ruff/F403":                                 {regex: `^\s*from\s+[\w.]+\s+import\s+\*\s*(#.*)?$`, both: true},
	"ruff/T201":                                 {regex: `^\s*print\(`},
	"ruff/T20":                                  {regex: `^\s*p?print\(`},
	"ruff/T10":                                  {regex: `^\s*(import\s+i?pdb|i?pdb\.set_trace\(\)|breakpoint\(\))\s*(#.*|;.*)?$`, both: true},
	"ruff/S602":                                 {regex: `^[^"'#]*\bsubprocess\.\w+\(.*\bshell\s*=\s*True\b`},
	"ruff/TID252":                               {regex: `^\s*from\s+\.\.[\w.]*\s+import\b`, both: true},
	"ruff/E711":                                 {regex: `^[^"'#]*\w\s*[=!]=\s*None\b`},
	"ruff/E101":                                 {regex: `^ *\t`, both: true},
	"ruff/W191":                                 {regex: `^ *\t`, both: true},
	"clippy/clippy::dbg_macro":                  {regex: `^[^"/]*\bdbg!\s*\(`},
	"clippy/clippy::todo":                       {regex: `^[^"/]*\btodo!\s*\(`},
	"clippy/clippy::unimplemented":              {regex: `^[^"/]*\bunimplemented!\s*\(`},
	"rubocop/Lint/Debugger":                     {regex: `^\s*(binding\.(pry|irb)|byebug|debugger)\s*$`},
	"rubocop/Layout/TrailingWhitespace":         {regex: `[ \t]+\r?$`, both: true},
	"rubocop/Security/Eval":                     {regex: `^\s*eval\s*\(`},
	"markdownlint/MD010":                        {regex: `\t`},
	"checkstyle/AvoidStarImport":                {regex: `^\s*import\s+[\w.]+\.\*\s*;`},
	"checkstyle/FileTabCharacter":               {regex: `\t`, both: true},
	"hadolint/DL3007":                           {regex: `^\s*FROM\s+\S+:latest\b`, both: true},
	"hadolint/DL3004":                           {regex: `^\s*RUN\s+sudo\b`},
	"editorconfig/trim_trailing_whitespace":     {regex: `[ \t]+$`, both: true},
	"yamllint/trailing-spaces":                  {regex: `[ \t]+\r?$`, both: true},
	"jshint/trailing":                           {regex: `[ \t]+\r?$`, both: true},
	"golangci/revive/dot-imports":               {regex: `^\s*(import\s+)?\.\s+"[^"]+"\s*$`, both: true},
	"pre-commit/check-merge-conflict":           {regex: `^(<<<<<<<|>>>>>>>) \S`, both: true},
	"pre-commit/detect-private-key":             {regex: `-----BEGIN ([A-Z]+ )?PRIVATE KEY-----`},
}

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
		e, ok := patterns[name]
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
	// A line that cannot be broken, such as one that holds an address, is what every tool lets pass in some way.
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
