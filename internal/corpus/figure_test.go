package corpus_test

import (
	"cmp"
	"slices"
	"testing"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Orders and filters by a figure are those of comparing each rule with each, on every page.
func TestFigures(t *testing.T) {
	t.Parallel()
	var list []store.RuleState
	scores := map[string]int{}
	for i := range 2_500 {
		r := newRule(i, func(r *rule.Rule) { r.Severity = rule.Severities[i%4] })
		list = append(list, r)
		if i%7 != 0 {
			scores[r.Rule.ID] = (i * 7919) % 101
		}
	}
	v, figure := view(t, list...), corpus.NewFigure(scores)
	for _, f := range []corpus.Filter{
		{},
		{Severity: rule.High},
		{Figures: []corpus.FigureRange{{Figure: figure, Min: 20, Max: 60}}},
		{Severity: rule.Low, Figures: []corpus.FigureRange{{Figure: figure, Min: corpus.NoFigure, Max: 0}}},
	} {
		var want []*rule.Rule
		for i := range list {
			r := &list[i].Rule
			n := figure.Of(r)
			in := len(f.Figures) == 0 || n >= f.Figures[0].Min && n <= f.Figures[0].Max
			if in && (f.Severity == "" || r.Severity == f.Severity) {
				want = append(want, r)
			}
			if f.Matches(r) != (in && (f.Severity == "" || r.Severity == f.Severity)) {
				t.Fatalf("%+v matches %s with the figure %d", f, r.ID, n)
			}
		}
		for _, descending := range []bool{false, true} {
			slices.SortFunc(want, func(a, b *rule.Rule) int {
				by := cmp.Compare(figure.Of(a), figure.Of(b))
				if descending {
					by = -by
				}
				return cmp.Or(by, cmp.Compare(a.ID, b.ID))
			})
			for _, page := range []struct{ offset, limit int }{{0, 50}, {50, 50}, {975, 50}, {2_450, 60}, {5_000, 50}, {0, 0}} {
				got, total := corpus.SortedByFigure(v, f, figure, descending, page.offset, page.limit)
				part := want[min(page.offset, len(want)):min(page.offset+page.limit, len(want))]
				if total != len(want) || !slices.EqualFunc(got, part, func(e *corpus.Entry, r *rule.Rule) bool { return e.Rule.ID == r.ID }) {
					t.Errorf("%+v, descending %v, page %v: %d of %d rules are not the expected ones", f, descending, page, len(got), total)
				}
			}
		}
	}
}
