package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// inProject adds the condition on a project to a query whose conditions have begun; [store.AllProjects] adds none.
func inProject(query string, args []any, column, projectID string) (string, []any) {
	if projectID == store.AllProjects {
		return query, args
	}
	return query + " AND " + column + " = ?", append(args, projectID)
}

// waiting reads the rows of a query with the columns that fields takes, of which bodies are those of rules.
func (t queueTable) waiting(ctx context.Context, doing, query string, args []any, fields func(w *store.Waiting, bodies *[2][]byte) []any) ([]store.Waiting, error) {
	list := []store.Waiting{}
	err := t.each(ctx, doing, query, args, func(rows *sql.Rows) error {
		var w store.Waiting
		var bodies [2][]byte
		if err := rows.Scan(fields(&w, &bodies)...); err != nil {
			return err
		}
		for _, body := range bodies {
			if len(body) == 0 {
				continue
			}
			var r store.QueuedRule
			if err := jsonv2.Unmarshal(body, &r); err != nil {
				return fmt.Errorf("sqlstore: a stored rule cannot be read: %w", err)
			}
			w.Rules = append(w.Rules, &r)
		}
		list = append(list, w)
		return nil
	})
	return list, err
}

// The queries below end with a limit. Each has two indexes in its order: one of a project, and one of all.

func rulesInReview(projectID string) (string, []any) {
	query, args := inProject("SELECT project_id, id, corpus_version FROM rules WHERE status = 'REVIEW'", nil, "project_id", projectID)
	return query + " ORDER BY corpus_version, id LIMIT ?", args
}

func pendingCandidates(projectID string) (string, []any) {
	query, args := inProject("SELECT project_id, id, scan_id, n, confidence FROM candidates WHERE status = 'pending'", nil, "project_id", projectID)
	return query + " ORDER BY scan_id, n LIMIT ?", args // the ids of scans begin with their time
}

func suggestedConflicts(projectID string) (string, []any) {
	query, args := inProject("SELECT project_id, id, rule_id, other_id, reason, confidence, detected_at FROM conflicts WHERE state = 'suggested'", nil, "project_id", projectID)
	return query + " ORDER BY detected_at, id LIMIT ?", args
}

func unconfirmed(projectID string, since time.Time) (string, []any) {
	query, args := inProject(`SELECT e.project_id, e.id, e.seq, e.at, e.actor, length(e.body) = 0 FROM audit_entries e WHERE e.verdict = 'NEEDS_CONFIRMATION' AND e.at >= ?
		AND NOT EXISTS (SELECT 1 FROM queue_marks m WHERE m.project_id = e.project_id AND m.kind = ? AND m.id = e.id AND m.settled_at IS NOT NULL)
		AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.project_id = e.project_id AND a.evaluation_id = e.id AND a.state NOT IN ('expired', 'withdrawn')
			AND (a.state <> 'rejected' OR a.body LIKE '%"decided_by":%'))`, // one that nobody has decided on in time still waits for an answer
		[]any{micros(since), store.WaitingEvaluation}, "e.project_id", projectID)
	return query + " ORDER BY e.at, e.seq LIMIT ?", args
}

// queuedRow is a row of a list before its rules are known.
type queuedRow struct {
	store.Waiting
	rules [2]ruleState
}

// listed reads the rows of a query, and then the rules that each names, in one state of the database.
func (t queueTable) listed(ctx context.Context, doing, query string, args []any, fields func(r *queuedRow) []any) (list []store.Waiting, err error) {
	list = []store.Waiting{}
	err = t.snapshot(ctx, func(s *session) error {
		rows, err := many(ctx, s, unlocked, doing, query, args, fields)
		if err != nil {
			return err
		}
		states := make([]ruleState, 0, 2*len(rows))
		for i := range rows {
			for _, state := range rows[i].rules {
				if state.id != "" {
					states = append(states, state)
				}
			}
		}
		rules, err := queueTable{s}.queuedRules(ctx, states)
		if err != nil {
			return err
		}
		list = make([]store.Waiting, 0, len(rows))
		for i, next := 0, 0; i < len(rows); i++ {
			w := rows[i].Waiting
			if w.ID == "" { // the rule itself waits
				w.ProjectID, w.ID = rows[i].rules[0].projectID, rows[i].rules[0].id
			}
			named := 1
			if rows[i].rules[1].id != "" {
				named = 2
			}
			w.Rules = rules[next : next+named : next+named]
			// A rule may have changed since the rows were read, which only a transaction can see.
			if next += named; !slices.Contains(w.Rules, nil) {
				list = append(list, w)
			}
		}
		return nil
	})
	return list, err
}

