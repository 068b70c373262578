package sqlstore

import (
	"context"
	"time"

	"tenet/internal/store"
)

const sampleColumns = "project_id, evaluation_id, rule_id, kind, rule_version, content_hash, said, judged, at"

// Number implements store.SampleReader.
func (t sampleTable) Number(ctx context.Context, projectID string, since time.Time) (int, error) {
	var n int
	err := t.row(ctx, "number of samples", "SELECT COUNT(*) FROM samples WHERE project_id = ? AND at >= ?", []any{projectID, micros(since)}, &n)
	return n, err
}

// Count implements store.SampleReader.
func (t sampleTable) Count(ctx context.Context, projectID, ruleID string, since time.Time) ([]store.SampleCount, error) {
	where, args := equal("project_id = ? AND at >= ?", []any{projectID, micros(since)}, "rule_id", ruleID)
	return many(ctx, t.session, submissionsOf(projectID), "count samples",
		"SELECT kind, said, judged, COUNT(*) FROM samples WHERE "+where+" GROUP BY kind, said, judged ORDER BY kind, said, judged", args,
		func(c *store.SampleCount) []any { return []any{&c.Kind, &c.Said, &c.Judged, &c.Count} })
}

// Disputed implements store.SampleReader.
func (t sampleTable) Disputed(ctx context.Context, projectID, ruleID string, since time.Time, limit int) ([]store.Sample, error) {
	where, args := equal("project_id = ? AND at >= ? AND (judged = 'DENY' AND said <> 'DENY' OR judged = 'ALLOW' AND said = 'DENY')", []any{projectID, micros(since)}, "rule_id", ruleID)
	return many(ctx, t.session, submissionsOf(projectID), "disputed samples",
		"SELECT "+sampleColumns+" FROM samples WHERE "+where+" ORDER BY at DESC, evaluation_id DESC, rule_id, kind LIMIT ?", append(args, limit),
		func(s *store.Sample) []any {
			return []any{&s.ProjectID, &s.EvaluationID, &s.RuleID, &s.Kind, &s.RuleVersion, &s.ContentHash, &s.Said, &s.Judged, timeColumn{&s.At}}
		})
}

// Put implements store.SampleTx.
func (t sampleTable) Put(ctx context.Context, s store.Sample) error {
	_, err := t.lockedExec(ctx, submissionsOf(s.ProjectID), "put a sample",
		"INSERT INTO samples ("+sampleColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project_id, evaluation_id, rule_id, kind) DO UPDATE SET"+
			" rule_version = excluded.rule_version, content_hash = excluded.content_hash, said = excluded.said, judged = excluded.judged, at = excluded.at",
		s.ProjectID, s.EvaluationID, s.RuleID, string(s.Kind), s.RuleVersion, s.ContentHash, string(s.Said), string(s.Judged), micros(s.At))
	return err
}
