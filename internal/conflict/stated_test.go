package conflict_test

import (
	"testing"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Two rules that no test would compare, and that a person relates.
func statedBy(p *place, reason string) (from, to rule.Rule, rel rule.Relationship) {
	p.t.Helper()
	from, to = p.create("A-1", rule.Must, "Fees are rounded up."), p.create("B-1", rule.Must, "Customers see no surprise on a bill.")
	rel, err := p.catalog.Relate(p.ctx, "p", "A-1", wire.RelationshipInput{Kind: rule.ConflictsWith, To: "B-1", Reason: reason})
	if err != nil {
		p.t.Fatal(err)
	}
	p.work()
	return from, to, rel
}

func TestRelationshipMadeByHandIsAConflict(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		from, to, rel := statedBy(p, "rounding surprises")
		c := p.only(store.ConflictConfirmed)
		if c.Rule.ID != from.ID || c.Other.ID != to.ID || c.FoundBy != "person" || c.Reason != "rounding surprises" || c.Confidence != 1 || c.DecidedBy != "ann" ||
			c.DecidedAt == nil || c.RelationshipID != "" {
			t.Errorf("%+v", c)
		}
		if len(p.raised) != 1 || p.raised[0].Type != rule.ConflictDetected || p.raised[0].RuleID != from.ID || p.raised[0].Metadata["other_rule_id"] != to.ID {
			t.Errorf("alerts: %+v", p.raised)
		}
		// What a person has said does not end because no test finds it.
		p.revise("A-1", "Fees are rounded down.")
		p.revise("B-1", "Customers see no surprise on any bill.")
		p.work()
		p.only(store.ConflictConfirmed)
		if len(p.raised) != 1 || len(p.ended) != 0 {
			t.Errorf("after revisions: raised %+v, resolved %v", p.raised, p.ended)
		}
		if err := p.catalog.Unrelate(p.ctx, "p", "A-1", rel.ID); err != nil {
			t.Fatal(err)
		}
		p.work()
		p.only(store.ConflictRejected)
		if len(p.ended) != 1 {
			t.Errorf("after the relationship was removed: resolved %v", p.ended)
		}
		if _, err := p.catalog.Relate(p.ctx, "p", "B-1", wire.RelationshipInput{Kind: rule.ConflictsWith, To: "A-1"}); err != nil {
			t.Fatal(err)
		}
		p.work()
		if c := p.only(store.ConflictConfirmed); c.Rule.ID != to.ID || c.Reason != "ann has related the two with CONFLICTS_WITH" || len(p.raised) != 2 {
			t.Errorf("related again: %+v, %d alerts", c, len(p.raised))
		}
	})
}

func TestRelationshipMadeByHandOutlivesItsRules(t *testing.T) {
	t.Parallel()
	p := lite(t)
	statedBy(p, "")
	if _, err := p.catalog.Transition(p.ctx, "p", "B-1", 0, rule.Retired, ""); err != nil {
		t.Fatal(err)
	}
	p.work()
	p.only(store.ConflictClosed)
	if len(p.ended) != 1 || p.relationships("A-1") != 1 {
		t.Errorf("resolved %v, %d relationships", p.ended, p.relationships("A-1"))
	}
}

// A person who relates the rules of a suggested conflict has decided it.
func TestRelationshipMadeByHandConfirmsASuggestion(t *testing.T) {
	t.Parallel()
	p := lite(t)
	p.create("A-1", rule.Must, paid)
	p.create("A-2", rule.Must, late)
	p.work()
	p.only(store.ConflictSuggested)
	if _, err := p.catalog.Relate(p.ctx, "p", "A-1", wire.RelationshipInput{Kind: rule.ConflictsWith, To: "A-2"}); err != nil {
		t.Fatal(err)
	}
	p.work()
	if c := p.only(store.ConflictConfirmed); c.FoundBy != "person" || c.DecidedBy != "ann" {
		t.Errorf("%+v", c)
	}
}
