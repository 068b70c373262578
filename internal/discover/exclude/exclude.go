// Package exclude decides which files of a scan are left unread because they hold no rules of the project: packages of other people,
// test data, change logs, and the manual of a product.
package exclude

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"tenet/internal/discover/policy"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// Reasons to leave a file out, as people read them.
const (
	Asked     = "excluded by this request"
	Vendored  = "packages of other people"
	TestData  = "test data"
	ChangeLog = "change logs and release notes"
	Manual    = "manual of a product"
)

// Selection says which files a caller wants. The zero value applies the default excludes alone.
type Selection struct {
	Exclude []string // globs of files to leave out
	Include []string // globs of files to read although the default excludes name them
	All     bool     // no default excludes
}

// MaxGlobs bounds the globs of each list.
const MaxGlobs = 100

// Check adds what is wrong with a selection.
func (s *Selection) Check(p *rule.Problems) {
	for _, list := range []struct {
		field string
		globs []string
	}{{"exclude", s.Exclude}, {"include", s.Include}} {
		if len(list.globs) > MaxGlobs {
			p.Add(list.field, "has %d globs; at most %d are allowed", len(list.globs), MaxGlobs)
			continue
		}
		subject.CheckGlobs(p, list.field, list.globs)
	}
}

// Filter selects the files of one scan.
type Filter struct {
	exclude, include subject.Globs
	all              bool
	manuals          []string // folders
}

// New makes a filter for a scan of some files. All paths count, also those of files that no reader reads: whether a folder is the
// manual of a product shows in what is beside it. The error is that of a malformed glob.
func New(s Selection, paths []string) (*Filter, error) {
	f := &Filter{all: s.All}
	var err error
	if f.exclude, err = subject.CompileGlobs(s.Exclude); err != nil {
		return nil, err
	}
	if f.include, err = subject.CompileGlobs(s.Include); err != nil {
		return nil, err
	}
	if !s.All {
		f.manuals = manuals(paths)
	}
	return f, nil
}

// Reason returns why a file is left out; empty for one that is read.
func (f *Filter) Reason(file string) string {
	switch {
	case f.exclude.Match(file):
		return Asked
	case f.all || f.include.Match(file):
		return ""
	}
	if reason := byFolder(file); reason != "" {
		return reason
	}
	switch {
	case changeLog(file):
		return ChangeLog
	case f.inManual(file):
		return Manual
	}
	return ""
}

// vendored are folders of other people's packages.
var vendored = text.Words(`
node_modules bower_components third_party thirdparty third-party site-packages .venv venv .tox .git .hg .svn __pycache__ pods carthage
.yarn .pnpm-store
`)

// testData are folders of what tests read.
var testData = text.Words(`
testdata test-data test_data fixtures fixture __fixtures__ testfixtures test-fixtures test_fixtures __snapshots__ snapshots _snaps __mocks__
`)

// homes are folders that hold policies, where vendor and the like are subjects and no packages.
var homes = text.Words("policy policies standard standards handbook regulations compliance")

// byFolder returns why the folders of a file say that it is left out.
func byFolder(file string) string {
	dir := strings.ToLower(path.Dir(file))
	if dir == "." {
		return ""
	}
	parts := strings.Split(dir, "/")
	for i, part := range parts {
		switch {
		case homes[part]:
			return ""
		case vendored[part], part == "vendor" && (i == 0 || len(parts) > i+2):
			return Vendored
		case testData[part], part == "resources" && i > 0 && strings.HasPrefix(parts[i-1], "test"):
			return TestData
		}
	}
	return ""
}

// logs are names of change logs, and of folders that hold them.
var logs = text.Words(`
changelog changelogs changes history news releases release-notes releasenotes release_notes whatsnew whats-new changelog.d .changeset .changes newsfragments
newsfragment changelog-entries
`)

// changeLog reports whether a file is a log of changes, by its path.
func changeLog(file string) bool {
	file = strings.ToLower(file)
	base := path.Base(file)
	if ext := path.Ext(base); code[ext] || ext == ".docx" || ext == ".pdf" {
		return false
	}
	if slices.ContainsFunc(strings.Split(path.Dir(file), "/"), func(part string) bool { return logs[part] }) {
		return true
	}
	stem, _, _ := strings.Cut(base, ".")
	stem = strings.TrimRight(stem, "-_0123456789vx")
	return logs[stem] || strings.HasPrefix(base, "changelog") || strings.HasPrefix(base, "release-notes") || strings.HasPrefix(base, "release_notes")
}

