// Package search finds rules: by words, by likeness of meaning, by both, by what they are, by the situation they are for, by
// time, by source, by the people they are for, and by conflict. All searches but
// that for conflicts run on the corpus view and touch no database.
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
)

// Views gives the corpus views of projects; corpus.Live is one.
type Views interface {
	View(ctx context.Context, projectID string) (*corpus.View, error)
}

// Config sets up [New]. Views is required.
type Config struct {
	Views Views
	// Embedder makes the vectors of queries; nil means that there is no embedding service.
	Embedder llm.Embedder
	// Model assists the search by situation; nil means that there is none.
	Model llm.Model
	// ModelTimeout bounds both calls to the model together; 0 is 30 s.
	ModelTimeout time.Duration
	// Logger is told why a search had to do without a service; nil drops it.
	Logger *slog.Logger
	// Conflicts gives the conflicts of a live rule that have been found and neither rejected nor closed, oldest first; nil means that only
	// relationships tell of any.
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

// Among says which rules are searched.
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
		_, holds := within.Entry(r.ID)
		return holds && (keep == nil || keep(r))
	}
	return view, among, nil
}

// lasting reports whether an answer may be remembered for the next who asks the same.
func (a Among) lasting() bool { return a.Keep == nil && a.View == nil }

// current reports whether a rule is one that searches look at unless they are asked for another status.
func (a Among) current(r *rule.Rule) bool {
	return slices.Contains(currentStatuses, r.Status) && (a.Keep == nil || a.Keep(r))
}

// Page is a part of the results. Number counts from 1; Size is at least 1.
type Page struct{ Number, Size int }

func (p Page) offset() int { return (p.Number - 1) * p.Size }

// Mode tells how rules were found.
type Mode string

// Modes. Keyword compares words, Vector meaning, Hybrid both.
const (
	Keyword Mode = "keyword"
	Vector  Mode = "vector"
	Hybrid  Mode = "hybrid"
)

// Modes lists all modes.
var Modes = []Mode{Keyword, Vector, Hybrid}

// Result is a page of what was found.
type Result struct {
	Items []Item
	Total int // on all pages
	// Mode is empty for searches that rank by neither words nor meaning.
	Mode Mode
	// Degraded says what the search had to do without; nil if nothing.
	Degraded *Degraded
}

// Item is a rule that was found.
type Item struct {
	Rule       rule.Rule   `json:"rule" doc:"The rule."`
	Score      float64     `json:"score" doc:"Higher is better. Scores of different searches cannot be compared."`
	Reason     string      `json:"reason,omitempty" doc:"Why the rule matters in the situation, where a model has judged it."`
	Highlights []Highlight `json:"highlights,omitempty" nullable:"false" doc:"Where the words of the query stand in the rule."`
}

// Highlight is a part of a rule's text in which words of the query stand.
type Highlight struct {
	Field string `json:"field" enum:"statement,rationale" doc:"The text: statement or rationale."`
	Start int    `json:"start" minimum:"0" doc:"First character, counted in Unicode characters from 0."`
	End   int    `json:"end" minimum:"0" doc:"Character behind the last."`
}

// Degraded says why a search answers with less than was asked for.
type Degraded struct {
	Reason string `json:"reason" doc:"What was missing, and what was done instead."`
}

// degraded joins the reasons there are; nil without any.
func degraded(reasons ...string) *Degraded {
	var d *Degraded
	for _, reason := range reasons {
		switch {
		case reason == "":
		case d == nil:
			d = &Degraded{Reason: reason}
		default:
			d.Reason += "; " + reason
		}
	}
	return d
}

// slice is the part of a list that makes up a page; empty beyond the end.
func slice[T any](all []T, p Page) []T {
	from := min(p.offset(), len(all))
	return all[from:min(from+p.Size, len(all))]
}
