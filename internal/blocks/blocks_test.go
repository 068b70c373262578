package blocks

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// outline names each block by its kind, line, lead and text.
func outline(list []Block) []string {
	var out []string
	for _, b := range list {
		name := [...]string{"heading", "text", "item", "row", "code"}[b.Kind]
		if b.Lead >= 0 {
			name += fmt.Sprintf("<%d", b.Lead)
		}
		out = append(out, fmt.Sprintf("%d %s %s", b.Line, name, b.Text))
	}
	return out
}

func check(t *testing.T, name string, got []Block, want ...string) {
	t.Helper()
	if lines := outline(got); !slices.Equal(lines, want) {
		t.Errorf("%s: got\n\t%s\nwant\n\t%s", name, strings.Join(lines, "\n\t"), strings.Join(want, "\n\t"))
	}
}

const guide = "# A *guide*\n\nStaff `must`:\n\n- ask\n  twice\n- [wait](http://x.test)\n\n```\nrun  it\n\n  now\n```\n" +
	"<div>\n<b>hidden</b> &amp; seen\n</div>\n\n| a | b |\n|---|---|\n| 1 \\| 2 | 3 |\n\n[x]: http://x.test\n\n    indented\n    code\n\nSee <http://y.test>.\n"

func TestMarkdown(t *testing.T) {
	t.Parallel()
	check(t, "sentences", Markdown(guide, 1, Sentences),
		"1 heading A *guide*", "3 text Staff `must`:", "5 item<1 ask\ntwice", "7 item<1 [wait](http://x.test)", "15 text <b>hidden</b> &amp; seen",
		"20 row 1 \\| 2 | 3", "22 text [x]: http://x.test", "27 text See <http://y.test>.")
	check(t, "everything", Markdown(guide, 1, Everything),
		"1 heading A guide", "3 text Staff must:", "5 item<1 ask twice", "7 item<1 wait", "10 code run  it\n\n  now", "15 text hidden & seen",
		"18 row a | b", "20 row 1 | 2 | 3", "24 code indented\ncode", "27 text See http://y.test.")
}

// A document shows tables without bars at their edges, boxes, and breaks of lines, and no definitions of links.
func TestVisible(t *testing.T) {
	t.Parallel()
	check(t, "everything", Markdown("a | b\n--|--\n1 | 2\n\n- [ ] ask\n\none  \ntwo\\\nthree\nfour [five][x]\n\n[x]:\n  http://x.test\n", 1, Everything),
		"1 row a | b", "3 row 1 | 2", "5 item [ ] ask", "7 text one\ntwo\nthree four five")
}

// A quote goes on with the text above it, and tags, comments and marks of templates are no text.
func TestSentences(t *testing.T) {
	t.Parallel()
	check(t, "sentences", Markdown("<rules>\n- [ ] ask\n</rules>\n\nWe prohibit:\n> theft\n\n<!-- a\n\nb -->\n> - one\n>   - two\n\n(a) three\n(b) four\n", 1, Sentences),
		"2 item ask", "5 text We prohibit:\ntheft", "11 item one", "12 item<2 two", "14 item three", "15 item four")
}

// The letters and numbers of contracts mark lists inside lists; a letter in the middle of a paragraph marks nothing. A line with a colon defines
// the term above it.
func TestClauses(t *testing.T) {
	t.Parallel()
	check(t, "clauses", Markdown("a. *Keys*\n\n    i. Staff shall:\n\n        1. ask\n\n        1. wait\n\n    ii. Guests leave.\n\nb. Gates\n\nplan\nb. is better\n\n```\na. b\n```\n", 1, Sentences),
		"1 item *Keys*", "3 item<0 Staff shall:", "5 item<1 ask", "7 item<1 wait", "9 item<0 Guests leave.", "11 item Gates", "13 text plan\nb. is better")
	check(t, "what people see", Markdown("a. Keys\n\nb. Gates\n", 1, Everything), "1 text a. Keys", "3 text b. Gates")
	check(t, "definitions", Markdown("Key\n: opens doors\n  at night\n: is of iron\n\nSee this\nor that\n: no term\n\nGate\n\n: shuts\n", 1, Sentences),
		"1 item Key\n: opens doors\nat night", "4 item is of iron", "6 text See this\nor that\n: no term", "10 text Gate", "12 item shuts")
	check(t, "adoc", Adoc("Key:: opens doors\nGate::\n  shuts\n\nA text: more::x\n", 1), "1 item Key:: opens doors", "2 item Gate::\nshuts", "5 text A text: more::x")
	check(t, "items of HTML", Markdown("<ol>\n<li>ask</li>\n<li class=\"x\"><b>wait</b>\nhere</li>\n</ol>\n", 1, Sentences), "2 item ask</li>", "3 item <b>wait</b>\nhere</li>")
	boxed := Markdown("- [x] ask\n- wait\n", 1, Sentences)
	if !boxed[0].Box || boxed[1].Box {
		t.Errorf("boxes %+v", boxed)
	}
}

