package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"tenet/internal/approval"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// BenchmarkWaitingForApprovals has 500 callers wait over HTTP on two nodes, with 1,000 pending approvals, and decides on theirs. It reports
// the memory that the waiting takes, callers included, and the time from a decision to the answer of its caller.
func BenchmarkWaitingForApprovals(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { benchWaiters(b, newNode(b)) })
	b.Run("postgres", func(b *testing.B) {
		s, err := sqlstore.OpenPostgres(b.Context(), pgtest.DSN(b), sqlstore.Options{})
		if err != nil {
			b.Fatal(err)
		}
		benchWaiters(b, newNodeOn(b, s))
	})
}

func benchWaiters(b *testing.B, n *node) {
	const pending, callers = 1000, 500
	a := newAsking(n, rule.High)
	elsewhere := newNodeAt(n)
	elsewhere.cfg.Approvals = approval.New(approval.Config{
		Store: approval.Store{Updater: n.store, Approvals: n.store.Approvals, Projects: n.store.Projects}, Views: n.live, Logger: n.cfg.Logger, Now: n.now,
	})
	elsewhere.serve()
	for _, node := range []*node{n, elsewhere} {
		go node.cfg.Approvals.Run(b.Context())
	}
	servers := []*httptest.Server{httptest.NewServer(n), httptest.NewServer(elsewhere)}
	for _, s := range servers {
		defer s.Close()
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers, MaxConnsPerHost: callers}}
	defer client.CloseIdleConnections()
	ann := auth.WithActor(b.Context(), auth.Actor{Name: "key:ann", Role: auth.Reviewer, ProjectID: "default"})
	for b.Loop() {
		ids := make([]string, pending)
		for i := range ids {
			draft := rule.Approval{ProjectID: "default", EvaluationID: a.rule.ID, SubjectHash: fmt.Sprint(i), Title: "drop table", Requester: "key:ci", Rules: []rule.ApprovalRule{}}
			made, insert, err := n.cfg.Approvals.Prepare(b.Context(), draft, wire.ApprovalTerms{})
			if err == nil {
				err = n.store.Update(b.Context(), func(tx store.Tx) error { return insert(b.Context(), tx) })
			}
			if err != nil {
				b.Fatal(err)
			}
			ids[i] = made.ID
		}
		before := inUse()
		var waiting sync.WaitGroup
		decided, answered := make([]time.Time, callers), make([]time.Time, callers)
		for i := range callers {
			waiting.Go(func() {
				req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, servers[i%2].URL+"/api/v1/approvals/"+ids[i]+"?wait=2m", nil)
				if err != nil {
					b.Error(err)
					return
				}
				req.Header.Set(a.ci[0], a.ci[1])
				resp, err := client.Do(req)
				if err != nil {
					b.Error(err)
					return
				}
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				if err != nil || !strings.Contains(string(body), `"state":"approved"`) {
					b.Errorf("%v: %.200s", err, body)
				}
				answered[i] = time.Now()
			})
		}
		time.Sleep(3 * time.Second) // all wait by then
		b.ReportMetric(float64(inUse()-before)/(1<<20), "MB")
		for i := range callers {
			if _, err := n.cfg.Approvals.Approve(ann, "default", ids[i], "fine"); err != nil {
				b.Fatal(err)
			}
			decided[i] = time.Now()
		}
		waiting.Wait()
		var longest time.Duration
		for i := range callers {
			longest = max(longest, answered[i].Sub(decided[i]))
		}
		b.ReportMetric(float64(longest.Milliseconds()), "ms-longest")
	}
}

// inUse is the memory of the heap and of stacks in bytes, after a collection.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
