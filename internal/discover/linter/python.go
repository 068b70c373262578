package linter

import (
	"slices"
	"strings"

	"tenet/internal/text"
)

var (
	pythonFiles = []string{"**/*.{py,pyi}"}

	ruff   = &tool{name: "Ruff", table: "ruff", paths: pythonFiles, language: "python", silence: `#\s*(noqa|ruff:)`}
	ruffer = &tool{name: "Ruff's formatter", table: "ruff", paths: pythonFiles, language: "python", formats: true}
	flake8 = &tool{name: "Flake8", table: "ruff", paths: pythonFiles, language: "python", silence: `#\s*noqa`}
)

// pythonTool returns a tool that has its rules in the table of Python's tools.
func pythonTool(name string, formats bool) *tool {
	return &tool{name: name, table: "python", paths: pythonFiles, language: "python", formats: formats}
}

// pythonTools are the tools that have a section of pyproject.toml or of an INI file, by the name of the section.
var pythonTools = map[string]*tool{
	"black": pythonTool("Black", true), "isort": pythonTool("isort", true), "mypy": pythonTool("mypy", false),
	"pyright": pythonTool("Pyright", false), "interrogate": pythonTool("interrogate", false), "pydocstyle": pythonTool("pydocstyle", false),
	"pylint": pythonTool("Pylint", false), "flake8": pythonTool("Flake8", false), "pycodestyle": pythonTool("pycodestyle", false),
	"coverage": pythonTool("coverage.py", false),
}

func readPyproject(p *page, n *node) {
	tools := n.get("tool")
	if r := tools.get("ruff"); r != nil {
		readRuff(p, r, "tool.ruff.")
	}
	for _, section := range tools.each() {
		t, ok := pythonTools[section.key]
		if !ok {
			continue
		}
		where := under("tool", section.key)
		readPythonSection(p, t, section.key, section.value, where)
		for _, sub := range section.value.each() { // [tool.pylint.format], [tool.coverage.report]
			readPythonSection(p, t, section.key, sub.value, under(where, sub.key))
		}
		if section.key == "black" {
			p.add(t, setting{key: "black", level: fail, line: section.value.line, end: section.value.line, section: where})
		}
	}
}

// readPythonSection adds the settings of a section that the table knows.
func readPythonSection(p *page, t *tool, name string, section *node, where string) {
	for _, s := range section.each() {
		value := ""
		if all := s.value.strings(); len(all) > 0 {
			value = all[0]
		}
		key := under(name, s.key)
		_, exact := tables()["python"][key+"="+value]
		_, plain := tables()["python"][key]
		if !exact && !plain || value == "" || strings.EqualFold(value, "false") || strings.EqualFold(value, "no") || value == "0" {
			continue
		}
		p.add(t, setting{key: key, value: value, args: []*node{s.value}, level: fail, line: s.line, end: s.last(), section: under(where, s.key)})
	}
}

// readRuff reads the settings of Ruff, which keep those of its linter at the top in older files.
func readRuff(p *page, n *node, where string) {
	lint := n.get("lint")
	readRuffCodes(p, n, n, where)
	readRuffCodes(p, lint, n, where+"lint.")
	if s, ok := n.at("line-length"); ok {
		p.value(ruffer, s.key, s, where+s.key)
	}
	for _, s := range n.get("format").each() {
		p.value(ruffer, s.key, s, where+"format."+s.key)
	}
	for _, plugin := range []string{
		"pydocstyle", "isort", "mccabe", "pylint", "flake8-quotes", "flake8-tidy-imports", "pycodestyle",
	} {
		for _, from := range []*node{n, lint} {
			for _, s := range from.get(plugin).each() {
				if s.key == "banned-api" {
					addBannedName(p, s, where)
					continue
				}
				p.value(ruff, s.key, s, where+"lint."+plugin+"."+s.key)
			}
		}
	}
}

// readRuffCodes adds the rules that are selected by code or by the beginning of codes.
func readRuffCodes(p *page, n, root *node, where string) {
	ignored := slices.Concat(n.get("ignore").strings(), n.get("extend-ignore").strings())
	for _, key := range []string{"select", "extend-select"} {
		for _, item := range n.get(key).all() {
			addPythonCode(p, ruff, item, ignored, perFile(n), root, where+key)
		}
	}
}

