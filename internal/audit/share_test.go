package audit

import (
	"fmt"
	"slices"
	"testing"

	"tenet/internal/store"
)

// A project with many records leaves the others their places in the next transaction, and records of one project keep their order.
func TestProjectsShareATransaction(t *testing.T) {
	var list []*waiting
	add := func(project string, n int) {
		for range n {
			list = append(list, &waiting{entry: store.AuditEntry{ProjectID: project, ID: fmt.Sprint(len(list))}})
		}
	}
	add("flood", 3*maxBatch)
	add("one", 1)
	add("two", 2)
	add("flood", 1)
	batch, rest := share(list)
	count := map[string]int{}
	for _, p := range batch {
		count[p.entry.ProjectID]++
	}
	if len(batch) != maxBatch || len(batch)+len(rest) != len(list) || count["one"] != 1 || count["two"] != 2 || count["flood"] != maxBatch-3 {
		t.Errorf("a batch of %d has %v, and %d are left of %d", len(batch), count, len(rest), len(list))
	}
	flood := slices.DeleteFunc(slices.Concat(batch, rest), func(p *waiting) bool { return p.entry.ProjectID != "flood" })
	if want := slices.DeleteFunc(slices.Clone(list), func(p *waiting) bool { return p.entry.ProjectID != "flood" }); !slices.Equal(flood, want) {
		t.Error("the records of a project are not in their order")
	}
	for _, n := range []int{1, maxBatch} {
		if batch, rest := share(list[:n]); len(batch) != n || len(rest) != 0 {
			t.Errorf("of %d records %d are in the batch, and %d are left", n, len(batch), len(rest))
		}
	}
	if batch, rest := share(list[:maxBatch+7]); len(batch) != maxBatch || len(rest) != 7 || batch[0] != list[0] || rest[0] != list[maxBatch] {
		t.Errorf("of one project %d are in the batch, and %d are left", len(batch), len(rest))
	}
}
