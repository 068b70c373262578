package find

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// BenchmarkChain searches a chain of many entries of all kinds, half of them evaluations, each query with other values.
func BenchmarkChain(b *testing.B) {
	n := benchSize(b)
	for _, name := range []string{"SQLite", "PostgreSQL"} {
		b.Run(name, func(b *testing.B) {
			s := openKept(b, name)
			b.Cleanup(func() { _ = s.Close() })
			began := time.Now()
			fillChain(b, s, n)
			b.Logf("%d entries after %.0f s", n, time.Since(began).Seconds())
			chain := NewChain(New(Config{Store: Store{Updater: s, Audit: s.Audit, Rules: s.Rules, Terms: s.Terms}}))
			for _, q := range chainQueries(n) {
				b.Run(q.name, func(b *testing.B) {
					random := rand.New(rand.NewPCG(3, 4))
					timed(b, func() error {
						query, page := q.draw(random)
						_, err := chain.Find(b.Context(), "p", query, "", wire.PageQuery{Page: max(page, 1), PageSize: 50})
						return err
					})
				})
			}
		})
	}
}

// fillChain stores and indexes n entries: every second one an evaluation with verdicts of five of 200 rules, the others changes of 2,000 rules by
// 50 actors. It goes on where an earlier run has ended.
func fillChain(b *testing.B, s store.Store, n int) {
	b.Helper()
	update := func(fn func(ctx context.Context, tx store.Tx) error) {
		if err := s.Update(b.Context(), func(tx store.Tx) error { return fn(b.Context(), tx) }); err != nil {
			b.Fatal(err)
		}
	}
	head, err := s.Audit.Head(b.Context(), "p")
	if rule.CodeOf(err) == rule.CodeNotFound {
		update(func(ctx context.Context, tx store.Tx) error {
			return tx.Projects.Create(ctx, rule.Project{ID: "p", Name: "p"})
		})
		head, err = s.Audit.Head(b.Context(), "p")
	}
	if err != nil {
		b.Fatal(err)
	}
	random, prev := rand.New(rand.NewPCG(1, uint64(head.Seq))), head.Hash //nolint:gosec // not negative
	judged := audit.Compress(audit.JSON(&wire.EvaluationRecord{Evaluation: evaluation()}))
	for from := head.Seq; from < int64(n); from += store.BlockSize {
		size := min(store.BlockSize, int64(n)-from)
		entries, batch := make([]store.AuditEntry, size), store.TermBatch{ProjectID: "p", From: store.TermMark{Seq: from}, Through: from + size}
		for i := range entries {
			e := &entries[i]
			seq := from + int64(i) + 1
			*e = store.AuditEntry{
				ProjectID: "p", Seq: seq, ID: fmt.Sprintf("e%d", seq), Kind: audit.KindEvaluation, At: noon.Add(time.Duration(seq) * time.Second), Actor: fmt.Sprintf("key:%d", random.IntN(50)),
				Body: judged, PrevHash: prev, Hash: strconv.FormatInt(seq, 36),
			}
			prev = e.Hash
			t := collector{seen: map[store.Term]bool{}}
			if seq%2 == 0 {
				e.Verdict, e.Mode = string(rule.Verdicts[random.IntN(3)]), "preflight"
				t.add(evaluated)
				t.add(verdict, e.Verdict)
				t.add(actor, e.Actor)
				t.add(agent, fmt.Sprintf("agent%d", random.IntN(20)))
				t.add(person, fmt.Sprintf("person%d@example.com", random.IntN(1000)))
				t.add(session, fmt.Sprintf("session%d", seq/100))
				for range 5 {
					t.add(ruleID, fmt.Sprintf(benchRule, random.IntN(200)))
				}
			} else {
				id := fmt.Sprintf(benchRule, random.IntN(2000))
				e.Kind = audit.Kinds[1+random.IntN(len(audit.Kinds)-1)]
				e.Body = audit.Compress(audit.JSON(map[string]any{"action": "revised", "rule": map[string]any{"id": id, "statement": "Pay once."}}))
				t.add(entryKind, e.Kind)
				t.add(entryActor, e.Actor)
				t.add(entryAction, "revised")
				t.add(entryRule, id)
				t.add(entryObject, audit.ObjectRule, id)
			}
			batch.Entries = append(batch.Entries, store.TermEntry{Seq: seq, At: e.At, Terms: t.terms})
		}
		update(func(ctx context.Context, tx store.Tx) error {
			if err := tx.Audit.Append(ctx, entries, nil); err != nil {
				return err
			}
			return tx.Terms.Add(ctx, batch)
		})
	}
}

