package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const keyColumns = "project_id, id, name, role, hash, created_at, created_by, expires_at, revoked_at"

func keyFields(k *store.Key) []any {
	return []any{&k.ProjectID, &k.ID, &k.Name, &k.Role, &k.Hash, timeColumn{&k.CreatedAt}, &k.CreatedBy, optionalTimeColumn{&k.ExpiresAt}, optionalTimeColumn{&k.RevokedAt}}
}

// List implements store.KeyReader.
func (t keyTable) List(ctx context.Context, projectID string) ([]store.Key, error) {
	return many(ctx, t.session, keyDomain, "keys", "SELECT "+keyColumns+" FROM api_keys WHERE project_id = ? ORDER BY created_at DESC, id DESC",
		[]any{projectID}, keyFields)
}

// GetByHash implements store.KeyReader. Its errors do not contain the hash.
func (t keyTable) GetByHash(ctx context.Context, hash string) (store.Key, error) {
	k, err := one(ctx, t.session, keyDomain, "key", "SELECT "+keyColumns+" FROM api_keys WHERE hash = ?", []any{hash}, keyFields)
	if errors.Is(err, sql.ErrNoRows) {
		return k, rule.Errorf(rule.CodeNotFound, "there is no such key")
	}
	return k, err
}

// Count implements store.KeyReader.
func (t keyTable) Count(ctx context.Context) (int, error) {
	return one(ctx, t.session, keyDomain, "count keys", "SELECT COUNT(*) FROM api_keys WHERE revoked_at IS NULL", nil,
		func(n *int) []any { return []any{n} })
}

// Insert implements store.KeyTx.
func (t keyTable) Insert(ctx context.Context, k store.Key) error {
	n, err := t.lockedExec(ctx, keyDomain, "insert key",
		"INSERT INTO api_keys ("+keyColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		k.ProjectID, k.ID, k.Name, k.Role, k.Hash, micros(k.CreatedAt), k.CreatedBy, nullable(k.ExpiresAt), nullable(k.RevokedAt))
	return unlessNone(n, err, rule.Errorf(rule.CodeConflict, "there is such a key already; make a new one"))
}

// Revoke implements store.KeyTx.
func (t keyTable) Revoke(ctx context.Context, projectID, id string, at time.Time) error {
	if err := t.lock(ctx, keyDomain); err != nil {
		return err
	}
	var revoked int64
	err := t.row(ctx, "revoke key",
		"UPDATE api_keys SET revoked_at = COALESCE(revoked_at, ?) WHERE project_id = ? AND id = ? RETURNING revoked_at",
		[]any{micros(at), projectID, id}, &revoked)
	return notFound(err, "key", id)
}
