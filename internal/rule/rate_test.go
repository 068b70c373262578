package rule_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
)

func TestWilson(t *testing.T) {
	if rule.Wilson(0, 0) != nil {
		t.Error("a part of nothing")
	}
	// The figures of the method's usual example: 8 of 10.
	got := *rule.Wilson(8, 10)
	got.Low, got.High = float64(int(got.Low*1000+0.5))/1000, float64(int(got.High*1000+0.5))/1000
	if diff := cmp.Diff(rule.Rate{Value: 0.8, Low: 0.49, High: 0.943, Of: 10}, got); diff != "" {
		t.Errorf("8 of 10 (-want +got):\n%s", diff)
	}
	if r := rule.Wilson(10, 10); r.High != 1 || r.Low < 0.72 || r.Low > 0.73 {
		t.Errorf("10 of 10: %+v", r)
	}
}
