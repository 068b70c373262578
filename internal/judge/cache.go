package judge

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// CacheConfig sets up [NewCache]. Zero fields take the defaults.
type CacheConfig struct {
	// Store stores verdicts beyond this process and for other nodes; nil leaves them in memory alone.
	Store store.Updater
	// Verdicts reads what Store stores.
	Verdicts store.VerdictReader
	// MaxMemory bounds the verdicts in memory, in bytes by estimate; 0 means 64 MiB.
	MaxMemory int64
	// MaxStored bounds the verdicts of one project in the store, in bytes of their text; 0 means 256 MiB. The oldest go first.
	MaxStored int64
	// Follow is how old the knowledge about deletions on other nodes may be; 0 means 1 s.
	Follow time.Duration
	// Now is the time; nil means time.Now.
	Now func() time.Time
	// Logger gets a warning when the store cannot be read or written; nil discards.
	Logger *slog.Logger
}

// Limits of the verdicts that wait to be written. The cache drops those beyond: they cost a call later.
const (
	maxWaiting = 50_000
	storeBatch = 2_000
	// storePause is how long verdicts wait for others, so that many share a transaction.
	storePause = 50 * time.Millisecond
	// pruneEvery is how many verdicts are written between two looks at the size of what is stored.
	pruneEvery = 20_000
	// lookUpTimeout bounds how long the store may take to answer: a call is better than to wait for a slow database.
	lookUpTimeout = 2 * time.Second
)

// Cache stores verdicts by content: in memory, and in a database that nodes share. A goroutine of its own writes to the
// database; no answer waits for it. It is safe for concurrent use.
type Cache struct {
	cfg    CacheConfig
	memory memory

	mu      sync.Mutex
	waiting []store.Verdict
	writing bool       // a goroutine writes what waits
	idle    *sync.Cond // broadcast when writing ends
	closed  bool
	epochs  map[string]epoch
	written map[string]int // verdicts by project since the last look at the size; only the writing goroutine uses it
}

// epoch is that of a project's stored verdicts, when it was read, and how often [Cache.Reread] was called before that.
type epoch struct {
	n       int64
	read    time.Time
	rereads int
}

// NewCache makes a cache. [Cache.Close] ends it.
func NewCache(cfg CacheConfig) *Cache {
	if cfg.MaxMemory <= 0 {
		cfg.MaxMemory = 64 << 20
	}
	if cfg.MaxStored <= 0 {
		cfg.MaxStored = 256 << 20
	}
	if cfg.Follow <= 0 {
		cfg.Follow = time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Cache{cfg: cfg, written: map[string]int{}, epochs: map[string]epoch{}}
	c.idle = sync.NewCond(&c.mu)
	c.memory.limit = cfg.MaxMemory
	return c
}

// Close writes what waits and ends the cache. Verdicts put afterwards stay in memory.
func (c *Cache) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.Flush()
}

// Flush waits until all verdicts put so far are written, or given up.
func (c *Cache) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.writing {
		c.idle.Wait()
	}
}

