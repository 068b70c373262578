package find

import (
	"sync"

	"tenet/internal/store"
)

// maxLarge bounds the terms that large entries keep in memory: 16 MiB.
const maxLarge = 2 << 20

// largeEntries keeps which rules entries concern that concern more than are indexed, such as imports. To read their bodies again for each
// query takes milliseconds for each thousand rules. Entries never change.
type largeEntries struct {
	mu    sync.Mutex
	rules map[largeKey][]store.Term // in order
	terms int
}

type largeKey struct {
	projectID string
	seq       int64
}

func (l *largeEntries) get(projectID string, seq int64) ([]store.Term, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rules, ok := l.rules[largeKey{projectID, seq}]
	return rules, ok
}

// put keeps the rules of an entry, and forgets all others when they become too many.
func (l *largeEntries) put(projectID string, seq int64, rules []store.Term) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rules == nil || l.terms+len(rules) > maxLarge {
		l.rules, l.terms = map[largeKey][]store.Term{}, 0
	}
	key := largeKey{projectID, seq}
	l.terms += len(rules) - len(l.rules[key])
	l.rules[key] = rules
}
