package sqlstore

import (
	"context"
	"time"

	"tenet/internal/rule"
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

// SignedOut implements store.SessionReader.
func (t sessionTable) SignedOut(ctx context.Context, issuer, subject, sid string, since time.Time) (bool, error) {
	err := t.exists(ctx, "sign-out", "", `SELECT 1 FROM console_signouts WHERE project_id = ? AND issuer = ? AND subject = ? AND at >= ? AND sid = ''
		UNION ALL SELECT 1 FROM console_signouts WHERE project_id = ? AND issuer = ? AND sid = ? AND at >= ? AND sid <> '' LIMIT 1`,
		store.AllProjects, issuer, subject, micros(since), store.AllProjects, issuer, sid, micros(since))
	if rule.CodeOf(err) == rule.CodeNotFound {
		return false, nil
	}
	return err == nil, err
}

// SignOut implements store.SessionTx.
func (t sessionTable) SignOut(ctx context.Context, s store.Signout) error {
	n, err := t.exec(ctx, "sign out", `INSERT INTO console_signouts (project_id, issuer, token_id, subject, sid, at, keep_until)
		VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		store.AllProjects, s.Issuer, s.TokenID, s.Subject, s.SID, micros(s.At), micros(s.Until))
	return unlessNone(n, err, rule.Errorf(rule.CodeConflict, "this sign-out has been received already"))
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
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, "delete old sign-outs", "DELETE FROM console_signouts WHERE project_id = ? AND keep_until <= ?", store.AllProjects, micros(now))
	return err
}
