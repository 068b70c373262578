package code

import (
	"slices"
	"strings"
)

// maxImportTokens bounds one import.
const maxImportTokens = 4_000

// importing finds the modules that are imported.
type importing struct{ *reader }

// imports notes the imports that a word begins.
func (r importing) imports(i int) {
	t := &r.toks[i]
	begins := i == 0 || t.fresh || r.is(i-1, ";", ":", "{", "}", ")") || r.language == Rust && r.is(i-1, "]", "pub")
	switch t.text {
	case "import":
		switch {
		case r.script():
			r.scriptImport(i)
		case !begins:
		case r.language == Python:
			r.pythonImport(i)
		case r.language == Java:
			r.javaImport(i)
		case r.language == Go:
			r.goImport(i)
		}
	case "from":
		if r.language == Python && begins {
			r.pythonFrom(i)
		}
	case "export":
		if r.script() {
			r.scriptExport(i)
		}
	case "use":
		if r.language == Rust && begins {
			r.useTree(i, i+1, "", 0)
		}
	case "extern":
		if r.language == Rust && r.is(i+1, "crate") && r.isWord(i+2) {
			r.imported(i, i+2, r.toks[i+2].text, "", r.alias(i+3, r.toks[i+2].text))
		}
	case "package":
		if (r.language == Java || r.language == Go) && begins && r.f.Package == "" {
			r.f.Package, _ = r.ahead(i + 1)
		}
	}
	if r.language == Go && r.fragment && r.around[i] < 0 && t.fresh && r.isText(i+1) && r.ownLine(i, i+1) { // a name in an import list
		r.imported(i, i+1, r.toks[i+1].value(), "", t.text)
	}
}

// ownLine reports whether tokens are alone on their lines.
func (r importing) ownLine(from, to int) bool {
	return r.toks[from].fresh && (to+1 >= len(r.toks) || r.toks[to+1].fresh)
}

// imported notes an import.
func (r importing) imported(from, to int, module, name, alias string) {
	path := module
	if name != "" {
		path = strings.TrimSuffix(module, ".") + "." + name
		if r.language == Rust {
			path = module + "::" + name
		}
	}
	r.f.Imports = add(r.reader, r.f.Imports, Import{r.span(from, min(to, len(r.toks)-1)), fit(module, maxName), fit(name, maxName), fit(path, maxName), alias})
}

// alias returns the name behind "as" at a place, or another one.
func (r importing) alias(at int, other string) string {
	if r.is(at, "as") && r.isWord(at+1) {
		return r.toks[at+1].text
	}
	return other
}

func (r importing) pythonImport(i int) {
	for at := i + 1; at < min(len(r.toks), i+maxImportTokens) && r.left > 0; {
		r.left--
		module, next := r.ahead(at)
		if module == "" {
			return
		}
		first, _, _ := strings.Cut(module, ".")
		alias := r.alias(next, first)
		end := next - 1
		if r.is(next, "as") {
			next += 2
			end = next - 1
		}
		path := module
		if alias == first {
			path = first
		}
		r.f.Imports = add(r.reader, r.f.Imports, Import{r.span(at, min(end, len(r.toks)-1)), fit(module, maxName), "", fit(module, maxName), ""})
		last := &r.f.Imports[len(r.f.Imports)-1]
		if last.Alias = alias; path != module {
			last.Alias = "" // os.path is written in full
		}
		if !r.is(next, ",") {
			return
		}
		at = next + 1
	}
}

func (r importing) pythonFrom(i int) {
	at, dots := i+1, ""
	for r.is(at, ".", "...") {
		dots += r.toks[at].text
		at++
	}
	module, at := r.ahead(at)
	if module == "import" || dots != "" && r.is(at-1, "import") && module != "" && !r.is(at, "import") {
		module, at = "", at-1
	}
	if !r.is(at, "import") {
		return
	}
	at++
	if r.is(at, "(") {
		at++
	}
	if at >= len(r.toks) || r.fragment && r.is(at-1, "(") && r.partner[at-1] < 0 {
		r.doubtImport(i)
	}
	for end := min(len(r.toks), i+maxImportTokens); at < end && r.left > 0; {
		r.left--
		if !r.isWord(at) && !r.is(at, "*") {
			return
		}
		name := r.toks[at].text
		alias := name
		if name == "*" {
			alias = ""
		}
		last := at
		if alias = r.alias(at+1, alias); r.is(at+1, "as") {
			last = at + 2
		}
		r.imported(at, last, dots+module, name, alias)
		r.f.Imports[len(r.f.Imports)-1].Line = r.toks[at].line
		if !r.is(last+1, ",") {
			return
		}
		at = last + 2
	}
}

