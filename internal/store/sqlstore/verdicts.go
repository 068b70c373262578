package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"tenet/internal/store"
)

// Verdicts implements store.VerdictReader.
func (r *reader) Verdicts(ctx context.Context, projectID string, units []string) ([]store.Verdict, error) {
	condition, arg := r.d.in("unit", units)
	list := []store.Verdict{}
	err := r.each(ctx, "verdicts", "SELECT unit, rule, entry, created_at FROM verdicts WHERE project_id = ? AND "+condition,
		[]any{projectID, arg}, func(rows *sql.Rows) error {
			v := store.Verdict{ProjectID: projectID}
			var created int64
			err := rows.Scan(&v.Unit, &v.Rule, &v.Entry, &created)
			v.CreatedAt = fromMicros(created)
			list = append(list, v)
			return err
		})
	return list, err
}

// VerdictStats implements store.VerdictReader.
func (r *reader) VerdictStats(ctx context.Context, projectID string) (store.VerdictStats, error) {
	var s store.VerdictStats
	var oldest, newest sql.NullInt64
	err := r.row(ctx, "verdict stats",
		"SELECT COUNT(*), COALESCE(CAST(SUM(size) AS BIGINT), 0), MIN(created_at), MAX(created_at) FROM verdicts WHERE project_id = ?",
		[]any{projectID}, &s.Count, &s.Bytes, &oldest, &newest)
	s.Oldest, s.Newest = fromNullable(oldest), fromNullable(newest)
	return s, err
}

// PutVerdicts implements store.VerdictTx. Nodes put the same verdicts at the same time: all insert in the same order, so
// that none waits for another in a circle.
func (t *tx) PutVerdicts(ctx context.Context, list []store.Verdict) ([]store.Verdict, error) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b store.Verdict) int {
		return cmp.Or(cmp.Compare(a.ProjectID, b.ProjectID), cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Rule, b.Rule))
	})
	list = slices.CompactFunc(list, func(a, b store.Verdict) bool {
		return a.ProjectID == b.ProjectID && a.Unit == b.Unit && a.Rule == b.Rule
	})
	const width = 6
	args := make([]any, 0, width*len(list))
	for _, v := range list {
		args = append(args, v.ProjectID, v.Unit, v.Rule, v.Entry, len(v.Entry), micros(v.CreatedAt))
	}
	inserted := int64(0)
	for size := chunk; len(args) > 0; {
		if size*width > len(args) {
			size /= 2
			continue
		}
		n, err := t.exec(ctx, "put verdicts", "INSERT INTO verdicts (project_id, unit, rule, entry, size, created_at) VALUES "+
			marks(size, width)+" ON CONFLICT DO NOTHING", args[:size*width]...)
		if err != nil {
			return nil, err
		}
		inserted += n
		args = args[size*width:]
	}
	if inserted == int64(len(list)) {
		return nil, nil
	}
	return t.differing(ctx, list)
}

// differing returns what is stored in place of verdicts, where it differs from them.
func (t *tx) differing(ctx context.Context, list []store.Verdict) ([]store.Verdict, error) {
	wanted := make(map[[2]string]string, len(list))
	units := make([]string, len(list))
	for i, v := range list {
		wanted[[2]string{v.Unit, v.Rule}] = v.Entry
		units[i] = v.Unit
	}
	stored, err := t.Verdicts(ctx, list[0].ProjectID, slices.Compact(units))
	return slices.DeleteFunc(stored, func(v store.Verdict) bool {
		entry, ok := wanted[[2]string{v.Unit, v.Rule}]
		return !ok || entry == v.Entry
	}), err
}

// PruneVerdicts implements store.VerdictTx.
func (t *tx) PruneVerdicts(ctx context.Context, projectID string, p store.Prune) (int64, error) {
	if p.All {
		return t.exec(ctx, "prune verdicts", "DELETE FROM verdicts WHERE project_id = ?", projectID)
	}
	deleted := int64(0)
	if !p.Before.IsZero() {
		n, err := t.exec(ctx, "prune verdicts", "DELETE FROM verdicts WHERE project_id = ? AND created_at < ?", projectID, micros(p.Before))
		if err != nil {
			return 0, err
		}
		deleted = n
	}
	if p.MaxBytes <= 0 {
		return deleted, nil
	}
	n, err := t.exec(ctx, "prune verdicts", `DELETE FROM verdicts WHERE project_id = ? AND created_at <= (
			SELECT MAX(created_at) FROM (
				SELECT created_at, SUM(size) OVER (ORDER BY created_at DESC, unit, rule) AS total FROM verdicts WHERE project_id = ?
			) AS newest_first WHERE total > ?)`, projectID, projectID, p.MaxBytes)
	return deleted + n, err
}
