package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func newConflict(id int, ruleID, otherID string) store.Conflict {
	return store.Conflict{
		ProjectID: "p", ID: newRule(id, nil).ID, RuleID: ruleID, OtherID: otherID, State: store.ConflictSuggested, FoundBy: "force",
		Reason: "one demands what the other forbids", Confidence: .95, RuleHash: "a", OtherHash: "b", DetectedAt: at,
	}
}

func testConflicts(t *testing.T, f *fixture) {
	one, two, three := newRule(1, nil), newRule(2, nil), newRule(3, nil)
	f.insert(one, two, three)
	first, second := newConflict(11, two.ID, one.ID), newConflict(12, one.ID, three.ID)
	second.DetectedAt = at.Add(time.Second)
	f.update(func(tx store.Tx) error {
		if err := tx.Conflicts.Insert(f.ctx, first); err != nil {
			return err
		}
		return tx.Conflicts.Insert(f.ctx, second)
	})
	for _, again := range []store.Conflict{newConflict(13, one.ID, two.ID), newConflict(14, two.ID, one.ID), newConflict(11, two.ID, three.ID)} {
		f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Conflicts.Insert(f.ctx, again) })
	}
	decided := at.Add(time.Hour)
	first.State, first.DecidedAt, first.DecidedBy, first.Note, first.RelationshipID = store.ConflictRejected, &decided, "ann", "they do not", "r"
	first.RuleID, first.OtherID, first.RuleHash, first.Confidence, first.Reason, first.FoundBy = one.ID, two.ID, "c", .5, "because", "model"
	f.update(func(tx store.Tx) error { return tx.Conflicts.Update(f.ctx, first) })
	elsewhere := first
	elsewhere.OtherID = three.ID // not the rules that it is between
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Conflicts.Update(f.ctx, elsewhere) })
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Conflicts.Update(f.ctx, newConflict(19, one.ID, two.ID)) })
	got, err := f.s.Conflicts.Get(f.ctx, "p", first.ID)
	if diff := cmp.Diff(first, got); err != nil || diff != "" {
		t.Errorf("conflict: %v (-want +got):\n%s", err, diff)
	}
	_, err = f.s.Conflicts.Get(f.ctx, "q", first.ID)
	code(t, "another project", err, rule.CodeNotFound)

	find := func(want []store.Conflict, total int, q store.ConflictFilter) {
		t.Helper()
		q.ProjectID = "p"
		got, n, err := f.s.Conflicts.Find(f.ctx, q)
		if diff := cmp.Diff(want, got); err != nil || diff != "" || n != total {
			t.Errorf("%+v: %d, %v (-want +got):\n%s", q, n, err, diff)
		}
	}
	find([]store.Conflict{second, first}, 2, store.ConflictFilter{Limit: 10})
	find([]store.Conflict{first}, 2, store.ConflictFilter{Limit: 1, Offset: 1})
	find([]store.Conflict{first}, 1, store.ConflictFilter{Limit: 10, States: []string{store.ConflictRejected}})
	find([]store.Conflict{second, first}, 2, store.ConflictFilter{Limit: 10, RuleID: one.ID, States: []string{store.ConflictRejected, store.ConflictSuggested}})
	find([]store.Conflict{second}, 1, store.ConflictFilter{Limit: 10, RuleID: three.ID})
	find([]store.Conflict{first}, 1, store.ConflictFilter{Limit: 10, FoundBy: "model"})
	find([]store.Conflict{second}, 1, store.ConflictFilter{Limit: 10, MinConfidence: .9})
	of, err := f.s.Conflicts.OfRules(f.ctx, "p", []string{two.ID, three.ID, "none"})
	if diff := cmp.Diff([]store.Conflict{first, second}, of); err != nil || diff != "" {
		t.Errorf("of two rules: %v (-want +got):\n%s", err, diff)
	}
}

