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

func scanKey(scan func(...any) error) (store.Key, error) {
	var k store.Key
	var created int64
	var expires, revoked sql.NullInt64
	err := scan(&k.ProjectID, &k.ID, &k.Name, &k.Role, &k.Hash, &created, &k.CreatedBy, &expires, &revoked)
	k.CreatedAt, k.ExpiresAt, k.RevokedAt = fromMicros(created), fromNullable(expires), fromNullable(revoked)
	return k, err
}

// Keys implements store.Reader.
func (r *reader) Keys(ctx context.Context, projectID string) ([]store.Key, error) {
	if err := r.hold(ctx, lump{kind: keyring}); err != nil {
		return nil, err
	}
	list := []store.Key{}
	err := r.each(ctx, "keys", "SELECT "+keyColumns+" FROM api_keys WHERE project_id = ? ORDER BY created_at DESC, id DESC",
		[]any{projectID}, func(rows *sql.Rows) error {
			k, err := scanKey(rows.Scan)
			list = append(list, k)
			return err
		})
	return list, err
}

// KeyByHash implements store.Reader. Its errors do not tell the hash.
func (r *reader) KeyByHash(ctx context.Context, hash string) (store.Key, error) {
	if err := r.hold(ctx, lump{kind: keyring}); err != nil {
		return store.Key{}, err
	}
	k, err := scanKey(func(dest ...any) error {
		return r.row(ctx, "key", "SELECT "+keyColumns+" FROM api_keys WHERE hash = ?", []any{hash}, dest...)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return k, rule.Errorf(rule.CodeNotFound, "there is no such key")
	}
	return k, err
}

// CountKeys implements store.Reader.
func (r *reader) CountKeys(ctx context.Context) (int, error) {
	if err := r.hold(ctx, lump{kind: keyring}); err != nil {
		return 0, err
	}
	var n int
	err := r.row(ctx, "count keys", "SELECT COUNT(*) FROM api_keys WHERE revoked_at IS NULL", nil, &n)
	return n, err
}

// InsertKey implements store.Tx.
func (t *tx) InsertKey(ctx context.Context, k store.Key) error {
	if err := t.hold(ctx, lump{kind: keyring}); err != nil {
		return err
	}
	n, err := t.exec(ctx, "insert key",
		"INSERT INTO api_keys ("+keyColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		k.ProjectID, k.ID, k.Name, k.Role, k.Hash, micros(k.CreatedAt), k.CreatedBy, nullable(k.ExpiresAt), nullable(k.RevokedAt))
	if err == nil && n == 0 {
		return rule.Errorf(rule.CodeConflict, "there is such a key already; make a new one")
	}
	return err
}

// RevokeKey implements store.Tx.
func (t *tx) RevokeKey(ctx context.Context, projectID, id string, at time.Time) error {
	if err := t.hold(ctx, lump{kind: keyring}); err != nil {
		return err
	}
	var revoked int64
	err := t.row(ctx, "revoke key",
		"UPDATE api_keys SET revoked_at = COALESCE(revoked_at, ?) WHERE project_id = ? AND id = ? RETURNING revoked_at",
		[]any{micros(at), projectID, id}, &revoked)
	return missing(err, "key", id)
}
