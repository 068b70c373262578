package catalog

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/singleflight"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Orders lists the orders of a list of rules: those of [corpus.Orders], and by health score and number of test cases.
var Orders = append(slices.Clone(corpus.Orders), "health", "-health", "tests", "-tests")

// Selection asks for a page of a project's rules by what they say and by how they fare.
type Selection struct {
	Filter corpus.Filter
	// HasTests is whether the rule has test cases; nil selects both.
	HasTests *bool
	// HealthMin and HealthMax bound the health score as last stored; nil does not. A rule without a score is outside of any bound.
	HealthMin, HealthMax *int
	// WithHealth gives the rules of the page their health scores.
	WithHealth bool
	Order      corpus.Order // one of Orders; empty is the order in which rules were made
	Page       rule.Page
}

// maxFigures bounds the projects whose figures are in memory.
const maxFigures = 16

// Lists selects rules by figures that are not part of them. It is safe for concurrent use.
type Lists struct {
	Views  corpus.Views
	Health store.HealthReader
	Tests  store.TestCaseReader

	mu      sync.Mutex
	known   map[string]figures // by project
	flights singleflight.Group
}

// figures are the health scores and the numbers of test cases of a project's rules after so many changes of them. A rule without one is absent.
type figures struct {
	changes       store.FigureChanges
	health, tests *corpus.Figure
}

// List returns a page of the rules that are selected, and their total.
func (l *Lists) List(ctx context.Context, projectID string, s Selection) ([]rule.Rule, int, error) {
	view, err := l.Views.View(ctx, projectID)
	if err != nil {
		return nil, 0, err
	}
	f := s.Filter
	var figure *corpus.Figure // that the rules are in the order of
	field := strings.TrimPrefix(string(s.Order), "-")
	if s.HasTests != nil || s.HealthMin != nil || s.HealthMax != nil || field == "health" || field == "tests" {
		known, err := l.figures(ctx, projectID)
		if err != nil {
			return nil, 0, err
		}
		f.Figures = s.ranges(&known)
		figure = map[string]*corpus.Figure{"health": known.health, "tests": known.tests}[field]
	}
	var entries []*corpus.Entry
	var total int
	if figure != nil {
		entries, total = corpus.SortedByFigure(view, f, figure, field != string(s.Order), s.Page.Offset(), s.Page.Size)
	} else {
		entries, total = view.Sorted(f, s.Order, s.Page.Offset(), s.Page.Size)
	}
	rules := make([]rule.Rule, len(entries))
	for i, e := range entries {
		rules[i] = *e.Rule
	}
	if s.WithHealth {
		err = l.addHealth(ctx, projectID, rules)
	}
	return rules, total, err
}

// ranges are the conditions on figures.
func (s *Selection) ranges(known *figures) (list []corpus.FigureRange) {
	if s.HasTests != nil {
		tested := corpus.FigureRange{Figure: known.tests, Min: 1, Max: math.MaxInt}
		if !*s.HasTests {
			tested.Min, tested.Max = corpus.NoFigure, 0
		}
		list = append(list, tested)
	}
	if s.HealthMin != nil || s.HealthMax != nil {
		scored := corpus.FigureRange{Figure: known.health, Max: math.MaxInt}
		if s.HealthMin != nil {
			scored.Min = max(*s.HealthMin, 0)
		}
		if s.HealthMax != nil {
			scored.Max = *s.HealthMax
		}
		list = append(list, scored)
	}
	return list
}

func (l *Lists) addHealth(ctx context.Context, projectID string, rules []rule.Rule) error {
	ids := make([]string, len(rules))
	for i := range rules {
		ids[i] = rules[i].ID
	}
	scores, err := l.Health.Scores(ctx, projectID, ids)
	for _, s := range scores {
		rules[slices.Index(ids, s.RuleID)].Health = &s.Score
	}
	return err
}

// figures returns those of a project: from memory what has not changed since it was read.
func (l *Lists) figures(ctx context.Context, projectID string) (figures, error) {
	changes, err := l.Health.FigureChanges(ctx, projectID)
	if err != nil {
		return figures{}, err
	}
	l.mu.Lock()
	known := l.known[projectID]
	l.mu.Unlock()
	if known.current(changes) {
		return known, nil
	}
	key := fmt.Sprintf("%d/%d/%s", changes.Scores, changes.Tests, projectID)
	read, err, _ := l.flights.Do(key, func() (any, error) {
		return l.read(context.WithoutCancel(ctx), projectID, known, changes) // others wait for it too
	})
	known, _ = read.(figures)
	return known, err
}

// current reports whether figures were read after so many changes.
func (f *figures) current(c store.FigureChanges) bool {
	return f.health != nil && f.tests != nil && f.changes == c
}

// read reads the figures that have changed, and keeps them.
func (l *Lists) read(ctx context.Context, projectID string, known figures, changes store.FigureChanges) (figures, error) {
	if known.health == nil || known.changes.Scores != changes.Scores {
		scores, err := l.Health.AllScores(ctx, projectID)
		if err != nil {
			return figures{}, err
		}
		known.health = corpus.NewFigure(scores)
	}
	if known.tests == nil || known.changes.Tests != changes.Tests {
		totals, err := l.Tests.Totals(ctx, projectID)
		if err != nil {
			return figures{}, err
		}
		counts := make(map[string]int, len(totals))
		for _, t := range totals {
			counts[t.RuleID] = t.Total
		}
		known.tests = corpus.NewFigure(counts)
	}
	known.changes = changes
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.known) >= maxFigures || l.known == nil {
		l.known = map[string]figures{}
	}
	l.known[projectID] = known
	return known, nil
}
