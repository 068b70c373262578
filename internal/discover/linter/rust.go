package linter

import (
	"slices"
	"strings"
)

var (
	rustFiles = []string{"**/*.rs"}
	clippy    = &tool{name: "Clippy", table: "clippy", paths: rustFiles, language: "rust", silence: `allow\(|expect\(`}
	rustc     = &tool{name: "the Rust compiler", table: "clippy", paths: rustFiles, language: "rust"}
	rustfmt   = &tool{name: "rustfmt", table: "clippy", paths: rustFiles, language: "rust", formats: true}
)

// readClippy reads clippy.toml and rustfmt.toml.
func readClippy(p *page, n *node) {
	t := clippy
	if strings.Contains(p.path, "rustfmt") {
		t = rustfmt
	}
	for _, s := range n.each() {
		switch s.key {
		case "disallowed-methods", "disallowed-types", "disallowed-macros", "disallowed-fields":
			addDisallowed(p, s)
		case "disallowed-names":
			p.add(clippy, setting{
				key: s.key, level: fail, line: s.line, end: s.last(), section: s.key, class: naming,
				words: "Names must not be " + brief(strings.Join(slices.DeleteFunc(s.value.strings(), func(v string) bool { return v == ".." }), ", "), 300) + ".",
			})
		default:
			p.value(t, s.key, s, s.key)
		}
	}
}

// addDisallowed adds the methods, types and macros that must not be used, each with the project's own reason.
func addDisallowed(p *page, s pair) {
	what := strings.TrimPrefix(s.key, "disallowed-")
	verb := map[string]string{"methods": "call", "macros": "call", "types": "use the type", "fields": "use the field"}[what]
	for _, item := range s.value.all() {
		path := item
		if item.form == table {
			path = item.get("path")
		}
		if !path.scalar() || path.text == "" {
			continue
		}
		p.add(clippy, setting{
			key: s.key, level: fail, line: item.line, end: item.end, section: s.key, class: design,
			words: "Code must not " + verb + " " + brief(path.text, 200) + ".", why: printable(option([]*node{item}, "reason")),
		})
	}
}

// readCargo reads the tables of lints of a manifest.
func readCargo(p *page, n *node) {
	for _, root := range []string{"lints", "workspace"} {
		lints, where := n.get(root), root
		if root == "workspace" {
			lints, where = lints.get("lints"), "workspace.lints"
		}
		for _, group := range lints.each() {
			t, prefix := rustc, "rust."
			if group.key == "clippy" {
				t, prefix = clippy, "clippy::"
			}
			for _, l := range group.value.each() {
				lvl := l.value
				if lvl != nil && lvl.form == table {
					lvl = lvl.get("level")
				}
				s := setting{key: prefix + strings.ReplaceAll(l.key, "-", "_"), line: l.line, end: l.last(), section: under(where, group.key, l.key)}
				switch {
				case lvl.is("deny") || lvl.is("forbid"):
					s.level = fail
				case lvl.is("warn"):
					s.level = warn
				}
				p.add(t, s)
			}
		}
	}
}
