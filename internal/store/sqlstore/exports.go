package sqlstore

import "context"

// Position implements store.ExportReader.
func (t exportTable) Position(ctx context.Context, projectID, place string) (int64, error) {
	var seq int64
	err := t.row(ctx, "position of an export", "SELECT COALESCE(MAX(seq), 0) FROM export_positions WHERE project_id = ? AND place = ?", []any{projectID, place}, &seq)
	return seq, err
}

// Move implements store.ExportTx.
func (t exportTable) Move(ctx context.Context, projectID, place string, seq int64) error {
	_, err := t.exec(ctx, "move an export", `INSERT INTO export_positions (project_id, place, seq) VALUES (?, ?, ?)
		ON CONFLICT (project_id, place) DO UPDATE SET seq = excluded.seq WHERE export_positions.seq < excluded.seq`, projectID, place, seq)
	return err
}
