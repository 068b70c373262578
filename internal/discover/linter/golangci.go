package linter

import (
	"regexp"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/text"
)

var (
	goFiles     = []string{"**/*.go"}
	golangci    = &tool{name: "golangci-lint", table: "golangci", paths: goFiles, language: "go", silence: `//\s*nolint`}
	goFormatter = &tool{name: "golangci-lint's formatter", table: "golangci", paths: goFiles, language: "go", formats: true}
	staticcheck = &tool{name: "staticcheck", table: "golangci", paths: goFiles, language: "go", silence: `//\s*lint:ignore`}
	revive      = &tool{name: "revive", table: "golangci", paths: goFiles, language: "go", silence: `revive:disable`}
)

// readGolangci reads .golangci.yml and the like, of version 1 and 2.
func readGolangci(p *page, n *node) {
	settings, where := n.get("linters", "settings"), "linters.settings"
	if settings == nil {
		settings, where = n.get("linters-settings"), "linters-settings"
	}
	free := exclusions(n)
	disabled := n.get("linters", "disable").strings()
	for _, item := range n.get("linters", "enable").all() {
		if !item.scalar() || slices.Contains(disabled, item.text) {
			continue
		}
		addGoLinter(p, item, settings, free)
	}
	running := goRunning(n)
	for _, key := range []string{"default", "enable-all", "presets"} {
		addGoSet(p, n.get("linters", key), key)
	}
	for _, item := range n.get("formatters", "enable").all() {
		if item.scalar() && n.get("formatters", "settings", item.text, said[item.text]) == nil {
			p.add(goFormatter, setting{
				key: item.text, args: []*node{settings.get(item.text), n.get("formatters", "settings", item.text)}, level: fail,
				line: item.line, end: item.end, section: "formatters.enable", exclude: free[""],
			})
		}
	}
	readGoSettings(p, settings, where, running)
	readGoSettings(p, n.get("formatters", "settings"), "formatters.settings", running)
}

// goRunning returns a test of which linters and formatters run: those that are enabled, the standard ones, or all, less those
// disabled.
func goRunning(n *node) func(string) bool {
	enabled := slices.Concat(n.get("linters", "enable").strings(), n.get("formatters", "enable").strings())
	all := n.get("linters", "enable-all").on() || n.get("linters", "default").is("all")
	none := n.get("linters", "disable-all").on() || n.get("linters", "default").is("none")
	disabled := n.get("linters", "disable").strings()
	standard := []string{"errcheck", "gosimple", "govet", "ineffassign", "staticcheck", "unused"}
	return func(name string) bool {
		runs := all || slices.Contains(enabled, name) || !none && slices.Contains(standard, name)
		return runs && !slices.Contains(disabled, name)
	}
}

const aliasLinter = "import" + "as" // in two parts: a spelling checker takes it for a slip

// said are linters whose settings say what they demand better than their name does: where the setting is there, it is the
// candidate.
var said = map[string]string{
	"depguard": "rules", "forbidigo": "forbid", "gomodguard": "blocked", "goheader": "template", aliasLinter: "alias", "gci": "sections",
	"staticcheck": "checks", "revive": "enable-all-rules", "exhaustive": "default-signifies-exhaustive",
}

func addGoLinter(p *page, item, settings *node, free map[string][]string) {
	own := settings.get(item.text)
	if own.get(said[item.text]) != nil {
		return
	}
	p.add(golangci, setting{
		key: item.text, args: []*node{own}, level: fail, line: item.line, end: item.end, section: "linters.enable",
		exclude: slices.Concat(free[item.text], free[""]), note: switchedOff(own.get("excludes").strings()),
	})
}

// addGoSet adds a whole set of linters.
func addGoSet(p *page, n *node, key string) {
	for _, item := range n.all() {
		words := ""
		switch {
		case key == "presets":
			words = "Go code must pass the linters of the preset " + printable(item.text) + " of golangci-lint."
		case item.is("all") || key == "enable-all" && item.on():
			words = "Go code must pass all linters of golangci-lint that are not switched off."
		default:
			continue // none is no rule; standard and fast leave the choice to the tool
		}
		p.add(golangci, setting{
			key: key, level: fail, line: item.line, end: item.end, section: under("linters", key), words: words, class: design, set: true,
		})
	}
}

// readGoSettings adds settings of single linters that are rules of their own.
func readGoSettings(p *page, settings *node, where string, running func(string) bool) {
	for _, l := range settings.each() {
		if !running(l.key) {
			continue
		}
		at := under(where, l.key)
		switch l.key {
		case "depguard":
			readDepguard(p, l.value, at)
		case "forbidigo":
			readForbidigo(p, l.value, at)
		case "revive":
			readRevive(p, l.value, at)
		case "staticcheck", "stylecheck", "gosimple":
			readStaticcheck(p, golangci, l.value.get("checks"), under(at, "checks"))
		case "gomodguard":
			for _, key := range []string{"modules", "versions"} {
				readGomodguard(p, l.value.get("blocked", key), under(at, "blocked", key))
			}
		case "goheader":
			readGoheader(p, l.value, at)
		case aliasLinter:
			readImportAliases(p, l.value.get("alias"), under(at, "alias"))
		case "govet":
			readGovet(p, l.value, at)
		}
		for _, s := range l.value.each() {
			if !s.value.is("0") {
				p.value(golangci, under(l.key, s.key), s, under(at, s.key))
			}
		}
	}
}

