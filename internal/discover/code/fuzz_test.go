package code_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"tenet/internal/check"
	"tenet/internal/discover/code"
	"tenet/internal/discover/source"
)

// FuzzRead counts any bytes as code of each language, repeated so that conventions come out of it: it must not panic, and what it
// finds must be where it says.
func FuzzRead(f *testing.F) {
	for path, seeds := range map[string][]string{
		"a.go": {
			"package a\nimport (\n\"io\"\n\n\"x.y/z\"\n)\nvar ErrA = errors.New(\"a\")\ntype T[P any] struct { A int `json:\"a_b\"` }\nfunc (t *T[P]) F(ctx context.Context) error {\nx, err := f()\nreturn fmt.Errorf(\"%w\", err)\n}\n",
			"package a_test\nfunc TestA(t *testing.T) { t.Parallel() }\n", "package\x00", "package a; var _ = func() { _ = f() }",
		},
		"a.py": {
			"'''D'''\nfrom . import a\nclass A(B):\n    def f_g(self, *, a=1) -> int:\n        r'''D'''\n        try:\n            return f\"{x!r}\" % a\n        except (E, F) as e:\n            raise G(1) from e\n",
			"x = \\\n  (1,\n'a", "async def f(): pass\n\tprint(1)", "\"\"\"", "f'",
		},
		"a.test.tsx": {
			"/** D */\nexport default function A() { return <div className=\"a\">don't {b}</div> }\n", "const a = `x${`y${1}`}z`, r = /[/]\"/g; try {} catch {}\n",
			"import type {A} from './a.js'; a ?? b; x == null; throw new E(); enum A {}", "`${", "/*", "}}}", "a</b/c>",
		},
	} {
		for _, s := range seeds {
			f.Add(path, []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, path string, content []byte) {
		if len(content) > 1<<14 {
			return
		}
		content = append(content, '\n')
		if !strings.HasSuffix(path, ".go") {
			content = []byte(strings.Repeat(string(content), 20))
		}
		found, _ := code.New().Read(t.Context(), []source.File{{Path: path, Content: content}})
		lines := strings.Split(strings.TrimPrefix(string(content), "\ufeff"), "\n")
		for _, c := range found {
			if c.Line < 1 || c.Line > len(lines) || c.EndLine != c.Line {
				t.Fatalf("%s: lines %d to %d of %d", c.Statement, c.Line, c.EndLine, len(lines))
			}
			if line := strings.TrimRight(lines[c.Line-1], "\r"); utf8.RuneCountInString(line) <= 2000 && c.Quote != line {
				t.Fatalf("%s: line %d is %q, quoted as %q", c.Statement, c.Line, line, c.Quote)
			}
			if c.Confidence < 0.8 || c.Confidence >= 1 || !utf8.ValidString(c.Statement) {
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