// perFile returns the rules that some files are free of: glob and codes.
func perFile(n *node) map[string][]string {
	out := map[string][]string{}
	for _, key := range []string{"per-file-ignores", "extend-per-file-ignores"} {
		for _, p := range n.get(key).each() {
			out[p.key] = append(out[p.key], p.value.strings()...)
		}
	}
	return out
}

// addPythonCode adds a rule under its code, or under the family of its code, of Ruff or of Flake8, which has the same codes.
func addPythonCode(p *page, t *tool, item *node, ignored []string, free map[string][]string, root *node, where string) {
	code := item.text
	if !item.scalar() || slices.Contains(ignored, code) {
		return
	}
	s := setting{key: code, level: fail, line: item.line, end: item.end, section: where, args: []*node{root.get("lint", "mccabe"), root.get("lint", "pylint"), root}}
	if code == "ALL" {
		s.words, s.class, s.set = "Python code must pass all rules of "+t.name+".", design, true
	}
	family, listed := familyOf(code)
	if listed {
		s.key = family
	}
	if family != code && listed {
		s.note = "The code that is selected is " + printable(code) + "; the words are those of its family."
	}
	var without []string
	for _, i := range ignored {
		if (strings.HasPrefix(i, code) || code == "ALL") && i != code {
			without = append(without, text.FitRunes(i, 20, "…"))
		}
	}
	s.note = strings.TrimSpace(s.note + " " + switchedOff(without))
	for glob, codes := range free {
		for _, c := range codes {
			if strings.HasPrefix(code, c) || c == "ALL" {
				s.exclude = append(s.exclude, glob)
			}
		}
	}
	slices.Sort(s.exclude)
	p.add(t, s)
}

// familyOf finds the longest beginning of a code that the table knows: the code itself, or its family.
func familyOf(code string) (string, bool) {
	letters := len(code) - len(strings.TrimLeft(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
	for n := len(code); n >= max(letters, 1); n-- {
		if _, ok := lookup("ruff", code[:n], ""); ok {
			return code[:n], true
		}
	}
	return code, false
}

// addBannedName adds the names that flake8-tidy-imports bans, each with the project's own reason.
func addBannedName(p *page, s pair, where string) {
	for _, b := range s.value.each() {
		p.add(ruff, setting{
			key: "TID251", level: fail, line: b.line, end: b.last(), section: where + "lint.flake8-tidy-imports.banned-api",
			words: "Code must not use " + brief(b.key, 200) + ".", class: design, why: printable(option([]*node{b.value}, "msg")),
		})
	}
}

// readPythonINI reads the sections of tools of Python in INI files.
func readPythonINI(p *page, n *node) {
	for _, section := range n.each() {
		name := strings.ToLower(section.key)
		switch {
		case name == "flake8":
			readFlake8(p, section.value)
		case name == "report" && strings.HasSuffix(p.path, ".coveragerc"), name == "coverage:report":
			name = "coverage"
		case name == "settings" && strings.HasSuffix(p.path, ".isort.cfg"), name == "tool:isort":
			name = "isort"
		case strings.HasSuffix(p.path, "pylintrc"), strings.HasPrefix(name, "pylint"):
			name = "pylint"
		}
		if t, ok := pythonTools[name]; ok {
			readPythonSection(p, t, name, section.value, section.key)
		}
	}
}

// readFlake8 reads the codes of Flake8, whose families are those of Ruff.
func readFlake8(p *page, n *node) {
	var ignored []string
	for _, key := range []string{"ignore", "extend-ignore"} {
		for _, w := range n.get(key).words() {
			ignored = append(ignored, w.text)
		}
	}
	free := map[string][]string{}
	for _, w := range n.get("per-file-ignores").all() {
		glob, codes, _ := strings.Cut(w.text, ":")
		free[strings.TrimSpace(glob)] = strings.FieldsFunc(codes, func(r rune) bool { return r == ',' || r == ' ' })
	}
	for _, key := range []string{"select", "extend-select"} {
		for _, w := range n.get(key).words() {
			addPythonCode(p, flake8, w, ignored, free, nil, "flake8."+key)
		}
	}
}
