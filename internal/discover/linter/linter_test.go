package linter_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/check"
	"tenet/internal/discover/linter"
	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// read reads one settings file; a problem ends the test.
func read(t *testing.T, path, content string) []source.Found {
	t.Helper()
	r := linter.New()
	if !r.Reads(path) {
		t.Fatalf("%s is not taken for settings", path)
	}
	found, problems := r.Read(t.Context(), []source.File{{Path: path, Content: []byte(content)}})
	if len(problems) > 0 {
		t.Fatalf("%s: %v", path, problems)
	}
	return found
}

// said is what matters of a candidate, in one line: line, modality, severity, statement.
func said(found []source.Found) []string {
	var out []string
	for _, f := range found {
		out = append(out, fmt.Sprintf("%02d %s %s %s", f.Line, f.Modality, f.Severity, f.Statement))
	}
	return out
}

func TestFormats(t *testing.T) {
	for _, tc := range []struct {
		name, path, content string
		want                []string
	}{
		{"eslint in JSON with comments", ".eslintrc.json", `{
  // why
  "extends": "airbnb",
  "rules": {
    "eqeqeq": "warn",
    "no-console": ["error", {"allow": ["warn"]}],
    "no-eval": 2,
    "semi": "off",
    "no-unheard-of": "error",
  },
}`, []string{
			"03 MUST MEDIUM Code must pass the rule set airbnb of ESLint.",
			"05 SHOULD MEDIUM Code should compare with === and !==, never with == and !=.",
			"06 MUST_NOT MEDIUM Code must not write to the console.",
			"07 MUST_NOT HIGH Code must not call eval.",
			`09 MUST MEDIUM Code must pass the check "no-unheard-of" of ESLint.`,
		}},
		{"eslint in YAML with an alias", ".eslintrc", "rules:\n  no-var: &level error\n  max-len:\n    - *level\n    - code: 100\n  quotes: [error, single]\n", []string{
			"02 MUST HIGH Variables must be declared with let or const, never with var.",
			"03 MUST LOW Lines must have at most 100 characters.",
			"06 MUST LOW Strings must be in single quotes.",
		}},
		{"eslint in flat form", "eslint.config.mjs", `import js from "@eslint/js";
const own = { "prefer-const": "error" };
/* a brace { in a comment */
export default defineConfig([
  js.configs.recommended,
  {
    files: ["**/*.ts"],
    plugins: { a: plugin({ x: /["'{]/ }) },
    rules: { ...own,
      'max-params': ["error", 4], // more are an object
      "@typescript-eslint/no-explicit-any": "error",
    },
  },
  { files: ["**/*.test.ts"], rules: { "max-params": "off" } },
]);`, []string{
			"05 MUST MEDIUM Code must pass the rule set js.configs.recommended of ESLint.",
			"10 MUST MEDIUM A function must take at most 4 parameters.",
			"11 MUST_NOT HIGH Code must not use the type any.",
		}},
		{"a named export", "eslint.config.js", "const config = [\n  { rules: { 'no-debugger': 'error' } },\n]\n\nmodule.exports = config\n", []string{
			"02 MUST_NOT HIGH Code must not contain debugger statements.",
		}},
		{"ruff", "ruff.toml", "line-length = 100\n[lint]\nselect = [\"E7\", \"T201\",\n  \"SIM102\"]\nignore = [\"E722\"]\n[lint.per-file-ignores]\n\"cli.py\" = [\"T20\"]\n[lint.flake8-tidy-imports.banned-api]\n\"cgi\".msg = \"gone in 3.13\"\n", []string{
			"01 MUST LOW Lines must have at most 100 characters.",
			"03 MUST HIGH Statements must keep PEP 8: no bare except, no comparison with None by ==, no lambda that is given a name.",
			"03 MUST_NOT MEDIUM Code must not call print.",
			"04 MUST MEDIUM Nested ifs that one condition can express must be one.",
			"09 MUST_NOT MEDIUM Code must not use cgi.",
		}},
		{"pyproject", "pyproject.toml", "[project]\nname = \"x\"\n[tool.black]\nline-length = 99\n[tool.mypy]\nstrict = true\nwarn_return_any = false\n[tool.coverage.report]\nfail_under = 90\n", []string{
			"03 MUST LOW Python code must be formatted as Black does it.",
			"04 MUST LOW Lines must have at most 99 characters.",
			"06 MUST HIGH Python code must pass the strict checks of mypy.",
			"09 MUST MEDIUM Tests must cover at least 90 % of the code.",
		}},
		{"setup.cfg", "setup.cfg", "[metadata]\nname = x\n[flake8]\nmax-line-length = 88 ; wide\nselect = B9,\n    E722\n", []string{
			"04 MUST LOW Lines must have at most 88 characters.",
			"05 MUST HIGH Code must keep the opinionated checks of flake8-bugbear, such as raising from within except with from.",
			"06 MUST_NOT HIGH Code must not catch exceptions with a bare except.",
		}},
		{"golangci 2", ".golangci.yml", `version: "2"
linters:
  default: none
  enable:
    - bodyclose # an open body leaks
    - depguard
    - errcheck
    - revive
  settings:
    depguard:
      rules:
        main:
          files: ["!$test"]
          deny:
            - pkg: io/ioutil
              desc: use io and os
            - pkg: log$
    revive:
      rules:
        - name: dot-imports
        - name: exported
          disabled: true
    lll:
      line-length: 80
  exclusions:
    rules:
      - path: _test\.go
        linters: [errcheck]
`, []string{
			"05 MUST HIGH Bodies of HTTP responses must be closed.",
			"07 MUST HIGH Returned errors must be checked.",
			"08 MUST MEDIUM Go code must pass the rules of revive.",
			"15 MUST_NOT MEDIUM Code must not import io/ioutil or what is below it.",
			"17 MUST_NOT MEDIUM Code must not import log.",
			"20 MUST_NOT MEDIUM Packages must not be imported with a dot.",
		}},
		{"golangci 1", ".golangci.yaml", "linters:\n  disable-all: true\n  enable: [lll, forbidigo]\nlinters-settings:\n  lll:\n    line-length: 140\n  forbidigo:\n    forbid:\n      - 'fmt\\.Errorf(# use errors\\.Wrap instead)?'\n", []string{
			"03 MUST LOW Lines must have at most 140 characters.",
			"09 MUST_NOT MEDIUM Code must not use fmt.Errorf.",
		}},
		{"rubocop", ".rubocop.yml", "AllCops:\n  TargetRubyVersion: 3.2\nStyle/StringLiterals:\n  EnforcedStyle: double_quotes\nMetrics/MethodLength:\n  Max: 15\n  Severity: warning\nLint/Debugger:\n  Enabled: false\nStyle/Documentation:\n  Exclude: [spec/**]\n", []string{
			"02 MUST MEDIUM Code must run on Ruby 3.2.",
			"03 MUST LOW Strings must be in double quotes.",
			"05 SHOULD LOW A method should have at most 15 lines.",
		}},
		{"editorconfig", ".editorconfig", "root = true\n[*]\nindent_style = space\ntrim_trailing_whitespace = true\nindent_size = tab\n[*.md]\ntrim_trailing_whitespace = false\n", []string{
			"03 MUST LOW Files must be indented with spaces.",
			"04 MUST_NOT LOW Lines must not end with white space.",
		}},
		{"tsconfig", "web/tsconfig.build.json", "{\"compilerOptions\": {\n\"strict\": true, \"target\": \"ES2022\",\n\"noImplicitAny\": false, \"allowUnreachableCode\": false}}", []string{
			"02 MUST HIGH TypeScript code must pass all strict checks of the compiler.",
			"03 MUST_NOT HIGH Code must not contain statements that are never reached.",
		}},
		{"prettier", ".prettierrc", "singleQuote: true\nprintWidth: 100\nplugins: [x]\n", []string{
			"01 MUST LOW Strings must be in single quotes.",
			"02 MUST LOW Lines must be wrapped at 100 characters.",
		}},
		{"package.json", "package.json", `{"name": "x", "version": "1.0.0",
"prettier": {"semi": false},
"eslintConfig": {"rules": {"no-eval": "error"}}}`, []string{
			"02 MUST_NOT LOW Statements must not end with a semicolon.",
			"03 MUST_NOT HIGH Code must not call eval.",
		}},
		{"biome", "biome.json", `{"linter": {"rules": {"recommended": false,
"suspicious": {"noDebugger": "error",
"noVar": {"level": "warn"}, "noExplicitAny": "off"}}},
"javascript": {"formatter": {"quoteStyle": "double"}}}`, []string{
			"02 MUST_NOT HIGH Code must not contain debugger statements.",
			"03 SHOULD MEDIUM Variables should be declared with let or const, never with var.",
			"04 MUST LOW Strings must be in double quotes.",
		}},
		{"oxlint", ".oxlintrc.json", `{"categories": {"correctness": "error", "style": "off"},
"rules": {"typescript/no-explicit-any": "warn"}}`, []string{
			"01 MUST MEDIUM Code must pass the rules of the category correctness of Oxlint.",
			"02 SHOULD MEDIUM Code should not use the type any.",
		}},
		{"clippy", "clippy.toml", "too-many-lines-threshold = 80\ndisallowed-methods = [\n  { path = \"std::env::var\", reason = \"read the settings\" },\n]\n", []string{
			"01 MUST MEDIUM A function must have at most 80 lines.",
			"03 MUST_NOT MEDIUM Code must not call std::env::var.",
		}},
		{"Cargo.toml", "Cargo.toml", "[package]\nname = \"x\"\n[workspace.lints.rust]\nunsafe_code = \"forbid\"\n[workspace.lints.clippy]\nunwrap_used = { level = \"warn\", priority = 1 }\ntodo = \"allow\"\n", []string{
			"04 MUST_NOT HIGH Code must not contain unsafe blocks.",
			"06 SHOULD MEDIUM Code should not call unwrap on options and results.",
		}},
		{"markdownlint", ".markdownlint.yaml", "default: true\nMD013: false\nMD033:\n  allowed_elements: [br, kbd]\nno-hard-tabs: true\n", []string{
			"01 MUST LOW Markdown files must pass the default rules of markdownlint.",
			"03 MUST_NOT LOW Markdown files must not contain HTML, except for the elements: br, kbd.",
			"05 MUST_NOT LOW Files must not contain tabs.",
		}},
		{"stylelint", ".stylelintrc.json", `{"rules": {"color-no-hex": true,
"max-nesting-depth": [2, {"severity": "warning"}],
"unit-disallowed-list": ["px", "pt"], "color-named": null}}`, []string{
			"01 MUST_NOT MEDIUM Colours must not be given in hex.",
			"02 SHOULD LOW Blocks should be nested at most 2 deep.",
			"03 MUST_NOT MEDIUM Values must not have the units px, pt.",
		}},
		{"checkstyle", "config/checkstyle.xml", `<?xml version="1.0"?>
<!DOCTYPE module PUBLIC "-//Checkstyle//DTD Checkstyle Configuration 1.3//EN" "https://checkstyle.org/dtds/configuration_1_3.dtd">
<module name="Checker">
  <property name="severity" value="error"/>
  <module name="TreeWalker">
    <module name="AvoidStarImport"/>
    <module name="MethodLength"><property name="max" value="60"/><property name="severity" value="warning"/></module>
    <module name="MagicNumber"><property name="severity" value="ignore"/></module>
  </module>
</module>`, []string{
			"06 MUST_NOT MEDIUM Imports must not use *.",
			"07 SHOULD LOW A method should have at most 60 lines.",
		}},
		{"hadolint", ".hadolint.yaml", "ignored: [DL3008]\ntrustedRegistries:\n  - docker.io\noverride:\n  error: [DL3007, DL3008]\n  info:\n    - DL3059\n", []string{
			"02 MUST HIGH Images must come only from the registries docker.io.",
			"05 MUST_NOT HIGH Base images must not have the tag latest.",
			"07 SHOULD LOW Consecutive RUN instructions should be joined.",
		}},
		{"commitlint", "commitlint.config.js", "module.exports = {\n  extends: ['@commitlint/config-conventional'],\n  rules: {\n    'subject-full-stop': [2, 'never', '.'],\n    'type-enum': [1, 'always', ['feat', 'fix']],\n  },\n};\n", []string{
			"02 MUST MEDIUM Code must pass the rule set @commitlint/config-conventional of commitlint.",
			"04 MUST_NOT LOW The subject of a commit message must not end with a full stop.",
			"05 SHOULD LOW The type of a commit message should be one of feat, fix.",
		}},
		{"yamllint", ".yamllint", "extends: default\nrules:\n  line-length: {max: 120, level: warning}\n  truthy: enable\n  comments: disable\n", []string{
			"01 MUST MEDIUM Code must pass the rule set default of yamllint.",
			"03 SHOULD LOW Lines should have at most 120 characters.",
			"04 MUST HIGH Booleans must be written true and false.",
		}},
		{"shellcheck", ".shellcheckrc", "# yes\nenable=require-variable-braces,deprecate-which\ndisable=SC2086\n", []string{
			"02 MUST LOW Variables must be written in braces.",
			"02 MUST MEDIUM Scripts must call command -v, not which.",
		}},
		{"jshint", ".jshintrc", "{ /* all */\n\"eqeqeq\": true, \"browser\": true,\n\"maxlen\": 100, \"curly\": false }", []string{
			"02 MUST HIGH Code must compare with === and !==, never with == and !=.",
			"03 MUST LOW Lines must have at most 100 characters.",
		}},
		{"pre-commit", ".pre-commit-config.yaml", "repos:\n- repo: x\n  hooks:\n  - id: detect-private-key\n  - id: mypy\n", []string{
			"04 MUST_NOT HIGH Private keys must not be committed.",
		}},
		{"staticcheck", "staticcheck.conf", "checks = [\"all\", \"-ST1000\"]\n", []string{"01 MUST HIGH Go code must pass all checks of staticcheck."}},
		{"revive", "revive.toml", "severity = \"warning\"\n[rule.dot-imports]\n[rule.exported]\n  disabled = true\n", []string{"02 SHOULD LOW Packages should not be imported with a dot."}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found := read(t, tc.path, tc.content)
			got := said(found)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("candidates (-want +got)\n%s", diff)
			}
			lines := strings.Split(tc.content, "\n")
			for _, f := range found {
				if !strings.HasPrefix(f.Quote, lines[f.Line-1]) {
					t.Errorf("line %d is quoted as %q", f.Line, f.Quote)
				}
			}
		})
	}
}

