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

	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

const (
	// piece is how many entries of a chain one query reads, and slice how many terms one transaction adds, while evaluations may wait for
	// them: on two processors, and on SQLite, where one transaction writes at a time. Together they index up to batch entries, about
	// batchTerms terms.
	piece      = 10
	slice      = 32
	batch      = 200
	batchTerms = 4000
	// rest is how many times as long as a piece has taken the indexing in the background pauses after it, so that it takes at most a sixth
	// of one processor from evaluations. It pauses writeRest times as long as a slice has taken: on SQLite, evaluations wait for that, in less
	// than a tenth of the time and for less than a millisecond each. More than farBehind entries behind, it pauses shortRest times as long.
	rest      = 5
	writeRest = 10
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
		next, err := x.indexSome(ctx, projectID, mark, pace{background: until.IsZero(), far: head.Seq-mark.Seq > farBehind})
		if err != nil {
			return err
		}
		if next == mark {
			return fmt.Errorf("find: the audit chain of project %s lacks the entries after %d", projectID, mark.Seq)
		}
		indexed(next.Seq - mark.Seq)
	}
}

// pace is how indexing makes room for evaluations.
type pace struct{ background, far bool }

// pause waits after work that began at a time, so many times as long as that has taken.
func (p pace) pause(ctx context.Context, began time.Time, times int) error {
	switch {
	case !p.background:
		return nil
	case p.far:
		times = shortRest
	}
	select {
	case <-time.After(time.Duration(times) * time.Since(began)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// indexSome indexes the next entries of a chain and returns the mark after that.
func (x *Index) indexSome(ctx context.Context, projectID string, mark store.TermMark, p pace) (store.TermMark, error) {
	b := store.TermBatch{ProjectID: projectID, From: mark, Through: mark.Seq}
	size := piece
	if !p.background || p.far {
		size = batch
	}
	for terms := 0; b.Through < mark.Seq+batch && terms < batchTerms; {
		// The slow part comes before the transactions, because others wait for those.
		began := time.Now()
		entries, err := x.cfg.Store.Audit.Entries(ctx, projectID, b.Through, size)
		if err != nil {
			return mark, err
		}
		for i := range entries {
			if e := x.read(ctx, &entries[i]); len(e.Terms) > 0 {
				b.Entries = append(b.Entries, e)
				terms += len(e.Terms)
			}
			b.Through = entries[i].Seq
		}
		if len(entries) < size {
			break
		}
		if err := p.pause(ctx, began, rest); err != nil {
			return mark, err
		}
	}
	if b.Through == mark.Seq {
		return mark, nil
	}
	err := x.write(ctx, b, p)
	if rule.CodeOf(err) == rule.CodeConflict {
		now, readErr := x.cfg.Store.Terms.Mark(ctx, projectID)
		if readErr != nil || now != mark {
			return now, readErr // another node has indexed them, or retention has moved on
		}
	}
	return store.TermMark{Seq: b.Through, Pruned: mark.Pruned}, err
}

// write stores the terms of a batch and then moves the mark. In the background it does so slice by slice; what it has written when it is
// interrupted is written again later.
func (x *Index) write(ctx context.Context, b store.TermBatch, p pace) error {
	parts := []store.TermBatch{b}
	if p.background && !p.far {
		parts = sliced(b, slice)
	}
	for i := range parts {
		began := time.Now()
		err := x.cfg.Store.UpdateDerived(ctx, func(tx store.Tx) error {
			began = time.Now() // waiting for others is no time in which others wait
			if i < len(parts)-1 {
				return tx.Terms.Put(ctx, parts[i])
			}
			return tx.Terms.Add(ctx, parts[i])
		})
		if err == nil {
			err = p.pause(ctx, began, writeRest)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sliced divides a batch into some of at most n different terms each. The last one has all entries, so that their times are stored with the mark.
func sliced(b store.TermBatch, n int) []store.TermBatch {
	var all []store.Term
	for i := range b.Entries {
		all = append(all, b.Entries[i].Terms...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	parts := make([]store.TermBatch, max(1, (len(all)+n-1)/n))
	for i := range parts {
		parts[i] = store.TermBatch{ProjectID: b.ProjectID, From: b.From, Through: b.Through}
	}
	last := len(parts) - 1
	for _, e := range b.Entries {
		terms := make([][]store.Term, len(parts))
		for _, t := range e.Terms {
			at, _ := slices.BinarySearch(all, t)
			terms[at/n] = append(terms[at/n], t)
		}
		for i := range parts {
			if len(terms[i]) > 0 || i == last {
				parts[i].Entries = append(parts[i].Entries, store.TermEntry{Seq: e.Seq, At: e.At, Terms: terms[i]})
			}
		}
	}
	return parts
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
	for len(recent) > 0 && recent[len(recent)-1].Seq > head.Seq { // read at the primary, and not yet where this call reads
		recent = recent[:len(recent)-1]
	}
	if len(recent) > 0 {
		next = recent[len(recent)-1].Seq
	}
	for next < head.Seq {
		entries, err := x.cfg.Store.Audit.Entries(ctx, projectID, next, min(int(head.Seq-next), 10*piece))
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

// Forget removes the terms of the records up to an entry, which retention has removed from a project, so that nothing is found by what they
// held. It may be interrupted and called again.
func (x *Index) Forget(ctx context.Context, projectID string, through int64) error {
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
