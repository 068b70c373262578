package code

import (
	"slices"
	"strings"
)

// reader finds the facts among the tokens of a source.
type reader struct {
	*scanner

	fragment bool
	partner  []int // of a bracket; -1 without one, and for other tokens
	around   []int // the open bracket around a token, -1 without one
	left     int   // tokens that may still be visited, so that the time is linear
	f        *Facts
}

// facts returns the facts of the source.
func (s *scanner) facts(fragment bool) *Facts {
	r := &reader{scanner: s, fragment: fragment, f: &Facts{}}
	r.read()
	return r.f
}

func (r *reader) read() {
	r.brackets()
	r.left = minVisits + visits*len(r.toks)
	for i := range r.toks {
		if r.token(i); r.left < 0 {
			r.doubtful(r.toks[i].line, "it takes too much work")
			break
		}
	}
	if r.fragment {
		r.doubtImports()
	}
	r.f.Doubt = r.fault
	if r.f.Doubt == "" && !r.fragment {
		r.f.Doubt = r.open
	}
	if r.f.Doubt == "" {
		r.f.Doubt = r.doubt
	}
}

// A token may be visited 40 times on average: more for names, less for most.
const (
	visits    = 40
	minVisits = 100_000
)

var closing = map[string]string{"(": ")", "[": "]", "{": "}", "${": "}"}

// brackets pairs the brackets.
func (r *reader) brackets() {
	r.partner, r.around = make([]int, len(r.toks)), make([]int, len(r.toks))
	var open []int
	for i := range r.toks {
		t := &r.toks[i]
		r.partner[i], r.around[i] = -1, -1
		if n := len(open); n > 0 {
			r.around[i] = open[n-1]
		}
		if t.kind != mark {
			continue
		}
		switch t.text {
		case "(", "[", "{", "${":
			if open = append(open, i); len(open) > maxDepth {
				r.faulty(t.line, "more than %d brackets inside one another", maxDepth)
				r.toks, r.partner, r.around = r.toks[:i], r.partner[:i], r.around[:i]
				return
			}
		case ")", "]", "}":
			n := len(open)
			if n == 0 {
				if !r.fragment {
					r.faulty(t.line, "a %s closes nothing", t.text)
				}
				continue
			}
			if closing[r.toks[open[n-1]].text] != t.text {
				r.faulty(t.line, "a %s closes a %s", t.text, r.toks[open[n-1]].text)
				continue
			}
			at := open[n-1]
			r.partner[i], r.partner[at] = at, i
			open = open[:n-1]
			r.around[i] = r.around[at]
		}
	}
	if len(open) > 0 && !r.fragment {
		t := &r.toks[open[len(open)-1]]
		r.faulty(t.line, "a %s is not closed", t.text)
	}
}

// is reports whether the token at a place is a mark or a word with that text.
func (r *reader) is(i int, texts ...string) bool {
	return i >= 0 && i < len(r.toks) && (r.toks[i].kind == mark || r.toks[i].kind == word) && slices.Contains(texts, r.toks[i].text)
}

func (r *reader) isWord(i int) bool { return i >= 0 && i < len(r.toks) && r.toks[i].kind == word }

func (r *reader) isText(i int) bool {
	return i >= 0 && i < len(r.toks) && r.toks[i].kind == literal && !r.toks[i].pauses && !r.toks[i].resumes
}

// token notes the facts that a token begins.
func (r *reader) token(i int) {
	t := &r.toks[i]
	switch t.kind {
	case literal:
		if r.language == Rust && t.quote == "'" || r.language == Java && t.quote == "'" || r.language == Go && t.quote == "'" {
			return
		}
		r.f.Strings = add(r, r.f.Strings, String{r.span(i, i), t.value()})
		if t.quote == "`" && !t.resumes && r.script() && r.callable(i-1) {
			r.tagged(i)
		}
	case word:
		if !r.is(i-1, ".", "?.") {
			r.imports(i)
		}
	case mark:
		switch t.text {
		case "(":
			r.call(i)
		case "@":
			r.decorator(i)
		case "#":
			if r.language == Rust {
				r.attribute(i)
			}
		case "=", ":=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "**=", "<<=", ">>=", ">>>=", "&&=", "||=", "??=":
			r.assign(i)
		}
	case number, regex:
	}
}

