package health

import (
	"fmt"
	"testing"

	"tenet/internal/corpus"
	"tenet/internal/store"
)

func TestTheListsNameTheHighest(t *testing.T) {
	t.Parallel()
	view, err := corpus.New(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []store.RuleCount
	for i := range 30 {
		all = append(all, store.RuleCount{RuleID: fmt.Sprintf("r%02d", i), Allowed: 1, Denied: int64(i % 15), Calls: int64(i % 2), CallMS: int64(100 - i)})
	}
	got := ""
	for _, f := range figures(view, all, func(c *store.RuleCount) float64 { return float64(c.Denied) }) {
		got += fmt.Sprintf("%s:%d ", f.RuleID, f.Denied)
	}
	if want := "r14:14 r29:14 r13:13 r28:13 r12:12 r27:12 r11:11 r26:11 r10:10 r25:10 "; got != want {
		t.Errorf("most denied %s, want %s", got, want)
	}
	slowest := figures(view, all, func(c *store.RuleCount) float64 { return mean(c.CallMS, c.Calls) })
	if len(slowest) != 10 || slowest[0].RuleID != "r01" || slowest[0].MeanCallMS != 99 || slowest[9].RuleID != "r19" {
		t.Errorf("slowest: %+v", slowest)
	}
	if none := figures(view, all[:1], func(c *store.RuleCount) float64 { return float64(c.Denied) }); none == nil || len(none) != 0 {
		t.Errorf("without denials: %v", none)
	}
}
