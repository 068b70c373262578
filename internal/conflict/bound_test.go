package conflict_test

import (
	"fmt"
	"log/slog"
	"testing"

	"tenet/internal/conflict"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// bounded runs a test on both databases with small bounds on suggestions.
func bounded(t *testing.T, ofRule, ofProject int, test func(t *testing.T, p *place)) {
	set := func(c *conflict.Config) { c.MaxOfRule, c.MaxOfProject = ofRule, ofProject }
	t.Run("SQLite", func(t *testing.T) { test(t, lite(t, set)) })
	t.Run("PostgreSQL", func(t *testing.T) {
		s, err := sqlstore.OpenPostgres(t.Context(), pgtest.DSN(t), sqlstore.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		test(t, open(t, s, set))
	})
}

// alike makes n rules, each of which contradicts all others.
func (p *place) alike(n int) []rule.Rule {
	p.t.Helper()
	var made []rule.Rule
	for i := range n {
		made = append(made, p.create(fmt.Sprintf("PAY-%d", i), rule.Must, fmt.Sprintf("Payments above %d EUR must be approved by a second person.", 1000*(i+1))))
	}
	return made
}

// scan compares all rules.
func (p *place) scan() {
	p.t.Helper()
	if _, err := p.b.Scan(p.ctx, "p", false); err != nil {
		p.t.Fatal(err)
	}
	p.work()
}

// counts returns the suggested conflicts of each rule, their total, and how many contradictions of the project are left out.
func (p *place) counts() (ofRule map[string]int, total, leftOut int) {
	p.t.Helper()
	list, total, leftOut, err := p.b.List(p.ctx, "p", conflict.Filter{State: store.ConflictSuggested}, 0, 1000)
	if err != nil {
		p.t.Fatal(err)
	}
	ofRule = map[string]int{}
	for _, c := range list {
		ofRule[c.Rule.ID]++
		ofRule[c.Other.ID]++
	}
	return ofRule, total, leftOut
}

func TestARuleKeepsItsStrongestSuggestions(t *testing.T) {
	t.Parallel()
	bounded(t, 2, 100, func(t *testing.T, p *place) {
		rules := p.alike(6) // 15 pairs
		p.work()
		ofRule, total, leftOut := p.counts()
		for id, n := range ofRule {
			if n > 2 {
				t.Errorf("rule %s has %d suggestions", id, n)
			}
		}
		if total < 4 || total > 6 || total+leftOut != 15 || len(p.raised) != total {
			t.Fatalf("%d suggestions, %d left out, %d alerts", total, leftOut, len(p.raised))
		}
		_, _, of, err := p.b.List(p.ctx, "p", conflict.Filter{Rule: "PAY-3"}, 0, 10)
		if want := 5 - ofRule[rules[3].ID]; err != nil || of != want {
			t.Errorf("of a rule %d are left out, %v; want %d", of, err, want)
		}

		// A decision makes room, and the next comparison fills it. What was decided is not counted, and stays.
		for _, c := range p.list(store.ConflictSuggested) {
			if _, err := p.b.Confirm(p.ctx, "p", c.ID, ""); err != nil {
				t.Fatal(err)
			}
		}
		p.scan()
		_, more, leftOut := p.counts()
		if confirmed := len(p.list(store.ConflictConfirmed)); confirmed != total || more == 0 || confirmed+more+leftOut != 15 {
			t.Errorf("%d confirmed, %d suggested, %d left out", confirmed, more, leftOut)
		}

		// One with more confidence takes the place of a weaker one.
		before := p.list(store.ConflictSuggested)
		strong := p.create("PAY-X", rule.MustNot, rules[3].Statement)
		p.work()
		after := p.list(store.ConflictSuggested)
		var took bool
		for _, c := range after {
			took = took || c.Confidence > before[0].Confidence && (c.Rule.ID == strong.ID || c.Other.ID == strong.ID)
		}
		if ofRule, _, _ := p.counts(); !took || ofRule[strong.ID] > 2 || ofRule[rules[3].ID] > 2 {
			t.Errorf("a stronger contradiction is not among %+v, %v", after, ofRule)
		}

		// Without the rules nothing is left out any more.
		for _, r := range append(rules, strong) {
			if _, err := p.catalog.Transition(p.ctx, "p", r.ID, 0, rule.Retired, ""); err != nil {
				t.Fatal(err)
			}
		}
		p.work()
		if _, total, leftOut := p.counts(); total+leftOut != 0 {
			t.Errorf("with all rules retired %d suggestions, %d left out", total, leftOut)
		}
	})
}

func TestAProjectKeepsItsStrongestSuggestions(t *testing.T) {
	t.Parallel()
	bounded(t, 100, 4, func(t *testing.T, p *place) {
		rules := p.alike(6)
		p.work()
		if _, total, leftOut := p.counts(); total != 4 || leftOut != 11 {
			t.Errorf("%d suggestions, %d left out; want 4 and 11", total, leftOut)
		}
		weak := p.list(store.ConflictSuggested)[0].Confidence
		p.create("PAY-X", rule.MustNot, rules[3].Statement)
		p.work()
		list := p.list(store.ConflictSuggested)
		var strong int
		for _, c := range list {
			if c.Confidence > weak {
				strong++
			}
		}
		if len(list) != 4 || strong == 0 {
			t.Errorf("a stronger contradiction is not among %+v", list)
		}
	})
}

// What was stored without bounds is cut to them when the rules are compared again, except what people have decided.
func TestOldSuggestionsAreCutToTheBounds(t *testing.T) {
	t.Parallel()
	bounded(t, 100, 100, func(t *testing.T, p *place) {
		p.alike(6)
		p.work()
		list := p.list(store.ConflictSuggested)
		if len(list) != 15 {
			t.Fatalf("%d suggestions", len(list))
		}
		decided := []wire.Conflict{}
		for _, c := range list[:3] {
			c, err := p.b.Reject(p.ctx, "p", c.ID, "no")
			if err != nil {
				t.Fatal(err)
			}
			decided = append(decided, c)
		}
		p.cfg.MaxOfRule, p.cfg.MaxOfProject = 2, 3
		p.b = conflict.New(p.cfg)
		p.scan()
		ofRule, total, leftOut := p.counts()
		for id, n := range ofRule {
			if n > 2 {
				t.Errorf("rule %s has %d suggestions", id, n)
			}
		}
		if total != 3 || leftOut != 9 || len(p.list(store.ConflictRejected)) != len(decided) {
			t.Errorf("%d suggestions, %d left out, %d rejected", total, leftOut, len(p.list(store.ConflictRejected)))
		}
	})
}