type chainQuery struct {
	name string
	draw func(random *rand.Rand) (q ChainQuery, page int)
}

// chainQueries are the filters of the audit log, alone and together.
func chainQueries(n int) []chainQuery {
	at := func(random *rand.Rand) *time.Time {
		t := noon.Add(time.Duration(random.IntN(n)) * time.Second)
		return &t
	}
	someRule := func(random *rand.Rand) string { return fmt.Sprintf(benchRule, random.IntN(200)) }
	return []chainQuery{
		{"all, any page", func(random *rand.Rand) (ChainQuery, int) { return ChainQuery{}, 1 + random.IntN(n/50) }},
		{"kind", func(*rand.Rand) (ChainQuery, int) { return ChainQuery{Kinds: []string{audit.KindRule}}, 1 }},
		{"evaluations", func(*rand.Rand) (ChainQuery, int) { return ChainQuery{Kinds: []string{audit.KindEvaluation}}, 1 }},
		{"actor", func(random *rand.Rand) (ChainQuery, int) {
			return ChainQuery{Actor: fmt.Sprintf("key:%d", random.IntN(50))}, 1
		}},
		{"action", func(*rand.Rand) (ChainQuery, int) { return ChainQuery{Action: "revised"}, 1 }},
		{"rule", func(random *rand.Rand) (ChainQuery, int) { return ChainQuery{Rule: someRule(random)}, 1 }},
		{"evaluation", func(random *rand.Rand) (ChainQuery, int) {
			return ChainQuery{Evaluation: fmt.Sprintf("e%d", 2+2*random.IntN(n/2-1))}, 1
		}},
		{"object", func(random *rand.Rand) (ChainQuery, int) {
			return ChainQuery{Object: audit.Object{Kind: audit.ObjectRule, ID: someRule(random)}}, 1
		}},
		{"a day", func(random *rand.Rand) (ChainQuery, int) {
			since := at(random)
			until := since.Add(24 * time.Hour)
			return ChainQuery{Since: since, Until: &until}, 1
		}},
		{"verdict", func(random *rand.Rand) (ChainQuery, int) {
			return ChainQuery{Verdict: string(rule.Verdicts[random.IntN(3)])}, 1
		}},
		{"agent", func(random *rand.Rand) (ChainQuery, int) {
			return ChainQuery{Agent: fmt.Sprintf("agent%d", random.IntN(20))}, 1
		}},
		{"person", func(random *rand.Rand) (ChainQuery, int) {
			return ChainQuery{Person: fmt.Sprintf("person%d@example.com", random.IntN(1000))}, 1
		}},
		{"session", func(random *rand.Rand) (ChainQuery, int) {
			return ChainQuery{Session: fmt.Sprintf("session%d", random.IntN(n/100))}, 1
		}},
		{"since", func(random *rand.Rand) (ChainQuery, int) { return ChainQuery{Since: at(random)}, 1 }},
		{"kind, until", func(random *rand.Rand) (ChainQuery, int) {
			return ChainQuery{Kinds: []string{audit.KindRule, audit.KindWaiver}, Until: at(random)}, 1
		}},
		{"rule, actor, kind and since", func(random *rand.Rand) (ChainQuery, int) {
			return ChainQuery{Rule: someRule(random), Actor: fmt.Sprintf("key:%d", random.IntN(50)), Kinds: []string{audit.KindEvaluation}, Since: at(random)}, 1
		}},
	}
}
