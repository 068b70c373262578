package lex

import (
	"slices"
	"strings"
)

// maxStatement is how many tokens before a block are read for what it is.
const maxStatement = 300

// block is a pair of curly brackets: of a function, of a class, or of anything else in the function around it.
type block struct {
	name  string // of the innermost function
	class bool
	named bool // is the block of a function itself
}

// byBraces finds functions by curly brackets.
func (f *functions) byBraces(src string) {
	toks := f.tokens(src)
	var stack []block
	outer, method := f.outer()
	begin := 0           // the first token of the statement
	depth := 0           // of round and square brackets in it
	var open []statement // around the blocks
	done := 0            // lines that have their names
	now := func() string {
		if len(stack) > 0 {
			return stack[len(stack)-1].name
		}
		return outer
	}
	fill := func(to int) {
		for name := now(); done < min(to, len(f.names)); done++ {
			f.names[done] = name
		}
	}
	for i, t := range toks {
		line := t.Line - 1
		fill(line)
		if t.Fresh && len(stack) == 0 && t.Indent == 0 && outer != "" && depth == 0 && f.leaves(toks, i) {
			outer = ""
		}
		if t.Kind != Mark {
			continue
		}
		switch t.Text {
		case "(", "[":
			depth++
		case ")", "]":
			depth = max(0, depth-1)
		case ";":
			if depth == 0 {
				begin = i + 1
			}
		case "{":
			begin = max(begin, i-maxStatement)
			if f.newlines {
				begin += lastLine(toks[begin:i])
			}
			b := f.opens(toks[begin:i], stack)
			if b.named {
				first := toks[begin+b.at].Line - 1
				for done = min(done, first); done < min(line, len(f.names)); done++ {
					f.names[done] = b.name
				}
			} else {
				b.name = now()
			}
			stack, open = append(stack, b.block), append(open, statement{begin, depth})
			begin, depth = i+1, 0
		case "}":
			fill(line + 1)
			begin, depth = i+1, 0
			switch n := len(stack); {
			case n > 0:
				if around := open[n-1]; around.depth > 0 || i+1 < len(toks) && goesOn(toks[i+1]) {
					begin, depth = around.begin, around.depth
				}
				stack, open = stack[:n-1], open[:n-1]
			case method:
				outer = ""
			}
			if len(stack) == 0 && t.Fresh && t.Indent == 0 {
				outer = ""
			}
		}
	}
	fill(len(f.names))
}

// statement is a statement that a block interrupts: its first token, and its open round and square brackets.
type statement struct{ begin, depth int }

// goesOn reports whether a statement goes on behind a block, as in "f<T extends { a: string }>() {".
func goesOn(t Token) bool {
	return t.Kind == Mark && strings.Contains(">|&,[=>", t.Text)
}

// outer returns the function of the heading, and whether it may be a method, which is not seen to end.
func (f *functions) outer() (name string, method bool) {
	if f.heading == "" {
		return "", false
	}
	toks := f.tokens(f.heading)
	if end := slices.IndexFunc(toks, func(t Token) bool { return t.Kind == Mark && (t.Text == "{" || t.Text == ";") }); end >= 0 {
		if toks[end].Text == ";" {
			return "", false
		}
		toks = toks[:end]
	}
	b := f.opens(toks, nil)
	if !b.named {
		return "", false
	}
	name = (&functions{lines: []string{f.heading}}).name(0)
	switch {
	case f.script:
		return name, !names(toks, "function", "const", "let", "var")
	case f.ticks:
		return name, names(toks, "self")
	case f.quotes, slices.Contains(f.keyword, "function"):
		return name, true
	}
	return name, false
}

func names(toks []Token, words ...string) bool {
	return slices.ContainsFunc(toks, func(t Token) bool { return t.Kind == Name && slices.Contains(words, t.Text) })
}

// leaves reports whether a statement without indentation shows that the function of the heading has ended: it is no closing bracket, no label.
func (f *functions) leaves(toks []Token, i int) bool {
	t := toks[i]
	if t.Kind == Mark {
		return t.Text == "@" || t.Text == "#"
	}
	if i+1 < len(toks) && toks[i+1].Kind == Mark && toks[i+1].Text == ":" {
		return false
	}
	return t.Kind == Name
}

