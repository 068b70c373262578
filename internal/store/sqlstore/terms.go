package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Mark implements store.TermReader.
func (t termTable) Mark(ctx context.Context, projectID string) (store.TermMark, error) {
	m, err := one(ctx, t.session, termsOf(projectID), "term mark", "SELECT seq, pruned FROM term_marks WHERE project_id = ?", []any{projectID},
		func(m *store.TermMark) []any { return []any{&m.Seq, &m.Pruned} })
	if errors.Is(err, sql.ErrNoRows) {
		return m, nil
	}
	return m, err
}

// Unindexed implements store.TermReader. It locks nothing: what is indexed is decided when the mark moves.
func (t termTable) Unindexed(ctx context.Context) ([]store.Uncounted, error) {
	return many(ctx, t.session, unlocked, "unindexed", `SELECT h.project_id, h.seq - COALESCE(m.seq, 0) FROM audit_heads AS h
			LEFT JOIN term_marks AS m ON m.project_id = h.project_id WHERE h.seq > COALESCE(m.seq, 0) ORDER BY h.project_id`,
		nil, func(u *store.Uncounted) []any { return []any{&u.ProjectID, &u.Entries} })
}

// Blocks implements store.TermReader.
func (t termTable) Blocks(ctx context.Context, projectID string) ([]store.TermBlock, error) {
	return many(ctx, t.session, termsOf(projectID), "term blocks",
		"SELECT block, from_at, until_at, forgotten FROM term_blocks WHERE project_id = ? ORDER BY block DESC", []any{projectID},
		func(b *store.TermBlock) []any {
			return []any{&b.Block, timeColumn{&b.From}, timeColumn{&b.Until}, &b.Forgotten}
		})
}

// Sets implements store.TermReader.
func (t termTable) Sets(ctx context.Context, projectID string, terms []store.Term, blocks []int64) (map[int64]*store.EntrySet, error) {
	if err := t.lock(ctx, termsOf(projectID)); err != nil {
		return nil, err
	}
	sets := make(map[int64]*store.EntrySet, len(blocks))
	query := t.d.setsQuery()
	args := []any{projectID, t.d.numbers(blocks), t.d.numbers(termNumbers(terms))}
	err := t.each(ctx, "term sets", query, args, func(rows *sql.Rows) error {
		var block int64
		var stored sql.RawBytes
		if err := rows.Scan(&block, &stored); err != nil {
			return err
		}
		set := sets[block]
		if set == nil {
			set = &store.EntrySet{}
			sets[block] = set
		}
		set.Decode(stored)
		return nil
	})
	return sets, err
}

func termNumbers(terms []store.Term) []int64 {
	list := make([]int64, len(terms))
	for i, term := range terms {
		list[i] = int64(term)
	}
	return list
}

// Within implements store.TermReader. The index by kind has all columns that it needs.
func (t termTable) Within(ctx context.Context, projectID string, block int64, kinds []string, since, until *time.Time) (*store.EntrySet, error) {
	from, to := int64(math.MinInt64), int64(math.MaxInt64)
	if since != nil {
		from = micros(*since)
	}
	if until != nil {
		to = micros(*until)
	}
	set := &store.EntrySet{}
	err := t.each(ctx, "entries by time",
		t.d.withinQuery(),
		[]any{projectID, t.d.list(kinds), block * store.BlockSize, (block + 1) * store.BlockSize, from, to}, func(rows *sql.Rows) error {
			var seq int64
			err := rows.Scan(&seq)
			set.Add(seq)
			return err
		})
	return set, err
}

// withinQuery finds the entries of a block by kind and time.
func (d *dialect) withinQuery() string {
	return "SELECT seq FROM audit_entries WHERE project_id = ? AND kind" + d.oneOf + " AND seq > ? AND seq <= ? AND at >= ? AND at < ?"
}

// setsQuery finds the sets of terms in blocks.
func (d *dialect) setsQuery() string {
	return "SELECT block, entries FROM evaluation_terms WHERE project_id = ? AND block" + d.oneOfNumbers + " AND term" + d.oneOfNumbers
}

// entriesQuery finds entries by their numbers.
func (d *dialect) entriesQuery() string {
	return "SELECT " + auditColumns + " FROM audit_entries WHERE project_id = ? AND seq" + d.oneOfNumbers + " ORDER BY seq DESC"
}

// Entries implements store.TermReader.
func (t termTable) Entries(ctx context.Context, projectID string, seqs []int64) ([]store.AuditEntry, error) {
	return auditTable(t).withBodies(ctx, chainOf(projectID), "audit entries", t.d.entriesQuery(), []any{projectID, t.d.numbers(seqs)})
}

// Put implements store.TermTx. It writes the mark as it is, which locks it.
func (t termTable) Put(ctx context.Context, b store.TermBatch) error {
	b.Through = b.From.Seq
	return t.Add(ctx, b)
}

// Add implements store.TermTx. The mark moves first: it lets only one of those through who have indexed the same.
func (t termTable) Add(ctx context.Context, b store.TermBatch) error {
	if err := t.firstMark(ctx, b.ProjectID); err != nil {
		return err
	}
	n, err := t.exec(ctx, "move term mark", "UPDATE term_marks SET seq = ? WHERE project_id = ? AND seq = ? AND pruned = ?",
		b.Through, b.ProjectID, b.From.Seq, b.From.Pruned)
	if err := unlessNone(n, err, rule.Errorf(rule.CodeConflict, "evaluations of project %q have been indexed meanwhile; read the mark again", b.ProjectID)); err != nil {
		return err
	}
	blocks := map[int64]*termDelta{}
	for i := range b.Entries {
		e := &b.Entries[i]
		d := blocks[store.BlockOf(e.Seq)]
		if d == nil {
			d = &termDelta{from: e.At, until: e.At, sets: map[store.Term]*store.EntrySet{}}
			blocks[store.BlockOf(e.Seq)] = d
		}
		d.add(e)
	}
	for _, block := range slices.Sorted(maps.Keys(blocks)) {
		if err := t.addBlock(ctx, b.ProjectID, block, blocks[block]); err != nil {
			return err
		}
	}
	return nil
}

