package corpus_test

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// direction is a vector that is always the same for n. Neighbouring numbers are alike in groups of ten.
func direction(n int) []float32 {
	own, group := uint64(n), uint64(n/10)<<32
	v := make([]float32, store.Dimensions)
	for i := range v {
		v[i] = scattered(own+uint64(i)<<20) + 2*scattered(group+uint64(i)) + 1
	}
	return v
}

// scattered is a number from -1 to 1 that looks like chance, after the mixing of SplitMix64.
func scattered(n uint64) float32 {
	n = (n + 1) * 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return float32(int64(n^n>>31)) / (1 << 63)
}

func embeddingsOf(states []store.RuleState) []store.Embedding {
	var list []store.Embedding
	for i := range states {
		list = append(list, store.Embedding{Model: "m", TextHash: corpus.TextHash(&states[i].Rule), Vector: direction(i)})
	}
	return list
}

// embedded is a view in which every rule has a vector; equal texts share one.
func embedded(t testing.TB, states []store.RuleState) *corpus.View {
	t.Helper()
	return view(t, states...).WithVectors("m", embeddingsOf(states))
}

func numbered(n int) []store.RuleState {
	var list []store.RuleState
	for i := range n {
		list = append(list, newRule(i, nil))
	}
	return list
}

func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	return dot / math.Sqrt(aa*bb)
}

func TestNearestAreThoseByCosine(t *testing.T) {
	const n = 2000 // several times what is compared exactly
	v := embedded(t, numbered(n))
	vectors := make([][]float32, n)
	for i := range vectors {
		vectors[i] = direction(i)
	}
	found, scored := 0, 0
	for q := range 10 {
		question := direction(10*q + 5)
		for i := range question {
			question[i] += float32(math.Sin(float64(i * q)))
		}
		rows := make([]int, n)
		cosines := make([]float64, n)
		for i := range rows {
			rows[i], cosines[i] = i, cosine(question, vectors[i])
		}
		slices.SortFunc(rows, func(a, b int) int { return cmp.Compare(cosines[b], cosines[a]) })
		hits, total := v.Nearest(question, corpus.Filter{}, 0, 10)
		if total != n || len(hits) != 10 {
			t.Fatalf("%d hits of %d", len(hits), total)
		}
		for _, row := range rows[:10] {
			i := slices.IndexFunc(hits, func(h corpus.Hit) bool { return h.Rule.ID == newRule(row, nil).Rule.ID })
			if i < 0 {
				continue
			}
			found++
			if math.Abs(hits[i].Score-cosines[row]) < 1e-4 {
				scored++
			}
		}
	}
	if found < 99 || scored != found {
		t.Errorf("%d of the 100 nearest were found, %d of them with their cosine; want 99 at least, and all", found, scored)
	}
}

func TestNearestWithAFilterFindsWhatThereIs(t *testing.T) {
	states := numbered(2000)
	for i := range states {
		if i%400 == 0 {
			states[i].Rule.Severity = rule.Critical
		}
	}
	v := embedded(t, states)
	hits, total := v.Nearest(direction(1), corpus.Filter{Severity: rule.Critical}, 0, 10)
	if len(hits) != 5 || total != 5 {
		t.Errorf("%d hits of %d, want all 5 CRITICAL rules", len(hits), total)
	}
}

func TestNearestLeavesOutWhatHasNoVector(t *testing.T) {
	states := numbered(3)
	v := view(t, states...)
	if hits, total := v.Nearest(direction(1), corpus.Filter{}, 0, 10); len(hits) != 0 || total != 0 {
		t.Errorf("without vectors %d hits of %d", len(hits), total)
	}
	if model, have, of := v.Vectors(); model != "" || have != 0 || of != 3 {
		t.Errorf("without vectors there are %d of %d of model %q", have, of, model)
	}
	v = v.WithVectors("m", embeddingsOf(states)[1:2])
	if hits, total := v.Nearest(direction(1), corpus.Filter{}, 0, 10); names(hits) != "R-1" || total != 1 {
		t.Errorf("found %s of %d, want R-1, which alone has a vector", names(hits), total)
	}
	if model, have, of := v.Vectors(); model != "m" || have != 1 || of != 3 {
		t.Errorf("there are %d of %d of model %q, want 1 of 3 of m", have, of, model)
	}
	var missing []string
	for e := range v.WithoutVector() {
		missing = append(missing, e.Rule.Slug)
	}
	if strings.Join(missing, " ") != "R-0 R-2" {
		t.Errorf("without a vector are %v, want R-0 and R-2", missing)
	}
}

