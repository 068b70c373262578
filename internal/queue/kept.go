package queue

import "sync"

const (
	// maxKept bounds the bytes of text and structure that are kept of items, and again of marks.
	maxKept = 16 << 20
	// keptOverhead is about the size of an item or a mark without its text.
	keptOverhead = 400
)

// place names a list: of a kind in a project, or in all.
type place struct{ projectID, kind string }

// kept holds what was read from the database at a version, such as lists. Nobody changes it. It is safe for concurrent use.
type kept[K comparable, V any] struct {
	mu    sync.Mutex
	lists map[K]versioned[V]
	size  int
}

type versioned[V any] struct {
	version int64
	list    V
	size    int
}

// get returns a list of a version, if it is kept.
func (k *kept[K, V]) get(p K, version int64) (list V, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok := k.lists[p]
	return v.list, ok && v.version == version
}

// put keeps a list in place of an older version, and drops all others once they are too large together. One that is too large itself is not kept.
func (k *kept[K, V]) put(p K, version int64, list V, size int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	had, again := k.lists[p]
	if again && had.version > version {
		return
	}
	if again {
		k.size -= had.size
		delete(k.lists, p)
	}
	if size > maxKept {
		return
	}
	if k.lists == nil || k.size+size > maxKept {
		k.lists, k.size = map[K]versioned[V]{}, 0
	}
	k.lists[p] = versioned[V]{version, list, size}
	k.size += size
}
