package app

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tenet/internal/config"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// BenchmarkEvaluateWithTheLog has 64 clients ask for whole evaluations, on one project and on 64, with the transparency log and without it, in
// turns of a second, so that both meet the same machine. With the log, checkpoints are made in one of 30 seconds, as by default. It reports for each
// the evaluations a second and the processor time of this process that one took, and how much slower and dearer those with the log are; slower-low-%
// and slower-high-% bound the first with 95 % confidence, by the ratio of neighboring turns.
//
//	go test ./internal/app -run '^$' -bench EvaluateWithTheLog -benchtime 60x
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
	measured := func(log bool, to *loggedTurns) int64 {
		before := cpuTime(b)
		n := turn(log)
		to.evaluations, to.cpu = to.evaluations+n, to.cpu+cpuTime(b)-before
		return n
	}
	turn(true)
	turn(false)
	var with, without loggedTurns
	var ratios []float64
	for b.Loop() {
		var a, c int64
		if turns%2 == 0 { // what comes second meets a larger database
			a = measured(true, &with)
			c = measured(false, &without)
		} else {
			c = measured(false, &without)
			a = measured(true, &with)
		}
		ratios = append(ratios, float64(a)/float64(c))
		turns++
	}
	b.ReportMetric(float64(with.evaluations)/float64(turns), "with/s")
	b.ReportMetric(float64(without.evaluations)/float64(turns), "without/s")
	b.ReportMetric(with.each(), "with-cpu-us/eval")
	b.ReportMetric(without.each(), "without-cpu-us/eval")
	b.ReportMetric(100*(with.each()/without.each()-1), "dearer-%")
	mean, margin := meanOf(ratios)
	b.ReportMetric(100*(1-mean), "slower-%")
	b.ReportMetric(100*(1-mean-margin), "slower-low-%")
	b.ReportMetric(100*(1-mean+margin), "slower-high-%")
}

// loggedTurns are the turns of one kind.
type loggedTurns struct {
	evaluations int64
	cpu         time.Duration
}

// each is the processor time of an evaluation in microseconds.
func (l *loggedTurns) each() float64 { return float64(l.cpu.Microseconds()) / float64(l.evaluations) }

// meanOf returns the mean of some values, and half the width of its interval at 95 % confidence.
func meanOf(values []float64) (mean, margin float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	var squares float64
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	if len(values) < 2 {
		return mean, 0
	}
	return mean, 1.96 * math.Sqrt(squares/float64(len(values)-1)/float64(len(values)))
}

// cpuTime is the processor time of this process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
