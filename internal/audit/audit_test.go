package audit_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// opened is a store with the project p, and the means to change its rows behind its back.
type opened struct {
	store.Store
	driver, source string
}

func each(t *testing.T, test func(t *testing.T, s opened)) {
	t.Helper()
	for name, open := range map[string]func(t *testing.T) (opened, error){
		"SQLite": func(t *testing.T) (opened, error) {
			dir := t.TempDir()
			s, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
			return opened{s, "sqlite", filepath.Join(dir, sqlstore.FileName)}, err
		},
		"PostgreSQL": func(t *testing.T) (opened, error) {
			dsn := pgtest.DSN(t)
			s, err := sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{})
			return opened{s, "pgx", dsn}, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			err = s.Update(t.Context(), func(tx store.Tx) error {
				return tx.Projects.Create(t.Context(), rule.Project{ID: "p", Name: "p", CreatedAt: time.Now(), UpdatedAt: time.Now()})
			})
			if err != nil {
				t.Fatal(err)
			}
			test(t, s)
		})
	}
}

func record(n int) audit.Record {
	return audit.Record{
		ProjectID: "p", Kind: audit.KindEvaluation, At: time.Now(), Actor: "ann", Verdict: "DENY", Mode: "preflight",
		Body: fmt.Appendf(nil, `{"n": %d}`, n),
	}
}

// tamper changes the database as somebody with access to it could.
func (s opened) tamper(t *testing.T, statements ...string) {
	t.Helper()
	db, err := sql.Open(s.driver, s.source)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func verify(t *testing.T, s opened, expect wire.AuditHead) *wire.AuditReport {
	t.Helper()
	report, err := audit.Verify(t.Context(), s.Audit, "p", expect)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestWriterMakesOneChainOfManyCallers(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		// Two writers stand for two nodes.
		writers := []*audit.Writer{audit.NewWriter(s), audit.NewWriter(s)}
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				for n := range 10 {
					if err := writers[i%2].Append(t.Context(), record(n)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for _, w := range writers {
			w.Close()
		}
		if report := verify(t, s, wire.AuditHead{}); !report.OK() || report.Entries != 640 || report.Head.Seq != 640 {
			t.Errorf("report %+v, want 640 entries and no problem", report)
		}
	})
}

func TestAppendIsDurableWhenItReturns(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		w := audit.NewWriter(s)
		defer w.Close()
		r := record(1)
		r.ID = audit.NewID()
		if err := w.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		e, err := s.Audit.Get(t.Context(), "p", r.ID)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := audit.Body(e); err != nil || string(body) != `{"n": 1}` {
			t.Errorf("body %s, %v", body, err)
		}
	})
}

func TestAFaultyRecordHarmsNoOther(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		w := audit.NewWriter(s)
		defer w.Close()
		first := record(0)
		first.ID = audit.NewID()
		var wg sync.WaitGroup
		codes := make([]rule.Code, 40)
		for i := range codes {
			wg.Go(func() {
				r := record(i)
				switch i % 4 {
				case 1:
					r.ProjectID = "nowhere"
				case 2:
					r.ID = first.ID // only one of them can have it
				}
				codes[i] = rule.CodeOf(w.Append(t.Context(), r))
			})
		}
		wg.Wait()
		count := map[rule.Code]int{}
		for i, c := range codes {
			count[c]++
			if i%4 == 1 && c != rule.CodeNotFound {
				t.Errorf("a record of no project: %q, want not_found", c)
			}
		}
		if count[""] != 21 || count[rule.CodeConflict] != 9 {
			t.Errorf("results %v; want 21 records written and 9 conflicts", count)
		}
		if report := verify(t, s, wire.AuditHead{}); !report.OK() || report.Entries != 21 {
			t.Errorf("report %+v", report)
		}
	})
}

