package sqlstore

import (
	"context"
	"time"

	"tenet/internal/store"
)

func sessionFields(s *store.Session) []any {
	return []any{&s.Hash, &s.Data, timeColumn{&s.ExpiresAt}}
}

// Get implements store.SessionReader.
func (t sessionTable) Get(ctx context.Context, hash string, now time.Time) (store.Session, error) {
	s, err := one(ctx, t.session, unlocked, "session", "SELECT hash, data, expires_at FROM console_sessions WHERE project_id = ? AND hash = ? AND expires_at > ?",
		[]any{store.AllProjects, hash, micros(now)}, sessionFields)
	return s, notFound(err, "session", "")
}

// Put implements store.SessionTx.
func (t sessionTable) Put(ctx context.Context, s store.Session) error {
	_, err := t.exec(ctx, "put session", `INSERT INTO console_sessions (project_id, hash, data, expires_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (project_id, hash) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at`,
		store.AllProjects, s.Hash, s.Data, micros(s.ExpiresAt))
	return err
}

// Delete implements store.SessionTx.
func (t sessionTable) Delete(ctx context.Context, hash string) error {
	_, err := t.exec(ctx, "delete session", "DELETE FROM console_sessions WHERE project_id = ? AND hash = ?", store.AllProjects, hash)
	return err
}

// DeleteExpired implements store.SessionTx.
func (t sessionTable) DeleteExpired(ctx context.Context, now time.Time) error {
	_, err := t.exec(ctx, "delete expired sessions", "DELETE FROM console_sessions WHERE project_id = ? AND expires_at <= ?", store.AllProjects, micros(now))
	return err
}