// opened is a block that a bracket opens, with the place of its name among the tokens before it.
type opened struct {
	block

	at int
}

// classes are words that declare what holds functions.
var classes = []string{"class", "struct", "interface", "enum", "namespace", "record", "impl", "trait", "mod", "object", "extension", "union", "extern", "protocol", "actor", "new", "package"}

// control are words with brackets and a block that declare nothing.
var control = []string{
	"if", "for", "while", "switch", "catch", "synchronized", "using", "lock", "fixed", "return", "sizeof", "do", "else", "try", "foreach", "when", "match", "unless",
	"loop", "select", "with", "await", "yield", "throw", "case", "defer", "go", "guard", "elseif", "function", "func", "fun", "fn", "super", "this", "await", "typeof", "new",
}

// opens says what the bracket behind a statement opens.
func (f *functions) opens(stmt []Token, stack []block) opened {
	inside := len(stack) > 0 && stack[len(stack)-1].name != "" && !stack[len(stack)-1].class
	if f.flat && inside {
		return opened{}
	}
	if at, ok := f.keywordFunction(stmt); ok {
		return f.function(stmt, at)
	}
	isClass := names(stmt, classes...)
	if len(f.keyword) > 0 && !f.script {
		return opened{block: block{class: isClass}}
	}
	if f.script {
		if at, ok := assigned(stmt); ok {
			return f.function(stmt, at)
		}
		isClass = names(stmt, "class")
		if inside || len(stack) > 0 && !stack[len(stack)-1].class && !objectBlock(stmt) {
			if !methodLike(stmt) || inside {
				return opened{block: block{class: isClass}}
			}
		}
	}
	if at, ok := parameterised(stmt); ok && !names(stmt[:at], "new", "class") && !(isClass && !f.flat && names(stmt[:at+1], "record", "interface", "enum")) {
		return f.function(stmt, at)
	}
	return opened{block: block{class: isClass}}
}

// lastLine returns the first token of the last line of a statement that does not continue another: a statement may end without a mark.
func lastLine(stmt []Token) int {
	depth, from := 0, 0
	for i, t := range stmt {
		if t.Fresh && depth == 0 && t.Kind == Name {
			from = i
		}
		if t.Kind == Mark {
			switch t.Text {
			case "(", "[":
				depth++
			case ")", "]":
				depth = max(0, depth-1)
			}
		}
	}
	return from
}

// objectBlock and methodLike let the methods of object literals be functions: "name() {".
func objectBlock(stmt []Token) bool { return len(stmt) == 0 }

func methodLike(stmt []Token) bool {
	at, ok := parameterised(stmt)
	return ok && (at == 0 || stmt[at].Fresh || names(stmt[:at], "async", "get", "set", "static"))
}

func (f *functions) function(stmt []Token, at int) opened {
	return opened{block: block{name: f.nameAt(stmt[at]), named: true}, at: at}
}

// nameAt is the text of the line of a declaration.
func (f *functions) nameAt(t Token) string {
	if line := t.Line - 1; line < len(f.lines) {
		return f.name(line)
	}
	return t.Text
}

// keywordFunction finds a declaration such as "func name(" or "pub fn name<T>(" in a statement.
func (f *functions) keywordFunction(stmt []Token) (at int, ok bool) {
	for i, t := range slices.Backward(stmt) {

		if t.Kind != Name || !slices.Contains(f.keyword, t.Text) || i > 0 && stmt[i-1].Kind == Mark && stmt[i-1].Text == "." {
			continue
		}
		if t.Text == "init" || t.Text == "deinit" || t.Text == "constructor" {
			return i, true
		}
		next := i + 1
		if next < len(stmt) && stmt[next].Text == "*" {
			next++
		}
		if next < len(stmt) && stmt[next].Text == "<" {
			for next++; next < len(stmt) && stmt[next-1].Text != ">"; next++ {
			}
		}
		if next < len(stmt) && stmt[next].Kind == Name && stmt[next].Text != "where" {
			return i, true
		}
		if slices.Contains(f.keyword, "func") && f.rawQuote && t.Fresh && t.Indent == 0 { // func (r Receiver) Name(
			return i, true
		}
	}
	return 0, false
}

