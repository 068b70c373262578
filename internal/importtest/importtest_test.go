package importtest

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	module = "tenet"
	root   = "../.."
)

// pkg is a package as it stands in the tree: which imports its files and its test files name.
type pkg struct {
	imports, tests []string
}

func TestArrows(t *testing.T) {
	packages, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 10 {
		t.Fatalf("found only the packages %v; the walk must have missed the others", slices.Sorted(maps.Keys(packages)))
	}
	for _, wrong := range violations(packages) {
		t.Error(wrong)
	}
	for _, wrong := range unused(packages) {
		t.Error(wrong)
	}
}

// unused lists, a line each, rows without a package and arrows that no import needs.
func unused(packages map[string]pkg) []string {
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(table)) {
		p, ok := packages[name]
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s has a row and no files; delete the row", name))
			continue
		}
		for _, to := range table[name].imports {
			if !slices.ContainsFunc(p.imports, func(path string) bool { return local(path) == to }) {
				wrong = append(wrong, fmt.Sprintf("%s does not import %s; take it out of its row", name, to))
			}
		}
	}
	return wrong
}

// TestTable checks that the rows themselves keep the law of the layers.
func TestTable(t *testing.T) {
	for name, r := range table {
		for _, to := range r.imports {
			target, ok := table[to]
			switch {
			case !ok:
				t.Errorf("%s may import %s, which has no row", name, to)
			case r.layer == nouns && target.layer != nouns:
				t.Errorf("%s may import %s; it must import the standard library and nouns only", name, to)
			case r.layer == support:
				// Written for the tests of any layer.
			case target.layer > r.layer:
				t.Errorf("%s may import %s, which lies above it", name, to)
			case target.layer == capability && r.layer == capability:
				t.Errorf("%s may import %s; capabilities take what they need of each other as small interfaces from app", name, to)
			}
		}
	}
}

// violations tells, a line for each, where packages break the table.
func violations(packages map[string]pkg) []string {
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		p := packages[name]
		if vague[path.Base(name)] {
			wrong = append(wrong, fmt.Sprintf("%s: name the package after what it gives", name))
		}
		r, ok := table[name]
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s has no row; add it to the table of this test", name))
			continue
		}
		for _, to := range p.imports {
			if why := forbidden(name, r, to); why != "" {
				wrong = append(wrong, fmt.Sprintf("%s imports %s: %s", name, to, why))
			}
		}
		for _, to := range p.tests {
			if own := local(to); own != "" && !testMay(name, r, own) {
				wrong = append(wrong, fmt.Sprintf("a test of %s imports %s, which its row does not allow", name, to))
			}
		}
	}
	return wrong
}

// forbidden says why a package may not import a path outside its tests; empty if it may.
func forbidden(name string, r row, to string) string {
	if own := local(to); own != "" {
		switch {
		case r.layer != support && table[own].layer == support:
			return "it is for tests only"
		case table[own].layer == nouns && r.layer != nouns:
			return "" // every package may use them
		case !slices.Contains(r.imports, own):
			return "its row does not allow it"
		}
		return ""
	}
	first, _, _ := strings.Cut(to, "/")
	if r.layer == nouns && strings.Contains(first, ".") {
		return "it must import the standard library only"
	}
	for prefix, at := range homes {
		if (to == prefix || strings.HasPrefix(to, prefix+"/")) && !slices.Contains(at, name) {
			return "only " + strings.Join(at, ", ") + " may"
		}
	}
	return ""
}

func testMay(name string, r row, to string) bool {
	target := table[to].layer
	return to == name || target == nouns || target == block || target == support ||
		slices.Contains(r.imports, to) || slices.Contains(r.tests, to)
}

// local is the name in the table of an import path of this module; empty for all others.
func local(importPath string) string {
	rest, ok := strings.CutPrefix(importPath, module+"/")
	if !ok {
		return ""
	}
	if inner, ok := strings.CutPrefix(rest, "internal/"); ok {
		return inner
	}
	return "/" + rest
}

// read finds all packages below a folder that belong to its module. It parses the files itself, because then the test
// cache knows that the result depends on them.
func read(root string) (map[string]pkg, error) {
	packages := map[string]pkg{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(root, file, d.Name())
		}
		if path.Ext(file) != ".go" {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		name := local(module + "/" + filepath.ToSlash(dir))
		p := packages[name]
		for _, i := range parsed.Imports {
			to := strings.Trim(i.Path.Value, "\"`")
			if strings.HasSuffix(file, "_test.go") {
				p.tests = append(p.tests, to)
			} else {
				p.imports = append(p.imports, to)
			}
		}
		packages[name] = p
		return nil
	})
	for name, p := range packages {
		slices.Sort(p.imports)
		slices.Sort(p.tests)
		packages[name] = pkg{slices.Compact(p.imports), slices.Compact(p.tests)}
	}
	return packages, err
}

// skip leaves out folders that the go command leaves out, and other modules.
func skip(root, dir, name string) error {
	if dir == root {
		return nil
	}
	if name == "testdata" || name == "vendor" || name[0] == '.' || name[0] == '_' {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

// TestViolations breaks every law once, so that the checks above cannot lose their teeth.
func TestViolations(t *testing.T) {
	got := violations(map[string]pkg{
		"rule":     {imports: []string{"strings", "github.com/google/uuid", "tenet/internal/store"}},
		"corpus":   {imports: []string{"tenet/internal/rule", "tenet/internal/catalog", "database/sql"}},
		"catalog":  {imports: []string{"tenet/internal/evaluate", "tenet/internal/store/pgtest"}, tests: []string{"tenet/internal/evaluate", "tenet/internal/store/pgtest", "tenet/internal/llm"}},
		"api":      {imports: []string{"github.com/prometheus/client_golang/prometheus", "tenet/internal/app"}, tests: []string{"tenet/internal/app"}},
		"util":     {},
		"/packs":   {imports: []string{"embed", "tenet/internal/check"}},
		"evaluate": {imports: []string{"tenet/internal/rule", "log/slog"}, tests: []string{"tenet/internal/evaluate"}},
	})
	want := []string{
		"/packs imports tenet/internal/check: its row does not allow it",
		"api imports tenet/internal/app: its row does not allow it",
		"catalog imports tenet/internal/evaluate: its row does not allow it",
		"catalog imports tenet/internal/store/pgtest: it is for tests only",
		"a test of catalog imports tenet/internal/evaluate, which its row does not allow",
		"corpus imports tenet/internal/catalog: its row does not allow it",
		"corpus imports database/sql: only store/sqlstore, store/pgtest may",
		"rule imports github.com/google/uuid: it must import the standard library only",
		"rule imports tenet/internal/store: its row does not allow it",
		"util: name the package after what it gives",
		"util has no row; add it to the table of this test",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want +got)\n%s", diff)
	}
}
