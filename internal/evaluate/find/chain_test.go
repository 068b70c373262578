package find

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// ruleNumber is the id of a rule of a test.
func ruleNumber(n int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012d", n) }

// mixed appends evaluations and entries of other kinds, times and actors, and returns them oldest first.
func (w *world) mixed(n int) []store.AuditEntry {
	w.Helper()
	for i := range n {
		rec := plain(fmt.Sprint(i))
		rec.Evaluation.Timestamp = noon.Add(time.Duration(i) * time.Minute)
		rec.Audit.Actor = fmt.Sprintf("key:%d", i%3)
		rec.Evaluation.RuleVerdicts = []rule.RuleVerdict{{RuleID: ruleNumber(1 + i%4), Verdict: rule.Allow}}
		if i%5 == 0 {
			rec.Evaluation.OverallVerdict = rule.Deny
		}
		w.record(rec)
		var body map[string]any
		kind := audit.KindRule
		switch i % 4 {
		case 0:
			body = map[string]any{"action": "revised", "rule": map[string]any{"id": ruleNumber(1 + i%3), "statement": "s"}, "changed": []any{}}
		case 1:
			kind, body = audit.KindQueue, map[string]any{"action": "settle", "evaluation_id": rec.Evaluation.EvaluationID}
		case 2:
			kind, body = audit.KindWebhook, map[string]any{"action": "change", "policy_id": fmt.Sprint("w", i%8)}
		case 3:
			kind, body = audit.KindConflict, map[string]any{"action": "confirmed", "conflict_id": "c", "rule_id": ruleNumber(1), "other_rule_id": ruleNumber(2)}
		}
		w.update(func(ctx context.Context, tx store.Tx) error {
			return audit.Append(ctx, tx, "p", audit.Record{
				Kind: kind, At: rec.Evaluation.Timestamp.Add(time.Second), Actor: fmt.Sprintf("key:%d", i%2), Body: audit.JSON(body),
			})
		})
	}
	all, err := w.store.Audit.Entries(w.Context(), "p", 0, 100_000)
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// matches decides whether an entry matches a query by reading it.
func (w *world) chainMatches(q *ChainQuery, e *store.AuditEntry) bool {
	about, err := audit.Read(e)
	if err != nil {
		w.Fatal(err)
	}
	rules := about.Rules
	if rec := w.ids[e.ID]; rec != nil {
		for _, v := range rec.Evaluation.RuleVerdicts {
			rules = append(rules, v.RuleID)
		}
	}
	return (len(q.Kinds) == 0 || slices.Contains(q.Kinds, e.Kind)) && (q.Action == "" || q.Action == about.Action) && (q.Actor == "" || q.Actor == e.Actor) &&
		(q.Rule == "" || slices.Contains(rules, q.Rule)) && (q.Evaluation == "" || slices.Contains(about.Evaluations, q.Evaluation)) &&
		(q.Object.ID == "" || q.Object.Kind == about.Object.Kind && q.Object.ID == about.Object.ID) && (q.Verdict == "" || q.Verdict == e.Verdict) &&
		(q.Since == nil || !e.At.Before(*q.Since)) && (q.Until == nil || e.At.Before(*q.Until))
}

// TestChain compares what queries find with what reading every entry finds: before and after indexing, half of it, in pages, by cursor, and
// oldest first.
func TestChain(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		w.mixed(30)
		w.indexAll()
		all := w.mixed(12)
		at := func(minutes int) *time.Time {
			at := noon.Add(time.Duration(minutes) * time.Minute)
			return &at
		}
		queries := []ChainQuery{
			{},
			{Kinds: []string{audit.KindEvaluation}},
			{Kinds: []string{audit.KindRule, audit.KindWebhook}},
			{Actor: "key:1"},
			{Actor: "key:1", Kinds: []string{audit.KindRule}},
			{Action: "revised"},
			{Action: audit.ActionEvaluated, Actor: "key:0"},
			{Rule: ruleNumber(1)},
			{Rule: ruleNumber(2), Kinds: []string{audit.KindConflict}},
			{Rule: ruleNumber(9)},
			{Evaluation: w.all[1].Evaluation.EvaluationID},
			{Evaluation: w.all[1].Evaluation.EvaluationID, Kinds: []string{audit.KindQueue}},
			{Evaluation: w.all[31].Evaluation.EvaluationID},
			{Object: audit.Object{Kind: audit.ObjectWebhook, ID: "w2"}},
			{Verdict: "DENY"},
			{Since: at(10), Until: at(20)},
			{Since: at(10), Until: at(20), Actor: "key:2"},
			{Since: at(5), Kinds: []string{audit.KindRule}, Rule: ruleNumber(1)},
			{Until: at(-1)},
		}
		chain := NewChain(w.index)
		check := func(when string) {
			for n, q := range queries {
				var want []int64
				for i := range slices.Backward(all) {
					if w.chainMatches(&q, &all[i]) {
						want = append(want, all[i].Seq)
					}
				}
				var got []int64
				cursor := ""
				for {
					r, err := chain.Find(t.Context(), "p", q, cursor, wire.PageQuery{Page: 1, PageSize: 7})
					if err != nil {
						t.Fatal(err)
					}
					for i := range r.Entries {
						got = append(got, r.Entries[i].Seq)
					}
					if cursor == "" && r.Total != len(want) {
						t.Errorf("%s: query %d has total %d, want %d", when, n, r.Total, len(want))
					}
					if cursor = r.Next; cursor == "" {
						break
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: query %d finds %v, want %v", when, n, got, want)
				}
				if r, err := chain.Find(t.Context(), "p", q, "", wire.PageQuery{Page: 2, PageSize: 3}); err != nil || len(r.Entries) != max(0, min(3, len(want)-3)) {
					t.Errorf("%s: query %d, second page: %d entries, %v", when, n, len(r.Entries), err)
				}
				const after = 20
				var each []int64
				err := chain.Each(t.Context(), "p", q, after, func(e *store.AuditEntry) error {
					each = append(each, e.Seq)
					return nil
				})
				slices.Reverse(want)
				want = slices.DeleteFunc(want, func(seq int64) bool { return seq <= after })
				if err != nil || !slices.Equal(each, want) {
					t.Errorf("%s: query %d walks %v, want %v, %v", when, n, each, want, err)
				}
			}
		}
		check("half indexed")
		w.indexAll()
		check("indexed")
		if r := w.find(wire.EvaluationQuery{Actor: "key:1"}); slices.ContainsFunc(r.Entries, func(e store.AuditEntry) bool { return e.Kind != audit.KindEvaluation }) {
			t.Error("the list of evaluations has other entries")
		}
	})
}

// An import of more rules than are indexed is found by each of its rules, and by no other.
func TestChainFindsLargeImports(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		var rules []audit.RuleVersion
		for n := range maxEntryRules + 10 {
			rules = append(rules, audit.RuleVersion{RuleID: ruleNumber(n), Version: 1, Action: "created"})
		}
		w.update(func(ctx context.Context, tx store.Tx) error {
			return audit.Append(ctx, tx, "p", audit.Record{Kind: audit.KindImport, At: noon, Actor: "a", Body: audit.JSON(map[string]any{"rules": rules})})
		})
		for _, indexed := range []bool{false, true} {
			if indexed {
				w.indexAll()
			}
			for n, want := range map[int]int{0: 1, maxEntryRules + 9: 1, maxEntryRules + 10: 0} {
				r, err := NewChain(w.index).Find(t.Context(), "p", ChainQuery{Rule: ruleNumber(n)}, "", wire.PageQuery{Page: 1, PageSize: 10})
				if err != nil || r.Total != want || len(r.Entries) != want {
					t.Errorf("rule %d, indexed %t: %d entries of %d, %v; want %d", n, indexed, len(r.Entries), r.Total, err, want)
				}
			}
		}
	})
}

