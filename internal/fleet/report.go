package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Report stores how an edge fares, and returns what it is to do. It is a conflict if the edge signs by another key than before: an edge with a new
// folder needs a new name, since its chain begins again.
func (f *Edges) Report(ctx context.Context, projectID, name string, r wire.EdgeReport) (wire.EdgeOrders, error) {
	if err := checkName(name); err != nil {
		return wire.EdgeOrders{}, err
	}
	if len(r.Key) == 0 || !strings.HasPrefix(r.Key, wire.EdgeKeyName(projectID, name)+"+") {
		return wire.EdgeOrders{}, rule.Errorf(rule.CodeInvalid, "the key of the report is not one of the edge %s in project %s", name, projectID)
	}
	now := rule.Instant(f.cfg.Now())
	e, err := f.cfg.Edges.Get(ctx, projectID, name)
	fresh := rule.CodeOf(err) == rule.CodeNotFound
	if err != nil && !fresh {
		return wire.EdgeOrders{}, err
	}
	if fresh {
		e = store.Edge{ProjectID: projectID, Name: name, Key: r.Key, CreatedAt: now, Orders: []byte("{}")}
	}
	if e.Key != r.Key {
		return wire.EdgeOrders{}, rule.Errorf(rule.CodeConflict, "the edge %s has another key than before; give an edge with a new folder a new name", name)
	}
	if e.Forgotten {
		return wire.EdgeOrders{Forgotten: true, Received: e.Received}, nil
	}
	e.Report, e.SeenAt = audit.JSON(r), now
	if f.storeLater(&e, r, fresh) {
		return f.orders(ctx, &e, r.Environment)
	}
	err = f.cfg.Updater.Update(ctx, func(tx store.Tx) error {
		if stored, err := tx.Edges.Get(ctx, projectID, name); err == nil {
			if stored.Key != r.Key {
				return rule.Errorf(rule.CodeConflict, "the edge %s has another key than before; give an edge with a new folder a new name", name)
			}
			e.Orders, e.CreatedAt, e.Received, e.Forgotten = stored.Orders, stored.CreatedAt, stored.Received, stored.Forgotten
		}
		return tx.Edges.Put(ctx, e)
	})
	if err != nil {
		return wire.EdgeOrders{}, err
	}
	return f.orders(ctx, &e, r.Environment)
}

// orders returns what an edge is to do, and vouches for the newest bundle of its environment.
func (f *Edges) orders(ctx context.Context, e *store.Edge, environment wire.Environment) (wire.EdgeOrders, error) {
	o, err := ordersOf(e)
	if err != nil || f.cfg.Head == nil || o.Forgotten {
		return o, err
	}
	if head, err := f.cfg.Head(ctx, e.ProjectID, environment); err == nil {
		o.BundleHead = head
	} // else the edge asks for the bundle, and the answer says why there is none
	return o, nil
}

// maxNews bounds the edges whose news are in memory.
const maxNews = 10_000

// storeLater reports whether a report says nothing that must be stored at once, which the first one of an edge always does. It is then stored together
// with others, so that a thousand edges cost few transactions.
func (f *Edges) storeLater(e *store.Edge, r wire.EdgeReport, first bool) bool {
	r.BundleAge, r.SpoolAge, r.Evaluations, r.Requests, r.Head, r.SpoolBytes = 0, 0, 0, 0, 0, 0
	r.Spool, r.Errors, r.StartedAt = min(r.Spool, 1), min(r.Errors, 1), r.StartedAt.UTC()
	ref := edgeRef{e.ProjectID, e.Name}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.news[ref] == r && !first {
		f.late[ref] = *e
		return true
	}
	if len(f.news) >= maxNews {
		clear(f.news)
	}
	f.news[ref] = r
	delete(f.late, ref)
	return false
}

// seenBatch bounds the reports that one transaction stores.
const seenBatch = 500

// storeLate stores the reports that could wait.
func (f *Edges) storeLate(ctx context.Context) error {
	f.mu.Lock()
	late := f.late
	f.late = map[edgeRef]store.Edge{}
	f.mu.Unlock()
	list := slices.SortedFunc(maps.Values(late), func(a, b store.Edge) int {
		return cmp.Or(strings.Compare(a.ProjectID, b.ProjectID), strings.Compare(a.Name, b.Name))
	})
	for batch := range slices.Chunk(list, seenBatch) {
		if err := f.cfg.Updater.Update(ctx, func(tx store.Tx) error { return tx.Edges.Seen(ctx, batch) }); err != nil {
			return err // the edges report again
		}
	}
	return nil
}

func ordersOf(e *store.Edge) (wire.EdgeOrders, error) {
	var o wire.EdgeOrders
	err := json.Unmarshal(e.Orders, &o)
	o.Received, o.Forgotten = e.Received, e.Forgotten
	return o, err
}
