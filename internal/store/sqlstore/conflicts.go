package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const conflictColumns = "project_id, id, rule_id, other_id, state, found_by, reason, confidence, rule_hash, other_hash, detected_at, decided_at, decided_by, note, relationship_id"

func scanConflict(scan func(...any) error) (store.Conflict, error) {
	var c store.Conflict
	var detected int64
	var decided sql.NullInt64
	err := scan(&c.ProjectID, &c.ID, &c.RuleID, &c.OtherID, &c.State, &c.FoundBy, &c.Reason, &c.Confidence, &c.RuleHash, &c.OtherHash,
		&detected, &decided, &c.DecidedBy, &c.Note, &c.RelationshipID)
	c.DetectedAt, c.DecidedAt = fromMicros(detected), fromNullable(decided)
	return c, err
}

// Conflict implements store.ConflictReader.
func (r *reader) Conflict(ctx context.Context, projectID, id string) (store.Conflict, error) {
	if err := r.hold(ctx, corpusOf(projectID)); err != nil {
		return store.Conflict{}, err
	}
	c, err := scanConflict(func(dest ...any) error {
		return r.row(ctx, "conflict", "SELECT "+conflictColumns+" FROM conflicts WHERE project_id = ? AND id = ?", []any{projectID, id}, dest...)
	})
	return c, missing(err, "conflict", id)
}

// FindConflicts implements store.ConflictReader.
func (r *reader) FindConflicts(ctx context.Context, f store.ConflictFilter) ([]store.Conflict, int, error) {
	where, args := "project_id = ?", []any{f.ProjectID}
	if len(f.States) > 0 {
		in, states := r.d.in("state", f.States)
		where, args = where+" AND "+in, append(args, states)
	}
	if f.RuleID != "" {
		where, args = where+" AND (low_id = ? OR high_id = ?)", append(args, f.RuleID, f.RuleID)
	}
	list, total := []store.Conflict{}, 0
	err := r.holding(ctx, corpusOf(f.ProjectID), func(r *reader) error {
		if err := r.row(ctx, "count conflicts", "SELECT COUNT(*) FROM conflicts WHERE "+where, args, &total); err != nil {
			return err
		}
		var err error
		list, err = r.conflicts(ctx, where+" ORDER BY detected_at DESC, id DESC LIMIT ? OFFSET ?", append(args, f.Limit, f.Offset)...)
		return err
	})
	return list, total, err
}

// ConflictsOf implements store.ConflictReader.
func (r *reader) ConflictsOf(ctx context.Context, projectID string, ruleIDs []string) ([]store.Conflict, error) {
	if err := r.hold(ctx, corpusOf(projectID)); err != nil {
		return nil, err
	}
	low, ids := r.d.in("low_id", ruleIDs)
	high, _ := r.d.in("high_id", ruleIDs)
	return r.conflicts(ctx, "project_id = ? AND ("+low+" OR "+high+") ORDER BY id", projectID, ids, ids)
}

func (r *reader) conflicts(ctx context.Context, where string, args ...any) ([]store.Conflict, error) {
	list := []store.Conflict{}
	err := r.each(ctx, "conflicts", "SELECT "+conflictColumns+" FROM conflicts WHERE "+where, args, func(rows *sql.Rows) error {
		c, err := scanConflict(rows.Scan)
		list = append(list, c)
		return err
	})
	return list, err
}

// ConflictWalk implements store.ConflictReader.
func (r *reader) ConflictWalk(ctx context.Context, projectID, name string) (store.ConflictWalk, error) {
	var w store.ConflictWalk
	if err := r.hold(ctx, corpusOf(projectID)); err != nil {
		return w, err
	}
	err := r.row(ctx, "conflict walk", "SELECT reached, toward, last_id FROM conflict_walks WHERE project_id = ? AND name = ?",
		[]any{projectID, name}, &w.Reached, &w.Toward, &w.LastID)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return w, err
}

// InsertConflict implements store.ConflictTx.
func (t *tx) InsertConflict(ctx context.Context, c store.Conflict) error {
	if err := t.hold(ctx, corpusOf(c.ProjectID)); err != nil {
		return err
	}
	n, err := t.exec(ctx, "insert conflict", "INSERT INTO conflicts ("+conflictColumns+", low_id, high_id) VALUES "+marks(1, 17)+" ON CONFLICT DO NOTHING",
		c.ProjectID, c.ID, c.RuleID, c.OtherID, c.State, c.FoundBy, c.Reason, c.Confidence, c.RuleHash, c.OtherHash, micros(c.DetectedAt),
		nullable(c.DecidedAt), c.DecidedBy, c.Note, c.RelationshipID, min(c.RuleID, c.OtherID), max(c.RuleID, c.OtherID))
	if err == nil && n == 0 {
		return rule.Errorf(rule.CodeConflict, "there is a conflict between these rules already")
	}
	return err
}

// UpdateConflict implements store.ConflictTx.
func (t *tx) UpdateConflict(ctx context.Context, c store.Conflict) error {
	if err := t.hold(ctx, corpusOf(c.ProjectID)); err != nil {
		return err
	}
	n, err := t.exec(ctx, "update conflict", `UPDATE conflicts SET rule_id = ?, other_id = ?, state = ?, found_by = ?, reason = ?, confidence = ?,
			rule_hash = ?, other_hash = ?, detected_at = ?, decided_at = ?, decided_by = ?, note = ?, relationship_id = ?
			WHERE project_id = ? AND id = ? AND low_id = ? AND high_id = ?`,
		c.RuleID, c.OtherID, c.State, c.FoundBy, c.Reason, c.Confidence, c.RuleHash, c.OtherHash, micros(c.DetectedAt), nullable(c.DecidedAt),
		c.DecidedBy, c.Note, c.RelationshipID, c.ProjectID, c.ID, min(c.RuleID, c.OtherID), max(c.RuleID, c.OtherID))
	if err == nil && n == 0 {
		return rule.NotFound("conflict", c.ID)
	}
	return err
}

// PutConflictWalk implements store.ConflictTx.
func (t *tx) PutConflictWalk(ctx context.Context, projectID, name string, w store.ConflictWalk) error {
	if err := t.hold(ctx, corpusOf(projectID)); err != nil {
		return err
	}
	_, err := t.exec(ctx, "put conflict walk", `INSERT INTO conflict_walks (project_id, name, reached, toward, last_id) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (project_id, name) DO UPDATE SET reached = excluded.reached, toward = excluded.toward, last_id = excluded.last_id`,
		projectID, name, w.Reached, w.Toward, w.LastID)
	return err
}
