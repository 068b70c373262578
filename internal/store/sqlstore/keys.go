package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

const keyColumns = "project_id, id, name, role, hash, created_at, created_by, expires_at, revoked_at, last_used_at, " +
	"prefix, owner, agent, limits, rotated_from, rotated_to, refused, last_refused_at, last_refusal"

func keyFields(k *store.Key) []any {
	return []any{
		&k.ProjectID, &k.ID, &k.Name, &k.Role, &k.Hash,
		timeColumn{&k.CreatedAt},
		&k.CreatedBy,
		optionalTimeColumn{&k.ExpiresAt},
		optionalTimeColumn{&k.RevokedAt},
		optionalTimeColumn{&k.LastUsedAt},
		&k.Prefix, &k.Owner, &k.Agent,
		limitsColumn{&k.Limits},
		&k.RotatedFrom, &k.RotatedTo, &k.Refused,
		optionalTimeColumn{&k.LastRefusedAt},
		&k.LastRefusal,
	}
}

// limitsColumn reads the limits of a key. It is empty for keys from before there were limits, and for those without.
type limitsColumn struct{ v *wire.KeyLimits }

// Scan implements sql.Scanner.
func (c limitsColumn) Scan(value any) error {
	if text := string(bytesOf(value)); text == "" {
		*c.v = wire.KeyLimits{}
		return nil
	}
	return jsonColumn{c.v}.Scan(value)
}

// List implements store.KeyReader.
func (t keyTable) List(ctx context.Context, projectID string) ([]store.Key, error) {
	return many(ctx, t.session, keyDomain, "keys", "SELECT "+keyColumns+" FROM api_keys WHERE project_id = ? ORDER BY created_at DESC, id DESC",
		[]any{projectID}, keyFields)
}

// ListAll implements store.KeyReader.
func (t keyTable) ListAll(ctx context.Context) ([]store.Key, error) {
	return many(ctx, t.session, keyDomain, "keys", "SELECT "+keyColumns+" FROM api_keys ORDER BY created_at DESC, id DESC", nil, keyFields)
}

// GetByHash implements store.KeyReader. Its errors do not contain the hash.
func (t keyTable) GetByHash(ctx context.Context, hash string) (store.Key, error) {
	k, err := one(ctx, t.session, keyDomain, "key", "SELECT "+keyColumns+" FROM api_keys WHERE hash = ?", []any{hash}, keyFields)
	if errors.Is(err, sql.ErrNoRows) {
		return k, rule.Errorf(rule.CodeNotFound, "there is no such key")
	}
	return k, err
}

// Get implements store.KeyTx. Nobody changes the key until the transaction ends.
func (t keyTable) Get(ctx context.Context, projectID, id string) (store.Key, error) {
	k, err := one(ctx, t.session, keyDomain, "key", "SELECT "+keyColumns+" FROM api_keys WHERE project_id = ? AND id = ?"+keeping(t.session), []any{projectID, id}, keyFields)
	return k, notFound(err, "key", id)
}

// Count implements store.KeyReader.
func (t keyTable) Count(ctx context.Context) (int, error) {
	return one(ctx, t.session, keyDomain, "count keys", "SELECT COUNT(*) FROM api_keys WHERE revoked_at IS NULL", nil,
		func(n *int) []any { return []any{n} })
}

// Insert implements store.KeyTx.
func (t keyTable) Insert(ctx context.Context, k store.Key) error {
	limits, err := json.Marshal(k.Limits)
	if err != nil {
		return err
	}
	n, err := t.lockedExec(ctx, keyDomain, "insert key",
		"INSERT INTO api_keys ("+keyColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		k.ProjectID, k.ID, k.Name, k.Role, k.Hash, micros(k.CreatedAt), k.CreatedBy, nullable(k.ExpiresAt), nullable(k.RevokedAt), nullable(k.LastUsedAt),
		k.Prefix, k.Owner, k.Agent, string(limits), k.RotatedFrom, k.RotatedTo, k.Refused, nullable(k.LastRefusedAt), k.LastRefusal)
	t.changedInForce(k.ProjectID, store.KeyInForce, k.ID)
	return unlessNone(n, err, rule.Errorf(rule.CodeConflict, "there is such a key already; make a new one"))
}