// add appends a fact, unless there are too many.
func add[T any](r *reader, list []T, fact T) []T {
	if len(list) == maxFacts {
		r.doubtful(1, "it has more than %d facts of one kind", maxFacts)
		return list
	}
	return append(list, fact)
}

func (r *reader) span(from, to int) Span {
	return Span{Line: r.toks[from].line, End: r.toks[to].last, at: r.toks[from].start}
}

// words that brackets may follow and that call nothing.
var words = map[string][]string{
	Python: {
		"if", "elif", "while", "for", "in", "not", "and", "or", "is", "return", "lambda", "yield", "await", "assert", "del", "raise", "from", "import", "with", "as",
		"else", "except", "def", "class",
	},
	JavaScript: scriptWords, TypeScript: scriptWords,
	Java: {
		"if", "while", "for", "switch", "catch", "return", "synchronized", "try", "throw", "assert", "case", "else", "do", "new", "instanceof", "yield",
	},
	Rust: {"if", "while", "for", "in", "match", "return", "let", "mut", "ref", "as", "else", "move", "loop", "unsafe", "fn", "where", "impl", "dyn", "break", "pub", "struct"},
	Go: {
		"if", "for", "switch", "select", "case", "return", "func", "go", "defer", "range", "var", "const", "type", "import", "else", "map", "chan", "interface", "struct",
	},
}

var scriptWords = []string{
	"if", "while", "for", "switch", "catch", "return", "with", "in", "of", "typeof", "instanceof", "void", "delete", "throw", "case", "do", "else", "new", "function", "yield",
	"await", "extends", "const", "let", "var", "export", "default",
}

// callable reports whether what ends at a token can be called.
func (r *reader) callable(i int) bool {
	if i < 0 {
		return false
	}
	t := &r.toks[i]
	switch t.kind {
	case word:
		return !slices.Contains(words[r.language], t.text) || r.is(i-1, ".", "?.", "::")
	case mark:
		switch t.text {
		case ")", "]":
			return true
		case "}":
			return false
		case "?.":
			return r.script()
		case ">":
			return r.generic(i) > 0
		case "!":
			return (r.language == Rust || r.language == TypeScript) && (r.isWord(i-1) || r.is(i-1, ")", "]"))
		}
	case literal, number, regex:
	}
	return false
}

// generic returns the place of the bracket that opens the type arguments that end at a place, or -1.
func (r *reader) generic(end int) int {
	if r.language == Python || r.language == Go {
		return -1
	}
	depth := 0
	for i := end; i >= 0 && i > end-60; i-- {
		r.left--
		t := &r.toks[i]
		switch {
		case t.kind == word, t.kind == literal && r.script():
		case t.kind != mark:
			return -1
		case t.text == ">":
			depth++
		case t.text == "<":
			if depth--; depth == 0 {
				if i > 0 && (r.isWord(i-1) || r.is(i-1, "::", ".")) {
					return i
				}
				return -1
			}
		case t.text == ")" || t.text == "]" || t.text == "}":
			if r.partner[i] < 0 {
				return -1
			}
			i = r.partner[i]
		case !slices.Contains([]string{",", ".", "?", "&", "|", "::", ":", "'", "=>", "->", "*"}, t.text):
			return -1
		}
	}
	return -1
}

const maxSteps = 60 // of one name

