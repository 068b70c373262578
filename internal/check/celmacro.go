package check

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/parser"
)

// commandMacros are short forms of the questions that rules ask about a command. A macro is its long form from the parser on, so that costs,
// unknown values and evidence are those of the long form.
//
//	c.runs('rm', 'srm')     c.name in ['rm', 'srm']
//	c.says('^push$')        c.words.exists(w, w.matches('^push$'))
//	c.takes('^--force$')    c.args.exists(a, a.matches('^--force$'))
//	c.touches('^/etc/')     c.paths.exists(p, p.matches('^/etc/'))
//	c.writes('^/etc/')      c.redirects.exists(r, r.op in ['>', '>>', ...] && r.path.matches('^/etc/'))
//	c.changes('^/etc/')     it copies to, moves, deletes, edits in place or writes such a path
func commandMacros() cel.EnvOption {
	return cel.Macros(
		cel.ReceiverVarArgMacro("runs", func(f cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
			if len(args) == 0 {
				return nil, f.NewError(target.ID(), "runs needs the name of a program")
			}
			if err := quotedTexts(f, "runs", args); err != nil {
				return nil, err
			}
			return f.NewCall(operators.In, f.NewSelect(target, "name"), f.NewList(args...)), nil
		}),
		listMacro("says", "words", "w", nil),
		listMacro("takes", "args", "a", nil),
		listMacro("touches", "paths", "p", nil),
		listMacro("writes", "redirects", "r", writing),
		cel.ReceiverMacro("changes", 1, changes),
	)
}

// Programs that change files: the last path is the target of the first ones, every path one of the others.
var (
	copying  = []string{"cp", "mv", "ln", "install", "rsync", "ditto"}
	making   = []string{"tee", "touch", "mkdir", "mktemp", "sponge", "ed", "ex"}
	removing = []string{"mv", "rm", "unlink"}
	editing  = []string{"sed", "gsed", "perl", "ruby"}
)

// changes asks whether a command changes a path that matches a pattern.
func changes(f cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	if err := quotedTexts(f, "changes", args); err != nil {
		return nil, err
	}
	var broken *cel.Error
	c := func() ast.Expr { return f.Copy(target) }
	pattern := func() ast.Expr { return f.Copy(args[0]) }
	and := func(all ...ast.Expr) ast.Expr { return f.NewCall(operators.LogicalAnd, all...) }
	runs := func(names []string) ast.Expr {
		return f.NewCall(operators.In, f.NewSelect(c(), "name"), textList(f, names))
	}
	exists := func(list, element string, matches func(e ast.Expr) ast.Expr) ast.Expr {
		expr, err := parser.MakeExists(f, f.NewSelect(c(), list), []ast.Expr{f.NewIdent(element), matches(f.NewIdent(element))})
		if err != nil {
			broken = err
		}
		return expr
	}
	matching := func(e ast.Expr) ast.Expr { return f.NewMemberCall("matches", e, pattern()) }
	size := func() ast.Expr { return f.NewMemberCall("size", f.NewSelect(c(), "paths")) }
	last := f.NewCall(operators.Index, f.NewSelect(c(), "paths"), f.NewCall(operators.Subtract, size(), f.NewLiteral(types.Int(1))))
	inPlace := exists("words", "w", func(w ast.Expr) ast.Expr {
		return f.NewMemberCall("matches", w, f.NewLiteral(types.String("^(-[a-zA-Z]*i.*|--in-place.*)$")))
	})
	out := and(and(runs(copying), f.NewCall(operators.Greater, size(), f.NewLiteral(types.Int(0)))), matching(last))
	for _, way := range []ast.Expr{
		and(runs(making), exists("paths", "p", matching)),
		and(runs(removing), exists("paths", "p", matching)),
		and(and(runs(editing), inPlace), exists("paths", "p", matching)),
		exists("redirects", "r", func(r ast.Expr) ast.Expr {
			return and(writing(f, r), matching(f.NewSelect(f.Copy(r), "path")))
		}),
	} {
		out = f.NewCall(operators.LogicalOr, out, way)
	}
	return out, broken
}

func textList(f cel.MacroExprFactory, texts []string) ast.Expr {
	var list []ast.Expr
	for _, text := range texts {
		list = append(list, f.NewLiteral(types.String(text)))
	}
	return f.NewList(list...)
}

// listMacro makes the macro that asks whether an element of a list of a command matches a pattern. Condition is asked of the element first.
func listMacro(name, list, element string, condition func(cel.MacroExprFactory, ast.Expr) ast.Expr) cel.Macro {
	return cel.ReceiverMacro(name, 1, func(f cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		if err := quotedTexts(f, name, args); err != nil {
			return nil, err
		}
		e := func() ast.Expr { return f.NewIdent(element) }
		matched := e()
		if condition != nil {
			matched = f.NewSelect(e(), "path")
		}
		matches := f.NewMemberCall("matches", matched, args[0])
		if condition != nil {
			matches = f.NewCall(operators.LogicalAnd, condition(f, e()), matches)
		}
		return parser.MakeExists(f, f.NewSelect(target, list), []ast.Expr{e(), matches})
	})
}

// writing asks whether a redirection writes.
func writing(f cel.MacroExprFactory, redirect ast.Expr) ast.Expr {
	return f.NewCall(operators.In, f.NewSelect(redirect, "op"), textList(f, []string{">", ">>", ">|", "&>", "&>>", "<>"}))
}

// quotedTexts refuses arguments that are no texts in quotes.
func quotedTexts(f cel.MacroExprFactory, name string, args []ast.Expr) *cel.Error {
	for _, a := range args {
		if a.Kind() == ast.LiteralKind && a.AsLiteral().Type() == types.StringType {
			continue
		}
		return f.NewError(a.ID(), "the arguments of "+name+" must be texts in quotes")
	}
	return nil
}
