package sqlstore_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
)

// eachDatabase runs a benchmark on both databases, each with a project p.
func eachDatabase(b *testing.B, bench func(*testing.B, store.Store)) {
	open := map[string]func(*testing.B) (store.Store, error){
		"SQLite": func(b *testing.B) (store.Store, error) {
			return sqlstore.OpenSQLite(b.Context(), b.TempDir(), sqlstore.Options{})
		},
		"PostgreSQL": func(b *testing.B) (store.Store, error) {
			return sqlstore.OpenPostgres(b.Context(), pgtest.DSN(b), sqlstore.Options{})
		},
	}
	for _, name := range []string{"SQLite", "PostgreSQL"} {
		if name == "PostgreSQL" && os.Getenv(pgtest.Env) == "" {
			b.Logf("not measured on PostgreSQL: %s is not set", pgtest.Env)
			continue
		}
		b.Run(name, func(b *testing.B) {
			s, err := open[name](b)
			opened(b, s, err)
			err = s.Update(b.Context(), func(tx store.Tx) error { return tx.Projects.Create(b.Context(), rule.Project{ID: "p", Name: "p"}) })
			if err != nil {
				b.Fatal(err)
			}
			bench(b, s)
		})
	}
}

// benchRules makes rules of about 1 KB.
func benchRules(from, n int) []rule.Rule {
	rules := make([]rule.Rule, n)
	for i := range rules {
		rules[i] = rule.Rule{
			ID: audit.NewID(), ProjectID: "p", Slug: fmt.Sprintf("B-%d", from+i), Version: 1, Status: rule.Effective,
			Statement: fmt.Sprintf("Rule %d: a payment must be approved by a second person before it is carried out.", from+i),
			Rationale: strings.Repeat("Two people see more than one. ", 10), Check: &rule.Check{CEL: fmt.Sprintf("facts.amount <= %d", i)},
			Scope: []string{"finance/payments"}, Tags: []string{"money", "approval"},
			SourceRefs: []rule.SourceRef{{Kind: "policy", URI: "https://example.com/policies/payments", Section: "4.2"}},
			CreatedAt:  time.Now().UTC(), UpdatedAt: time.Now().UTC(),
		}
		rules[i].Normalize()
	}
	return rules
}

// change runs fn with the corpus version raised.
func change(b *testing.B, s store.Store, fn func(tx store.Tx, cv int64) error) {
	b.Helper()
	err := s.Update(b.Context(), func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(b.Context(), "p")
		if err != nil {
			return err
		}
		return fn(tx, cv)
	})
	if err != nil {
		b.Fatal(err)
	}
}

func fill(b *testing.B, s store.Store, n int) {
	b.Helper()
	for from := 0; from < n; from += 10_000 {
		change(b, s, func(tx store.Tx, cv int64) error {
			return tx.Rules.Insert(b.Context(), cv, benchRules(from, min(10_000, n-from)))
		})
	}
}

// BenchmarkInsertRules stores 10,000 rules of about 1 KB in one transaction.
func BenchmarkInsertRules(b *testing.B) {
	eachDatabase(b, func(b *testing.B, s store.Store) {
		n := 0
		for b.Loop() {
			change(b, s, func(tx store.Tx, cv int64) error { return tx.Rules.Insert(b.Context(), cv, benchRules(n, 10_000)) })
			n += 10_000
		}
	})
}

// BenchmarkUpdateRules changes 10,000 rules of about 1 KB in one transaction.
func BenchmarkUpdateRules(b *testing.B) {
	eachDatabase(b, func(b *testing.B, s store.Store) {
		rules := benchRules(0, 10_000)
		change(b, s, func(tx store.Tx, cv int64) error { return tx.Rules.Insert(b.Context(), cv, rules) })
		for b.Loop() {
			for i := range rules {
				rules[i].Version++
			}
			change(b, s, func(tx store.Tx, cv int64) error { return tx.Rules.Update(b.Context(), cv, rules) })
		}
	})
}

