package sqlstore

import (
	"context"
	"database/sql"
	"runtime"
	"sync"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Changes implements store.Reader.
func (r *reader) Changes(ctx context.Context, projectID string, after int64, fn func(store.RuleState) error) (int64, error) {
	if r.pool == nil {
		return r.changes(ctx, projectID, after, fn)
	}
	// Two reads must see one state.
	options := &sql.TxOptions{ReadOnly: true}
	if r.d.numbered {
		options.Isolation = sql.LevelRepeatableRead
	}
	sqlTx, err := r.pool.BeginTx(ctx, options)
	if err != nil {
		return 0, r.fault("begin", err)
	}
	defer func() { _ = sqlTx.Rollback() }() // it only reads
	in := reader{db: sqlTx, d: r.d}
	return in.changes(ctx, projectID, after, fn)
}

func (r *reader) changes(ctx context.Context, projectID string, after int64, fn func(store.RuleState) error) (int64, error) {
	project, err := r.Project(ctx, projectID)
	if err != nil {
		return 0, err
	}
	if project.CorpusVersion == after {
		return after, nil
	}
	outgoing := map[string][]rule.Relationship{}
	err = r.each(ctx, "changed relationships",
		`SELECT l.id, l.from_id, l.to_id, l.kind, l.reason, l.created_at, l.created_by
		FROM relationships l JOIN rules r ON r.project_id = l.project_id AND r.id = l.from_id
		WHERE l.project_id = ? AND r.corpus_version > ? ORDER BY l.created_at, l.id`,
		[]any{projectID, after}, func(rows *sql.Rows) error {
			rel, err := scanRelationship(rows)
			outgoing[rel.FromID] = append(outgoing[rel.FromID], rel)
			return err
		})
	if err != nil {
		return 0, err
	}
	err = r.stream(ctx, projectID, after, func(one rule.Rule) error {
		return fn(store.RuleState{Rule: one, Relationships: outgoing[one.ID]})
	})
	return project.CorpusVersion, err
}

// batch is a run of rules on their way from the database to the caller.
type batch struct {
	bodies [][]byte
	rules  []rule.Rule
	err    error
	done   chan struct{}
}

const batchSize = 256

// stream reads the changed rules in order of their ids. One goroutine reads, others decode, the caller's gets them in
// order: with 100,000 rules, decoding takes as long as reading.
func (r *reader) stream(ctx context.Context, projectID string, after int64, fn func(rule.Rule) error) error {
	ctx, cancel := context.WithCancel(ctx)
	ordered := make(chan *batch, 16)
	work := make(chan *batch, 16)
	var running sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for b := range work {
				b.decode()
			}
		})
	}
	var readErr error
	running.Go(func() {
		defer close(ordered)
		defer close(work)
		readErr = r.read(ctx, projectID, after, func(b *batch) error {
			select {
			case ordered <- b:
			case <-ctx.Done():
				return ctx.Err()
			}
			work <- b
			return nil
		})
	})
	err := deliver(ordered, fn)
	cancel()
	for range ordered { //nolint:revive // what is left is given up
	}
	running.Wait()
	if err != nil {
		return err
	}
	return readErr
}

func deliver(ordered <-chan *batch, fn func(rule.Rule) error) error {
	for b := range ordered {
		<-b.done
		if b.err != nil {
			return b.err
		}
		for i := range b.rules {
			if err := fn(b.rules[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *batch) decode() {
	defer close(b.done)
	b.rules = make([]rule.Rule, len(b.bodies))
	for i, body := range b.bodies {
		if b.rules[i], b.err = decodeRule(body); b.err != nil {
			return
		}
	}
	b.bodies = nil
}

func (r *reader) read(ctx context.Context, projectID string, after int64, send func(*batch) error) error {
	b := &batch{done: make(chan struct{})}
	query, args := "SELECT body FROM rules WHERE project_id = ? AND corpus_version > ? ORDER BY id", []any{projectID, after}
	if after == 0 {
		// Without the condition, the rows come in the order of the primary key instead of being sorted.
		query, args = "SELECT body FROM rules WHERE project_id = ? ORDER BY id", args[:1]
	}
	err := r.each(ctx, "changed rules", query, args, func(rows *sql.Rows) error {
		var body []byte
		if err := rows.Scan(&body); err != nil {
			return err
		}
		b.bodies = append(b.bodies, body)
		if len(b.bodies) < batchSize {
			return nil
		}
		full := b
		b = &batch{done: make(chan struct{})}
		return send(full)
	})
	if err != nil {
		return err
	}
	return send(b)
}
