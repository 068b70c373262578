package find

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"tenet/internal/audit"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

const (
	// piece is how many entries of a chain one query reads, and one transaction indexes while evaluations may wait for it. A transaction
	// nobody waits for, or far behind, indexes up to batch entries, and ends after batchTerms terms.
	piece      = 25
	batch      = 200
	batchTerms = 4000
	// rest is how many times as long as a round of reading and writing has taken the indexing in the background pauses after it, so that it
	// takes at most an eighth of one processor from evaluations, in short slices. It pauses at least writeRest times as long as the
	// transaction has taken: on SQLite, evaluations wait for that, and must do so in less than 5 % of the time. More than farBehind
	// entries behind, it pauses shortRest times as long as the round has taken.
	rest      = 7
	writeRest = 20
	shortRest = 1
	farBehind = 100_000
	// patience is how long a query may index while no job does.
	patience = 20 * time.Second
	// newest is how many entries that are not indexed yet a query goes through.
	newest = 2000
	// forgetBatch is how many terms one transaction removes after the retention of their records.
	forgetBatch = 5000
)

// Kind is the kind of the jobs that index.
const Kind = "evaluations.index"

// Every is how often the jobs run.
const Every = 15 * time.Second

// Handle is the handler of the jobs. A fault in one project does not stop the others.
func (x *Index) Handle(ctx context.Context, _ wire.Job, progress func(done, total int)) error {
	behind, err := x.cfg.Store.Terms.Unindexed(ctx)
	if err != nil {
		return err
	}
	total, done := int64(0), int64(0)
	for _, u := range behind {
		total += u.Entries
	}
	errs := make([]error, len(behind))
	for i, u := range behind {
		errs[i] = x.catchUp(ctx, u.ProjectID, time.Time{}, func(n int64) {
			done = min(done+n, total)
			progress(int(done), int(total))
		})
	}
	return errors.Join(errs...)
}

// bringUp indexes what is left if no job does.
func (x *Index) bringUp(ctx context.Context, projectID string) error {
	if x.cfg.Working == nil || x.cfg.Working() {
		return nil
	}
	return x.catchUp(ctx, projectID, time.Now().Add(patience), func(int64) {})
}

