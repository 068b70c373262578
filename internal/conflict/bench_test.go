package conflict

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// wording makes up statements of rules: 12 to 30 words, of which some are much more frequent than others, as in real text.
func wording() func() string {
	random := rand.New(rand.NewPCG(5, 6))
	choose := rand.NewZipf(random, 1.07, 20, 30_000)
	forces := []string{"must", "must not", "should", "may", "must never"}
	return func() string {
		var b strings.Builder
		for range 3 + random.IntN(6) {
			fmt.Fprintf(&b, "subject%dx ", choose.Uint64())
		}
		fmt.Fprintf(&b, "%s verb%dx ", forces[random.IntN(len(forces))], choose.Uint64()%500)
		for range 8 + random.IntN(14) {
			fmt.Fprintf(&b, "object%dx ", choose.Uint64())
		}
		if random.IntN(4) == 0 {
			fmt.Fprintf(&b, "within %d days", 1+random.IntN(90))
		}
		return strings.TrimSpace(b.String()) + "."
	}
}

// reworded makes up statements from those of the pairs that the tests are measured by: every fourth word or so is one of another statement.
func reworded(b *testing.B) func() string {
	b.Helper()
	data, err := os.ReadFile("contradict/testdata/pairs.yaml")
	if err != nil {
		b.Fatal(err)
	}
	var statements [][]string
	for _, m := range regexp.MustCompile(`statement: "([^"]+)"`).FindAllSubmatch(data, -1) {
		statements = append(statements, strings.Fields(string(m[1])))
	}
	random := rand.New(rand.NewPCG(9, 10))
	return func() string {
		words := slices.Clone(statements[random.IntN(len(statements))])
		for i := range words {
			if random.IntN(4) == 0 {
				other := statements[random.IntN(len(statements))]
				words[i] = other[random.IntN(len(other))]
			}
		}
		return strings.Join(words, " ")
	}
}

// corpusOf makes a view of n rules, with vectors if asked for.
func corpusOf(b *testing.B, n int, vectors bool, text func() string) *corpus.View {
	b.Helper()
	states := make([]store.RuleState, n)
	for i := range states {
		r := rule.Rule{ID: fmt.Sprintf("00000000-0000-7000-8000-%012d", i), ProjectID: "p", Version: 1, Statement: text(), Status: rule.Effective}
		r.Normalize()
		states[i] = store.RuleState{Rule: r}
	}
	view, err := corpus.New(1, states)
	if err != nil {
		b.Fatal(err)
	}
	if !vectors {
		return view
	}
	random := rand.New(rand.NewPCG(7, 8))
	for from := 0; from < n; from += 5000 {
		var part []store.Embedding
		for i := from; i < min(n, from+5000); i++ {
			v := make([]float32, store.Dimensions)
			for d := range v {
				v[d] = float32(random.NormFloat64())
			}
			part = append(part, store.Embedding{Model: "m", TextHash: corpus.TextHash(&states[i].Rule), Vector: v})
		}
		view = view.WithVectors("m", part)
	}
	return view
}

// BenchmarkLook finds the rules near one of 100,000 and compares them with it, without a model. Made-up words hardly ever mean anything;
// those of real sentences do, so more of the comparison runs.
func BenchmarkLook(b *testing.B) {
	for _, c := range []struct {
		name    string
		rules   int
		vectors bool
		text    func() string
	}{
		{"rules=100000/vectors=false", 100_000, false, wording()},
		{"rules=100000/vectors=true", 100_000, true, wording()},
		{"rules=2500/words=real", 2_500, false, reworded(b)},
		{"rules=100000/words=real", 100_000, false, reworded(b)},
	} {
		b.Run(c.name, func(b *testing.B) {
			view := corpusOf(b, c.rules, c.vectors, c.text)
			s := &search{b: New(Config{Logger: slog.New(slog.DiscardHandler)}), projectID: "p"}
			for i := 0; b.Loop(); i++ {
				e, ok := view.Get(fmt.Sprintf("00000000-0000-7000-8000-%012d", i*7919%c.rules))
				if !ok {
					b.Fatal("no rule")
				}
				s.compare(context.Background(), view, e, nil)
			}
		})
	}
}
