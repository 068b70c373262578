package check

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"tenet/internal/rule"
)

// Cache keeps compiled programs by the content of their check. It is safe for concurrent use, and a content is compiled
// once however many ask for it at the same time. An error is kept like a program.
type Cache struct {
	max  int
	seed maphash.Seed

	mu      sync.RWMutex
	entries map[uint64]*cached
	// ring holds the entries in the order in which they are looked at for eviction; hand is the next one. An entry that
	// was used again since the hand passed it gets a second chance.
	ring []*cached
	hand int
}

type cached struct {
	key     uint64
	check   rule.Check
	compile sync.Once
	program *Program
	err     error
	used    atomic.Bool
}

// NewCache makes a cache for at most size programs, at least one.
func NewCache(size int) *Cache {
	return &Cache{max: max(size, 1), seed: maphash.MakeSeed(), entries: map[uint64]*cached{}}
}

// Get returns the program of a check, compiled now or before. The error is that of [Compile].
func (c *Cache) Get(check *rule.Check) (*Program, error) {
	if check == nil {
		return Compile(nil)
	}
	key := c.hash(check)
	c.mu.RLock()
	e := c.entries[key]
	c.mu.RUnlock()
	if e == nil || !equal(&e.check, check) {
		e = c.insert(key, check)
	} else if !e.used.Load() {
		e.used.Store(true)
	}
	e.compile.Do(func() { e.program, e.err = Compile(&e.check) })
	return e.program, e.err
}

// insert adds an entry, in place of one of another content with the same hash if there is one, or of one that was not used
// for long.
func (c *Cache) insert(key uint64, check *rule.Check) *cached {
	e := &cached{key: key, check: clone(check)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.entries[key]; old != nil {
		if equal(&old.check, check) {
			return old
		}
		c.ring[slices.Index(c.ring, old)] = e
		c.entries[key] = e
		return e
	}
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

func (c *Cache) hash(check *rule.Check) uint64 {
	h := c.mix(0, check.CEL)
	h = c.mix(h, check.When)
	h = c.mix(h, string(check.Decides))
	h = c.mix(h, check.Message)
	h = c.mix(h, check.Fix)
	p := check.Pattern
	if p == nil {
		return h
	}
	h = c.mix(h, p.Regex)
	h = c.mix(h, p.Unless)
	h = c.mix(h, string(p.Lines))
	for _, glob := range p.Paths {
		h = c.mix(h, glob)
	}
	h++ // so that a path is not taken for an excluded one
	for _, glob := range p.ExcludePaths {
		h = c.mix(h, glob)
	}
	if p.Multiline {
		h++
	}
	return h
}

func (c *Cache) mix(h uint64, s string) uint64 {
	return (h ^ maphash.String(c.seed, s)) * 0x9E3779B97F4A7C15
}

func equal(a, b *rule.Check) bool {
	if a.CEL != b.CEL || a.When != b.When || a.Decides != b.Decides || a.Message != b.Message || a.Fix != b.Fix ||
		(a.Pattern == nil) != (b.Pattern == nil) {
		return false
	}
	p, q := a.Pattern, b.Pattern
	return p == nil || p.Regex == q.Regex && p.Unless == q.Unless && p.Lines == q.Lines && p.Multiline == q.Multiline &&
		slices.Equal(p.Paths, q.Paths) && slices.Equal(p.ExcludePaths, q.ExcludePaths)
}

// clone copies a check, so that what the caller does with its own does not change the cache.
func clone(check *rule.Check) rule.Check {
	out := *check
	if check.Pattern != nil {
		p := *check.Pattern
		p.Paths, p.ExcludePaths = slices.Clone(p.Paths), slices.Clone(p.ExcludePaths)
		out.Pattern = &p
	}
	return out
}
