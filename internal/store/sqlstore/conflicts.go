package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

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
	if f.SeverityMin != "" {
		least := f.SeverityMin.Rank()
		from, args = from+" AND (low_severity >= ? OR high_severity >= ?)", append(args, least, least)
	}
	if f.Text != "" {
		words := "%" + literal.Replace(strings.ToLower(f.Text)) + "%"
		from += ` AND (low_said LIKE ? ESCAPE '\' OR high_said LIKE ? ESCAPE '\' OR reason_said LIKE ? ESCAPE '\')`
		args = append(args, words, words, words)
	}
	return from, args
}

// literal makes text a LIKE pattern of itself.
var literal = strings.NewReplacer("%", `\%`, "_", `\_`, `\`, `\\`)

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
	low, high := min(c.RuleID, c.OtherID), max(c.RuleID, c.OtherID)
	in, ids := t.d.in("id", []string{low, high})
	sides, err := byKey(ctx, t.session, corpusOf(c.ProjectID), "rules of a conflict", "SELECT id, body FROM rules WHERE project_id = ? AND "+in,
		[]any{c.ProjectID, ids}, func(id *string, s *conflictSide) []any { return []any{id, sideColumn{s}} })
	if err != nil {
		return err
	}
	t.queueChanged(c.ProjectID, store.WaitingConflict)
	n, err := t.lockedExec(ctx, corpusOf(c.ProjectID), "insert conflict", "INSERT INTO conflicts ("+conflictColumns+
		", low_id, high_id, low_said, low_severity, high_said, high_severity, reason_said) VALUES "+marks(1, 22)+" ON CONFLICT DO NOTHING",
		c.ProjectID, c.ID, c.RuleID, c.OtherID, c.State, c.FoundBy, c.Reason, c.Confidence, c.RuleHash, c.OtherHash, micros(c.DetectedAt),
		nullable(c.DecidedAt), c.DecidedBy, c.Note, c.RelationshipID, low, high, sides[low].said, sides[low].severity, sides[high].said, sides[high].severity,
		strings.ToLower(c.Reason))
	return unlessNone(n, err, rule.Errorf(rule.CodeConflict, "there is a conflict between these rules already"))
}

// Update implements store.ConflictTx.
func (t conflictTable) Update(ctx context.Context, c store.Conflict) error {
	t.queueChanged(c.ProjectID, store.WaitingConflict)
	n, err := t.lockedExec(ctx, corpusOf(c.ProjectID), "update conflict", `UPDATE conflicts SET rule_id = ?, other_id = ?, state = ?, found_by = ?, reason = ?, reason_said = ?, confidence = ?,
			rule_hash = ?, other_hash = ?, detected_at = ?, decided_at = ?, decided_by = ?, note = ?, relationship_id = ?
			WHERE project_id = ? AND id = ? AND low_id = ? AND high_id = ?`,
		c.RuleID, c.OtherID, c.State, c.FoundBy, c.Reason, strings.ToLower(c.Reason), c.Confidence, c.RuleHash, c.OtherHash, micros(c.DetectedAt), nullable(c.DecidedAt),
		c.DecidedBy, c.Note, c.RelationshipID, c.ProjectID, c.ID, min(c.RuleID, c.OtherID), max(c.RuleID, c.OtherID))
	return unlessNone(n, err, rule.NotFound("conflict", c.ID))
}

// conflictSide holds the properties of one rule that conflicts are selected by. The row of a conflict repeats them, so that a query reads
// no rules. Text is in lower case, since the databases know the letter case of ASCII only.
type conflictSide struct {
	said     string // the slug and the statement
	severity int    // its rank
}

func sideOf(slug, statement string, severity rule.Severity) conflictSide {
	return conflictSide{strings.ToLower(slug + "\n" + statement), severity.Rank()}
}

// sideColumn reads a side of a conflict from a stored rule.
type sideColumn struct{ s *conflictSide }

// Scan implements sql.Scanner.
func (c sideColumn) Scan(value any) error {
	var r store.QueuedRule
	if err := jsonv2.Unmarshal(bytesOf(value), &r); err != nil {
		return fmt.Errorf("sqlstore: a stored rule cannot be read: %w", err)
	}
	*c.s = sideOf(r.Slug, r.Statement, r.Severity)
	return nil
}

// rulesChanged repeats changed rules of a project in its conflicts. Few rules are in any.
func (t conflictTable) rulesChanged(ctx context.Context, rules []rule.Rule) error {
	projectID, sides, ids := rules[0].ProjectID, make(map[string]conflictSide, len(rules)), make([]string, len(rules))
	for i := range rules {
		ids[i] = rules[i].ID
		sides[ids[i]] = sideOf(rules[i].Slug, rules[i].Statement, rules[i].Severity)
	}
	for _, end := range []string{"low", "high"} {
		in, list := t.d.in(end+"_id", ids)
		found, err := many(ctx, t.session, corpusOf(projectID), "rules in conflicts", "SELECT DISTINCT "+end+"_id FROM conflicts WHERE project_id = ? AND "+in,
			[]any{projectID, list}, textFields)
		if err != nil {
			return err
		}
		for _, id := range found {
			if err := t.repeat(ctx, projectID, end, id, sides[id]); err != nil {
				return err
			}
		}
	}
	return nil
}

// repeat writes a side into the conflicts of a rule that are at one end of them: low or high.
func (t conflictTable) repeat(ctx context.Context, projectID, end, id string, s conflictSide) error {
	_, err := t.exec(ctx, "repeat a rule in its conflicts", "UPDATE conflicts SET "+end+"_said = ?, "+end+"_severity = ? WHERE project_id = ? AND "+end+"_id = ?",
		s.said, s.severity, projectID, id)
	return err
}

// fillConflicts repeats the properties of rules in the conflicts that were stored before.
func fillConflicts(ctx context.Context, s *session) error {
	type stored struct {
		projectID, id string
		text          string
		side          conflictSide
	}
	reasons, err := many(ctx, s, unlocked, "reasons of conflicts", "SELECT project_id, id, reason FROM conflicts", nil,
		func(c *stored) []any { return []any{&c.projectID, &c.id, &c.text} })
	if err != nil {
		return err
	}
	for i := range reasons {
		c := &reasons[i]
		if _, err := s.exec(ctx, "reason of a conflict", "UPDATE conflicts SET reason_said = ? WHERE project_id = ? AND id = ?", strings.ToLower(c.text), c.projectID, c.id); err != nil {
			return err
		}
	}
	for _, end := range []string{"low", "high"} {
		rules, err := many(ctx, s, unlocked, "rules of conflicts", "SELECT r.project_id, r.id, r.body FROM rules r WHERE EXISTS (SELECT 1 FROM conflicts c WHERE c.project_id = r.project_id AND c."+
			end+"_id = r.id)", nil, func(c *stored) []any { return []any{&c.projectID, &c.id, sideColumn{&c.side}} })
		if err != nil {
			return err
		}
		for i := range rules {
			if err := (conflictTable{s}).repeat(ctx, rules[i].projectID, end, rules[i].id, rules[i].side); err != nil {
				return err
			}
		}
	}
	return nil
}

// PutWalk implements store.ConflictTx.
func (t conflictTable) PutWalk(ctx context.Context, projectID, name string, w store.ConflictWalk) error {
	_, err := t.lockedExec(ctx, corpusOf(projectID), "put conflict walk", `INSERT INTO conflict_walks (project_id, name, reached, toward, last_id) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (project_id, name) DO UPDATE SET reached = excluded.reached, toward = excluded.toward, last_id = excluded.last_id`,
		projectID, name, w.Reached, w.Toward, w.LastID)
	return err
}
