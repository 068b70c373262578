package subject

import (
	"path"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"tenet/internal/diff"
	"tenet/internal/rule"
)

func TestGlobs(t *testing.T) {
	for _, c := range []struct{ glob, yes, no string }{
		{"Makefile", "Makefile a/b/Makefile", "makefile Makefile.in a/Makefile/b"},
		{"*.py", "x.py a/x.py a/b/.py", "x.pyc X.PY a.py/x"},
		{"**/*.py", "x.py a/x.py a/b/c.py", "x.pyc a.py/x"},
		{"test_*.py", "test_a.py a/test_.py", "atest_a.py a/test_a/x.py"},
		{"*", "x a/b/c", ""},
		{"**", "x a/b/c", ""},
		{"**/*", "x a/b/c", ""},
		{"src/**", "src/a src/a/b src", "src2/a a/src/b"},
		{"src/", "src/a src/a/b", "a/src/b"},
		{"src/*", "src/a", "src/a/b a/src/b src"},
		{"src/*.go", "src/a.go src/.go", "src/a/b.go a.go"},
		{"src/**/*.go", "src/a.go src/a/b.go src/a/b/c.go", "a.go src.go lib/src/a.go"},
		{"src/**/main.go", "src/main.go src/a/main.go", "main.go src/amain.go"},
		{"src/main.go", "src/main.go", "a/src/main.go src/main.goo"},
		{"/main.go", "main.go", "a/main.go"},
		{"./src/*.go", "src/a.go", "a/src/a.go"},
		{"**/vendor/**", "vendor/a a/vendor/b/c vendor a/vendor", "avendor/b a/vendored/c"},
		{"**/api/handler.go", "api/handler.go x/api/handler.go", "xapi/handler.go api/x/handler.go"},
		{"a/*/c", "a/b/c", "a/c a/b/b/c"},
		{"a/**/b/**/c", "a/b/c a/x/b/y/z/c", "a/c b/c"},
		{"*.{js,ts}", "a.js x/a.ts", "a.jsx a."},
		{"{src,lib}/**/*.{c,h}", "src/a.c lib/x/y.h", "src/a.go x/src/a.c"},
		{"{a,b/c}.go", "a.go b/c.go", "x/a.go c.go"},
		{"{a{b,c},d}", "ab x/ac d", "a b"},
		{"[Mm]akefile", "Makefile a/makefile", "akefile"},
		{"v[0-9]/**", "v1/a v2/b/c", "v/a va/b"},
		{"doc?.md", "docs.md a/doc1.md", "doc.md"},
		{`\*.md`, "*.md a/*.md", "a.md"},
		{`a[{,}]b`, "a{b a,b a}b", "ab"},
		{"été/**", "été/x", "ete/x"},
		{"acme/*", "acme/pay", "other/pay acme/a/b"}, // repositories match in the same way
	} {
		g, err := CompileGlobs([]string{c.glob})
		if err != nil {
			t.Errorf("%s: %v", c.glob, err)
			continue
		}
		for name := range strings.FieldsSeq(c.yes) {
			if !g.Match(name) {
				t.Errorf("%s does not match %s", c.glob, name)
			}
		}
		for name := range strings.FieldsSeq(c.no) {
			if g.Match(name) {
				t.Errorf("%s matches %s", c.glob, name)
			}
		}
	}
}

func TestGlobsList(t *testing.T) {
	if g, err := CompileGlobs(nil); err != nil || !g.Empty() || g.Match("x") {
		t.Errorf("an empty list: %v %v", g, err)
	}
	g, err := CompileGlobs([]string{"*.md", "docs/**"})
	if err != nil || g.Empty() || !g.Match("a/b.md") || !g.Match("docs/x.png") || g.Match("src/x.go") {
		t.Errorf("some glob of a list must match: %v %v", g, err)
	}
}

