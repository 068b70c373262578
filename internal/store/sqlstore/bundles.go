package sqlstore

import (
	"context"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const bundleColumns = "project_id, environment, seq, action, snapshot_id, root, rules, at, raw_hash, raw_size, hash, body"

func bundleFields(b *store.Bundle) []any {
	return []any{
		&b.ProjectID, &b.Environment, &b.Seq, &b.Action, &b.SnapshotID, &b.Root, &b.Rules, timeColumn{&b.At}, &b.RawHash, &b.RawSize, &b.Hash, &b.Body,
	}
}

// Latest implements store.BundleReader.
func (t bundleTable) Latest(ctx context.Context, projectID, environment string) (store.Bundle, error) {
	b, err := one(ctx, t.session, unlocked, "latest bundle",
		"SELECT "+bundleColumns+" FROM bundles WHERE project_id = ? AND environment = ? ORDER BY seq DESC LIMIT 1", []any{projectID, environment}, bundleFields)
	return b, notFound(err, "bundle of", environment)
}

// WithHash implements store.BundleReader.
func (t bundleTable) WithHash(ctx context.Context, projectID, environment, rawHash string) (store.Bundle, error) {
	b, err := one(ctx, t.session, unlocked, "bundle by hash",
		"SELECT "+bundleColumns+" FROM bundles WHERE project_id = ? AND environment = ? AND raw_hash = ? ORDER BY seq DESC LIMIT 1",
		[]any{projectID, environment, rawHash}, bundleFields)
	return b, notFound(err, "bundle", rawHash)
}

// Insert implements store.BundleTx.
func (t bundleTable) Insert(ctx context.Context, b store.Bundle, keep int) error {
	if _, err := projectTable(t).Get(ctx, b.ProjectID); err != nil {
		return err
	}
	n, err := t.exec(ctx, "insert bundle", "INSERT INTO bundles ("+bundleColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		b.ProjectID, b.Environment, b.Seq, b.Action, b.SnapshotID, b.Root, b.Rules, micros(b.At), b.RawHash, b.RawSize, b.Hash, b.Body)
	if err := unlessNone(n, err, rule.Errorf(rule.CodeConflict, "there is a bundle %d of %s already", b.Seq, b.Environment)); err != nil {
		return err
	}
	_, err = t.exec(ctx, "drop old bundles", "DELETE FROM bundles WHERE project_id = ? AND environment = ? AND seq <= ?", b.ProjectID, b.Environment, b.Seq-int64(keep))
	return err
}