func TestVerifyFindsEveryKindOfTampering(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		w := audit.NewWriter(s)
		for n := range 10 {
			if err := w.Append(t.Context(), record(n)); err != nil {
				t.Fatal(err)
			}
		}
		w.Close()
		noted := verify(t, s, wire.AuditHead{}).Head
		if report := verify(t, s, noted); !report.OK() {
			t.Fatalf("before tampering: %+v", report)
		}
		backup := "CREATE TABLE kept AS SELECT * FROM audit_entries"
		restore := []string{
			"DELETE FROM audit_entries", "INSERT INTO audit_entries SELECT * FROM kept",
			fmt.Sprintf("UPDATE audit_heads SET seq = %d, hash = '%s'", noted.Seq, noted.Hash),
		}
		s.tamper(t, backup)
		for _, tt := range []struct {
			name       string
			statements []string
			want       string
		}{
			{"a changed verdict", []string{"UPDATE audit_entries SET verdict = 'ALLOW' WHERE seq = 4"}, "was changed"},
			{"a changed actor", []string{"UPDATE audit_entries SET actor = 'bob' WHERE seq = 10"}, "was changed"},
			{"a changed time", []string{"UPDATE audit_entries SET at = at - 1 WHERE seq = 1"}, "was changed"},
			{"a changed body", []string{"UPDATE audit_entries SET body = (SELECT body FROM kept WHERE seq = 5) WHERE seq = 4"}, "body"},
			{
				"a changed body with its hash",
				[]string{"UPDATE audit_entries SET body = (SELECT body FROM kept WHERE seq = 5), body_hash = (SELECT body_hash FROM kept WHERE seq = 5) WHERE seq = 4"},
				"was changed",
			},
			{"a deleted entry", []string{"DELETE FROM audit_entries WHERE seq = 4"}, "missing"},
			{
				"an entry beyond the head",
				[]string{"UPDATE audit_heads SET seq = 9, hash = (SELECT hash FROM kept WHERE seq = 9)"},
				"head",
			},
			{
				"an entry before the first",
				[]string{"UPDATE audit_entries SET seq = -3 WHERE seq = 10", "UPDATE audit_heads SET seq = 9, hash = (SELECT hash FROM kept WHERE seq = 9)"},
				"does not follow",
			},
			{"a deleted start", []string{"DELETE FROM audit_entries WHERE seq = 1"}, "missing"},
			{"a deleted end", []string{"DELETE FROM audit_entries WHERE seq = 10"}, "head"},
			{
				"exchanged entries",
				[]string{"UPDATE audit_entries SET seq = 99 WHERE seq = 4", "UPDATE audit_entries SET seq = 4 WHERE seq = 5", "UPDATE audit_entries SET seq = 5 WHERE seq = 99"},
				"does not follow",
			},
			{
				"an end cut off together with the head",
				[]string{"DELETE FROM audit_entries WHERE seq > 8", "UPDATE audit_heads SET seq = 8, hash = (SELECT hash FROM kept WHERE seq = 8)"},
				"expected hash",
			},
			{"everything deleted", []string{"DELETE FROM audit_entries", "UPDATE audit_heads SET seq = 0, hash = ''"}, "expected hash"},
		} {
			s.tamper(t, tt.statements...)
			report := verify(t, s, noted)
			var messages []string
			for _, p := range report.Problems {
				messages = append(messages, p.Message)
			}
			if all := strings.Join(messages, "; "); report.OK() || !strings.Contains(all, tt.want) {
				t.Errorf("%s: problems %q, want one with %q", tt.name, all, tt.want)
			}
			s.tamper(t, restore...)
			if report := verify(t, s, noted); !report.OK() {
				t.Fatalf("%s: not restored: %+v", tt.name, report)
			}
		}
	})
}

func TestClosedWriterRefuses(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		w := audit.NewWriter(s)
		w.Close()
		w.Close()
		if err := w.Append(t.Context(), record(1)); rule.CodeOf(err) != rule.CodeUnavailable {
			t.Errorf("append to a closed writer: %v", err)
		}
	})
}