// scriptImport notes "import a, { b as c } from 'm'" and its like.
func (r importing) scriptImport(i int) {
	if r.is(i+1, "(", ".", "?.") {
		return // a call, or import.meta
	}
	if r.isText(i + 1) {
		r.imported(i, i+1, r.toks[i+1].value(), "", "")
		return
	}
	r.clause(i, i+1)
}

// scriptExport notes "export { a } from 'm'".
func (r importing) scriptExport(i int) {
	at := i + 1
	if r.is(at, "type") {
		at++
	}
	if !r.is(at, "*", "{") {
		return
	}
	if r.is(at, "{") && (r.partner[at] < 0 || !r.is(r.partner[at]+1, "from")) {
		if r.partner[at] < 0 {
			r.doubtImport(i)
		}
		return
	}
	r.clause(i, at)
}

// clause reads what a script imports, up to the module.
func (r importing) clause(i, at int) {
	type item struct {
		name, alias string
		at          int
	}
	var items []item
	for end := min(len(r.toks), i+maxImportTokens); at < end && r.left > 0; at++ {
		r.left--
		switch {
		case r.is(at, "from") && r.isText(at+1):
			module := r.toks[at+1].value()
			for _, it := range items {
				span := r.span(min(it.at, at), at+1)
				path := module
				if it.name != "" {
					path += "." + it.name
				}
				r.f.Imports = add(r.reader, r.f.Imports, Import{span, fit(module, maxName), it.name, fit(path, maxName), it.alias})
			}
			if len(items) == 0 {
				r.imported(i, at+1, module, "", "")
			}
			return
		case r.is(at, "=") && r.is(at+1, "require") && r.isText(at+3):
			return // the call notes it
		case r.is(at, ";") || r.is(at, "=") || r.is(at, "(") || r.toks[at].kind == literal:
			return
		case r.is(at, "*"):
			alias := r.alias(at+1, "")
			items = append(items, item{"", alias, at})
			if alias != "" {
				at += 2
			}
		case r.isWord(at) && !r.is(at, "type", "typeof"):
			name := r.toks[at].text
			alias := r.alias(at+1, name)
			if r.around[at] < 0 || !r.is(r.around[at], "{") || r.around[at] < i { // the default
				name = ""
			}
			items = append(items, item{name, alias, at})
			if r.is(at+1, "as") {
				at += 2
			}
		}
	}
	r.doubtImport(i)
}

// called notes the import that a call makes.
func (r importing) called(c *Call, first, open, end int) {
	loads := r.script() && (c.Name == "require" || c.Name == "import") ||
		r.language == Python && (c.Name == "__import__" || c.Name == "importlib.import_module" || c.Name == "import_module")
	if !loads || !r.isText(open+1) || !r.is(open+2, ")", ",") {
		return
	}
	module := r.toks[open+1].value()
	before := first - 1
	if r.is(before, "await") {
		before--
	}
	last := min(end, len(r.toks)-1)
	switch {
	case !r.is(before, "="):
		r.imported(first, last, module, "", "")
	case r.is(before-1, "}") && r.partner[before-1] >= 0:
		from := r.partner[before-1]
		for i := from + 1; i < before-1 && i < from+maxImportTokens; i++ {
			r.left--
			if !r.isWord(i) || r.is(i-1, ":") {
				continue
			}
			alias := r.toks[i].text
			if r.is(i+1, ":") && r.isWord(i+2) {
				alias = r.toks[i+2].text
			}
			r.imported(i, last, module, r.toks[i].text, alias)
		}
		r.imported(first, last, module, "", "")
	default:
		alias := ""
		if r.isWord(before - 1) {
			alias = r.toks[before-1].text
		}
		r.imported(first, last, module, "", alias)
	}
}

func (r importing) javaImport(i int) {
	at := i + 1
	static := r.is(at, "static")
	if static {
		at++
	}
	name, next := r.ahead(at)
	if name == "" {
		return
	}
	dot := strings.LastIndexByte(name, '.')
	switch {
	case r.is(next, ".") && r.is(next+1, "*"):
		r.imported(i, next+1, name, "*", "")
	case static && dot > 0:
		r.imported(i, next-1, name[:dot], name[dot+1:], name[dot+1:])
	default:
		r.imported(i, next-1, name, "", name[dot+1:])
	}
}

