package lex

import (
	"slices"
	"strings"
	"testing"
)

// kinds writes tokens as their kinds and texts.
func kinds(list []Token) string {
	var out []string
	for _, t := range list {
		s := [...]string{"name", "number", "string", "regexp", "mark", "unclosed"}[t.Kind] + ":" + t.Text
		if t.Resumes {
			s = "+" + s
		}
		if t.Pauses {
			s += "+"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		read      func(string) []Token
		src, want string
	}{
		{script, "a = b / 2 // no\n", "name:a mark:= name:b mark:/ number:2"},
		{script, "return /[/]'/g", "name:return regexp:/[/]'/g"},
		{script, "`a${b + `c`}d${e}`", "string:a+ name:b mark:+ string:c +string:d+ name:e +string:"},
		{script, "x?.y ?? '\\''", "name:x mark:?. name:y mark:?? string:\\'"},
		{script, "'a\nb `c", "unclosed:a name:b unclosed:"},
		{Python, "x = rb'''a\nb''' # no\n", "name:x mark:= string:a\nb"},
		{Python, "if a:\n\tb", "name:if name:a mark:: name:b"},
	} {
		if got := kinds(test.read(test.src)); got != test.want {
			t.Errorf("%q:\n got %s\nwant %s", test.src, got, test.want)
		}
	}
}

func script(src string) []Token { return Script(src, false) }

func TestPlaces(t *testing.T) {
	t.Parallel()
	list := Script("a\n/** doc */\n  b\n// note\nc", false)
	b, c := list[1], list[2]
	if b.Line != 3 || !b.Doc || !b.Noted || !b.Fresh || b.Indent != 2 || c.Line != 5 || c.Doc || !c.Noted {
		t.Errorf("got %+v and %+v", b, c)
	}
}

// Tokens follow each other in the source, on the lines that they claim.
func FuzzTokens(f *testing.F) {
	f.Add("const a = `x${ {b: /c/} }`; // d\n", false)
	f.Add("def f():\n  '''doc'''\n", true)
	f.Fuzz(func(t *testing.T, src string, jsx bool) {
		for _, list := range [][]Token{Script(src, jsx), Python(src)} {
			end := 0
			for _, tok := range list {
				if tok.Start < end || tok.End < tok.Start || tok.End > len(src) || tok.Line != 1+strings.Count(src[:tok.Start], "\n") {
					t.Fatalf("%q: %+v after %d", src, tok, end)
				}
				end = tok.End
			}
			if !slices.IsSortedFunc(list, func(a, b Token) int { return a.Line - b.Line }) {
				t.Errorf("%q: the lines are not in order", src)
			}
		}
	})
}
