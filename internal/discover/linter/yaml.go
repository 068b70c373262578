package linter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"tenet/internal/text"
)

// readYAML reads the first document of a YAML file.
func readYAML(src string) (*node, error) {
	if line := tooDeep(src); line > 0 {
		return nil, &syntaxError{line: line, reason: "values are nested too deep"}
	}
	if line := tooMany(src); line > 0 {
		return nil, &syntaxError{line: line, reason: fmt.Sprintf("there are more than %d keys", maxKeys)}
	}
	file, err := parser.ParseBytes([]byte(src), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, yamlError(err)
	}
	y := &yamlReader{anchors: map[string]ast.Node{}, open: map[string]bool{}}
	for _, doc := range file.Docs {
		if doc.Body != nil {
			return y.read(doc.Body, 0)
		}
	}
	return nil, nil
}

func yamlError(err error) error {
	e := &syntaxError{reason: "it is not valid YAML"}
	if s, ok := errors.AsType[*yaml.SyntaxError](err); ok {
		e.reason += ": " + text.FitRunes(s.Message, 200, "…")
		if s.Token != nil && s.Token.Position != nil {
			e.line = s.Token.Position.Line
		}
	}
	return e
}

// tooDeep returns the line where brackets, or dashes on one line, nest too deep for a parser that calls itself; 0 if none does. It
// counts brackets in texts too, which is why it allows more than [maxDepth].
func tooDeep(src string) int {
	const most = 500
	depth := 0
	line := 0
	for l := range strings.Lines(src) {
		line++
		dashes := 0
		for _, c := range []byte(l) {
			switch c {
			case '[', '{':
				depth++
			case ']', '}':
				depth = max(0, depth-1)
			case '-', '?', ':':
				dashes++
			}
			if depth > most {
				return line
			}
		}
		if rest := strings.TrimLeft(l, " -?:"); dashes > most && len(l)-len(rest) > most {
			return line
		}
	}
	return 0
}

// tooMany returns the line at which keys and documents exceed [maxKeys]; 0 if none does. It takes a colon in a text for a key, so
// maxKeys is more than settings files need.
func tooMany(src string) int {
	keys, line := 0, 0
	for l := range strings.Lines(src) {
		line++
		l = strings.TrimRight(l, "\r\n")
		for i := range len(l) {
			switch c := l[i]; {
			case c == ':' && (i+1 == len(l) || strings.IndexByte(" \t,]}\"'", l[i+1]) >= 0 || i > 0 && (l[i-1] == '"' || l[i-1] == '\'')),
				c == '?' && (i+1 == len(l) || l[i+1] == ' ' || l[i+1] == '\t'):
				keys++
			}
		}
		if strings.HasPrefix(l, "---") || strings.HasPrefix(l, "...") {
			keys++
		}
		if keys > maxKeys {
			return line
		}
	}
	return 0
}

// yamlReader turns the tree of the parser into nodes. Aliases are written out, as often as [maxNodes] allows; one that leads back
// to itself is an error.
type yamlReader struct {
	anchors map[string]ast.Node
	open    map[string]bool
	nodes   int
}

func (y *yamlReader) read(from ast.Node, depth int) (*node, error) {
	if from == nil {
		return nil, nil
	}
	line := 0
	if t := from.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	if y.nodes++; y.nodes > maxNodes {
		return nil, &syntaxError{line: line, reason: "there are too many values, with aliases written out"}
	}
	if depth > maxDepth {
		return nil, &syntaxError{line: line, reason: "values are nested too deep"}
	}
	switch v := from.(type) {
	case *ast.MappingNode:
		return y.mapping(v.Values, line, depth)
	case *ast.MappingValueNode:
		return y.mapping([]*ast.MappingValueNode{v}, line, depth)
	case *ast.SequenceNode:
		n := &node{form: list, line: line, end: line}
		for _, item := range v.Values {
			read, err := y.read(item, depth+1)
			if err != nil {
				return nil, err
			}
			if read == nil {
				read = &node{line: line, end: line}
			}
			n.items = append(n.items, read)
			n.end = max(n.end, read.end)
		}
		return n, nil
	case *ast.TagNode:
		return y.read(v.Value, depth+1)
	case *ast.AnchorNode:
		if v.Name != nil {
			y.anchors[v.Name.String()] = v.Value
		}
		return y.read(v.Value, depth+1)
	case *ast.AliasNode:
		return y.alias(v, line, depth)
	}
	return yamlScalar(from, line), nil
}

func (y *yamlReader) alias(v *ast.AliasNode, line, depth int) (*node, error) {
	name := ""
	if v.Value != nil {
		name = v.Value.String()
	}
	target, ok := y.anchors[name]
	if !ok || y.open[name] {
		return nil, &syntaxError{line: line, reason: "an alias leads nowhere, or back to itself"}
	}
	y.open[name] = true
	n, err := y.read(target, depth+1)
	delete(y.open, name)
	return n, err
}

func (y *yamlReader) mapping(values []*ast.MappingValueNode, line, depth int) (*node, error) {
	n := &node{form: table, line: line, end: line}
	for i, v := range values {
		key := v.Key.GetToken()
		if key == nil || key.Position == nil {
			continue
		}
		at := key.Position.Line
		if i == 0 {
			n.line = at
		}
		value, err := y.read(v.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if _, merge := v.Key.(*ast.MergeKeyNode); merge && value != nil && value.form == table {
			n.pairs = append(n.pairs, value.pairs...)
			continue
		}
		p := pair{key: key.Value, line: at, value: value}
		n.pairs = append(n.pairs, p)
		n.end = max(n.end, p.last())
	}
	return n, nil
}

func yamlScalar(from ast.Node, line int) *node {
	n := &node{form: str, line: line, end: line}
	switch v := from.(type) {
	case *ast.NullNode:
		n.form = nothing
	case *ast.BoolNode:
		n.form, n.text = truth, "false"
		if v.Value {
			n.text = "true"
		}
	case *ast.IntegerNode, *ast.FloatNode:
		n.form, n.text = number, from.GetToken().Value
	case *ast.StringNode:
		n.text = v.Value
	case *ast.LiteralNode:
		if v.Value != nil {
			n.text = v.Value.Value
		}
		n.end = line + strings.Count(strings.TrimRight(n.text, "\n"), "\n") + 1
	default:
		n.text = text.FitRunes(from.String(), 1000, "…")
	}
	return n
}