// Retention removes the rules of evaluations from the search, and nothing of other entries.
func TestChainAfterRetention(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		w.mixed(12)
		w.indexAll()
		before := noon.Add(6 * time.Minute)
		if _, err := audit.Prune(t.Context(), w.store, w.store.Audit, audit.Pruning{ProjectID: "p", Kind: audit.KindEvaluation, Before: before, Now: noon.Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		if err := forget(t, w); err != nil {
			t.Fatal(err)
		}
		count := func(q ChainQuery) int {
			r, err := NewChain(w.index).Find(t.Context(), "p", q, "", wire.PageQuery{Page: 1, PageSize: 100})
			if err != nil {
				t.Fatal(err)
			}
			return r.Total
		}
		if n := count(ChainQuery{Rule: ruleNumber(1), Kinds: []string{audit.KindEvaluation}}); n != 1 {
			t.Errorf("%d evaluations with the rule, want the one after the retention", n)
		}
		if n := count(ChainQuery{Kinds: []string{audit.KindEvaluation}}); n != 12 {
			t.Errorf("%d evaluations, want all", n)
		}
		if n := count(ChainQuery{Kinds: []string{audit.KindRule, audit.KindRetention}}); n != 4 {
			t.Errorf("%d entries about rules and retention, want 4", n)
		}
	})
}
