package code

import (
	"errors"
	"go/ast"
	"go/parser"
	goscanner "go/scanner"
	gotoken "go/token"
	"slices"
	"strconv"
	"strings"
)

// golang finds the facts of a file of Go in its syntax tree.
type golang struct {
	src  string
	file *gotoken.File
	f    *Facts
	full bool
}

// readGo reads a file of Go. Of one that does not parse it returns the facts by tokens, with a doubt.
func readGo(file, src string, byTokens *Facts) *Facts {
	set := gotoken.NewFileSet()
	tree, err := parser.ParseFile(set, file, src, parser.SkipObjectResolution)
	if err != nil {
		byTokens.Doubt = "it does not parse: " + parseError(err)
		return byTokens
	}
	g := &golang{src: src, file: set.File(tree.Pos()), f: &Facts{Package: tree.Name.Name}}
	ast.Inspect(tree, func(n ast.Node) bool {
		g.node(n)
		return !g.full
	})
	if g.full {
		g.f.Doubt = "it has too many facts"
	}
	return g.f
}

// parseError returns the first error with its line.
func parseError(err error) string {
	if list, ok := errors.AsType[goscanner.ErrorList](err); ok && len(list) > 0 {
		return "line " + itoa(list[0].Pos.Line) + ": " + fit(list[0].Msg, maxName)
	}
	return fit(err.Error(), maxName)
}

func itoa(n int) string { return strconv.Itoa(n) }

func (g *golang) span(n ast.Node) Span {
	return Span{Line: g.file.Line(n.Pos()), End: g.file.Line(n.End()), at: g.file.Offset(n.Pos())}
}

// text returns a part of the source on one line.
func (g *golang) text(n ast.Node) string {
	from, to := g.file.Offset(n.Pos()), g.file.Offset(n.End())
	return fit(strings.Join(strings.Fields(g.src[from:min(to, from+2*maxText)]), " "), maxText)
}

func (g *golang) node(n ast.Node) {
	f := g.f
	switch n := n.(type) {
	case *ast.ImportSpec:
		module, err := strconv.Unquote(n.Path.Value)
		if err != nil {
			return
		}
		alias := goName(module)
		if n.Name != nil {
			alias = n.Name.Name
		}
		f.Imports = append(f.Imports, Import{g.span(n), fit(module, maxName), "", fit(module, maxName), alias})
	case *ast.CallExpr:
		c := Call{Span: g.span(n), Name: fit(goExpr(n.Fun, 0), maxName), Constant: true}
		for _, a := range n.Args {
			if len(c.Args) < maxArgs {
				c.Args = append(c.Args, g.text(a))
			}
			c.Constant = c.Constant && constantExpr(a, 0)
		}
		f.Calls = append(f.Calls, c)
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			right := n.Rhs[min(i, len(n.Rhs)-1)]
			f.Assignments = append(f.Assignments, Assignment{g.span(n), fit(goExpr(left, 0), maxName), g.text(right), constantExpr(right, 0)})
		}
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if len(n.Values) > 0 {
				right := n.Values[min(i, len(n.Values)-1)]
				f.Assignments = append(f.Assignments, Assignment{g.span(n), fit(name.Name, maxName), g.text(right), constantExpr(right, 0)})
			}
		}
	case *ast.BasicLit:
		if n.Kind == gotoken.STRING {
			if s, err := strconv.Unquote(n.Value); err == nil {
				f.Strings = append(f.Strings, String{g.span(n), s})
			}
		}
	}
	g.full = max(len(f.Calls), len(f.Imports), len(f.Assignments), len(f.Strings)) >= maxFacts
}

// goExpr returns the name of what is called or assigned.
func goExpr(e ast.Expr, depth int) string {
	if depth > maxSteps {
		return ""
	}
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return goExpr(e.X, depth+1) + "." + e.Sel.Name
	case *ast.ParenExpr:
		return goExpr(e.X, depth+1)
	case *ast.StarExpr:
		return goExpr(e.X, depth+1)
	case *ast.CallExpr:
		return goExpr(e.Fun, depth+1) + "()"
	case *ast.IndexExpr:
		if _, isType := e.Index.(*ast.BasicLit); !isType {
			return goExpr(e.X, depth+1)
		}
		return goExpr(e.X, depth+1) + "[]"
	case *ast.IndexListExpr:
		return goExpr(e.X, depth+1)
	case *ast.ArrayType:
		return "[]" + goExpr(e.Elt, depth+1)
	case *ast.BasicLit:
		return `""`
	case *ast.TypeAssertExpr:
		return goExpr(e.X, depth+1) + "()"
	}
	return "()"
}

// constantExpr reports whether an expression has literals only.
func constantExpr(e ast.Expr, depth int) bool {
	if depth > maxSteps {
		return false
	}
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		return slices.Contains(constants, e.Name)
	case *ast.ParenExpr:
		return constantExpr(e.X, depth+1)
	case *ast.UnaryExpr:
		return constantExpr(e.X, depth+1)
	case *ast.BinaryExpr:
		return constantExpr(e.X, depth+1) && constantExpr(e.Y, depth+1)
	case *ast.KeyValueExpr:
		return constantExpr(e.Value, depth+1)
	case *ast.CompositeLit:
		return !slices.ContainsFunc(e.Elts, func(x ast.Expr) bool { return !constantExpr(x, depth+1) })
	}
	return false
}
