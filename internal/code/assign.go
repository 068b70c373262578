package code

import (
	"regexp"
	"slices"
	"strings"
)

// assignments finds the names and values of assignments.
type assignments struct{ *reader }

// assign notes the assignment of an operator.
func (r assignments) assign(at int) {
	around := r.around[at]
	switch {
	case (r.language == Python || r.language == Rust) && r.toks[at].text == "=" && r.is(around, "(", "${"):
		return // the name of an argument, or a value in a text
	case r.language == Rust && r.is(around, "[") && r.is(around-1, "#", "!"):
		return
	}
	value, end := r.value(at + 1)
	constant := end > at+1 && r.constant(at+1, end)
	for _, n := range r.assigned(at) {
		a := Assignment{r.span(min(n.at, at), max(at, min(end, len(r.toks))-1)), n.name, value, constant}
		r.f.Assignments = add(r.reader, r.f.Assignments, a)
	}
}

type assigned struct {
	name string
	at   int
}

// assigned returns the names before an operator that assigns.
func (r assignments) assigned(op int) []assigned {
	end := op - 1
	if r.is(end, "}", "]", ")") && r.partner[end] >= 0 && !r.callable(r.partner[end]-1) { // a pattern
		return r.pattern(r.partner[end], end)
	}
	if colon := r.annotated(end); colon > 0 {
		end = colon - 1
	}
	var out []assigned
	for len(out) < maxArgs && end >= 0 && (r.toks[end].kind == word || r.is(end, "]", ")", "!")) {
		name, first := r.nameAt(end)
		if name == "" {
			break
		}
		out = append(out, assigned{fit(name, maxName), first})
		if r.language != Python && r.language != Go || !r.is(first-1, ",") {
			break
		}
		end = first - 2
	}
	return out
}

// pattern returns the names in a pattern such as { a, b: c }.
func (r assignments) pattern(open, end int) []assigned {
	var out []assigned
	for i := open + 1; i < end && len(out) < maxArgs; i++ {
		if r.isWord(i) && !r.is(i+1, ":") && !r.is(i-1, "=") {
			out = append(out, assigned{r.toks[i].text, i})
		}
	}
	return out
}

// annotated returns the place of the colon before the type that ends at a token, or -1.
func (r assignments) annotated(end int) int {
	if r.language == Go || r.language == Java {
		return -1
	}
	angles := 0
	for i := end; i > 0 && i > end-maxSteps; i-- {
		r.left--
		t := &r.toks[i]
		switch {
		case t.kind != mark:
			if t.kind == word && slices.Contains([]string{"case", "return", "default", "else"}, t.text) {
				return -1
			}
			continue
		case r.partner[i] >= 0 && r.partner[i] < i:
			i = r.partner[i]
			continue
		case t.text == ">":
			angles++
		case t.text == "<":
			angles--
		case t.text == ":" && angles == 0:
			if r.isWord(i-1) && !r.is(i-1, "else", "try", "finally", "default") || r.is(i-1, "]") && r.language == Python {
				return i
			}
			return -1
		case t.text == ";", t.text == "{", t.text == "(", t.text == "[", t.text == "=", t.text == "?" && angles == 0, t.text == "," && angles == 0:
			return -1
		}
	}
	return -1
}

const maxValueTokens = 400

// value returns the value that begins at a token, and the place behind it.
func (r assignments) value(from int) (string, int) {
	end := from
	for steps := 0; end < len(r.toks) && steps < maxValueTokens && r.left > 0; steps++ {
		r.left--
		if r.is(end, ";", ")", "]", "}") || r.is(end, ",") && r.language != Python && r.language != Go && !r.inAngles(from, end) {
			break
		}
		if end > from && r.toks[end].fresh && r.ends(end) {
			break
		}
		if r.partner[end] > end {
			end = r.partner[end]
		}
		end++
	}
	return r.text(from, end), end
}

// inAngles reports whether a comma is between type arguments that begin behind a token.
func (r assignments) inAngles(from, comma int) bool {
	for i := comma + 1; i < len(r.toks) && i < comma+20; i++ {
		if r.is(i, ">") {
			return r.generic(i) > from
		}
	}
	return false
}

// ends reports whether a statement ends before a token that is the first on its line.
func (r assignments) ends(i int) bool {
	switch r.language {
	case Python, Go:
		return r.around[i] < 0 || !r.is(r.around[i], "(", "[")
	case JavaScript, TypeScript:
		t := &r.toks[i]
		if t.kind == mark && !r.is(i, "{", "@", "++", "--", "!") || r.is(i, "in", "instanceof", "as", "satisfies") {
			return false
		}
		return r.toks[i-1].kind != mark || r.is(i-1, ")", "]", "}")
	}
	return false
}

var plainName = regexp.MustCompile(`^[\pL_$][\pL\pN_$]*(?:(?:\.|::)[\pL_$][\pL\pN_$]*)*$`)

const maxTargets = 8

// globals are names in front of others that change nothing about what these mean.
var globals = map[string][]string{
	Python:     {"builtins.", "__builtins__.", "__builtin__."},
	JavaScript: {"window.", "globalThis.", "self.", "global."}, TypeScript: {"window.", "globalThis.", "self.", "global."},
	Java: {"java.lang."},
}

// indirect are methods that call what they belong to.
var indirect = map[string][]string{
	Python: {".__call__"}, JavaScript: {".call", ".apply", ".bind"}, TypeScript: {".call", ".apply", ".bind"},
}

// resolve finds what the names of calls may mean.
func (f *Facts) resolve(language string) {
	meaning := map[string][]string{}
	note := func(alias, means string) {
		if alias != "" && alias != means && len(meaning[alias]) < maxTargets && !slices.Contains(meaning[alias], means) {
			meaning[alias] = append(meaning[alias], means)
		}
	}
	for i := range f.Imports {
		if f.Imports[i].Name != "*" || f.Imports[i].Alias != "" {
			note(f.Imports[i].Alias, strings.TrimSuffix(f.Imports[i].Path, ".*"))
		}
	}
	for i := range f.Assignments {
		if a := &f.Assignments[i]; plainName.MatchString(a.Name) && !strings.ContainsAny(a.Name, ".:") && plainName.MatchString(a.Value) {
			note(a.Name, a.Value)
		}
	}
	for i := range f.Calls {
		c := &f.Calls[i]
		c.Targets = targets(language, c.Name, meaning)
	}
}

func targets(language, name string, meaning map[string][]string) []string {
	out := []string{name}
	for at := 0; at < len(out) && len(out) < maxTargets; at++ {
		n := out[at]
		put := func(s string) {
			if len(out) < maxTargets && s != "" && !slices.Contains(out, s) {
				out = append(out, fit(s, maxName))
			}
		}
		head, rest := n, ""
		if i := strings.IndexAny(n, ".:(["); i > 0 {
			head, rest = n[:i], n[i:]
		}
		for _, means := range meaning[head] {
			put(means + rest)
		}
		for _, g := range globals[language] {
			if inner, ok := strings.CutPrefix(n, g); ok {
				put(inner)
			}
		}
		for _, suffix := range indirect[language] {
			if inner, ok := strings.CutSuffix(n, suffix); ok {
				put(inner)
			}
		}
	}
	return out
}
