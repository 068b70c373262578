package audit_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// BenchmarkVerify verifies a chain of evaluations in parts, as `tenet audit verify` does: those of 20 verdicts, whose bodies are most of the work, and those without any,
// where it is the entries of the chain. TENET_BENCH_EVALUATIONS is their number.
func BenchmarkVerify(b *testing.B) {
	n := 20_000
	if text := os.Getenv("TENET_BENCH_EVALUATIONS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	run := func(b *testing.B, rules int, s store.Store, err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		fillChain(b, s, n, rules)
		for b.Loop() {
			var from wire.AuditHead
			for entries := int64(0); entries < int64(n); {
				part, err := audit.VerifyPart(b.Context(), s.Audit, "p", from, wire.AuditHead{}, 20_000)
				if err != nil || !part.OK() {
					b.Fatal(part, err)
				}
				if entries += part.Entries; part.Next != nil {
					from = *part.Next
				}
			}
		}
		b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "entries/s")
	}
	for _, rules := range []int{20, 0} {
		b.Run(fmt.Sprintf("SQLite/%d", rules), func(b *testing.B) {
			s, err := sqlstore.OpenSQLite(b.Context(), litetest.Dir(b), sqlstore.Options{})
			run(b, rules, s, err)
		})
		b.Run(fmt.Sprintf("PostgreSQL/%d", rules), func(b *testing.B) {
			s, err := sqlstore.OpenPostgres(b.Context(), pgtest.DSN(b), sqlstore.Options{})
			run(b, rules, s, err)
		})
	}
}

// fillChain makes the project p with n evaluations by some rules.
func fillChain(b *testing.B, s store.Store, n, rules int) {
	b.Helper()
	err := s.Update(b.Context(), func(tx store.Tx) error {
		return tx.Projects.Create(b.Context(), rule.Project{ID: "p", Name: "p", CreatedAt: time.Now(), UpdatedAt: time.Now()})
	})
	for from := 0; from < n && err == nil; {
		batch := make([]audit.Record, min(250, n-from))
		for i := range batch {
			batch[i] = audit.Record{Kind: audit.KindEvaluation, At: time.Now(), Actor: "ann", Verdict: "ALLOW", Mode: "preflight", Body: audit.BodyOf(b, from+i, rules)}
		}
		err = s.Update(context.WithoutCancel(b.Context()), func(tx store.Tx) error { return audit.Append(b.Context(), tx, "p", batch...) })
		from += len(batch)
	}
	if err != nil {
		b.Fatal(err)
	}
}
