package sqlstore_test

import (
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/store"
	"tenet/internal/store/pgtest"
)

// bodyBytes is the length of the bodies that the benchmarks write: about that of an evaluation of 20 rules, compressed.
const bodyBytes = 2300

// appendMany appends evaluations of random bodies, 64 in a transaction as under load, within a day.
func appendMany(b *testing.B, s store.Store, from time.Time, n int) {
	b.Helper()
	for done := 0; done < n; done += 64 {
		err := s.Update(b.Context(), func(tx store.Tx) error {
			head, err := tx.Audit.Lock(b.Context(), "p")
			if err != nil {
				return err
			}
			entries := make([]store.AuditEntry, 64)
			for i := range entries {
				body := make([]byte, bodyBytes)
				_, _ = rand.Read(body) // never fails, see crypto/rand
				e := &entries[i]
				*e = store.AuditEntry{
					ProjectID: "p", Seq: head.Seq + 1, ID: audit.NewID(), Kind: audit.KindEvaluation, At: from.Add(time.Duration(done+i) * time.Millisecond), Actor: "ann",
					Verdict: "ALLOW", Mode: "preflight", Body: body, BodyHash: audit.BodyHash(body), PrevHash: head.Hash,
				}
				e.Hash = audit.Hash(*e)
				head.Seq, head.Hash = e.Seq, e.Hash
			}
			return tx.Audit.Append(b.Context(), entries, nil)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// forms are the two ways in which bodies lie on PostgreSQL.
func forms(b *testing.B, bench func(b *testing.B, s store.Store, dsn string)) {
	if os.Getenv(pgtest.Env) == "" {
		b.Skipf("%s is not set", pgtest.Env)
	}
	for _, form := range []string{"with entries", "apart"} {
		b.Run(form, func(b *testing.B) {
			dsn := pgtest.DSN(b)
			s := openParts(b, dsn, "p")
			if form == "apart" {
				makePart(b, s, days(firstDay, 30)...)
			}
			bench(b, s, dsn)
		})
	}
}

// BenchmarkAppendBodies appends 64 evaluations in a transaction.
func BenchmarkAppendBodies(b *testing.B) {
	forms(b, func(b *testing.B, s store.Store, _ string) {
		appendMany(b, s, firstDay, 640)
		for b.Loop() {
			appendMany(b, s, firstDay.Add(time.Hour), 64)
		}
	})
}

// BenchmarkReadBodies reads a page of the chain, as its verification does.
func BenchmarkReadBodies(b *testing.B) {
	forms(b, func(b *testing.B, s store.Store, _ string) {
		appendMany(b, s, firstDay, 20_000)
		after := int64(0)
		for b.Loop() {
			list, err := s.Audit.Entries(b.Context(), "p", after, 500)
			if err != nil || len(list) < 500 || len(list[499].Body) != bodyBytes {
				b.Fatal(len(list), err)
			}
			after = (after + 500) % 19_000
		}
	})
}

// BenchmarkRemoveBodies removes the bodies of a day, 50,000 without TENET_BENCH_BODIES: one by one, and with their part. It says what is left of their room.
func BenchmarkRemoveBodies(b *testing.B) {
	n := 50_000
	if text := os.Getenv("TENET_BENCH_BODIES"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	forms(b, func(b *testing.B, s store.Store, dsn string) {
		for day := 0; b.Loop(); day++ {
			b.StopTimer()
			from := firstDay.AddDate(0, 0, day)
			appendMany(b, s, from, n)
			before := room(b, dsn)
			r, _, err := audit.Announce(b.Context(), s, s.Audit, audit.Pruning{ProjectID: "p", Kind: audit.KindEvaluation, Before: from.AddDate(0, 0, 1), Now: from.AddDate(0, 0, 2)})
			if err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			if _, err := audit.DropParts(b.Context(), s, s.Parts, map[string]*audit.Removal{"p": r}); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(day+1), "parts-ms")
			if _, err := r.Finish(b.Context(), s, s.Audit); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			b.ReportMetric(float64(before>>20), "before-MiB")
			b.ReportMetric(float64(room(b, dsn)>>20), "after-MiB")
			b.StartTimer()
		}
	})
}

// room is the size of a database, in bytes.
func room(b *testing.B, dsn string) (bytes int64) {
	b.Helper()
	db, err := sql.Open("pgx", dsn)
	if err == nil {
		err = db.QueryRowContext(b.Context(), "SELECT pg_database_size(current_database())").Scan(&bytes)
		_ = db.Close() // it has read
	}
	if err != nil {
		b.Fatal(fmt.Errorf("size of the database: %w", err))
	}
	return bytes
}
