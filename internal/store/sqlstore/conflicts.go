package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const conflictColumns = "project_id, id, rule_id, other_id, state, found_by, reason, confidence, rule_hash, other_hash, detected_at, decided_at, decided_by, note, relationship_id"

func conflictFields(c *store.Conflict) []any {
	return []any{
		&c.ProjectID, &c.ID, &c.RuleID, &c.OtherID, &c.State, &c.FoundBy, &c.Reason, &c.Confidence, &c.RuleHash, &c.OtherHash,
		timeColumn{&c.DetectedAt},
		optionalTimeColumn{&c.DecidedAt},
		&c.DecidedBy, &c.Note, &c.RelationshipID,
	}
}

// Get implements store.ConflictReader.
func (t conflictTable) Get(ctx context.Context, projectID, id string) (store.Conflict, error) {
	c, err := one(ctx, t.session, corpusOf(projectID), "conflict", "SELECT "+conflictColumns+" FROM conflicts WHERE project_id = ? AND id = ?", []any{projectID, id}, conflictFields)
	return c, notFound(err, "conflict", id)
}

// Find implements store.ConflictReader.
func (t conflictTable) Find(ctx context.Context, f store.ConflictFilter) ([]store.Conflict, int, error) {
	from, args := t.matching(&f)
	return page(ctx, t.session, corpusOf(f.ProjectID), "conflicts", conflictColumns, from, newestConflicts, args, window{f.Offset, f.Limit}, conflictFields)
}

const newestConflicts = "detected_at DESC, id DESC"

// Pairs implements store.ConflictReader.
func (t conflictTable) Pairs(ctx context.Context, f store.ConflictFilter) ([]store.Conflict, error) {
	from, args := t.matching(&f)
	return many(ctx, t.session, corpusOf(f.ProjectID), "pairs of conflicts", "SELECT id, rule_id, other_id, reason "+from+" ORDER BY "+newestConflicts, args,
		func(c *store.Conflict) []any { return []any{&c.ID, &c.RuleID, &c.OtherID, &c.Reason} })
}

// matching is the part of a query that selects conflicts.
func (t conflictTable) matching(f *store.ConflictFilter) (string, []any) {
	from, args := "FROM conflicts WHERE project_id = ?", []any{f.ProjectID}
	if len(f.States) > 0 {
		in, states := t.d.in("state", f.States)
		from, args = from+" AND "+in, append(args, states)
	}
	if f.RuleID != "" {
		from, args = from+" AND (low_id = ? OR high_id = ?)", append(args, f.RuleID, f.RuleID)
	}
	if f.FoundBy != "" {
		from, args = from+" AND found_by = ?", append(args, f.FoundBy)
	}
	if f.MinConfidence > 0 {
		from, args = from+" AND confidence >= ?", append(args, f.MinConfidence)
	}
	if f.IDs != nil {
		in, ids := t.d.in("id", f.IDs)
		from, args = from+" AND "+in, append(args, ids)
	}
	return from, args
}

// OfRules implements store.ConflictReader.
func (t conflictTable) OfRules(ctx context.Context, projectID string, ruleIDs []string) ([]store.Conflict, error) {
	low, ids := t.d.in("low_id", ruleIDs)
	high, _ := t.d.in("high_id", ruleIDs)
	return many(ctx, t.session, corpusOf(projectID), "conflicts",
		"SELECT "+conflictColumns+" FROM conflicts WHERE project_id = ? AND ("+low+" OR "+high+") ORDER BY id", []any{projectID, ids, ids}, conflictFields)
}

// Walk implements store.ConflictReader.
func (t conflictTable) Walk(ctx context.Context, projectID, name string) (store.ConflictWalk, error) {
	w, err := one(ctx, t.session, corpusOf(projectID), "conflict walk", "SELECT reached, toward, last_id FROM conflict_walks WHERE project_id = ? AND name = ?",
		[]any{projectID, name}, func(w *store.ConflictWalk) []any { return []any{&w.Reached, &w.Toward, &w.LastID} })
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return w, err
}

// Insert implements store.ConflictTx.
func (t conflictTable) Insert(ctx context.Context, c store.Conflict) error {
	n, err := t.lockedExec(ctx, corpusOf(c.ProjectID), "insert conflict", "INSERT INTO conflicts ("+conflictColumns+", low_id, high_id) VALUES "+marks(1, 17)+" ON CONFLICT DO NOTHING",
		c.ProjectID, c.ID, c.RuleID, c.OtherID, c.State, c.FoundBy, c.Reason, c.Confidence, c.RuleHash, c.OtherHash, micros(c.DetectedAt),
		nullable(c.DecidedAt), c.DecidedBy, c.Note, c.RelationshipID, min(c.RuleID, c.OtherID), max(c.RuleID, c.OtherID))
	return unlessNone(n, err, rule.Errorf(rule.CodeConflict, "there is a conflict between these rules already"))
}

// Update implements store.ConflictTx.
func (t conflictTable) Update(ctx context.Context, c store.Conflict) error {
	n, err := t.lockedExec(ctx, corpusOf(c.ProjectID), "update conflict", `UPDATE conflicts SET rule_id = ?, other_id = ?, state = ?, found_by = ?, reason = ?, confidence = ?,
			rule_hash = ?, other_hash = ?, detected_at = ?, decided_at = ?, decided_by = ?, note = ?, relationship_id = ?
			WHERE project_id = ? AND id = ? AND low_id = ? AND high_id = ?`,
		c.RuleID, c.OtherID, c.State, c.FoundBy, c.Reason, c.Confidence, c.RuleHash, c.OtherHash, micros(c.DetectedAt), nullable(c.DecidedAt),
		c.DecidedBy, c.Note, c.RelationshipID, c.ProjectID, c.ID, min(c.RuleID, c.OtherID), max(c.RuleID, c.OtherID))
	return unlessNone(n, err, rule.NotFound("conflict", c.ID))
}

// PutWalk implements store.ConflictTx.
func (t conflictTable) PutWalk(ctx context.Context, projectID, name string, w store.ConflictWalk) error {
	_, err := t.lockedExec(ctx, corpusOf(projectID), "put conflict walk", `INSERT INTO conflict_walks (project_id, name, reached, toward, last_id) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (project_id, name) DO UPDATE SET reached = excluded.reached, toward = excluded.toward, last_id = excluded.last_id`,
		projectID, name, w.Reached, w.Toward, w.LastID)
	return err
}
