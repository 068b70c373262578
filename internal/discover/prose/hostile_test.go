package prose_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"tenet/internal/blocks"
	"tenet/internal/discover/prose"
	"tenet/internal/rule"
)

// Texts that are made to be slow to read cost about as much as any others of their size. The limit is far above what the
// slowest machine needs, and far below what these texts would take if the work grew with the square of their size.
func TestHostileTexts(t *testing.T) {
	const size = 32 << 10
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
		start := time.Now()
		_, rest, first := blocks.FrontMatter(text)
		found, _ := prose.Find(context.Background(), blocks.Markdown(rest, first, blocks.Sentences), prose.Instructions)
		list, _, err := blocks.HTML(text, blocks.Sentences)
		if err != nil {
			t.Fatal(err)
		}
		page, _ := prose.Find(context.Background(), list, prose.Policy)
		plain, _ := prose.Find(context.Background(), blocks.Text(text, 1), prose.Policy)
		found = slices.Concat(found, page, plain)
		for _, n := range found {
			if n.Line < 1 || n.EndLine < n.Line || n.EndLine > strings.Count(text, "\n")+1 || len(n.Statement) > 2*rule.MaxStatement {
				t.Fatalf("%s: found %d-%d, %d bytes", name, n.Line, n.EndLine, len(n.Statement))
			}
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s: took %s", name, took)
		}
	}
}

// deep is a list in a list in a list ...
func deep() string {
	var b strings.Builder
	for i := range 250 {
		b.WriteString(strings.Repeat(" ", i) + "- must be:\n")
	}
	return b.String()
}
