package check

import (
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"tenet/internal/rule"
)

// Cache keeps compiled programs by the content of their check. It is safe for concurrent use, and compiles a content once
// however many ask for it at the same time. It keeps an error like a program.
type Cache struct {
	max int

	mu      sync.RWMutex
	entries map[cacheKey]*cacheEntry
	// recent finds the entries of checks that were asked for before without hashing their content, which takes as long as many a
	// check runs. It is emptied when it is full.
	recent map[*rule.Check]*cacheEntry
	// ring holds the entries in the order in which eviction considers them; hand is the next one. An entry that was used
	// again since the hand passed it gets a second chance.
	ring []*cacheEntry
	hand int
}

type cacheEntry struct {
	key     cacheKey
	compile sync.Once
	program *Program
	err     error
	// compiled is set once program and err are.
	compiled atomic.Bool
	used     atomic.Bool
}

// cacheKey has the content of a check.
type cacheKey struct {
	cel, when, message, fix        string
	decides                        rule.Decides
	isPattern, multiline           bool
	regex, unless, paths, excluded string
	lines                          rule.Lines
}

func keyOf(c *rule.Check) cacheKey {
	key := cacheKey{cel: c.CEL, when: c.When, message: c.Message, fix: c.Fix, decides: c.Decides}
	if p := c.Pattern; p != nil {
		key.isPattern, key.multiline, key.regex, key.unless, key.lines = true, p.Multiline, p.Regex, p.Unless, p.Lines
		key.paths, key.excluded = join(p.Paths), join(p.ExcludePaths)
	}
	return key
}

// is reports whether a check has the content of a key.
func (k *cacheKey) is(c *rule.Check) bool {
	if c.Pattern != nil {
		return *k == keyOf(c)
	}
	return !k.isPattern && k.cel == c.CEL && k.when == c.When && k.message == c.Message && k.fix == c.Fix && k.decides == c.Decides
}

// join returns a text that no other list has: each element behind its length.
func join(list []string) string {
	var b []byte
	for _, s := range list {
		b = append(strconv.AppendInt(b, int64(len(s)), 10), ' ')
		b = append(b, s...)
	}
	return string(b)
}

// NewCache makes a cache for at most size programs, at least one.
func NewCache(size int) *Cache {
	return &Cache{max: max(size, 1), entries: map[cacheKey]*cacheEntry{}, recent: map[*rule.Check]*cacheEntry{}}
}

// GetAll returns the programs of checks, and the error of each that does not compile; both lists are nil at a check that is nil. It
// compiles the checks that are not in the cache yet on all cores: the first evaluation of a process waits for most of those that apply.
func (c *Cache) GetAll(checks []*rule.Check) ([]*Program, []error) {
	programs, errs := make([]*Program, len(checks)), make([]error, len(checks))
	var missing []int
	for i, check := range checks {
		if check == nil {
			continue
		}
		if e := c.peek(check); e != nil {
			programs[i], errs[i] = e.program, e.err
			continue
		}
		missing = append(missing, i)
	}
	var next atomic.Int64
	compile := func() {
		for k := int(next.Add(1)) - 1; k < len(missing); k = int(next.Add(1)) - 1 {
			i := missing[k]
			programs[i], errs[i] = c.Get(checks[i])
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(missing)) - 1 {
		wg.Go(compile)
	}
	compile()
	wg.Wait()
	return programs, errs
}

// Compiled calls found for each of n checks whose program, or why it has none, the cache has: those of [Cache.GetAll] before. It looks them up together, since
// an evaluation asks for hundreds.
func (c *Cache) Compiled(n int, check func(i int) *rule.Check, found func(i int, p *Program, fault error)) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for i := range n {
		if one := check(i); one != nil {
			if e := c.recent[one]; e.has(one) {
				found(i, e.program, e.err)
			}
		}
	}
}

// peek returns the compiled entry of a check that was asked for before; nil without one, which says nothing of its content.
func (c *Cache) peek(check *rule.Check) *cacheEntry {
	c.mu.RLock()
	e := c.recent[check]
	c.mu.RUnlock()
	if !e.has(check) {
		return nil
	}
	return e
}

// has reports whether an entry, which may be nil, is compiled and has the content of a check, and notes that it is used.
func (e *cacheEntry) has(check *rule.Check) bool {
	if e == nil || !e.key.is(check) || !e.compiled.Load() {
		return false
	}
	if !e.used.Load() {
		e.used.Store(true)
	}
	return true
}

// Get returns the program of a check, compiled now or before. The error is that of [Compile].
func (c *Cache) Get(check *rule.Check) (*Program, error) {
	if check == nil {
		return Compile(nil)
	}
	key := keyOf(check)
	c.mu.RLock()
	e := c.recent[check]
	known := e != nil && e.key == key // a caller may have changed the check
	if !known {
		e = c.entries[key]
	}
	c.mu.RUnlock()
	if e == nil {
		e = c.insert(key)
	} else if !e.used.Load() {
		e.used.Store(true)
	}
	if !known {
		c.remember(check, e)
	}
	e.compile.Do(func() {
		e.program, e.err = Compile(check)
		e.compiled.Store(true)
	})
	return e.program, e.err
}

// remember notes the entry of a check.
func (c *Cache) remember(check *rule.Check, e *cacheEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.recent) >= c.max {
		clear(c.recent)
	}
	c.recent[check] = e
}

// insert adds an entry, in place of one that was not used for long if the cache is full.
func (c *Cache) insert(key cacheKey) *cacheEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil {
		return e
	}
	e := &cacheEntry{key: key}
	c.entries[key] = e
	if len(c.ring) < c.max {
		c.ring = append(c.ring, e)
		return e
	}
	for c.ring[c.hand].used.Swap(false) {
		c.hand = (c.hand + 1) % len(c.ring)
	}
	delete(c.entries, c.ring[c.hand].key)
	c.ring[c.hand] = e
	c.hand = (c.hand + 1) % len(c.ring)
	return e
}
