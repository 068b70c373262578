package linter

import (
	"slices"
	"strings"
)

// form says what a node is.
type form int

const (
	nothing  form = iota // null
	truth                // true or false
	number               // as it is written
	str                  // a string
	list                 // items
	table                // pairs
	computed             // code in a settings file that is not plain data; text is as it is written
	call                 // a call in such a file: text is the function, items are its arguments
)

// node is a value of a settings file with its place, in any language. A nil node is nothing.
type node struct {
	form  form
	text  string
	items []*node
	pairs []pair
	// line and end are its first and last line, from 1.
	line, end int
}

type pair struct {
	key   string
	line  int // of the key
	value *node
}

// Limits of settings files. Real ones are far below.
const (
	maxFile  = 1 << 20 // bytes
	maxDepth = 64      // lists and tables inside one another
	maxNodes = 20_000  // values of one file, aliases written out
	maxKeys  = 5_000   // keys of a YAML file, over which its parser takes time with their square
	maxParts = 1_000   // sections of .editorconfig, each of which is compared with those after it
)

// get returns the value of a key; the last one where a key is repeated, as the tools read it.
func (n *node) get(keys ...string) *node {
	for _, key := range keys {
		p, _ := n.at(key)
		n = p.value
	}
	return n
}

// at returns the pair of a key and whether the table has it.
func (n *node) at(key string) (pair, bool) {
	if n != nil && n.form == table {
		for _, p := range slices.Backward(n.pairs) {
			if p.key == key {
				return p, true
			}
		}
	}
	return pair{}, false
}

// each returns the pairs of a table: of a repeated key only the last one.
func (n *node) each() []pair {
	if n == nil || n.form != table {
		return nil
	}
	last := make(map[string]int, len(n.pairs))
	for i, p := range n.pairs {
		last[p.key] = i
	}
	var out []pair
	for i, p := range n.pairs {
		if last[p.key] == i {
			out = append(out, p)
		}
	}
	return out
}

// all returns the items of a list; a scalar is a list of itself.
func (n *node) all() []*node {
	switch {
	case n == nil || n.form == nothing:
		return nil
	case n.form == list:
		return n.items
	}
	return []*node{n}
}

// strings returns the scalars of a list, or the one scalar.
func (n *node) strings() []string {
	var out []string
	for _, item := range n.all() {
		if item.scalar() {
			out = append(out, item.text)
		}
	}
	return out
}

func (n *node) scalar() bool {
	return n != nil && (n.form == truth || n.form == number || n.form == str)
}

// scalarText returns the text of a scalar; empty for other nodes.
func (n *node) scalarText() string {
	if !n.scalar() {
		return ""
	}
	return n.text
}

// is reports whether a node is a scalar that is written so, in upper or lower case.
func (n *node) is(word string) bool { return n.scalar() && strings.EqualFold(n.text, word) }

// on reports whether a node is true, or a word for it.
func (n *node) on() bool { return n.is("true") || n.is("yes") || n.is("on") }

// off reports whether a node is false, or a word for it.
func (n *node) off() bool { return n.is("false") || n.is("no") || n.is("off") }

// last returns the last line of the value, or of the key without one.
func (p pair) last() int {
	if p.value == nil {
		return p.line
	}
	return max(p.line, p.value.end)
}