// assigned finds a function that a statement of a script gives a name: "const f = (a) => {", "f: function (a) {".
func assigned(stmt []Token) (at int, ok bool) {
	n := len(stmt)
	if n == 0 {
		return 0, false
	}
	arrow := stmt[n-1].Kind == Mark && stmt[n-1].Text == "=>"
	depth := 0
	for i := n - 1; i > 0; i-- {
		t := stmt[i]
		if t.Kind == Mark {
			switch t.Text {
			case ")", "]":
				depth++
			case "(", "[":
				if depth--; depth < 0 {
					return 0, false // an argument
				}
			case "=", ":":
				if depth > 0 || stmt[i-1].Kind != Name {
					continue
				}
				if t.Text == ":" && i+1 < n && !(stmt[i+1].Text == "(" || stmt[i+1].Text == "async" || stmt[i+1].Text == "function") {
					continue // the type of a result
				}
				if arrow || names(stmt[i:], "function") {
					return i - 1, true
				}
			}
		}
	}
	return 0, false
}

// parameterised finds a declaration such as "int name(int a) const" in a statement: a name with brackets, no call within an expression.
func parameterised(stmt []Token) (at int, ok bool) {
	depth := 0
	for i, t := range stmt {
		if t.Kind != Mark {
			continue
		}
		switch t.Text {
		case "(":
			if depth == 0 && i > 0 && stmt[i-1].Kind == Name {
				if slices.Contains(control, stmt[i-1].Text) {
					return 0, false
				}
				if i > 1 && stmt[i-2].Kind == Mark && stmt[i-2].Text == "@" { // an annotation
					depth++
					continue
				}
				return i - 1, !called(stmt[i:])
			}
			depth++
		case ")":
			depth = max(0, depth-1)
		case "=", "=>", "==", "&&", "||", "?":
			if depth == 0 {
				return 0, false
			}
		}
	}
	return 0, false
}

// called reports whether the brackets that begin here are those of a call: behind them the statement goes on with an operator, or the bracket
// of the block is within them.
func called(toks []Token) bool {
	depth := 0
	for i, t := range toks {
		if t.Kind != Mark {
			continue
		}
		switch t.Text {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				rest := toks[i+1:]
				return len(rest) > 0 && rest[0].Kind == Mark && (rest[0].Text == "." || rest[0].Text == "=" || rest[0].Text == "?." || rest[0].Text == "=>")
			}
		}
	}
	return true
}

// tokens divides a source into the tokens that functions are found by.
func (f *functions) tokens(src string) []Token {
	if f.script {
		return Script(src, f.jsx)
	}
	c := &cursor{src: src, line: 1, fresh: true}
	for c.pos < len(c.src) {
		switch b := c.at(0); {
		case b == ' ' || b == '\t':
			c.blank()
		case b == '\n':
			c.step(1)
		case b == '\r':
			c.pos++
		case b == '/' && c.at(1) == '/' || f.hash && b == '#' && c.at(1) != '[':
			c.to("\n")
		case b == '/' && c.at(1) == '*':
			c.step(2)
			c.to("*/")
			c.step(2)
		case b == '"' && f.quotes && strings.HasPrefix(c.src[c.pos:], `"""`):
			c.literal("", `"""`, true)
		case b == '`' && f.rawQuote:
			start, line := c.pos, c.line
			c.pos++
			if end := strings.IndexByte(c.src[c.pos:], '`'); end >= 0 {
				c.pos += end + 1
			} else {
				c.pos = len(c.src)
			}
			c.line = line + strings.Count(c.src[start:c.pos], "\n")
			c.emit(String, "", "`", start, line)
		case b == '"':
			c.literal("", `"`, f.ticks)
		case b == '\'' && (!f.ticks || c.at(1) == '\\' || c.at(2) == '\'' || c.at(1) >= 0x80):
			c.literal("", `'`, false)
		case nameByte(b):
			start := c.pos
			k := Name
			if b >= '0' && b <= '9' {
				k = Number
			}
			c.emit(k, c.word(), "", start, c.line)
		default:
			start := c.pos
			c.emit(Mark, c.operator(), "", start, c.line)
		}
	}
	return c.out
}
