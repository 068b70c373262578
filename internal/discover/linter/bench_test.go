package linter_test

import (
	"fmt"
	"strings"
	"testing"

	"tenet/internal/discover/linter"
	"tenet/internal/discover/source"
)

// BenchmarkRead reads settings of 100 packages of a large repository.
func BenchmarkRead(b *testing.B) {
	var rules strings.Builder
	for i := range 200 {
		fmt.Fprintf(&rules, "    \"plugin/rule-%d\": [\"error\", {\"max\": %d}],\n", i, i)
	}
	var files []source.File
	size := 0
	for i := range 100 {
		for name, content := range map[string]string{
			".eslintrc.json": "{\"rules\": {\n" + rules.String() + "    \"no-console\": \"error\"\n}}",
			".golangci.yml":  "linters:\n  enable:\n" + strings.Repeat("    - bodyclose\n    - errcheck\n", 50),
			"ruff.toml":      "[lint]\nselect = [" + strings.Repeat("\"E501\", \"F\",\n", 50) + "]\n",
		} {
			files = append(files, source.File{Path: fmt.Sprintf("p%d/%s", i, name), Content: []byte(content)})
			size += len(content)
		}
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if found, problems := linter.New().Read(b.Context(), files); len(found) == 0 || len(problems) > 0 {
			b.Fatal(len(found), problems)
		}
	}
}
