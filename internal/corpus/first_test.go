package corpus_test

import (
	"fmt"
	"sync"
	"testing"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// The words of a first view are read in the background. A search that comes before waits for them, and so does the memory that the view says it takes.
func TestSearchesWaitForTheWordsOfAFirstView(t *testing.T) {
	t.Parallel()
	states := make([]store.RuleState, 4000)
	for i := range states {
		states[i].Rule = rule.Rule{
			ID: fmt.Sprintf("0199f0a0-0000-7000-8000-%012d", i), Version: 1, Status: rule.Effective, Modality: rule.Must, Severity: rule.High,
			Statement: fmt.Sprintf("Payments of kind k%d must stay below the limit of team t%d.", i, i%100),
		}
	}
	v, err := corpus.New(1, states)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			if _, total := v.Keyword(fmt.Sprintf("k%d", i*499), corpus.Filter{}, 0, 10); total != 1 {
				t.Errorf("%d rules are found by the word k%d; want 1", total, i*499)
			}
		})
	}
	took := v.Bytes()
	group.Wait()
	if later := v.Bytes(); later != took {
		t.Errorf("%d bytes at first, and %d later", took, later)
	}
}
