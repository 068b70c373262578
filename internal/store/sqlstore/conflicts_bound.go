package sqlstore

import (
	"context"
	"maps"
	"slices"

	"tenet/internal/store"
)

const suggestionColumns = "id, rule_id, other_id, confidence"

// weakestFirst is the order in which suggestions are dropped: of equals the newest first.
const weakestFirst = " ORDER BY confidence, detected_at DESC, id DESC"

func suggestionFields(s *store.Suggestion) []any {
	return []any{&s.ID, &s.RuleID, &s.OtherID, &s.Confidence}
}

// Suggested implements store.ConflictReader.
func (t conflictTable) Suggested(ctx context.Context, projectID string) (n int, err error) {
	if err := t.lock(ctx, corpusOf(projectID)); err != nil {
		return 0, err
	}
	err = t.row(ctx, "number of suggested conflicts", "SELECT COUNT(*) FROM conflicts WHERE project_id = ? AND state = 'suggested'", []any{projectID}, &n)
	return n, err
}

// Weakest implements store.ConflictReader.
func (t conflictTable) Weakest(ctx context.Context, projectID string, limit int) ([]store.Suggestion, error) {
	return many(ctx, t.session, corpusOf(projectID), "weakest conflicts",
		"SELECT "+suggestionColumns+" FROM conflicts WHERE project_id = ? AND state = 'suggested'"+weakestFirst+" LIMIT ?", []any{projectID, limit}, suggestionFields)
}

// SuggestedOf implements store.ConflictReader.
func (t conflictTable) SuggestedOf(ctx context.Context, projectID string, ruleIDs []string) ([]store.Suggestion, error) {
	low, ids := t.d.in("low_id", ruleIDs)
	high, _ := t.d.in("high_id", ruleIDs)
	return many(ctx, t.session, corpusOf(projectID), "suggested conflicts",
		"SELECT "+suggestionColumns+" FROM conflicts WHERE project_id = ? AND state = 'suggested' AND ("+low+" OR "+high+")"+weakestFirst,
		[]any{projectID, ids, ids}, suggestionFields)
}

// LeftOut implements store.ConflictReader.
func (t conflictTable) LeftOut(ctx context.Context, projectID, ruleID string) (n int, err error) {
	if err := t.lock(ctx, corpusOf(projectID)); err != nil {
		return 0, err
	}
	query, args := "SELECT CAST(COALESCE(SUM(brought), 0) AS BIGINT) FROM conflicts_left_out WHERE project_id = ?", []any{projectID}
	if ruleID != "" {
		query, args = "SELECT CAST(COALESCE(SUM(pairs), 0) AS BIGINT) FROM conflicts_left_out WHERE project_id = ? AND rule_id = ?", append(args, ruleID)
	}
	err = t.row(ctx, "conflicts left out", query, args, &n)
	return n, err
}

// Drop implements store.ConflictTx.
func (t conflictTable) Drop(ctx context.Context, projectID string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	in, list := t.d.in("id", ids)
	n, err := t.lockedExec(ctx, corpusOf(projectID), "drop conflicts", "DELETE FROM conflicts WHERE project_id = ? AND state = 'suggested' AND "+in, projectID, list)
	if n > 0 {
		t.queueChanged(projectID, store.WaitingConflict)
	}
	return err
}

// PutLeftOut implements store.ConflictTx.
func (t conflictTable) PutLeftOut(ctx context.Context, projectID string, compared []string, counts map[string]store.LeftOut) error {
	in, list := t.d.in("rule_id", compared)
	if _, err := t.lockedExec(ctx, corpusOf(projectID), "forget conflicts left out", "DELETE FROM conflicts_left_out WHERE project_id = ? AND "+in, projectID, list); err != nil {
		return err
	}
	var args []any
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		args = append(args, projectID, id, counts[id].Pairs, counts[id].Brought)
	}
	return t.execRows(ctx, "count conflicts left out", "INSERT INTO conflicts_left_out (project_id, rule_id, pairs, brought) VALUES ", 4,
		" ON CONFLICT (project_id, rule_id) DO UPDATE SET pairs = conflicts_left_out.pairs + excluded.pairs, brought = conflicts_left_out.brought + excluded.brought", args)
}
