package sqlstore

import (
	"context"

	"tenet/internal/store"
)

const feedbackColumns = "project_id, evaluation_id, rule_id, actor, correct, note, rule_version, content_hash, verdict, judged, at"

// List implements store.FeedbackReader.
func (t feedbackTable) List(ctx context.Context, projectID, evaluationID string) ([]store.Feedback, error) {
	return many(ctx, t.session, submissionsOf(projectID), "feedback",
		"SELECT "+feedbackColumns+" FROM feedback WHERE project_id = ? AND evaluation_id = ? ORDER BY rule_id, actor",
		[]any{projectID, evaluationID}, func(f *store.Feedback) []any {
			return []any{&f.ProjectID, &f.EvaluationID, &f.RuleID, &f.Actor, &f.Correct, &f.Note, &f.RuleVersion, &f.ContentHash, &f.Verdict, &f.Judged, timeColumn{&f.At}}
		})
}

// Count implements store.FeedbackReader.
func (t feedbackTable) Count(ctx context.Context, projectID, ruleID string) ([]store.FeedbackCount, error) {
	const groups = "rule_id, content_hash, verdict, judged, correct"
	where, args := equal("project_id = ?", []any{projectID}, "rule_id", ruleID)
	return many(ctx, t.session, submissionsOf(projectID), "count feedback",
		"SELECT "+groups+", COUNT(*) FROM feedback WHERE "+where+" GROUP BY "+groups+" ORDER BY "+groups,
		args, func(c *store.FeedbackCount) []any {
			return []any{&c.RuleID, &c.ContentHash, &c.Verdict, &c.Judged, &c.Correct, &c.Count}
		})
}

// Put implements store.FeedbackTx.
func (t feedbackTable) Put(ctx context.Context, f store.Feedback) error {
	_, err := t.lockedExec(ctx, submissionsOf(f.ProjectID), "put feedback",
		"INSERT INTO feedback ("+feedbackColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"+
			" ON CONFLICT (project_id, evaluation_id, rule_id, actor) DO UPDATE SET correct = excluded.correct, note = excluded.note,"+
			" rule_version = excluded.rule_version, content_hash = excluded.content_hash, verdict = excluded.verdict,"+
			" judged = excluded.judged, at = excluded.at",
		f.ProjectID, f.EvaluationID, f.RuleID, f.Actor, f.Correct, f.Note, f.RuleVersion, f.ContentHash, string(f.Verdict), f.Judged, micros(f.At))
	return err
}