// one finds the candidate with a statement.
func one(t *testing.T, found []source.Found, statement string) source.Found {
	t.Helper()
	for _, f := range found {
		if f.Statement == statement {
			return f
		}
	}
	t.Fatalf("there is no %q among %q", statement, said(found))
	return source.Found{}
}

// TestWhere checks that a candidate says which files it is for: those of the tool, below the settings, less those that are
// left out.
func TestWhere(t *testing.T) {
	found := read(t, "web/app/.eslintrc.json", `{"ignorePatterns": ["dist/**"],
"rules": {"no-alert": "error", "@typescript-eslint/no-namespace": "error"},
"overrides": [{"files": ["*.test.ts"], "rules": {"no-alert": "off", "max-depth": "error"}}]}`)
	scripts := "web/app/**/*.{js,jsx,mjs,cjs,ts,tsx,mts,cts}"
	for statement, want := range map[string]rule.AppliesTo{
		"Code must not call alert, confirm or prompt.": {Paths: []string{scripts}, ExcludePaths: []string{"web/app/**/*.test.ts", "web/app/dist/**"}},
		"Code must not declare TypeScript name spaces; use modules.": {
			Paths: []string{"web/app/**/*.{ts,tsx,mts,cts}"}, ExcludePaths: []string{"web/app/dist/**"},
		},
		"Blocks must be nested at most 4 deep.": {Paths: []string{"web/app/**/*.test.ts"}, ExcludePaths: []string{"web/app/dist/**"}},
	} {
		if diff := cmp.Diff(&want, one(t, found, statement).AppliesTo); diff != "" {
			t.Errorf("%s (-want +got)\n%s", statement, diff)
		}
	}
}