// nameAt returns the name that ends at a token, and the place of its first one.
func (r *reader) nameAt(end int) (string, int) {
	out := ""
	first := end
	for range maxSteps {
		r.left--
		if end < 0 || len(out) > maxName {
			return out, first
		}
		t := &r.toks[end]
		first = end
		switch {
		case t.kind == word:
			out = t.text + out
		case t.kind == literal:
			out = `""` + out
		case t.text == "?.":
			end--
			continue
		case t.text == "!":
			if r.language == Rust {
				out = "!" + out
			}
			end--
			continue
		case t.text == ">":
			open := r.generic(end)
			if open < 0 {
				return out, end + 1
			}
			end = open - 1
			if r.is(end, "::") {
				end--
			}
			continue
		case t.text == ")" || t.text == "]":
			open := r.partner[end]
			if open < 0 {
				return t.text + out, end
			}
			first = open
			switch {
			case !r.callable(open-1) && t.text == ")":
				if inner := end - 1; inner > open { // (eval), (0, eval)
					text, _ := r.nameAt(inner)
					out = text + out
				}
			case !r.callable(open - 1):
				return "[]" + out, open
			case t.text == "]" && end-open == 2 && r.isText(open+1): // window["eval"]
				out = "." + r.toks[open+1].value() + out
				end = open - 1
				continue
			case t.text == "]" && r.language == Go && r.typeArguments(open, end):
				end = open - 1
				continue
			case t.text == "]":
				out = "[]" + out
				end = open - 1
				continue
			default:
				out = "()" + out
				end = open - 1
				continue
			}
		default:
			if out != "" {
				out = "()" + out
			}
			return out, end + 1
		}
		switch {
		case r.is(first-1, ".", "?."):
			out = "." + out
		case r.is(first-1, "::"):
			out = "::" + out
		default:
			return out, first
		}
		end = first - 2
	}
	return out, first
}

// typeArguments reports whether brackets behind a name of Go hold no literal: type arguments, or a variable as an index.
func (r *reader) typeArguments(open, end int) bool {
	for i := open + 1; i < end && i < open+maxSteps; i++ {
		if r.toks[i].kind == literal || r.toks[i].kind == number {
			return false
		}
	}
	return true
}

// call notes the call whose arguments begin at a bracket.
func (r *reader) call(open int) {
	if !r.callable(open - 1) {
		return
	}
	name, first := r.nameAt(open - 1)
	end := r.partner[open]
	if r.declares(first, open, end) {
		return
	}
	last := end
	if end < 0 {
		end, last = len(r.toks), len(r.toks)-1
	}
	c := Call{Span: r.span(first, last), Name: fit(name, maxName), Args: r.args(open, end), Constant: r.constant(open+1, end)}
	r.f.Calls = add(r, r.f.Calls, c)
	r.importing(&c, first, open, end)
}

// tagged notes a template literal with a tag, which is a call.
func (r *reader) tagged(i int) {
	name, first := r.nameAt(i - 1)
	r.f.Calls = add(r, r.f.Calls, Call{Span: r.span(first, i), Name: fit(name, maxName), Args: []string{r.text(i, i+1)}, Constant: !r.toks[i].pauses})
}

// declaring are words before the name of what is declared.
var declaring = map[string][]string{
	Python: {"def", "class"}, JavaScript: {"function", "class"}, TypeScript: {"function", "class"}, Java: {"record", "class"}, Rust: {"fn", "struct", "enum", "union"}, Go: {"func"},
}

// modifiers are words before the name of a method of a script.
var modifiers = []string{"async", "get", "set", "static", "public", "private", "protected", "readonly", "override", "abstract"}

// calling are words of Java before a call.
var calling = []string{"return", "throw", "new", "else", "do", "yield", "case", "assert", "instanceof", "final"}

// declares reports whether the name before a bracket is that of a function that is declared there.
func (r *reader) declares(first, open, end int) bool {
	before := first - 1
	if r.isWord(before) && slices.Contains(declaring[r.language], r.toks[before].text) && !r.is(before-1, ".", "?.") {
		return true
	}
	block := r.around[open] < 0 || r.is(r.around[open], "{")
	single := first == open-1
	switch r.language {
	case JavaScript, TypeScript:
		if r.is(before, "*") && r.is(before-1, "function") {
			return true
		}
		if !block || !single || end < 0 || end+1 >= len(r.toks) {
			return false
		}
		opens := r.is(end+1, "{") && r.toks[end+1].line == r.toks[end].last
		begins := r.is(before, "{", "}", ";", "*") || r.isWord(before) && slices.Contains(modifiers, r.toks[before].text)
		return opens && (begins || r.is(before, ",")) || begins && r.language == TypeScript && r.is(end+1, ":")
	case Go:
		return r.is(before, ")") && r.partner[before] > 0 && r.is(r.partner[before]-1, "func")
	case Java:
		if !block || !single || before < 0 {
			return false
		}
		body := end >= 0 && r.is(end+1, "{", "throws")
		switch {
		case r.isWord(before):
			return !slices.Contains(calling, r.toks[before].text)
		case r.is(before, "]"), r.is(before, ">") && r.generic(before) > 0 && !r.is(r.generic(before)-1, "."):
			return body || end >= 0 && r.is(end+1, ";")
		}
		return body && r.is(before, "{", "}", ";")
	}
	return false
}

