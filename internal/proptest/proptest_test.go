package proptest_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tenet/internal/proptest"
)

// Without a seed from outside, every run draws the same values.
func TestCheckDrawsFromAFixedSeed(t *testing.T) {
	if os.Getenv("RAPID_SEED") != "" {
		t.Skip("RAPID_SEED is set")
	}
	var runs [2][]int
	for i := range runs {
		proptest.Check(t, func(t *rapid.T) { runs[i] = append(runs[i], rapid.Int().Draw(t, "n")) })
	}
	if len(runs[0]) == 0 || !slices.Equal(runs[0], runs[1]) {
		t.Errorf("the runs draw %d and %d values, which differ", len(runs[0]), len(runs[1]))
	}
}

func TestPropertyTestsUseCheck(t *testing.T) {
	call := []byte("rapid." + "Check(")
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, call) {
			t.Errorf("%s calls rapid directly; proptest.Check runs it from a fixed seed", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
