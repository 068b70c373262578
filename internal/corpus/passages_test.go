package corpus_test

import (
	"fmt"
	"slices"
	"testing"

	"tenet/internal/corpus"
	"tenet/internal/store"
)

func passages(t *testing.T, p *corpus.Passages, add []corpus.Passage, gone ...string) *corpus.Passages {
	t.Helper()
	next, err := p.With(add, func(document string) bool { return !slices.Contains(gone, document) })
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func TestPassagesAreFoundByDocument(t *testing.T) {
	t.Parallel()
	empty := corpus.NewPassages()
	p := passages(t, empty, []corpus.Passage{
		{Document: "a", N: 1, Names: "keys.md", Text: "Keys are rotated every year."},
		{Document: "a", N: 2, Names: "keys.md", Text: "Cash is refused."},
		{Document: "b", N: 1, Names: "cash.txt", Text: "Payments in cash are refused, and cash is counted."},
		{Document: "c", N: 1, Names: "travel", Text: "Nothing about money."},
	})
	find := func(p *corpus.Passages, text string, offset, limit int) (found string, total int) {
		matches, total := p.Find(text, offset, limit)
		for _, m := range matches {
			found += fmt.Sprint(m.DocumentID, m.N, " ")
			if m.Score <= 0 {
				t.Errorf("%q has the score %v", text, m.Score)
			}
		}
		return found, total
	}
	for _, test := range []struct {
		text          string
		offset, limit int
		want          string
		total         int
	}{
		{"rotating keys", 0, 10, "a1 ", 1},
		{"cash", 0, 10, "b1 a2 ", 2},
		{"cash", 1, 10, "a2 ", 2},
		{"cash", 2, 10, "", 2},
		{"cash", 0, 1, "b1 ", 2},
		{`"cash is refused"`, 0, 10, "a2 ", 1},
		{"travel", 0, 10, "c0 ", 1},
		{"nowhere", 0, 10, "", 0},
		{"", 0, 10, "", 0},
	} {
		if found, total := find(p, test.text, test.offset, test.limit); found != test.want || total != test.total {
			t.Errorf("%q from %d: %q of %d, want %q of %d", test.text, test.offset, found, total, test.want, test.total)
		}
	}
	next := passages(t, p, []corpus.Passage{{Document: "d", N: 1, Names: "new", Text: "Cash, cash and cash."}}, "b")
	if found, total := find(next, "cash", 0, 10); found != "d1 a2 " || total != 2 {
		t.Errorf("after a change: %q of %d", found, total)
	}
	if found, total := find(p, "cash", 0, 10); found != "b1 a2 " || total != 2 {
		t.Errorf("the index before has changed: %q of %d", found, total)
	}
	if found, total := find(empty, "cash", 0, 10); found != "" || total != 0 {
		t.Errorf("nothing is found as %q of %d", found, total)
	}
}

// A document with many pieces must not push others off a page.
func TestPagesOfPassagesFitTogether(t *testing.T) {
	t.Parallel()
	var add []corpus.Passage
	for n := range 900 {
		add = append(add, corpus.Passage{Document: "long", N: n + 1, Names: "long", Text: "cash cash cash"})
	}
	for n := range 30 {
		add = append(add, corpus.Passage{Document: fmt.Sprintf("s%02d", n), N: 1, Names: "short", Text: "cash and other words of some length"})
	}
	p := passages(t, corpus.NewPassages(), add)
	var all []store.DocumentMatch
	for offset := 0; offset < 40; offset += 7 {
		matches, total := p.Find("cash", offset, 7)
		if total != 31 {
			t.Fatalf("%d documents", total)
		}
		all = append(all, matches...)
	}
	seen := map[string]bool{}
	for _, m := range all {
		seen[m.DocumentID] = true
	}
	if len(all) != 31 || len(seen) != 31 || all[0].DocumentID != "long" {
		t.Errorf("the pages hold %d, of %d documents, from %s", len(all), len(seen), all[0].DocumentID)
	}
}