// termDelta holds the entries that come to a block.
type termDelta struct {
	from, until time.Time
	sets        map[store.Term]*store.EntrySet
}

func (d *termDelta) add(e *store.TermEntry) {
	if e.At.Before(d.from) {
		d.from = e.At
	}
	if e.At.After(d.until) {
		d.until = e.At
	}
	for _, term := range e.Terms {
		set := d.sets[term]
		if set == nil {
			set = &store.EntrySet{}
			d.sets[term] = set
		}
		set.Add(e.Seq)
	}
}

// firstMark locks the index of a project and makes its mark.
func (t termTable) firstMark(ctx context.Context, projectID string) error {
	if err := t.lock(ctx, termsOf(projectID)); err != nil {
		return err
	}
	_, err := t.exec(ctx, "first term mark", "INSERT INTO term_marks (project_id, seq, pruned) VALUES (?, 0, 0) ON CONFLICT DO NOTHING", projectID)
	return err
}

func (t termTable) addBlock(ctx context.Context, projectID string, block int64, d *termDelta) error {
	_, err := t.exec(ctx, "add term block", `INSERT INTO term_blocks (project_id, block, from_at, until_at, forgotten) VALUES (?, ?, ?, ?, 0)
			ON CONFLICT (project_id, block) DO UPDATE SET
			from_at = CASE WHEN excluded.from_at < term_blocks.from_at THEN excluded.from_at ELSE term_blocks.from_at END,
			until_at = CASE WHEN excluded.until_at > term_blocks.until_at THEN excluded.until_at ELSE term_blocks.until_at END`,
		projectID, block, micros(d.from), micros(d.until))
	if err != nil {
		return err
	}
	terms := slices.Sorted(maps.Keys(d.sets)) // all nodes write in this order
	err = t.each(ctx, "stored terms", "SELECT term, entries FROM evaluation_terms WHERE project_id = ? AND block = ? AND term"+t.d.oneOfNumbers,
		[]any{projectID, block, t.d.numbers(termNumbers(terms))}, func(rows *sql.Rows) error {
			var term store.Term
			var stored sql.RawBytes
			err := rows.Scan(&term, &stored)
			if err == nil {
				d.sets[term].Decode(stored)
			}
			return err
		})
	if err != nil {
		return err
	}
	args := make([]any, 0, 4*len(terms))
	for _, term := range terms {
		args = append(args, projectID, block, int64(term), d.sets[term].Encode())
	}
	return t.execRows(ctx, "add terms", "INSERT INTO evaluation_terms (project_id, block, term, entries) VALUES ", 4,
		" ON CONFLICT (project_id, block, term) DO UPDATE SET entries = excluded.entries", args)
}

// Prune implements store.TermTx.
func (t termTable) Prune(ctx context.Context, projectID string, through int64) error {
	if err := t.firstMark(ctx, projectID); err != nil {
		return err
	}
	_, err := t.exec(ctx, "raise pruned mark", "UPDATE term_marks SET pruned = ? WHERE project_id = ? AND pruned < ?", through, projectID, through)
	return err
}

// Forget implements store.TermTx.
func (t termTable) Forget(ctx context.Context, projectID string, block, through int64, after store.Term, limit int) (store.Term, bool, error) {
	type row struct {
		term    store.Term
		entries []byte
	}
	// The bound leaves out the terms that stay.
	rows, err := many(ctx, t.session, termsOf(projectID), "terms to forget",
		"SELECT term, entries FROM evaluation_terms WHERE project_id = ? AND block = ? AND term > ? AND term < 0 ORDER BY term LIMIT ?",
		[]any{projectID, block, int64(after), limit}, func(r *row) []any { return []any{&r.term, &r.entries} })
	if err != nil {
		return after, false, err
	}
	var gone []int64
	var changed []any
	for i := range rows {
		var set store.EntrySet
		set.Decode(rows[i].entries)
		before := set.Count()
		set.Keep(block, through, math.MaxInt64)
		switch set.Count() {
		case before:
		case 0:
			gone = append(gone, int64(rows[i].term))
		default:
			changed = append(changed, projectID, block, int64(rows[i].term), set.Encode())
		}
		after = rows[i].term
	}
	_, err = t.exec(ctx, "forget terms", "DELETE FROM evaluation_terms WHERE project_id = ? AND block = ? AND term"+t.d.oneOfNumbers, projectID, block, t.d.numbers(gone))
	if err != nil {
		return after, false, err
	}
	err = t.execRows(ctx, "forget entries of terms", "INSERT INTO evaluation_terms (project_id, block, term, entries) VALUES ", 4,
		" ON CONFLICT (project_id, block, term) DO UPDATE SET entries = excluded.entries", changed)
	if err != nil || len(rows) == limit {
		return after, err == nil, err
	}
	_, err = t.exec(ctx, "move forgotten", "UPDATE term_blocks SET forgotten = ? WHERE project_id = ? AND block = ? AND forgotten < ?", through, projectID, block, through)
	return after, false, err
}
