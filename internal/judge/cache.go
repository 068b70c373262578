package judge

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"tenet/internal/store"
)

// kept gives verdicts that were kept.
type kept interface {
	get(project, unit, rule string) (entry string, ok bool)
}

// nothingKept knows no verdict.
type nothingKept struct{}

func (nothingKept) get(string, string, string) (string, bool) { return "", false }

// recall implements source.
func (j *Judge) recall(ctx context.Context, h *hearing, k *keys) kept {
	if j.cfg.Cache == nil {
		return nothingKept{}
	}
	return j.cfg.Cache.recall(ctx, h, k)
}

// keep implements source.
func (j *Judge) keep(_ *hearing, list []keepsake) {
	if j.cfg.Cache != nil {
		j.cfg.Cache.put(list)
	}
}

// CacheConfig sets up [NewCache]. Zero fields take the defaults.
type CacheConfig struct {
	// Store keeps verdicts beyond this process and for other nodes; nil keeps them in memory alone.
	Store store.Store
	// MaxMemory bounds the verdicts in memory, in bytes by estimate; 0 means 64 MiB.
	MaxMemory int64
	// MaxStored bounds the verdicts of one project in the store, in bytes of their text; 0 means 256 MiB. The oldest go first.
	MaxStored int64
	// Now is the time; nil means time.Now.
	Now func() time.Time
	// Logger is told when the store cannot be read or written; nil discards.
	Logger *slog.Logger
}

// Limits of what waits to be stored. Beyond them verdicts are not stored: they cost a call later.
const (
	maxWaiting = 50_000
	storeBatch = 2_000
	// storePause is how long verdicts wait for others, so that many share a transaction.
	storePause = 50 * time.Millisecond
	// pruneEvery is how many stored verdicts lie between two looks at the size of what is stored.
	pruneEvery = 20_000
	// lookUp bounds how long a look at the store may take: a call is better than to wait for a slow database.
	lookUp = 2 * time.Second
)

// Cache keeps verdicts by content: in memory, and in a store that nodes share. Writing to the store happens in the
// background; no answer waits for it. It is safe for concurrent use.
type Cache struct {
	cfg    CacheConfig
	memory memory

	mu      sync.Mutex
	waiting []keepsake
	wake    chan struct{}
	idle    *sync.Cond // broadcast when waiting has been written
	writing bool
	closed  bool
	stored  map[string]int // verdicts stored by project since the last look at the size
	ended   chan struct{}
}

// NewCache makes a cache. [Cache.Close] ends it.
func NewCache(cfg CacheConfig) *Cache {
	if cfg.MaxMemory <= 0 {
		cfg.MaxMemory = 64 << 20
	}
	if cfg.MaxStored <= 0 {
		cfg.MaxStored = 256 << 20
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Cache{cfg: cfg, wake: make(chan struct{}, 1), stored: map[string]int{}, ended: make(chan struct{})}
	c.idle = sync.NewCond(&c.mu)
	c.memory.limit = cfg.MaxMemory
	if cfg.Store == nil {
		close(c.ended)
		return c
	}
	go c.write()
	return c
}

// Close stores what waits and ends the cache. Verdicts put afterwards stay in memory.
func (c *Cache) Close() {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.wake)
	}
	c.mu.Unlock()
	<-c.ended
}

// Flush waits until all verdicts put so far are stored, or given up.
func (c *Cache) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.cfg.Store != nil && (len(c.waiting) > 0 || c.writing) {
		c.idle.Wait()
	}
}

