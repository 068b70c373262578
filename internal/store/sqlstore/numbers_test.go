package sqlstore_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// Two migrations of one number would stop every server.
func TestEveryMigrationHasANumberOfItsOwn(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	of := map[string]string{}
	for _, name := range files {
		number, _, _ := strings.Cut(filepath.Base(name), "_")
		if of[number] != "" {
			t.Errorf("%s and %s have one number; give the later one the next that is free", of[number], name)
		}
		of[number] = name
	}
}