// The cost of hostile text does not grow with its square, nor does its depth end the process.
func TestHostile(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for _, s := range []string{
		">", "> - ", "[", "[a](", "*a_ ", "`", "` `` ``` ", "[a]: b\n", "`\\|`|b\n", "> > > a\n", "- a\n", "<div>\n\n", "|",
	} {
		text := "a|b\n-|-\n" + strings.Repeat(s, (1<<14)/len(s))
		for e := range Everything + 1 {
			Markdown(text, 1, e)
		}
		Text(text, 1)
	}
	Markdown(strings.Repeat("a|", 1<<14)+"\n"+strings.Repeat("-|", 1<<14)+"\n"+strings.Repeat("a\n", 1<<14), 1, Everything)
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %s", took)
	}
}

// A text costs no more than in proportion to its length: the slowest known ones take at most a few seconds a megabyte, and no
// memory beyond it. Each took 5 to 40 s before its bound.
func TestBombs(t *testing.T) {
	const size = 1 << 18
	for name, text := range map[string]string{
		"links that do not end":     strings.Repeat("[a](b", size/5),
		"links without address":     strings.Repeat("[a](", size/4),
		"the same below a table":    "a|b\n-|-\n" + strings.Repeat("[a](b", size/5),
		"empty lines in deep lists": strings.Repeat("- ", 60) + "a\n" + strings.Repeat("\n", size),
		"emphasis":                  strings.Repeat("*a _b ", size/6),
		"links in links":            strings.Repeat("[a", size/6) + strings.Repeat("](a)", size/6),
	} {
		for e := range Everything + 1 {
			if e != Everything && !strings.HasPrefix(name, "empty") {
				continue // the others read no more than that
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			list := Markdown(text+"\n\n[end](x)\n", 1, e)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if took > 30*time.Second {
				t.Errorf("%s: %s", name, took)
			}
			if last := list[len(list)-1]; e == Everything && strings.Contains(text, "](b") && last.Text != "[end](x)" {
				t.Errorf("%s: marks are sought without limit, the last block is %q", name, last.Text)
			}
			if made := after.TotalAlloc - before.TotalAlloc; strings.HasPrefix(name, "empty") && made > 400<<20 {
				t.Errorf("%s: %d MB were allocated", name, made>>20)
			}
		}
	}
}

// Lines are exact in a text that goldmark reads in parts.
func TestParts(t *testing.T) {
	t.Parallel()
	list := Markdown(strings.Repeat("a\n\n", maxPart/2)+"# b\n", 1, Everything)
	if last := list[len(list)-1]; len(list) != maxPart/2+1 || last.Kind != Heading || last.Line != maxPart+1 {
		t.Errorf("%d blocks, the last %+v", len(list), last)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	check(t, "text", Text("CODING STYLE\n\n(a) One\n(b) Two\n    goes on\n\n    not code\n", 1),
		"1 heading CODING STYLE", "3 item One", "4 item Two\ngoes on", "7 text<2 not code")
}

const site = "<title>Site</title><nav>menu</nav>\n<h1>Rules</h1><p>Staff must:</p><ul>\n<li>ask<br>twice</ul><script>x\n</script><pre>a  b\nc</pre>\n<table><tr><td>1<td>2</table>"

func TestHTML(t *testing.T) {
	t.Parallel()
	list, title, err := HTML(site, Sentences)
	if err != nil || title != "Site" {
		t.Errorf("title %q, %v", title, err)
	}
	check(t, "sentences", list, "2 heading Rules", "2 text Staff must:", "3 item<1 ask twice", "6 row 1 | 2")
	list, _, _ = HTML(site, Everything)
	check(t, "everything", list, "1 text menu", "2 heading Rules", "2 text Staff must:", "3 item<2 ask\ntwice", "4 code a  b\nc", "6 row 1 | 2")
	if _, _, err := HTML("<p "+strings.Repeat("a=b ", MaxToken/4+1), Sentences); !errors.Is(err, ErrToken) {
		t.Errorf("a long tag: %v", err)
	}
}

// Sections are the headings above a block.
// The end of an element that has not begun does not end a paragraph.
func TestStrayEnd(t *testing.T) {
	t.Parallel()
	list, _, err := HTML("<p>Employees must lock screens and\n</script>\nmust wear badges</p>", Sentences)
	if err != nil || len(list) != 1 {
		t.Errorf("got %v, %v; want one paragraph", outline(list), err)
	}
}

func TestSections(t *testing.T) {
	t.Parallel()
	list := Markdown("# A\n## B\ntext\n# C\ntext\n", 1, Sentences)
	var got []string
	for _, b := range list {
		got = append(got, strings.Join(b.Section, "/"))
	}
	if want := []string{"", "A", "A/B", "", "C"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzBlocks(f *testing.F) {
	f.Add(guide)
	f.Add(site)
	f.Fuzz(func(t *testing.T, content string) {
		content, ok := Decode([]byte(content))
		if !ok {
			return
		}
		last := strings.Count(content, "\n") + 1
		for e := range Everything + 1 {
			_, rest, first := FrontMatter(content)
			page, _, _ := HTML(content, e)
			for _, b := range slices.Concat(Markdown(rest, first, e), page, Text(content, 1)) {
				if b.Line < 1 || b.Line > last || b.Kind == Heading != (b.Level > 0) {
					t.Errorf("%+v in a text of %d lines", b, last)
				}
			}
		}
	})
}
