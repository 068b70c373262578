package importtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Bounds of what one name may ask a reader to hold in mind.
const (
	maxMethods   = 25 // declared on one type
	maxInterface = 15 // of one interface, those of embedded interfaces of this module included
	maxLines     = 500
)

// declared is what one tree of packages declares, by "package.Type".
type declared struct {
	methods    map[string]int
	interfaces map[string]*contract
	lines      map[string]int // by file
}

// contract is one interface: its own methods and the interfaces it embeds, as "package.Type".
type contract struct {
	methods  int
	embedded []string
}

// TestSizes holds types, interfaces and files to the bounds above.
func TestSizes(t *testing.T) {
	d, err := readDeclared(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.methods) < 100 || len(d.interfaces) < 10 {
		t.Fatalf("found only %d types and %d interfaces; the walk must have missed the others", len(d.methods), len(d.interfaces))
	}
	for _, wrong := range d.tooLarge() {
		t.Error(wrong)
	}
}

// tooLarge lists, a line each, what exceeds the bounds.
func (d *declared) tooLarge() []string {
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(d.methods)) {
		if n := d.methods[name]; n > maxMethods {
			wrong = append(wrong, fmt.Sprintf("%s has %d methods; %d are the most: split it by noun", name, n, maxMethods))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.interfaces)) {
		if n := d.count(name, map[string]bool{}); n > maxInterface {
			wrong = append(wrong, fmt.Sprintf("interface %s has %d methods; %d are the most: let each caller declare what it uses", name, n, maxInterface))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.lines)) {
		if n := d.lines[name]; n > maxLines {
			wrong = append(wrong, fmt.Sprintf("%s has %d lines; %d are the most: move a part to a file of its own", name, n, maxLines))
		}
	}
	return wrong
}

// count returns the number of methods of an interface and of those it embeds; seen guards against circles.
func (d *declared) count(name string, seen map[string]bool) int {
	c := d.interfaces[name]
	if c == nil || seen[name] {
		return 0
	}
	seen[name] = true
	n := c.methods
	for _, e := range c.embedded {
		n += d.count(e, seen)
	}
	return n
}

// readDeclared reads all files below a folder that belong to its module, but tests and generated files.
func readDeclared(root string) (*declared, error) {
	d := &declared{methods: map[string]int{}, interfaces: map[string]*contract{}, lines: map[string]int{}}
	err := filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			return skip(root, file, e.Name())
		}
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		if ast.IsGenerated(parsed) {
			return nil
		}
		pkg := local(module + "/" + filepath.ToSlash(dir))
		d.lines[path.Join(filepath.ToSlash(dir), path.Base(file))] = fset.File(parsed.FileStart).LineCount()
		d.add(pkg, parsed)
		return nil
	})
	return d, err
}

func (d *declared) add(pkg string, file *ast.File) {
	imports := map[string]string{} // package name to the name in the table
	for _, i := range file.Imports {
		to := local(strings.Trim(i.Path.Value, `"`))
		name := path.Base(to)
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = to
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv != nil {
				d.methods[pkg+"."+receiver(decl.Recv.List[0].Type)]++
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					if i, ok := s.Type.(*ast.InterfaceType); ok {
						d.interfaces[pkg+"."+s.Name.Name] = contractOf(pkg, i, imports)
					}
				}
			}
		}
	}
}

func contractOf(pkg string, i *ast.InterfaceType, imports map[string]string) *contract {
	c := &contract{}
	for _, f := range i.Methods.List {
		switch typ := f.Type.(type) {
		case *ast.FuncType:
			c.methods += len(f.Names)
		case *ast.Ident:
			c.embedded = append(c.embedded, pkg+"."+typ.Name)
		case *ast.SelectorExpr:
			if x, ok := typ.X.(*ast.Ident); ok {
				c.embedded = append(c.embedded, imports[x.Name]+"."+typ.Sel.Name)
			}
		}
	}
	return c
}

// receiver returns the name of a method's type without pointer and type parameters.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return fmt.Sprintf("%T", e)
}

// TestTooLarge exceeds every bound once.
func TestTooLarge(t *testing.T) {
	const small = `package small

import s "tenet/internal/store"

type Reader interface{ A(); B(); s.Rows }

func (r *row[T]) C() {}
func (r row[T]) D() {}
`
	file, err := parser.ParseFile(token.NewFileSet(), "small.go", small, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	d := &declared{
		methods:    map[string]int{"api.server": maxMethods + 1, "small.row": maxMethods - 1},
		interfaces: map[string]*contract{"store.Rows": {methods: maxInterface - 1, embedded: []string{"store.Rows"}}},
		lines:      map[string]int{"internal/api/api.go": maxLines + 1, "internal/rule/rule.go": maxLines},
	}
	d.add("small", file)
	want := []string{
		"api.server has 26 methods; 25 are the most: split it by noun",
		"small.row has 26 methods; 25 are the most: split it by noun",
		"interface small.Reader has 16 methods; 15 are the most: let each caller declare what it uses",
		"internal/api/api.go has 501 lines; 500 are the most: move a part to a file of its own",
	}
	if diff := cmp.Diff(want, d.tooLarge()); diff != "" {
		t.Errorf("too large (-want +got)\n%s", diff)
	}
}