// epoch returns the epoch of a project. If verdicts were deleted on request since it was read last, on this node or another, memory
// forgets those of the project. What is known may be so old at most.
func (c *Cache) epoch(ctx context.Context, projectID string, atMost time.Duration) int64 {
	if c.cfg.Store == nil {
		return 0
	}
	now := c.cfg.Now()
	c.mu.Lock()
	known, ok := c.epochs[projectID]
	c.mu.Unlock()
	if age := now.Sub(known.read); ok && age >= 0 && age < atMost {
		return known.n
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	n, err := c.cfg.Verdicts.Epoch(ctx, projectID)
	if err != nil {
		c.cfg.Logger.WarnContext(ctx, "deletions of stored verdicts cannot be read", "error", err)
		// Memory stays: without the database no evaluation is recorded, so none is answered from it.
		return known.n
	}
	c.follow(projectID, epoch{n, now, known.rereads})
	return n
}

// Reread has the next evaluation read which verdicts of a project were deleted on request, however new that knowledge is.
func (c *Cache) Reread(projectID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.epochs[projectID]
	c.epochs[projectID] = epoch{n: known.n, rereads: known.rereads + 1}
}

// follow notes the epoch of a project. Memory forgets what it holds from an earlier one. What was read while [Cache.Reread] was called may be
// from before the deletion, so that the next evaluation reads it again.
func (c *Cache) follow(projectID string, e epoch) {
	c.mu.Lock()
	known, ok := c.epochs[projectID]
	if e.n >= known.n {
		if e.rereads != known.rereads {
			e.read, e.rereads = time.Time{}, known.rereads
		}
		c.epochs[projectID] = e
	}
	c.mu.Unlock()
	if !ok || e.n > known.n {
		c.memory.forget(projectID)
	}
}

// lookUp looks up the whole and the units of a decision, first in memory, then in the store where memory misses some.
func (c *Cache) lookUp(ctx context.Context, rules []*rule.Rule, k *cacheKeys) lookup {
	if c.cfg.Store == nil {
		return c.memory.get
	}
	for _, project := range projectsOf(rules) {
		c.epoch(ctx, project, c.cfg.Follow)
	}
	missing := map[string]map[string]bool{} // units by project
	for i, r := range rules {
		if _, ok := c.memory.get(r.ProjectID, k.whole, k.rules[i]); ok {
			continue
		}
		for _, unit := range append([]string{k.whole}, k.units...) {
			if _, ok := c.memory.get(r.ProjectID, unit, k.rules[i]); !ok {
				if missing[r.ProjectID] == nil {
					missing[r.ProjectID] = map[string]bool{}
				}
				missing[r.ProjectID][unit] = true
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	for project, units := range missing {
		c.epoch(ctx, project, 0) // what is judged now is stored
		list, err := c.cfg.Verdicts.List(ctx, project, slices.Sorted(maps.Keys(units)))
		if err != nil {
			c.cfg.Logger.WarnContext(ctx, "stored verdicts cannot be read; the model is asked", "error", err)
			continue
		}
		for i := range list {
			list[i].ProjectID = project
			c.memory.put(&list[i], true)
		}
	}
	return c.memory.get
}

// projectsOf lists the projects of rules.
func projectsOf(rules []*rule.Rule) (list []string) {
	for _, r := range rules {
		if !slices.Contains(list, r.ProjectID) {
			list = append(list, r.ProjectID)
		}
	}
	return list
}

// put adds verdicts to memory at once, and has them written soon.
func (c *Cache) put(list []store.Verdict) {
	if c.cfg.Store == nil {
		for i := range list {
			c.memory.put(&list[i], false)
		}
		return
	}
	c.mu.Lock()
	list = slices.DeleteFunc(list, func(v store.Verdict) bool { return v.Epoch != c.epochs[v.ProjectID].n })
	c.mu.Unlock()
	for i := range list {
		c.memory.put(&list[i], false)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.waiting)+len(list) > maxWaiting {
		return
	}
	c.waiting = append(c.waiting, list...)
	if !c.writing {
		c.writing = true
		go c.write()
	}
}

// write writes what waits until nothing waits any more.
func (c *Cache) write() {
	time.Sleep(storePause)
	for {
		c.mu.Lock()
		n := min(len(c.waiting), storeBatch)
		list := c.waiting[:n:n]
		c.waiting = c.waiting[n:]
		if n == 0 {
			c.waiting, c.writing = nil, false
			c.idle.Broadcast()
		}
		c.mu.Unlock()
		if n == 0 {
			return
		}
		c.save(list)
	}
}

// save writes verdicts. If another node was first, memory takes its verdict: all nodes shall say the same.
func (c *Cache) save(list []store.Verdict) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	now := c.cfg.Now()
	byProject := map[string][]store.Verdict{}
	for _, v := range list {
		v.CreatedAt = now
		byProject[v.ProjectID] = append(byProject[v.ProjectID], v)
	}
	for project, verdicts := range byProject {
		var taken []store.Verdict
		err := c.cfg.Store.Update(ctx, func(tx store.Tx) (err error) {
			taken, err = tx.Verdicts.Put(ctx, verdicts)
			return err
		})
		if err != nil {
			c.cfg.Logger.WarnContext(ctx, "verdicts cannot be stored in the database", "error", err)
			continue
		}
		for i := range taken {
			taken[i].ProjectID = project
			c.memory.put(&taken[i], true)
		}
		if c.written[project] += len(verdicts); c.written[project] >= pruneEvery {
			c.written[project] = 0
			c.prune(ctx, project)
		}
	}
}

// prune deletes the oldest verdicts of a project that has more than it may.
func (c *Cache) prune(ctx context.Context, project string) {
	stats, err := c.cfg.Verdicts.Stats(ctx, project)
	if err == nil && stats.Bytes <= c.cfg.MaxStored {
		return
	}
	err = c.cfg.Store.Update(ctx, func(tx store.Tx) error {
		_, err := tx.Verdicts.Prune(ctx, project, store.Prune{MaxBytes: c.cfg.MaxStored / 10 * 9}) // not at once again
		return err
	})
	if err != nil {
		c.cfg.Logger.WarnContext(ctx, "stored verdicts cannot be pruned", "error", err)
	}
}

// Stats returns how much is stored for a project, after what waits is written. Without a store it is nothing.
func (c *Cache) Stats(ctx context.Context, projectID string) (wire.VerdictStats, error) {
	if c.cfg.Store == nil {
		return wire.VerdictStats{}, nil
	}
	c.Flush()
	return c.cfg.Verdicts.Stats(ctx, projectID)
}

// Prune deletes stored verdicts of a project and returns how many. This node forgets all verdicts of the project that it has
// in memory, and reads the ones left when it needs them. Other nodes do the same within [CacheConfig.Follow] if the deletion was
// requested; no node stores a verdict afterwards that it began to judge before.
func (c *Cache) Prune(ctx context.Context, projectID string, p store.Prune) (deleted int64, err error) {
	if c.cfg.Store != nil {
		c.Flush()
		c.mu.Lock()
		now := epoch{rereads: c.epochs[projectID].rereads}
		c.mu.Unlock()
		err = c.cfg.Store.Update(ctx, func(tx store.Tx) error {
			if deleted, err = tx.Verdicts.Prune(ctx, projectID, p); err != nil {
				return err
			}
			now.n, err = tx.Verdicts.Epoch(ctx, projectID)
			return err
		})
		if now.read = c.cfg.Now(); err == nil {
			c.follow(projectID, now)
		}
	}
	c.memory.forget(projectID)
	return deleted, err
}
