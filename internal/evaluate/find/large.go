package find

import (
	"context"
	"hash/maphash"
	"log/slog"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"tenet/internal/audit"
	"tenet/internal/store"
)

const (
	// maxLarge bounds the rules that large entries keep in memory: 16 MiB.
	maxLarge = 2 << 20
	// largePiece is how many large entries one query reads, and largeReaders how many of these are read at once.
	largePiece   = 4
	largeReaders = 2
)

// largeEntries keeps which rules entries concern that concern more than are indexed, such as imports. To read their bodies again for each
// query takes milliseconds for each thousand rules. Entries never change.
type largeEntries struct {
	mu    sync.Mutex
	rules map[largeKey][]uint64 // hashes of their ids, in order
	size  int
}

type largeKey struct {
	projectID string
	seq       int64
}

var largeSeed = maphash.MakeSeed()

func hashOf(ruleID string) uint64 { return maphash.String(largeSeed, ruleID) }

// concerns reports whether an entry concerns a rule; ok is false for entries that it does not have.
func (l *largeEntries) concerns(projectID string, seq int64, ruleID string) (yes, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rules, ok := l.rules[largeKey{projectID, seq}]
	_, yes = slices.BinarySearch(rules, hashOf(ruleID))
	return yes, ok
}

// put keeps the rules of an entry, and forgets all others when they become too many.
func (l *largeEntries) put(projectID string, seq int64, ruleIDs []string) {
	rules := make([]uint64, len(ruleIDs))
	for i, id := range ruleIDs {
		rules[i] = hashOf(id)
	}
	slices.Sort(rules)
	rules = slices.Compact(rules)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rules == nil || l.size+len(rules) > maxLarge {
		l.rules, l.size = map[largeKey][]uint64{}, 0
	}
	key := largeKey{projectID, seq}
	l.size += len(rules) - len(l.rules[key])
	l.rules[key] = rules
}

// concerning returns those of large entries that concern the rule of the query, from their bodies.
func (q *chainSearch) concerning(ctx context.Context, seqs []int64) (map[int64]bool, error) {
	found, unread := map[int64]bool{}, []int64{}
	for _, seq := range seqs {
		yes, ok := q.x.large.concerns(q.projectID, seq, q.rule)
		if !ok {
			unread = append(unread, seq)
		}
		found[seq] = yes
	}
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(largeReaders)
	var mu sync.Mutex
	for piece := range slices.Chunk(unread, largePiece) {
		reading.Go(func() error {
			entries, err := q.x.cfg.Store.Terms.Entries(ctx, q.projectID, piece)
			if err != nil {
				return err
			}
			for i := range entries {
				e := &entries[i]
				rules := q.rulesOf(ctx, e)
				yes := slices.Contains(rules, q.rule)
				mu.Lock()
				found[e.Seq] = yes
				mu.Unlock()
			}
			return nil
		})
	}
	return found, reading.Wait()
}

// rulesOf reads which rules an entry concerns, and keeps them; none of an entry that cannot be read.
func (q *chainSearch) rulesOf(ctx context.Context, e *store.AuditEntry) []string {
	var rules []string
	var err error
	if e.Kind == audit.KindImport {
		rules, err = audit.ImportedRules(e)
	} else {
		var about audit.About
		about, err = audit.Read(e)
		rules = about.Rules
	}
	if err != nil {
		q.x.cfg.Logger.WarnContext(ctx, "an entry of the audit chain cannot be read", slog.String("project", q.projectID), slog.Any("error", err))
		return nil
	}
	q.x.large.put(q.projectID, e.Seq, rules)
	return rules
}

// concerns reports whether one large entry concerns the rule of the query.
func (q *chainSearch) concerns(ctx context.Context, seq int64) (bool, error) {
	found, err := q.concerning(ctx, []int64{seq})
	return found[seq], err
}
