package linter

import (
	"errors"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"tenet/internal/text"
)

// tomlReader turns the expressions of the parser, which come one by one, into one tree.
type tomlReader struct {
	parser unstable.Parser
	starts []int // offset of each line
	root   *node
	nodes  int
	line   int // where it is
}

// readTOML reads a TOML file.
func readTOML(src string) (*node, error) {
	if line := tooDeep(src); line > 0 {
		return nil, &syntaxError{line: line, reason: "values are nested too deep"}
	}
	t := &tomlReader{root: &node{form: table, line: 1, end: 1}, line: 1}
	for offset := 0; ; {
		t.starts = append(t.starts, offset)
		i := strings.IndexByte(src[offset:], '\n')
		if i < 0 {
			break
		}
		offset += i + 1
	}
	t.parser.Reset([]byte(src))
	into := t.root
	for t.parser.NextExpression() {
		e := t.parser.Expression()
		var err error
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			into, err = t.section(e)
		case unstable.KeyValue:
			err = t.pair(into, e, 0)
		default:
		}
		if err != nil {
			return nil, err
		}
	}
	if err := t.parser.Error(); err != nil {
		reason := "it is not valid TOML"
		if d, ok := errors.AsType[*toml.DecodeError](err); ok {
			reason += ": " + text.FitRunes(d.Error(), 200, "…")
		}
		return nil, &syntaxError{line: t.line, reason: reason}
	}
	return t.root, nil
}

// lineOf returns the line of a part of the source. Data that the parser has made, such as a text without its escapes, has no place
// of its own: it counts as where the last part was.
func (t *tomlReader) lineOf(n *unstable.Node) int {
	if n.Raw.Length > 0 {
		t.line = sort.SearchInts(t.starts, int(n.Raw.Offset)+1)
	}
	return t.line
}

// section finds or makes the table of a header. A header in double brackets adds an item to a list of tables.
func (t *tomlReader) section(e *unstable.Node) (*node, error) {
	var keys []string
	it := e.Key()
	for it.Next() {
		keys = append(keys, string(it.Node().Data))
		t.lineOf(it.Node())
	}
	n := t.root
	for i, key := range keys {
		next, err := t.child(n, key, i+1 == len(keys) && e.Kind == unstable.ArrayTable)
		if err != nil {
			return nil, err
		}
		n = next
	}
	return n, nil
}

func (t *tomlReader) child(n *node, key string, item bool) (*node, error) {
	if t.nodes++; t.nodes > maxNodes {
		return nil, &syntaxError{line: t.line, reason: "there are too many values"}
	}
	made := &node{form: table, line: t.line, end: t.line}
	p, ok := n.at(key)
	switch {
	case !ok && item:
		n.pairs = append(n.pairs, pair{key: key, line: t.line, value: &node{form: list, items: []*node{made}, line: t.line, end: t.line}})
	case !ok:
		n.pairs = append(n.pairs, pair{key: key, line: t.line, value: made})
	case item && p.value.form == list:
		p.value.items = append(p.value.items, made)
	case p.value.form == list && len(p.value.items) > 0:
		return p.value.items[len(p.value.items)-1], nil
	case p.value.form == table:
		return p.value, nil
	default:
		return nil, &syntaxError{line: t.line, reason: "the key " + text.FitRunes(key, 40, "…") + " is a table and a value"}
	}
	return made, nil
}

func (t *tomlReader) pair(into *node, e *unstable.Node, depth int) error {
	var keys []string
	line := 0
	it := e.Key()
	for it.Next() {
		keys = append(keys, string(it.Node().Data))
		if at := t.lineOf(it.Node()); line == 0 {
			line = at
		}
	}
	value, err := t.value(e.Value(), depth+1)
	if err != nil || len(keys) == 0 || into.form != table {
		return err
	}
	end := max(line, value.end)
	for _, key := range keys[:len(keys)-1] {
		if into, err = t.child(into, key, false); err != nil {
			return err
		}
		into.end = max(into.end, end)
	}
	into.pairs = append(into.pairs, pair{key: keys[len(keys)-1], line: line, value: value})
	into.end = max(into.end, end)
	return nil
}

func (t *tomlReader) value(from *unstable.Node, depth int) (*node, error) {
	n := &node{form: str, line: t.lineOf(from)}
	if t.nodes++; t.nodes > maxNodes || depth > maxDepth {
		return nil, &syntaxError{line: t.line, reason: "there are too many values, or they are nested too deep"}
	}
	var err error
	switch from.Kind {
	case unstable.Array:
		n.form = list
		for it := from.Children(); err == nil && it.Next(); {
			var item *node
			if item, err = t.value(it.Node(), depth+1); err == nil {
				n.items = append(n.items, item)
			}
		}
	case unstable.InlineTable:
		n.form = table
		for it := from.Children(); err == nil && it.Next(); {
			err = t.pair(n, it.Node(), depth+1)
		}
	case unstable.Bool:
		n.form, n.text = truth, string(from.Data)
	case unstable.Integer, unstable.Float:
		n.form, n.text = number, string(from.Data)
	default:
		n.text = string(from.Data)
		t.line += strings.Count(string(t.parser.Raw(from.Raw)), "\n")
	}
	n.end = max(t.line, n.line)
	return n, err
}
