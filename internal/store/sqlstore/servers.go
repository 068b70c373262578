package sqlstore

import (
	"context"
	"time"

	"tenet/internal/store"
)

// List implements store.ServerReader.
func (t serverTable) List(ctx context.Context) ([]store.Server, error) {
	return many(ctx, t.session, unlocked, "servers", "SELECT id, started_at, seen_at, data FROM servers WHERE project_id = ? ORDER BY started_at, id",
		[]any{store.AllProjects}, func(s *store.Server) []any {
			return []any{&s.ID, timeColumn{&s.StartedAt}, timeColumn{&s.SeenAt}, &s.Data}
		})
}

// Put implements store.ServerTx.
func (t serverTable) Put(ctx context.Context, s store.Server) error {
	_, err := t.exec(ctx, "put server", `INSERT INTO servers (project_id, id, started_at, seen_at, data) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (project_id, id) DO UPDATE SET started_at = excluded.started_at, seen_at = excluded.seen_at, data = excluded.data`,
		store.AllProjects, s.ID, micros(s.StartedAt), micros(s.SeenAt), s.Data)
	return err
}

// Delete implements store.ServerTx.
func (t serverTable) Delete(ctx context.Context, id string) error {
	_, err := t.exec(ctx, "delete server", "DELETE FROM servers WHERE project_id = ? AND id = ?", store.AllProjects, id)
	return err
}

// DeleteUnseen implements store.ServerTx.
func (t serverTable) DeleteUnseen(ctx context.Context, before time.Time) error {
	_, err := t.exec(ctx, "delete unseen servers", "DELETE FROM servers WHERE project_id = ? AND seen_at < ?", store.AllProjects, micros(before))
	return err
}
