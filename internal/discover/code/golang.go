package code

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tenet/internal/discover/source"
	"tenet/internal/text"
)

// goUnit is one Go file while it is counted.
type goUnit struct {
	*unit
	fset *token.FileSet
	file *ast.File
}

// receivers are the names that the receivers of one type have.
type receivers struct {
	names   []string
	methods int
	at      place
}

// golang counts a Go file. One that does not compile is a problem and not counted.
func (u *unit) golang() *source.Problem {
	g := &goUnit{unit: u, fset: token.NewFileSet()}
	file, err := parser.ParseFile(g.fset, "", u.src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		p := &source.Problem{File: u.path, Reason: "it is not valid Go"}
		if list, ok := errors.AsType[scanner.ErrorList](err); ok && len(list) > 0 {
			p.Line, p.Reason = list[0].Pos.Line, p.Reason+": "+text.FitRunes(list[0].Msg, 200, "…")
		}
		return p
	}
	g.file = file
	g.header()
	g.imports()
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			g.function(d)
		case *ast.GenDecl:
			g.declaration(d)
		}
	}
	prints := 0
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if name := callee(n); strings.HasPrefix(name, "fmt.Print") {
				prints = g.line(n)
			}
			g.call(n)
		case *ast.BlockStmt:
			g.errorsChecked(n.List)
		case *ast.CaseClause:
			g.errorsChecked(n.Body)
		case *ast.BinaryExpr:
			g.comparison(n)
		case *ast.InterfaceType:
			if n.Methods.NumFields() == 0 {
				g.count("go.any", false, g.line(n))
			}
		case *ast.Field:
			if id, ok := n.Type.(*ast.Ident); ok && id.Name == "any" {
				g.count("go.any", true, g.line(id))
			}
			g.tag(n)
		}
		return true
	})
	if file.Name.Name != "main" && !u.test {
		if prints > 0 {
			g.count("go.print", false, prints)
		} else {
			g.count("go.print", true, g.line(file.Name))
		}
	}
	return nil
}

func (g *goUnit) line(n ast.Node) int { return g.fset.Position(n.Pos()).Line }

// header counts the package comment and where tests are.
func (g *goUnit) header() {
	dir := path.Dir(g.path)
	name := g.file.Name.Name
	switch {
	case g.test:
		where := "inside"
		if strings.HasSuffix(name, "_test") {
			where = "outside"
		}
		if strings.HasSuffix(g.path, "_test.go") {
			g.vote("go.testpackage", where, g.line(g.file.Name))
		}
		return
	case name == "main":
		g.survey.mains[strings.TrimPrefix(dir+"/*", "./")] = true
	}
	if _, seen := g.survey.docs[dir]; !seen {
		g.survey.docs[dir] = place{file: g.path, line: g.line(g.file.Name)}
	}
	if g.file.Doc != nil && !g.survey.documents[dir] {
		g.survey.documents[dir] = true
		g.survey.docs[dir] = place{file: g.path, line: g.line(g.file.Doc)}
	}
}

var loggers = map[string]string{
	"log/slog": "log/slog", "log": "log", "go.uber.org/zap": "zap", "github.com/rs/zerolog": "zerolog", "github.com/rs/zerolog/log": "zerolog",
	"github.com/sirupsen/logrus": "logrus",
}

// imports counts loggers and the groups of imports.
func (g *goUnit) imports() {
	lastStd, firstOther := 0, 0
	for _, i := range g.file.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		line := g.line(i)
		if logger, ok := loggers[p]; ok && !g.test {
			g.vote("go.logger", logger, line)
		}
		first, _, _ := strings.Cut(p, "/")
		switch {
		case p == "C":
		case !strings.Contains(first, ".") && standard[first]:
			lastStd = line
		case firstOther == 0:
			firstOther = line
		}
	}
	if lastStd > 0 && firstOther > 0 {
		g.count("go.imports", lastStd < firstOther-1, firstOther)
	}
}

