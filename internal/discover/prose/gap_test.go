package prose_test

import (
	"context"
	"strings"
	"testing"

	"tenet/internal/blocks"
	"tenet/internal/discover/prose"
)

// What is not read is told: nobody may take silence for a text without rules.
func TestGaps(t *testing.T) {
	long := "# Access\n\nDoors must be locked.\nStaff must " + strings.Repeat("very ", 1000) + "often ask.\n\nKeys must be kept.\n"
	found, gaps := prose.Find(context.Background(), blocks.Markdown(long, 1, blocks.Sentences), prose.Policy)
	if len(found) != 2 || found[1].Line != 6 || len(gaps) != 1 || gaps[0].Line != 4 || !strings.Contains(gaps[0].Reason, "there are 1") {
		t.Errorf("found %d, gaps %+v", len(found), gaps)
	}
	for text, line := range map[string]int{strings.Repeat("- Use tabs\n", 30_000): 10_001, "# A\n" + strings.Repeat("Keys must be kept. ", 10_001): 2} {
		found, gaps = prose.Find(context.Background(), blocks.Markdown(text, 1, blocks.Sentences), prose.Instructions)
		if len(found) != 10_000 || len(gaps) != 1 || gaps[0].Line != line {
			t.Errorf("found %d, gaps %+v", len(found), gaps)
		}
	}
	whole := strings.Repeat("- Use tabs\n", 10_000)
	if found, gaps = prose.Find(context.Background(), blocks.Markdown(whole, 1, blocks.Sentences), prose.Instructions); len(found) != 10_000 || len(gaps) > 0 {
		t.Errorf("found %d, gaps %+v", len(found), gaps)
	}
}
