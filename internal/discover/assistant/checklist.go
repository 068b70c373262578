package assistant

import (
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"tenet/internal/discover/prose"
	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// Limits of a checklist.
const (
	maxChecklist = 256 << 10 // bytes
	maxDepth     = 16
	maxKeys      = 5_000 // over which the parser takes time with their square
)

// readChecklist reads pr_compliance_checklist.yaml: a list of items with title, objective, and the criteria of success and failure.
func readChecklist(file, s string) ([]source.Found, []source.Problem) {
	wrong := func(line int, reason string) ([]source.Found, []source.Problem) {
		return nil, []source.Problem{{File: file, Line: line, Reason: reason}}
	}
	if len(s) > maxChecklist {
		return wrong(0, "the checklist is larger than 256 KiB")
	}
	tokens := lexer.Tokenize(s)
	if line, reason := harm(tokens); reason != "" {
		return wrong(line, reason)
	}
	parsed, err := parser.Parse(tokens, 0)
	if err != nil {
		return wrong(0, "it is not YAML: "+text.OneLine(err.Error()))
	}
	var found []source.Found
	lines := splitLines(s)
	for _, doc := range parsed.Docs {
		for _, item := range items(doc.Body) {
			if f, ok := checklistRule(file, item, lines); ok {
				found = append(found, f)
			}
		}
	}
	if len(found) == 0 {
		return wrong(0, "it holds no list of items with a title or an objective")
	}
	return found, nil
}

// harm finds what lets a small file grow large or deep when it is read.
func harm(tokens token.Tokens) (line int, reason string) {
	depth, keys := 0, 0
	for _, t := range tokens {
		switch t.Type { //nolint:exhaustive // only these can do harm
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return t.Position.Line, "anchors, aliases and merge keys are not read in checklists"
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.MappingValueType, token.MappingKeyType, token.DocumentHeaderType, token.DocumentEndType:
			keys++
		}
		if keys > maxKeys {
			return t.Position.Line, "the checklist has more than " + strconv.Itoa(maxKeys) + " keys"
		}
		if depth > maxDepth || t.Position.IndentNum > 4*maxDepth {
			return t.Position.Line, "the checklist is nested too deeply"
		}
	}
	return 0, ""
}

// items returns the mappings of the first list: the document itself, or the value of one of its keys.
func items(n ast.Node) []*ast.MappingNode {
	switch n := n.(type) {
	case *ast.SequenceNode:
		var out []*ast.MappingNode
		for _, v := range n.Values {
			if m, ok := v.(*ast.MappingNode); ok {
				out = append(out, m)
			}
		}
		return out
	case *ast.MappingNode:
		for _, v := range n.Values {
			if s, ok := v.Value.(*ast.SequenceNode); ok {
				return items(s)
			}
		}
	}
	return nil
}

// checklistRule makes a candidate of an item.
func checklistRule(file string, item *ast.MappingNode, lines []string) (source.Found, bool) {
	values := map[string]string{}
	begin, end := 0, 0
	for _, v := range item.Values {
		name, value := strings.ToLower(v.Key.String()), scalarOf(v.Value)
		if line := v.Key.GetToken().Position.Line; begin == 0 || line < begin {
			begin = line
		}
		end = max(end, v.Key.GetToken().Position.Line, lastLine(v.Value))
		values[name] = value
	}
	title, objective := values["title"], values["objective"]
	statement := objective
	if statement == "" {
		statement = title
	}
	if statement == "" || begin < 1 || begin > len(lines) || len(statement) > rule.MaxStatement {
		return source.Found{}, false
	}
	n := prose.Judge(statement)
	end = min(max(end, begin), len(lines))
	f := source.Found{
		Kind: wire.AssistantMD, Statement: statement, Modality: n.Modality, Severity: n.Severity, Tags: n.Tags(""), Exceptions: n.Exceptions,
		Rationale: criteria(values), File: file, Line: begin, EndLine: end, Quote: quoteOf(lines[begin-1 : end]), Section: title,
		Method: "item of a compliance checklist", Confidence: checklistPrecision,
	}
	return f, true
}

// checklistPrecision is given, not measured: every item of a checklist is there to be kept.
const checklistPrecision = 0.95

// criteria says when an item is kept and when it is not.
func criteria(values map[string]string) string {
	var parts []string
	for _, c := range []struct{ key, text string }{{"success_criteria", "Kept when: "}, {"failure_criteria", "Broken when: "}} {
		if v := values[c.key]; v != "" && len(v) < 2000 {
			parts = append(parts, c.text+strings.TrimRight(v, ".")+".")
		}
	}
	return strings.Join(parts, " ")
}

// lastLine returns the line that a value ends at.
func lastLine(n ast.Node) int {
	t := n.GetToken()
	if l, ok := n.(*ast.LiteralNode); ok { // its text begins below the sign
		return l.Start.Position.Line + 1 + strings.Count(strings.TrimSpace(l.Value.GetToken().Origin), "\n")
	}
	return t.Position.Line + strings.Count(strings.TrimSpace(t.Origin), "\n")
}

// scalarOf returns the text of a value, on one line; empty for lists and mappings.
func scalarOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return text.OneLine(n.Value)
	case *ast.LiteralNode:
		return text.OneLine(n.Value.Value)
	}
	return ""
}
