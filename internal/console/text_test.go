package console

import "testing"

func TestCountsHaveTheirNoun(t *testing.T) {
	for n, want := range map[int64]string{0: "0 entries", 1: "1 entry", 2: "2 entries", 1234: "1,234 entries", -1: "-1 entries"} {
		if got := counted(n, "entry", "entries"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
