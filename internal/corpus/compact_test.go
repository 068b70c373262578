package corpus

import (
	"fmt"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// TestCompactDropsVectorsOfOldTexts edits every rule several times, so that most vectors are of texts that no rule has.
func TestCompactDropsVectorsOfOldTexts(t *testing.T) {
	const n, rounds = 400, 4
	v := &View{}
	for round := range rounds {
		var states []store.RuleState
		var vectors []store.Embedding
		for i := range n {
			r := rule.Rule{ID: fmt.Sprintf("%06d", i), Version: round + 1, Statement: fmt.Sprintf("Rule %d says %d.", i, round)}
			states = append(states, store.RuleState{Rule: r})
			vector := make([]float32, dimensions)
			vector[i], vector[n+i%100] = 1, float32(round)
			vectors = append(vectors, store.Embedding{Model: "m", TextHash: TextHash(&r), Vector: vector})
		}
		next, err := v.Apply(int64(round+1), states)
		if err != nil {
			t.Fatal(err)
		}
		v = next.WithVectors("m", vectors)
	}
	if v.vectors.rows != n*rounds || !v.fragmented() {
		t.Fatalf("before: %d rows, fragmented %v; want %d, and worth compacting", v.vectors.rows, v.fragmented(), n*rounds)
	}
	compact, err := v.compact()
	if err != nil {
		t.Fatal(err)
	}
	if compact.vectors.rows != n || compact.fragmented() || len(compact.segments) != 1 {
		t.Errorf("after: %d rows in %d segments, want %d in 1", compact.vectors.rows, len(compact.segments), n)
	}
	question := make([]float32, dimensions)
	question[7], question[n+7] = 1, rounds-1
	for about, v := range map[string]*View{"before": v, "after": compact} {
		hits, total := v.Nearest(question, Filter{}, 0, 1)
		if total != n || len(hits) != 1 || hits[0].Rule.ID != "000007" || hits[0].Score < 0.9999 {
			t.Errorf("%s: found %v of %d, want rule 7 with a cosine of 1", about, hits, total)
		}
	}
}
