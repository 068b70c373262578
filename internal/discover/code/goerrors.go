package code

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// callee returns the function of a package that a call calls, such as fmt.Errorf; empty for other calls.
func callee(c *ast.CallExpr) string {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if id, ok := sel.X.(*ast.Ident); ok {
		return id.Name + "." + sel.Sel.Name
	}
	return ""
}

// errorName reports whether an expression is a name of an error.
func errorName(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && (id.Name == "err" || strings.HasSuffix(id.Name, "Err") || strings.HasPrefix(id.Name, "err") && len(id.Name) > 3 && id.Name[3] >= '0' && id.Name[3] <= 'Z')
}

// call counts how errors are made.
func (g *goUnit) call(c *ast.CallExpr) {
	name := callee(c)
	if name == "errors.Is" {
		g.count("go.errorsis", true, g.line(c))
	}
	if name != "errors.New" && name != "fmt.Errorf" || len(c.Args) == 0 || g.test {
		return
	}
	line := g.line(c)
	lit, ok := c.Args[0].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return
	}
	message, err := strconv.Unquote(lit.Value)
	if err != nil {
		return
	}
	g.count("go.errortext", startsLow(message), line)
	if len(c.Args) == 1 && !strings.Contains(message, "%") {
		g.count("go.errornew", name == "errors.New", line)
	}
	if name == "fmt.Errorf" && len(c.Args) > 1 {
		if slices.ContainsFunc(c.Args[1:], errorName) {
			g.count("go.wrap", strings.Contains(message, "%w"), line)
		}
	}
}

// comparison counts comparisons of an error with another one.
func (g *goUnit) comparison(b *ast.BinaryExpr) {
	if b.Op != token.EQL && b.Op != token.NEQ || !errorName(b.X) || isName(b.Y, "nil") {
		return
	}
	g.count("go.errorsis", false, g.line(b))
}

// errorsChecked counts, for each assignment of the result of a call to err, whether one of the next statements looks at it. A
// result that is assigned to the blank identifier alone is dropped.
func (g *goUnit) errorsChecked(list []ast.Stmt) {
	const near = 3 // statements, in which the other results may be put away
	if g.test {
		return
	}
	for i, s := range list {
		a, ok := s.(*ast.AssignStmt)
		if !ok || len(a.Rhs) != 1 {
			continue
		}
		last, named := a.Lhs[len(a.Lhs)-1].(*ast.Ident)
		if _, called := a.Rhs[0].(*ast.CallExpr); !called || !named {
			continue
		}
		switch {
		case last.Name == "_" && len(a.Lhs) == 1:
			g.count("go.checked", false, g.line(a))
		case last.Name == "err" && i+1 < len(list): // the last one of a block is looked at after the block
			looked := false
			for _, next := range list[i+1 : min(len(list), i+1+near)] {
				looked = looked || mentions(next, "err")
			}
			g.count("go.checked", looked, g.line(a))
		}
	}
}

// mentions reports whether a statement reads a name. Of a block only its head is looked at, and not into functions, so
// that the work stays in proportion.
func mentions(s ast.Stmt, name string) bool {
	var parts []ast.Node
	switch s := s.(type) {
	case *ast.IfStmt:
		parts = append(parts, s.Cond)
		if s.Init != nil {
			parts = append(parts, s.Init)
		}
	case *ast.SwitchStmt:
		if s.Tag != nil {
			parts = append(parts, s.Tag)
		} else {
			for _, c := range s.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					parts = append(parts, e)
				}
			}
		}
	case *ast.ForStmt, *ast.RangeStmt, *ast.SelectStmt, *ast.TypeSwitchStmt, *ast.BlockStmt, *ast.LabeledStmt:
		return false
	default:
		parts = append(parts, s)
	}
	found := false
	for _, p := range parts {
		ast.Inspect(p, func(n ast.Node) bool {
			if _, body := n.(*ast.FuncLit); body {
				return false
			}
			if id, ok := n.(*ast.Ident); ok && id.Name == name {
				found = true
			}
			return !found
		})
	}
	return found
}
