package audit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// maxBatch bounds how many records one transaction carries.
const maxBatch = 256

// Writer appends records with group commit: what arrives while a transaction is being committed goes together into the
// next one, and everybody waits only for the commit of its own record.
type Writer struct {
	store   store.Store
	pending chan *waiting
	stop    chan struct{}
	done    chan struct{}
	once    sync.Once
}

// writeTimeout bounds one transaction, so that a hanging database fails requests instead of piling them up for ever.
const writeTimeout = 30 * time.Second

type waiting struct {
	entry store.AuditEntry
	also  func(ctx context.Context, tx store.Tx) error // nil for nothing
	done  chan error                                   // of capacity 1
}

// NewWriter starts a writer. Call [Writer.Close] to end it.
func NewWriter(s store.Store) *Writer {
	w := &Writer{
		store: s, pending: make(chan *waiting, maxBatch),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	go w.run()
	return w
}

// Append returns once the record is durable. On an error the record is not in the chain, except that after the end of
// ctx it may be.
func (w *Writer) Append(ctx context.Context, r Record) error {
	p := &waiting{entry: entry(r), also: r.Also, done: make(chan error, 1)}
	select {
	case w.pending <- p:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.stop:
		return errClosed
	}
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-w.done:
		// The run has ended; it may have answered just before.
		select {
		case err := <-p.done:
			return err
		default:
			return errClosed
		}
	}
}

var errClosed = rule.Errorf(rule.CodeUnavailable, "the server is shutting down; send the request again")

// Close writes what is pending and ends the writer.
func (w *Writer) Close() {
	w.once.Do(func() { close(w.stop) })
	<-w.done
}

func (w *Writer) run() {
	defer close(w.done)
	for {
		select {
		case p := <-w.pending:
			w.commit(w.drain(p))
		case <-w.stop:
			for {
				select {
				case p := <-w.pending:
					w.commit(w.drain(p))
				default:
					return
				}
			}
		}
	}
}

// drain takes what waits behind p, without waiting for more.
func (w *Writer) drain(p *waiting) []*waiting {
	batch := []*waiting{p}
	for len(batch) < maxBatch {
		select {
		case next := <-w.pending:
			batch = append(batch, next)
		default:
			return batch
		}
	}
	return batch
}

// commit writes a batch, each project's records in a transaction of their own, so that one project's fault (it does not
// exist, say) does not touch another's records. If a batch fails for a fault of its content, its records are tried singly.
func (w *Writer) commit(batch []*waiting) {
	byProject := map[string][]*waiting{}
	var order []string
	for _, p := range batch {
		id := p.entry.ProjectID
		if byProject[id] == nil {
			order = append(order, id)
		}
		byProject[id] = append(byProject[id], p)
	}
	for _, id := range order {
		group := byProject[id]
		err := w.write(id, group)
		if err != nil && len(group) > 1 && rule.CodeOf(err) != rule.CodeUnavailable {
			for _, p := range group {
				p.done <- w.write(id, []*waiting{p})
			}
			continue
		}
		for _, p := range group {
			p.done <- err
		}
	}
}

func (w *Writer) write(projectID string, group []*waiting) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("audit: writing panicked: %v", p)
		}
	}()
	// The callers' contexts do not end a transaction that others wait for too; a database that hangs does.
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	return w.store.Update(ctx, func(tx store.Tx) error {
		entries := make([]store.AuditEntry, len(group))
		for i, p := range group {
			entries[i] = p.entry
		}
		if err := appendEntries(ctx, tx, projectID, entries); err != nil {
			return err
		}
		for _, p := range group {
			if p.also == nil {
				continue
			}
			if err := p.also(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
}
