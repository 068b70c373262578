package search

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"tenet/internal/corpus"
	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// Bounds of a search by situation.
const (
	// MaxFacts is the most characters that the description of a situation may have.
	MaxFacts = 20_000

	maxCandidates = 20 // rules that the model is shown
	perQuery      = 20 // rules that each query may bring in
	maxSituations = 256
	assessedFor   = 10 * time.Minute // how long an assessment is the answer
)

// situation names an assessment: the same situation has the same one for a while, until the rules change, so that its pages
// belong together and the model is asked once.
type situation struct {
	project, scope string
	version        int64
	facts          [sha256.Size]byte
}

// assessment is all that was found for a situation.
type assessment struct {
	until    time.Time
	found    []found
	mode     wire.SearchMode
	degraded *wire.Degraded
}

type found struct {
	*corpus.Entry
	score  float64
	reason string
}

// Context finds the rules that matter in a situation described in words. A model proposes queries, they are run as hybrid
// searches with the description itself, and the model judges which of the best rules matter, and why. Rules that it judges
// irrelevant are left out, and rules it does not judge come last. Without a model, or if its answer cannot be used, this is a
// hybrid search for the description, marked as degraded. The description is data to the model and never an instruction.
func (s *Searcher) Context(ctx context.Context, among Among, facts, scope string, p Page) (Result, error) {
	switch n := utf8.RuneCountInString(facts); {
	case strings.TrimSpace(facts) == "":
		return Result{}, invalid("facts", "is empty; describe the situation in words")
	case n > MaxFacts:
		return Result{}, invalid("facts", "has %d characters; at most %d are allowed", n, MaxFacts)
	}
	view, among, err := s.view(ctx, among)
	if err != nil {
		return Result{}, err
	}
	scope = rule.CleanScope(scope)
	filter := Filter{}.in(Among{ProjectID: among.ProjectID, Keep: func(r *rule.Rule) bool {
		return (rule.ScopeFinds(r.Scope, scope) || rule.ScopeApplies(r.Scope, scope)) && (among.Keep == nil || among.Keep(r))
	}})
	if s.cfg.Model == nil {
		return s.unassisted(ctx, view, facts, filter, p, "there is no model to judge what matters; name one in TENET_JUDGE_MODEL")
	}
	a, err := s.assessed(ctx, view, among, situation{among.ProjectID, scope, view.Version(), sha256.Sum256([]byte(facts))}, facts, filter)
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		s.cfg.Logger.WarnContext(ctx, "searching by situation without the model", slog.Any("error", err))
		return s.unassisted(ctx, view, facts, filter, p, modelFault(err))
	}
	r := Result{Items: []wire.RuleSearchItem{}, Total: len(a.found), Mode: a.mode, Degraded: a.degraded}
	for _, f := range slice(a.found, p) {
		r.Items = append(r.Items, wire.RuleSearchItem{Rule: *f.Rule, Score: f.score, Reason: f.reason})
	}
	return r, nil
}

// assessed returns the assessment of a situation, from the cache if it is recent. Searches with a Keep function or in a snapshot are
// not cached: the key does not name them.
func (s *Searcher) assessed(ctx context.Context, view *corpus.View, among Among, key situation, facts string, f corpus.Filter) (*assessment, error) {
	a, ok := s.situations.get(key)
	if ok && among.lasting() && s.cfg.Now().Before(a.until) {
		return a, nil
	}
	a, err := s.assess(ctx, view, facts, f)
	if err == nil && among.lasting() {
		s.situations.put(key, a)
	}
	return a, err
}

// modelFault says for callers why the model did not help.
func modelFault(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "the model took too long"
	}
	if rule.CodeOf(err) == rule.CodeUnavailable {
		return "the model cannot be reached"
	}
	return "the model gave no usable answer"
}

// unassisted is the search without a model.
func (s *Searcher) unassisted(ctx context.Context, view *corpus.View, facts string, f corpus.Filter, p Page, why string) (Result, error) {
	vector, missing, err := s.vectorOf(ctx, view, facts, nil)
	if err != nil {
		return Result{}, err
	}
	hits, total, mode := find(view, facts, vector, f, p.Offset(), p.Size)
	r := answer(facts, hits, total, mode)
	r.Degraded = degraded(why+", so the words of the description were searched for", missing)
	return r, nil
}