// standard are the first parts of paths of the standard library; modules without a dot in their name are not in it.
var standard = text.Words(`
archive arena bufio bytes cmp compress container context crypto database debug embed encoding errors expvar flag fmt go hash
html image index io iter log maps math mime net os path plugin reflect regexp runtime slices sort strconv strings structs sync
syscall testing text time unicode unique unsafe weak
`)

func (g *goUnit) function(f *ast.FuncDecl) {
	name := f.Name.Name
	line := g.line(f.Name)
	if g.test {
		g.testFunction(f)
	} else {
		g.count("go.mixedcaps", !strings.Contains(strings.TrimLeft(name, "_"), "_"), line)
		g.documented(f.Name, f.Doc, f.Recv == nil || exportedReceiver(f))
	}
	g.initialism(f.Name)
	g.receiver(f)
	for i, p := range f.Type.Params.List {
		if sel, ok := p.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Context" && isName(sel.X, "context") && !g.test {
			g.count("go.context", i == 0, line)
		}
	}
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// receiverType returns the name of the type of a method.
func receiverType(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) != 1 {
		return ""
	}
	t := f.Recv.List[0].Type
	for {
		switch e := t.(type) {
		case *ast.StarExpr:
			t = e.X
		case *ast.IndexExpr:
			t = e.X
		case *ast.IndexListExpr:
			t = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

func exportedReceiver(f *ast.FuncDecl) bool { return ast.IsExported(receiverType(f)) }

func (g *goUnit) receiver(f *ast.FuncDecl) {
	name := receiverType(f)
	if name == "" || len(f.Recv.List[0].Names) != 1 || f.Recv.List[0].Names[0].Name == "_" {
		return
	}
	key := path.Dir(g.path) + "." + name
	r := g.survey.receivers[key]
	if r == nil {
		r = &receivers{at: place{file: g.path, line: g.line(f)}}
		g.survey.receivers[key] = r
	}
	r.methods++
	if own := f.Recv.List[0].Names[0].Name; !slices.Contains(r.names, own) && len(r.names) < 3 {
		r.names = append(r.names, own)
		if len(r.names) == 2 {
			r.at = place{file: g.path, line: g.line(f)}
		}
	}
}

// finishGo counts what takes all files of a package.
func (s *survey) finishGo() {
	for _, key := range sortedPlaces(s, s.receivers, func(r *receivers) place { return r.at }) {
		if r := s.receivers[key]; r.methods > 1 {
			s.vote("go.receiver", map[bool]string{true: "yes", false: "no"}[len(r.names) == 1], r.at)
		}
	}
	for _, dir := range sortedPlaces(s, s.docs, func(p place) place { return p }) {
		s.vote("go.packagedoc", map[bool]string{true: "yes", false: "no"}[s.documents[dir]], s.docs[dir])
	}
}

// sortedPlaces returns the keys of a map in the order of the files and lines of their places.
func sortedPlaces[T any](s *survey, m map[string]T, at func(T) place) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		pa, pb := at(m[a]), at(m[b])
		if d := s.order[pa.file] - s.order[pb.file]; d != 0 {
			return d
		}
		if pa.line != pb.line {
			return pa.line - pb.line
		}
		return strings.Compare(a, b)
	})
	return keys
}

func (g *goUnit) documented(name *ast.Ident, doc *ast.CommentGroup, reachable bool) {
	if !name.IsExported() || !reachable || g.file.Name.Name == "main" {
		return
	}
	text := ""
	if doc != nil {
		text = doc.Text()
	}
	for _, article := range []string{"A ", "An ", "The ", "Deprecated: "} {
		text = strings.TrimPrefix(text, article)
	}
	g.count("go.doc", strings.HasPrefix(text, name.Name), g.line(name))
}

