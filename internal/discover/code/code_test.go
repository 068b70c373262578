package code_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/check"
	"tenet/internal/discover/code"
	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// tree makes files of path and content, in the order given.
func tree(pairs ...string) []source.File {
	var files []source.File
	for i := 0; i+1 < len(pairs); i += 2 {
		files = append(files, source.File{Path: pairs[i], Content: []byte(pairs[i+1])})
	}
	return files
}

// many writes a text n times, with %d for the number.
func many(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "%d", fmt.Sprint(i)))
	}
	return b.String()
}

func read(t *testing.T, files []source.File) []source.Found {
	t.Helper()
	found, problems := code.New().Read(t.Context(), files)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return found
}

// about finds the candidate whose statement holds a text; nil if there is none.
func about(found []source.Found, words string) *source.Found {
	for i := range found {
		if strings.Contains(found[i].Statement, words) {
			return &found[i]
		}
	}
	return nil
}

// TestConventions gives each convention code that keeps it 40 times and code that breaks it 40 times: the one must find it, the
// other must not.
func TestConventions(t *testing.T) {
	goFile := "package a\n\n"
	py := "import os\n"
	for _, tc := range []struct {
		words, path, head string
		keeps, breaks     string
	}{
		{"wrapped with %w", "a.go", goFile, "func f%d() error { return fmt.Errorf(\"x: %w\", err) }\n", "func f%d() error { return fmt.Errorf(\"x: %v\", err) }\n"},
		{"must be checked, not dropped", "a.go", goFile, "func f%d() {\nx, err := g()\nuse(x)\nif err != nil {\nreturn\n}\n}\n", "func f%d() {\n_ = g()\n}\n"},
		{"prefix Err", "a.go", goFile, "var ErrX%d = errors.New(\"x\")\n", "var X%d = errors.New(\"x\")\n"},
		{"begin in lower case", "a.go", goFile, "var a%d = errors.New(\"not found\")\n", "var a%d = errors.New(\"Not found.\")\n"},
		{"made with errors.New", "a.go", goFile, "var a%d = errors.New(\"x\")\n", "var a%d = fmt.Errorf(\"x\")\n"},
		{"compared with errors.Is", "a.go", goFile, "var a%d = errors.Is(err, io.EOF)\n", "var a%d = err == io.EOF\n"},
		{"doc comment", "a.go", goFile, "// F%d is.\nfunc F%d() {}\n", "// Is.\nfunc F%d() {}\n"},
		{"first parameter", "a.go", goFile, "func f%d(ctx context.Context, x int) {}\n", "func f%d(x int, ctx context.Context) {}\n"},
		{"same name", "a.go", goFile, "func (a A%d) x() {}\nfunc (a *A%d) y() {}\n", "func (a A%d) x() {}\nfunc (b A%d) y() {}\n"},
		{"call t.Parallel", "a_test.go", goFile, "func TestX%d(t *testing.T) { t.Parallel() }\n", "func TestX%d(t *testing.T) {}\n"},
		{"call t.Helper", "a_test.go", goFile, "func x%d(t *testing.T) { t.Helper(); t.Fatal() }\n", "func x%d(t *testing.T) { t.Fatal() }\n"},
		{"written any", "a.go", goFile, "func f%d(x any) {}\n", "func f%d(x interface{}) {}\n"},
		{"mixed caps", "a.go", goFile, "func f%dX() {}\n", "func f_%d() {}\n"},
		{"Initialisms", "a.go", goFile, "func getID%dX() {}\ntype userID struct{}\n", "type Url%d struct{}\ntype userId struct{}\n"},
		{"snake_case", "a.go", goFile, "type T%d struct {\nA int `json:\"created_at\"`\n}\n", "type T%d struct {\nA int `json:\"createdAt\"`\n}\n"},
		{"Function names must be in snake_case", "a.py", py, "def get_it_%d(): pass\n", "def getIt%d(): pass\n"},
		{"CapWords", "a.py", py, "class GetIt%d: pass\n", "class get_it%d: pass\n"},
		{"Public classes", "a.py", py, "class A%d:\n    \"\"\"Is.\"\"\"\n", "class A%d:\n    pass\n"},
		{"Public functions and methods", "a.py", py, "def f%d(\n    a,\n):\n    'Is.'\n", "def f%d():\n    # 'no'\n    pass\n"},
		{"type of their result", "a.py", py, "def f%d(a) -> int: pass\n", "def f%d(a): pass\n"},
		{"bare except", "a.py", py, "try:\n    pass\nexcept ValueError:\n    pass\n", "try:\n    pass\nexcept:\n    pass\n"},
		{"specific exceptions", "a.py", py, "try:\n    pass\nexcept (A, B) as e:\n    pass\n", "try:\n    pass\nexcept Exception as e:\n    pass\n"},
		{"cause with from", "a.py", py, "try:\n    pass\nexcept A as e:\n    raise B(\n        1) from e\n", "try:\n    pass\nexcept A as e:\n    raise B(1)\n"},
		{"getLogger(__name__)", "a.py", py, "a%d = logging.getLogger(__name__)\n", "a%d = logging.getLogger('a')\n"},
		{"with *", "a.py", py, "from a%d import b\n", "from a%d import *\n"},
		{"double quotes", "a.py", py, "a%d = \"b\"\n", "a%d = 'b'\n"},
		{"f-strings", "a.py", py, "a%d = f'{b}'\n", "a%d = '%s' % b\n"},
		{"pathlib", "a.py", py, "a%d = Path('b')\n", "a%d = os.path.join('b')\n"},
		{"plain assert", "tests/test_a.py", py, "def test_%d():\n    assert True\n", "def test_%d(self):\n    self.assertTrue(True)\n"},
		{"Names of functions", "a.ts", "", "function getIt%d() {}\n", "function get_it%d() {}\n"},
		{"PascalCase", "a.ts", "", "export interface GetIt%d {}\n", "interface get_it%d {}\n"},
		{"double quotes", "a.ts", "", "f(\"a\");\n", "f('a');\n"},
		{"must end with a semicolon", "a.ts", "", "import a%d from \"b\";\n", "import a%d from \"b\"\n"},
		{"must not end with a semicolon", "a.ts", "", "import a%d from \"b\"\n", "import a%d from \"b\";\n"},
		{"by name, not as default", "a.ts", "", "export const a%d = 1;\n", "export default class {}\n"},
		{"with import, not with require", "a.ts", "", "import {a%d, b} from \"b\";\n", "const a%d = require(\"b\");\n"},
		{"prefix node:", "a.ts", "", "import a%d from \"node:fs\";\n", "import a%d from \"fs\";\n"},
		{"path alias", "a.ts", "", "import a%d from \"@/b\";\n", "import a%d from \"../b\";\n"},
		{"must name the file extension", "a.ts", "", "import a%d from \"./b.js\";\n", "import a%d from \"./b\";\n"},
		{"Catch clauses", "a.ts", "", "try { a() } catch { /* it may fail */ }\n", "try { a() } catch (e) { }\n"},
		{"throw Error objects", "a.ts", "", "throw new Error(`a ${b ? `c` : \"}\"}`);\n", "throw \"a\";\n"},
		{"===", "a.ts", "", "f(a%d === b, c == null);\n", "f(a%d == b);\n"},
		{"let or const", "a.ts", "", "const a%d = 1;\n", "var a%d = 1;\n"},
		{"JSDoc", "a.ts", "", "/** Is. */\nexport async function f%d() {}\n", "// Is.\nexport function f%d() {}\n"},
		{"awaited", "a.ts", "", "await f%d();\n", "f%d().then(g);\n"},
		{"as interfaces", "a.ts", "", "interface A%d { b: 1 }\n", "type A%d = { b: 1 };\n"},
	} {
		t.Run(tc.words+" "+tc.path, func(t *testing.T) {
			kept := about(read(t, tree(tc.path, tc.head+many(40, tc.keeps))), tc.words)
			if kept == nil {
				t.Errorf("code that keeps it gives nothing:\n%s", many(1, tc.keeps))
			} else if !strings.HasPrefix(kept.Rationale, "Kept in ") || kept.Confidence < 0.8 || kept.Confidence >= 1 {
				t.Errorf("confidence %v, rationale %q", kept.Confidence, kept.Rationale)
			}
			if broken := about(read(t, tree(tc.path, tc.head+many(40, tc.breaks))), tc.words); broken != nil {
				t.Errorf("code that breaks it gives %q at line %d %q", broken.Statement, broken.Line, broken.Quote)
			}
		})
	}
}

