package sqlstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/sqlstore"
)

func sqliteWithProject(b *testing.B) store.Store {
	s, err := sqlstore.OpenSQLite(b.Context(), b.TempDir(), sqlstore.Options{})
	opened(b, s, err)
	err = s.Update(b.Context(), func(tx store.Tx) error { return tx.CreateProject(b.Context(), rule.Project{ID: "p", Name: "p"}) })
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func benchRules(from, n int) []rule.Rule {
	rules := make([]rule.Rule, n)
	for i := range rules {
		rules[i] = rule.Rule{
			ID: audit.NewID(), ProjectID: "p", Slug: fmt.Sprintf("B-%d", from+i), Version: 1, Status: rule.Effective,
			Statement: fmt.Sprintf("Rule %d: a payment must be approved by a second person before it is carried out.", from+i),
			Rationale: strings.Repeat("Two people see more than one. ", 8), Check: &rule.Check{CEL: fmt.Sprintf("facts.amount <= %d", i)},
			CreatedAt: time.Now().UTC(), UpdatedAt: time.Now().UTC(),
		}
		rules[i].Normalize()
	}
	return rules
}

func insert(b *testing.B, s store.Store, rules []rule.Rule) {
	err := s.Update(b.Context(), func(tx store.Tx) error {
		cv, err := tx.RaiseCorpus(b.Context(), "p")
		if err != nil {
			return err
		}
		return tx.InsertRules(b.Context(), cv, rules)
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkInsertRules stores 10,000 rules of about 1 KB in one transaction.
func BenchmarkInsertRules(b *testing.B) {
	s := sqliteWithProject(b)
	n := 0
	for b.Loop() {
		insert(b, s, benchRules(n, 10_000))
		n += 10_000
	}
}

// BenchmarkChanges reads a corpus of 100,000 rules whole, as a cold start does.
func BenchmarkChanges(b *testing.B) {
	s := sqliteWithProject(b)
	for i := range 10 {
		insert(b, s, benchRules(10_000*i, 10_000))
	}
	for b.Loop() {
		n := 0
		if _, err := s.Changes(b.Context(), "p", 0, func(store.RuleState) error { n++; return nil }); err != nil || n != 100_000 {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkAppendAudit appends durable batches of 32 records of 1.5 KB, as group commit does under load.
func BenchmarkAppendAudit(b *testing.B) {
	s := sqliteWithProject(b)
	body := []byte(strings.Repeat("x", 1500))
	for b.Loop() {
		err := s.Update(b.Context(), func(tx store.Tx) error {
			records := make([]audit.Record, 32)
			for i := range records {
				records[i] = audit.Record{Kind: audit.KindEvaluation, At: time.Now(), Body: body, Verdict: "ALLOW"}
			}
			return audit.Append(b.Context(), tx, "p", records...)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(32*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
