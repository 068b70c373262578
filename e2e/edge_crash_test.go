package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tenet/internal/porttest"

	"tenet/internal/client"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// serverEvery is the number of kills of the edge for each kill of its server.
const serverEvery = 4

// TestKilledEdgesAndServersLoseNoRecord kills an edge again and again while it answers and ships, and its server now and then: in the end the server has
// every record that the edge has acknowledged, once, and both chains verify.
func TestKilledEdgesAndServersLoseNoRecord(t *testing.T) {
	data, folder := t.TempDir(), t.TempDir()
	serverAddr, edgeAddr := porttest.Address(t), porttest.Address(t)
	startServer := func() *node { return startAt(t, "serve", serverAddr, "--data", data) }
	s := startServer()
	c := s.client(t)
	made, err := client.Call(t.Context(), c, op.CreateSnapshot, wire.CreateSnapshot{Name: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Call(t.Context(), c, op.DeploySnapshot.At(made.ID), wire.DeploySnapshot{Environment: "production"}); err != nil {
		t.Fatal(err)
	}
	info, err := client.Get(t.Context(), c, op.DescribeBundle.At("production"))
	if err != nil {
		t.Fatal(err)
	}
	trust := filepath.Join(folder, "keys")
	if err := os.WriteFile(trust, []byte(strings.Join(info.Keys, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	startEdge := func() *node {
		return startAt(t, "edge", edgeAddr, "--bundle", s.url+"/api/v1/bundles/production", "--trust", trust, "--name", "till", "--every", "100ms", "--data", filepath.Join(folder, "edge"))
	}
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	total, servers := rounds(t), 0
	for round := range total {
		e := startEdge()
		at := e.client(t)
		ctx, cancel := context.WithCancel(t.Context())
		var askers sync.WaitGroup
		for asker := range 4 {
			askers.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					a, err := client.Call(ctx, at, op.EvaluateQuick, wire.QuickRequest{Action: fmt.Sprintf("rm -rf /tmp/%d-%d-%d", round, asker, i)})
					if err != nil {
						return // the edge is dead
					}
					mu.Lock()
					acknowledged[a.EvaluationID] = true
					mu.Unlock()
				}
			})
		}
		known := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(acknowledged)
		}
		before := known()
		for deadline := time.Now().Add(time.Minute); known() < before+firstSoMany && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(rand.N(300 * time.Millisecond))
		if round%serverEvery == serverEvery-1 {
			s.kill()
			servers++
			time.Sleep(rand.N(100 * time.Millisecond))
		}
		e.kill()
		cancel()
		askers.Wait()
		if s.cmd.ProcessState != nil {
			s = startServer()
			c = s.client(t)
		}
	}
	if len(acknowledged) < firstSoMany*total {
		t.Fatalf("only %d evaluations were acknowledged in %d rounds", len(acknowledged), total)
	}
	e := startEdge()
	at := e.client(t)
	own, err := client.Get(t.Context(), at, op.GetAuditHead)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if edge, err := client.Get(t.Context(), c, op.GetEdge.At("till")); err == nil && edge.Orders.Received == own {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the server has %+v of %+v, %v", edge.Orders.Received, own, err)
		}
	}
	for id := range acknowledged {
		if _, err := client.Get(t.Context(), c, op.GetEvaluation.At(id)); err != nil {
			t.Errorf("the record %s is lost: %v", id, err)
		}
	}
	for where, of := range map[string]*client.Client{"edge": at, "server": c} {
		if report, err := client.Get(t.Context(), of, op.VerifyAudit); err != nil || len(report.Problems) > 0 {
			t.Errorf("the chain of the %s: %+v, %v", where, report, err)
		}
	}
	t.Logf("%d kills of the edge, %d of the server: %d records acknowledged, all at the server", total, servers, len(acknowledged))
}
