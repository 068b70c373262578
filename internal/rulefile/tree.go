package rulefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// nodeKind is the kind of a node of a file as it is written.
type nodeKind int

const (
	isNull nodeKind = iota
	isText
	isNumber // with a fraction, or beyond an integer
	isWhole
	isTruth
	isList
	isObject
)

func (k nodeKind) String() string {
	return [...]string{"nothing", "text", "a number", "an integer", "true or false", "a list", "a mapping"}[k]
}

// node is a value of a file with its place.
type node struct {
	kind         nodeKind
	text         string // of a scalar
	line, column int    // from 1
	width        int    // columns that it takes on its line
	keys         []key
	items        []*node
}

type key struct {
	name  *node
	value *node
}

func (n *node) get(name string) *node {
	for _, k := range n.keys {
		if k.name.text == name {
			return k.value
		}
	}
	return nil
}

// without returns a copy of a value without the fields whose name or value is wrong; nil if the value itself or an entry of it as a list is.
func (n *node) without(wrong map[*node]bool) *node {
	if wrong[n] {
		return nil
	}
	rest := *n
	rest.keys, rest.items = nil, nil
	for _, item := range n.items {
		inner := item.without(wrong)
		if inner == nil {
			return nil
		}
		rest.items = append(rest.items, inner)
	}
	for _, k := range n.keys {
		if value := k.value.without(wrong); value != nil && !wrong[k.name] {
			rest.keys = append(rest.keys, key{k.name, value})
		}
	}
	return &rest
}

// at returns a node with the place of a token.
func at(k nodeKind, t *token.Token, text string) *node {
	n := &node{kind: k, text: text, line: 1, column: 1, width: 1}
	if t != nil && t.Position != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(t.Origin), "\n")
		n.line, n.column, n.width = t.Position.Line, t.Position.Column, max(1, utf8.RuneCountInString(first))
	}
	return n
}

// fromYAML builds the tree of a node of YAML.
func fromYAML(from ast.Node) (*node, error) {
	switch y := from.(type) {
	case nil:
		return &node{line: 1, column: 1, width: 1}, nil
	case *ast.NullNode:
		return at(isNull, y.GetToken(), ""), nil
	case *ast.StringNode:
		return at(isText, y.GetToken(), y.Value), nil
	case *ast.LiteralNode:
		return at(isText, y.Start, y.Value.Value), nil
	case *ast.IntegerNode:
		return at(isWhole, y.GetToken(), y.GetToken().Value), nil
	case *ast.FloatNode:
		return at(isNumber, y.GetToken(), y.GetToken().Value), nil
	case *ast.InfinityNode, *ast.NanNode:
		return at(isNumber, y.GetToken(), y.GetToken().Value), nil
	case *ast.BoolNode:
		return at(isTruth, y.GetToken(), y.GetToken().Value), nil
	case *ast.SequenceNode:
		n := at(isList, y.GetToken(), "")
		for _, v := range y.Values {
			item, err := fromYAML(v)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
		return n, nil
	case *ast.MappingNode:
		return mapping(y.GetToken(), y.Values)
	case *ast.MappingValueNode:
		return mapping(y.Key.GetToken(), []*ast.MappingValueNode{y})
	case *ast.TagNode:
		if y.Start == nil || y.Start.Value != "!!str" {
			return nil, &Problem{Line: y.GetToken().Position.Line, Column: y.GetToken().Position.Column, Message: "tags other than !!str are not supported in rule files"}
		}
		n, err := fromYAML(y.Value)
		if err == nil && n.kind < isList {
			n.kind = isText
		}
		return n, err
	case *ast.CommentGroupNode:
		return at(isNull, y.GetToken(), ""), nil
	}
	t := from.GetToken()
	return nil, &Problem{Line: t.Position.Line, Column: t.Position.Column, Message: "is not supported in rule files: " + from.Type().String()}
}

func mapping(start *token.Token, values []*ast.MappingValueNode) (*node, error) {
	n := at(isObject, start, "")
	for i, v := range values {
		name := at(isText, v.Key.GetToken(), v.Key.GetToken().Value)
		if i == 0 {
			n.line, n.column, n.width = name.line, name.column, name.width
		}
		value, err := fromYAML(v.Value)
		if err != nil {
			return nil, err
		}
		if value.kind == isNull || value.kind == isObject || value.kind == isList { // an empty value has no place of its own
			value.line, value.column, value.width = name.line, name.column, name.width
		}
		n.keys = append(n.keys, key{name, value})
	}
	return n, nil
}

// jsonReader builds the tree of a file in JSON.
type jsonReader struct {
	dec   *json.Decoder
	data  []byte
	lines []int // offsets at which lines begin
	depth int
}

func fromJSON(data []byte) (*node, error) {
	r := &jsonReader{dec: json.NewDecoder(bytes.NewReader(data)), data: data, lines: []int{0}}
	r.dec.UseNumber()
	for i, c := range data {
		if c == '\n' {
			r.lines = append(r.lines, i+1)
		}
	}
	n, err := r.value()
	if err == nil {
		if _, err = r.dec.Token(); errors.Is(err, io.EOF) {
			return n, nil
		}
		end := r.place(r.dec.InputOffset())
		return nil, &Problem{Line: end.line, Column: end.column, Message: "the file holds more than one JSON value"}
	}
	if p, ok := errors.AsType[*Problem](err); ok {
		return nil, p
	}
	end := r.place(r.dec.InputOffset())
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		end = r.place(max(e.Offset-1, 0))
	}
	return nil, &Problem{Line: end.line, Column: end.column, Message: "the rule file is not valid JSON: " + strings.TrimPrefix(err.Error(), "json: ")}
}

