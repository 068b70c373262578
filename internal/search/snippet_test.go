package search

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestSnippet(t *testing.T) {
	t.Parallel()
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
