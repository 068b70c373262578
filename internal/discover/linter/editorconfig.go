package linter

import (
	"fmt"
	"strings"
)

var editors = &tool{name: "EditorConfig", table: "editorconfig", formats: true}

// readEditorconfig reads .editorconfig. A later section for some files takes them out of an earlier one that says otherwise.
func readEditorconfig(p *page) error {
	sections := readINI(p.src).pairs
	if len(sections) > maxParts {
		return &syntaxError{line: sections[maxParts].line, reason: fmt.Sprintf("there are more than %d sections", maxParts)}
	}
	for i, section := range sections {
		if section.key == "" {
			continue
		}
		for _, s := range section.value.each() {
			value := option([]*node{s.value}, s.key)
			if _, listed := lookup("editorconfig", s.key, strings.ToLower(value)); !listed || value == "" || value == "unset" || value == "off" || !numeric(s.key, value) {
				continue
			}
			add := setting{
				key: s.key, value: strings.ToLower(value), args: []*node{s.value}, level: fail, line: s.line, end: s.last(),
				section: section.key + "." + s.key, paths: editorGlobs(section.key),
			}
			if s.key == "indent_size" && option([]*node{section.value}, "indent_style") == "tab" {
				continue // the width that a tab is shown with
			}
			for _, later := range sections[i+1:] {
				if v := later.value.get(s.key); v != nil && option([]*node{v}, s.key) != value {
					add.exclude = append(add.exclude, editorGlobs(later.key)...)
				}
			}
			p.add(editors, add)
		}
	}
	return nil
}

// numeric reports whether a value is a number where the key takes only numbers.
func numeric(key, value string) bool {
	return key != "indent_size" && key != "max_line_length" || strings.Trim(value, "0123456789") == ""
}

// editorGlobs returns path globs for the name of a section. Both have *, ** and {a,b}; numbers as in {1..3} have no counterpart.
func editorGlobs(name string) []string {
	if name == "*" || name == "" {
		return []string{}
	}
	if strings.Contains(name, "..") {
		return []string{strings.SplitN(name, "{", 2)[0] + "*"}
	}
	return []string{name}
}