// place returns a node at an offset behind which a value begins.
func (r *jsonReader) place(offset int64) *node {
	i := min(int(offset), len(r.data))
	for i < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[i]) >= 0 {
		i++
	}
	line := sort.SearchInts(r.lines, i+1) - 1
	return &node{line: line + 1, column: utf8.RuneCount(r.data[r.lines[line]:i]) + 1, width: 1}
}

func (r *jsonReader) value() (*node, error) {
	n := r.place(r.dec.InputOffset())
	begin := r.dec.InputOffset()
	t, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	n.width = max(1, utf8.RuneCount(bytes.TrimLeft(r.data[begin:r.dec.InputOffset()], " \t\r\n,:")))
	switch t := t.(type) {
	case nil:
		n.kind = isNull
	case string:
		n.kind, n.text = isText, t
	case bool:
		n.kind, n.text = isTruth, fmt.Sprint(t)
	case json.Number:
		n.kind, n.text = isWhole, t.String()
		if strings.ContainsAny(n.text, ".eE") {
			n.kind = isNumber
		}
	case json.Delim:
		return n, r.inside(n, t)
	}
	return n, nil
}

func (r *jsonReader) inside(n *node, open json.Delim) error {
	if r.depth++; r.depth > maxDepth {
		return &Problem{Line: n.line, Column: n.column, Message: "the file is nested too deeply"}
	}
	seen := map[string]bool{}
	n.kind = isList
	if open == '{' {
		n.kind = isObject
	}
	for r.dec.More() {
		if n.kind == isList {
			item, err := r.value()
			if err != nil {
				return err
			}
			n.items = append(n.items, item)
			continue
		}
		name, err := r.value()
		if err != nil {
			return err
		}
		if seen[name.text] {
			return &Problem{Line: name.line, Column: name.column, Width: name.width, Message: fmt.Sprintf("the key %q is there twice", name.text)}
		}
		seen[name.text] = true
		v, err := r.value()
		if err != nil {
			return err
		}
		n.keys = append(n.keys, key{name, v})
	}
	r.depth--
	_, err := r.dec.Token()
	return err
}

// plain returns what JSON decodes a tree to, with days as times.
func (n *node) plain(s *shape) any {
	switch n.kind {
	case isNull:
		return nil
	case isWhole, isNumber:
		return json.Number(n.text)
	case isTruth:
		return n.text == "true"
	case isList:
		out := []any{}
		for _, item := range n.items {
			var inner *shape
			if s != nil {
				inner = s.items
			}
			out = append(out, item.plain(inner))
		}
		return out
	case isObject:
		out := map[string]any{}
		for _, k := range n.keys {
			var inner *shape
			if s != nil {
				if f := s.find(k.name.text); f != nil {
					inner = f.shape
				}
			}
			out[k.name.text] = k.value.plain(inner)
		}
		return out
	case isText:
		if s != nil && s.kind == moment && len(n.text) == len("2026-01-31") {
			return n.text + "T00:00:00Z"
		}
	}
	return n.text
}
