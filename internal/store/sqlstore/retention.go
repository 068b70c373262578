package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Get implements store.RetentionReader.
func (t retentionTable) Get(ctx context.Context, projectID string) (r rule.Retention, err error) {
	var body []byte
	err = t.row(ctx, "retention", "SELECT body FROM retention WHERE project_id = ?"+keeping(t.session), []any{projectID}, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields() // of a later version: what it holds back is unknown here
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("sqlstore: the retention of project %s cannot be read: %w", projectID, err)
	}
	return r, nil
}

// FirstBody implements store.RetentionReader.
func (t retentionTable) FirstBody(ctx context.Context, projectID, kind string, through int64) (int64, error) {
	return auditTable(t).nextBody(ctx, projectID, kind, 0, through)
}

// Put implements store.RetentionTx.
func (t retentionTable) Put(ctx context.Context, projectID string, r rule.Retention) error {
	if _, err := projectTable(t).Get(ctx, projectID); err != nil {
		return err
	}
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := t.beforeChange(ctx, projectID, store.RetentionInForce, projectID); err != nil {
		return err
	}
	t.changedInForce(projectID, store.RetentionInForce, projectID)
	_, err = t.exec(ctx, "put retention", "INSERT INTO retention (project_id, body) VALUES (?, ?) ON CONFLICT (project_id) DO UPDATE SET body = excluded.body", projectID, string(body))
	return err
}
