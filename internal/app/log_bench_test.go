package app

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/config"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// BenchmarkEvaluateWithTheLog has 64 clients ask for whole evaluations, on one project and on 64, with the transparency log and without it, in turns, so that both meet
// the same machine. It reports the evaluations a second of each. With the log, checkpoints are made in
// one of 30 seconds, as by default.
func BenchmarkEvaluateWithTheLog(b *testing.B) {
	for _, projects := range []int{1, 64} {
		b.Run(fmt.Sprintf("SQLite/projects=%d", projects), func(b *testing.B) {
			dir := litetest.Dir(b)
			evaluateWithTheLog(b, projects, map[string]string{"data": dir}, "sqlite", filepath.Join(dir, sqlstore.FileName))
		})
		b.Run(fmt.Sprintf("PostgreSQL/projects=%d", projects), func(b *testing.B) {
			dsn := pgtest.DSN(b)
			evaluateWithTheLog(b, projects, map[string]string{"database_url": dsn, "audit_folder": b.TempDir(), "data": b.TempDir()}, "pgx", dsn)
		})
	}
}

// sealedTurn is how many turns of a second have one with checkpoints.
const sealedTurn = 30

func evaluateWithTheLog(b *testing.B, projects int, settings map[string]string, driver, source string) {
	b.Helper()
	settings["no_seed"], settings["listen"] = "true", "127.0.0.1:0"
	cfg, err := config.Load("", func(string) string { return "" }, settings)
	if err != nil {
		b.Fatal(err)
	}
	a, err := New(b.Context(), cfg, slog.New(slog.DiscardHandler), Options{Env: func(string) string { return "" }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = a.Stop(context.Background()) })
	if err := compareHistory(b.Context(), cfg, a.parts.book, a.log); err != nil {
		b.Fatal(err)
	}
	send := func(path, body string) {
		req := httptest.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(body))
		w := httptest.NewRecorder()
		if a.Handler().ServeHTTP(w, req); w.Code/100 != 2 {
			b.Errorf("%d %.300s", w.Code, w.Body)
		}
	}
	var ids []string
	for i := range projects {
		id := fmt.Sprintf("p%d", i)
		ids = append(ids, id)
		send("/api/v1/projects", `{"id":"`+id+`"}`)
		send("/api/v1/rules/import?project_id="+id, `{"rules":[{"slug":"A","status":"EFFECTIVE","statement":"Payments above 100 must be approved.","check":{"cel":"facts.amount <= 100"}}]}`)
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	// turn has the clients ask for a while, and returns how many evaluations they got.
	turns := 0
	turn := func(log bool) int64 {
		if log {
			if err := a.parts.tiler.Handle(b.Context(), wire.Job{}, func(int, int) {}); err != nil {
				b.Error(err)
			}
		} else if _, err := db.ExecContext(b.Context(), "UPDATE audit_heads SET tree = ''"); err != nil { // as in a chain of an older version
			b.Error(err)
		}
		ctx, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		var done atomic.Int64
		var wg sync.WaitGroup
		if log && turns%sealedTurn == 0 {
			wg.Go(func() { a.parts.book.SealAll(ctx) })
		}
		for c := range 64 {
			wg.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					send("/api/v1/evaluate?project_id="+ids[c%projects], fmt.Sprintf(`{"facts":{"amount":%d}}`, i%200))
					done.Add(1)
				}
			})
		}
		wg.Wait()
		return done.Load()
	}
	turn(true)
	var with, without int64
	for b.Loop() {
		with += turn(true)
		without += turn(false)
		turns++
	}
	b.ReportMetric(float64(with)/float64(turns), "with/s")
	b.ReportMetric(float64(without)/float64(turns), "without/s")
	b.ReportMetric(100*(1-float64(with)/float64(without)), "slower-%")
}
