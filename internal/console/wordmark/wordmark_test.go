package wordmark_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tenet/internal/console/wordmark"
	"tenet/internal/proptest"
)

// drawn writes pieces as text: [-removed-] and {+added+}.
func drawn(list []wordmark.Piece) string {
	var b strings.Builder
	for _, p := range list {
		switch p.Op {
		case wordmark.Removed:
			b.WriteString("[-" + p.Text + "-]")
		case wordmark.Added:
			b.WriteString("{+" + p.Text + "+}")
		case wordmark.Same:
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func TestCompare(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ old, new, want string }{
		{"", "", ""},
		{"same", "same", "same"},
		{"", "new", "{+new+}"},
		{"old", "", "[-old-]"},
		{"Payments above 10000 need two approvers.", "Payments above 5000 need two approvers.", "Payments above [-10000-]{+5000+} need two approvers."},
		{"a b c", "a c", "a [-b -]c"},
		{"foo(bar)", "foo(baz)", "foo([-bar-]{+baz+})"},
		{"größe", "große", "[-größe-]{+große+}"},
	} {
		if got := drawn(wordmark.Compare(tt.old, tt.new)); got != tt.want {
			t.Errorf("%q to %q: %q, want %q", tt.old, tt.new, got, tt.want)
		}
	}
}

func TestPiecesMakeBothTexts(t *testing.T) {
	t.Parallel()
	proptest.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab _.\n\u202eé")), 0, 30, -1)
		a, b := text.Draw(t, "old"), text.Draw(t, "new")
		before, after := "", ""
		for _, p := range wordmark.Compare(a, b) {
			if p.Op != wordmark.Added {
				before += p.Text
			}
			if p.Op != wordmark.Removed {
				after += p.Text
			}
		}
		if before != a || after != b {
			t.Fatalf("%q and %q come out as %q and %q", a, b, before, after)
		}
	})
}

func TestLongTextsEnd(t *testing.T) {
	t.Parallel()
	a, b := strings.Repeat("a b ", 100_000), strings.Repeat("c d ", 100_000)
	if got := wordmark.Compare(a, b); len(got) > 10 {
		t.Errorf("%d pieces of two texts without a common word", len(got))
	}
}
