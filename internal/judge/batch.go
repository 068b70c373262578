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

// seedOf is the hash of a request: what is shown to the model, but for fence and control. Ids and the order of the rules
// as given have no part in it.
func seedOf(p plan, d *docket, contents []string) (seed [32]byte) {
	sum := sha256.New()
	field := func(s string) {
		sum.Write([]byte(s))
		sum.Write([]byte{0})
	}
	field(p.String())
	for _, s := range slices.Sorted(slices.Values(contents)) {
		field(s)
	}
	field(d.lead)
	for i := range d.units {
		field(d.units[i].head)
		field(d.units[i].text)
	}
	sum.Sum(seed[:0])
	return seed
}

// shuffle gives the order in which rules are asked about. Models favour what stands first; an order that follows from the
// content alone spreads that without making equal requests differ.
func shuffle(seed [32]byte, contents []string) []int {
	type place struct {
		index int
		key   [32]byte
	}
	places := make([]place, len(contents))
	for i := range contents {
		places[i] = place{i, sha256.Sum256(append(seed[:], contents[i]...))}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(bytes.Compare(a.key[:], b.key[:]), a.index-b.index)
	})
	order := make([]int, len(places))
	for n, p := range places {
		order[n] = p.index
	}
	return order
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
		n := ruleSize(r)
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

// ruleSize is how many bytes of a prompt a rule takes, about.
func ruleSize(r *rule.Rule) int {
	n := len(r.Statement) + len(r.Rationale)
	for _, e := range r.Exceptions {
		n += len(e)
	}
	for _, e := range r.Examples {
		n += len(e.Input) + len(e.Note)
	}
	return n
}
