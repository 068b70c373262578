package corpus_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// encoding returns entries of n rules, an encoder, and how often that has run.
func encoding(t testing.TB, n int) (entries []*corpus.Entry, encode func([]byte, *rule.Rule) []byte, calls *atomic.Int64) {
	t.Helper()
	var states []store.RuleState
	for i := range n {
		states = append(states, store.RuleState{Rule: rule.Rule{
			ID: fmt.Sprintf("00000000-0000-7000-8000-%012d", i), Status: rule.Effective, Statement: strings.Repeat("x", i%40),
		}})
	}
	view, err := corpus.New(1, states)
	if err != nil {
		t.Fatal(err)
	}
	for e := range view.All() {
		entries = append(entries, e)
	}
	calls = new(atomic.Int64)
	return entries, func(b []byte, r *rule.Rule) []byte { calls.Add(1); return append(append(b, r.ID...), r.Statement...) }, calls
}

func TestTextsAreThoseOfTheirRules(t *testing.T) {
	t.Parallel()
	entries, encode, _ := encoding(t, 500)
	texts, others := corpus.NewTexts(16<<10, encode), corpus.NewTexts(16<<10, encode) // entries of both are found in one at a time
	var readers sync.WaitGroup
	for k := range 4 {
		readers.Go(func() {
			for i := range 20_000 {
				e := entries[(i*(2*k+1)+i/700)%(100+400*(i/5000%2))]
				from := texts
				if i%1000 == 999 {
					from = others
				}
				if got, want := string(from.Of(e)), e.Rule.ID+e.Rule.Statement; got != want {
					t.Errorf("text %q, want %q", got, want)
					return
				}
			}
		})
	}
	readers.Wait()
}

func TestTextsAreEncodedOnceWhereTheyFit(t *testing.T) {
	t.Parallel()
	entries, encode, calls := encoding(t, 1000)
	texts := corpus.NewTexts(32<<10, encode) // a half takes some 270 of them
	ask := func(n int) int64 {
		before := calls.Load()
		for _, e := range entries[:n] {
			texts.Of(e)
		}
		return calls.Load() - before
	}
	if got := ask(200); got != 200 {
		t.Errorf("200 texts were encoded %d times", got)
	}
	if got := ask(200); got != 0 {
		t.Errorf("200 texts that were there were encoded %d times more", got)
	}
	if got := ask(1000); got < 800 {
		t.Errorf("1,000 texts were encoded %d times", got)
	}
	if got := ask(1000); got != 1000 {
		t.Errorf("of 1,000 texts in memory for 540, read in their order, %d were encoded: more were kept than the limit allows", got)
	}
	// What a list needs lately comes back.
	ask(200)
	if got := ask(200); got != 0 {
		t.Errorf("200 texts that were there again were encoded %d times", got)
	}
}

func TestALongTextPushesNothingOut(t *testing.T) {
	t.Parallel()
	entries, encode, calls := encoding(t, 100)
	texts := corpus.NewTexts(16<<10, func(b []byte, r *rule.Rule) []byte {
		if r.ID == entries[0].Rule.ID {
			return append(b, make([]byte, 8<<10)...)
		}
		return encode(b, r)
	})
	for range 3 {
		for _, e := range entries {
			texts.Of(e)
		}
	}
	if got := calls.Load(); got != 99 {
		t.Errorf("99 texts beside a long one were encoded %d times", got)
	}
	if got := len(texts.Of(entries[0])); got != 8<<10 {
		t.Errorf("the long text has %d bytes", got)
	}
}
