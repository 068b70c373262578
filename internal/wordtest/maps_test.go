package wordtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mapped is a file or folder as the maps in package comments name it; NOUN.go and NAME.templ are patterns of names.
var mapped = regexp.MustCompile(`\b[a-z][a-z0-9_*]*(?:\.(?:go|templ)\b|/)`)

// TestMapsNameWhatExists looks up the files that package comments list under "Where things are".
func TestMapsNameWhatExists(t *testing.T) {
	maps := 0
	err := filepath.WalkDir(root+"/internal", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		comment, _, _ := strings.Cut(string(text), "\npackage ")
		_, section, ok := strings.Cut(comment, "\n// # Where things are\n")
		if !ok {
			return nil
		}
		maps++
		section, _, _ = strings.Cut(section, "\n// # ")
		for line := range strings.Lines(section) {
			entry, ok := strings.CutPrefix(line, "//\t")
			if !ok {
				continue
			}
			for _, name := range mapped.FindAllString(entry, -1) {
				if found, err := filepath.Glob(filepath.Join(filepath.Dir(path), name)); err != nil || len(found) == 0 {
					t.Errorf("%s: its map names %s, which does not exist", path, name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if maps < 7 {
		t.Errorf("%d maps found in package comments; are they still found?", maps)
	}
}
