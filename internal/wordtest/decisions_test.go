package wordtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDecisions compares the index of decisions with the pages: each has the number of its file, and its row.
func TestDecisions(t *testing.T) {
	pages, err := filepath.Glob(root + "/docs/adr/[0-9]*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("found the pages %v (%v)", pages, err)
	}
	var want []string
	for i, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		heading, _, _ := strings.Cut(string(text), "\n")
		number, title, ok := strings.Cut(strings.TrimPrefix(heading, "# "), ". ")
		name := filepath.Base(page)
		if !ok || number != fmt.Sprint(i+1) || !strings.HasPrefix(name, fmt.Sprintf("%04d-", i+1)) {
			t.Errorf("%s begins %q; want the number %d in name and heading", name, heading, i+1)
		}
		want = append(want, fmt.Sprintf("| [%s](%s) | %s |", number, name, title))
	}
	index, err := os.ReadFile(root + "/docs/adr/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(index)) {
		if strings.HasPrefix(line, "| [") {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/adr/README.md (-pages +index)\n%s", diff)
	}
}
