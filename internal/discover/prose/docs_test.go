package prose

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestConfidenceIsWhatTheDocsSay compares the figures that candidates carry with those that docs/discovery-quality.md publishes.
func TestConfidenceIsWhatTheDocsSay(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/discovery-quality.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(guide)) {
		if cells := strings.Split(strings.Trim(line, "| \n"), " | "); len(cells) >= 3 {
			rows[cells[0]] = cells[len(cells)-1]
		}
	}
	for m := range byLast {
		if want := fmt.Sprintf("%.2f", confidence(m, Policy)); rows[methods[m]] != want {
			t.Errorf("%s: the docs say %q, candidates %s", methods[m], rows[methods[m]], want)
		}
	}
	if want := fmt.Sprintf("%.2f", confidence(ByBinding, Document)); rows["any, in another text"] != want {
		t.Errorf("another text: the docs say %q, candidates %s", rows["any, in another text"], want)
	}
}
