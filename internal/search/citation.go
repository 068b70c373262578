package search

import (
	"cmp"
	"context"
	"slices"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Citation finds the rules that refer to a source: by its address or name, section, kind, document id or words of its quote,
// in any letter case and spacing. Addresses are the same with and without scheme, www and a slash at the end. Rules that name
// the source exactly come first, then those that name something below it, then the others.
func (s *Searcher) Citation(ctx context.Context, among Among, source string, p Page) (Result, error) {
	if corpus.NormalSource(source) == "" {
		return Result{}, invalid("source", "is empty; name a source such as https://example.com/policy or GDPR Art. 32")
	}
	view, among, err := s.view(ctx, among)
	if err != nil {
		return Result{}, err
	}
	hits, total := corpus.Citing(view, source, Filter{}.in(among), p.Offset(), p.Size)
	return answer("", hits, total, ""), nil
}

// scored is a page of the current rules that score more than 0, best first.
func (s *Searcher) scored(ctx context.Context, among Among, p Page, score func(*rule.Rule) float64) (Result, error) {
	view, among, err := s.view(ctx, among)
	if err != nil {
		return Result{}, err
	}
	type match struct {
		*corpus.Entry
		score float64
	}
	var found []match
	for e := range view.All() {
		if among.current(e.Rule) {
			if x := score(e.Rule); x > 0 {
				found = append(found, match{e, x})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b match) int { return cmp.Compare(b.score, a.score) })
	out := Result{Items: []wire.RuleSearchItem{}, Total: len(found)}
	for _, m := range slice(found, p) {
		out.Items = append(out.Items, wire.RuleSearchItem{Rule: *m.Rule, Score: m.score})
	}
	return out, nil
}
