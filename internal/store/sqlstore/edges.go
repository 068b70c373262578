package sqlstore

import (
	"context"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const edgeColumns = "project_id, name, verifier, created_at, seen_at, report, orders, received_seq, received_hash, unknown, forgotten_at > 0"

func edgeFields(e *store.Edge) []any {
	return []any{
		&e.ProjectID, &e.Name, &e.Key, timeColumn{&e.CreatedAt}, timeColumn{&e.SeenAt}, &e.Report, &e.Orders, &e.Received.Seq, &e.Received.Hash, &e.Unknown, &e.Forgotten,
	}
}

// Projects implements store.EdgeReader.
func (t edgeTable) Projects(ctx context.Context) ([]string, error) {
	return many(ctx, t.session, unlocked, "projects with edges", "SELECT DISTINCT project_id FROM edges WHERE forgotten_at = 0 ORDER BY project_id", nil, textFields)
}

// List implements store.EdgeReader.
func (t edgeTable) List(ctx context.Context, projectID string, offset, limit int) ([]store.Edge, int, error) {
	return page(ctx, t.session, unlocked, "edges", edgeColumns, "FROM edges WHERE project_id = ? AND forgotten_at = 0", "name", []any{projectID}, window{offset, limit}, edgeFields)
}

// Get implements store.EdgeReader.
func (t edgeTable) Get(ctx context.Context, projectID, name string) (store.Edge, error) {
	e, err := one(ctx, t.session, unlocked, "edge", "SELECT "+edgeColumns+" FROM edges WHERE project_id = ? AND name = ?", []any{projectID, name}, edgeFields)
	return e, notFound(err, "edge", name)
}

// Entries implements store.EdgeReader.
func (t edgeTable) Entries(ctx context.Context, projectID, name string, after int64, limit int) ([]store.AuditEntry, error) {
	return many(ctx, t.session, unlocked, "entries of an edge",
		"SELECT "+auditColumns+" FROM edge_entries WHERE project_id = ? AND edge = ? AND seq > ? ORDER BY seq LIMIT ?", []any{projectID, name, after, max(limit, 0)}, auditFields)
}

// Entry implements store.EdgeReader.
func (t edgeTable) Entry(ctx context.Context, projectID, id string) (store.AuditEntry, error) {
	e, err := one(ctx, t.session, unlocked, "entry of an edge", "SELECT "+auditColumns+" FROM edge_entries WHERE project_id = ? AND id = ?", []any{projectID, id}, auditFields)
	return e, notFound(err, "audit entry", id)
}

// Spool implements store.EdgeReader.
func (t edgeTable) Spool(ctx context.Context, projectID string, after int64) (store.Spool, error) {
	var s store.Spool
	var oldest int64
	err := t.row(ctx, "spool", "SELECT COUNT(*), COALESCE(SUM("+t.d.bodyLength+"), 0), COALESCE(MIN(at), 0) FROM audit_entries AS e WHERE project_id = ? AND seq > ?",
		[]any{projectID, after}, &s.Entries, &s.Bytes, &oldest)
	if oldest != 0 {
		s.Oldest = time.UnixMicro(oldest).UTC()
	}
	return s, err
}

// Oldest implements store.EdgeReader.
func (t edgeTable) Oldest(ctx context.Context, projectID string, through, bytes int64) (int64, error) {
	var seq int64
	err := t.row(ctx, "oldest bodies", `SELECT COALESCE(MIN(seq), ?) FROM (SELECT seq, SUM(`+t.d.bodyLength+`) OVER (ORDER BY seq) AS bytes
		FROM audit_entries AS e WHERE project_id = ? AND seq <= ?) AS sums WHERE bytes >= ?`, []any{through, projectID, through, bytes}, &seq)
	return seq, err
}

// Put implements store.EdgeTx.
func (t edgeTable) Put(ctx context.Context, e store.Edge) error {
	if _, err := projectTable(t).Get(ctx, e.ProjectID); err != nil {
		return err
	}
	_, err := t.exec(ctx, "put edge", insertEdges+`(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (project_id, name) DO UPDATE SET verifier = excluded.verifier, seen_at = excluded.seen_at, report = excluded.report, orders = excluded.orders`,
		edgeValues(&e)...)
	return err
}

const insertEdges = "INSERT INTO edges (project_id, name, verifier, created_at, seen_at, report, orders, received_seq, received_hash, unknown) VALUES "

// edgeValues are the values of a new edge.
func edgeValues(e *store.Edge) []any {
	return []any{e.ProjectID, e.Name, e.Key, micros(e.CreatedAt), micros(e.SeenAt), e.Report, e.Orders, int64(0), "", int64(0)}
}

// Seen implements store.EdgeTx.
func (t edgeTable) Seen(ctx context.Context, list []store.Edge) error {
	args := make([]any, 0, 10*len(list))
	for i := range list {
		args = append(args, edgeValues(&list[i])...)
	}
	return t.execRows(ctx, "see edges", insertEdges, 10,
		" ON CONFLICT (project_id, name) DO UPDATE SET seen_at = excluded.seen_at, report = excluded.report WHERE edges.forgotten_at = 0", args)
}

// Forget implements store.EdgeTx.
func (t edgeTable) Forget(ctx context.Context, projectID, name string, at time.Time) error {
	n, err := t.exec(ctx, "forget edge", "UPDATE edges SET forgotten_at = ? WHERE project_id = ? AND name = ? AND forgotten_at = 0", micros(at), projectID, name)
	return unlessNone(n, err, rule.NotFound("edge", name))
}

// Append implements store.EdgeTx.
func (t edgeTable) Append(ctx context.Context, name string, entries []store.AuditEntry, unknown int64) error {
	if len(entries) == 0 {
		return nil
	}
	first, last := &entries[0], &entries[len(entries)-1]
	if _, err := t.Get(ctx, first.ProjectID, name); err != nil {
		return err
	}
	n, err := t.exec(ctx, "move the end of an edge's chain",
		"UPDATE edges SET received_seq = ?, received_hash = ?, unknown = unknown + ? WHERE project_id = ? AND name = ? AND received_seq = ? AND received_hash = ? AND forgotten_at = 0",
		last.Seq, last.Hash, unknown, first.ProjectID, name, first.Seq-1, first.PrevHash)
	if err := unlessNone(n, err, rule.Errorf(rule.CodeConflict, "the chain of the edge %s has moved on, or the edge is forgotten; read it again", name)); err != nil {
		return err
	}
	args := make([]any, 0, 13*len(entries))
	for i := range entries {
		e := &entries[i]
		args = append(args, e.ProjectID, name, e.Seq, e.ID, e.Kind, micros(e.At), e.Actor, e.Verdict, e.Mode, blob(e.Body), e.BodyHash, e.PrevHash, e.Hash)
	}
	err = t.execRows(ctx, "append entries of an edge",
		"INSERT INTO edge_entries (project_id, edge, seq, id, kind, at, actor, verdict, mode, body, body_hash, prev_hash, hash) VALUES ", 13, "", args)
	if t.d.duplicate(err) {
		return rule.Errorf(rule.CodeConflict, "an entry with one of these ids is stored already")
	}
	return err
}

// Names implements store.EdgeReader.
func (t edgeTable) Names(ctx context.Context, projectID string) ([]string, error) {
	return many(ctx, t.session, unlocked, "names of edges", "SELECT name FROM edges WHERE project_id = ? ORDER BY name", []any{projectID}, textFields)
}

// DropBodies implements store.EdgeTx.
func (t edgeTable) DropBodies(ctx context.Context, projectID, name, kind string, after, through int64, limit int, except []int64) (int64, int, error) {
	of := bodies{"edge_entries", "project_id = ? AND edge = ? AND kind = ?", []any{projectID, name, kind}}
	return of.drop(ctx, t.session, after, through, limit, except)
}
