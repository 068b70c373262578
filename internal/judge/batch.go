package judge

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"

	"tenet/internal/rule"
)

// maxBatchText bounds the rule text of one call in bytes, so that long statements do not push the subject out of a model's
// attention. A single longer rule goes alone.
const maxBatchText = 24_000

// shuffle gives the order in which rules are asked about, and the hash of the request. Models favour what stands first;
// an order that follows from the content alone spreads that without making equal requests differ. Ids and the order of the
// rules as given have no part in it.
func shuffle(model string, d *docket, rules []*rule.Rule) (order []int, hash [32]byte) {
	contents := make([]string, len(rules))
	for i, r := range rules {
		contents[i] = r.ContentHash()
	}
	sorted := slices.Sorted(slices.Values(contents))
	sum := sha256.New()
	for _, s := range append([]string{PromptVersion, model}, sorted...) {
		sum.Write([]byte(s))
		sum.Write([]byte{0})
	}
	for _, p := range d.parts {
		sum.Write([]byte(p.text))
		sum.Write([]byte{0})
	}
	sum.Sum(hash[:0])

	type place struct {
		index int
		key   [32]byte
	}
	places := make([]place, len(rules))
	for i := range rules {
		places[i] = place{i, sha256.Sum256(append(hash[:], contents[i]...))}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(bytes.Compare(a.key[:], b.key[:]), a.index-b.index)
	})
	order = make([]int, len(rules))
	for n, p := range places {
		order[n] = p.index
	}
	return order, hash
}

// batch groups rules in the given order into calls of at most size rules. CRITICAL rules go alone, so that nothing
// distracts from them and a fault in another rule's entry cannot touch them.
func batch(rules []*rule.Rule, order []int, size int) [][]int {
	var out [][]int
	var open []int
	text := 0
	for _, i := range order {
		r := rules[i]
		if r.Severity == rule.Critical {
			out = append(out, []int{i})
			continue
		}
		n := len(r.Statement) + len(r.Rationale)
		if len(open) == size || len(open) > 0 && text+n > maxBatchText {
			out, open, text = append(out, open), nil, 0
		}
		open, text = append(open, i), text+n
	}
	if len(open) > 0 {
		out = append(out, open)
	}
	return out
}
