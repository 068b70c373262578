package console_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// BenchmarkReleaseScreens measures the screens about releases and conflicts at [sizeEnv] rules, of which a tenth has changed between two
// snapshots, with up to 10,000 conflicts. Bar at 100,000 rules: lists p99 50 ms.
func BenchmarkReleaseScreens(b *testing.B) {
	size := benchSize(b)
	dir := litetest.Dir(b)
	n := newNode(b, map[string]string{"data": dir})
	const batch = 10_000
	write := func(to int, statement string) {
		for from := 0; from < to; from += batch {
			file := &wire.RuleFile{}
			for i := from; i < min(from+batch, to); i++ {
				file.Rules = append(file.Rules, wire.RuleInput{
					Slug: new(fmt.Sprintf("B-%d", i)), Statement: fmt.Sprintf(statement, i%100, i), Status: rule.Effective, Severity: rule.High,
				})
			}
			if _, err := client.Call(b.Context(), n.api, op.ImportRules, file); err != nil {
				b.Fatal(err)
			}
		}
	}
	snapshot := func(name string) string {
		s, err := client.Call(b.Context(), n.api, op.CreateSnapshot, wire.CreateSnapshot{Name: name})
		if err == nil {
			_, err = client.Call(b.Context(), n.api, op.DeploySnapshot.At(s.ID), wire.DeploySnapshot{Environment: "production", Reason: name})
		}
		if err != nil {
			b.Fatal(err)
		}
		return s.ID
	}
	write(size, "In unit %d, payments above %d must be approved by a second person.")
	first := snapshot("first")
	write(size/10, "In unit %d, payments above %d must be approved by two people of another unit.")
	second := snapshot("second")
	for _, state := range []string{"queued", "running"} { // the search for conflicts after the imports
		for jobs := 1; jobs > 0; {
			list, err := client.Get(b.Context(), n.api, op.ListJobs.Where(wire.JobQuery{Kind: "conflicts.find", State: state, PageQuery: wire.PageQuery{PageSize: 1}}))
			if err != nil {
				b.Fatal(err)
			}
			if jobs = list.Total; jobs > 0 {
				time.Sleep(100 * time.Millisecond)
			}
		}
	}
	inConflict := min(size-1, 10_000)
	one := storeConflicts(b, dir, n, inConflict)
	v := n.visitor()
	compare := "/p/default/releases/compare?from=" + first + "&to=" + second
	for _, s := range []struct{ name, path string }{
		{"releases", "/p/default/releases"},
		{"history", "/p/default/releases/history"},
		{"snapshot", "/p/default/releases/snapshots/" + second},
		{"gates", "/p/default/releases/snapshots/" + first + "/to/staging"},
		{"difference, first page", compare},
		{"difference, last page", fmt.Sprintf("%s&change=modified&page=%d", compare, size/10/25)},
		{"conflicts", "/p/default/conflicts"},
		{"last page of conflicts", fmt.Sprintf("/p/default/conflicts?page=%d", inConflict/25)},
		{"conflicts by words", "/p/default/conflicts?q=unit+77&severity_min=HIGH"},
		{"one conflict", "/p/default/conflicts/" + one},
	} {
		b.Run(s.name, func(b *testing.B) {
			began := time.Now()
			if a := v.get(s.path); a.status != http.StatusOK { // snapshots are compared once
				b.Fatalf("%d %s", a.status, a.body)
			}
			first := time.Since(began)
			var times []time.Duration
			for b.Loop() {
				began := time.Now()
				if a := v.get(s.path); a.status != http.StatusOK {
					b.Fatalf("%d %s", a.status, a.body)
				}
				times = append(times, time.Since(began))
			}
			slices.Sort(times)
			b.ReportMetric(float64(first.Microseconds())/1e3, "first-ms")
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1e3, "p50-ms")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1e3, "p99-ms")
		})
	}
}

// storeConflicts stores conflicts of neighbouring rules, and returns the id of one.
func storeConflicts(b *testing.B, dir string, n *node, count int) string {
	b.Helper()
	file, err := client.Get(b.Context(), n.api, op.ListRules.Where(wire.PageQuery{Page: 1, PageSize: 100}))
	if err != nil {
		b.Fatal(err)
	}
	s, err := sqlstore.OpenSQLite(b.Context(), dir, sqlstore.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	var ids []string
	for number := 1; len(ids) <= count && number <= count/100+2; number++ {
		file, err = client.Get(b.Context(), n.api, op.ListRules.Where(wire.PageQuery{Page: number, PageSize: 100}))
		if err != nil {
			b.Fatal(err)
		}
		for i := range file.Items {
			ids = append(ids, file.Items[i].ID)
		}
	}
	last := ""
	err = s.Update(b.Context(), func(tx store.Tx) error {
		for i := range count {
			last = audit.NewID()
			err := tx.Conflicts.Insert(b.Context(), store.Conflict{
				ProjectID: rule.DefaultProject, ID: last, RuleID: ids[i], OtherID: ids[i+1], State: store.ConflictSuggested, FoundBy: "threshold",
				Reason: "the two demand the same from different numbers on", Confidence: .7, RuleHash: "a", OtherHash: "b", DetectedAt: rule.Instant(time.Now()),
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return last
}