// Conflicts are selected by what their rules and their reason say now.
func testConflictsByText(t *testing.T, f *fixture) {
	say := func(r *rule.Rule, slug, statement string, severity rule.Severity) {
		r.Slug, r.Statement, r.Severity = slug, statement, severity
	}
	one, two, three := newRule(1, nil), newRule(2, nil), newRule(3, nil)
	say(&one, "SEC-001", "Ärzte sign with 100% care; C:\\keys are a_b.", rule.Low)
	say(&two, "", "Nobody signs.", rule.Medium)
	say(&three, "LOG-1", "Everybody signs.", rule.High)
	f.insert(one, two, three)
	first, second := newConflict(11, two.ID, one.ID), newConflict(12, one.ID, three.ID)
	second.DetectedAt, second.Reason = at.Add(time.Second), "Über: set DIFFERENT limits"
	f.update(func(tx store.Tx) error {
		if err := tx.Conflicts.Insert(f.ctx, first); err != nil {
			return err
		}
		return tx.Conflicts.Insert(f.ctx, second)
	})
	find := func(q store.ConflictFilter, want ...string) {
		t.Helper()
		q.ProjectID = "p"
		for offset := 0; offset <= len(want); offset++ { // each page, and the one after the last
			q.Offset, q.Limit = offset, 1
			got, n, err := f.s.Conflicts.Find(f.ctx, q)
			if err != nil || n != len(want) || (len(got) == 1) != (offset < len(want)) || len(got) == 1 && got[0].ID != want[offset] {
				t.Errorf("%+v: %d of %+v, %v; want %q", q, n, got, err, want)
			}
		}
	}
	text := func(words string, want ...string) {
		t.Helper()
		find(store.ConflictFilter{Text: words}, want...)
	}
	text("SIGN", second.ID, first.ID)
	text("ärzte", second.ID, first.ID)
	text("ÄRZTE SIGN", second.ID, first.ID)
	text("sec-001", second.ID, first.ID)
	text("nobody", first.ID)
	text("log-", second.ID)
	text("über", second.ID)
	text("Different", second.ID)
	text("100%", second.ID, first.ID)
	text("1%0")
	text("a_b", second.ID, first.ID)
	text("si_n")
	text(`c:\keys`, second.ID, first.ID)
	text(`\`, second.ID, first.ID)
	text("sign nobody")
	text("a\x00")
	text("\xff")
	find(store.ConflictFilter{SeverityMin: rule.Low}, second.ID, first.ID)
	find(store.ConflictFilter{SeverityMin: rule.Medium}, second.ID, first.ID)
	find(store.ConflictFilter{SeverityMin: rule.High}, second.ID)
	find(store.ConflictFilter{SeverityMin: rule.Critical})
	find(store.ConflictFilter{SeverityMin: rule.High, Text: "nobody"})
	find(store.ConflictFilter{SeverityMin: rule.Medium, Text: "nobody", States: []string{store.ConflictSuggested}, RuleID: one.ID}, first.ID)

	two.Version, three.Version = 2, 2
	say(&two, "SEC-002", "Some may SEAL.", rule.Critical)
	say(&three, "LOG-1", "Everybody writes.", rule.Low)
	f.update(func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(f.ctx, "p")
		if err != nil {
			return err
		}
		return tx.Rules.Update(f.ctx, cv, []rule.Rule{two, three})
	})
	text("nobody")
	text("seal", first.ID)
	text("sec-002", first.ID)
	text("writes", second.ID)
	text("ärzte", second.ID, first.ID)
	find(store.ConflictFilter{SeverityMin: rule.High}, first.ID)
	first.Reason = "They MAY NOT"
	f.update(func(tx store.Tx) error { return tx.Conflicts.Update(f.ctx, first) })
	text("may not", first.ID)
	text("demands")
}

func testConflictWalks(t *testing.T, f *fixture) {
	look := func(name string, want store.ConflictWalk) {
		t.Helper()
		if got, err := f.s.Conflicts.Walk(f.ctx, "p", name); err != nil || got != want {
			t.Errorf("walk %s: %+v, %v; want %+v", name, got, err, want)
		}
	}
	look("changes", store.ConflictWalk{})
	for _, w := range []store.ConflictWalk{{Reached: 3, Toward: 9, LastID: "x"}, {Reached: 9}} {
		f.update(func(tx store.Tx) error { return tx.Conflicts.PutWalk(f.ctx, "p", "changes", w) })
		look("changes", w)
	}
	look("all", store.ConflictWalk{})
}

// Suggestions are dropped by their strength, and counted by their rules.
func testConflictBounds(t *testing.T, f *fixture) {
	one, two, three := newRule(1, nil), newRule(2, nil), newRule(3, nil)
	f.insert(one, two, three)
	made := func(id int, ruleID, otherID string, confidence float64, change func(*store.Conflict)) store.Conflict {
		c := newConflict(id, ruleID, otherID)
		c.Confidence = confidence
		if change != nil {
			change(&c)
		}
		f.update(func(tx store.Tx) error { return tx.Conflicts.Insert(f.ctx, c) })
		return c
	}
	strong := made(11, two.ID, one.ID, .9, nil)
	weak := made(12, one.ID, three.ID, .5, nil)
	rejected := made(13, two.ID, three.ID, .1, func(c *store.Conflict) { c.State = store.ConflictRejected })
	suggestion := func(c store.Conflict) store.Suggestion {
		return store.Suggestion{ID: c.ID, RuleID: c.RuleID, OtherID: c.OtherID, Confidence: c.Confidence}
	}
	check := func(what string, got any, err error, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
		}
	}
	n, err := f.s.Conflicts.Suggested(f.ctx, "p")
	check("suggested", n, err, 2)
	n, err = f.s.Conflicts.Suggested(f.ctx, "q")
	check("suggested elsewhere", n, err, 0)
	list, err := f.s.Conflicts.Weakest(f.ctx, "p", 9)
	check("weakest first", list, err, []store.Suggestion{suggestion(weak), suggestion(strong)})
	list, err = f.s.Conflicts.Weakest(f.ctx, "p", 1)
	check("the weakest", list, err, []store.Suggestion{suggestion(weak)})
	list, err = f.s.Conflicts.SuggestedOf(f.ctx, "p", []string{two.ID})
	check("of a rule", list, err, []store.Suggestion{suggestion(strong)})
	list, err = f.s.Conflicts.SuggestedOf(f.ctx, "p", []string{two.ID, one.ID})
	check("of two rules", list, err, []store.Suggestion{suggestion(weak), suggestion(strong)})

	f.update(func(tx store.Tx) error { return tx.Conflicts.Drop(f.ctx, "p", []string{weak.ID, rejected.ID, "none"}) })
	_, err = f.s.Conflicts.Get(f.ctx, "p", weak.ID)
	code(t, "a dropped one", err, rule.CodeNotFound)
	kept, err := f.s.Conflicts.Get(f.ctx, "p", rejected.ID)
	check("one that is not suggested", kept, err, rejected)

	left := func(ruleID string, want int) {
		t.Helper()
		n, err := f.s.Conflicts.LeftOut(f.ctx, "p", ruleID)
		check("left out of "+ruleID, n, err, want)
	}
	put := func(compared []string, counts map[string]store.LeftOut) {
		t.Helper()
		f.update(func(tx store.Tx) error { return tx.Conflicts.PutLeftOut(f.ctx, "p", compared, counts) })
	}
	left("", 0)
	left(one.ID, 0)
	put([]string{one.ID, two.ID}, map[string]store.LeftOut{one.ID: {Pairs: 3, Brought: 1}, three.ID: {Pairs: 1, Brought: 1}})
	left("", 2)
	left(one.ID, 3)
	left(two.ID, 0)
	put([]string{two.ID}, map[string]store.LeftOut{two.ID: {Pairs: 5, Brought: 5}, one.ID: {Pairs: 1}})
	left("", 7)
	left(one.ID, 4)
	put([]string{one.ID, two.ID, three.ID}, nil)
	left("", 0)
	f.fails(rule.CodeInternal, func(tx store.Tx) error {
		return tx.Conflicts.PutLeftOut(f.ctx, "p", nil, map[string]store.LeftOut{newRule(9, nil).ID: {Pairs: 1}})
	})
}
