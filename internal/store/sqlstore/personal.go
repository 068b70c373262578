package sqlstore

import (
	"context"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const personalColumns = "project_id, id, name, wrapped_by, wrapped, created_at, forgotten_at"

func personalFields(k *store.PersonalKey) []any {
	return []any{&k.ProjectID, &k.ID, &k.Name, &k.WrappedBy, &k.Wrapped, timeColumn{&k.CreatedAt}, optionalTimeColumn{&k.ForgottenAt}}
}

// Named implements store.PersonalKeyReader.
func (t personalTable) Named(ctx context.Context, projectID, name string) (store.PersonalKey, error) {
	k, err := one(ctx, t.session, unlocked, "key of a person", "SELECT "+personalColumns+" FROM personal_keys WHERE project_id = ? AND name = ?", []any{projectID, name}, personalFields)
	return k, notFound(err, "key of a person", name)
}

// List implements store.PersonalKeyReader.
func (t personalTable) List(ctx context.Context, projectID string, ids []string) ([]store.PersonalKey, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := []any{projectID}
	for _, id := range ids {
		args = append(args, id)
	}
	return many(ctx, t.session, unlocked, "keys of people", "SELECT "+personalColumns+" FROM personal_keys WHERE project_id = ? AND id IN "+marks(1, len(ids)), args, personalFields)
}

// Count implements store.PersonalKeyReader.
func (t personalTable) Count(ctx context.Context, projectID string) (used, forgotten int, err error) {
	err = t.row(ctx, "count keys of people", "SELECT COALESCE(SUM(CASE WHEN forgotten_at IS NULL THEN 1 ELSE 0 END), 0), COALESCE(SUM(CASE WHEN forgotten_at IS NULL THEN 0 ELSE 1 END), 0) "+
		"FROM personal_keys WHERE project_id = ?", []any{projectID}, &used, &forgotten)
	return used, forgotten, err
}

// WrappedByOthers implements store.PersonalKeyReader.
func (t personalTable) WrappedByOthers(ctx context.Context, names []string) (n int, err error) {
	args := make([]any, len(names))
	for i := range names {
		args[i] = names[i]
	}
	err = t.row(ctx, "keys wrapped by others", "SELECT COUNT(*) FROM personal_keys WHERE forgotten_at IS NULL AND wrapped_by NOT IN "+marks(1, len(names)), args, &n)
	return n, err
}

// NotWrappedBy implements store.PersonalKeyReader.
func (t personalTable) NotWrappedBy(ctx context.Context, name, afterProject, afterID string, limit int) ([]store.PersonalKey, error) {
	return many(ctx, t.session, unlocked, "keys to encrypt again", "SELECT "+personalColumns+" FROM personal_keys "+
		"WHERE forgotten_at IS NULL AND wrapped_by <> ? AND (project_id, id) > (?, ?) ORDER BY project_id, id LIMIT ?", []any{name, afterProject, afterID, limit}, personalFields)
}

// Rewrap implements store.PersonalKeyTx.
func (t personalTable) Rewrap(ctx context.Context, keys []store.PersonalKey) error {
	for i := range keys {
		k := &keys[i]
		if _, err := t.exec(ctx, "encrypt key of a person again", "UPDATE personal_keys SET wrapped = ?, wrapped_by = ? WHERE project_id = ? AND id = ? AND forgotten_at IS NULL",
			blob(k.Wrapped), k.WrappedBy, k.ProjectID, k.ID); err != nil {
			return err
		}
	}
	return nil
}

// RetireWrapping implements store.PersonalKeyTx. The locks wait for those who insert keys.
func (t personalTable) RetireWrapping(ctx context.Context, names []string, at time.Time) error {
	if err := t.lockProjects(ctx); err != nil {
		return err
	}
	for _, name := range names {
		if _, err := t.exec(ctx, "retire privacy key", "INSERT INTO retired_privacy_keys (project_id, name, retired_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
			store.AllProjects, name, micros(at)); err != nil {
			return err
		}
	}
	return nil
}

// Insert implements store.PersonalKeyTx.
func (t personalTable) Insert(ctx context.Context, k store.PersonalKey) error {
	if _, err := projectTable(t).Get(ctx, k.ProjectID); err != nil {
		return err
	}
	var retired int
	if err := t.row(ctx, "retired privacy keys", "SELECT COUNT(*) FROM retired_privacy_keys WHERE project_id = ? AND name = ?", []any{store.AllProjects, k.WrappedBy}, &retired); err != nil {
		return err
	}
	if retired > 0 {
		return rule.Errorf(rule.CodeUnavailable, "the key in privacy_key_file is retired; give this node a copy of the new file")
	}
	n, err := t.exec(ctx, "insert key of a person", "INSERT INTO personal_keys ("+personalColumns+") VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		k.ProjectID, k.ID, k.Name, k.WrappedBy, blob(k.Wrapped), micros(k.CreatedAt), nullable(k.ForgottenAt))
	return unlessNone(n, err, rule.Errorf(rule.CodeConflict, "the person has a key already"))
}

// Forget implements store.PersonalKeyTx. It first writes a row of the same size over the one with the key, so that the pages of SQLite keep no copy
// of it.
func (t personalTable) Forget(ctx context.Context, projectID, id string, at time.Time) error {
	list, err := t.List(ctx, projectID, []string{id})
	if err != nil {
		return err
	}
	if len(list) == 0 || list[0].ForgottenAt != nil {
		return rule.NotFound("key of a person", id)
	}
	if _, err := t.exec(ctx, "overwrite key of a person", "UPDATE personal_keys SET wrapped = ?, name = id WHERE project_id = ? AND id = ?",
		blob(make([]byte, len(list[0].Wrapped))), projectID, id); err != nil {
		return err
	}
	_, err = t.exec(ctx, "forget key of a person", "UPDATE personal_keys SET forgotten_at = ? WHERE project_id = ? AND id = ?", micros(at), projectID, id)
	return err
}
