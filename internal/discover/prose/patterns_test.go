package prose

import "testing"

// Every pattern is found in its own example, and classify reads the example by its modality.
func TestPatterns(t *testing.T) {
	t.Parallel()
	for name, tab := range map[string]table{"modals": modals, "openings": openings} {
		seen := map[*pattern]bool{}
		for _, list := range tab {
			for _, r := range list {
				if !seen[r] {
					seen[r] = true
					testPattern(t, name, tab, r)
				}
			}
		}
		if len(seen) < 5 {
			t.Errorf("%s has only %d patterns", name, len(seen))
		}
	}
}

func testPattern(t *testing.T, name string, tab table, r *pattern) {
	t.Helper()
	c := place{genre: Instructions, item: name == "openings"}
	if r.in&policy != 0 {
		c.genre = Policy
	}
	if r.in&item != 0 {
		c.item = true
	}
	if r.in&advice != 0 {
		c.genre, c.advises = Document, true
	}
	tokens := tokenize(r.example)
	found := 0
	for i := range tokens {
		if tab.find(tokens, i, c) == r {
			found++
		}
	}
	if found != 1 {
		t.Errorf("%s: the pattern %q is found %d times in %q", name, r.words, found, r.example)
	}
	if got, ok := classify(tokens, c); !ok || got.modality != r.says || name == "modals" && got.means != r.means {
		t.Errorf("%s: %q reads %q as %+v, %v", name, r.words, r.example, got, ok)
	}
	if r.in&rules != 0 && tab.find(tokens, 0, place{genre: Document, item: true}) == r {
		t.Errorf("%s: %q is found in any document", name, r.words)
	}
}

// A pattern whose words are malformed is a mistake of the program.
func TestParsePanics(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"no phrase", "[{nolist}]", "[!not]x"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q is taken", words)
				}
			}()
			parse(words)
		}()
	}
}