func (r importing) goImport(i int) {
	at, end := i+1, i+3
	list := r.is(at, "(")
	if list {
		if at, end = at+1, r.partner[at]; end < 0 {
			end = len(r.toks)
		}
	}
	for ; at < min(end, len(r.toks)); at++ {
		if !r.isText(at) {
			continue
		}
		module := r.toks[at].value()
		alias := goName(module)
		from := at
		if at > i+1 && (r.isWord(at-1) || r.is(at-1, ".")) && r.toks[at-1].line == r.toks[at].line {
			alias, from = r.toks[at-1].text, at-1
		}
		r.imported(from, at, module, "", alias)
		if !list {
			return
		}
	}
}

// goName returns the name that a package of Go usually has.
func goName(module string) string {
	parts := strings.Split(module, "/")
	name := parts[len(parts)-1]
	if n := len(parts); n > 1 && len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == "" {
		name = parts[n-2]
	}
	name, _, _ = strings.Cut(name, ".")
	return strings.TrimPrefix(name, "go-")
}

// useTree notes the imports of a tree such as std::{fs, io::{self, Read as R}}, and returns the place behind it.
func (r importing) useTree(i, at int, prefix string, depth int) int {
	if depth > 40 {
		r.doubtful(r.toks[i].line, "imports inside one another")
		return len(r.toks)
	}
	start := at
	path := prefix
	join := func(s string) {
		if path != "" {
			path += "::"
		}
		path += s
		if len(path) > maxName {
			path = path[:maxName]
		}
	}
	for at < len(r.toks) && r.left > 0 {
		r.left--
		switch {
		case r.is(at, "::"):
			at++
		case r.is(at, "{"):
			end := r.partner[at]
			if end < 0 {
				r.doubtImport(i)
				end = len(r.toks)
			}
			for at++; at < end; at++ {
				at = r.useTree(i, at, path, depth+1)
			}
			return end + 1
		case r.is(at, "*"):
			r.imported(start, at, path, "*", "")
			return at + 1
		case r.isWord(at) && !r.is(at, "as"):
			last := r.toks[at].text
			if last != "self" || path == "" {
				join(last)
			}
			if at++; r.is(at, "::") {
				continue
			}
			if last == "self" {
				last = path[strings.LastIndexByte(path, ':')+1:]
			}
			alias := r.alias(at, last)
			end := at - 1
			if r.is(at, "as") {
				at += 2
				end = at - 1
			}
			r.imported(start, min(end, len(r.toks)-1), path, "", alias)
			return at
		default:
			return at
		}
	}
	return at
}

func (r importing) doubtImport(i int) {
	if r.f.ImportDoubt == "" {
		r.f.ImportDoubt = "line " + itoa(r.toks[i].line) + ": the part that is shown does not have all of an import"
	}
}

// doubtImports notes lines of a part that may be in an import that begins before it: names with commas.
func (r importing) doubtImports() {
	if r.language == Java {
		return
	}
	for from := 0; from < len(r.toks); {
		to := from + 1
		for to < len(r.toks) && !r.toks[to].fresh {
			to++
		}
		if r.around[from] < 0 && r.listed(from, to) {
			if r.language == Go && r.isText(from) {
				r.imported(from, from, r.toks[from].value(), "", goName(r.toks[from].value()))
			} else {
				r.doubtImport(from)
			}
		}
		from = to
	}
}

// listed reports whether the tokens of a line may be elements of an import.
func (r importing) listed(from, to int) bool {
	if r.language == Go {
		return to-from == 1 && r.isText(from)
	}
	for i := from; i < to; i++ {
		if r.toks[i].kind != word && !r.is(i, ",", "::", "{", "}", "*", ".") {
			return false
		}
		if r.toks[i].kind == word && slices.Contains(words[r.language], r.toks[i].text) && r.toks[i].text != "as" {
			return false
		}
	}
	ends := to < len(r.toks) && r.is(to, ")", "}") && r.partner[to] < 0
	return r.isWord(from) && (r.is(to-1, ",") || ends) || r.is(from, "*", "{") && r.is(to-1, ",")
}