// readDepguard adds the packages that must not be imported, each with the project's own reason. The check is exact: an import has a
// line of its own.
func readDepguard(p *page, n *node, at string) {
	for _, list := range n.get("rules").each() {
		var files, free []string
		for _, f := range list.value.get("files").strings() {
			f = strings.ReplaceAll(f, "$test", "**/*_test.go")
			if rest, not := strings.CutPrefix(f, "!"); not {
				free = append(free, rest)
			} else if f != "$all" {
				files = append(files, f)
			}
		}
		for _, d := range list.value.get("deny").all() {
			name := d.get("pkg")
			if !name.scalar() {
				continue
			}
			forbidImport(p, name.text, option([]*node{d}, "desc"), d, under(at, "rules", list.key), files, free)
		}
	}
}

func forbidImport(p *page, name, why string, d *node, section string, files, free []string) {
	exact := strings.HasSuffix(name, "$")
	name = strings.TrimSuffix(name, "$")
	if name == "" || printable(name) != name || len(name) > 1000 {
		return // no package has such a name
	}
	below, tail := " or what is below it", `[^"]*`
	if exact {
		below, tail = "", ""
	}
	p.add(golangci, setting{
		key: "depguard", level: fail, line: d.line, end: d.end, section: section, words: "Code must not import " + brief(name, 200) + below + ".", class: design, paths: files, exclude: free,
		why:     strings.TrimSpace(printable(why)),
		pattern: &rule.Pattern{Regex: `^\s*(import\s+)?([A-Za-z_.][A-Za-z0-9_]*\s+)?"` + regexp.QuoteMeta(name) + tail + `"\s*(//.*)?$`},
	})
}

// readGomodguard adds the modules that gomodguard blocks.
func readGomodguard(p *page, n *node, at string) {
	for _, item := range n.all() {
		for _, m := range item.each() {
			forbidImport(p, m.key, option([]*node{m.value}, "reason"), &node{line: m.line, end: m.last()}, at, nil, nil)
		}
	}
}

// message is where older settings of forbidigo keep the reason: in a group of the expression that begins with #.
var message = regexp.MustCompile(`\(# *(.*?)\)\??$`)

