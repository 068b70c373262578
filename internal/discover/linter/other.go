package linter

import (
	"slices"
	"strings"

	"tenet/internal/text"
)

var (
	rubocop      = &tool{name: "RuboCop", table: "rubocop", paths: []string{"**/*.{rb,rake,gemspec}"}, language: "ruby", silence: `rubocop:`}
	markdownlint = &tool{name: "markdownlint", table: "markdownlint", paths: []string{"**/*.{md,markdown}"}, language: "markdown"}
	hadolint     = &tool{name: "Hadolint", table: "hadolint", paths: []string{"**/{Dockerfile,Containerfile,*.Dockerfile,Dockerfile.*}"}, language: "docker"}
	yamllint     = &tool{name: "yamllint", table: "yamllint", paths: []string{"**/*.{yaml,yml}"}, language: "yaml", silence: `yamllint disable`}
	shellcheck   = &tool{name: "ShellCheck", table: "shellcheck", paths: []string{"**/*.{sh,bash}"}, language: "shell", silence: `shellcheck disable`}
	checkstyle   = &tool{name: "Checkstyle", table: "checkstyle", paths: []string{"**/*.java"}, language: "java", silence: `CHECKSTYLE`}
	preCommit    = &tool{name: "pre-commit", table: "pre-commit"}
)

// readRubocop reads cops: a table for each, unless it is switched off.
func readRubocop(p *page, n *node) {
	for _, cop := range n.each() {
		if cop.key == "AllCops" {
			for _, s := range cop.value.each() {
				p.value(rubocop, under(cop.key, s.key), s, under(cop.key, s.key))
			}
			continue
		}
		if !strings.Contains(cop.key, "/") || cop.value == nil || cop.value.form != table || cop.value.get("Enabled").off() {
			continue
		}
		s := setting{
			key: cop.key, value: option([]*node{cop.value}, "EnforcedStyle"), args: []*node{cop.value}, level: fail, line: cop.line, end: cop.last(),
			section: cop.key, exclude: cop.value.get("Exclude").strings(), paths: cop.value.get("Include").strings(),
		}
		if ruleOfCop(cop.value) {
			if sev := cop.value.get("Severity"); sev.is("warning") || sev.is("convention") || sev.is("refactor") || sev.is("info") {
				s.level = warn
			}
			p.add(rubocop, s)
		}
	}
}

// ruleOfCop reports whether a table switches a cop on or says what it demands; one that only leaves files out does not.
func ruleOfCop(n *node) bool {
	for _, s := range n.each() {
		if s.key != "Exclude" && s.key != "Enabled" && s.key != "AllowedMethods" && s.key != "AllowedPatterns" || s.key == "Enabled" && s.value.on() {
			return true
		}
	}
	return false
}

// readMarkdownlint reads rules by number or name: true, or a table of options.
func readMarkdownlint(p *page, n *node) {
	where := ""
	if strings.Contains(p.path, "cli2") {
		n, where = n.get("config"), "config."
	}
	for _, r := range n.each() {
		if _, listed := lookup("markdownlint", strings.ToUpper(r.key), ""); listed {
			r.key = strings.ToUpper(r.key)
		}
		_, listed := lookup("markdownlint", r.key, "")
		number := len(r.key) == 5 && strings.HasPrefix(r.key, "MD")
		if !listed && !number || r.value == nil || r.value.form != table && !r.value.on() && !r.value.is("error") && !r.value.is("warning") {
			continue
		}
		s := setting{key: r.key, level: fail, line: r.line, end: r.last(), section: where + r.key}
		if r.value.form == table {
			s.args = []*node{r.value}
			if r.value.get("severity").is("warning") {
				s.level = warn
			}
		}
		if r.value.is("warning") {
			s.level = warn
		}
		if r.key == "default" {
			var off []string
			for _, r := range n.each() {
				if r.value.off() {
					off = append(off, text.FitRunes(r.key, 40, "…"))
				}
			}
			s.set, s.note = true, switchedOff(off)
		}
		p.add(markdownlint, s)
	}
}

// readHadolint reads trusted registries, labels, and the rules whose level is set.
func readHadolint(p *page, n *node) {
	ignored := slices.Concat(n.get("ignored").strings(), n.get("ignore").strings())
	for _, key := range []string{"trustedRegistries", "label-schema", "strict-labels"} {
		s, ok := n.at(key)
		if !ok || s.value == nil || s.value.form == nothing || s.value.off() {
			continue
		}
		arg := s.value
		if arg.form == table {
			arg = &node{form: list}
			for _, l := range s.value.each() {
				arg.items = append(arg.items, &node{form: str, text: l.key})
			}
		}
		p.add(hadolint, setting{key: key, args: []*node{arg}, level: fail, line: s.line, end: s.last(), section: key})
	}
	for _, lvl := range n.get("override").each() {
		s := setting{level: fail, section: under("override", lvl.key)}
		if lvl.key != "error" {
			s.level = warn
		}
		for _, code := range lvl.value.all() {
			if code.scalar() && !slices.Contains(ignored, code.text) {
				s.key, s.line, s.end = code.text, code.line, code.end
				p.add(hadolint, s)
			}
		}
	}
}

