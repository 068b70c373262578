package main

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// rounds is how many searches of a kind are timed, and exact is for how many vectors the truly nearest are looked for.
const (
	rounds = 200
	exact  = 20
)

// speed prints what searching costs at some numbers of rules, one search at a time. It is measured in processor time, which other
// work on the machine disturbs least: alone on one core, it is how long a search takes.
func speed(sizes []int) error {
	if len(sizes) == 0 {
		return nil
	}
	fmt.Println("## Speed, processor time, p50 / p99 in ms")
	fmt.Println()
	fmt.Println("| rules | 2 words | 4 words | 8 words | 4 words, filter | beginning | phrase | vector | vector, filter | recall@10 | hybrid | edit |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|")
	var costs []string
	for _, n := range sizes {
		m, err := newMeasured(n)
		if err != nil {
			return err
		}
		m.row()
		costs = append(costs, m.cost)
	}
	fmt.Println("\n## Building and memory\n\n| rules | rules MiB | index s | index MiB | vectors MiB |\n|---|---|---|---|---|")
	for _, line := range costs {
		fmt.Println(line)
	}
	return nil
}

// measured is a corpus to measure, with what it has cost to make.
type measured struct {
	words *writer
	cloud *cloud
	rules []store.RuleState
	view  *corpus.View
	cost  string
}

func newMeasured(n int) (*measured, error) {
	m := &measured{words: newWriter(), cloud: newCloud(n)}
	before := heap()
	m.rules = m.words.rules(n)
	stored := heap()
	begun := used()
	var err error
	if m.view, err = corpus.New(1, m.rules); err != nil {
		return nil, err
	}
	took := used() - begun
	indexed := heap()
	m.view = m.cloud.embed(m.view, m.rules)
	m.cost = fmt.Sprintf("| %d | %.0f | %.2f | %.0f | %.0f |", n, stored-before, took.Seconds(), indexed-stored, heap()-indexed)
	return m, nil
}

// heap is the memory in use, in MiB.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

func (m *measured) row() {
	none, high := corpus.Filter{}, corpus.Filter{Severity: rule.High, Scope: "unit7"}
	vectors := make([][]float32, rounds)
	texts := map[int][]string{2: make([]string, rounds), 4: make([]string, rounds), 8: make([]string, rounds)}
	for i := range rounds {
		vectors[i] = m.question(i)
		for n := range texts {
			texts[n][i] = m.words.query(n)
		}
	}
	words := func(n int, f corpus.Filter) func(int) {
		return func(i int) { m.view.Keyword(texts[n][i]+".", f, 0, 20) }
	}
	fmt.Printf("| %d", len(m.rules))
	for _, search := range []func(int){
		words(2, none), words(4, none), words(8, none), words(4, high),
		func(i int) { q := texts[4][i]; m.view.Keyword(q[:len(q)-2], none, 0, 20) },
		func(i int) { m.view.Keyword(`"`+m.pair(i)+`"`, none, 0, 20) },
		func(i int) { m.view.Nearest(vectors[i], none, 0, 20) },
		func(i int) { m.view.Nearest(vectors[i], high, 0, 20) },
	} {
		fmt.Printf(" | %s", timed(search))
	}
	fmt.Printf(" | %.3f", m.recall())
	fmt.Printf(" | %s", timed(func(i int) { m.view.Hybrid(texts[4][i], vectors[i], none, 0, 20) }))
	fmt.Printf(" | %s |\n", m.edit())
}

// pair is two neighbouring words of a rule.
func (m *measured) pair(i int) string {
	statement := m.rules[i*7919%len(m.rules)].Rule.Statement
	first := 0
	for first < len(statement)/2 && statement[first] != ' ' {
		first++
	}
	second := first + 1
	for second < len(statement) && statement[second] != ' ' {
		second++
	}
	return statement[:second]
}

// question is a vector like those of the rules, but of none of them.
func (m *measured) question(i int) []float32 { return m.cloud.vector(len(m.rules) + i) }

// timed gives the median and the 99th percentile of the times of a search.
func timed(search func(i int)) string {
	times := make([]float64, rounds)
	for i := range times {
		before := used()
		search(i)
		times[i] = ms(used() - before)
	}
	return spread(times)
}

func spread(times []float64) string {
	slices.Sort(times)
	return fmt.Sprintf("%.2f / %.2f", times[len(times)/2], times[len(times)*99/100])
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// edit changes rules one after the other, each of which must be found by its new word at once.
func (m *measured) edit() string {
	times := make([]float64, rounds)
	v := m.view
	for i := range times {
		r := m.rules[i*7919%len(m.rules)]
		word := fmt.Sprintf("edited%d", i)
		r.Rule.Version++
		r.Rule.Statement += " " + word
		before := used()
		next, err := v.Apply(int64(i+2), []store.RuleState{r})
		if err != nil {
			return err.Error()
		}
		_, found := next.Keyword(word+".", corpus.Filter{}, 0, 20)
		times[i] = ms(used() - before)
		if found != 1 {
			return fmt.Sprintf("the edit was found %d times", found)
		}
		v = next
	}
	return spread(times)
}

// recall is the share of the ten truly nearest vectors, by 32-bit numbers, that are among the ten found.
func (m *measured) recall() float64 {
	type near struct {
		row    int
		cosine float64
	}
	questions := make([][]float32, exact)
	best := make([][]near, exact)
	for i := range questions {
		questions[i] = m.question(i)
	}
	for row := range m.rules {
		v := m.cloud.vector(row)
		for i, q := range questions {
			best[i] = append(best[i], near{row, cosine(q, v)})
			if len(best[i]) == 1000 || row == len(m.rules)-1 {
				slices.SortFunc(best[i], func(a, b near) int { return cmp.Compare(b.cosine, a.cosine) })
				best[i] = best[i][:10]
			}
		}
	}
	found := 0
	for i, q := range questions {
		hits, _ := m.view.Nearest(q, corpus.Filter{}, 0, 10)
		for _, n := range best[i] {
			if slices.Contains(ids(hits), m.rules[n.row].Rule.ID) {
				found++
			}
		}
	}
	return float64(found) / (10 * exact)
}

func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	return dot / math.Sqrt(aa*bb)
}
