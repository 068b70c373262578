package document

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tenet/internal/document/extract"
)

func TestDivide(t *testing.T) {
	long := strings.Repeat("Keys rotate every year. ", 100)
	chunks := divide([]extract.Block{
		{Text: "Before."},
		{Heading: 1, Text: "Security", Page: 1},
		{Heading: 2, Text: "Keys", Page: 1},
		{Text: strings.TrimSpace(long), Page: 1},
		{Heading: 2, Text: "Doors", Page: 2},
		{Text: "Lock them.", Page: 2, Line: 7},
		{Heading: 1, Text: "Money", Page: 3},
	})
	var sections []string
	text := ""
	for i, c := range chunks {
		sections = append(sections, c.Section)
		text += c.Text
		if c.N != i+1 || utf8.RuneCountInString(c.Text) > maxChunk+len(blockEnd) {
			t.Errorf("chunk %d has the number %d and %d characters", i+1, c.N, utf8.RuneCountInString(c.Text))
		}
		if body := strings.TrimSpace(c.Text); c.Section == "Security > Keys" && !strings.HasSuffix(body, ".") {
			t.Errorf("chunk %d ends inside a sentence: ...%s", c.N, body[len(body)-20:])
		}
	}
	if diff := cmp.Diff([]string{"", "Security > Keys", "Security > Keys", "Security > Doors", "Money"}, sections); diff != "" {
		t.Errorf("sections (-want +got)\n%s", diff)
	}
	if want := "Before.\n\nSecurity\n\nKeys\n\n" + strings.TrimSpace(long) + "\n\nDoors\n\nLock them.\n\nMoney\n\n"; text != want {
		t.Errorf("all chunks together are\n%s\nwant\n%s", text, want)
	}
	if c := chunks[3]; c.Page != 2 || chunks[1].Page != 1 {
		t.Errorf("chunk 4 is on page %d, chunk 2 on page %d", c.Page, chunks[1].Page)
	}
}

// Whatever the text, nothing of it is lost, no chunk is too long, and no character is cut.
func TestDivideLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var blocks []extract.Block
		want := ""
		for range rapid.IntRange(1, 8).Draw(t, "blocks") {
			piece := rapid.SampledFrom([]string{"a", "word ", "End. ", "規則。", "é", "\n", "xxxxxxxxxxxxxxxxxxxxxxxx"}).Draw(t, "piece")
			b := extract.Block{Text: strings.Repeat(piece, rapid.IntRange(1, 2000).Draw(t, "times")), Heading: rapid.IntRange(0, 2).Draw(t, "heading")}
			if b.Heading > 0 {
				b.Text = short(b.Text, 50)
			}
			blocks = append(blocks, b)
			want += b.Text + blockEnd
		}
		text := ""
		for _, c := range divide(blocks) {
			text += c.Text
			if n := utf8.RuneCountInString(c.Text); n > maxChunk+maxChunk/4+2*len(blockEnd)+200 || n == 0 || !utf8.ValidString(c.Text) || c.Section != short(c.Section, maxSection) {
				t.Fatalf("chunk of %d characters in %q", n, c.Section)
			}
		}
		if text != want {
			t.Fatalf("all chunks together have %d bytes, the text %d", len(text), len(want))
		}
	})
}

func TestSnippet(t *testing.T) {
	filler := strings.Repeat("Nothing of note here. ", 40)
	text := filler + "Rotating\nthe keys of os.environ is a duty. " + filler
	got, marks := snippet(text, []string{"rotat", "key", "os.environ", "environ"})
	var marked []string
	for _, m := range marks {
		marked = append(marked, string([]rune(got)[m.Start:m.End]))
	}
	if diff := cmp.Diff([]string{"Rotating", "keys", "os.environ"}, marked); diff != "" {
		t.Errorf("marked (-want +got)\n%s\nin %s", diff, got)
	}
	if !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, "…") || utf8.RuneCountInString(got) > snippetLength+20 {
		t.Errorf("snippet of %d characters: %s", utf8.RuneCountInString(got), got)
	}
	if got, marks := snippet("Short.", nil); got != "Short." || len(marks) != 0 {
		t.Errorf("%q with marks %v", got, marks)
	}
}

func FuzzSnippet(f *testing.F) {
	f.Add("Keys rotate. 規則を守る os.environ", "keys os.environ 規則")
	f.Fuzz(func(t *testing.T, text, query string) {
		text = strings.ToValidUTF8(text, "")
		var terms []string
		terms = append(terms, strings.Fields(query)...)
		got, marks := snippet(text, terms)
		last := 0
		for _, m := range marks {
			if m.Start < last || m.End <= m.Start || m.End > utf8.RuneCountInString(got) {
				t.Fatalf("marks %v in %q", marks, got)
			}
			last = m.End
		}
		if !utf8.ValidString(got) {
			t.Fatalf("%q", got)
		}
	})
}
