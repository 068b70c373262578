package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// On PostgreSQL, the bodies of evaluations lie in the table audit_bodies, which has a partition for each part of time: to drop one takes as long for a thousand
// bodies as for ten million, and leaves nothing to clean up. The rows of the chain, with the hashes of the bodies, stay in audit_entries: their unique keys
// are without the time, and they are never removed. A body for whose time there is no partition is in its row of audit_entries, as all are on SQLite.

// partsList lists the partitions with their bounds. (A question mark in the patterns would be a parameter.)
const partsList = `SELECT CAST(substring(bound FROM 'FROM \(''*(\d+)') AS BIGINT), CAST(substring(bound FROM 'TO \(''*(\d+)') AS BIGINT) FROM (
		SELECT pg_get_expr(c.relpartbound, c.oid) AS bound FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
		WHERE i.inhparent = to_regclass('audit_bodies')) AS bounds ORDER BY 1`

// partWait bounds how long a transaction that removes a part waits for others, and so how long those that come after it wait for it.
const partWait = 100 * time.Millisecond

// knownParts are the parts that a node has seen.
type knownParts struct {
	mu   sync.Mutex
	list []store.Part
	seen time.Time
}

// partsFor is how long a node takes the parts that it has seen for those that there are, before it writes. Until then a new part gets nothing.
const partsFor = 30 * time.Second

// cover reports whether there is a part for a time.
func (k *knownParts) cover(ctx context.Context, s *session, at time.Time) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := time.Now(); k.seen.IsZero() || now.Sub(k.seen) > partsFor {
		list, err := partTable{s}.List(ctx)
		if err != nil {
			return false, err
		}
		k.list, k.seen = list, now
	}
	i, exact := slices.BinarySearchFunc(k.list, at, func(p store.Part, at time.Time) int { return p.From.Compare(at) })
	return exact || i > 0 && at.Before(k.list[i-1].Until), nil
}

// forget has the next write look for the parts again.
func (k *knownParts) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seen = time.Time{}
}

// List implements store.PartReader.
func (t partTable) List(ctx context.Context) ([]store.Part, error) {
	if t.d.parts == nil {
		return nil, nil
	}
	return many(ctx, t.session, unlocked, "parts", partsList, nil, func(p *store.Part) []any { return []any{timeColumn{&p.From}, timeColumn{&p.Until}} })
}

// Last implements store.PartReader. It jumps from project to project along the key.
func (t partTable) Last(ctx context.Context, p store.Part) (map[string]int64, error) {
	if t.d.parts == nil {
		return map[string]int64{}, nil
	}
	table := partName(p)
	if t.state != nil {
		if err := t.briefly(ctx, "hold part", "LOCK TABLE retention IN SHARE MODE; LOCK TABLE "+table+" IN SHARE MODE"); err != nil {
			return nil, err
		}
	}
	if t.d.spread.Load() { // several servers have the rows, and none can jump
		return byKey(ctx, t.session, unlocked, "projects of a part", "SELECT project_id, MAX(seq) FROM "+table+" GROUP BY project_id", nil, lastFields)
	}
	return byKey(ctx, t.session, unlocked, "projects of a part", `WITH RECURSIVE found (project_id) AS (
			(SELECT project_id FROM `+table+` ORDER BY project_id LIMIT 1)
			UNION ALL SELECT (SELECT b.project_id FROM `+table+` AS b WHERE b.project_id > found.project_id ORDER BY b.project_id LIMIT 1) FROM found WHERE found.project_id IS NOT NULL)
		SELECT project_id, (SELECT MAX(b.seq) FROM `+table+` AS b WHERE b.project_id = found.project_id) FROM found WHERE project_id IS NOT NULL`, nil, lastFields)
}

func lastFields(id *string, seq *int64) []any { return []any{id, seq} }

// partName is the name of the partition of a part.
func partName(p store.Part) string {
	return fmt.Sprintf("audit_bodies_%s_%s", p.From.UTC().Format("20060102t150405"), p.Until.UTC().Format("20060102t150405"))
}

