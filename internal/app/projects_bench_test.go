package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tenet/internal/app"
	"tenet/internal/config"
	"tenet/internal/conflict"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

const (
	rulesOfEach = 50   // rules of each project
	warmOnes    = 1000 // projects that are evaluated in at once
)

// BenchmarkManyProjects serves TENET_BENCH_PROJECTS projects (1,000 without it) of 50 rules each from SQLite. It measures the start, the memory, the work of
// a node that nobody asks, the first evaluations in projects, and those in 1,000 projects by 8 clients. TENET_BENCH_KEEP names a folder that keeps
// the database for the next run. Bars at 10,000 projects: start 5 s, 600 MiB, 50 ms (p99), 2,000/s and 30 ms (p99).
func BenchmarkManyProjects(b *testing.B) {
	projects := 1000
	if text := os.Getenv("TENET_BENCH_PROJECTS"); text != "" {
		var err error
		if projects, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	dir := os.Getenv("TENET_BENCH_KEEP")
	if dir == "" {
		dir = litetest.Dir(b)
	}
	fillProjects(b, dir, projects)
	for b.Loop() {
		began := time.Now()
		a, stop := serveFolder(b, dir)
		waitReady(b, a)
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "start-ms")
		b.ReportMetric(residentMiB(b), "started-MiB")
		before := processorTime(b)
		idle := 32 * time.Second // two rounds of what runs each 15 s
		time.Sleep(idle)
		b.ReportMetric(float64((processorTime(b)-before).Milliseconds())/idle.Seconds(), "idle-ms/s")
		var first []time.Duration
		for i := 0; i < projects; i += max(1, projects/300) {
			began := time.Now()
			evaluateIn(b, a, i)
			first = append(first, time.Since(began))
		}
		slices.Sort(first)
		b.ReportMetric(float64(first[len(first)/2].Microseconds())/1e3, "cold-p50-ms")
		b.ReportMetric(float64(first[len(first)*99/100].Microseconds())/1e3, "cold-p99-ms")
		evaluateWarm(b, a, min(projects, warmOnes))
		b.ReportMetric(residentMiB(b), "asked-MiB")
		stop()
	}
}

// serveFolder starts a node on the database of a folder.
func serveFolder(b *testing.B, dir string) (a *app.App, stop func()) {
	b.Helper()
	a, stop = openFolder(b, dir)
	if err := a.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	return a, stop
}

// openFolder makes a node on the database of a folder, which answers but does no work in the background.
func openFolder(b *testing.B, dir string) (a *app.App, stop func()) {
	b.Helper()
	cfg, err := config.Load("", none, map[string]string{"data": dir, "listen": "127.0.0.1:0", "no_seed": "true"})
	if err != nil {
		b.Fatal(err)
	}
	if a, err = app.New(b.Context(), cfg, slog.New(slog.DiscardHandler), app.Options{Env: none}); err != nil {
		b.Fatal(err)
	}
	return a, func() {
		if err := a.Stop(context.WithoutCancel(b.Context())); err != nil {
			b.Error(err)
		}
	}
}

func waitReady(b *testing.B, a *app.App) {
	b.Helper()
	for range 5000 {
		w := askNode(a, http.MethodGet, "/ready", nil)
		if w.Code == http.StatusOK {
			return
		}
		time.Sleep(2 * time.Millisecond)
		if _, _, err := a.Rules(b.Context()); err != nil {
			b.Fatal(err, w.Body)
		}
	}
	b.Fatal("the node does not become ready: ", askNode(a, http.MethodGet, "/ready", nil).Body)
}

func askNode(a *app.App, method, path string, body any) *httptest.ResponseRecorder {
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body)
	}
	r := httptest.NewRequest(method, "http://localhost"+path, bytes.NewReader(text))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, r)
	return w
}

