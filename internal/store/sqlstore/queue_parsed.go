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

// get returns the rows of keys that it has, and the keys of the others.
func (p *parsed[K, V]) get(keys []K) (found map[K]V, absent []K) {
	found = make(map[K]V, len(keys))
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range keys {
		if v, ok := p.rows[k]; ok {
			found[k] = v
		} else {
			absent = append(absent, k)
		}
	}
	return found, absent
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
	rules      parsed[ruleState, store.QueuedRule]
	candidates parsed[rowKey, *store.QueuedCandidate]
}

// ruleState names the content of a stored rule: each transaction that changes rules of a project raises its corpus version.
type ruleState struct {
	projectID, id string
	corpusVersion int64
}

// rowKey names a row of a project. The body of a candidate never changes.
type rowKey struct{ projectID, id string }

// queuedRules returns the rules with the given states, which the session sees.
func (t queueTable) queuedRules(ctx context.Context, states []ruleState) (map[ruleState]store.QueuedRule, error) {
	found, absent := t.parsed.rulesOf(states)
	err := t.bodies(ctx, "rules", keysOf(absent), func(projectID, id string, version int64, body []byte) error {
		var r store.QueuedRule
		if err := jsonv2.Unmarshal(body, &r); err != nil {
			return fmt.Errorf("sqlstore: a stored rule cannot be read: %w", err)
		}
		s := ruleState{projectID, id, version}
		found[s] = r
		if t.parsed != nil {
			t.parsed.rules.put(s, r, len(r.Statement)+len(r.ChangeNote))
		}
		return nil
	})
	return found, err
}

// rulesOf is get of the rules. Transactions, which may change rules, keep none.
func (p *parsedRows) rulesOf(states []ruleState) (map[ruleState]store.QueuedRule, []ruleState) {
	if p == nil {
		return map[ruleState]store.QueuedRule{}, states
	}
	return p.rules.get(states)
}

func keysOf(states []ruleState) []rowKey {
	keys := make([]rowKey, len(states))
	for i, s := range states {
		keys[i] = rowKey{s.projectID, s.id}
	}
	return keys
}

// queuedCandidates returns candidates by their keys; nil for one whose body is damaged.
func (t queueTable) queuedCandidates(ctx context.Context, keys []rowKey) (map[rowKey]*store.QueuedCandidate, error) {
	found, absent := map[rowKey]*store.QueuedCandidate{}, keys
	if t.parsed != nil {
		found, absent = t.parsed.candidates.get(keys)
	}
	err := t.bodies(ctx, "candidates", absent, func(projectID, id string, _ int64, body []byte) error {
		c := &store.QueuedCandidate{}
		if jsonv2.Unmarshal(body, c) != nil {
			return nil
		}
		k := rowKey{projectID, id}
		found[k] = c
		if t.parsed != nil {
			t.parsed.candidates.put(k, c, len(c.Statement)+len(c.SourceFile))
		}
		return nil
	})
	return found, err
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
