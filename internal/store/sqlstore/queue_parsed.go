package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"

	"tenet/internal/store"
)

// maxParsed bounds the bytes of text that the queue keeps of each kind of row.
const maxParsed = 8 << 20

// parsed keeps what the queue shows of rows whose content its key names: to read and parse the bodies of thousands of rows takes most of the time of
// a list. It is safe for concurrent use.
type parsed[K comparable, V any] struct {
	mu   sync.Mutex
	rows map[K]V
	size int
}

// get returns the rows of keys, in their order, and the indexes of those that it does not have.
func (p *parsed[K, V]) get(keys []K) (rows []V, absent []int) {
	rows = make([]V, len(keys))
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, k := range keys {
		v, ok := p.rows[k]
		if rows[i] = v; !ok {
			absent = append(absent, i)
		}
	}
	return rows, absent
}

// put keeps a row with so many bytes of text, and forgets all others when they become too many.
func (p *parsed[K, V]) put(k K, v V, size int) {
	const overhead = 200
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rows == nil || p.size+size+overhead > maxParsed {
		p.rows, p.size = map[K]V{}, 0
	}
	if _, again := p.rows[k]; !again {
		p.size += size + overhead
	}
	p.rows[k] = v
}

// parsedRows are the rows that a database keeps for the queue.
type parsedRows struct {
	rules      parsed[ruleState, *store.QueuedRule]
	candidates parsed[rowKey, *store.QueuedCandidate]
}

// ruleState names the content of a stored rule: each transaction that changes rules of a project raises its corpus version.
type ruleState struct {
	projectID, id string
	corpusVersion int64
}

// rowKey names a row of a project. The body of a candidate never changes.
type rowKey struct{ projectID, id string }

// queuedRules returns the rules with the given states, in their order; nil for one that the session does not see. In a transaction, which may
// change rules, it reads them all and keeps none.
func (t queueTable) queuedRules(ctx context.Context, states []ruleState) ([]*store.QueuedRule, error) {
	return readParsed(ctx, t, &t.kept().rules, states, "rules", func(s ruleState) rowKey { return rowKey{s.projectID, s.id} },
		func(projectID, id string, version int64, body []byte) (ruleState, *store.QueuedRule, int, error) {
			var r store.QueuedRule
			if err := jsonv2.Unmarshal(body, &r); err != nil {
				return ruleState{}, nil, 0, fmt.Errorf("sqlstore: a stored rule cannot be read: %w", err)
			}
			return ruleState{projectID, id, version}, &r, len(r.Statement) + len(r.ChangeNote), nil
		})
}

// queuedCandidates returns candidates by their keys, in their order; nil for one whose body is damaged.
func (t queueTable) queuedCandidates(ctx context.Context, keys []rowKey) ([]*store.QueuedCandidate, error) {
	return readParsed(ctx, t, &t.kept().candidates, keys, "candidates", func(k rowKey) rowKey { return k },
		func(projectID, id string, _ int64, body []byte) (rowKey, *store.QueuedCandidate, int, error) {
			c := &store.QueuedCandidate{}
			if jsonv2.Unmarshal(body, c) != nil {
				c = nil
			}
			return rowKey{projectID, id}, c, len(body), nil
		})
}

// kept returns the rows that the database keeps; none in a transaction that writes.
func (t queueTable) kept() *parsedRows {
	if t.parsed == nil {
		return &parsedRows{}
	}
	return t.parsed
}

// readParsed returns the rows of keys: those that are kept, and the others from their bodies.
func readParsed[K comparable, V any](ctx context.Context, t queueTable, kept *parsed[K, *V], keys []K, table string, row func(K) rowKey,
	parse func(projectID, id string, version int64, body []byte) (K, *V, int, error),
) ([]*V, error) {
	rows, absent := kept.get(keys)
	if len(absent) == 0 {
		return rows, nil
	}
	wanted := make([]rowKey, len(absent))
	for i, at := range absent {
		wanted[i] = row(keys[at])
	}
	read := make(map[K]*V, len(absent))
	err := t.bodies(ctx, table, wanted, func(projectID, id string, version int64, body []byte) error {
		k, v, size, err := parse(projectID, id, version, body)
		if err == nil {
			read[k] = v
			kept.put(k, v, size)
		}
		return err
	})
	for _, at := range absent {
		rows[at] = read[keys[at]]
	}
	return rows, err
}

// bodies reads the bodies of rows of the table of rules or candidates.
func (t queueTable) bodies(ctx context.Context, table string, keys []rowKey, yield func(projectID, id string, version int64, body []byte) error) error {
	byProject := map[string][]string{}
	for _, k := range keys {
		byProject[k.projectID] = append(byProject[k.projectID], k.id)
	}
	version := "0"
	if table == "rules" {
		version = "corpus_version"
	}
	for projectID, ids := range byProject {
		in, list := t.d.in("id", ids)
		err := t.each(ctx, "bodies of "+table, "SELECT id, "+version+", body FROM "+table+" WHERE project_id = ? AND "+in, []any{projectID, list}, func(rows *sql.Rows) error {
			var id string
			var at int64
			var body sql.RawBytes
			if err := rows.Scan(&id, &at, &body); err != nil {
				return err
			}
			return yield(projectID, id, at, body)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
