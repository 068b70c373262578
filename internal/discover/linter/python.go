package linter

import (
	"slices"
	"strings"
)

var (
	pythonFiles = []string{"**/*.{py,pyi}"}

	ruff   = &tool{name: "Ruff", table: "ruff", paths: pythonFiles, language: "python", silence: `#\s*(noqa|ruff:)`}
	ruffer = &tool{name: "Ruff's formatter", table: "ruff", paths: pythonFiles, language: "python", formats: true}
	flake8 = &tool{name: "Flake8", table: "ruff", paths: pythonFiles, language: "python", silence: `#\s*noqa`}
)

// pythonTool is one that has its rules in the table of Python's tools.
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

func readRuffFile(p *page) error {
	n, err := readTOML(p.src)
	if err != nil {
		return err
	}
	p.ruff(n, "")
	return nil
}

func readPyproject(p *page) error {
	n, err := readTOML(p.src)
	if err != nil {
		return err
	}
	tools := n.get("tool")
	if r := tools.get("ruff"); r != nil {
		p.ruff(r, "tool.ruff.")
	}
	for _, section := range tools.each() {
		t, ok := pythonTools[section.key]
		if !ok {
			continue
		}
		where := under("tool", section.key)
		p.pythonSection(t, section.key, section.value, where)
		for _, sub := range section.value.each() { // [tool.pylint.format], [tool.coverage.report]
			p.pythonSection(t, section.key, sub.value, under(where, sub.key))
		}
		if section.key == "black" {
			p.add(t, setting{key: "black", level: fail, line: section.value.line, end: section.value.line, section: where})
		}
	}
	return nil
}

// pythonSection adds the settings of a section that the table knows.
func (p *page) pythonSection(t *tool, name string, section *node, where string) {
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

// ruff reads the settings of Ruff, which keep those of its linter at the top in older files.
func (p *page) ruff(n *node, where string) {
	lint := n.get("lint")
	p.codes(ruff, n, n, where)
	p.codes(ruff, lint, n, where+"lint.")
	if s, ok := n.at("line-length"); ok {
		p.value(ruffer, s, where)
	}
	for _, s := range n.get("format").each() {
		p.value(ruffer, s, where+"format.")
	}
	for _, plugin := range []string{
		"pydocstyle", "isort", "mccabe", "pylint", "flake8-quotes", "flake8-tidy-imports", "pycodestyle",
	} {
		for _, from := range []*node{n, lint} {
			for _, s := range from.get(plugin).each() {
				if s.key == "banned-api" {
					p.banned(s, where)
					continue
				}
				p.value(ruff, s, where+"lint."+plugin+".")
			}
		}
	}
}

// value adds a setting with a value, if the table knows it.
func (p *page) value(t *tool, s pair, where string) {
	text := ""
	if s.value.scalar() {
		text = s.value.text
	}
	_, exact := tables()[t.table][s.key+"="+text]
	_, plain := tables()[t.table][s.key]
	if (exact || plain) && !s.value.off() {
		p.add(t, setting{key: s.key, value: text, args: []*node{s.value}, level: fail, line: s.line, end: s.last(), section: where + s.key})
	}
}

// codes adds the rules that are selected by code or by the beginning of codes.
func (p *page) codes(t *tool, n, root *node, where string) {
	ignored := slices.Concat(n.get("ignore").strings(), n.get("extend-ignore").strings())
	for _, key := range []string{"select", "extend-select"} {
		for _, item := range n.get(key).all() {
			p.code(t, item, ignored, perFile(n), root, where+key)
		}
	}
}

// perFile are the rules that some files are free of: glob and codes.
func perFile(n *node) map[string][]string {
	out := map[string][]string{}
	for _, key := range []string{"per-file-ignores", "extend-per-file-ignores"} {
		for _, p := range n.get(key).each() {
			out[p.key] = append(out[p.key], p.value.strings()...)
		}
	}
	return out
}

func (p *page) code(t *tool, item *node, ignored []string, free map[string][]string, root *node, where string) {
	code := item.text
	if !item.scalar() || slices.Contains(ignored, code) {
		return
	}
	s := setting{key: code, level: fail, line: item.line, end: item.end, section: where, args: []*node{root.get("lint", "mccabe"), root.get("lint", "pylint"), root}}
	if code == "ALL" {
		s.words, s.class, s.set = "Python code must pass all rules of "+t.name+".", design, true
	}
	family, known := familyOf(code)
	if known {
		s.key = family
	}
	if family != code && known {
		s.note = "The code that is selected is " + printable(code) + "; the words are those of its family."
	}
	var without []string
	for _, i := range ignored {
		if (strings.HasPrefix(i, code) || code == "ALL") && i != code {
			without = append(without, printable(cut(i, 20)))
		}
	}
	if len(without) > 0 {
		s.note = strings.TrimSpace(s.note + " Switched off in the same file: " + cut(strings.Join(without, ", "), 300) + ".")
	}
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

// banned adds the names that flake8-tidy-imports bans, each with the project's own reason.
func (p *page) banned(s pair, where string) {
	for _, b := range s.value.each() {
		p.add(ruff, setting{
			key: "TID251", level: fail, line: b.line, end: b.last(), section: where + "lint.flake8-tidy-imports.banned-api",
			words: "Code must not use " + printable(cut(b.key, 200)) + ".", class: design, why: printable(option([]*node{b.value}, "msg")),
		})
	}
}

// readPythonINI reads the sections of tools of Python in INI files.
func readPythonINI(p *page) error {
	n := readINI(p.src)
	for _, section := range n.each() {
		name := strings.ToLower(section.key)
		switch {
		case name == "flake8":
			p.flake8(section.value)
		case name == "report" && strings.HasSuffix(p.path, ".coveragerc"), name == "coverage:report":
			name = "coverage"
		case name == "settings" && strings.HasSuffix(p.path, ".isort.cfg"), name == "tool:isort":
			name = "isort"
		case strings.HasSuffix(p.path, "pylintrc"), strings.HasPrefix(name, "pylint"):
			name = "pylint"
		}
		if t, ok := pythonTools[name]; ok {
			p.pythonSection(t, name, section.value, section.key)
		}
	}
	return nil
}

// flake8 reads the codes of Flake8, whose families are those of Ruff.
func (p *page) flake8(n *node) {
	var ignored []string
	for _, key := range []string{"ignore", "extend-ignore"} {
		for _, w := range n.get(key).words() {
			ignored = append(ignored, w.text)
		}
	}
	free := map[string][]string{}
	for _, key := range []string{"per-file-ignores"} {
		for _, w := range n.get(key).all() {
			glob, codes, _ := strings.Cut(w.text, ":")
			free[strings.TrimSpace(glob)] = strings.FieldsFunc(codes, func(r rune) bool { return r == ',' || r == ' ' })
		}
	}
	for _, key := range []string{"select", "extend-select"} {
		for _, w := range n.get(key).words() {
			p.code(flake8, w, ignored, free, nil, "flake8."+key)
		}
	}
}
