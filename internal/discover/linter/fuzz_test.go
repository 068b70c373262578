package linter_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"tenet/internal/check"
	"tenet/internal/discover/linter"
	"tenet/internal/discover/source"
)

// seeds are small files of every format, and the beginnings of hostile ones.
var seeds = map[string][]string{
	".eslintrc": {
		`{"rules": {"no-console": ["error", {"allow": ["warn"]}], "max-len": [2, 80]}, "overrides": [{"files": "*.ts", "rules": {"semi": 0}}]}`,
		"rules:\n  a: &a error\n  b: *a\n  <<: {c: 2}\n", "{" + strings.Repeat("[", 70), "a: |\n  b\n", "- ? - : x", "rules: !!map {a: 2}",
	},
	"eslint.config.js": {
		"const a = {x: 1}\nexport default [a, ...b, { rules: { 'x': ['warn', `y${z}`] } }] as const;", "module.exports = f({ rules: { a() { return /[/]'/ }, [b]: 2, c } })",
		"export default `${", "module.exports = 'a", "export default {a: b ? c : d, /*",
	},
	"pyproject.toml": {
		"[tool.ruff]\nselect = ['E', \"F\"]\nlint.per-file-ignores = {'a' = ['E']}\n[[tool.mypy]]\nstrict = true\n", "a = '''\nx'''\n[a]\n", "[tool.ruff.lint]\nselect = [", "a.b.c = 1979-05-27\n",
	},
	"setup.cfg": {"[flake8]\nselect =\n    E, F\nper-file-ignores = a.py:E501\n", "[x", "=\n:\n[]\n k = v"},
	".golangci.yml": {
		"linters:\n  enable: [errcheck, depguard]\n  settings:\n    depguard: {rules: {a: {deny: [{pkg: x, desc: y}]}}}\n    forbidigo: {forbid: ['^a\\.b$', {p: x}]}\n", "linters:\n  enable: {a: b}\n",
	},
	".editorconfig":      {"[*]\nindent_size = 4\n[{a,b}.{1..3}]\nmax_line_length = 99999999999999999999\n"},
	".rubocop.yml":       {"Style/Encoding:\n  EnforcedStyle: always\nA/B:\n- x\n"},
	"checkstyle.xml":     {"<module name='Checker'><module name='LineLength'><property name='max' value='100'/></module></module>", "<a:b xmlns:a='c'/>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"},
	"biome.json":         {`{"linter": {"rules": {"a": {"noVar": {"level": "warn", "options": {}}}}, "includes": ["!!x"]}, "formatter": {"indentWidth": 2}}`},
	"Cargo.toml":         {"[lints.clippy]\nall = { level = 'deny' }\n[workspace]\nlints = 1\n"},
	"clippy.toml":        {"disallowed-methods = ['a', {path = 'b'}]\ndisallowed-names = [1, '..']\n"},
	".markdownlint.json": {`{"default": true, "MD013": {"line_length": 80}, "md001": false}`},
	".stylelintrc":       {`{"rules": {"a": [["b"], {"severity": "warning"}], "c": null, "max-nesting-depth": 2}}`},
	".hadolint.yaml":     {"override:\n  error: [DL3000]\nlabel-schema: {a: text}\n"},
	".yamllint":          {"extends: default\nrules: {line-length: {max: 80, ignore: a}}\n"},
	".shellcheckrc":      {"enable=all\nseverity=warning\n"},
	"commitlint.config.js": {
		"module.exports = {rules: {'type-enum': [2, 'always', ['a']], 'x': [() => 1]}}",
	},
	".pre-commit-config.yaml": {"repos:\n- hooks:\n  - id: check-yaml\n  - x\n"},
	"tsconfig.json":           {`{"compilerOptions": {"strict": true}} x`},
	"package.json":            {`{"eslintConfig": {"rules": {}}, "prettier": "x", "stylelint": {"extends": ["a"]}}`},
}

// FuzzRead reads any bytes as a settings file of any format: it must not panic, and what it finds must be where it says and be
// fit for a rule.
func FuzzRead(f *testing.F) {
	for path, list := range seeds {
		for _, s := range list {
			f.Add(path, []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, path string, content []byte) {
		if len(content) > 1<<16 {
			return
		}
		found, _ := linter.New().Read(t.Context(), []source.File{{Path: path, Content: content}})
		lines := strings.Split(strings.TrimPrefix(string(content), "\xef\xbb\xbf"), "\n")
		for _, c := range found {
			switch {
			case c.Line < 1 || c.EndLine < c.Line || c.EndLine > len(lines):
				t.Fatalf("%s: lines %d to %d of %d", c.Statement, c.Line, c.EndLine, len(lines))
			case utf8.RuneCountInString(c.Quote) > 2000 || len(c.Quote) < 2000 && !strings.HasPrefix(c.Quote, strings.TrimRight(lines[c.Line-1], "\r")):
				t.Fatalf("%s: line %d is quoted as %q", c.Statement, c.Line, c.Quote)
			case c.Statement == "" || !utf8.ValidString(c.Statement) || c.Confidence <= 0 || c.Confidence > 1:
				t.Fatalf("statement %q with confidence %v", c.Statement, c.Confidence)
			}
			if c.Check != nil {
				if _, err := check.Compile(c.Check); err != nil {
					t.Fatalf("%s: %v", c.Statement, err)
				}
			}
		}
	})
}
