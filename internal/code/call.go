package code

import (
	"slices"
	"strings"
)

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
	importing{r}.called(&c, first, open, end)
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
