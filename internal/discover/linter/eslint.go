package linter

import (
	"slices"
	"strings"
)

var (
	scripts = []string{"**/*.{js,jsx,mjs,cjs,ts,tsx,mts,cts}"}
	typed   = []string{"**/*.{ts,tsx,mts,cts}"}

	eslint = &tool{name: "ESLint", table: "eslint", paths: scripts, language: "javascript", silence: `eslint-disable`}
	oxlint = &tool{name: "Oxlint", table: "eslint", paths: scripts, language: "javascript", silence: `(oxlint|eslint)-disable`}
	biome  = &tool{name: "Biome", table: "eslint", paths: scripts, language: "javascript", silence: `biome-ignore`}
)

// block is a part of the settings of a linter that has its own files.
type block struct {
	rules   *node
	section string
	files   []string // nil: all
	exclude []string
}

// readESLint reads .eslintrc in JSON, YAML or plain JavaScript, and the flat form eslint.config.js.
func readESLint(p *page) error {
	n, err := p.data()
	if err != nil {
		return err
	}
	return readESLintConfig(p, n)
}

func readESLintConfig(p *page, n *node) error {
	if n == nil {
		return nil
	}
	var blocks []block
	switch n.form {
	case table:
		p.presets(eslint, n.get("extends"))
		blocks = legacyBlocks(n)
	case list, call:
		blocks = flatBlocks(p, n)
	default:
		return &syntaxError{line: max(n.line, 1), reason: "it exports no plain data; settings that code puts together are not read"}
	}
	addBlocks(p, eslint, blocks)
	return nil
}

func legacyBlocks(n *node) []block {
	blocks := []block{{rules: n.get("rules"), section: "rules", exclude: n.get("ignorePatterns").strings()}}
	for _, o := range n.get("overrides").all() {
		blocks = append(blocks, block{
			rules: o.get("rules"), section: "overrides.rules", files: o.get("files").strings(),
			exclude: slices.Concat(o.get("excludedFiles").strings(), blocks[0].exclude),
		})
	}
	return blocks
}

// flatBlocks returns the objects of a flat configuration, however deep in lists and in calls such as defineConfig.
func flatBlocks(p *page, n *node) []block {
	var blocks []block
	var ignored []string
	todo := slices.Clone(n.items)
	for len(todo) > 0 {
		item := todo[0]
		todo = todo[1:]
		switch {
		case item == nil:
		case item.form == list || item.form == call:
			todo = append(slices.Clone(item.items), todo...)
		case item.form == computed:
			p.preset(eslint, item, item.text, "configuration")
		case item.form == table && item.get("rules") == nil && item.get("files") == nil:
			ignored = append(ignored, item.get("ignores").strings()...)
			p.presets(eslint, item.get("extends"))
		case item.form == table:
			p.presets(eslint, item.get("extends"))
			blocks = append(blocks, block{
				rules: item.get("rules"), section: "rules", files: item.get("files").strings(), exclude: item.get("ignores").strings(),
			})
		}
	}
	for i := range blocks {
		blocks[i].exclude = append(blocks[i].exclude, ignored...)
	}
	return blocks
}

// presets makes candidates of the sets that settings extend.
func (p *page) presets(t *tool, n *node) {
	for _, item := range n.all() {
		p.preset(t, item, item.text, "extends")
	}
}

// preset makes one candidate of a whole set of rules that the settings take over from elsewhere.
func (p *page) preset(t *tool, item *node, name, section string) {
	name = strings.TrimPrefix(strings.TrimSpace(name), "...")
	if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "\n(){}") || len(name) > 100 {
		return // settings of the project's own, or code
	}
	p.add(t, setting{
		key: section, level: fail, line: item.line, end: item.end, section: section, class: design,
		words: "Code must pass the rule set " + printable(name) + " of " + t.name + ".",
		set:   true,
	})
}

// addBlocks makes candidates of the rules of all blocks. Of two blocks for the same files the later one counts; a block for some
// files that switches a rule off makes them an exception from the others.
func addBlocks(p *page, t *tool, blocks []block) {
	last := map[string]int{}
	key := func(b block, rule string) string { return rule + "\x00" + strings.Join(b.files, "\x00") }
	for i, b := range blocks {
		for _, r := range b.rules.each() {
			last[key(b, r.key)] = i
		}
	}
	for i, b := range blocks {
		for _, r := range b.rules.each() {
			if last[key(b, r.key)] != i {
				continue
			}
			lvl, args := levelOf(r.value)
			s := setting{key: r.key, level: lvl, args: args, line: r.line, end: r.last(), section: under(b.section, r.key), paths: b.files}
			s.exclude = slices.Concat(excepted(blocks, b, r.key), b.exclude)
			addScript(p, t, s)
		}
	}
}

// excepted returns the files for which another block switches a rule off.
func excepted(blocks []block, but block, rule string) []string {
	var files []string
	for _, b := range blocks {
		if len(b.files) == 0 || slices.Equal(b.files, but.files) {
			continue
		}
		if r, ok := b.rules.at(rule); ok {
			if lvl, _ := levelOf(r.value); lvl == off {
				files = append(files, b.files...)
			}
		}
	}
	return files
}

// levelOf reads the value of a rule: a level, or a list of a level and options.
func levelOf(n *node) (level, []*node) {
	first := n
	var args []*node
	switch {
	case n == nil:
		return off, nil
	case n.form == list && len(n.items) > 0:
		first, args = n.items[0], n.items[1:]
	case n.form == table: // as Biome writes it
		first, args = n.get("level"), []*node{n.get("options")}
	}
	switch {
	case first.is("error") || first.is("2") || first.is("deny") || first.is("on"):
		return fail, args
	case first.is("warn") || first.is("1") || first.is("info"):
		return warn, args
	}
	return off, nil
}

