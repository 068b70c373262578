package corpus_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// prose makes up texts of n words, of which some are much more frequent than others.
func prose() func(n int) string {
	random := rand.New(rand.NewPCG(5, 6))
	choose := rand.NewZipf(random, 1.07, 20, 30_000)
	return func(n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "w%dx ", choose.Uint64())
		}
		return b.String()
	}
}

func benchView(b *testing.B, n int, text func(int) string) (*corpus.View, []store.RuleState) {
	states := make([]store.RuleState, n)
	for i := range states {
		states[i] = newRule(i, func(r *rule.Rule) {
			r.Statement, r.Rationale, r.Scope = text(30), text(40), []string{fmt.Sprintf("unit%d", i%100)}
		})
	}
	return view(b, states...), states
}

// BenchmarkApplicable selects and ranks 100 of 10,000 rules for a subject of 300 words.
func BenchmarkApplicable(b *testing.B) {
	text := prose()
	v, _ := benchView(b, 10_000, text)
	q := &corpus.Query{Now: noon, Scope: "unit7", Terms: []string{text(300)}}
	for b.Loop() {
		if n := len(v.Applicable(q)); n != 100 {
			b.Fatalf("%d rules", n)
		}
	}
}

// BenchmarkListText lists those of 100,000 rules that have a text, as somebody types it.
func BenchmarkListText(b *testing.B) {
	v, _ := benchView(b, 100_000, prose())
	f := corpus.Filter{Text: "w77x W8", Status: rule.Effective}
	for b.Loop() {
		if _, total := v.Sorted(f, "-severity", 0, 50); total == 0 {
			b.Fatal("nothing is found")
		}
	}
}

// BenchmarkNew indexes 10,000 rules.
func BenchmarkNew(b *testing.B) {
	_, states := benchView(b, 10_000, prose())
	for b.Loop() {
		view(b, states...)
	}
}

// BenchmarkApply edits one rule of many, whose text has a number of its own.
func BenchmarkApply(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			_, states := benchView(b, n, prose())
			for i := range states {
				states[i].Rule.Statement += fmt.Sprintf(" (rule n%d)", i)
			}
			v := view(b, states...)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				next, err := v.Apply(2, states[i%len(states):i%len(states)+1])
				if err != nil || next.Len() != len(states) {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkKeyword searches 10,000 rules for four words.
func BenchmarkKeyword(b *testing.B) {
	text := prose()
	v, _ := benchView(b, 10_000, text)
	for b.Loop() {
		v.Keyword(text(4), corpus.Filter{}, 0, 20)
	}
}

// BenchmarkNearest searches 10,000 vectors.
func BenchmarkNearest(b *testing.B) {
	v := embedded(b, numbered(10_000))
	question := direction(1)
	for b.Loop() {
		v.Nearest(question, corpus.Filter{}, 0, 20)
	}
}
