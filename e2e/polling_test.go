package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/bundle"
	"tenet/internal/bundle/place"
	"tenet/internal/client"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// processorTime is the time that a process has used of all processors so far.
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := bytes.Cut(stat, []byte(") ")) // the name may have spaces
	fields := strings.Fields(string(after))
	var ticks int64
	for _, i := range []int{11, 12} { // in user and in system mode, in hundredths of a second
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// TestPollingEdgesCostTheServerLittle has as many requests sent to a server in a process of its own as 1,000 edges send that report
// every ten seconds, and measures its processor time, which other load on the machine changes little. TENET_EDGES sets the number of edges for the long
// form, each with its own stream of news and the interval of ten seconds; without it a tenth of them come ten times as often.
func TestPollingEdgesCostTheServerLittle(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processor times of other processes are read from /proc")
	}
	edges, every, measured, limit := 100, time.Second, 5*time.Second, 0.15
	if s := os.Getenv("TENET_EDGES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		edges, every, measured, limit = n, 10*time.Second, 30*time.Second, 0.05*float64(n)/1000
	}
	if raced() {
		limit *= 10
	}
	s := startNode(t, "--data", t.TempDir())
	c := s.client(t)
	made, err := client.Call(t.Context(), c, op.CreateSnapshot, wire.CreateSnapshot{Name: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Call(t.Context(), c, op.DeploySnapshot.At(made.ID), wire.DeploySnapshot{Environment: "production"}); err != nil {
		t.Fatal(err)
	}
	root, err := client.Call(t.Context(), c, op.CreateKey, wire.CreateKey{Name: "root", Role: "admin", ProjectID: "*"})
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 3 * edges}, Timeout: time.Minute}
	t.Cleanup(web.CloseIdleConnections)
	admin, err := client.New(s.url, root.Secret, web)
	if err != nil {
		t.Fatal(err)
	}
	key, err := client.Call(t.Context(), admin, op.CreateKey, wire.CreateKey{Name: "edges", Role: "evaluator", ProjectID: "default"})
	if err != nil {
		t.Fatal(err)
	}
	from, err := place.Parse(s.url+"/api/v1/bundles/production", place.Config{Key: key.Secret, Client: web})
	if err != nil {
		t.Fatal(err)
	}
	reports, err := client.New(s.url, key.Secret, web)
	if err != nil {
		t.Fatal(err)
	}
	first, err := from.Fetch(t.Context(), place.Have{})
	if err != nil {
		t.Fatal(err)
	}
	note, err := bundle.ReadNote(first.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = first.Body.Close()
	head, err := bundle.ReadHead(note)
	if err != nil {
		t.Fatal(err)
	}
	have := place.Have{RawHash: head.RawHash, Version: first.Version}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var polls, failures atomic.Int64
	one := func(i, round int) {
		name := fmt.Sprintf("edge-%d", i)
		var err error
		if round == 0 { // later on, the answer to its report vouches for the bundle
			var got place.Fetched
			if got, err = from.Fetch(ctx, have); err == nil && got.Body != nil {
				_ = got.Body.Close()
				err = fmt.Errorf("the bundle is sent again")
			}
		}
		if err == nil {
			var orders wire.EdgeOrders
			orders, err = client.Call(ctx, reports, op.ReportEdge.At(name), wire.EdgeReport{
				Key: wire.EdgeKeyName("default", name) + "+key", Version: "v1", Environment: "production", Bundle: head.RawHash, BundleSeq: head.Seq, BundleAge: int64(round % 5),
				Evaluations: int64(100 * round), Head: int64(100 * round), StartedAt: head.Built,
			})
			if newest, headErr := bundle.ReadHead(orders.BundleHead); err == nil && (headErr != nil || newest.RawHash != head.RawHash) {
				err = fmt.Errorf("the answer to a report does not vouch for the bundle: %w", headErr)
			}
		}
		if polls.Add(1); err != nil && ctx.Err() == nil {
			failures.Add(1)
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range edges {
		running.Go(func() {
			for ctx.Err() == nil {
				_ = from.(place.News).Wait(ctx, have.RawHash) // a stream ends by itself after a while
			}
		})
		running.Go(func() {
			one(i, 0)
			pause := time.NewTimer(every * time.Duration(i) / time.Duration(edges)) // they do not come all at once
			defer pause.Stop()
			for round := 1; ; round++ {
				select {
				case <-ctx.Done():
					return
				case <-pause.C:
				}
				pause.Reset(every)
				one(i, round)
			}
		})
	}
	time.Sleep(2 * every) // all have reported once
	polls.Store(0)
	shareIn := func(d time.Duration) float64 {
		used, began := processorTime(t, s.cmd.Process.Pid), time.Now()
		time.Sleep(d)
		return float64(processorTime(t, s.cmd.Process.Pid)-used) / float64(time.Since(began))
	}
	began := time.Now()
	busy := shareIn(measured)
	rate := float64(polls.Load()) / time.Since(began).Seconds()
	cancel()
	running.Wait()
	idle := shareIn(measured / 2)
	share := busy - idle
	t.Logf("%d edges that poll every %s: %.0f reports a second cost %.1f %% of a core (%.1f %% with them, %.1f %% without)",
		edges, every, rate, 100*share, 100*busy, 100*idle)
	if share > limit {
		t.Errorf("they cost %.1f %% of a core; want at most %.1f %%", 100*share, 100*limit)
	}
	if want := float64(edges) / every.Seconds(); rate < want*0.6 || failures.Load() > 0 {
		t.Errorf("%.0f polls a second of %.0f were sent, %d failed", rate, want, failures.Load())
	}
	fleet, err := client.Get(t.Context(), admin, op.ListFleet.Where(wire.PageQuery{Page: 1, PageSize: 1}))
	if err != nil || fleet.Total != edges {
		t.Errorf("the fleet has %d edges, %v", fleet.Total, err)
	}
}