// BenchmarkChanges reads a corpus of 100,000 rules whole, as a cold start does, and one change in it, as a follower does.
func BenchmarkChanges(b *testing.B) {
	eachDatabase(b, func(b *testing.B, s store.Store) {
		fill(b, s, 100_000)
		read := func(b *testing.B, after int64, want int) {
			n := 0
			if _, err := s.Rules.Changes(b.Context(), "p", after, func(store.RuleState) error { n++; return nil }); err != nil || n != want {
				b.Fatal(n, err)
			}
		}
		b.Run("whole", func(b *testing.B) {
			for b.Loop() {
				read(b, 0, 100_000)
			}
		})
		change(b, s, func(tx store.Tx, cv int64) error { return tx.Rules.Insert(b.Context(), cv, benchRules(100_000, 1)) })
		b.Run("one", func(b *testing.B) {
			for b.Loop() {
				read(b, 10, 1)
			}
		})
	})
}

// BenchmarkRules looks up 200 rules by their slugs, and one by its id.
func BenchmarkRules(b *testing.B) {
	eachDatabase(b, func(b *testing.B, s store.Store) {
		rules := benchRules(0, 10_000)
		change(b, s, func(tx store.Tx, cv int64) error { return tx.Rules.Insert(b.Context(), cv, rules) })
		refs := make([]string, 200)
		for i := range refs {
			refs[i] = rules[50*i].Slug
		}
		b.Run("many", func(b *testing.B) {
			for b.Loop() {
				if found, err := s.Rules.GetMany(b.Context(), "p", refs); err != nil || len(found) != len(refs) {
					b.Fatal(len(found), err)
				}
			}
		})
		b.Run("one", func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Rules.Get(b.Context(), "p", rules[77].ID); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

// BenchmarkAppendAudit appends durable batches of 32 records with bodies of 1.5 KB that do not compress, as group commit
// does under load.
func BenchmarkAppendAudit(b *testing.B) {
	eachDatabase(b, func(b *testing.B, s store.Store) {
		body := make([]byte, 1500)
		if _, err := rand.Read(body); err != nil {
			b.Fatal(err)
		}
		const batch = 32
		for b.Loop() {
			err := s.Update(b.Context(), func(tx store.Tx) error {
				records := make([]audit.Record, batch)
				for i := range records {
					records[i] = audit.Record{Kind: audit.KindEvaluation, At: time.Now(), Body: body, Actor: "key:ci", Verdict: "ALLOW", Mode: "preflight"}
				}
				return audit.Append(b.Context(), tx, "p", records...)
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(batch*float64(b.N)/b.Elapsed().Seconds(), "records/s")
	})
}

// BenchmarkFindAudit counts and pages through 200,000 entries.
func BenchmarkFindAudit(b *testing.B) {
	eachDatabase(b, func(b *testing.B, s store.Store) {
		for n := 0; n < 200_000; n += 10_000 {
			err := s.Update(b.Context(), func(tx store.Tx) error {
				records := make([]audit.Record, 10_000)
				for i := range records {
					records[i] = audit.Record{Kind: audit.KindEvaluation, At: time.Now(), Body: []byte(strings.Repeat("x", 600)), Actor: "key:ci", Verdict: "ALLOW", Mode: "preflight"}
					if i%1000 == 0 {
						records[i].Verdict = "DENY"
					}
					if i%10 == 0 {
						records[i].Kind, records[i].Verdict, records[i].Mode = audit.KindRule, "", ""
					}
				}
				return audit.Append(b.Context(), tx, "p", records...)
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		for name, f := range map[string]store.AuditFilter{
			"all": {}, "kind": {Kind: audit.KindEvaluation}, "verdict": {Verdict: "DENY"},
			"kind and verdict": {Kind: audit.KindEvaluation, Verdict: "DENY"}, "nobody": {Actor: "nobody"},
		} {
			f.ProjectID, f.Limit = "p", 20
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					if _, _, err := s.Audit.Find(b.Context(), f); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}
