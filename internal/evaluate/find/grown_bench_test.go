package find

import (
	"slices"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// BenchmarkGrown writes records in turn to a chain of many entries and to one of 10,000, in groups of 32 as the server does under load.
// It reports the medians and how many times as long the large one takes. Then it verifies 200,000 entries in parts.
func BenchmarkGrown(b *testing.B) {
	n := benchSize(b)
	for _, name := range []string{"SQLite", "PostgreSQL"} {
		b.Run(name, func(b *testing.B) {
			large := openKept(b, name)
			b.Cleanup(func() { _ = large.Close() })
			fillChain(b, large, n)
			b.Setenv(keepEnv, "") // a fresh database
			small := openKept(b, name)
			b.Cleanup(func() { _ = small.Close() })
			fillChain(b, small, 10_000)
			body := audit.JSON(&wire.EvaluationRecord{Evaluation: evaluation()})
			var took [2][]time.Duration
			for b.Loop() {
				for i, s := range []store.Store{large, small} {
					began := time.Now()
					appendRecords(b, s, "p", body, 32)
					took[i] = append(took[i], time.Since(began))
				}
			}
			for i := range took {
				slices.Sort(took[i])
			}
			median := len(took[0]) / 2
			b.ReportMetric(float64(took[0][median].Microseconds())/1000, "large-ms")
			b.ReportMetric(float64(took[1][median].Microseconds())/1000, "small-ms")
			b.ReportMetric(float64(took[0][median])/float64(took[1][median]), "times")
			verifyRate(b, small, body)
		})
	}
}

// appendRecords adds evaluations to a project's chain in one transaction.
func appendRecords(b *testing.B, s store.Store, projectID string, body []byte, n int) {
	b.Helper()
	err := s.Update(b.Context(), func(tx store.Tx) error {
		records := make([]audit.Record, n)
		for i := range records {
			records[i] = audit.Record{Kind: audit.KindEvaluation, At: time.Now(), Body: body, Actor: "key:ci", Verdict: "ALLOW", Mode: "preflight"}
		}
		return audit.Append(b.Context(), tx, projectID, records...)
	})
	if err != nil {
		b.Fatal(err)
	}
}

// verifyRate reports how many entries a second are verified, in parts of 20,000.
func verifyRate(b *testing.B, s store.Store, body []byte) {
	b.Helper()
	const entries, part = 200_000, 20_000
	err := s.Update(b.Context(), func(tx store.Tx) error {
		return tx.Projects.Create(b.Context(), rule.Project{ID: "v", Name: "v"})
	})
	if err != nil {
		b.Fatal(err)
	}
	for range entries / part {
		appendRecords(b, s, "v", body, part)
	}
	began := time.Now()
	for next := (&wire.AuditHead{}); next != nil; {
		report, err := audit.VerifyPart(b.Context(), s.Audit, "v", *next, wire.AuditHead{}, part)
		if err != nil || !report.OK() {
			b.Fatal(report, err)
		}
		next = report.Next
	}
	b.ReportMetric(entries/time.Since(began).Seconds(), "verified/s")
}
