package exclude_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/discover/exclude"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

func filter(t *testing.T, s exclude.Selection, paths ...string) *exclude.Filter {
	t.Helper()
	f, err := exclude.New(s, paths)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Files whose rules are nobody's here are left out, each with its reason, and files that only look like them are read.
func TestDefaults(t *testing.T) {
	f := filter(t, exclude.Selection{})
	for path, want := range map[string]string{
		"node_modules/x/README.md":               exclude.Vendored,
		"web/node_modules/x/.eslintrc":           exclude.Vendored,
		"vendor/github.com/a/b/CONTRIBUTING.md":  exclude.Vendored,
		"lib/vendor/pkg/name/README.md":          exclude.Vendored,
		"third_party/lib/POLICY.md":              exclude.Vendored,
		".venv/lib/site-packages/p/LICENSE.rst":  exclude.Vendored,
		"internal/parse/testdata/policy.md":      exclude.TestData,
		"pkg/fixtures/AGENTS.md":                 exclude.TestData,
		"src/test/resources/handbook.md":         exclude.TestData,
		"ui/__snapshots__/a.md":                  exclude.TestData,
		"CHANGELOG.md":                           exclude.ChangeLog,
		"CHANGES.rst":                            exclude.ChangeLog,
		"docs/CHANGELOG-1.27.md":                 exclude.ChangeLog,
		"docs/release-notes/v2.md":               exclude.ChangeLog,
		".changeset/brave-dogs-sing.md":          exclude.ChangeLog,
		"NEWS":                                   exclude.ChangeLog,
		"policies/vendor/onboarding.md":          "",
		"handbook/security/vendor/a/b/c.md":      "",
		"policies/changes/freeze.md":             exclude.ChangeLog,
		"CONTRIBUTING.md":                        "",
		"docs/guide/security.md":                 "",
		"docs/vendor/choosing.md":                "",
		"internal/history/history.go":            "",
		"changes/main.go":                        "",
		"docs/news-desk-rules.md":                "",
		"resources/handbook.md":                  "",
		"tests/AGENTS.md":                        "",
		".github/instructions/x.instructions.md": "",
	} {
		if got := f.Reason(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// The pages of a product's manual are left out, but neither those that regulate nor those for the people who make the product.
func TestManual(t *testing.T) {
	var product, pages []string
	for i := range 12 {
		product = append(product, fmt.Sprintf("src/f%d.go", i))
	}
	for i := range 40 {
		pages = append(pages, fmt.Sprintf("docs/content/p%d.md", i))
	}
	all := slices.Concat(product, pages)
	f := filter(t, exclude.Selection{}, all...)
	for path, want := range map[string]string{
		"docs/content/p1.md": exclude.Manual, "docs/usage.rst": exclude.Manual, "docs/contributing.md": "", "docs/security/policy.md": "", "docs/web-security.md": exclude.Manual, "docs/adr/0001-x.md": "",
		"docs/AGENTS.md": "", "docs/.markdownlint.json": "", "README.md": "", "docs/Internals/locks.md": "",
	} {
		if got := f.Reason(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for name, paths := range map[string][]string{
		"a handbook, no product": pages, "few pages": slices.Concat(product, pages[:10]), "a folder that is none": slices.Concat(product, []string{"src/a.md"}),
	} {
		if got := filter(t, exclude.Selection{}, paths...).Reason("docs/content/p1.md"); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
	few := slices.Concat(product, pages[:6])
	for _, site := range []string{"mkdocs.yml", "docs/conf.py", "docs/book.toml"} {
		if got := filter(t, exclude.Selection{}, append(few, site)...).Reason("docs/content/p1.md"); got != exclude.Manual {
			t.Errorf("with %s: %q", site, got)
		}
	}
}

// What a request asks for counts more than the defaults, and what it excludes counts most.
func TestSelection(t *testing.T) {
	s := exclude.Selection{Exclude: []string{"docs/old/**", "testdata/b.md"}, Include: []string{"testdata/**"}}
	f := filter(t, s)
	for path, want := range map[string]string{"docs/old/a.md": exclude.Asked, "docs/a.md": "", "testdata/a.md": "", "testdata/b.md": exclude.Asked, "CHANGELOG.md": exclude.ChangeLog} {
		if got := f.Reason(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	s.All = true
	if got := filter(t, s).Reason("CHANGELOG.md"); got != "" {
		t.Errorf("without the defaults: %q", got)
	}
	if got := filter(t, s).Reason("docs/old/a.md"); got != exclude.Asked {
		t.Errorf("without the defaults, but excluded: %q", got)
	}
	var p rule.Problems
	bad := exclude.Selection{Exclude: []string{"["}, Include: make([]string, exclude.MaxGlobs+1)}
	bad.Check(&p)
	err := p.Err("bad")
	if err == nil || !strings.Contains(err.Error(), "exclude") || !strings.Contains(err.Error(), "include") {
		t.Errorf("bad globs: %v", err)
	}
	if _, err := exclude.New(bad, nil); err == nil {
		t.Error("a malformed glob is taken")
	}
}

// A tally counts all and names the first few.
func TestTally(t *testing.T) {
	var tally exclude.Tally
	for i := range 8 {
		tally.Add(exclude.TestData, fmt.Sprintf("t%d", i))
	}
	tally.Add(exclude.Vendored, "v")
	tally.Merge([]wire.Excluded{{Reason: exclude.Vendored, Files: 20, Examples: []string{"w"}}})
	want := []wire.Excluded{
		{Reason: exclude.Vendored, Files: 21, Examples: []string{"v", "w"}},
		{Reason: exclude.TestData, Files: 8, Examples: []string{"t0", "t1", "t2", "t3", "t4"}},
	}
	if diff := cmp.Diff(want, tally.List()); diff != "" {
		t.Error(diff)
	}
}

// FuzzReason asks about any path with any globs.
func FuzzReason(f *testing.F) {
	f.Add("a/vendor/b/c.md", "docs/**", "a\nb/c.go\ndocs/x.md")
	f.Fuzz(func(_ *testing.T, path, glob, paths string) {
		filter, err := exclude.New(exclude.Selection{Exclude: []string{glob}}, strings.Split(paths, "\n"))
		if err == nil {
			filter.Reason(path)
		}
	})
}