// hanging is a store whose transactions never end by themselves.
type hanging struct{}

func (hanging) Update(ctx context.Context, _ func(store.Tx) error) error {
	<-ctx.Done()
	return ctx.Err()
}

func (hanging) Serial() bool { return true }

// The time that records wait together for a database that hangs does not grow with their number.
func TestAHangingDatabaseFailsRequestsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := audit.NewWriter(hanging{})
		began := time.Now()
		var wg sync.WaitGroup
		for n := range 100 {
			wg.Go(func() {
				if err := w.Append(t.Context(), record(n)); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("append to a database that hangs: %v", err)
				}
			})
		}
		wg.Wait()
		if waited := time.Since(began); waited > 2*time.Minute {
			t.Errorf("it took %v", waited)
		}
		w.Close()
	})
}

func TestAppendEndsWithItsContext(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		w := audit.NewWriter(s)
		defer w.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.Append(ctx, record(1)); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("append under a cancelled context: %v", err)
		}
		if report := verify(t, s, wire.AuditHead{}); !report.OK() {
			t.Errorf("report %+v", report)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	for _, projects := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("SQLite/projects=%d", projects), func(b *testing.B) {
			s, err := sqlstore.OpenSQLite(b.Context(), litetest.Dir(b), sqlstore.Options{})
			benchmarkAppend(b, s, err, projects)
		})
		b.Run(fmt.Sprintf("PostgreSQL/projects=%d", projects), func(b *testing.B) {
			s, err := sqlstore.OpenPostgres(b.Context(), pgtest.DSN(b), sqlstore.Options{})
			benchmarkAppend(b, s, err, projects)
		})
	}
}

