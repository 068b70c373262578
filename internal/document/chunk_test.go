package document

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tenet/internal/document/extract"
	"tenet/internal/proptest"
	"tenet/internal/text"
)

func TestDivide(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	proptest.Check(t, func(t *rapid.T) {
		var blocks []extract.Block
		want := ""
		for range rapid.IntRange(1, 8).Draw(t, "blocks") {
			piece := rapid.SampledFrom([]string{"a", "word ", "End. ", "規則。", "é", "\n", "xxxxxxxxxxxxxxxxxxxxxxxx"}).Draw(t, "piece")
			b := extract.Block{Text: strings.Repeat(piece, rapid.IntRange(1, 2000).Draw(t, "times")), Heading: rapid.IntRange(0, 2).Draw(t, "heading")}
			if b.Heading > 0 {
				b.Text = text.FitRunes(b.Text, 50, "…")
			}
			blocks = append(blocks, b)
			want += b.Text + blockEnd
		}
		s := ""
		for _, c := range divide(blocks) {
			s += c.Text
			if n := utf8.RuneCountInString(c.Text); n > maxChunk+maxChunk/4+2*len(blockEnd)+200 || n == 0 || !utf8.ValidString(c.Text) || c.Section != text.FitRunes(c.Section, maxSection, "…") {
				t.Fatalf("chunk of %d characters in %q", n, c.Section)
			}
		}
		if s != want {
			t.Fatalf("all chunks together have %d bytes, the text %d", len(s), len(want))
		}
	})
}
