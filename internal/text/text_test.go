package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    string
		n    int
		mark string
		want [3]string // of Clip, Fit and FitRunes
	}{
		{"", 0, "...", [3]string{"", "", ""}},
		{"short", 5, "...", [3]string{"short", "short", "short"}},
		{"longer", 5, "...", [3]string{"longe...", "lo...", "lo..."}},
		{"longer", 5, "", [3]string{"longe", "longe", "longe"}},
		{"äöüß", 4, "", [3]string{"äö", "äö", "äöüß"}},
		{"äöüß", 5, "…", [3]string{"äö…", "ä…", "äöüß"}},
		{"äöüßé", 4, "…", [3]string{"äö…", "…", "äöü…"}},
		{"日本語", 2, "", [3]string{"", "", "日本"}},
	} {
		if got := [3]string{Clip(c.s, c.n, c.mark), Fit(c.s, c.n, c.mark), FitRunes(c.s, c.n, c.mark)}; got != c.want {
			t.Errorf("%q to %d with %q: got %q, want %q", c.s, c.n, c.mark, got, c.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	if got := OneLine("\ta  b\r\n\n c "); got != "a b c" {
		t.Errorf("got %q", got)
	}
}

func FuzzClip(f *testing.F) {
	f.Add("a text of words", 5)
	f.Add("日本語のテキスト", 7)
	f.Fuzz(func(t *testing.T, s string, n int) {
		s = strings.ToValidUTF8(s, "")
		n = 3 + int(uint(n)%64)
		clip, fit, runes := Clip(s, n, "…"), Fit(s, n, "…"), FitRunes(s, n, "…")
		for _, got := range []string{clip, fit, runes} {
			if !utf8.ValidString(got) || got != s && !strings.HasPrefix(s, strings.TrimSuffix(got, "…")) {
				t.Errorf("%q to %d: %q", s, n, got)
			}
		}
		if len(clip) > n+len("…") || len(fit) > n || utf8.RuneCountInString(runes) > n {
			t.Errorf("%q to %d: %q, %q, %q are too long", s, n, clip, fit, runes)
		}
	})
}

func TestPlural(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 rules", 1: "1 rule", 2: "2 rules"} {
		if got := Plural(n, "rule"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	if got := Words("a b\n c"); len(got) != 3 || !got["c"] {
		t.Errorf("got %v", got)
	}
}
