package sqlstore

import (
	"context"

	"tenet/internal/store"
)

// Scores implements store.HealthReader.
func (t healthTable) Scores(ctx context.Context, projectID string, ruleIDs []string) ([]store.HealthScore, error) {
	where, args := "", []any{projectID}
	if ruleIDs != nil {
		named, ids := t.d.in("rule_id", ruleIDs)
		where, args = " AND "+named, append(args, ids)
	}
	return many(ctx, t.session, countsOf(projectID), "health scores",
		"SELECT rule_id, score, score_before, day FROM rule_health WHERE project_id = ?"+where+" ORDER BY rule_id",
		args, func(h *store.HealthScore) []any {
			h.ProjectID = projectID
			return []any{&h.RuleID, &h.Score, &h.Before, &h.Day}
		})
}

// History implements store.HealthReader.
func (t healthTable) History(ctx context.Context, projectID, ruleID string, limit int) ([]store.HealthDay, error) {
	return many(ctx, t.session, countsOf(projectID), "health history",
		"SELECT day, score FROM health_history WHERE project_id = ? AND rule_id = ? ORDER BY day DESC LIMIT ?",
		[]any{projectID, ruleID, max(limit, 0)}, func(h *store.HealthDay) []any { return []any{&h.Day, &h.Score} })
}

// Put implements store.HealthTx.
func (t healthTable) Put(ctx context.Context, projectID string, day store.Day, scores []store.HealthScore) error {
	if err := t.lock(ctx, countsOf(projectID)); err != nil {
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
