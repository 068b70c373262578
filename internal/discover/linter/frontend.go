package linter

import (
	"slices"
	"strings"
)

var (
	prettier = &tool{
		name: "Prettier", table: "prettier", formats: true,
		paths: []string{"**/*.{js,jsx,mjs,cjs,ts,tsx,mts,cts,css,scss,less,html,vue,json,md,yaml,yml}"},
	}
	biomeFormatter = &tool{name: "Biome", table: "prettier", paths: scripts, formats: true}
	tsc            = &tool{name: "the TypeScript compiler", table: "tsconfig", paths: typed, language: "typescript"}
	jshint         = &tool{name: "JSHint", table: "jshint", paths: []string{"**/*.{js,mjs,cjs}"}, language: "javascript", silence: `jshint\s+ignore`}
	stylelint      = &tool{name: "Stylelint", table: "stylelint", paths: []string{"**/*.{css,scss,sass,less}"}, language: "css"}
	commitlint     = &tool{name: "commitlint", table: "commitlint"}
)

// codeOnly are settings of Prettier that concern code, and not style sheets and prose.
var codeOnly = []string{
	"arrowParens", "bracketSameLine", "bracketSpacing", "experimentalTernaries", "jsxSingleQuote", "objectWrap", "quoteProps", "semi",
	"singleQuote", "trailingComma",
}

func readPrettier(p *page, n *node, section string) {
	overrides := n.get("overrides").all()
	readPrettierBlock(p, n, section, nil, overrides)
	for _, o := range overrides {
		readPrettierBlock(p, o.get("options"), section+"overrides.options.", o.get("files").strings(), nil)
	}
}

func readPrettierBlock(p *page, n *node, section string, files []string, overrides []*node) {
	for _, s := range n.each() {
		if !s.value.scalar() {
			continue
		}
		if _, ok := lookup("prettier", s.key, s.value.text); !ok {
			continue // plugins, parsers and the like are no rules
		}
		add := setting{
			key: s.key, value: s.value.text, args: []*node{s.value}, level: fail, line: s.line, end: s.last(), section: section + s.key, paths: files,
		}
		if files == nil && slices.Contains(codeOnly, s.key) {
			add.paths = scripts
		}
		for _, o := range overrides {
			if v := o.get("options", s.key); v != nil && v.text != s.value.text {
				add.exclude = append(add.exclude, o.get("files").strings()...)
			}
		}
		p.add(prettier, add)
	}
}

// readBiomeFormat adds settings of Biome's formatter under the names that Prettier has for them.
func readBiomeFormat(p *page, n *node, section string, keys []string) {
	names := map[string]string{
		"indentStyle=tab": "useTabs=true", "indentStyle=space": "useTabs=false", "indentWidth": "tabWidth", "lineWidth": "printWidth",
		"lineEnding=lf": "endOfLine=lf", "lineEnding=crlf": "endOfLine=crlf", "quoteStyle=single": "singleQuote=true",
		"quoteStyle=double": "singleQuote=false", "semicolons=always": "semi=true", "semicolons=asNeeded": "semi=false",
		"trailingCommas=all": "trailingComma=all", "trailingCommas=es5": "trailingComma=es5", "trailingCommas=none": "trailingComma=none",
		"arrowParentheses=always": "arrowParens=always", "arrowParentheses=asNeeded": "arrowParens=avoid",
		"jsxQuoteStyle=single": "jsxSingleQuote=true", "jsxQuoteStyle=double": "jsxSingleQuote=false",
	}
	for _, key := range keys {
		s, ok := n.at(key)
		if !ok || !s.value.scalar() {
			continue
		}
		name, ok := names[key+"="+s.value.text]
		if !ok {
			name, ok = names[key]
		}
		if ok {
			name, value, _ := strings.Cut(name, "=")
			p.add(biomeFormatter, setting{
				key: name, value: value, args: []*node{s.value}, level: fail, line: s.line, end: s.last(), section: section + key,
				note: "In the settings it is called " + key + ".",
			})
		}
	}
}

func readTSConfig(p *page, n *node) {
	options := n.get("compilerOptions")
	for _, o := range options.each() {
		if !o.value.scalar() {
			continue
		}
		if exact, plain := inTable("tsconfig", o.key, o.value); !exact && (!plain || !o.value.on()) {
			continue
		}
		s := setting{key: o.key, value: o.value.text, level: fail, line: o.line, end: o.last(), section: under("compilerOptions", o.key)}
		if o.key == "checkJs" {
			s.paths = []string{"**/*.{js,jsx,mjs,cjs}"}
		}
		p.add(tsc, s)
	}
}

func readJSHint(p *page, n *node) {
	for _, o := range n.each() {
		if !o.value.scalar() || o.value.off() {
			continue
		}
		if _, ok := lookup("jshint", o.key, o.value.text); ok {
			p.add(jshint, setting{key: o.key, value: o.value.text, args: []*node{o.value}, level: fail, line: o.line, end: o.last(), section: o.key})
		}
	}
}

func readStylelint(p *page, n *node) {
	p.presets(stylelint, n.get("extends"))
	readStylelintRules(p, n.get("rules"), "rules", nil, n.get("ignoreFiles").strings())
	for _, o := range n.get("overrides").all() {
		readStylelintRules(p, o.get("rules"), "overrides.rules", o.get("files").strings(), nil)
	}
}

func readStylelintRules(p *page, rules *node, section string, files, exclude []string) {
	for _, r := range rules.each() {
		primary, second := r.value, (*node)(nil)
		if primary != nil && primary.form == list && len(primary.items) > 0 {
			// A list is a value with options, or a value that is a list: options come second and are a table.
			if len(primary.items) == 2 && primary.items[1].form == table {
				primary, second = primary.items[0], primary.items[1]
			}
		}
		if primary == nil || primary.form == nothing || primary.off() {
			continue
		}
		s := setting{key: r.key, args: []*node{primary}, level: fail, line: r.line, end: r.last(), section: under(section, r.key), paths: files, exclude: exclude}
		if primary.scalar() {
			s.value = primary.text
		}
		if primary.form == truth {
			s.args = nil
		}
		if second.get("severity").is("warning") {
			s.level = warn
		}
		p.add(stylelint, s)
	}
}

// readCommitlint reads rules of the form [level, always or never, value].
func readCommitlint(p *page, n *node) {
	p.presets(commitlint, n.get("extends"))
	for _, r := range n.get("rules").each() {
		lvl, args := levelOf(r.value)
		s := setting{key: r.key, level: lvl, line: r.line, end: r.last(), section: under("rules", r.key), note: "It concerns commit messages, not files."}
		if len(args) > 0 && args[0].scalar() {
			s.value, s.args = args[0].text, args[1:]
		}
		p.add(commitlint, s)
	}
}
