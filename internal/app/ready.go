package app

import (
	"context"
	"strings"
	"sync"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

const (
	// writeTime bounds the write by which a node finds out whether it can answer.
	writeTime = 2 * time.Second
	// proofTime is for how long the outcome of that write holds: everybody may ask, and must not make work for the database.
	proofTime = time.Second
	// stallTime is how long records may wait without one of them being written.
	stallTime = 5 * time.Second
)

// Ready returns nil if the node can answer, else an unavailable error that says what it waits for. An evaluation is answered once
// its record is written, so Ready writes too.
func (a *App) Ready(ctx context.Context) error {
	select {
	case <-a.ready:
	default:
		return rule.Errorf(rule.CodeUnavailable, "the rules are still being loaded")
	}
	if err := a.store.Ping(ctx); err != nil {
		return err
	}
	if waited := a.parts.records.Stalled(); waited > stallTime {
		return rule.Errorf(rule.CodeUnavailable, "no record could be written for %d seconds; look whether the database is locked or its disk is full", int(waited.Seconds()))
	}
	return a.proof.get(ctx, a.servers.Note)
}

// proof is the outcome of the last write that was made to find out whether the node can. It is safe for concurrent use.
type proof struct {
	mu      sync.Mutex
	running chan struct{} // closed once the write that runs now is done; nil without one
	at      time.Time     // when the last was done
	err     error         // how it ended
}

// get returns the outcome of a write that is at most proofTime old, and writes if there is none. One write runs at a time, and goes
// on after the end of ctx.
func (p *proof) get(ctx context.Context, write func(context.Context) error) error {
	p.mu.Lock()
	if p.running == nil {
		if time.Since(p.at) < proofTime {
			defer p.mu.Unlock()
			return p.err
		}
		p.running = make(chan struct{})
		go p.run(context.WithoutCancel(ctx), write)
	}
	running := p.running
	p.mu.Unlock()
	select {
	case <-running:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *proof) run(ctx context.Context, write func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	err := write(ctx)
	if ctx.Err() != nil && err != nil {
		err = rule.Errorf(rule.CodeUnavailable, "the database has not written within %d seconds; look whether it is locked", int(writeTime.Seconds()))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err, p.at = err, time.Now()
	close(p.running)
	p.running = nil
}

// replicaPrefix begins the names of pools of connections to replicas.
const replicaPrefix = "replica "

// replicasOf describes the replicas of a database, where lists are read.
func replicasOf(db store.Database) func() []wire.Replica {
	return func() (list []wire.Replica) {
		for _, p := range db.Pools() {
			if p.Replica {
				list = append(list, wire.Replica{Name: strings.TrimPrefix(p.Name, replicaPrefix), BehindMS: p.Behind.Milliseconds(), LeftOut: p.Problem})
			}
		}
		return list
	}
}
