package release

import (
	"slices"
	"sync"
)

// maxDifferences bounds the differences that are kept. Each holds only the ids and versions of the rules that differ.
const maxDifferences = 16

// differences keeps the differences that were asked for last.
type differences struct {
	mu    sync.Mutex
	slots []*differenceSlot // the one that was asked for last at the end
}

// differenceSlot is the place of one difference.
type differenceSlot struct {
	key    string
	making sync.Mutex
	made   *difference // nil until it has been worked out
}

// slot returns the place of a difference. A caller who finds nothing in it makes it, while others wait.
func (d *differences) slot(key string) *differenceSlot {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &differenceSlot{key: key}
	if i := slices.IndexFunc(d.slots, func(s *differenceSlot) bool { return s.key == key }); i >= 0 {
		s = d.slots[i]
		d.slots = slices.Delete(d.slots, i, i+1)
	}
	d.slots = append(d.slots, s)
	if len(d.slots) > maxDifferences {
		d.slots = slices.Delete(d.slots, 0, 1)
	}
	return s
}
