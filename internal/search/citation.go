package search

import (
	"context"

	"tenet/internal/corpus"
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