// addScript adds a rule of JavaScript or TypeScript under the name that the table has it by.
func addScript(p *page, t *tool, s setting) {
	written := s.key
	if s.paths == nil && (strings.HasPrefix(s.key, "@typescript-eslint/") || strings.HasPrefix(s.key, "typescript/")) {
		s.paths = typed
	}
	if rest, ok := strings.CutPrefix(s.key, "typescript/"); ok {
		s.key = "@typescript-eslint/" + rest
	}
	s.value = option(s.args, "style")
	if _, ok := lookup("eslint", s.key, s.value); !ok {
		// Most rules of these plugins are those of the core with types, or with another plugin's name.
		for _, prefix := range []string{"@typescript-eslint/", "@stylistic/", "@stylistic/js/", "@stylistic/ts/", "eslint/", "vitest/", "n/"} {
			if rest, ok := strings.CutPrefix(s.key, prefix); ok {
				if _, ok := lookup("eslint", rest, s.value); ok {
					s.key = rest
				}
			}
		}
	}
	if words := restricted(s.key, s.args); words != "" {
		s.words, s.class = words, design
	}
	if s.key != written {
		s.note = strings.TrimSpace(s.note + " In the settings the rule is called " + printable(written) + ".")
	}
	p.add(t, s)
}

// restricted says what a rule that takes a list of forbidden names forbids.
func restricted(key string, args []*node) string {
	what, ok := map[string]string{
		"no-restricted-imports": "import", "no-restricted-globals": "use the global names", "no-restricted-modules": "import",
		"no-restricted-syntax": "use the syntax",
	}[key]
	if !ok {
		return ""
	}
	var names []string
	for _, a := range args {
		names = append(names, a.strings()...)
		items := []*node{a}
		for _, key := range []string{"paths", "patterns"} {
			items = append(items, a.get(key).all()...)
		}
		for _, item := range items {
			if item.scalar() && item != a {
				names = append(names, item.text)
			}
			for _, key := range []string{"name", "selector", "group"} {
				names = append(names, item.get(key).strings()...)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "Code must not " + what + " " + brief(strings.Join(slices.Compact(names), ", "), 400) + "."
}

// readOxlint reads .oxlintrc.json: rules as in ESLint, and whole categories.
func readOxlint(p *page, n *node) {
	for _, c := range n.get("categories").each() {
		lvl, _ := levelOf(c.value)
		p.add(oxlint, setting{
			key: c.key, level: lvl, line: c.line, end: c.last(), section: under("categories", c.key), class: design,
			words: "Code must pass the rules of the category " + printable(c.key) + " of Oxlint.",
			set:   true,
		})
	}
	addBlocks(p, oxlint, legacyBlocks(n))
}

// readPackage reads the settings that package.json may hold.
func readPackage(p *page, n *node) {
	if c := n.get("prettier"); c != nil && c.form == table {
		readPrettier(p, c, "prettier.")
	}
	if c := n.get("stylelint"); c != nil && c.form == table {
		readStylelint(p, c)
	}
	if c := n.get("commitlint"); c != nil && c.form == table {
		readCommitlint(p, c)
	}
	if c := n.get("eslintConfig"); c != nil && c.form == table {
		_ = readESLintConfig(p, c) // only settings that are no table are an error
	}
}

// readBiome reads biome.json: rules in groups, and settings of its formatter.
func readBiome(p *page, n *node) {
	lint := n.get("linter")
	if !lint.get("enabled").off() {
		groups := lint.get("rules")
		if r, ok := groups.at("recommended"); ok && r.value.on() {
			p.preset(biome, r.value, "recommended", "linter.rules.recommended")
		}
		blocks := biomeBlocks(groups, "linter.rules", nil)
		for _, g := range slices.Concat(n.get("files", "includes").strings(), lint.get("includes").strings()) {
			if rest := strings.TrimLeft(g, "!"); rest != g {
				blocks[0].exclude = append(blocks[0].exclude, rest)
			}
		}
		for _, o := range n.get("overrides").all() {
			files := slices.Concat(o.get("includes").strings(), o.get("include").strings())
			blocks = append(blocks, biomeBlocks(o.get("linter", "rules"), "overrides.linter.rules", files)...)
		}
		addBlocks(p, biome, blocks)
	}
	if f := n.get("formatter"); f != nil && !f.get("enabled").off() {
		readBiomeFormat(p, f, "formatter.", []string{"indentStyle", "indentWidth", "lineWidth", "lineEnding"})
	}
	readBiomeFormat(p, n.get("javascript", "formatter"), "javascript.formatter.",
		[]string{"quoteStyle", "semicolons", "trailingCommas", "arrowParentheses", "jsxQuoteStyle"})
}

// biomeBlocks makes a block of each group, with the names of its rules as ESLint writes names.
func biomeBlocks(groups *node, section string, files []string) []block {
	all := &node{form: table}
	for _, g := range groups.each() {
		for _, r := range g.value.each() {
			all.pairs = append(all.pairs, pair{key: kebab(r.key), line: r.line, value: r.value})
		}
	}
	return []block{{rules: all, section: section, files: files}}
}

// kebab writes noConstAssign as no-const-assign.
func kebab(s string) string {
	var b strings.Builder
	for i, c := range s {
		if c >= 'A' && c <= 'Z' {
			if i > 0 {
				b.WriteByte('-')
			}
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}