// TestWhereBiome checks that an override of Biome speaks for its own files only.
func TestWhereBiome(t *testing.T) {
	f := one(t, read(t, "biome.json", `{"linter": {"includes": ["**", "!dist/**"], "rules": {"correctness": {"noConstAssign": "error"}}},
"overrides": [{"includes": ["**/*.ts"], "linter": {"rules": {"correctness": {"noConstAssign": "off"}}}}]}`), "Code must not assign to constants.")
	if diff := cmp.Diff([]string{"**/*.ts", "dist/**"}, f.AppliesTo.ExcludePaths); diff != "" {
		t.Errorf("files left out (-want +got)\n%s", diff)
	}
}

// TestWhereUnknown checks that a setting for files that cannot be named is not taken for all files unseen.
func TestWhereUnknown(t *testing.T) {
	f := one(t, read(t, ".eslintrc.json", `{"overrides": [{"files": ["!a.js", "[x"], "rules": {"no-alert": "error"}}]}`), "Code must not call alert, confirm or prompt.")
	if !strings.Contains(f.Note, "no glob of a rule can name") || !strings.Contains(f.Note, "[x") || len(f.AppliesTo.Paths) != 1 {
		t.Errorf("note %q, applies to %v", f.Note, f.AppliesTo)
	}
}

