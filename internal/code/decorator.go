package code

import "strings"

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