// readYamllint reads rules: enable, or a table of options.
func readYamllint(p *page, n *node) {
	p.presets(yamllint, n.get("extends"))
	for _, r := range n.get("rules").each() {
		on := r.value.on() || r.value.is("enable") || r.value != nil && r.value.form == table
		if !on {
			continue
		}
		s := setting{key: r.key, level: fail, line: r.line, end: r.last(), section: under("rules", r.key)}
		if r.value.form == table {
			s.args, s.exclude = []*node{r.value}, strings.Fields(option([]*node{r.value}, "ignore"))
		}
		if r.value.get("level").is("warning") {
			s.level = warn
		}
		p.add(yamllint, s)
	}
}

// readShellcheck reads the optional checks that .shellcheckrc enables.
func readShellcheck(p *page, n *node) {
	for _, s := range n.get("").each() {
		for _, w := range s.value.words() {
			switch s.key {
			case "enable":
				p.add(shellcheck, setting{key: w.text, level: fail, line: w.line, end: w.end, section: "enable"})
			case "severity":
				p.add(shellcheck, setting{key: "severity", args: []*node{w}, level: fail, line: w.line, end: w.end, section: "severity"})
			}
		}
	}
}

// readPreCommit reads the hooks that commits must pass. Hooks that only run another linter say nothing of their own.
func readPreCommit(p *page, n *node) {
	for _, repo := range n.get("repos").all() {
		for _, h := range repo.get("hooks").all() {
			id := h.get("id")
			if !id.scalar() {
				continue
			}
			if _, listed := lookup("pre-commit", id.text, ""); listed {
				p.add(preCommit, setting{key: id.text, args: h.get("args").all(), level: fail, line: h.line, end: h.end, section: "repos.hooks"})
			}
		}
	}
}

// readCheckstyle reads the modules of a Checkstyle file.
func readCheckstyle(p *page) error {
	root, err := readXML(p.src)
	if err != nil {
		return err
	}
	for _, e := range root.children {
		if e.name == "module" && e.attrs["name"] == "Checker" {
			readCheckstyleModules(p, e, fail)
		}
	}
	return nil
}

// readCheckstyleModules adds the modules below a module, whose level holds for those that name none.
func readCheckstyleModules(p *page, parent *element, inherited level) {
	for _, e := range parent.children {
		if e.name != "module" {
			continue
		}
		name := e.attrs["name"]
		name = strings.TrimSuffix(name[strings.LastIndexByte(name, '.')+1:], "Check")
		options := &node{form: table}
		lvl := inherited
		for _, c := range e.children {
			if c.name != "property" {
				continue
			}
			if c.attrs["name"] == "severity" {
				lvl = severityLevel(c.attrs["value"])
			}
			options.pairs = append(options.pairs, pair{key: c.attrs["name"], line: c.line, value: &node{form: str, text: c.attrs["value"]}})
		}
		switch {
		case name == "TreeWalker":
			readCheckstyleModules(p, e, lvl)
		case name == "Regexp" || strings.HasPrefix(name, "RegexpSingleline") || name == "RegexpMultiline":
			addCheckstyleRegexp(p, e, name, options, lvl)
		case name == "" || strings.HasPrefix(name, "Suppress") || strings.HasSuffix(name, "Filter") || strings.HasSuffix(name, "Holder"):
		default:
			p.add(checkstyle, setting{key: name, args: []*node{options}, level: lvl, line: e.line, end: e.line, section: name})
		}
	}
}

func severityLevel(s string) level {
	switch strings.ToLower(s) {
	case "warning", "info":
		return warn
	case "ignore":
		return off
	}
	return fail
}

// addCheckstyleRegexp adds an expression that must not occur, with the project's own message.
func addCheckstyleRegexp(p *page, e *element, name string, options *node, lvl level) {
	expr, why := option([]*node{options}, "format"), option([]*node{options}, "message")
	if expr == "" {
		return
	}
	p.add(checkstyle, setting{
		key: name, level: lvl, line: e.line, end: e.line, section: name, class: design, why: why,
		words: "Code must not match the expression " + expr + ".",
	})
}