// recall looks up the whole and the units of a hearing, first in memory, then in the store where memory lacks something.
func (c *Cache) recall(ctx context.Context, h *hearing, k *keys) kept {
	if c.cfg.Store == nil {
		return &c.memory
	}
	lacking := map[string][]string{} // units by project
	noted := map[[2]string]bool{}
	for i, r := range h.rules {
		if _, ok := c.memory.get(r.ProjectID, k.whole, k.rules[i]); ok {
			continue
		}
		for _, unit := range append([]string{k.whole}, k.units...) {
			if _, ok := c.memory.get(r.ProjectID, unit, k.rules[i]); !ok && !noted[[2]string{r.ProjectID, unit}] {
				noted[[2]string{r.ProjectID, unit}] = true
				lacking[r.ProjectID] = append(lacking[r.ProjectID], unit)
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lookUp)
	defer cancel()
	for project, units := range lacking {
		list, err := c.cfg.Store.Verdicts(ctx, project, units)
		if err != nil {
			c.cfg.Logger.WarnContext(ctx, "kept verdicts cannot be read; the model is asked", "error", err)
			continue
		}
		for _, v := range list {
			c.memory.put(keepsake{project, v.Unit, v.Rule, v.Entry}, true)
		}
	}
	return &c.memory
}

// put keeps verdicts in memory at once and lets them be stored soon.
func (c *Cache) put(list []keepsake) {
	for i := range list {
		c.memory.put(list[i], false)
	}
	if c.cfg.Store == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.waiting)+len(list) > maxWaiting {
		return
	}
	c.waiting = append(c.waiting, list...)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// write stores what waits until the cache is closed and nothing waits any more.
func (c *Cache) write() {
	defer close(c.ended)
	for range c.wake {
		c.mu.Lock()
		closed := c.closed
		c.mu.Unlock()
		if !closed {
			time.Sleep(storePause)
		}
		c.drain()
	}
	c.drain()
}

func (c *Cache) drain() {
	for {
		c.mu.Lock()
		n := min(len(c.waiting), storeBatch)
		list := c.waiting[:n:n]
		c.waiting, c.writing = c.waiting[n:], n > 0
		if n == 0 {
			c.waiting = nil
			c.idle.Broadcast()
		}
		c.mu.Unlock()
		if n == 0 {
			return
		}
		c.save(list)
	}
}

// save stores verdicts. Where another node was first, its verdict is taken into memory: all nodes shall say the same.
func (c *Cache) save(list []keepsake) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	now := c.cfg.Now()
	byProject := map[string][]store.Verdict{}
	for _, k := range list {
		byProject[k.project] = append(byProject[k.project], store.Verdict{ProjectID: k.project, Unit: k.unit, Rule: k.rule, Entry: k.entry, CreatedAt: now})
	}
	for project, verdicts := range byProject {
		var taken []store.Verdict
		err := c.cfg.Store.Update(ctx, func(tx store.Tx) (err error) {
			taken, err = tx.PutVerdicts(ctx, verdicts)
			return err
		})
		if err != nil {
			c.cfg.Logger.WarnContext(ctx, "verdicts cannot be kept in the database", "error", err)
			continue
		}
		for _, v := range taken {
			c.memory.put(keepsake{project, v.Unit, v.Rule, v.Entry}, true)
		}
		if c.stored[project] += len(verdicts); c.stored[project] >= pruneEvery {
			c.stored[project] = 0
			c.prune(ctx, project)
		}
	}
}

// prune holds a project to the size that it may have.
func (c *Cache) prune(ctx context.Context, project string) {
	stats, err := c.cfg.Store.VerdictStats(ctx, project)
	if err == nil && stats.Bytes <= c.cfg.MaxStored {
		return
	}
	err = c.cfg.Store.Update(ctx, func(tx store.Tx) error {
		_, err := tx.PruneVerdicts(ctx, project, store.Prune{MaxBytes: c.cfg.MaxStored / 10 * 9}) // not at once again
		return err
	})
	if err != nil {
		c.cfg.Logger.WarnContext(ctx, "kept verdicts cannot be pruned", "error", err)
	}
}

// Stats tells how much is stored for a project, what waits to be stored included. Without a store it is nothing.
func (c *Cache) Stats(ctx context.Context, projectID string) (store.VerdictStats, error) {
	if c.cfg.Store == nil {
		return store.VerdictStats{}, nil
	}
	c.Flush()
	return c.cfg.Store.VerdictStats(ctx, projectID)
}

// Prune deletes kept verdicts of a project and returns how many were stored. This node forgets all verdicts of the project
// that it has in memory, and reads the ones left when they are needed; what other nodes have in memory they keep until it
// is crowded out.
func (c *Cache) Prune(ctx context.Context, projectID string, p store.Prune) (deleted int64, err error) {
	if c.cfg.Store != nil {
		c.Flush()
		err = c.cfg.Store.Update(ctx, func(tx store.Tx) error {
			deleted, err = tx.PruneVerdicts(ctx, projectID, p)
			return err
		})
	}
	c.memory.forget(projectID)
	return deleted, err
}