// TestOfFiles does the same for conventions that have one place a file.
func TestOfFiles(t *testing.T) {
	for _, tc := range []struct {
		words             string
		path, keeps       string
		otherPath, breaks string
	}{
		{words: "File names of Go", path: "get_it%d.go", keeps: "package a\n", otherPath: "getIt%d.go", breaks: "package a\n"},
		{words: "licence header such as: Copyright 2026 A", path: "a%d.go", keeps: "// Copyright 2026 A\n\npackage a\n", otherPath: "a%d.go", breaks: "package a // Copyright\n"},
		{words: "package comment", path: "p%d/a.go", keeps: "// Package a is.\npackage a\n", otherPath: "p%d/a.go", breaks: "package a\n"},
		{words: "log/slog", path: "a%d.go", keeps: "package a\n\nimport \"log/slog\"\n", otherPath: "a%d.go", breaks: "package a\n\nimport \"log\"\n"},
		{words: "print to the standard output", path: "a%d.go", keeps: "package a\n", otherPath: "a%d.go", breaks: "package a\n\nfunc f() { fmt.Println() }\n"},
		{words: "group of their own", path: "a%d.go", keeps: "package a\n\nimport (\n\"io\"\n\n\"x.org/y\"\n)\n", otherPath: "a%d.go", breaks: "package a\n\nimport (\n\"x.org/y\"\n\"io\"\n)\n"},
		{words: "suffix _test", path: "a%d_test.go", keeps: "package a_test\n", otherPath: "a%d_test.go", breaks: "package a\n"},
		{words: "marked as generated", path: "a%d.pb.go", keeps: "// Code generated by x. DO NOT EDIT.\npackage a\n", otherPath: "a%d.go", breaks: "package a\n"},
		{words: "Modules must have a docstring", path: "a%d.py", keeps: "'''Is.'''\n", otherPath: "a%d.py", breaks: "a = 1\n"},
		{words: "not call print", path: "a%d.py", keeps: "a = 'print(1)'\n", otherPath: "a%d.py", breaks: "print(1)\n"},
		{words: "__future__", path: "a%d.py", keeps: "from __future__ import annotations\n", otherPath: "a%d.py", breaks: "import os\n"},
		{words: "absolute paths", path: "pkg/a%d.py", keeps: "from pkg.b import c\n", otherPath: "pkg/a%d.py", breaks: "from .b import c\n"},
		{words: "Imports of the standard library must stand before", path: "a%d.py", keeps: "import os\nimport numpy\n", otherPath: "a%d.py", breaks: "import numpy\nimport os\n"},
		{words: "prefix test_", path: "tests/test_a%d.py", keeps: "a = 1\n", otherPath: "tests/a%d_test.py", breaks: "a = 1\n"},
		{words: "beside the code", path: "src/a%d_test.py", keeps: "a = 1\n", otherPath: "tests/a%d_test.py", breaks: "a = 1\n"},
		{words: "kebab-case", path: "get-it%d.ts", keeps: "a()\n", otherPath: "getIt%d.ts", breaks: "a()\n"},
		{words: "Files of components", path: "GetIt%d.tsx", keeps: "a()\n", otherPath: "getIt%d.tsx", breaks: "a()\n"},
		{words: "write to the console", path: "a%d.ts", keeps: "log(1)\n", otherPath: "a%d.ts", breaks: "console.log(1)\n"},
		{words: "type any", path: "a%d.ts", keeps: "const any = (a: number) => any\n", otherPath: "a%d.ts", breaks: "const b: any = 1\n"},
		{words: "suffix .spec.", path: "a%d.spec.ts", keeps: "a()\n", otherPath: "a%d.test.ts", breaks: "a()\n"},
		{words: "apart from the code", path: "tests/a%d.spec.ts", keeps: "a()\n", otherPath: "src/a%d.spec.ts", breaks: "a()\n"},
	} {
		t.Run(tc.words, func(t *testing.T) {
			var keeps, breaks []source.File
			for i := range 20 {
				n := fmt.Sprint(i)
				keeps = append(keeps, source.File{Path: strings.ReplaceAll(tc.path, "%d", n), Content: []byte(tc.keeps)})
				breaks = append(breaks, source.File{Path: strings.ReplaceAll(tc.otherPath, "%d", n), Content: []byte(tc.breaks)})
			}
			if about(read(t, keeps), tc.words) == nil {
				t.Error("files that keep it give nothing")
			}
			if f := about(read(t, breaks), tc.words); f != nil {
				t.Errorf("files that break it give %q", f.Statement)
			}
		})
	}
}

