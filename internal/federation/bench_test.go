package federation_test

import (
	"fmt"
	"testing"

	"tenet/internal/federation"
	"tenet/internal/store"
)

// BenchmarkEffective works out what holds three levels down, with 5,000 rules above and 100 of them overridden.
func BenchmarkEffective(b *testing.B) {
	k := newCorpus()
	k.node("org", "")
	k.node("team", "org")
	k.node("repo", "team")
	var attached []store.AttachmentState
	add := func(node, text string) {
		attached = append(attached, store.AttachmentState{Attachment: attachment(node, text)})
	}
	for i := range 5100 {
		id := fmt.Sprintf("00000000-0000-7000-8000-%012d", i)
		k.rules[id] = newCorpus(id).rules[id]
		switch {
		case i < 4000:
			add("org", id)
		case i < 5000:
			add("team", id)
		default:
			add("team", fmt.Sprintf("%s>00000000-0000-7000-8000-%012d", id, 7*(i-5000)))
		}
	}
	k.tree = k.tree.Apply(nil, attached)
	for b.Loop() {
		set, _ := federation.Effective(k, "repo", noon)
		if len(set.Entries) != 5000 || len(set.Replaced) != 100 {
			b.Fatalf("%d rules, %d replaced", len(set.Entries), len(set.Replaced))
		}
	}
}
