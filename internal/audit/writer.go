package audit

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/worker"
)

// maxBatch bounds how many records one transaction writes.
const maxBatch = 256

// writeTimeout bounds one transaction, so that a database that hangs fails requests and does not pile them up.
const writeTimeout = 15 * time.Second

// Database is the part of the database that a [Writer] uses.
type Database interface {
	store.Updater
	// Serial reports whether one transaction runs at a time.
	Serial() bool
}

// Writer appends records with group commit: the records that arrive during a transaction go together into the next one, and
// each caller waits only for the commit of its own record. On a database that runs one transaction at a time, all projects
// share one queue and its transactions. On another, each project has a queue, so that a locked chain delays no other project.
type Writer struct {
	db     Database
	mu     sync.Mutex
	queues map[string][]*waiting // not empty or being written, by project; "" on a serial database
	closed bool
	busy   sync.WaitGroup // one for each queue
	pool   *worker.Pool   // of the goroutines that write queues

	pending int       // records whose callers wait
	moved   time.Time // when one was last written, or the first began to wait
}

// waiting is a record whose caller waits.
type waiting struct {
	ctx   context.Context //nolint:containedctx // only its values are used, when the record is written
	entry store.AuditEntry
	also  func(ctx context.Context, tx store.Tx) error // nil for nothing
	done  chan error                                   // of capacity 1
}

// NewWriter returns a Writer. Call [Writer.Close] to end it.
func NewWriter(db Database) *Writer {
	return &Writer{db: db, queues: map[string][]*waiting{}, pool: worker.NewPool()}
}

// Append returns once the record is durable. On an error the record is not in the chain, except that after the end of
// ctx it may be.
func (w *Writer) Append(ctx context.Context, r Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := &waiting{ctx: ctx, entry: entry(identified(ctx, r)), also: r.Also, done: make(chan error, 1)}
	if err := w.enqueue(p); err != nil {
		return err
	}
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enqueue adds a record to its queue. The first record of an empty queue starts the goroutine that writes the queue until
// it is empty again.
func (w *Writer) enqueue(p *waiting) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return rule.Errorf(rule.CodeUnavailable, "the server is shutting down; send the request again")
	}
	name := ""
	if !w.db.Serial() {
		name = p.entry.ProjectID
	}
	if w.pending == 0 {
		w.moved = time.Now()
	}
	w.pending++
	list, running := w.queues[name]
	w.queues[name] = append(list, p)
	if !running {
		w.busy.Add(1)
		w.pool.Go(func() {
			defer w.busy.Done()
			w.run(name)
		})
	}
	return nil
}

// Close writes the records that wait and ends the writer.
func (w *Writer) Close() {
	w.mu.Lock()
	again := w.closed
	w.closed = true
	w.mu.Unlock()
	w.busy.Wait()
	if !again {
		w.pool.Close()
	}
}

// run writes a queue until it is empty.
func (w *Writer) run(name string) {
	for {
		batch := w.next(name)
		if len(batch) == 0 {
			return
		}
		// Records of one project stay in the order in which they came.
		slices.SortStableFunc(batch, func(a, b *waiting) int { return strings.Compare(a.entry.ProjectID, b.entry.ProjectID) })
		w.commit(batch)
		runtime.Gosched() // callers that append again at once share the next transaction
	}
}

// next takes the next batch from a queue, and removes the queue if it is empty.
func (w *Writer) next(name string) []*waiting {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.queues[name]
	if len(list) == 0 {
		delete(w.queues, name)
		return nil
	}
	batch, rest := share(list)
	w.queues[name] = rest
	return batch
}

// share divides a queue into the next batch and the rest. If not all fit, projects get places by turns, so that one with many records delays no other.
func share(list []*waiting) (batch, rest []*waiting) {
	if len(list) <= maxBatch {
		return list, nil
	}
	turn := make([]int, len(list)) // of each record: how many of its project are before it
	of := map[string]int{}
	for i, p := range list {
		turn[i] = of[p.entry.ProjectID]
		of[p.entry.ProjectID]++
	}
	if len(of) == 1 {
		return list[:maxBatch:maxBatch], list[maxBatch:]
	}
	last := slices.Sorted(slices.Values(turn))[maxBatch-1] // the turn in which the batch is full
	places := maxBatch
	for _, t := range turn {
		if t < last {
			places--
		}
	}
	for i, p := range list {
		switch {
		case turn[i] < last:
			batch = append(batch, p)
		case turn[i] == last && places > 0:
			places--
			batch = append(batch, p)
		default:
			rest = append(rest, p)
		}
	}
	return batch, rest
}

// commit writes a batch and answers its callers. If a record is at fault (its project does not exist, say), halves of the
// batch are written separately, until the fault has hit only that record. A fault of the database fails the whole batch.
func (w *Writer) commit(batch []*waiting) {
	err := w.write(batch)
	down := rule.CodeOf(err) == rule.CodeUnavailable || errors.Is(err, context.DeadlineExceeded)
	if err != nil && len(batch) > 1 && !down {
		half := len(batch) / 2
		w.commit(batch[:half])
		w.commit(batch[half:])
		return
	}
	w.mu.Lock()
	w.pending -= len(batch)
	if err == nil {
		w.moved = time.Now()
	}
	w.mu.Unlock()
	for _, p := range batch {
		p.done <- err
	}
}

// Stalled returns for how long records have waited without one of them being written; 0 if none waits.
func (w *Writer) Stalled() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending == 0 {
		return 0
	}
	return time.Since(w.moved)
}

// write writes a batch in one transaction. The ends of the callers' contexts do not end it, since others wait for it too.
func (w *Writer) write(batch []*waiting) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("audit: writing panicked: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(batch[0].ctx), writeTimeout)
	defer cancel()
	return w.db.Update(ctx, func(tx store.Tx) error {
		entries := make([]store.AuditEntry, len(batch))
		for i, p := range batch {
			entries[i] = p.entry
		}
		if err := appendEntries(ctx, tx, entries); err != nil {
			return err
		}
		for _, p := range batch {
			if p.also == nil {
				continue
			}
			if err := p.also(withValues{ctx, p.ctx}, tx); err != nil {
				return err
			}
		}
		return nil
	})
}

// withValues is a context with the values of another one.
type withValues struct {
	context.Context //nolint:containedctx // it is a context

	values context.Context //nolint:containedctx // only its values are used
}

// Value returns the other context's value for a key.
func (c withValues) Value(key any) any {
	if v := context.WithoutCancel(c.values).Value(key); v != nil {
		return v
	}
	return c.Context.Value(key)
}
