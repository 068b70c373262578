package corpus_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

func TestSorted(t *testing.T) {
	t.Parallel()
	var list []store.RuleState
	for i := range 2_500 {
		list = append(list, newRule(i, func(r *rule.Rule) {
			r.Slug, r.Severity, r.Status = fmt.Sprintf("S-%04d", (i*7919)%2500), rule.Severities[i%4], rule.Statuses[i%4]
			r.Owner, r.UpdatedAt = fmt.Sprint(i%3), time.Unix(int64((i*31)%1000), 0)
		}))
	}
	v := view(t, list...)
	for _, o := range corpus.Orders {
		all, total := v.Sorted(corpus.Filter{}, o, 0, 2_500)
		if total != 2_500 || len(all) != 2_500 {
			t.Fatalf("%s: %d of %d", o, len(all), total)
		}
		for _, page := range []struct{ offset, limit int }{{0, 50}, {50, 50}, {950, 50}, {1_000, 50}, {2_490, 50}, {5_000, 50}, {0, 0}} {
			got, total := v.Sorted(corpus.Filter{}, o, page.offset, page.limit)
			want := all[min(page.offset, 2_500):min(page.offset+page.limit, 2_500)]
			if total != 2_500 || !slices.Equal(got, want) {
				t.Errorf("%s: page %v is not that of the whole list", o, page)
			}
		}
	}
	worst, total := v.Sorted(corpus.Filter{Owner: "1"}, "-severity", 0, 3)
	if total != 833 || worst[0].Rule.Severity != rule.Critical || worst[0].Rule.ID > worst[1].Rule.ID || worst[1].Rule.ID > worst[2].Rule.ID {
		t.Errorf("%d, the most severe %v", total, worst[0].Rule)
	}
	newest, _ := v.Sorted(corpus.Filter{}, "-updated_at", 0, 2)
	if newest[0].Rule.UpdatedAt.Unix() != 999 {
		t.Errorf("the newest is of %v", newest[0].Rule.UpdatedAt)
	}
}