// RulesInReview implements store.QueueReader.
func (t queueTable) RulesInReview(ctx context.Context, projectID string, limit int) ([]store.Waiting, error) {
	query, args := rulesInReview(projectID)
	list, err := t.listed(ctx, "rules in review", query, append(args, limit), func(r *queuedRow) []any {
		return []any{&r.rules[0].projectID, &r.rules[0].id, &r.rules[0].corpusVersion}
	})
	for i := range list {
		r := list[i].Rules[0]
		list[i].Since, list[i].By = r.UpdatedAt, r.UpdatedBy
	}
	return list, err
}

// PendingRevisions implements store.QueueReader.
func (t queueTable) PendingRevisions(ctx context.Context, projectID string, limit int) ([]store.Waiting, error) {
	query, args := inProject("SELECT project_id, rule_id, number, created_at, body FROM rule_revisions WHERE state = 'pending'", nil, "project_id", projectID)
	query = "SELECT v.project_id, v.body, r.version FROM (" + query + " ORDER BY created_at, project_id, rule_id, number LIMIT ?) v" +
		" JOIN rules r ON r.project_id = v.project_id AND r.id = v.rule_id ORDER BY v.created_at, v.project_id, v.rule_id, v.number"
	list := []store.Waiting{}
	err := t.each(ctx, "pending revisions", query, append(args, limit), func(rows *sql.Rows) error {
		var r store.Revision
		var version int
		if err := rows.Scan(&r.ProjectID, revisionColumn{&r}, &version); err != nil {
			return err
		}
		r.Stale = version != r.BaseVersion
		list = append(list, store.Waiting{ProjectID: r.ProjectID, ID: store.RevisionID(r.RuleID, r.Number), Since: r.At, By: r.Author, Revision: &r})
		return nil
	})
	return list, err
}

// PendingCandidates implements store.QueueReader.
func (t queueTable) PendingCandidates(ctx context.Context, projectID string, limit int) (list []store.Waiting, err error) {
	query, args := pendingCandidates(projectID)
	query = "SELECT c.project_id, c.id, c.scan_id, c.confidence, s.created_at, s.created_by FROM (" + query + ") c" +
		" JOIN scans s ON s.project_id = c.project_id AND s.id = c.scan_id ORDER BY c.scan_id, c.n"
	err = t.snapshot(ctx, func(s *session) error {
		list, err = many(ctx, s, unlocked, "pending candidates", query, append(args, limit), func(w *store.Waiting) []any {
			return []any{&w.ProjectID, &w.ID, &w.Ref, &w.Confidence, timeColumn{&w.Since}, &w.By}
		})
		keys := make([]rowKey, len(list))
		for i := range list {
			keys[i] = rowKey{list[i].ProjectID, list[i].ID}
		}
		if err != nil {
			return err
		}
		found, err := queueTable{s}.queuedCandidates(ctx, keys)
		for i, c := range found {
			list[i].Candidate = c
		}
		return err
	})
	return list, err
}

// SuggestedConflicts implements store.QueueReader.
func (t queueTable) SuggestedConflicts(ctx context.Context, projectID string, limit int) ([]store.Waiting, error) {
	query, args := suggestedConflicts(projectID)
	query = "SELECT c.project_id, c.id, c.reason, c.confidence, c.detected_at, a.project_id, a.id, a.corpus_version, b.project_id, b.id, b.corpus_version FROM (" + query + ") c" +
		" JOIN rules a ON a.project_id = c.project_id AND a.id = c.rule_id JOIN rules b ON b.project_id = c.project_id AND b.id = c.other_id ORDER BY c.detected_at, c.id"
	return t.listed(ctx, "suggested conflicts", query, append(args, limit), func(r *queuedRow) []any {
		w, one, other := &r.Waiting, &r.rules[0], &r.rules[1]
		return []any{&w.ProjectID, &w.ID, &w.Ref, &w.Confidence, timeColumn{&w.Since}, &one.projectID, &one.id, &one.corpusVersion, &other.projectID, &other.id, &other.corpusVersion}
	})
}

// WaiversToApprove implements store.QueueReader.
func (t queueTable) WaiversToApprove(ctx context.Context, projectID string, now time.Time, limit int) ([]store.Waiting, error) {
	query, args := inProject(`SELECT w.project_id, w.id, w.reason, w.created_at, w.created_by, r.body FROM waivers w
		JOIN rules r ON r.project_id = w.project_id AND r.id = w.rule_id
		WHERE w.approved_at IS NULL AND w.revoked_at IS NULL AND w.severity = ? AND w.expires_at > ?`, []any{string(rule.Critical), micros(now)}, "w.project_id", projectID)
	return t.waiting(ctx, "waivers to approve", query+" ORDER BY w.created_at, w.id LIMIT ?", append(args, limit), func(w *store.Waiting, bodies *[2][]byte) []any {
		return []any{&w.ProjectID, &w.ID, &w.Ref, timeColumn{&w.Since}, &w.By, &bodies[0]}
	})
}

