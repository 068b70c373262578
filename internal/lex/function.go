package lex

import (
	"path"
	"strings"
	"unicode/utf8"
)

// maxFunctionSource is the longest source, in bytes, in which [Functions] looks for functions: it takes some 100 ms for a hostile one.
const maxFunctionSource = 512 << 10

// maxFunctionName is the most bytes of a name that [Functions] returns.
const maxFunctionName = 200

// Functions returns for each line of a source, or of a part of it such as a hunk, the declaration of the innermost named function that the
// line is in, as it is written: "func (s *Server) Stop() error {". Heading is the declaration above the part that a diff names for it; empty
// for a whole file. The line of a declaration and that of the closing bracket are in the function.
//
// A line has no name if it is in no function, if the language is unknown, or if the part does not show whether the function of the heading
// has ended before it. The languages are Go, Python, JavaScript, TypeScript, Java, Kotlin, C#, Rust, C, C++, Swift, PHP, Scala, Dart and
// Ruby, by the ending of the path. A source of more than 512 KB has no names. Time is linear in its length.
func Functions(file, heading, src string) []string {
	l, ok := languages[strings.ToLower(path.Ext(file))]
	lines := strings.Split(strings.TrimSuffix(src, "\n"), "\n")
	names := make([]string, len(lines))
	if !ok || len(src) > maxFunctionSource {
		return names
	}
	f := functions{language: l, lines: lines, names: names, heading: strings.TrimSpace(heading)}
	if l.indented {
		f.byIndent()
	} else {
		f.byBraces(src)
	}
	return names
}

// language is how a language declares functions.
type language struct {
	indented bool
	ruby     bool
	script   bool // read by [Script]
	jsx      bool
	// keyword declares a function; empty where a name with parameters and a block does. Keywords may be several.
	keyword  []string
	rawQuote bool // a backtick quotes text without escapes
	quotes   bool // three quotes are a string
	ticks    bool // a single quote may begin the name of a lifetime
	hash     bool // a # begins a comment or a directive, to the end of the line
	flat     bool // functions hold no named functions
	newlines bool // the end of a line may end a statement
}

var languages = func() map[string]language {
	script := language{script: true, newlines: true, keyword: []string{"function"}}
	java := language{quotes: true}
	c := language{hash: true, flat: true}
	kotlin := language{newlines: true, quotes: true, keyword: []string{"fun", "constructor", "init"}}
	out := map[string]language{
		".py": {indented: true}, ".pyi": {indented: true}, ".rb": {indented: true, ruby: true}, ".rake": {indented: true, ruby: true},
		".go": {newlines: true, keyword: []string{"func"}, rawQuote: true}, ".rs": {keyword: []string{"fn"}, ticks: true},
		".java": java, ".cs": java, ".dart": java, ".kt": kotlin, ".kts": kotlin,
		".swift": {newlines: true, quotes: true, keyword: []string{"func", "init", "deinit"}}, ".scala": {newlines: true, quotes: true, keyword: []string{"def"}},
		".php": {keyword: []string{"function", "fn"}, hash: true},
	}
	for _, ext := range []string{".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".m", ".mm"} {
		out[ext] = c
	}
	for _, ext := range []string{".ts", ".mts", ".cts"} {
		out[ext] = script
	}
	script.jsx = true
	for _, ext := range []string{".js", ".jsx", ".mjs", ".cjs", ".tsx"} {
		out[ext] = script
	}
	return out
}()

// functions finds the functions of a source.
type functions struct {
	language

	lines, names []string
	heading      string
}

// name returns a line as the name of the function that it declares.
func (f *functions) name(line int) string {
	s := strings.TrimSpace(f.lines[line])
	if len(s) > maxFunctionName {
		end := maxFunctionName
		for !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + "..."
	}
	return s
}

