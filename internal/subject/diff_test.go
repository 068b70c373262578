package subject

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// show writes files line by line: old number, new number, what the diff does with the line, its text.
func show(files []File) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%s %s", f.Change, f.Path)
		if f.OldPath != "" {
			fmt.Fprintf(&b, " from %s", f.OldPath)
		}
		if f.Binary {
			b.WriteString(" (binary)")
		}
		if f.Missing {
			b.WriteString(" (missing)")
		}
		b.WriteByte('\n')
		for _, h := range f.Hunks {
			fmt.Fprintf(&b, "  -%d,%d +%d,%d %s\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines, h.Section)
			for _, l := range h.Lines {
				fmt.Fprintf(&b, "  %3d %3d %c|%s\n", l.Old, l.New, l.Op, l.Text)
			}
		}
	}
	return b.String()
}

// TestDiffShapes parses a diff of every shape that tools write. The .want files were checked against the new versions of
// the files by hand.
func TestDiffShapes(t *testing.T) {
	diffs, err := filepath.Glob("testdata/diff/*.diff")
	if err != nil || len(diffs) < 20 {
		t.Fatalf("found %d diffs: %v", len(diffs), err)
	}
	for _, name := range diffs {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".diff"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(name, ".diff") + ".want")
			if err != nil {
				t.Fatal(err)
			}
			s, err := Build(Input{Diff: string(text)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), show(s.Files)); diff != "" {
				t.Errorf("files differ (-want +got):\n%s", diff)
			}
			if s.Hash() == "" || !s.Is(CodeChange) {
				t.Errorf("kinds are %v", s.Kinds)
			}
		})
	}
}