func TestGlobsFold(t *testing.T) {
	for _, c := range []struct{ glob, yes, no string }{
		{"src/**", "src/a SRC/a Src/A", "lib/a"},
		{"Src/**", "src/a SRC/a Src/a", "lib/a"},
		{"*.py", "a.PY x/a.py", "a.pyc"},
		{"Makefile", "makefile a/MAKEFILE Makefile", "make"},
		{"été/*.go", "ÉTÉ/a.go e\u0301te\u0301/a.go été/a.GO", "ete/a.go"},
		{"e\u0301t\u00e9/**", "été/a", "ete/a"},
		{"[A-C]x", "ax Bx", "dx"},
		{"[^A]x", "ax bx Bx", "y"}, // a folded match only adds to the exact one
		{"{Src,Lib}/*", "src/a LIB/a", "bin/a"},
	} {
		g, err := CompileGlobs([]string{c.glob})
		if err != nil {
			t.Fatal(err)
		}
		for name := range strings.FieldsSeq(c.yes) {
			if !g.MatchFold(name) {
				t.Errorf("%s does not match %s", c.glob, name)
			}
		}
		for name := range strings.FieldsSeq(c.no) {
			if g.MatchFold(name) {
				t.Errorf("%s matches %s", c.glob, name)
			}
		}
	}
}

func TestGlobsRefused(t *testing.T) {
	for _, glob := range []string{
		"", "/", "./", "[a", "{a", "a}", "a[]b", `a\`, "!x", "a\xff", "a\x00", strings.Repeat("{a,b}", 9), strings.Repeat("{a,a}", 50),
		"{" + strings.Repeat(",", maxAlternatives) + "}",
	} {
		if _, err := CompileGlobs([]string{"ok", glob}); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%q: error is %v, want invalid", glob, err)
		}
	}
	if _, err := CompileGlobs([]string{strings.Repeat("{a,b}", 8)}); err != nil {
		t.Errorf("%d alternatives are allowed: %v", maxAlternatives, err)
	}
}

// FuzzGlobs checks that the shapes decide as the general matcher does.
func FuzzGlobs(f *testing.F) {
	for _, seed := range []string{
		"*.py", "**/*.py", "src/**", "src/**/*.go", "a/*.go", "**/x/**", "**/x/y", "{a,b}/*", "[ab]*", "a**b", "**/a**", "a/**/", "*/**",
		"a*b*c", "/a", "./a", "**/**", "**/*/**", `\a`, "a/[b]/**", "{,a}b", "{/,a}b",
	} {
		f.Add(seed, "src/a.go")
		f.Add(seed, "x/y/b.py")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := CompileGlobs([]string{pattern})
		name = strings.ToValidUTF8(name, "?")
		clean, pathErr := diff.CleanPath(name)
		if err != nil || pathErr != nil || clean != name || len(pattern) > 200 || len(name) > 500 {
			return
		}
		p, rooted := strings.CutPrefix(strings.TrimPrefix(rule.CleanGlob(pattern), "./"), "/")
		if strings.HasSuffix(p, "/") {
			p += "**"
		}
		against := name
		if !rooted && !strings.Contains(p, "/") {
			against = path.Base(name)
		}
		want, err := doublestar.Match(p, against)
		if err != nil {
			t.Fatalf("%q is compiled, but the matcher says %v", pattern, err)
		}
		if want && !g.MatchFold(name) {
			t.Errorf("%q matches %q, but not with folding", pattern, name)
		}
		if got := g.Match(name); got != want {
			t.Errorf("%q matches %q: %v, the general matcher says %v", pattern, name, got, want)
		}
	})
}

var benchPaths = []string{
	"internal/payments/settlement/batch.go", "web/src/components/table/row.test.tsx", "README.md",
	"services/ledger/migrations/0042_add_index.sql", "vendor/github.com/acme/lib/x.go", "deploy/prod/eu-west-1/main.tf",
}

func BenchmarkGlobs(b *testing.B) {
	globs := []string{"**/*.go", "*.py", "src/**", "**/vendor/**", "deploy/**/*.tf", "Dockerfile", "web/src/*.ts", "**/*.{js,jsx,ts,tsx}"}
	g, err := CompileGlobs(globs)
	if err != nil {
		b.Fatal(err)
	}
	none, _ := CompileGlobs([]string{"*.rb", "lib/**", "**/node_modules/**", "conf/**/*.yaml", "Makefile", "a/*.ts", "*.{c,h,cc,hh}"})
	b.Run("shapes", func(b *testing.B) {
		for b.Loop() {
			for _, p := range benchPaths {
				g.Match(p)
				none.Match(p)
			}
		}
	})
	b.Run("general", func(b *testing.B) {
		for b.Loop() {
			for _, p := range benchPaths {
				for _, glob := range append(globs, "*.rb", "lib/**", "**/node_modules/**", "conf/**/*.yaml", "Makefile", "a/*.ts", "*.{c,h,cc,hh}") {
					doublestar.MatchUnvalidated(glob, p)
				}
			}
		}
	})
}
