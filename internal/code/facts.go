package code

import "slices"

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
		importing{r}.doubtImports()
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
			importing{r}.imports(i)
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
			assignments{r}.assign(i)
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