// find searches for a text by words, and by meaning too if it has a vector.
func find(view *corpus.View, text string, vector []float32, f corpus.Filter, offset, limit int) ([]corpus.Hit, int, wire.SearchMode) {
	if vector == nil {
		hits, total := view.Keyword(text, f, offset, limit)
		return hits, total, wire.Keyword
	}
	hits, total := view.Hybrid(text, vector, f, offset, limit)
	return hits, total, wire.Hybrid
}

// assess asks the model about a situation, twice. Its errors are the model's.
func (s *Searcher) assess(ctx context.Context, view *corpus.View, facts string, f corpus.Filter) (*assessment, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ModelTimeout)
	defer cancel()
	shown, _ := s.redactor.Text(facts) // without secrets
	content, err := s.ask(ctx, queriesPrompt(shown))
	if err != nil {
		return nil, fmt.Errorf("proposing queries: %w", err)
	}
	queries, err := parseQueries(content)
	if err != nil {
		return nil, err
	}
	a := &assessment{mode: wire.Keyword, until: s.cfg.Now().Add(assessedFor)}
	candidates, missing, err := s.gather(ctx, view, append([]string{facts}, queries...), f, a)
	if err != nil {
		return nil, err
	}
	a.degraded = degraded(missing)
	if len(candidates) == 0 {
		return a, nil
	}
	rules := make([]promptRule, len(candidates))
	for i, c := range candidates {
		statement, _ := s.redactor.Text(c.Rule.Statement)
		rules[i] = promptRule{ref(i), c.Rule.Modality, text.Clip(statement, maxPromptStatement, ""), c.Rule.Scope}
	}
	if content, err = s.ask(ctx, relevancePrompt(rules, shown)); err != nil {
		return nil, fmt.Errorf("judging relevance: %w", err)
	}
	opinions, err := parseRelevance(content, len(rules))
	if err != nil {
		return nil, err
	}
	unjudged := a.settle(candidates, opinions)
	if unjudged > 0 {
		a.degraded = degraded(missing, fmt.Sprintf("the model has not judged %d of %d rules, which come last", unjudged, len(rules)))
	}
	return a, nil
}

func (s *Searcher) ask(ctx context.Context, req llm.Request) (string, error) {
	response, err := s.cfg.Model.Complete(ctx, req)
	return response.Text, err
}

// gather finds the best rules for several texts and joins them by their ranks.
func (s *Searcher) gather(ctx context.Context, view *corpus.View, texts []string, f corpus.Filter, a *assessment) ([]corpus.Hit, string, error) {
	vectors, missing := make([][]float32, len(texts)), make([]string, len(texts))
	var calls errgroup.Group
	for i, text := range texts {
		calls.Go(func() (err error) {
			vectors[i], missing[i], err = s.vectorOf(ctx, view, text, nil)
			return err
		})
	}
	if err := calls.Wait(); err != nil {
		return nil, "", err
	}
	scores := map[*corpus.Entry]float64{}
	for i, text := range texts {
		hits, _, mode := find(view, text, vectors[i], f, 0, perQuery)
		if mode == wire.Hybrid {
			a.mode = wire.Hybrid
		}
		for i, h := range hits {
			scores[h.Entry] += reciprocal(i)
		}
	}
	joined := make([]corpus.Hit, 0, len(scores))
	for e, score := range scores {
		joined = append(joined, corpus.Hit{Entry: e, Score: score})
	}
	slices.SortFunc(joined, func(a, b corpus.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Rule.ID, b.Rule.ID))
	})
	return joined[:min(len(joined), maxCandidates)], cmp.Or(missing...), nil
}

// Scores of rules by what the model says of them.
const (
	scoreDirect   = 1.0
	scoreRelated  = 0.5
	scoreUnjudged = 0.1
)

// settle orders candidates by what the model says of them and returns of how many it says nothing.
func (a *assessment) settle(candidates []corpus.Hit, opinions []opinion) (unjudged int) {
	for i, o := range opinions {
		f := found{Entry: candidates[i].Entry, reason: o.reason}
		switch o.relevance {
		case direct:
			f.score = scoreDirect
		case related:
			f.score = scoreRelated
		case none:
			continue
		default:
			f.score, unjudged = scoreUnjudged, unjudged+1
		}
		a.found = append(a.found, f)
	}
	slices.SortStableFunc(a.found, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	return unjudged
}
