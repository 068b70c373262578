package importtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// allowMakers are the files that may use ALLOW as a value, or make a verdict of a text. All others may only compare with it, so that
// each ALLOW comes from the ledger.
var allowMakers = map[string]string{
	"internal/ledger/verdict.go":          "the only maker of an ALLOW of a rule",
	"internal/rule/values.go":             "the constant",
	"internal/rule/evaluation.go":         "the overall verdict, from those of the rules",
	"internal/rule/validate.go":           "the verdicts of examples that rules carry",
	"client/client.go":                    "the constant for users of the client",
	"internal/console/newcase.go":         "the expected verdict of a test case",
	"internal/sandbox/case.go":            "the expected verdict of a test case, and results that are stored",
	"internal/sandbox/run.go":             "the expected verdict of a test case",
	"internal/sandbox/propose.go":         "the expected verdicts of test cases",
	"internal/sandbox/generate.go":        "the expected verdicts of test cases",
	"internal/evaluate/record/quality.go": "the confidence of an ALLOW, from results that are stored",
	"internal/evaluate/record/list.go":    "verdicts that are stored",
	"internal/health/tally.go":            "verdicts that are stored",
	"internal/judge/probe/probe.go":       "the right answers of control rules",
	"internal/judge/stored.go":            "what a model said, for the ledger",
}

func TestAllowComesFromTheLedger(t *testing.T) {
	used := map[string]bool{}
	for _, dir := range []string{"internal", "client", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			if table[local(module+"/"+filepath.ToSlash(filepath.Dir(name)))].layer == support {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, use := range allowUses(file) {
				if used[name] = true; allowMakers[name] == "" {
					t.Errorf("%s %s; only ledger.Account.Decide makes an ALLOW", name, use)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range allowMakers {
		if !used[name] {
			t.Errorf("%s makes no ALLOW any more; take it out of the list", name)
		}
	}
}

// allowUses describes the places of a file that use ALLOW as a value, or convert a value to a verdict.
func allowUses(file *ast.File) []string {
	var uses []string
	compared := map[ast.Expr]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				compared[n.X], compared[n.Y] = true, true
			}
		case *ast.CaseClause:
			for _, e := range n.List {
				compared[e] = true
			}
		case *ast.CallExpr:
			if isVerdict(n.Fun, file, "Verdict") && !compared[n] {
				uses = append(uses, "converts to a verdict")
			}
		case ast.Expr:
			if isVerdict(n, file, "Allow") && !compared[n] {
				uses = append(uses, "uses ALLOW as a value")
			}
		}
		return true
	})
	return slices.Compact(uses)
}

// isVerdict reports whether an expression is a name of package rule.
func isVerdict(e ast.Expr, file *ast.File, name string) bool {
	if file.Name.Name == "rule" {
		id, ok := e.(*ast.Ident)
		return ok && id.Name == name && name == "Allow"
	}
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == name && fmt.Sprint(s.X) == "rule"
}

func TestAllowUses(t *testing.T) {
	for code, want := range map[string]int{
		"v.Verdict = rule.Allow":                            1,
		"x := rule.RuleVerdict{Verdict: rule.Allow}; _ = x": 1,
		"v.Verdict = rule.Verdict(s)":                       1,
		"f(rule.Allow)":                                     1,
		"if v.Verdict == rule.Allow { g() }":                0,
		"switch v.Verdict { case rule.Allow: g() }":         0,
		"switch rule.Verdict(s) { case rule.Deny: }":        1,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() {\n"+code+"\n}\n", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(allowUses(file)); got != want {
			t.Errorf("%s: %d uses, want %d", code, got, want)
		}
	}
}
