package search

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"unicode/utf8"

	"tenet/internal/corpus"
	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// MaxText is the most characters that the text of a query may have.
const MaxText = 10_000

// Query is a text, or for searches by meaning a vector instead, to find among the rules of a filter.
type Query struct {
	Text string
	// Vector has llm.Dimensions numbers, made by the embedding model of the rules. Without it the text is embedded.
	Vector []float64
	Filter Filter
	Page   Page
}

// Fulltext finds the rules whose statements and rationales contain the words of the query, best first. No text is malformed: text
// without words finds nothing.
func (s *Searcher) Fulltext(ctx context.Context, among Among, q Query) (Result, error) {
	if err := checkText("query", q.Text, "list rules by filters alone with POST /api/v1/search/category"); err != nil {
		return Result{}, err
	}
	view, among, err := s.view(ctx, among)
	if err != nil {
		return Result{}, err
	}
	hits, total := view.Keyword(q.Text, q.Filter.in(among), q.Page.Offset(), q.Page.Size)
	return answer(q.Text, hits, total, wire.Keyword), nil
}

// Vector finds the rules whose meaning is nearest to the query's, best first, by the cosine of their vectors. The error is
// unavailable without an embedding service, since the rules have no vectors then, and while it fails, unless the query brings
// its vector.
func (s *Searcher) Vector(ctx context.Context, among Among, q Query) (Result, error) {
	vector, err := unit(q.Vector)
	if err != nil {
		return Result{}, err
	}
	if vector == nil {
		if err := checkText("query", q.Text, "or give a vector"); err != nil {
			return Result{}, err
		}
	}
	view, among, err := s.view(ctx, among)
	if err != nil {
		return Result{}, err
	}
	if s.vectors == nil {
		return Result{}, errNoEmbedder()
	}
	if vector == nil {
		if vector, err = s.vectors.get(ctx, q.Text, patient); err != nil {
			return Result{}, err
		}
	}
	hits, total := view.Nearest(vector, q.Filter.in(among), q.Page.Offset(), q.Page.Size)
	r := answer(q.Text, hits, total, wire.Vector)
	r.Degraded = degraded(unembedded(view))
	return r, nil
}

// Hybrid finds rules by words and by meaning together. Without an embedding service, or while it fails or takes too long, it finds
// them by words alone and reports that.
func (s *Searcher) Hybrid(ctx context.Context, among Among, q Query) (Result, error) {
	given, err := unit(q.Vector)
	if err != nil {
		return Result{}, err
	}
	if err := checkText("query", q.Text, "hybrid search compares words too"); err != nil {
		return Result{}, err
	}
	view, among, err := s.view(ctx, among)
	if err != nil {
		return Result{}, err
	}
	vector, missing, err := s.vectorOf(ctx, view, q.Text, given)
	if err != nil {
		return Result{}, err
	}
	filter := q.Filter.in(among)
	if vector == nil {
		hits, total := view.Keyword(q.Text, filter, q.Page.Offset(), q.Page.Size)
		r := answer(q.Text, hits, total, wire.Keyword)
		r.Degraded = degraded(missing + ", so rules were found by their words alone")
		return r, nil
	}
	hits, total := view.Hybrid(q.Text, vector, filter, q.Page.Offset(), q.Page.Size)
	r := answer(q.Text, hits, total, wire.Hybrid)
	r.Degraded = degraded(missing)
	return r, nil
}

// vectorOf returns the vector of a text, for a search that can do without; nil if it cannot be had. missing says why, or that some
// rules have no vector. The only errors are those of ctx.
func (s *Searcher) vectorOf(ctx context.Context, view *corpus.View, text string, given []float32) (vector []float32, missing string, err error) {
	if s.vectors == nil {
		return nil, "there is no embedding service", nil
	}
	if _, have, of := view.Vectors(); have == 0 && of > 0 {
		return nil, "no rule has a vector yet", nil
	}
	if given != nil {
		return given, unembedded(view), nil
	}
	vector, err = s.vectors.get(ctx, text, embedPatience)
	if err != nil {
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
		}
		if s.vectors.failing.CompareAndSwap(false, true) { // logged once, not with every letter that somebody types
			s.cfg.Logger.WarnContext(ctx, "queries cannot be embedded; searching by words alone", slog.Any("error", err))
		}
		return nil, publicReason(err), nil
	}
	s.vectors.failing.Store(false)
	return vector, unembedded(view), nil
}

