package sqlstore

import (
	"context"
	"database/sql"

	"tenet/internal/store"
)

const feedbackColumns = "project_id, evaluation_id, rule_id, actor, correct, note, rule_version, content_hash, verdict, judged, at"

// Feedback implements store.FeedbackReader.
func (r *reader) Feedback(ctx context.Context, projectID, evaluationID string) ([]store.Feedback, error) {
	if err := r.hold(ctx, submissionsOf(projectID)); err != nil {
		return nil, err
	}
	list := []store.Feedback{}
	err := r.each(ctx, "feedback", "SELECT "+feedbackColumns+" FROM feedback WHERE project_id = ? AND evaluation_id = ? ORDER BY rule_id, actor",
		[]any{projectID, evaluationID}, func(rows *sql.Rows) error {
			var f store.Feedback
			var at int64
			err := rows.Scan(&f.ProjectID, &f.EvaluationID, &f.RuleID, &f.Actor, &f.Correct, &f.Note, &f.RuleVersion, &f.ContentHash, &f.Verdict, &f.Judged, &at)
			f.At = fromMicros(at)
			list = append(list, f)
			return err
		})
	return list, err
}

// CountFeedback implements store.FeedbackReader.
func (r *reader) CountFeedback(ctx context.Context, projectID, ruleID string) ([]store.FeedbackCount, error) {
	if err := r.hold(ctx, submissionsOf(projectID)); err != nil {
		return nil, err
	}
	where, args := "project_id = ?", []any{projectID}
	if ruleID != "" {
		where, args = where+" AND rule_id = ?", append(args, ruleID)
	}
	const groups = "rule_id, content_hash, verdict, judged, correct"
	list := []store.FeedbackCount{}
	err := r.each(ctx, "count feedback", "SELECT "+groups+", COUNT(*) FROM feedback WHERE "+where+" GROUP BY "+groups+" ORDER BY "+groups,
		args, func(rows *sql.Rows) error {
			var c store.FeedbackCount
			err := rows.Scan(&c.RuleID, &c.ContentHash, &c.Verdict, &c.Judged, &c.Correct, &c.Count)
			list = append(list, c)
			return err
		})
	return list, err
}

// PutFeedback implements store.FeedbackTx.
func (t *tx) PutFeedback(ctx context.Context, f store.Feedback) error {
	if err := t.hold(ctx, submissionsOf(f.ProjectID)); err != nil {
		return err
	}
	_, err := t.exec(ctx, "put feedback",
		"INSERT INTO feedback ("+feedbackColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"+
			" ON CONFLICT (project_id, evaluation_id, rule_id, actor) DO UPDATE SET correct = excluded.correct, note = excluded.note,"+
			" rule_version = excluded.rule_version, content_hash = excluded.content_hash, verdict = excluded.verdict,"+
			" judged = excluded.judged, at = excluded.at",
		f.ProjectID, f.EvaluationID, f.RuleID, f.Actor, f.Correct, f.Note, f.RuleVersion, f.ContentHash, string(f.Verdict), f.Judged, micros(f.At))
	return err
}
