package search

import (
	"context"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
)

// Filter selects the rules to search among. Empty fields select everything, but for Status.
type Filter struct {
	Modality rule.Modality
	Severity rule.Severity
	Scope    string   // a finds the rules of a, a/b and a/b/c
	Tags     []string // all of them, in any letter case
	// Status is the only one, or empty for every status but SUPERSEDED and RETIRED: who searches wants the rules there are,
	// and those that are being made, rather than those there were.
	Status rule.Status
}

// corpus is the filter as views know it.
func (f Filter) corpus() corpus.Filter {
	out := corpus.Filter{
		Modality: f.Modality, Severity: f.Severity, Scope: rule.CleanScope(f.Scope), Tags: f.Tags, Status: f.Status,
	}
	if f.Status == "" {
		out.Keep = current
	}
	return out
}

// current reports whether a rule is one that a search finds unless it is asked for another status.
func current(r *rule.Rule) bool { return r.Status != rule.Superseded && r.Status != rule.Retired }

// Category finds all rules that a filter selects, in the order they were made. All score 1.
func (s *Searcher) Category(ctx context.Context, projectID string, f Filter, p Page) (Result, error) {
	view, err := s.cfg.Views.View(ctx, projectID)
	if err != nil {
		return Result{}, err
	}
	return list(view, f.corpus(), p), nil
}

// Temporal finds the rules that are in force at a time: their status is EFFECTIVE or APPROVED, and their effective period
// contains it. Dates and statuses are those that the rules have now, not those that old versions had. A text, if not empty,
// finds among them as [Searcher.Fulltext] does; without one, rules come in the order they were made, and all score 1.
func (s *Searcher) Temporal(ctx context.Context, projectID string, asOf time.Time, text string, p Page) (Result, error) {
	view, err := s.cfg.Views.View(ctx, projectID)
	if err != nil {
		return Result{}, err
	}
	f := corpus.Filter{Keep: func(r *rule.Rule) bool { return r.InForce(asOf) }}
	if text == "" {
		return list(view, f, p), nil
	}
	if err := checkText(text, "leave q out"); err != nil {
		return Result{}, err
	}
	hits, total := view.Keyword(text, f, p.offset(), p.Size)
	return answer(view, text, hits, total, Keyword), nil
}

// list is a page of the rules that a filter selects.
func list(view *corpus.View, f corpus.Filter, p Page) Result {
	entries, total := view.List(f, p.offset(), p.Size)
	r := Result{Items: make([]Item, len(entries)), Total: total}
	for i, e := range entries {
		r.Items[i] = Item{Rule: *e.Rule, Score: 1}
	}
	return r
}
