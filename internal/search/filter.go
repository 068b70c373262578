package search

import (
	"context"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Filter selects the rules to search among. Empty fields except Status select everything.
type Filter struct {
	Modality rule.Modality
	Severity rule.Severity
	Scope    string   // a finds the rules of a, a/b and a/b/c
	Tags     []string // all of them, in any letter case
	// Status is the only one; empty means every status except SUPERSEDED and RETIRED.
	Status      rule.Status
	Enforcement rule.Enforcement
	Owner       string
	Checked     *bool  // whether the rule has a check
	SourceKind  string // of one of its sources, in any letter case
	DocumentID  string // that one of its sources names
}

// currentStatuses are those that searches look at unless they are asked for another.
var currentStatuses = []rule.Status{rule.Draft, rule.Review, rule.Approved, rule.Effective}

// in is the filter as views know it.
func (f Filter) in(among Among) corpus.Filter {
	out := corpus.Filter{
		Modality: f.Modality, Severity: f.Severity, Scope: rule.CleanScope(f.Scope), Tags: f.Tags, Status: f.Status, Where: among.Keep,
		Enforcement: f.Enforcement, Owner: f.Owner, Checked: f.Checked, SourceKind: f.SourceKind, DocumentID: f.DocumentID,
	}
	if f.Status == "" {
		out.Statuses = currentStatuses
	}
	return out
}

// Category finds all rules that a filter selects, in the order they were made. All score 1.
func (s *Searcher) Category(ctx context.Context, among Among, f Filter, p Page) (Result, error) {
	view, among, err := s.view(ctx, among)
	if err != nil {
		return Result{}, err
	}
	return listed(view, f.in(among), p), nil
}

// Temporal finds the rules that are in force at a time: their status is EFFECTIVE or APPROVED, and their effective period
// contains it. Dates and statuses are those that the rules have now, not those that old versions had. A text, if not empty,
// finds among them as [Searcher.Fulltext] does; without one, rules come in the order they were made, and all score 1.
func (s *Searcher) Temporal(ctx context.Context, among Among, asOf time.Time, text string, p Page) (Result, error) {
	view, among, err := s.view(ctx, among)
	if err != nil {
		return Result{}, err
	}
	f := corpus.Filter{InForce: &asOf, Where: among.Keep}
	if text == "" {
		return listed(view, f, p), nil
	}
	if err := checkText("q", text, "leave it out"); err != nil {
		return Result{}, err
	}
	hits, total := view.Keyword(text, f, p.Offset(), p.Size)
	return answer(text, hits, total, wire.Keyword), nil
}

// listed is a page of the rules that a filter selects.
func listed(view *corpus.View, f corpus.Filter, p Page) Result {
	entries, total := view.List(f, p.Offset(), p.Size)
	r := Result{Items: make([]wire.RuleSearchItem, len(entries)), Total: total}
	for i, e := range entries {
		r.Items[i] = wire.RuleSearchItem{Rule: *e.Rule, Score: 1}
	}
	return r
}