// catchUp indexes the chain of a project up to its head. With a time, it does not pause and ends then. Several callers and nodes may do so
// at once: each entry is indexed once.
func (x *Index) catchUp(ctx context.Context, projectID string, until time.Time, indexed func(entries int64)) error {
	for {
		head, err := x.cfg.Store.Audit.Head(ctx, projectID)
		if err != nil {
			return err
		}
		mark, err := x.cfg.Store.Terms.Mark(ctx, projectID)
		if err != nil || mark.Seq >= head.Seq || !until.IsZero() && time.Now().After(until) {
			return err
		}
		behind, began, size := head.Seq-mark.Seq, time.Now(), int64(batch)
		if until.IsZero() && behind <= farBehind {
			size = piece
		}
		next, wrote, err := x.indexSome(ctx, projectID, mark, size)
		if err != nil {
			return err
		}
		if next == mark {
			return fmt.Errorf("find: the audit chain of project %s lacks the entries after %d", projectID, mark.Seq)
		}
		indexed(next.Seq - mark.Seq)
		if !until.IsZero() {
			continue
		}
		pause := max(rest*time.Since(began), writeRest*wrote)
		if behind > farBehind {
			pause = shortRest * time.Since(began)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// indexSome indexes the next entries of a chain, about size of them, and returns the mark after that and the time of its transaction.
func (x *Index) indexSome(ctx context.Context, projectID string, mark store.TermMark, size int64) (_ store.TermMark, wrote time.Duration, _ error) {
	b := store.TermBatch{ProjectID: projectID, From: mark, Through: mark.Seq}
	for terms := 0; b.Through < mark.Seq+size && terms < batchTerms; {
		// The slow part comes before the transaction, because others wait for that.
		entries, err := x.cfg.Store.Audit.Entries(ctx, projectID, b.Through, piece)
		if err != nil {
			return mark, 0, err
		}
		for i := range entries {
			if e := x.read(ctx, &entries[i]); len(e.Terms) > 0 {
				b.Entries = append(b.Entries, e)
				terms += len(e.Terms)
			}
			b.Through = entries[i].Seq
		}
		if len(entries) < piece {
			break
		}
	}
	if b.Through == mark.Seq {
		return mark, 0, nil
	}
	var began time.Time
	err := x.cfg.Store.Update(ctx, func(tx store.Tx) error {
		began = time.Now() // waiting for others is no time in which others wait
		return tx.Terms.Add(ctx, b)
	})
	if !began.IsZero() {
		wrote = time.Since(began)
	}
	if rule.CodeOf(err) == rule.CodeConflict {
		now, readErr := x.cfg.Store.Terms.Mark(ctx, projectID)
		if readErr != nil || now != mark {
			return now, wrote, readErr // another node has indexed them, or retention has moved on
		}
	}
	return store.TermMark{Seq: b.Through, Pruned: mark.Pruned}, wrote, err
}

// read returns an entry with its terms. It logs a record that it cannot read.
func (x *Index) read(ctx context.Context, e *store.AuditEntry) store.TermEntry {
	terms, err := termsOf(e)
	if err != nil {
		x.cfg.Logger.WarnContext(ctx, "a record cannot be read, so it is found by its verdict, mode, actor and time alone",
			slog.String("project", e.ProjectID), slog.String("evaluation", e.ID), slog.Any("error", err))
	}
	return store.TermEntry{Seq: e.Seq, At: e.At, Terms: terms}
}

// tails holds the terms of entries that are not indexed yet, so that the next query need not read them again.
type tails struct {
	mu      sync.Mutex
	entries map[string]map[int64]store.TermEntry // by project and Seq
}

// maxTails bounds the entries of all projects that tails holds.
const maxTails = 4 * newest

// unindexed returns the newest entries after the mark, oldest first, and the number of entries between those and the mark.
func (x *Index) unindexed(ctx context.Context, projectID string, mark int64) ([]store.TermEntry, int64, error) {
	head, err := x.cfg.Store.Audit.Head(ctx, projectID)
	if err != nil {
		return nil, 0, err
	}
	from := max(mark, head.Seq-newest)
	recent, next := x.tail.get(projectID, from), from
	if len(recent) > 0 {
		next = recent[len(recent)-1].Seq
	}
	for next < head.Seq {
		entries, err := x.cfg.Store.Audit.Entries(ctx, projectID, next, min(int(head.Seq-next), 4*piece))
		if err != nil {
			return nil, 0, err
		}
		if len(entries) == 0 {
			break // a damaged chain may lack entries
		}
		for i := range entries {
			recent = append(recent, x.read(ctx, &entries[i]))
		}
		next = entries[len(entries)-1].Seq
	}
	x.tail.put(projectID, recent)
	return recent, from - mark, nil
}

// get returns the entries of a project from the one after `after` on, as far as they follow one another.
func (t *tails) get(projectID string, after int64) []store.TermEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []store.TermEntry
	for seq := after + 1; ; seq++ {
		e, ok := t.entries[projectID][seq]
		if !ok {
			return list
		}
		list = append(list, e)
	}
}

// put replaces the entries of a project.
func (t *tails) put(projectID string, list []store.TermEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	total := len(list)
	for id, entries := range t.entries {
		if id != projectID {
			total += len(entries)
		}
	}
	if t.entries == nil || total > maxTails {
		t.entries = map[string]map[int64]store.TermEntry{}
	}
	entries := make(map[int64]store.TermEntry, len(list))
	for _, e := range list {
		entries[e.Seq] = e
	}
	t.entries[projectID] = entries
}

// drop removes all entries of a project.
func (t *tails) drop(projectID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.entries, projectID)
}

// Forget removes the terms of the records that retention has removed from a project, so that nothing is found by what they held. It may
// be interrupted and called again.
func (x *Index) Forget(ctx context.Context, projectID string) error {
	through, err := audit.Pruned(ctx, x.cfg.Store.Audit, projectID)
	if err != nil || through == 0 {
		return err
	}
	x.tail.drop(projectID)
	if err := x.cfg.Store.Update(ctx, func(tx store.Tx) error { return tx.Terms.Prune(ctx, projectID, through) }); err != nil {
		return err
	}
	blocks, err := x.cfg.Store.Terms.Blocks(ctx, projectID)
	if err != nil {
		return err
	}
	for _, b := range blocks {
		last := min(through, (b.Block+1)*store.BlockSize)
		if last <= b.Block*store.BlockSize || b.Forgotten >= last {
			continue
		}
		after := store.Term(math.MinInt64)
		for more := true; more; {
			err := x.cfg.Store.Update(ctx, func(tx store.Tx) (err error) {
				after, more, err = tx.Terms.Forget(ctx, projectID, b.Block, last, after, forgetBatch)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Behind returns how many entries of all projects are not indexed yet.
func (x *Index) Behind(ctx context.Context) (int64, error) {
	list, err := x.cfg.Store.Terms.Unindexed(ctx)
	total := int64(0)
	for _, u := range list {
		total += u.Entries
	}
	return total, err
}

// Periodic returns the rounds of the jobs. Over all nodes one runs at a time. A failed round is not repeated: the next one indexes its
// entries, too.
func (x *Index) Periodic() job.Periodic {
	return job.Periodic{Kind: Kind, Every: Every, MaxAttempts: 1, Priority: job.Last}
}

// blockSets are sets of entries by block.
type blockSets map[int64]*store.EntrySet

// newestFirst lists the blocks.
func (s blockSets) newestFirst() []int64 {
	list := slices.Sorted(maps.Keys(s))
	slices.Reverse(list)
	return list
}