func (g *goUnit) declaration(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			g.initialism(s.Name)
			if g.test {
				continue
			}
			g.count("go.mixedcaps", !strings.Contains(s.Name.Name, "_"), g.line(s.Name))
			doc := s.Doc
			if doc == nil && len(d.Specs) == 1 {
				doc = d.Doc
			}
			g.documented(s.Name, doc, true)
		case *ast.ValueSpec:
			g.sentinel(d, s)
		}
	}
}

func (g *goUnit) sentinel(d *ast.GenDecl, s *ast.ValueSpec) {
	if d.Tok != token.VAR || len(s.Names) != len(s.Values) || g.test {
		return
	}
	for i, v := range s.Values {
		if call, ok := v.(*ast.CallExpr); ok {
			if name := callee(call); name == "errors.New" || name == "fmt.Errorf" {
				own := s.Names[i].Name
				if own != "_" {
					g.count("go.sentinel", strings.HasPrefix(own, "Err") || strings.HasPrefix(own, "err"), g.line(s.Names[i]))
				}
			}
		}
	}
}

// initialisms as they are written in names that are wrong and right; the wrong ones end a word.
var (
	wrongInitialism = regexp.MustCompile(`(Id|Url|Uri|Http|Https|Json|Xml|Html|Api|Sql|Uuid|Ip|Tls|Csv)($|s$|[A-Z])`)
	rightInitialism = regexp.MustCompile(`(ID|URL|URI|HTTP|HTTPS|JSON|XML|HTML|API|SQL|UUID|IP|TLS|CSV)($|s$|[A-Z])`)
)

func (g *goUnit) initialism(name *ast.Ident) {
	switch {
	case strings.Contains(name.Name, "_"):
	case wrongInitialism.MatchString(name.Name):
		g.count("go.initialism", false, g.line(name))
	case rightInitialism.MatchString(name.Name):
		g.count("go.initialism", true, g.line(name))
	}
}

// testFunction counts habits of tests.
func (g *goUnit) testFunction(f *ast.FuncDecl) {
	if f.Body == nil || len(f.Type.Params.List) == 0 || f.Recv != nil {
		return
	}
	param := f.Type.Params.List[0]
	star, ok := param.Type.(*ast.StarExpr)
	testing := ok && isSelector(star.X, "testing", "T") || isSelector(param.Type, "testing", "TB")
	if !testing || len(param.Names) != 1 {
		return
	}
	t := param.Names[0].Name
	if strings.HasPrefix(f.Name.Name, "Test") {
		g.count("go.parallel", callsMethod(f.Body, t, "Parallel"), g.line(f))
		return
	}
	if callsMethod(f.Body, t, "Fatal", "Fatalf", "Error", "Errorf", "FailNow", "Fail") && f.Name.Name != "TestMain" {
		g.count("go.helper", callsMethod(f.Body, t, "Helper"), g.line(f))
	}
}

func isSelector(e ast.Expr, pkg, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == name && isName(sel.X, pkg)
}

func callsMethod(body *ast.BlockStmt, on string, methods ...string) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && !found {
			for _, m := range methods {
				found = found || isSelector(call.Fun, on, m)
			}
		}
		return !found
	})
	return found
}

// jsonName finds the name of a field in JSON.
var jsonName = regexp.MustCompile(`json:"([A-Za-z0-9_]+)`)

func (g *goUnit) tag(f *ast.Field) {
	if f.Tag == nil || g.test {
		return
	}
	m := jsonName.FindStringSubmatch(f.Tag.Value)
	if m == nil {
		return
	}
	if c := caseOf(m[1]); c != "" {
		g.vote("go.json", c, g.line(f.Tag))
	}
}

// startsLow reports whether a message is one that reads well inside another: it begins in lower case, or with a name in capitals,
// and does not end with a full stop.
func startsLow(s string) bool {
	r := []rune(s)
	if len(r) == 0 {
		return true
	}
	high := unicode.IsUpper(r[0]) && (len(r) == 1 || unicode.IsLower(r[1]))
	return !high && r[len(r)-1] != '.' && r[len(r)-1] != '!' && r[len(r)-1] != '\n'
}
