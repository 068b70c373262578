package code

import (
	"path"
	"slices"
	"strings"

	"tenet/internal/lex"
)

// scriptUnit is one file of TypeScript or JavaScript while it is counted.
type scriptUnit struct {
	*unit
	toks    []lex.Token
	jsx     bool
	typed   bool
	console int // lines where it breaks a rule about the whole file
	any     int
}

func (u *unit) script() {
	ext := path.Ext(u.path)
	s := &scriptUnit{unit: u, jsx: ext == ".tsx" || ext == ".jsx", typed: strings.Contains(ext, "ts")}
	s.toks = lex.Script(u.src, s.jsx)
	if len(s.toks) == 0 {
		return
	}
	for i := range s.toks {
		switch s.toks[i].Kind {
		case lex.Name:
			s.word(i)
		case lex.Mark:
			s.mark(i)
		case lex.String:
			if !s.jsx && s.toks[i].Quote != "`" {
				s.quotes(s.toks[i])
			}
		case lex.Number, lex.Regexp, lex.Unclosed:
		}
	}
	if s.test {
		return
	}
	s.file("script.console", s.console)
	if s.typed {
		s.file("script.any", s.any)
	}
}

// file counts a rule about the whole file, broken at a line or, with 0, nowhere.
func (s *scriptUnit) file(question string, broken int) {
	if broken > 0 {
		s.count(question, false, broken)
		return
	}
	s.count(question, true, s.toks[0].Line)
}

// is reports whether the token at i is a name or mark that is written so.
func (s *scriptUnit) is(i int, word string) bool {
	return i >= 0 && i < len(s.toks) && s.toks[i].Text == word && (s.toks[i].Kind == lex.Name || s.toks[i].Kind == lex.Mark)
}

func (s *scriptUnit) kind(i int, k lex.Kind) bool {
	return i >= 0 && i < len(s.toks) && s.toks[i].Kind == k
}

// starts reports whether the token at i begins a statement, as far as its neighbours show.
func (s *scriptUnit) starts(i int) bool {
	t := s.toks[i]
	return t.Fresh || s.is(i-1, ";") || s.is(i-1, "{") || s.is(i-1, "}")
}

func (s *scriptUnit) quotes(t lex.Token) {
	if t.Text != "" && !strings.ContainsAny(t.Text, "\"'") {
		s.vote("script.quotes", map[string]string{`"`: "double", "'": "single"}[t.Quote], t.Line)
	}
}

func (s *scriptUnit) word(i int) {
	t := s.toks[i]
	if s.is(i-1, ".") || s.is(i-1, "?.") { // a property
		if t.Text == "then" && s.is(i+1, "(") && !s.test {
			s.vote("script.async", "then", t.Line)
		}
		return
	}
	if s.is(i+1, ":") { // a key
		return
	}
	switch t.Text {
	case "import":
		s.imported(i)
	case "require":
		if s.is(i+1, "(") && s.kind(i+2, lex.String) {
			s.vote("script.modules", "require", t.Line)
			s.module(s.toks[i+2])
		}
	case "export":
		s.exported(i)
	case "function":
		if s.kind(i+1, lex.Name) && s.is(i+2, "(") {
			s.named("script.function", s.toks[i+1], camel.MatchString(s.toks[i+1].Text) || pascal.MatchString(s.toks[i+1].Text), "camel")
		}
	case "class", "interface", "enum":
		s.typeName(i)
	case "type":
		s.alias(i)
	case "catch":
		s.caught(i)
	case "throw":
		if s.starts(i) && i+1 < len(s.toks) && (s.is(i+1, "new") || s.kind(i+1, lex.String) || s.is(i+1, "{")) {
			s.count("script.throw", s.is(i+1, "new"), t.Line)
		}
	case "let", "const", "var":
		if (s.starts(i) || s.is(i-1, "export") || s.is(i-1, "(")) && (s.kind(i+1, lex.Name) || s.is(i+1, "{") || s.is(i+1, "[")) {
			s.count("script.var", t.Text != "var", t.Line)
		}
	case "await":
		if !s.test {
			s.vote("script.async", "await", t.Line)
		}
	case "console":
		if s.is(i+1, ".") && s.is(i+3, "(") && s.starts(i) {
			s.console = t.Line
		}
	case "any":
		if s.typed && (s.is(i-1, ":") || s.is(i-1, "as") || s.is(i-1, "<")) {
			s.any = t.Line
		}
	case "return":
		s.ending(i)
	}
}

func (s *scriptUnit) named(question string, t lex.Token, keeps bool, choice string) {
	if !keeps {
		choice = "other"
	}
	s.vote(question, choice, t.Line)
}