// TestTold checks what a reviewer is told beside the statement.
func TestTold(t *testing.T) {
	found := read(t, ".golangci.yml", "linters:\n  default: none\n  enable:\n    - noctx # calls must be cancelled\n    - mystery\n")
	known := one(t, found, "HTTP requests and other calls that can take one must have a context.")
	want := source.Found{
		Kind: wire.LinterConfig, Statement: known.Statement, Modality: rule.Must, Severity: rule.High, Tags: []string{"golangci", "go", "correctness"},
		AppliesTo: &rule.AppliesTo{Paths: []string{"**/*.go"}}, Rationale: "Remark in the settings: calls must be cancelled",
		File: ".golangci.yml", Line: 4, EndLine: 4, Quote: "    - noctx # calls must be cancelled", Section: "linters.enable",
		Method: "setting noctx of golangci-lint, level error", Note: "golangci-lint already enforces this wherever it runs.", Confidence: known.Confidence,
	}
	if diff := cmp.Diff(want, known); diff != "" {
		t.Errorf("candidate (-want +got)\n%s", diff)
	}
	unknown := one(t, found, `Code must pass the check "mystery" of golangci-lint.`)
	if unknown.Confidence >= known.Confidence || !strings.Contains(unknown.Note, "not in our table") {
		t.Errorf("a rule that is not in the table has confidence %v, as against %v, and note %q", unknown.Confidence, known.Confidence, unknown.Note)
	}
}