func TestNearestToNoVector(t *testing.T) {
	v := embedded(t, numbered(3))
	broken := direction(1)
	broken[5] = float32(math.NaN())
	endless := direction(1)
	endless[5] = float32(math.Inf(1))
	for name, question := range map[string][]float32{
		"none": nil, "short": direction(1)[:767], "long": append(direction(1), 1), "zero": make([]float32, 768), "not a number": broken, "endless": endless,
	} {
		if hits, total := v.Nearest(question, corpus.Filter{}, 0, 10); len(hits) != 0 || total != 0 {
			t.Errorf("%s: %d hits of %d", name, len(hits), total)
		}
		if hits, _ := v.Hybrid("rule number.", question, corpus.Filter{}, 0, 10); len(hits) != 3 {
			t.Errorf("%s: hybrid finds %d, want the 3 that match the words", name, len(hits))
		}
	}
}

func TestVectorsBelongToTexts(t *testing.T) {
	states := []store.RuleState{says(1, "Same text.", "Why."), says(2, "Same text.", "Why."), says(3, "Same text.", "")}
	v := view(t, states...).WithVectors("m", embeddingsOf(states[:1]))
	if hits, _ := v.Nearest(direction(0), corpus.Filter{}, 0, 10); names(hits) != "R-1 R-2" {
		t.Errorf("found %s, want both rules with the text that has a vector", names(hits))
	}
	status := states[0]
	status.Rule.Status, status.Rule.Version = rule.Retired, 2
	text := states[1]
	text.Rule.Statement, text.Rule.Version = "Another text.", 2
	v, err := v.Apply(2, []store.RuleState{status, text})
	if err != nil {
		t.Fatal(err)
	}
	hits, _ := v.Nearest(direction(0), corpus.Filter{}, 0, 10)
	if names(hits) != "R-1" || hits[0].Rule.Status != rule.Retired {
		t.Errorf("after the edits found %s, want R-1 alone, in its new version", names(hits))
	}
	if _, have, _ := v.Vectors(); have != 1 {
		t.Errorf("%d rules have a vector, want 1", have)
	}
}

func TestVectorsOfAnotherModelReplaceThem(t *testing.T) {
	states := numbered(2)
	v := embedded(t, states)
	other := embeddingsOf(states[:1])
	other[0].Model = "n"
	foreign := embeddingsOf(states)
	v = v.WithVectors("n", append(foreign, other...))
	if model, have, of := v.Vectors(); model != "n" || have != 1 || of != 2 {
		t.Errorf("there are %d of %d of model %q, want 1 of 2 of n", have, of, model)
	}
}

func TestHybridTakesTheBestOfBoth(t *testing.T) {
	v := view(t, says(1, "Zebra crossings.", ""), says(2, "Zebra stripes.", ""), says(3, "Horses.", ""), says(4, "Fish.", ""))
	give := func(statement string, n int) store.Embedding {
		return store.Embedding{Model: "m", TextHash: corpus.TextHash(&rule.Rule{Statement: statement}), Vector: direction(n)}
	}
	v = v.WithVectors("m", []store.Embedding{give("Zebra stripes.", 11), give("Horses.", 10), give("Fish.", 90)})
	hits, total := v.Hybrid("zebra.", direction(10), corpus.Filter{}, 0, 10)
	if len(hits) != 4 || total != 4 || hits[0].Rule.Slug != "R-2" || hits[3].Rule.Slug != "R-4" {
		t.Errorf("found %s of %d; want R-2 first, which both find, and R-4 last, which is far from both", names(hits), total)
	}
	for i, h := range hits {
		if h.Score < 0 || h.Score > 1 || (i > 0 && h.Score > hits[i-1].Score) {
			t.Errorf("hit %d has the score %v", i, h.Score)
		}
	}
	hits, total = v.Hybrid("zebra.", nil, corpus.Filter{}, 0, 1)
	if names(hits) != "R-1" || total != 2 || hits[0].Score != 1 {
		t.Errorf("without a vector found %s of %d, want the two that match the word", names(hits), total)
	}
	if hits, total = v.Hybrid("", direction(10), corpus.Filter{}, 0, 10); total != 3 || hits[0].Rule.Slug != "R-3" {
		t.Errorf("without words found %s of %d, want the three with a vector", names(hits), total)
	}
}
