package prose_test

import (
	"context"
	"strings"
	"testing"

	"tenet/internal/discover/prose"
)

// Texts that are made to be slow to read are read about as fast as any: ten times the text takes no more than some forty times
// the work, which is counted in what a text of that size may take on the slowest machine.
func TestHostileTexts(t *testing.T) {
	const size = 1 << 20
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	for name, text := range map[string]string{
		"one word":        fill("must "),
		"no end":          fill("x"),
		"stops":           fill("."),
		"stops and space": fill(". "),
		"quotes":          fill("\" must. A "),
		"backquotes":      fill("`") + "a",
		"odd backquotes":  fill("` `` ``` ```` "),
		"brackets":        fill("[") + "must",
		"links":           fill("[a]( "),
		"parens":          fill("(must. A"),
		"emphasis":        fill("*_"),
		"tags":            fill("<a "),
		"comments":        fill("<!-- "),
		"deep lists":      deep(),
		"same lists":      fill("- a:\n* b:\n+ c:\n1. d:\n"),
		"leads":           fill("- Staff must:\n"),
		"nested quotes":   fill(">"),
		"headings":        fill("# a\n"),
		"lines":           fill("a\n"),
		"capitals":        fill("Must be A\n"),
		"bars":            fill("|"),
		"cells":           fill("| must be "),
		"front":           "---\n" + fill("a: b\n"),
		"semicolons":      fill("must x;"),
		"and must":        fill("it must x and must not y "),
		"commas":          fill("If a, "),
		"scripts":         fill("<script></"),
		"entities":        fill("&amp"),
	} {
		for _, g := range []prose.Genre{prose.Policy, prose.Instructions} {
			_, rest, first := prose.FrontMatter(text)
			prose.Find(context.Background(), prose.Markdown(rest, first), g)
		}
		prose.Find(context.Background(), prose.HTML(text), prose.Policy)
		prose.Find(context.Background(), prose.Plain(text, 1), prose.Policy)
		if t.Failed() {
			t.Log(name)
		}
	}
}

// deep is a list in a list in a list ...
func deep() string {
	var b strings.Builder
	for i := range 1000 {
		b.WriteString(strings.Repeat(" ", i) + "- must be:\n")
	}
	return b.String()
}
