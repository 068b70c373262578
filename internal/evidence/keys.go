package evidence

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"tenet/internal/store"
)

// keyLogs holds what the chains of all projects explain of keys, up to the entry that was read last. One check runs at a time.
type keyLogs struct {
	mu sync.Mutex
	of map[string]*explained
}

// Chains with up to fewEntries entries are read together, manyChains at a time.
const (
	fewEntries = 500
	manyChains = 200
)

// CheckKeys is [InForce.CheckStored] of the keys of projects. It reads again only chains that have grown since the last call, and keeps nothing but what
// they explain of keys: a server without keys asks every few seconds, and may have thousands of projects.
func (f *InForce) CheckKeys(ctx context.Context, projects []string) error {
	f.keys.mu.Lock()
	defer f.keys.mu.Unlock()
	ends, err := f.rows.Ends(ctx)
	if err != nil {
		return err
	}
	rows, err := f.rows.AllRows(ctx, store.KeyInForce)
	if err != nil {
		return err
	}
	doubtful, err := f.followKeys(ctx, projects, ends)
	if err != nil {
		return err
	}
	for _, id := range projects {
		e := f.keys.of[id]
		if !doubtful[id] && len(e.compare(ends[id], rows[id], []string{store.KeyInForce}, f.strict.Load())) == 0 {
			continue
		}
		// Keys may have changed since the ends were read, so the project is looked at alone.
		delete(f.keys.of, id)
		if err := f.CheckStored(ctx, id, store.KeyInForce); err != nil {
			return err
		}
	}
	return nil
}

// followKeys brings what chains explain of keys to their ends. It returns the projects with a chain that is not as it was recorded.
func (f *InForce) followKeys(ctx context.Context, projects []string, ends map[string]int64) (doubtful map[string]bool, err error) {
	if f.keys.of == nil {
		f.keys.of = map[string]*explained{}
	}
	doubtful = map[string]bool{}
	var first []string // short chains that are read from their beginning
	for _, id := range projects {
		e := f.keys.of[id]
		if e == nil {
			e = newExplained()
			e.only = []string{store.KeyInForce, store.ProjectInForce}
			f.keys.of[id] = e
		}
		switch {
		case e.seq >= ends[id]:
		case e.seq == 0 && ends[id] <= fewEntries:
			first = append(first, id)
		default:
			if err := f.readOn(ctx, id, e); errors.Is(err, store.ErrDamaged) {
				doubtful[id] = true
			} else if err != nil {
				return nil, err
			}
		}
	}
	for part := range slices.Chunk(first, manyChains) {
		entries, err := f.rows.FirstRecorded(ctx, part, f.kinds, fewEntries)
		if err != nil {
			return nil, err
		}
		damaged := make([]bool, len(part))
		var reading sync.WaitGroup
		for worker := range runtime.GOMAXPROCS(0) {
			reading.Go(func() {
				for i := worker; i < len(part); i += runtime.GOMAXPROCS(0) {
					damaged[i] = f.keys.of[part[i]].read(entries[part[i]], ends[part[i]]) != nil
				}
			})
		}
		reading.Wait()
		for i, id := range part {
			if damaged[i] {
				doubtful[id] = true
			}
		}
	}
	return doubtful, nil
}
