package linter

import "strings"

// readINI reads sections of keys and values: a table of tables. Keys before the first section are in the section "". A value
// goes on over lines that are indented.
func readINI(src string) *node {
	root := &node{form: table, line: 1, end: 1}
	section := &node{form: table, line: 1, end: 1}
	root.pairs = append(root.pairs, pair{key: "", line: 1, value: section})
	var value *node
	number := 0
	for line := range strings.Lines(src) {
		number++
		bare := strings.TrimSpace(line)
		switch {
		case bare == "" || bare[0] == '#' || bare[0] == ';':
		case bare[0] == '[' && strings.HasSuffix(bare, "]"):
			section = &node{form: table, line: number, end: number}
			root.pairs = append(root.pairs, pair{key: strings.TrimSpace(bare[1 : len(bare)-1]), line: number, value: section})
			value = nil
		case value != nil && (line[0] == ' ' || line[0] == '\t') && !strings.Contains(bare, "="):
			value.items = append(value.items, &node{form: str, text: withoutComment(bare), line: number, end: number})
			value.end = number
		default:
			i := strings.IndexAny(bare, "=:")
			if i < 0 {
				value = nil
				continue
			}
			value = &node{form: list, line: number, end: number}
			if v := withoutComment(strings.TrimSpace(bare[i+1:])); v != "" {
				value.items = append(value.items, &node{form: str, text: v, line: number, end: number})
			}
			section.pairs = append(section.pairs, pair{key: strings.ToLower(strings.TrimSpace(bare[:i])), line: number, value: value})
		}
	}
	return root
}

func withoutComment(s string) string {
	for _, mark := range []string{" #", " ;"} {
		if i := strings.Index(s, mark); i >= 0 {
			s = s[:i]
		}
	}
	return strings.TrimSpace(s)
}

// words returns the values of a key that lists them with commas or blanks.
func (n *node) words() []*node {
	var out []*node
	for _, item := range n.all() {
		for _, w := range strings.FieldsFunc(item.text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
			out = append(out, &node{form: str, text: w, line: item.line, end: item.end})
		}
	}
	return out
}