func (s *scriptUnit) mark(i int) {
	switch t := s.toks[i]; t.Text {
	case "===", "!==":
		s.count("script.equality", true, t.Line)
	case "==", "!=":
		if !s.is(i+1, "null") && !s.is(i-1, "null") {
			s.count("script.equality", false, t.Line)
		}
	}
}

// imported counts an import statement: its module and how it ends.
func (s *scriptUnit) imported(i int) {
	if !s.starts(i) || s.is(i+1, "(") || s.is(i+1, ".") {
		return
	}
	for j := i + 1; j < len(s.toks) && j < i+400; j++ {
		t := s.toks[j]
		if t.Kind == lex.String {
			s.vote("script.modules", "import", s.toks[i].Line)
			s.module(t)
			if s.jsx {
				s.quotes(t)
			}
			s.count("script.semicolons", s.is(j+1, ";"), t.Line)
			return
		}
		if t.Kind != lex.Name && t.Text != "{" && t.Text != "}" && t.Text != "," && t.Text != "*" {
			return
		}
	}
}

// ending counts whether a return of one name or literal on one line ends with a semicolon.
func (s *scriptUnit) ending(i int) {
	if !s.starts(i) || i+2 >= len(s.toks) || s.toks[i+1].Line != s.toks[i].Line {
		return
	}
	value := s.toks[i+1].Kind == lex.Name || s.toks[i+1].Kind == lex.Number
	if after := s.toks[i+2]; value && (after.Text == ";" && after.Line == s.toks[i].Line || after.Fresh && after.Text == "}") {
		s.count("script.semicolons", after.Text == ";", s.toks[i].Line)
	}
}

var nodeModules = []string{
	"assert", "buffer", "child_process", "crypto", "events", "fs", "http", "https", "net", "os", "path", "process", "readline", "stream", "url", "util",
	"worker_threads", "zlib", "fs/promises",
}

// module counts how a module is named.
func (s *scriptUnit) module(t lex.Token) {
	switch m := t.Text; {
	case strings.HasPrefix(m, "node:"):
		s.count("script.node", true, t.Line)
	case slices.Contains(nodeModules, m):
		s.count("script.node", false, t.Line)
	case strings.HasPrefix(m, "./"), strings.HasPrefix(m, "../"):
		s.vote("script.alias", "relative", t.Line)
		switch path.Ext(m) {
		case ".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".mts":
			s.vote("script.extension", "yes", t.Line)
		case "":
			s.vote("script.extension", "no", t.Line)
		}
	case strings.HasPrefix(m, "@/"), strings.HasPrefix(m, "~/"), strings.HasPrefix(m, "#/"):
		s.vote("script.alias", "alias", t.Line)
	}
}

func (s *scriptUnit) exported(i int) {
	if !s.starts(i) || s.test {
		return
	}
	t := s.toks[i]
	if s.is(i+1, "default") {
		s.vote("script.exports", "default", t.Line)
		i++
	} else {
		s.vote("script.exports", "named", t.Line)
	}
	for j := i + 1; j < i+4; j++ {
		if s.is(j, "function") || s.is(j, "class") {
			s.count("script.doc", t.Doc, t.Line)
			return
		}
		if !s.is(j, "async") && !s.is(j, "abstract") && !s.is(j, "declare") {
			return
		}
	}
}

func (s *scriptUnit) typeName(i int) {
	if !s.kind(i+1, lex.Name) || s.is(i+1, "extends") || s.is(i+1, "implements") || s.is(i-1, "=") {
		return
	}
	after := i + 2
	if !s.is(after, "{") && !s.is(after, "<") && !s.is(after, "extends") && !s.is(after, "implements") {
		return
	}
	own := s.toks[i+1]
	s.named("script.type", own, pascal.MatchString(own.Text), "pascal")
	if s.is(i, "interface") {
		s.vote("script.objects", "interface", own.Line)
	}
}

func (s *scriptUnit) alias(i int) {
	if !s.typed || !s.kind(i+1, lex.Name) || !s.is(i+2, "=") || s.is(i-1, ".") || !s.starts(i) && !s.is(i-1, "export") {
		return
	}
	own := s.toks[i+1]
	s.named("script.type", own, pascal.MatchString(own.Text), "pascal")
	if s.is(i+3, "{") {
		s.vote("script.objects", "type", own.Line)
	}
}

// caught counts a catch clause. One with nothing but a comment inside says why, and is not empty.
func (s *scriptUnit) caught(i int) {
	j := i + 1
	if s.is(j, "(") {
		for j < len(s.toks) && j < i+50 && !s.is(j, ")") {
			j++
		}
		j++
	}
	if !s.is(j, "{") || !s.is(i-1, "}") {
		return
	}
	s.count("script.catch", !s.is(j+1, "}") || s.toks[j+1].Noted, s.toks[i].Line)
}
