package catalog

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

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

// figuresAge is for how long counts of test cases and health scores are taken for those of a project, in filters and orders.
const figuresAge = 2 * time.Second

// maxFigures bounds the projects whose figures are in memory.
const maxFigures = 16

// Lists selects rules by figures that are not part of them. It is safe for concurrent use.
type Lists struct {
	Views  corpus.Views
	Health store.HealthReader
	Tests  store.TestCaseReader
	Now    func() time.Time

	mu      sync.Mutex
	known   map[string]*figures // by project
	flights singleflight.Group
}

// figures are the health scores and the numbers of test cases of a project's rules, by rule. A rule without one is absent.
type figures struct {
	health, tests map[string]int
	at            time.Time
}

// List returns a page of the rules that are selected, and their total. Filters and orders by figures may be two seconds behind.
func (l *Lists) List(ctx context.Context, projectID string, s Selection) ([]rule.Rule, int, error) {
	view, err := l.Views.View(ctx, projectID)
	if err != nil {
		return nil, 0, err
	}
	f, by := s.Filter, corpus.Compare(s.Order)
	field := strings.TrimPrefix(string(s.Order), "-")
	if s.HasTests != nil || s.HealthMin != nil || s.HealthMax != nil || field == "health" || field == "tests" {
		known, err := l.figures(ctx, projectID)
		if err != nil {
			return nil, 0, err
		}
		f.Where = s.where(known, f.Where)
		if column := map[string]map[string]int{"health": known.health, "tests": known.tests}[field]; column != nil {
			by = byFigure(column, field != string(s.Order))
		}
	}
	entries, total := corpus.SortedBy(view, f, by, s.Page.Offset(), s.Page.Size)
	rules := make([]rule.Rule, len(entries))
	for i, e := range entries {
		rules[i] = *e.Rule
	}
	if s.WithHealth {
		err = l.addHealth(ctx, projectID, rules)
	}
	return rules, total, err
}

// where is the condition on figures together with another one.
func (s *Selection) where(known *figures, also func(*rule.Rule) bool) func(*rule.Rule) bool {
	return func(r *rule.Rule) bool {
		if s.HasTests != nil && *s.HasTests != (known.tests[r.ID] > 0) {
			return false
		}
		if s.HealthMin != nil || s.HealthMax != nil {
			score, ok := known.health[r.ID]
			if !ok || s.HealthMin != nil && score < *s.HealthMin || s.HealthMax != nil && score > *s.HealthMax {
				return false
			}
		}
		return also == nil || also(r)
	}
}

// byFigure compares rules by a figure; those without one are the lowest.
func byFigure(column map[string]int, descending bool) func(a, b *rule.Rule) int {
	of := func(r *rule.Rule) int {
		if n, ok := column[r.ID]; ok {
			return n
		}
		return -1
	}
	if descending {
		return func(a, b *rule.Rule) int { return cmp.Compare(of(b), of(a)) }
	}
	return func(a, b *rule.Rule) int { return cmp.Compare(of(a), of(b)) }
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

// figures returns those of a project, from memory if they are recent.
func (l *Lists) figures(ctx context.Context, projectID string) (*figures, error) {
	l.mu.Lock()
	known := l.known[projectID]
	l.mu.Unlock()
	if known != nil && l.Now().Sub(known.at) < figuresAge {
		return known, nil
	}
	read, err, _ := l.flights.Do(projectID, func() (any, error) {
		return l.read(context.WithoutCancel(ctx), projectID) // others wait for it too
	})
	known, _ = read.(*figures)
	return known, err
}

func (l *Lists) read(ctx context.Context, projectID string) (*figures, error) {
	at := l.Now()
	scores, err := l.Health.Scores(ctx, projectID, nil)
	if err != nil {
		return nil, err
	}
	totals, err := l.Tests.Totals(ctx, projectID)
	if err != nil {
		return nil, err
	}
	f := &figures{health: make(map[string]int, len(scores)), tests: make(map[string]int, len(totals)), at: at}
	for _, s := range scores {
		f.health[s.RuleID] = s.Score
	}
	for _, t := range totals {
		f.tests[t.RuleID] = t.Total
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.known) >= maxFigures || l.known == nil {
		l.known = map[string]*figures{}
	}
	l.known[projectID] = f
	return f, nil
}