// TestChecks carries out the checks of candidates on code that keeps them and breaks them.
func TestChecks(t *testing.T) {
	golangci := ".golangci.yml"
	deny := "linters:\n  enable: [depguard, forbidigo]\n  settings:\n    depguard:\n      rules:\n        a:\n          deny: [{pkg: log$}]\n    forbidigo:\n      forbid: [{pattern: 'time\\.Sleep'}]\n"
	eslint := `{"rules": {"no-debugger": 2, "no-var": 2, "no-console": [2, {"allow": ["warn"]}], "max-len": [2, 60]}}`
	for _, tc := range []struct {
		settings, content, statement string
		file, line                   string
		want                         check.Result
	}{
		{".eslintrc.json", eslint, "Code must not contain debugger statements.", "a.ts", "  debugger;", check.Broken},
		{".eslintrc.json", eslint, "Code must not contain debugger statements.", "a.ts", "// debugger;", check.Kept},
		{".eslintrc.json", eslint, "Code must not contain debugger statements.", "a.ts", "debugger // eslint-disable-line", check.Kept},
		{".eslintrc.json", eslint, "Code must not contain debugger statements.", "a.py", "debugger", check.NotConcerned},
		{".eslintrc.json", eslint, "Variables must be declared with let or const, never with var.", "a.js", "var x = 1", check.Broken},
		{".eslintrc.json", eslint, "Variables must be declared with let or const, never with var.", "a.js", "const variable = 'var x'", check.Kept},
		{".eslintrc.json", eslint, "Code must not write to the console.", "a.js", "console.log(1)", check.Broken},
		{".eslintrc.json", eslint, "Code must not write to the console.", "a.js", "console.warn(1)", check.Kept},
		{".eslintrc.json", eslint, "Lines must have at most 60 characters.", "a.js", strings.Repeat("x", 61), check.Broken},
		{".eslintrc.json", eslint, "Lines must have at most 60 characters.", "a.js", strings.Repeat("x", 60), check.Kept},
		{golangci, deny, "Code must not import log.", "a.go", `	"log"`, check.Broken},
		{golangci, deny, "Code must not import log.", "a.go", `	"log/slog"`, check.Kept},
		{golangci, deny, "Code must not use time.Sleep.", "a.go", "	time.Sleep(1)", check.Broken},
		{golangci, deny, "Code must not use time.Sleep.", "a.go", "	// time.Sleep(1)", check.Kept},
		{"ruff.toml", "lint.select = ['E722']", "Code must not catch exceptions with a bare except.", "a.py", "    except:", check.Broken},
		{"ruff.toml", "lint.select = ['E722']", "Code must not catch exceptions with a bare except.", "a.py", "    except ValueError:", check.Kept},
		{".editorconfig", "[*.txt]\ntrim_trailing_whitespace = true", "Lines must not end with white space.", "a.txt", "x ", check.Broken},
		{".editorconfig", "[*.txt]\ntrim_trailing_whitespace = true", "Lines must not end with white space.", "a.txt", "x", check.Kept},
	} {
		f := one(t, read(t, tc.settings, tc.content), tc.statement)
		if f.Check == nil {
			t.Errorf("%q has no check", tc.statement)
			continue
		}
		program, err := check.Compile(f.Check)
		if err != nil {
			t.Fatalf("%q: %v", tc.statement, err)
		}
		changed, err := subject.Build(subject.Input{Files: []subject.InputFile{{Path: tc.file, Content: &tc.line}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := program.Run(t.Context(), check.Prepare(changed)).Result; got != tc.want {
			t.Errorf("%q of %q is %v; want %v", tc.statement, tc.line, got, tc.want)
		}
	}
}

func TestNotRead(t *testing.T) {
	for _, path := range []string{
		"main.go", "README.md", "node_modules/x/.eslintrc", "vendor/x/.golangci.yml", "config.json", "pyproject.txt", "eslint.config", "", "a/b/tsconfig.yaml",
	} {
		if linter.New().Reads(path) {
			t.Errorf("%q is taken for settings", path)
		}
	}
}

// TestBroken checks that what cannot be read is told with its line and leaves other files alone.
func TestBroken(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		n, m := string(rune('0'+i)), string(rune('1'+i))
		bomb += "a" + m + ": &a" + m + " [" + strings.TrimSuffix(strings.Repeat("*a"+n+", ", 9), ", ") + "]\n"
	}
	for _, tc := range []struct {
		name, path, content string
		line                int
		reason              string
	}{
		{"JSON", ".eslintrc.json", "{\n\"rules\": {\n", 2, "never closed"},
		{"JSON that is deep", ".eslintrc.json", deep, 1, "nested"},
		{"YAML", ".golangci.yml", "a:\n  - b\n c: [\n", 3, "not valid YAML"},
		{"YAML that is deep", ".golangci.yml", "a: " + deep, 1, "nested"},
		{"YAML with many dashes", ".golangci.yml", strings.Repeat("- ", 100_000), 1, "nested"},
		{"YAML of nothing but keys", ".golangci.yml", strings.Repeat("a:\n ", 200_000), 5001, "more than 5000 keys"},
		{"YAML of nothing but keys in braces", ".golangci.yml", "{" + strings.Repeat("\"a\":1,", 100_000) + "}", 1, "more than 5000 keys"},
		{"YAML of nothing but documents", ".golangci.yml", strings.Repeat("---\n", 200_000), 5001, "more than 5000 keys"},
		{"EditorConfig of nothing but sections", ".editorconfig", strings.Repeat("[*]\nindent_size=2\n", 30_000), 1999, "more than 1000 sections"},
		{"YAML that laughs", ".golangci.yml", bomb, 0, "too many values"},
		{"YAML with an anchor inside itself", ".eslintrc.yml", "rules: &a\n  x: *a\n", 2, "back to itself"},
		{"TOML", "ruff.toml", "x = 1\ny = [\n", 0, "not valid TOML"},
		{"TOML that is deep", "ruff.toml", "x = " + deep, 1, "nested"},
		{"XML", "checkstyle.xml", "<module name=\"Checker\">\n<a></b>", 2, "not valid XML"},
		{"XML with an entity", "checkstyle.xml", "<!DOCTYPE x [<!ENTITY a \"aaaa\">]>\n<module>&a;</module>", 2, "not valid XML"},
		{"XML that is deep", "checkstyle.xml", strings.Repeat("<a>", 10_000), 1, "nested"},
		{"a script that builds its settings", "eslint.config.js", "module.exports = build().then(x => x)\n", 1, "not read"},
		{"a script without settings", "eslint.config.js", "const a = 1\n", 1, "exports no plain data"},
		{"a script that is deep", "eslint.config.js", "module.exports = " + deep, 1, "nested"},
		{"bytes that are no text", ".eslintrc", "\xff\xfe{", 0, "UTF-8"},
		{"NUL", ".eslintrc", "{\x00}", 0, "UTF-8"},
		{"a file that is huge", ".eslintrc", strings.Repeat("#", 1<<20+1), 0, "1 MiB"},
		{"a list for a table", ".rubocop.yml", "- a\n", 0, "keys and values"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			good := source.File{Path: "x/.prettierrc", Content: []byte("semi: true")}
			found, problems := linter.New().Read(t.Context(), []source.File{{Path: tc.path, Content: []byte(tc.content)}, good})
			if len(problems) != 1 || problems[0].File != tc.path || problems[0].Line != tc.line && tc.line > 0 || !strings.Contains(problems[0].Reason, tc.reason) {
				t.Errorf("problems %v; want one on line %d with %q", problems, tc.line, tc.reason)
			}
			if len(found) != 1 || found[0].File != good.Path {
				t.Errorf("the other file gives %q", said(found))
			}
		})
	}
}

// TestStops checks that a reader whose context has ended reads no further file.
func TestStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	found, _ := linter.New().Read(ctx, []source.File{{Path: ".prettierrc", Content: []byte("semi: true")}})
	if len(found) != 0 {
		t.Errorf("found %q", said(found))
	}
}