// args returns the arguments between two brackets.
func (r *reader) args(open, end int) []string {
	var out []string
	from := open + 1
	for i := from; i <= end && len(out) < maxArgs; i++ {
		r.left--
		if i == end || r.is(i, ",") {
			if i > from {
				out = append(out, r.text(from, i))
			}
			from = i + 1
			continue
		}
		if i < len(r.toks) && r.partner[i] > i {
			i = min(r.partner[i], end-1)
		}
	}
	return out
}

// text returns tokens as written, without comments, on one line.
func (r *reader) text(from, to int) string {
	var b strings.Builder
	for i := from; i < to && i < len(r.toks) && b.Len() <= maxText; i++ {
		r.left--
		t := &r.toks[i]
		if i > from && t.start > r.toks[i-1].end {
			b.WriteByte(' ')
		}
		s := r.src[t.start:t.end]
		if len(s) > maxText+4 {
			s = s[:maxText+4]
		}
		b.WriteString(strings.ReplaceAll(s, "\n", " "))
	}
	return fit(b.String(), maxText)
}

// fit cuts a text to a length in bytes.
func fit(s string, n int) string {
	if len(s) <= n {
		return strings.ToValidUTF8(s, "")
	}
	return strings.ToValidUTF8(s[:n], "")
}

var constants = []string{"true", "false", "null", "None", "True", "False", "nil", "undefined"}

// constant reports whether tokens are literals only, also within brackets and with names of arguments.
func (r *reader) constant(from, to int) bool {
	for i := from; i < to && i < len(r.toks) && r.left > 0; i++ {
		r.left--
		t := &r.toks[i]
		switch t.kind {
		case literal:
			if t.pauses || t.resumes {
				return false
			}
		case number, regex:
		case word:
			if !slices.Contains(constants, t.text) && !r.is(i+1, "=", ":") {
				return false
			}
		case mark:
			if !slices.Contains([]string{",", "(", ")", "[", "]", "{", "}", ":", "-", "+", ".", "="}, t.text) {
				return false
			}
		}
	}
	return true
}

// decorator notes a decorator or an annotation.
func (r *reader) decorator(at int) {
	if r.language == Rust || r.language == Go || r.language == Python && !r.toks[at].fresh || r.is(at+1, "interface") {
		return
	}
	name, next := r.ahead(at + 1)
	r.decorated(at, name, next)
}

// attribute notes an attribute of Rust, such as #[derive(Debug)].
func (r *reader) attribute(at int) {
	open := at + 1
	if r.is(open, "!") {
		open++
	}
	if !r.is(open, "[") {
		return
	}
	name, next := r.ahead(open + 1)
	if r.is(next, "=") {
		end := r.partner[open]
		if end < 0 {
			end = len(r.toks)
		}
		d := Decorator{r.span(at, min(end, len(r.toks)-1)), name, []string{r.text(next+1, end)}}
		r.f.Decorators = add(r, r.f.Decorators, d)
		return
	}
	r.decorated(at, name, next)
}

func (r *reader) decorated(at int, name string, next int) {
	d := Decorator{Span: r.span(at, max(at, min(next, len(r.toks))-1)), Name: name}
	if r.is(next, "(") {
		end := r.partner[next]
		if end < 0 {
			end = len(r.toks)
		}
		d.Args = r.args(next, end)
		d.End = r.toks[min(end, len(r.toks)-1)].last
	}
	if name == "" {
		d.Name = "()"
	}
	r.f.Decorators = add(r, r.f.Decorators, d)
}

// ahead returns the name that begins at a token, and the place behind it.
func (r *reader) ahead(at int) (string, int) {
	var b strings.Builder
	for range maxSteps {
		if !r.isWord(at) {
			break
		}
		b.WriteString(r.toks[at].text)
		at++
		if !r.is(at, ".", "::") || !r.isWord(at+1) {
			break
		}
		b.WriteString(r.toks[at].text)
		at++
	}
	return fit(b.String(), maxName), at
}