// readForbidigo adds the expressions that must not occur.
func readForbidigo(p *page, n *node, at string) {
	for _, f := range n.get("forbid").all() {
		pattern, why := f, ""
		if f.form == table {
			if pattern = f.get("pattern"); pattern == nil {
				pattern = f.get("p")
			}
			why = option([]*node{f}, "msg")
		}
		if !pattern.scalar() || pattern.text == "" {
			continue
		}
		expr := pattern.text
		if m := message.FindStringSubmatch(expr); m != nil && why == "" {
			why = strings.ReplaceAll(m[1], `\`, "")
			expr = expr[:len(expr)-len(m[0])]
		}
		name := strings.Trim(strings.ReplaceAll(expr, `\.`, "."), "^$")
		s := setting{
			key: "forbidigo", level: fail, line: f.line, end: f.end, section: under(at, "forbid"), class: design,
			words: "Code must not use " + brief(name, 200) + ".", why: printable(why),
		}
		if len(expr) < 200 && plainName.MatchString(expr) {
			s.pattern = &rule.Pattern{Regex: `^[^"'` + "`" + `/]*\b` + strings.Trim(expr, "^$") + `\b`}
		}
		p.add(golangci, s)
	}
}

// plainName is an expression that can be looked for in a line: the name of a function of a package.
var plainName = regexp.MustCompile(`^\^?[A-Za-z_][A-Za-z0-9_]*\\\.[A-Za-z_|()]+\$?$`)

func readRevive(p *page, n *node, at string) {
	if all, ok := n.at("enable-all-rules"); ok && all.value.on() {
		p.add(revive, setting{
			key: "enable-all-rules", level: fail, line: all.line, end: all.last(), section: under(at, "enable-all-rules"), class: design,
			words: "Go code must pass all rules of revive that are not switched off.",
			set:   true,
		})
	}
	for _, r := range n.get("rules").all() {
		name := r.get("name")
		if !name.scalar() || r.get("disabled").on() {
			continue
		}
		s := setting{key: "revive/" + name.text, args: r.get("arguments").all(), level: fail, line: r.line, end: r.end, section: under(at, "rules", name.text)}
		if r.get("severity").is("warning") {
			s.level = warn
		}
		p.add(revive, s)
	}
}

// readReviveFile reads revive's own file, in which each rule is a table.
func readReviveFile(p *page, n *node) {
	for _, r := range n.get("rule").each() {
		if r.value.get("disabled").on() || r.value.get("Disabled").on() {
			continue
		}
		s := setting{key: "revive/" + r.key, args: r.value.get("arguments").all(), level: fail, line: r.value.line, end: r.last(), section: under("rule", r.key)}
		if n.get("severity").is("warning") {
			s.level = warn
		}
		p.add(revive, s)
	}
}

var checkNames = map[string]string{
	"all": "all checks of staticcheck", "SA*": "the checks of staticcheck for bugs", "S*": "the checks of staticcheck for simpler code",
	"ST*": "the checks of staticcheck for style", "QF*": "the quick fixes of staticcheck", "U1000": "the check of staticcheck for unused code",
}

// readStaticcheck adds one candidate for the checks that are selected, with those that are not.
func readStaticcheck(p *page, t *tool, checks *node, at string) {
	var without []string
	for _, c := range checks.all() {
		if rest, not := strings.CutPrefix(c.text, "-"); not {
			without = append(without, text.FitRunes(rest, 20, "…"))
		}
	}
	for _, c := range checks.all() {
		if !c.scalar() || c.text == "" || strings.HasPrefix(c.text, "-") {
			continue
		}
		what, ok := checkNames[c.text]
		if !ok {
			what = "the check " + brief(c.text, 20) + " of staticcheck"
		}
		p.add(t, setting{
			key: c.text, level: fail, line: c.line, end: c.end, section: at, words: "Go code must pass " + what + ".", class: correctness,
			note: switchedOff(without), set: c.text == "all" || strings.HasSuffix(c.text, "*"),
		})
	}
}

func readGoheader(p *page, n *node, at string) {
	t, ok := n.at("template")
	if !ok || !t.value.scalar() || strings.TrimSpace(t.value.text) == "" {
		return
	}
	p.add(golangci, setting{
		key: "goheader", level: fail, line: t.line, end: t.last(), section: under(at, "template"), class: docs,
		words: "Files must begin with the header: " + brief(t.value.text, 500),
	})
}

func readImportAliases(p *page, n *node, at string) {
	for _, item := range n.all() {
		pkg, alias := item.get("pkg"), item.get("alias")
		if pkg.scalar() && alias.scalar() && alias.text != "" && !strings.ContainsAny(pkg.text, `(*\`) {
			p.add(golangci, setting{
				key: aliasLinter, level: fail, line: item.line, end: item.end, section: at, class: naming,
				words: "The package " + brief(pkg.text, 200) + " must be imported under the name " + brief(alias.text, 60) + ".",
			})
		}
	}
}

func readGovet(p *page, n *node, at string) {
	for _, a := range n.get("enable").all() {
		if a.scalar() {
			p.add(golangci, setting{key: "govet/" + a.text, level: fail, line: a.line, end: a.end, section: under(at, "enable")})
		}
	}
}

// exclusions returns the files that linters leave alone, by linter; those of all linters are under "".
func exclusions(n *node) map[string][]string {
	out := map[string][]string{}
	rules := slices.Concat(n.get("linters", "exclusions", "rules").all(), n.get("issues", "exclude-rules").all())
	for _, r := range rules {
		glob := globOf(option([]*node{r}, "path"))
		if glob == "" || r.get("text") != nil || r.get("source") != nil {
			continue
		}
		for _, name := range r.get("linters").strings() {
			out[name] = append(out[name], glob)
		}
	}
	paths := slices.Concat(n.get("linters", "exclusions", "paths").strings(), n.get("issues", "exclude-dirs").strings(), n.get("run", "skip-dirs").strings())
	for _, path := range paths {
		if glob := globOf(path); glob != "" {
			out[""] = append(out[""], glob)
		}
	}
	return out
}

var plainPath = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)

// globOf writes the expression for a path as a glob, where that is certain; empty otherwise.
func globOf(expr string) string {
	switch strings.TrimPrefix(strings.TrimPrefix(expr, "(.+)"), ".*") {
	case `_test\.go`, `_test\.go$`, `_test.go`:
		return "**/*_test.go"
	}
	rooted := strings.HasPrefix(expr, "^")
	dir := strings.HasSuffix(expr, "/*") || strings.HasSuffix(expr, "$") || strings.HasSuffix(expr, "/")
	p := strings.ReplaceAll(strings.TrimRight(strings.TrimPrefix(expr, "^"), "$*/"), `\.`, ".")
	if p == "" || !plainPath.MatchString(p) {
		return ""
	}
	if strings.HasSuffix(p, ".go") {
		dir = false
	} else if !dir && !strings.Contains(p, "/") {
		dir = true
	}
	if !rooted && !strings.Contains(p, "/") {
		p = "**/" + p
	}
	if dir || !strings.HasSuffix(p, ".go") {
		p += "/**"
	}
	return p
}