// code are endings of files of code.
var code = text.Words(".go .py .ts .tsx .mts .cts .js .jsx .mjs .cjs .rb .rs .java .kt .c .h .cc .cpp .cs .php .swift .scala .ex .exs .lua .dart")

// sites are folders that commonly hold documentation for the users of a product.
var sites = text.Words("docs doc documentation website site www manual guide guides content")

// generators are files that lie in, or beside, the folder that a site is made of.
var generators = []string{
	"mkdocs.yml", "mkdocs.yaml", "docusaurus.config.js", "docusaurus.config.ts", "conf.py", "book.toml", "antora.yml", "mint.json", "docs.json", "hugo.toml", "hugo.yaml",
	"config.toml", "_config.yml", "astro.config.mjs", "astro.config.ts", "summary.md", "_sidebar.md", "gatsby-config.js", "next.config.js", "next.config.mjs",
}

// Bounds from which a folder of documents is a manual: the repository holds a product, and the folder many pages or the settings
// of a generator of sites.
const (
	productFiles = 10
	manualPages  = 30
	sitePages    = 5
)

// manuals returns the folders that hold the manual of a product, such as docs.
func manuals(paths []string) []string {
	product, pages, generated := 0, map[string]int{}, map[string]bool{}
	for _, p := range paths {
		low := strings.ToLower(p)
		root := siteRoot(low)
		if code[path.Ext(low)] && root == "" && byFolder(low) == "" {
			product++
		}
		if root != "" && page(low) {
			pages[root]++
		}
		if base := path.Base(low); slices.Contains(generators, base) {
			if root != "" {
				generated[root] = true
			}
			if dir := path.Dir(low); dir == "." { // mkdocs.yml is beside docs
				generated["docs"] = generated["docs"] || strings.HasPrefix(base, "mkdocs")
			}
		}
	}
	if product < productFiles {
		return nil
	}
	var out []string
	for root, n := range pages {
		if n >= manualPages || n >= sitePages && generated[root] {
			out = append(out, root)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return out
}

// siteRoot returns the outermost folder of a path that commonly holds documentation, within the first three; empty without one.
func siteRoot(file string) string {
	parts := strings.Split(path.Dir(file), "/")
	for i, part := range parts[:min(len(parts), 3)] {
		if sites[part] {
			return strings.Join(parts[:i+1], "/")
		}
	}
	return ""
}

// page reports whether a file is a document for people.
func page(file string) bool { return policy.Reader{}.Reads(file) }

// inward are words in the path of a page that is for the people who make the product.
var inward = text.Words(`
contributing contribute contributors contributor development developing developer developers devguide internals internal hacking maintainers maintainer
maintaining coding adr adrs decisions rfcs rfc engineering team process processes
`)

// topics are words that name policies elsewhere, and features of a product in its manual.
var topics = text.Words("security style standard standards terms controls checklist rules rule requirements convention conventions statute act")

// inManual reports whether a file is a page of a manual that does not regulate anything.
func (f *Filter) inManual(file string) bool {
	low := strings.ToLower(file)
	for _, root := range f.manuals {
		rest, ok := strings.CutPrefix(low, root+"/")
		if !ok || !page(file) {
			continue
		}
		words := strings.FieldsFunc(rest, func(r rune) bool { return r < 'a' || r > 'z' })
		return !slices.ContainsFunc(words, func(w string) bool { return inward[w] || !topics[w] && policy.Regulates(w) })
	}
	return false
}

// Tally counts the files that a scan leaves out, by reason.
type Tally struct{ groups []wire.Excluded }

// maxExamples bounds the files that are named for each reason.
const maxExamples = 5

// Add counts a file.
func (t *Tally) Add(reason, file string) {
	t.merge(wire.Excluded{Reason: reason, Files: 1, Examples: []string{file}})
}

// Merge adds what others have counted.
func (t *Tally) Merge(list []wire.Excluded) {
	for _, e := range list {
		t.merge(e)
	}
}

func (t *Tally) merge(e wire.Excluded) {
	i := slices.IndexFunc(t.groups, func(have wire.Excluded) bool { return have.Reason == e.Reason })
	if i < 0 {
		t.groups = append(t.groups, wire.Excluded{Reason: e.Reason})
		i = len(t.groups) - 1
	}
	g := &t.groups[i]
	g.Files += e.Files
	g.Examples = append(g.Examples, e.Examples[:min(len(e.Examples), maxExamples-len(g.Examples))]...)
}

// List returns the counts, the largest first.
func (t *Tally) List() []wire.Excluded {
	slices.SortStableFunc(t.groups, func(a, b wire.Excluded) int { return cmp.Compare(b.Files, a.Files) })
	return t.groups
}