// briefly carries out statements that lock tables, and gives up soon. It ends the transaction then, without another try: that would make others wait again.
func (t partTable) briefly(ctx context.Context, doing, statements string) error {
	_, err := t.db.ExecContext(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d; %s", partWait.Milliseconds(), statements))
	if err == nil {
		return nil
	}
	if t.d.retryable(err) {
		return fmt.Errorf("sqlstore: %s: %w: %w", doing, rule.Errorf(rule.CodeUnavailable, "the records of that time are in use; try again later"), err)
	}
	return t.wrap(ctx, doing, err)
}

// making is the advisory lock of a node that makes parts.
const making = advisory + 0xfe

// Make implements store.PartTx. An empty table that is attached locks out nobody, where one that is made as a partition would.
func (t partTable) Make(ctx context.Context, p store.Part) error {
	if t.d.parts == nil {
		return nil
	}
	if _, err := t.exec(ctx, "lock", "SELECT pg_advisory_xact_lock(?)", int64(making)); err != nil {
		return err
	}
	list, err := t.List(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(other store.Part) bool { return p.From.Before(other.Until) && other.From.Before(p.Until) }) || !p.From.Before(p.Until) {
		return rule.Errorf(rule.CodeConflict, "the time from %s until %s is in a part already", p.From.Format(time.RFC3339), p.Until.Format(time.RFC3339))
	}
	if t.d.spread.Load() {
		if _, err := t.exec(ctx, "make part", oneByOne); err != nil {
			return err
		}
	}
	name := partName(p)
	_, err = t.exec(ctx, "make part", "CREATE TABLE "+name+" (LIKE audit_bodies INCLUDING ALL)")
	if err == nil {
		_, err = t.exec(ctx, "make part", fmt.Sprintf("ALTER TABLE audit_bodies ATTACH PARTITION %s FOR VALUES FROM (%d) TO (%d)", name, micros(p.From), micros(p.Until)))
	}
	t.d.parts.forget()
	return err
}

// Drop implements store.PartTx.
func (t partTable) Drop(ctx context.Context, p store.Part) error {
	list, err := t.List(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(other store.Part) bool { return other.From.Equal(p.From) && other.Until.Equal(p.Until) }) {
		return rule.NotFound("part", p.From.Format(time.RFC3339))
	}
	t.d.parts.forget()
	return t.briefly(ctx, "drop part", "DROP TABLE "+partName(p))
}

// apart splits entries that are to be written: it returns the arguments of the rows of bodies that go into parts, four each, and empties those bodies in args,
// which has width arguments an entry with the body at place body.
func (t auditTable) apart(ctx context.Context, entries []store.AuditEntry, args []any, width, body int) (rows []any, err error) {
	if t.d.parts == nil {
		return nil, nil
	}
	for i := range entries {
		e := &entries[i]
		if e.Kind != store.KindApart || len(e.Body) == 0 {
			continue
		}
		covered, err := t.d.parts.cover(ctx, t.session, e.At)
		if err != nil {
			return nil, err
		}
		if covered {
			rows = append(rows, e.ProjectID, e.Seq, micros(e.At), blob(e.Body))
			args[i*width+body] = blob(nil)
		}
	}
	return rows, nil
}

// putBodies writes bodies into parts.
func (t auditTable) putBodies(ctx context.Context, rows []any) error {
	err := t.execRows(ctx, "append bodies", "INSERT INTO audit_bodies (project_id, seq, at, body) VALUES ", 4, "", rows)
	if t.d.unrouted(err) { // somebody has dropped the part meanwhile: the next try finds that
		t.d.parts.forget()
		t.state.retry = cmp.Or(t.state.retry, err)
	}
	return err
}

// withBodies reads entries, and then the bodies of those whose bodies lie apart.
func (t auditTable) withBodies(ctx context.Context, d lockDomain, doing, query string, args []any) ([]store.AuditEntry, error) {
	if err := t.lock(ctx, d); err != nil {
		return nil, err
	}
	list := []store.AuditEntry{}
	var e store.AuditEntry
	fields := auditFields(&e) // for all rows: verification reads millions
	err := t.each(ctx, doing, query, args, func(rows *sql.Rows) error {
		e = store.AuditEntry{}
		err := rows.Scan(fields...)
		list = append(list, e)
		return err
	})
	if err == nil {
		err = t.fetchBodies(ctx, list)
	}
	return list, err
}

// fetchBodies reads the bodies of the entries of a project that are without one and may have it in a part. Statements name the times of the entries, so that
// PostgreSQL looks at no other parts, and are planned for them. Bodies that were removed stay empty.
func (t auditTable) fetchBodies(ctx context.Context, entries []store.AuditEntry) error {
	if t.d.parts == nil {
		return nil
	}
	without := map[int64]*store.AuditEntry{}
	var seqs, times []int64
	for i := range entries {
		if e := &entries[i]; len(e.Body) == 0 && e.Kind == store.KindApart {
			without[e.Seq] = e
			seqs, times = append(seqs, e.Seq), append(times, micros(e.At))
		}
	}
	if len(seqs) == 0 {
		return nil
	}
	query, args := t.d.bodiesQuery(entries[0].ProjectID, seqs, times)
	return t.each(ctx, "bodies", query, t.d.plannedNow(args...), func(rows *sql.Rows) error {
		var seq int64
		var body []byte
		err := rows.Scan(&seq, &body)
		if e := without[seq]; e != nil {
			e.Body = body
		}
		return err
	})
}

// bodiesQuery finds bodies by the numbers and the times of their entries.
func (d *dialect) bodiesQuery(projectID string, seqs, times []int64) (query string, args []any) {
	if first, last := slices.Min(seqs), slices.Max(seqs); last-first < int64(2*len(seqs)) { // the index has them side by side
		return "SELECT seq, body FROM audit_bodies WHERE project_id = ? AND seq >= ? AND seq <= ? AND at >= ? AND at <= ?",
			[]any{projectID, first, last, slices.Min(times), slices.Max(times)}
	}
	return "SELECT seq, body FROM audit_bodies WHERE project_id = ? AND seq" + d.oneOfNumbers + " AND at" + d.oneOfNumbers,
		[]any{projectID, d.numbers(seqs), d.numbers(times)}
}

// findBodies corrects which evaluations are without a body: those whose bodies lie apart have one.
func (t queueTable) findBodies(ctx context.Context, list []store.Waiting) error {
	if t.d.parts == nil {
		return nil
	}
	type place struct {
		projectID string
		seq       int64
	}
	without := map[place]*store.Waiting{}
	var projects []string
	var seqs, times []int64
	for i := range list {
		if w := &list[i]; w.Pruned {
			without[place{w.ProjectID, w.Seq}] = w
			projects, seqs, times = append(projects, w.ProjectID), append(seqs, w.Seq), append(times, micros(w.Since))
		}
	}
	if len(without) == 0 {
		return nil
	}
	in, names := t.d.in("project_id", projects)
	return t.each(ctx, "bodies", "SELECT project_id, seq FROM audit_bodies WHERE "+in+" AND seq"+t.d.oneOfNumbers+" AND at"+t.d.oneOfNumbers,
		t.d.plannedNow(names, t.d.numbers(seqs), t.d.numbers(times)), func(rows *sql.Rows) error {
			var p place
			err := rows.Scan(&p.projectID, &p.seq)
			if w := without[p]; w != nil {
				w.Pruned = false
			}
			return err
		})
}

// dropApart removes the bodies of the entries with after < seq <= through that lie in parts, except some.
func (t auditTable) dropApart(ctx context.Context, projectID string, after, through int64, except []int64) (int, error) {
	var from, until sql.NullInt64
	err := t.row(ctx, "times of bodies to drop", "SELECT MIN(at), MAX(at) FROM audit_entries WHERE project_id = ? AND kind = ? AND seq > ? AND seq <= ?",
		[]any{projectID, store.KindApart, after, through}, &from, &until)
	if err != nil || !from.Valid {
		return 0, err
	}
	query := "DELETE FROM audit_bodies WHERE project_id = ? AND seq > ? AND seq <= ? AND at >= ? AND at <= ?"
	args := []any{projectID, after, through, from.Int64, until.Int64}
	if len(except) > 0 {
		query, args = query+" AND NOT seq"+t.d.oneOfNumbers, append(args, t.d.numbers(except))
	}
	n, err := t.exec(ctx, "drop bodies", query, t.d.plannedNow(args...)...)
	return int(n), err
}

// lookAhead is how many entries one statement looks through for the next body.
const lookAhead = 20_000

// nextBody returns the first entry of a kind with after < Seq <= through that has a body; 0 if none has.
func (t auditTable) nextBody(ctx context.Context, projectID, kind string, after, through int64) (seq int64, err error) {
	query := "SELECT seq FROM audit_entries WHERE project_id = ? AND kind = ? AND seq > ? AND seq <= ? AND length(body) > 0 ORDER BY seq LIMIT 1"
	if err = t.row(ctx, "next body", query, []any{projectID, kind, after, through}, &seq); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	if t.d.parts == nil || kind != store.KindApart {
		return seq, nil
	}
	var apart sql.NullInt64
	if err = t.row(ctx, "next body", "SELECT MIN(seq) FROM audit_bodies WHERE project_id = ? AND seq > ? AND seq <= ?", []any{projectID, after, through}, &apart); err != nil {
		return 0, err
	}
	if apart.Valid && (seq == 0 || apart.Int64 < seq) {
		seq = apart.Int64
	}
	return seq, nil
}
