package app_test

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store/litetest"
	"tenet/internal/wire"
)

// BenchmarkLargeCorpus starts a node on a project of TENET_BENCH_RULES rules (10,000 without it) and measures the time from the start to the answer of the first search,
// and the memory after it: resident, and the heap that is in use. TENET_BENCH_KEEP names a folder that keeps the database for the next run, and TENET_BENCH_HEAP a
// file for a profile of that heap. Bars at 100,000 rules: 1.5 s and 600 MiB.
func BenchmarkLargeCorpus(b *testing.B) {
	rules := 10_000
	if text := os.Getenv("TENET_BENCH_RULES"); text != "" {
		var err error
		if rules, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	dir := os.Getenv("TENET_BENCH_KEEP")
	if dir == "" {
		dir = litetest.Dir(b)
	}
	fillLarge(b, dir, rules)
	debug.FreeOSMemory()
	for b.Loop() {
		began := time.Now()
		a, stop := serveFolder(b, dir)
		if w := askNode(a, http.MethodPost, "/api/v1/search/fulltext", map[string]any{"query": "refund above 1000"}); w.Code != http.StatusOK {
			b.Fatal(w.Code, w.Body)
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "first-ms")
		b.ReportMetric(residentMiB(b), "resident-MiB")
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc>>20), "heap-MiB")
		writeHeap(b)
		stop()
	}
}

// writeHeap writes the profile of the heap that is in use to the file of TENET_BENCH_HEAP, if that is set.
func writeHeap(b *testing.B) {
	b.Helper()
	name := os.Getenv("TENET_BENCH_HEAP")
	if name == "" {
		return
	}
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	if err := pprof.Lookup("heap").WriteTo(f, 0); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// fillLarge imports rules into the default project unless it has them, a hundred in each scope.
func fillLarge(b *testing.B, dir string, rules int) {
	b.Helper()
	a, stop := openFolder(b, dir)
	defer cancelSearches(b, dir)
	defer stop()
	if have, _, err := a.Rules(b.Context()); err != nil {
		b.Fatal(err)
	} else if have == rules {
		return
	}
	topics := []string{"a payment", "a refund", "a discount", "a contract", "an order", "a write-off", "a loan", "a gift"}
	file := wire.RuleFile{}
	for i := range rules {
		topic, at := topics[i%len(topics)], 1000+i%900
		file.Rules = append(file.Rules, wire.RuleInput{
			Slug: new(fmt.Sprintf("B-%06d", i)), Status: rule.Effective, Severity: rule.High, Tags: []string{topic}, Scope: []string{fmt.Sprintf("unit%d", i/100)},
			Statement: fmt.Sprintf("In unit %d, %s above %d must be approved by a second person before it is carried out (rule %d).", i/100, topic, at, i),
			Owner:     new(fmt.Sprintf("team-%d", i%40)), AppliesTo: &rule.AppliesTo{Kinds: []string{"facts"}},
			SourceRefs: []rule.SourceRef{{Kind: "policy", URI: fmt.Sprintf("Handbook %d", i%50), Section: strconv.Itoa(i % 7)}},
			Check:      &rule.Check{CEL: fmt.Sprintf("facts.amount <= %d || facts.approvals >= 2", at)},
		})
	}
	for part := range slices.Chunk(file.Rules, 10_000) {
		if w := askNode(a, http.MethodPost, "/api/v1/rules/import", wire.RuleFile{Rules: part}); w.Code != http.StatusOK {
			b.Fatalf("import: %d %s", w.Code, w.Body)
		}
	}
}