// TestTold checks all that is told about a convention with exceptions: the first place that keeps it, how many do, where it is
// broken, and should instead of must.
func TestTold(t *testing.T) {
	files := tree(
		"a/one.go", "package a\n\nfunc f() error {\n\treturn fmt.Errorf(\"x: %v\", err)\n}\n",
		"a/two.go", "package a\n\nfunc g() error {\n"+many(60, "\tif a {\n\t\treturn fmt.Errorf(\"x%d: %w\", err)\n\t}\n")+"\treturn nil\n}\n",
	)
	got := about(read(t, files), "wrapped with %w")
	if got == nil {
		t.Fatal("not found")
	}
	share := rule.Wilson(60, 61)
	want := &source.Found{
		Kind: wire.CodePatterns, Statement: "Errors that are passed on with fmt.Errorf should be wrapped with %w.", Modality: rule.Should,
		Severity: rule.Medium, Tags: []string{"go", "errors"}, AppliesTo: &rule.AppliesTo{Paths: []string{"**/*.go"}},
		Rationale: "Kept in 60 of 61 places in the code.", File: "a/two.go", Line: 5, EndLine: 5, Quote: "\t\treturn fmt.Errorf(\"x0: %w\", err)",
		Method: "counted in the code: calls of fmt.Errorf that are given an error", Note: "Broken at a/one.go:4.", Confidence: share.Low, Check: got.Check,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("candidate (-want +got)\n%s", diff)
	}
	program, err := check.Compile(got.Check)
	if err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]check.Result{"return fmt.Errorf(\"x: %v\", err)": check.Broken, "return fmt.Errorf(\"x: %w\", err)": check.Kept} {
		s, err := subject.Build(subject.Input{Files: []subject.InputFile{{Path: "x.go", Content: &content}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := program.Run(t.Context(), check.Prepare(s)).Result; got != want {
			t.Errorf("the check says %v of %q; want %v", got, content, want)
		}
	}
}

// TestEnough checks the written threshold: the lower end of the interval, not the share.
func TestEnough(t *testing.T) {
	for n, want := range map[int]bool{15: false, 16: true} {
		got := about(read(t, tree("a.ts", many(n, "throw new Error();\n"))), "throw Error objects") != nil
		if got != want {
			t.Errorf("%d places without an exception: candidate %v; want %v", n, got, want)
		}
	}
	for n, want := range map[int]bool{30: false, 60: true} {
		got := about(read(t, tree("a.ts", many(n, "throw new Error();\n")+many(2, "throw 'a';\n"))), "throw Error objects") != nil
		if got != want {
			t.Errorf("%d places with two exceptions: candidate %v; want %v", n, got, want)
		}
	}
}

func TestReads(t *testing.T) {
	for path, want := range map[string]bool{
		"a.go": true, "a/b.py": true, "a.tsx": true, "a.mjs": true, "a.d.ts": false, "dist/a.js": false,
		"a.min.js": false, "a.rb": false, "README.md": false, "go": false, "eslint.config.js": false, "": false,
	} {
		if got := code.New().Reads(path); got != want {
			t.Errorf("Reads(%q) = %v; want %v", path, got, want)
		}
	}
}

// TestHostile checks that files which cannot be read are told, and end nothing.
func TestHostile(t *testing.T) {
	files := tree(
		"a.go", "package", "b.py", "\xff\xfe", "c.ts", "a\x00b", "d.ts", strings.Repeat("a ", 1<<20),
		"e.py", strings.Repeat("(", 20_000), "f.ts", strings.Repeat("`${", 20_000), "g.ts", strings.Repeat("a<b<", 20_000),
		"h.go", "package a\nvar x = "+strings.Repeat("(", 2_000), "i.py", strings.Repeat("def f():\n", 20_000), "j.ts", "/*", "k.py", "'''",
		"l.ts", "import "+strings.Repeat("{", 20_000), "n.ts", strings.Repeat("/[", 20_000), "o.py", strings.Repeat("except A:\n", 20_000),
		"m.ts", many(20, "throw new Error();\n"),
	)
	found, problems := code.New().Read(t.Context(), files)
	var told []string
	for _, p := range problems {
		told = append(told, p.File)
	}
	if diff := cmp.Diff([]string{"a.go", "b.py", "c.ts", "d.ts", "h.go"}, told); diff != "" {
		t.Errorf("problems (-want +got)\n%s", diff)
	}
	if about(found, "throw Error objects") == nil {
		t.Error("the file after them is not counted")
	}
}

// TestStops checks that a reader whose context has ended returns with what it has.
func TestStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if found, _ := code.New().Read(ctx, tree("a.ts", many(20, "throw new Error();\n"))); len(found) != 0 {
		t.Errorf("found %v", found)
	}
}

// TestSame checks that the order of findings does not depend on chance.
func TestSame(t *testing.T) {
	files := tree("b.py", many(40, "def f_%d():\n    \"\"\"Is.\"\"\"\n"), "a.ts", many(40, "export const a%d = \"x\";\n"), "c.go", "package c\n"+many(20, "func (a A%d) x() {}\nfunc (a A%d) y() {}\n"))
	first := read(t, files)
	for range 5 {
		if diff := cmp.Diff(first, read(t, files)); diff != "" {
			t.Fatalf("second reading (-first +second)\n%s", diff)
		}
	}
	for i := 1; i < len(first); i++ {
		if first[i-1].File == "a.ts" && first[i].File == "b.py" {
			t.Error("findings are not in the order of files")
		}
	}
}