// Use implements store.KeyTx. It locks the rows alone: requests that check a key need not wait for it. The order of the ids keeps two servers from
// waiting for each other.
func (t keyTable) Use(ctx context.Context, uses map[string]store.KeyUse) error {
	for _, id := range slices.Sorted(maps.Keys(uses)) {
		u := uses[id]
		if at := micros(u.UsedAt); !u.UsedAt.IsZero() {
			_, err := t.exec(ctx, "use key", "UPDATE api_keys SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)", at, id, at)
			if err != nil {
				return err
			}
		}
		if u.Refused == 0 {
			continue
		}
		at := micros(u.RefusedAt)
		_, err := t.exec(ctx, "refuse key", "UPDATE api_keys SET refused = refused + ?, "+
			"last_refusal = CASE WHEN last_refused_at IS NULL OR last_refused_at <= ? THEN ? ELSE last_refusal END, "+
			"last_refused_at = CASE WHEN last_refused_at IS NULL OR last_refused_at <= ? THEN ? ELSE last_refused_at END WHERE id = ?",
			u.Refused, at, u.LastRefusal, at, at, id)
		if err != nil {
			return err
		}
	}
	return nil
}

// Change implements store.KeyTx.
func (t keyTable) Change(ctx context.Context, k store.Key) error {
	limits, err := json.Marshal(k.Limits)
	if err != nil {
		return err
	}
	if err := t.lock(ctx, keyDomain); err != nil {
		return err
	}
	if err := t.beforeChange(ctx, k.ProjectID, store.KeyInForce, k.ID); err != nil {
		return err
	}
	n, err := t.exec(ctx, "change key", "UPDATE api_keys SET name = ?, limits = ?, expires_at = ? WHERE project_id = ? AND id = ?",
		k.Name, string(limits), nullable(k.ExpiresAt), k.ProjectID, k.ID)
	t.changedInForce(k.ProjectID, store.KeyInForce, k.ID)
	return unlessNone(n, err, rule.NotFound("key", k.ID))
}

// Replace implements store.KeyTx.
func (t keyTable) Replace(ctx context.Context, projectID, id, by string, expires time.Time) error {
	if err := t.lock(ctx, keyDomain); err != nil {
		return err
	}
	if err := t.beforeChange(ctx, projectID, store.KeyInForce, id); err != nil {
		return err
	}
	var before string
	if err := t.row(ctx, "replace key", "SELECT rotated_to FROM api_keys WHERE project_id = ? AND id = ?", []any{projectID, id}, &before); err != nil {
		return notFound(err, "key", id)
	}
	if before != "" {
		return rule.Errorf(rule.CodeConflict, "the key %s was rotated already; rotate the key %s in its place", id, before)
	}
	t.changedInForce(projectID, store.KeyInForce, id)
	_, err := t.exec(ctx, "replace key", "UPDATE api_keys SET rotated_to = ?, expires_at = ? WHERE project_id = ? AND id = ?", by, micros(expires), projectID, id)
	return err
}

// Revoke implements store.KeyTx.
func (t keyTable) Revoke(ctx context.Context, projectID, id string, at time.Time) error {
	if err := t.lock(ctx, keyDomain); err != nil {
		return err
	}
	if err := t.beforeChange(ctx, projectID, store.KeyInForce, id); err != nil {
		return err
	}
	var revoked int64
	err := t.row(ctx, "revoke key",
		"UPDATE api_keys SET revoked_at = COALESCE(revoked_at, ?) WHERE project_id = ? AND id = ? RETURNING revoked_at",
		[]any{micros(at), projectID, id}, &revoked)
	t.changedInForce(projectID, store.KeyInForce, id)
	return notFound(err, "key", id)
}
