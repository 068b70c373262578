package release

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"tenet/internal/rule"
)

// pool is how many of the newest evaluations of each verdict a sample of n is drawn from.
func pool(n int) int { return max(500, 2*n) }

// draw chooses n of the recorded evaluations, stratified by verdict and rule: each verdict gets a third, as far as it has so many, and
// within a verdict the rules take turns, those that changed first, so that a rule that is seldom judged is seen too. Equal seeds
// choose alike.
func draw(all []Recorded, n int, changed map[string]bool, seed uint64) []Recorded {
	random := rand.New(rand.NewPCG(seed, 0x7e6e7)) //nolint:gosec // a sample is to be repeatable, not secret
	strata := make([][]Recorded, len(rule.Verdicts))
	for _, r := range all {
		if at := slices.Index(rule.Verdicts, r.Verdict()); at >= 0 {
			strata[at] = append(strata[at], r)
		}
	}
	for i := range strata {
		random.Shuffle(len(strata[i]), func(a, b int) { strata[i][a], strata[i][b] = strata[i][b], strata[i][a] })
		strata[i] = byTurns(strata[i], changed)
	}
	var chosen []Recorded
	for len(chosen) < n {
		before := len(chosen)
		for i := range strata {
			if len(strata[i]) > 0 && len(chosen) < n {
				chosen = append(chosen, strata[i][0])
				strata[i] = strata[i][1:]
			}
		}
		if len(chosen) == before {
			break
		}
	}
	return chosen
}

// byTurns orders evaluations so that rules take turns: next comes one whose least shown rule was shown least. Changed rules
// count as shown less.
func byTurns(list []Recorded, changed map[string]bool) []Recorded {
	counts := map[string]int{}
	type ranked struct {
		r    Recorded
		turn int
	}
	out := make([]ranked, len(list))
	for i, r := range list {
		turn := len(list)
		for _, id := range r.Rules() {
			t := 2*counts[id] + 1
			if changed[id] {
				t = counts[id]
			}
			turn = min(turn, t)
			counts[id]++
		}
		out[i] = ranked{r, turn}
	}
	slices.SortStableFunc(out, func(a, b ranked) int { return cmp.Compare(a.turn, b.turn) })
	for i := range out {
		list[i] = out[i].r
	}
	return list
}