// fillProjects makes the projects that the database does not have. No background jobs run meanwhile, and those that look for conflicts are cancelled: they are
// not what is measured.
func fillProjects(b *testing.B, dir string, projects int) {
	b.Helper()
	a, stop := openFolder(b, dir)
	defer cancelSearches(b, dir)
	defer stop()
	var next atomic.Int64
	var filling sync.WaitGroup
	for range 4 {
		filling.Go(func() {
			for i := int(next.Add(1) - 1); i < projects; i = int(next.Add(1) - 1) {
				id := benchProject(i)
				if w := askNode(a, http.MethodPost, "/api/v1/projects", map[string]any{"id": id}); w.Code == http.StatusConflict {
					continue // an earlier run has made it
				} else if w.Code != http.StatusCreated {
					b.Errorf("create: %d %s", w.Code, w.Body)
					return
				}
				file := wire.RuleFile{}
				for n := range rulesOfEach {
					file.Rules = append(file.Rules, wire.RuleInput{
						Slug: new(fmt.Sprintf("R-%d", n)), Statement: fmt.Sprintf("The field f%d of a payment must be at most %d.", n, 1000+n), Status: rule.Effective,
						Severity: rule.High, AppliesTo: &rule.AppliesTo{Kinds: []string{"facts"}}, Check: &rule.Check{CEL: fmt.Sprintf("facts.f%d <= %d", n, 1000+n)},
					})
				}
				if w := askNode(a, http.MethodPost, "/api/v1/rules/import?project_id="+id, file); w.Code != http.StatusOK {
					b.Errorf("import: %d %s", w.Code, w.Body)
					return
				}
			}
		})
	}
	filling.Wait()
}

// cancelSearches cancels the jobs that look for conflicts.
func cancelSearches(b *testing.B, dir string) {
	b.Helper()
	s, err := sqlstore.OpenSQLite(b.Context(), dir, sqlstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for left := true; left && err == nil; {
		err = s.Update(b.Context(), func(tx store.Tx) error {
			jobs, _, err := tx.Jobs.Find(b.Context(), store.JobFilter{Every: true, State: store.JobQueued, Kind: conflict.FindKind, Limit: 1000})
			for i := 0; i < len(jobs) && err == nil; i++ {
				_, err = tx.Jobs.Cancel(b.Context(), jobs[i].ProjectID, jobs[i].ID, time.Now())
			}
			left = len(jobs) > 0
			return err
		})
	}
	if err := errors.Join(err, s.Close()); err != nil {
		b.Fatal(err)
	}
}

func benchProject(i int) string { return fmt.Sprintf("p%05d", i) }

func evaluateIn(b *testing.B, a *app.App, i int) {
	w := askNode(a, http.MethodPost, "/api/v1/evaluate?project_id="+benchProject(i), map[string]any{"facts": map[string]any{"f1": 5, "f2": 5000}})
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"overall_verdict":"DENY"`) {
		b.Errorf("evaluate: %d %.300s", w.Code, w.Body)
	}
}

// evaluateWarm evaluates for five seconds in projects by turns, with 8 clients.
func evaluateWarm(b *testing.B, a *app.App, projects int) {
	const clients, span = 8, 5 * time.Second
	for i := range projects {
		evaluateIn(b, a, i)
	}
	began := time.Now()
	times := make([][]time.Duration, clients)
	var asking sync.WaitGroup
	for c := range clients {
		asking.Go(func() {
			for i := c * 37; time.Since(began) < span; i += 13 {
				one := time.Now()
				evaluateIn(b, a, i%projects)
				times[c] = append(times[c], time.Since(one))
			}
		})
	}
	asking.Wait()
	all := slices.Concat(times...)
	slices.Sort(all)
	b.ReportMetric(float64(len(all))/time.Since(began).Seconds(), "evaluations/s")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1e3, "warm-p99-ms")
}

// residentMiB is the memory of the process, after a collection of garbage.
func residentMiB(b *testing.B) float64 {
	b.Helper()
	runtime.GC()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		b.Fatal(err)
	}
	return float64(pages*os.Getpagesize()) / (1 << 20)
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
