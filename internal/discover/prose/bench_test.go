package prose_test

import (
	"context"
	"strings"
	"testing"

	"tenet/internal/blocks"
	"tenet/internal/discover/prose"
)

// BenchmarkFind reads 1 MB of a text like those that people write.
func BenchmarkFind(b *testing.B) {
	page := "# Rules\n\nThe service keeps the records of all customers, and this text says how they are to be treated.\n\n## Access\n\n" +
		"Employees must ask the owner for access, unless they are on call. The owner answers within a day.\n\n" +
		"- **Keys**: rotate them every year; never share them\n- Use `vault` for [secrets](https://example.com/vault)\n- Notes on the past\n\n" +
		"| Name | Duty |\n|---|---|\n| Doors | must be locked |\n\n```sh\nrun everything\n```\n\n"
	text := strings.Repeat(page, 1<<20/len(page))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if found, _ := prose.Find(context.Background(), blocks.Markdown(text, 1, blocks.Sentences), prose.Instructions); len(found) < 1000 {
			b.Fatalf("%d norms", len(found))
		}
	}
}
