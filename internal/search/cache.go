package search

import (
	"container/list"
	"sync"
)

// cache keeps the most recently used values. It is safe for concurrent use.
type cache[K comparable, V any] struct {
	mu    sync.Mutex
	size  int
	byKey map[K]*list.Element
	order *list.List // of cached[K, V], the most recently used first
}

type cached[K comparable, V any] struct {
	key   K
	value V
}

// newCache makes a cache of at most size values.
func newCache[K comparable, V any](size int) *cache[K, V] {
	return &cache[K, V]{size: size, byKey: map[K]*list.Element{}, order: list.New()}
}

func (c *cache[K, V]) get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(cached[K, V]).value, true
}

func (c *cache[K, V]) put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		e.Value = cached[K, V]{key, value}
		c.order.MoveToFront(e)
		return
	}
	c.byKey[key] = c.order.PushFront(cached[K, V]{key, value})
	for len(c.byKey) > c.size {
		last := c.order.Back()
		delete(c.byKey, c.order.Remove(last).(cached[K, V]).key)
	}
}
