package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// End implements store.LogReader.
func (t logTable) End(ctx context.Context, projectID string) (store.AuditEnd, error) {
	return auditTable(t).end(ctx, projectID)
}

// Ends implements store.LogReader.
func (t logTable) Ends(ctx context.Context) (map[string]store.AuditEnd, error) {
	return byKey(ctx, t.session, unlocked, "audit heads", "SELECT project_id, seq, hash, tree FROM audit_heads WHERE seq > 0", nil, endFields)
}

func endFields(id *string, e *store.AuditEnd) []any { return []any{id, &e.Seq, &e.Hash, &e.Tree} }

// Leaves implements store.LogReader.
func (t logTable) Leaves(ctx context.Context, projectID string, after int64, limit int) ([]wire.AuditHead, error) {
	return many(ctx, t.session, unlocked, "leaves", "SELECT seq, hash FROM audit_entries WHERE project_id = ? AND seq > ? ORDER BY seq"+t.d.limit,
		[]any{projectID, after, max(limit, 0)}, func(h *wire.AuditHead) []any { return []any{&h.Seq, &h.Hash} })
}

// FirstLeaves implements store.LogReader.
func (t logTable) FirstLeaves(ctx context.Context, projectIDs []string, upTo int64) (map[string][]wire.AuditHead, error) {
	out := make(map[string][]wire.AuditHead, len(projectIDs))
	for part := range slices.Chunk(projectIDs, pageSize) {
		in, list := t.d.in("project_id", part)
		err := t.each(ctx, "leaves", "SELECT project_id, seq, hash FROM audit_entries WHERE "+in+" AND seq <= ? ORDER BY project_id, seq", []any{list, upTo}, func(rows *sql.Rows) error {
			var id string
			var h wire.AuditHead
			if err := rows.Scan(&id, &h.Seq, &h.Hash); err != nil {
				return err
			}
			out[id] = append(out[id], h)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Tile implements store.LogReader.
func (t logTable) Tile(ctx context.Context, projectID string, level int, n int64) (store.Tile, error) {
	tile, err := one(ctx, t.session, unlocked, "tile", "SELECT level, n, hashes FROM audit_tiles WHERE project_id = ? AND level = ? AND n = ?",
		[]any{projectID, level, n}, func(v *store.Tile) []any { return []any{&v.Level, &v.N, &v.Hashes} })
	return tile, notFound(err, "tile", strconv.Itoa(level)+"/"+strconv.FormatInt(n, 10))
}

// Tiled implements store.LogReader.
func (t logTable) Tiled(ctx context.Context) (map[string]int64, error) {
	return byKey(ctx, t.session, unlocked, "tiles", "SELECT project_id, MAX(n) + 1 FROM audit_tiles WHERE level = 0 GROUP BY project_id", nil,
		func(id *string, n *int64) []any { return []any{id, n} })
}

// Checkpoint implements store.LogReader.
func (t logTable) Checkpoint(ctx context.Context, projectID string, size int64, witnessed bool) (store.Checkpoint, error) {
	where := "project_id = ? AND size >= ?"
	if witnessed {
		where += " AND witnessed"
	}
	return t.checkpoint(ctx, where, "of at least "+strconv.FormatInt(size, 10)+" entries", projectID, size)
}

// CheckpointOf implements store.LogReader.
func (t logTable) CheckpointOf(ctx context.Context, projectID string, size int64) (store.Checkpoint, error) {
	return t.checkpoint(ctx, "project_id = ? AND size = ?", "of "+strconv.FormatInt(size, 10)+" entries", projectID, size)
}

// checkpoint returns the newest checkpoint that meets a condition.
func (t logTable) checkpoint(ctx context.Context, where, named string, args ...any) (store.Checkpoint, error) {
	c, err := one(ctx, t.session, unlocked, "checkpoint",
		"SELECT project_id, origin, size, at, note, witnessed FROM audit_checkpoints WHERE "+where+" ORDER BY size DESC, at DESC LIMIT 1",
		args, func(c *store.Checkpoint) []any {
			return []any{&c.ProjectID, &c.Origin, &c.Size, timeColumn{&c.At}, &c.Note, &c.Witnessed}
		})
	if errors.Is(err, sql.ErrNoRows) {
		err = rule.NotFound("checkpoint", named)
	}
	return c, err
}

// PutTiles implements store.LogTx.
func (t logTable) PutTiles(ctx context.Context, projectID string, tiles []store.Tile) error {
	args := make([]any, 0, 4*len(tiles))
	for _, v := range tiles {
		args = append(args, projectID, v.Level, v.N, blob(v.Hashes))
	}
	return t.execRows(ctx, "put tiles", "INSERT INTO audit_tiles (project_id, level, n, hashes) VALUES ", 4,
		` ON CONFLICT (project_id, level, n) DO UPDATE SET hashes = excluded.hashes WHERE LENGTH(excluded.hashes) > LENGTH(audit_tiles.hashes)`, args)
}

// SetTree implements store.LogTx.
func (t logTable) SetTree(ctx context.Context, projectID string, end store.AuditEnd) error {
	n, err := t.lockedExec(ctx, chainOf(projectID), "set tree", "UPDATE audit_heads SET tree = ? WHERE project_id = ? AND seq = ? AND hash = ?",
		end.Tree, projectID, end.Seq, end.Hash)
	return unlessNone(n, err, rule.Errorf(rule.CodeConflict, "the audit chain has moved on; read its end again"))
}

// PutCheckpoint implements store.LogTx.
func (t logTable) PutCheckpoint(ctx context.Context, c store.Checkpoint) error {
	_, err := t.exec(ctx, "put checkpoint", `INSERT INTO audit_checkpoints (project_id, origin, size, at, note, witnessed) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (project_id, origin, size) DO UPDATE SET at = excluded.at, note = excluded.note, witnessed = excluded.witnessed`,
		c.ProjectID, c.Origin, c.Size, micros(c.At), c.Note, c.Witnessed)
	return err
}
