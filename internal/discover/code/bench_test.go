package code_test

import (
	"fmt"
	"testing"

	"tenet/internal/discover/code"
	"tenet/internal/discover/source"
)

// BenchmarkRead reads what the issue asks for: 1,000 files with 10 MB together, a third of them in each language.
func BenchmarkRead(b *testing.B) {
	bodies := []string{
		"package a\n\nimport \"fmt\"\n\n" + many(40, "// F%d is.\nfunc F%d(ctx context.Context, id string) (string, error) {\n\tx, err := load(ctx, id)\n\tif err != nil {\n\t\treturn \"\", fmt.Errorf(\"load %s: %w\", id, err)\n\t}\n\treturn x.Name, nil\n}\n\n"),
		"\"\"\"Module.\"\"\"\n\nimport os\n\n" + many(40, "def get_item_%d(path: str, *, deep: bool = False) -> dict:\n    \"\"\"Read an item.\"\"\"\n    try:\n        return {\"path\": path, \"deep\": deep, \"name\": f\"item {path}\"}\n    except OSError as error:\n        raise ItemError(\"not read\") from error\n\n\n"),
		"import { load } from \"./load.js\";\n\n" + many(40, "/** Reads an item. */\nexport async function getItem%d(path: string): Promise<Item> {\n  const item = await load(path, { deep: true, name: `item ${path}` });\n  if (item === undefined) {\n    throw new Error(\"not read\");\n  }\n  return item;\n}\n\n"),
	}
	var files []source.File
	size := 0
	for i := range 1000 {
		k := i % 3
		path := fmt.Sprintf("p%d/file_%d", i%50, i) + []string{".go", ".py", ".ts"}[k]
		files = append(files, source.File{Path: path, Content: []byte(bodies[k])})
		size += len(bodies[k])
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if found, problems := code.New().Read(b.Context(), files); len(found) == 0 || len(problems) > 0 {
			b.Fatal(len(found), problems)
		}
	}
}
