package fleet_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// countedReads counts the reads of edges.
type countedReads struct {
	store.EdgeReader

	single, together atomic.Int64
	fail             atomic.Bool
}

func (c *countedReads) Get(ctx context.Context, projectID, name string) (store.Edge, error) {
	c.single.Add(1)
	return c.EdgeReader.Get(ctx, projectID, name)
}

func (c *countedReads) Some(ctx context.Context, projectID string, names []string) ([]store.Edge, error) {
	c.together.Add(1)
	if c.fail.Load() {
		return nil, rule.Errorf(rule.CodeUnavailable, "the database is away")
	}
	return c.EdgeReader.Some(ctx, projectID, names)
}

// Reports of many edges that come at once have their edges read together, and each gets the orders of its own edge as they are when it comes.
func TestReportsThatComeAtOnceAreReadTogether(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	reads := &countedReads{EdgeReader: b.store.Edges}
	b.Edges = b.reading(reads)
	const edges = 200
	all := func() (orders [edges]wire.EdgeOrders, errs [edges]error) {
		var running sync.WaitGroup
		for i := range edges {
			name := fmt.Sprintf("e%d", i)
			key := b.keyOf(name)
			running.Go(func() {
				orders[i], errs[i] = b.Report(t.Context(), "pay", name, wire.EdgeReport{Key: key, Version: "v1", Environment: "production", Bundle: "two", BundleSeq: 2, StartedAt: start})
			})
		}
		running.Wait()
		return orders, errs
	}
	if _, errs := all(); errs[0] != nil || errs[edges-1] != nil {
		t.Fatal(errs[0], errs[edges-1])
	}
	if _, err := b.Change(t.Context(), "pay", "e7", wire.ChangeEdge{Paused: new(true)}); err != nil {
		t.Fatal(err)
	}
	reads.single.Store(0)
	reads.together.Store(0)
	orders, errs := all()
	for i := range edges {
		if errs[i] != nil || orders[i].Paused != (i == 7) {
			t.Errorf("edge %d: %+v, %v", i, orders[i], errs[i])
		}
	}
	if n := reads.single.Load() + reads.together.Load(); n > edges/4 || reads.together.Load() == 0 {
		t.Errorf("%d edges were read by %d and %d reads", edges, reads.single.Load(), reads.together.Load())
	}
	reads.fail.Store(true)
	failed := 0
	_, errs = all()
	for _, err := range errs {
		if rule.CodeOf(err) == rule.CodeUnavailable {
			failed++
		} else if err != nil {
			t.Errorf("a report fails by %v", err)
		}
	}
	if failed < edges/2 {
		t.Errorf("%d of %d reports fail where edges cannot be read", failed, edges)
	}
}