// PendingApprovals implements store.QueueReader.
func (t queueTable) PendingApprovals(ctx context.Context, projectID string, now time.Time, limit int) ([]store.Waiting, error) {
	query, args := inProject("SELECT project_id, id, created_at, requester, body FROM approvals WHERE state = 'pending' AND ends_at > ?", []any{micros(now)}, "project_id", projectID)
	return t.waiting(ctx, "pending approvals", query+" ORDER BY created_at, id LIMIT ?", append(args, limit), func(w *store.Waiting, _ *[2][]byte) []any {
		return []any{&w.ProjectID, &w.ID, timeColumn{&w.Since}, &w.By, &w.Body}
	})
}

// Unconfirmed implements store.QueueReader.
func (t queueTable) Unconfirmed(ctx context.Context, projectID string, since time.Time, limit int) ([]store.Waiting, error) {
	query, args := unconfirmed(projectID, since)
	list, err := t.waiting(ctx, "evaluations to confirm", query, append(args, limit),
		func(w *store.Waiting, _ *[2][]byte) []any {
			return []any{&w.ProjectID, &w.ID, &w.Seq, timeColumn{&w.Since}, &w.By, &w.Pruned}
		})
	if err == nil {
		err = t.findBodies(ctx, list)
	}
	return list, err
}

const markColumns = "project_id, kind, id, assignee, snoozed_until, settled_at, settled_by, note"

func markFields(m *store.QueueMark) []any {
	return []any{&m.ProjectID, &m.Kind, &m.ID, &m.Assignee, optionalTimeColumn{&m.SnoozedUntil}, optionalTimeColumn{&m.SettledAt}, &m.SettledBy, &m.Note}
}

// Marks implements store.QueueReader.
func (t queueTable) Marks(ctx context.Context, projectID string, limit int) ([]store.QueueMark, error) {
	query, args := inProject("SELECT "+markColumns+" FROM queue_marks WHERE settled_at IS NULL", nil, "project_id", projectID)
	return many(ctx, t.session, unlocked, "marks of the queue", query+" ORDER BY project_id, kind, id LIMIT ?", append(args, limit), markFields)
}

// Mark implements store.QueueReader.
func (t queueTable) Mark(ctx context.Context, projectID, kind, id string) (store.QueueMark, error) {
	m, err := one(ctx, t.session, queueOf(projectID), "mark of the queue", "SELECT "+markColumns+" FROM queue_marks WHERE project_id = ? AND kind = ? AND id = ?",
		[]any{projectID, kind, id}, markFields)
	if errors.Is(err, sql.ErrNoRows) {
		return store.QueueMark{ProjectID: projectID, Kind: kind, ID: id}, nil
	}
	return m, err
}

// PutMark implements store.QueueTx.
func (t queueTable) PutMark(ctx context.Context, m store.QueueMark) error {
	if m.Assignee == "" && m.SnoozedUntil == nil && m.SettledAt == nil {
		n, err := t.lockedExec(ctx, queueOf(m.ProjectID), "remove mark", "DELETE FROM queue_marks WHERE project_id = ? AND kind = ? AND id = ?", m.ProjectID, m.Kind, m.ID)
		if n > 0 {
			t.queueChanged(m.ProjectID, store.WaitingMarks)
		}
		return err
	}
	if err := t.exists(ctx, "project", m.ProjectID, "SELECT 1 FROM projects WHERE project_id = ?", m.ProjectID); err != nil {
		return err
	}
	t.queueChanged(m.ProjectID, store.WaitingMarks)
	_, err := t.lockedExec(ctx, queueOf(m.ProjectID), "put mark", "INSERT INTO queue_marks ("+markColumns+") VALUES "+marks(1, 8)+`
		ON CONFLICT (project_id, kind, id) DO UPDATE SET assignee = excluded.assignee, snoozed_until = excluded.snoozed_until,
		settled_at = excluded.settled_at, settled_by = excluded.settled_by, note = excluded.note`,
		m.ProjectID, m.Kind, m.ID, m.Assignee, nullable(m.SnoozedUntil), nullable(m.SettledAt), m.SettledBy, m.Note)
	return err
}