// benchmarkAppend has 64 clients append to some projects.
func benchmarkAppend(b *testing.B, s store.Store, err error, projects int) {
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	err = s.Update(b.Context(), func(tx store.Tx) error {
		for n := range projects {
			if err := tx.Projects.Create(b.Context(), rule.Project{ID: fmt.Sprintf("p%d", n), Name: "p"}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	db := &counted{Database: s}
	w := audit.NewWriter(db)
	defer w.Close()
	const clients = 64
	var taken atomic.Int64
	latencies := make([][]time.Duration, clients)
	var wg sync.WaitGroup
	b.ResetTimer()
	for c := range clients {
		wg.Go(func() {
			r := record(1)
			r.ProjectID = fmt.Sprintf("p%d", c%projects)
			r.Body = []byte(`{"text": "` + strings.Repeat("evidence and reasons ", 400) + `"}`)
			for taken.Add(1) <= int64(b.N) {
				begun := time.Now()
				if err := w.Append(b.Context(), r); err != nil {
					b.Error(err)
				}
				latencies[c] = append(latencies[c], time.Since(begun))
			}
		})
	}
	wg.Wait()
	all := slices.Concat(latencies...)
	slices.Sort(all)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(b.N)/float64(db.updates.Load()), "records/tx")
}

// counted counts transactions.
type counted struct {
	audit.Database
	updates atomic.Int64
}

func (c *counted) Update(ctx context.Context, fn func(store.Tx) error) error {
	c.updates.Add(1)
	return c.Database.Update(ctx, fn)
}

// What belongs to a record is written with it or not at all, and the fault of one leaves the records of others alone.
func TestWhatBelongsToARecord(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		project := func(id string, err error) func(context.Context, store.Tx) error {
			return func(ctx context.Context, tx store.Tx) error {
				return errors.Join(tx.Projects.Create(ctx, rule.Project{ID: id, Name: id, CreatedAt: time.Now(), UpdatedAt: time.Now()}), err)
			}
		}
		w := audit.NewWriter(s)
		t.Cleanup(w.Close)
		broken := errors.New("broken")
		var wg sync.WaitGroup
		for n := range 20 {
			wg.Go(func() {
				r := record(n)
				var want error
				switch {
				case n == 7:
					r.Also, want = project("bad", broken), broken
				case n%2 == 0:
					r.Also = project(fmt.Sprintf("n%d", n), nil)
				}
				if err := w.Append(t.Context(), r); !errors.Is(err, want) {
					t.Errorf("record %d: %v, want %v", n, err, want)
				}
			})
		}
		wg.Wait()
		err := s.Update(t.Context(), func(tx store.Tx) error {
			r := record(20)
			r.Also = project("inside", nil)
			return audit.Append(t.Context(), tx, "p", r)
		})
		if err != nil {
			t.Error(err)
		}
		projects, err := s.Projects.List(t.Context())
		if err != nil || len(projects) != 1+10+1 {
			t.Errorf("%d projects, %v", len(projects), err)
		}
		if head, err := s.Audit.Head(t.Context(), "p"); err != nil || head.Seq != 20 {
			t.Errorf("head %d, %v; want all records but one", head.Seq, err)
		}
	})
}

// Parts of a chain, each verified after the part before it, find what the verification of the whole finds.
func TestVerifyInParts(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		w := audit.NewWriter(s)
		defer w.Close()
		const entries = 1200
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() {
				for i := range entries / 8 {
					if err := w.Append(t.Context(), record(n*1000+i)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		inParts := func(expect wire.AuditHead) (parts int, total int64, problems []wire.AuditProblem) {
			from := wire.AuditHead{}
			for {
				r, err := audit.VerifyPart(t.Context(), s.Audit, "p", from, expect, 500)
				if err != nil {
					t.Fatal(err)
				}
				parts, total, problems = parts+1, total+r.Entries, append(problems, r.Problems...)
				if r.Next == nil {
					return parts, total, problems
				}
				if from = *r.Next; expect.Seq <= from.Seq {
					expect = wire.AuditHead{}
				}
			}
		}
		noted, err := s.Audit.Entries(t.Context(), "p", 99, 1)
		if err != nil {
			t.Fatal(err)
		}
		if parts, total, problems := inParts(wire.AuditHead{Seq: 100, Hash: noted[0].Hash}); parts != 3 || total != entries || len(problems) > 0 {
			t.Errorf("%d parts, %d entries, problems %v", parts, total, problems)
		}
		if _, _, problems := inParts(wire.AuditHead{Seq: 100, Hash: noted[0].PrevHash}); len(problems) != 1 || problems[0].Seq != 100 {
			t.Errorf("problems %v, want that entry 100 has another hash", problems)
		}
		for _, limit := range []int{1, 7, 501} {
			r, err := audit.VerifyPart(t.Context(), s.Audit, "p", wire.AuditHead{}, wire.AuditHead{}, limit)
			if err != nil || r.Entries != int64(limit) || r.Next == nil || r.Next.Seq != int64(limit) {
				t.Errorf("a limit of %d: %+v, %v", limit, r, err)
			}
		}
		s.tamper(t, "UPDATE audit_entries SET actor = 'eve' WHERE seq = 700")
		if _, total, problems := inParts(wire.AuditHead{}); total != entries || len(problems) != 1 || problems[0].Seq != 700 {
			t.Errorf("%d entries, problems %v, want the one of entry 700", total, problems)
		}
		forged := wire.AuditHead{Seq: 1100, Hash: strings.Repeat("0", 64)}
		if r, err := audit.VerifyPart(t.Context(), s.Audit, "p", forged, wire.AuditHead{}, 0); err != nil || r.OK() {
			t.Errorf("a start that the chain does not have: %+v, %v", r, err)
		}
		if r, err := audit.VerifyPart(t.Context(), s.Audit, "p", wire.AuditHead{Seq: 5000, Hash: forged.Hash}, wire.AuditHead{}, 0); err != nil || r.OK() {
			t.Errorf("a start behind the end of the chain: %+v, %v", r, err)
		}
	})
}