// indentOf is the columns before the text of a line, with tabs of eight.
func indentOf(line string) int {
	n := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			n++
		case '\t':
			n += 8
		default:
			return n
		}
	}
	return n
}

// indentedFunction is a function, or a class without a name, whose lines are indented by more than at.
type indentedFunction struct {
	at   int
	name string
}

// byIndent finds functions by indentation.
func (f *functions) byIndent() {
	begins := f.statements()
	stack := []indentedFunction{}
	outer := "" // the function of the heading, as long as nothing shows that it has ended
	if def, _ := f.defines(f.heading); def {
		outer = f.heading
	}
	for i, line := range f.lines {
		text := strings.TrimSpace(line)
		if text == "" || !begins[i] {
			f.names[i] = top(stack, outer) // a blank line, or a part of the statement before
			continue
		}
		at := indentOf(line)
		if strings.HasPrefix(text, "#") {
			f.names[i] = top(within(stack, at), keptBy(outer, at))
			continue
		}
		ends := f.ruby && (text == "end" || strings.HasPrefix(text, "end ") || strings.HasPrefix(text, "end.") || strings.HasPrefix(text, "end;"))
		if ends { // its line is in the function
			for len(stack) > 0 && stack[len(stack)-1].at > at {
				stack = stack[:len(stack)-1]
			}
			f.names[i] = top(stack, outer)
			if len(stack) > 0 && stack[len(stack)-1].at == at {
				stack = stack[:len(stack)-1]
			} else if len(stack) == 0 && at == 0 {
				outer = ""
			}
			continue
		}
		if inner := within(stack, at); len(inner) < len(stack) {
			if stack = inner; len(stack) == 0 {
				outer = "" // what was beside a function may be beside that of the heading, too
			}
		}
		outer = keptBy(outer, at)
		switch def, class := f.defines(text); {
		case def:
			stack = append(stack, indentedFunction{at, f.name(i)})
		case class:
			stack = append(stack, indentedFunction{at: at})
		}
		f.names[i] = top(stack, outer)
	}
}

// within returns the functions of a stack that a line of an indentation is in.
func within(stack []indentedFunction, at int) []indentedFunction {
	for len(stack) > 0 && stack[len(stack)-1].at >= at {
		stack = stack[:len(stack)-1]
	}
	return stack
}

func top(stack []indentedFunction, outer string) string {
	if len(stack) == 0 {
		return outer
	}
	return stack[len(stack)-1].name
}

// keptBy returns the function of the heading for a line of an indentation: a line without one is in no function.
func keptBy(outer string, at int) string {
	if at == 0 {
		return ""
	}
	return outer
}

// defines reports whether a line begins a function or a class.
func (f *functions) defines(text string) (function, class bool) {
	word, rest, _ := strings.Cut(text, " ")
	if !f.ruby && word == "async" {
		word, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
	}
	return word == "def", word == "class" || f.ruby && (word == "module" || strings.HasPrefix(text, "class<<"))
}

// statements reports for each line whether a statement or a comment begins on it, and not only continues.
func (f *functions) statements() []bool {
	begins := make([]bool, len(f.lines))
	if f.ruby {
		for i := range begins {
			begins[i] = true
		}
		return begins
	}
	for i, line := range f.lines {
		begins[i] = strings.HasPrefix(strings.TrimSpace(line), "#")
	}
	depth := 0
	last := 0 // the line on which the token before ends
	for _, t := range Python(strings.Join(f.lines, "\n")) {
		if line := t.Line - 1; line < len(begins) {
			for i := last; i < line; i++ { // comments within brackets and strings
				begins[i] = begins[i] && depth == 0
			}
			if t.Fresh {
				begins[line] = depth == 0
			}
		}
		last = t.Line + strings.Count(t.Text, "\n")
		if t.Kind == Mark {
			switch t.Text {
			case "(", "[", "{":
				depth++
			case ")", "]", "}":
				depth = max(0, depth-1)
			}
		}
	}
	return begins
}
