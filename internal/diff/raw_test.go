package diff

import (
	"testing"
)

// TestRawLines has files that only the raw lines before a patch name.
func TestRawLines(t *testing.T) {
	const patch = "diff --git a/a.py b/a.py\nindex 1111111..2222222 100644\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n"
	for name, tt := range map[string]struct {
		raw    string
		unseen []string
	}{
		"shown":           {":100644 100644 1111111 2222222 M\ta.py\n\n", nil},
		"not shown":       {":100644 100644 1111111 2222222 M\ta.py\n:000000 100644 0000000 3333333 A\tsrc/b.py\n\n", []string{"src/b.py"}},
		"deleted":         {":100644 000000 1111111 0000000 D\tsrc/b.py\n\n", nil},
		"renamed":         {":100644 100644 1111111... 2222222... R086\told.py\tsrc/new.py\n\n", []string{"src/new.py"}},
		"quoted":          {":100644 100644 1111111 2222222 M\t\"src/\\303\\244.py\"\n\n", []string{"src/ä.py"}},
		"a merge":         {"::100644 100644 100644 1111111 2222222 3333333 MM\tsrc/m.py\n\n", []string{"src/m.py"}},
		"twice":           {":100644 100644 1111111 2222222 M\tc.py\n:100644 100644 1111111 2222222 M\tc.py\n\n", []string{"c.py"}},
		"words":           {":note: 100644 is a mode\n:100644 of a\tfile\n\n", nil},
		"no patch behind": {"", nil},
	} {
		files, err := Parse(tt.raw + patch)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var unseen []string
		for i := range files {
			if files[i].Unseen != "" {
				unseen = append(unseen, files[i].Path)
			}
		}
		if len(files) != 1+len(tt.unseen) || len(unseen) != len(tt.unseen) || len(unseen) > 0 && unseen[0] != tt.unseen[0] {
			t.Errorf("%s: unseen %q of %d files, want %q", name, unseen, len(files), tt.unseen)
		}
	}
	if _, err := Parse(":100644 100644 1111111 2222222 M\ta.py\n"); err == nil {
		t.Error("raw lines alone pass for a diff")
	}
	if _, err := Parse(":100644 100644 1111111 2222222 M\t../../x\n\n" + patch); err == nil {
		t.Error("a path outside of the repository is taken")
	}
}
