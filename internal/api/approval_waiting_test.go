package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
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

// countedApprovals counts what is read of approvals.
type countedApprovals struct {
	store.ApprovalReader

	gets, rounds atomic.Int64
}

func (c *countedApprovals) Get(ctx context.Context, projectID, id string) (store.ApprovalRecord, error) {
	c.gets.Add(1)
	return c.ApprovalReader.Get(ctx, projectID, id)
}

func (c *countedApprovals) Revisions(ctx context.Context, projectID string, ids []string) (map[string]int, error) {
	c.rounds.Add(1)
	return c.ApprovalReader.Revisions(ctx, projectID, ids)
}

// 500 callers who wait over HTTP on two nodes, among 1,000 pending approvals, take at most 50 MB with their clients. While nothing happens, nobody
// reads an approval: each node asks for all its waiters at once. A decision wakes the waiter of that approval alone, on either node within a second.
func TestFiveHundredCallersWait(t *testing.T) {
	const pending, callers, decisions, poll = 1000, 500, 60, 100 * time.Millisecond
	s, err := sqlstore.OpenPostgres(t.Context(), pgtest.DSN(t), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := newNodeOn(t, s)
	a := newAsking(n, rule.High)
	nodes := []*node{n, newNodeAt(n)}
	reads := &countedApprovals{ApprovalReader: n.store.Approvals}
	var servers []*httptest.Server
	for _, node := range nodes {
		node.cfg.Approvals = approval.New(approval.Config{
			Store: approval.Store{Updater: n.store, Approvals: reads, Projects: n.store.Projects}, Views: n.live, Poll: poll, Logger: n.cfg.Logger, Now: n.now, InForce: n.logged,
		})
		node.serve()
		go node.cfg.Approvals.Run(t.Context())
		server := httptest.NewServer(node)
		defer server.Close()
		servers = append(servers, server)
	}
	ids := make([]string, pending)
	var inserts []func(ctx context.Context, tx store.Tx) error
	for i := range ids {
		made, insert, err := n.cfg.Approvals.Prepare(t.Context(), rule.Approval{
			ProjectID: "default", EvaluationID: a.rule.ID, SubjectHash: fmt.Sprint(i), Title: "drop table", Requester: "key:ci", Rules: []rule.ApprovalRule{},
		}, wire.ApprovalTerms{})
		if err != nil {
			t.Fatal(err)
		}
		ids[i], inserts = made.ID, append(inserts, insert)
	}
	if err := n.store.Update(t.Context(), func(tx store.Tx) error {
		for _, insert := range inserts {
			if err := insert(t.Context(), tx); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}

	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers, MaxConnsPerHost: callers}}
	defer client.CloseIdleConnections()
	before := inUse()
	ctx, leave := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer leave()
	answered := make([]chan time.Time, callers)
	for i := range callers {
		answered[i] = make(chan time.Time, 1)
		waiting.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, servers[i%2].URL+"/api/v1/approvals/"+ids[i]+"?wait=2m", nil)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set(a.ci[0], a.ci[1])
			resp, err := client.Do(req)
			if err != nil {
				return // the test is over
			}
			defer func() { _ = resp.Body.Close() }()
			var got rule.Approval
			if err := json.NewDecoder(resp.Body).Decode(&got); err == nil && got.State == rule.ApprovalApproved {
				answered[i] <- time.Now()
			}
		})
	}
	// Each caller reads its approval twice before it waits.
	for end := time.Now().Add(2 * time.Minute); reads.gets.Load() < 2*callers; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d reads by %d callers", reads.gets.Load(), callers)
		}
	}
	time.Sleep(2 * poll)

	if took := (int64(inUse()) - int64(before)) >> 20; took > 50 && !raceDetector {
		t.Errorf("%d callers take %d MB, more than 50", callers, took)
	}
	t.Logf("%d callers on two nodes take %d MB", callers, (int64(inUse())-int64(before))>>20)
	gets, rounds, began := reads.gets.Load(), reads.rounds.Load(), time.Now()
	time.Sleep(10 * poll)
	if more := reads.gets.Load() - gets; more > 0 {
		t.Errorf("%d reads while nothing happens", more)
	}
	if more, most := reads.rounds.Load()-rounds, 2*(int64(time.Since(began)/poll)+2); more == 0 || more > most {
		t.Errorf("%d looks at all approvals, want 1 to %d", more, most)
	}

	gets = reads.gets.Load()
	ann := auth.WithActor(t.Context(), auth.Actor{Name: "key:ann", Role: auth.Reviewer, ProjectID: "default"})
	late := make([]time.Duration, decisions)
	for i := range decisions {
		if _, err := n.cfg.Approvals.Approve(ann, "default", ids[i], "fine"); err != nil {
			t.Fatal(err)
		}
		decided := time.Now()
		select {
		case at := <-answered[i]:
			late[i] = at.Sub(decided)
		case <-time.After(30 * time.Second):
			t.Fatalf("the caller of approval %d has no answer after 30 s", i)
		}
	}
	slices.Sort(late)
	t.Logf("from a decision to its answer: median %s, longest %s", late[decisions/2], late[decisions-1])
	if late[decisions*9/10] > time.Second {
		t.Errorf("one in ten answers came %s or more after its decision, want 1 s at most", late[decisions*9/10])
	}
	if woken := reads.gets.Load() - gets; woken > 3*decisions {
		t.Errorf("%d decisions had approvals read %d times", decisions, woken)
	}
}
