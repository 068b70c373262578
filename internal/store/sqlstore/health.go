package sqlstore

import (
	"context"
	"database/sql"

	"tenet/internal/store"
)

// HealthScores implements store.CountReader.
func (r *reader) HealthScores(ctx context.Context, projectID string) ([]store.HealthScore, error) {
	if err := r.hold(ctx, countsOf(projectID)); err != nil {
		return nil, err
	}
	list := []store.HealthScore{}
	err := r.each(ctx, "health scores", "SELECT rule_id, score, score_before, day FROM rule_health WHERE project_id = ? ORDER BY rule_id",
		[]any{projectID}, func(rows *sql.Rows) error {
			h := store.HealthScore{ProjectID: projectID}
			var before sql.NullInt64
			err := rows.Scan(&h.RuleID, &h.Score, &before, &h.Day)
			if before.Valid {
				n := int(before.Int64)
				h.Before = &n
			}
			list = append(list, h)
			return err
		})
	return list, err
}

// HealthHistory implements store.CountReader.
func (r *reader) HealthHistory(ctx context.Context, projectID, ruleID string, limit int) ([]store.HealthDay, error) {
	if err := r.hold(ctx, countsOf(projectID)); err != nil {
		return nil, err
	}
	list := []store.HealthDay{}
	err := r.each(ctx, "health history", "SELECT day, score FROM health_history WHERE project_id = ? AND rule_id = ? ORDER BY day DESC LIMIT ?",
		[]any{projectID, ruleID, max(limit, 0)}, func(rows *sql.Rows) error {
			var h store.HealthDay
			err := rows.Scan(&h.Day, &h.Score)
			list = append(list, h)
			return err
		})
	return list, err
}

// PutHealth implements store.CountTx.
func (t *tx) PutHealth(ctx context.Context, projectID string, day store.Day, scores []store.HealthScore) error {
	if err := t.hold(ctx, countsOf(projectID)); err != nil {
		return err
	}
	latest, days := make([]any, 0, 4*len(scores)), make([]any, 0, 4*len(scores))
	for _, s := range scores {
		latest = append(latest, projectID, s.RuleID, s.Score, int64(day))
		days = append(days, projectID, s.RuleID, int64(day), s.Score)
	}
	err := t.execRows(ctx, "put health", "INSERT INTO rule_health (project_id, rule_id, score, day) VALUES ", 4,
		` ON CONFLICT (project_id, rule_id) DO UPDATE SET
			score_before = CASE WHEN excluded.day > rule_health.day THEN rule_health.score ELSE rule_health.score_before END,
			score = excluded.score, day = excluded.day WHERE excluded.day >= rule_health.day`, latest)
	if err != nil {
		return err
	}
	return t.execRows(ctx, "put health history", "INSERT INTO health_history (project_id, rule_id, day, score) VALUES ", 4,
		" ON CONFLICT (project_id, rule_id, day) DO UPDATE SET score = excluded.score", days)
}
