// Package search finds rules and documents. Rules are found by words, by meaning, by both, by their fields, by situation, by time,
// by source, by the people they are for, and by conflict, on the corpus view and, except for conflicts, without the database.
// Documents are found by words and by meaning in the database.
package search

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/llm"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Config sets up [New]. Views is required.
type Config struct {
	Views corpus.Views
	// Embedder makes the vectors of queries; nil without an embedding service.
	Embedder llm.Embedder
	// Model assists the search by situation; nil without a model.
	Model llm.Model
	// ModelTimeout bounds both calls to the model together; 0 is 30 s.
	ModelTimeout time.Duration
	Logger       *slog.Logger // nil logs nothing
	// Conflicts returns the open conflicts of a live rule, oldest first; nil means that only relationships count as conflicts.
	Conflicts func(ctx context.Context, projectID, ruleID string) ([]store.Conflict, error)
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Searcher answers searches. It is safe for concurrent use.
type Searcher struct {
	cfg        Config
	redactor   *redact.Redactor
	vectors    *queryVectors // nil without an embedding service
	situations *cache[situation, *assessment]
}

// New makes a searcher.
func New(cfg Config) *Searcher {
	if cfg.ModelTimeout <= 0 {
		cfg.ModelTimeout = 30 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Searcher{cfg: cfg, redactor: redact.New(), situations: newCache[situation, *assessment](maxSituations)}
	if cfg.Embedder != nil {
		s.vectors = newQueryVectors(cfg.Embedder, s.redactor, cfg.Now)
	}
	return s
}

// Among selects the rules that are searched.
type Among struct {
	ProjectID string
	// View is searched instead of the live rules, such as that of a snapshot; nil searches those.
	View *corpus.View
	// NodeID narrows the search to the rules that hold at a federation node; empty for none. An unknown one is not_found.
	NodeID string
	// Keep leaves out the rules for which it is false; nil keeps all.
	Keep func(*rule.Rule) bool
}

// view is the view to search, and what to search in it with the node made part of Keep.
func (s *Searcher) view(ctx context.Context, among Among) (*corpus.View, Among, error) {
	view := among.View
	if view == nil {
		var err error
		if view, err = s.cfg.Views.View(ctx, among.ProjectID); err != nil {
			return nil, among, err
		}
	}
	if among.NodeID == "" {
		return view, among, nil
	}
	within, err := view.Within(among.NodeID, s.cfg.Now())
	if err != nil {
		return nil, among, err
	}
	keep := among.Keep
	among.Keep = func(r *rule.Rule) bool {
		return within.HasRule(r.ID) && (keep == nil || keep(r))
	}
	return view, among, nil
}

// lasting reports whether an answer may be remembered for the next who asks the same.
func (a Among) lasting() bool { return a.Keep == nil && a.View == nil }

// current reports whether a rule is one that searches look at unless they are asked for another status.
func (a Among) current(r *rule.Rule) bool {
	return slices.Contains(currentStatuses, r.Status) && (a.Keep == nil || a.Keep(r))
}

// Page is [rule.Page].
type Page = rule.Page

// Result is a page of what was found.
type Result struct {
	Items []wire.RuleSearchItem
	Total int // on all pages
	// Mode is empty for searches that rank by neither words nor meaning.
	Mode wire.SearchMode
	// Degraded is nil if the search was complete.
	Degraded *wire.Degraded
}

// degraded joins reasons; nil without any.
func degraded(reasons ...string) *wire.Degraded {
	var d *wire.Degraded
	for _, reason := range reasons {
		switch {
		case reason == "":
		case d == nil:
			d = &wire.Degraded{Reason: reason}
		default:
			d.Reason += "; " + reason
		}
	}
	return d
}

// fusion flattens ranks, so that what two rankings have comes before what one has high up (Cormack, Clarke and Büttcher,
// "Reciprocal Rank Fusion", 2009).
const fusion = 60

// reciprocal is the score of a place in a ranking, from 0. The scores of several rankings add up.
func reciprocal(place int) float64 { return 1 / float64(fusion+place+1) }

// slice is the part of a list that makes up a page; empty beyond the end.
func slice[T any](all []T, p Page) []T {
	from := min(p.Offset(), len(all))
	return all[from:min(from+p.Size, len(all))]
}
