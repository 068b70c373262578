package fleet

import (
	"context"
	"sync"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const (
	singleReads = 10               // a second, beyond which edges are read together
	lookupTime  = 10 * time.Second // bounds a lookup
)

// lookups read the stored rows of edges that report. Each is read after its report has come, so that it is not older than that. Reading many rows costs
// little more than reading one.
type lookups struct {
	edges  store.EdgeReader
	gather time.Duration // see [Config]

	mu     sync.Mutex
	second time.Time          // begin of the second in which reads are counted
	reads  int                // in it, one by one
	open   map[string]*lookup // that take more names, by project
}

// lookup is one read of several edges.
type lookup struct {
	names []string
	done  chan struct{}
	found map[string]store.Edge // once it is done
	err   error
}

// get returns an edge, or not_found.
func (l *lookups) get(ctx context.Context, projectID, name string) (store.Edge, error) {
	one := l.join(ctx, projectID, name)
	if one == nil {
		return l.edges.Get(ctx, projectID, name)
	}
	select {
	case <-ctx.Done():
		return store.Edge{}, ctx.Err()
	case <-one.done:
	}
	e, ok := one.found[name]
	if !ok && one.err == nil {
		return e, rule.NotFound("edge", name)
	}
	return e, one.err
}

// join returns the lookup that reads an edge; nil if it is to be read alone.
func (l *lookups) join(ctx context.Context, projectID, name string) *lookup {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gather == 0 {
		return nil
	}
	if now := time.Now(); now.Sub(l.second) >= time.Second {
		l.second, l.reads = now, 0
	}
	if l.reads++; l.reads <= singleReads {
		return nil
	}
	one := l.open[projectID]
	if one == nil {
		one = &lookup{done: make(chan struct{})}
		l.open[projectID] = one
		time.AfterFunc(l.gather, func() { l.carryOut(context.WithoutCancel(ctx), projectID, one) })
	}
	one.names = append(one.names, name)
	return one
}

// carryOut closes a lookup for further names and reads its edges.
func (l *lookups) carryOut(ctx context.Context, projectID string, one *lookup) {
	defer close(one.done)
	l.mu.Lock()
	delete(l.open, projectID)
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	list, err := l.edges.Some(ctx, projectID, one.names)
	one.err, one.found = err, make(map[string]store.Edge, len(list))
	for _, e := range list {
		one.found[e.Name] = e
	}
}
