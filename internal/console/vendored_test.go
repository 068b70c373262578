package console_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVendoredFiles holds the code of others to what its authors published: SUMS lists every file with its checksum.
func TestVendoredFiles(t *testing.T) {
	for _, dir := range []string{"vendored", "browsertest/vendored"} {
		listed, err := os.ReadFile(filepath.Join(dir, "SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for line := range strings.Lines(string(listed)) {
			if sum, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok && !strings.HasPrefix(line, "#") {
				want[name] = sum
			}
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() == "SUMS" {
				continue
			}
			body, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(body)
			if got := hex.EncodeToString(sum[:]); got != want[e.Name()] {
				t.Errorf("%s/%s has the checksum %s, SUMS says %q", dir, e.Name(), got, want[e.Name()])
			}
			delete(want, e.Name())
		}
		for name := range want {
			t.Errorf("%s/%s is missing", dir, name)
		}
	}
}