// unembedded says how many rules a search by meaning cannot find; empty if none.
func unembedded(view *corpus.View) string {
	if _, have, of := view.Vectors(); have < of {
		return fmt.Sprintf("%d of %d rules have no vector yet", of-have, of)
	}
	return ""
}

// publicReason returns the text of an error without its cause, which may name addresses.
func publicReason(err error) string {
	e, ok := errors.AsType[*rule.Error](err)
	if !ok {
		return "the embedding service fails"
	}
	if cause := e.Unwrap(); cause != nil {
		return strings.TrimSuffix(e.Message, ": "+cause.Error())
	}
	return e.Message
}

// answer makes the result of hits, with the places of the query's words.
func answer(text string, hits []corpus.Hit, total int, mode wire.SearchMode) Result {
	r := Result{Items: make([]wire.RuleSearchItem, len(hits)), Total: total, Mode: mode}
	for i, h := range hits {
		r.Items[i] = wire.RuleSearchItem{Rule: *h.Rule, Score: h.Score}
		if text != "" {
			r.Items[i].Highlights = highlights(text, h.Entry)
		}
	}
	return r
}

// highlights returns the places of a text's words, in characters: callers do not count in bytes.
func highlights(text string, e *corpus.Entry) []wire.Highlight {
	spans := corpus.Highlight(text, e)
	out := make([]wire.Highlight, 0, len(spans))
	for _, sp := range spans {
		of := e.Rule.Statement
		if sp.Field == "rationale" {
			of = e.Rule.Rationale
		}
		start := utf8.RuneCountInString(of[:sp.Start])
		out = append(out, wire.Highlight{Field: sp.Field, Start: start, End: start + utf8.RuneCountInString(of[sp.Start:sp.End])})
	}
	return out
}

// checkText refuses an empty or too long text; instead says what to do instead.
func checkText(field, text, instead string) error {
	switch n := utf8.RuneCountInString(text); {
	case strings.TrimSpace(text) == "":
		return invalid(field, "is empty; %s", instead)
	case n > MaxText:
		return invalid(field, "has %d characters; at most %d are allowed", n, MaxText)
	}
	return nil
}

func errNoEmbedder() error {
	return rule.Errorf(rule.CodeUnavailable, "vector search needs an embedding service; name its model in "+
		"TENET_EMBEDDING_MODEL, such as ollama:nomic-embed-text, or use fulltext search")
}

// unit checks a caller's vector and scales it to length 1; nil for nil.
func unit(given []float64) ([]float32, error) {
	if given == nil {
		return nil, nil
	}
	if len(given) != llm.Dimensions {
		return nil, invalid("vector", "has %d numbers; %d are needed", len(given), llm.Dimensions)
	}
	largest := 0.0
	for _, x := range given {
		largest = max(largest, math.Abs(x))
	}
	if largest == 0 || math.IsNaN(largest) || math.IsInf(largest, 0) {
		return nil, invalid("vector", "has no direction; give numbers that are not all 0")
	}
	length := 0.0
	for _, x := range given { // scaled first, so that no square is too large
		length += (x / largest) * (x / largest)
	}
	length = math.Sqrt(length)
	v := make([]float32, len(given))
	for i, x := range given {
		v[i] = float32(x / largest / length)
	}
	return v, nil
}

// invalid makes the error for one field of a request.
func invalid(field, format string, args ...any) error {
	var p rule.Problems
	p.Add(field, format, args...)
	return p.Err("the search is invalid")
}
