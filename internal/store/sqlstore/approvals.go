package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const approvalColumns = "project_id, id, revision, link_key, body"

func approvalFields(a *store.ApprovalRecord) []any {
	return []any{&a.ProjectID, &a.ID, &a.Revision, &a.LinkKey, jsonColumn{&a.Approval}}
}

func approvalsOf(projectID string) lockDomain { return lockDomain{approvalKind, projectID} }

// Get implements store.ApprovalReader.
func (t approvalTable) Get(ctx context.Context, projectID, id string) (store.ApprovalRecord, error) {
	a, err := one(ctx, t.session, approvalsOf(projectID), "approval", "SELECT "+approvalColumns+" FROM approvals WHERE project_id = ? AND id = ?",
		[]any{projectID, id}, approvalFields)
	return a, notFound(err, "approval", id)
}

// Find implements store.ApprovalReader.
func (t approvalTable) Find(ctx context.Context, f store.ApprovalFilter) (list []store.ApprovalRecord, total int, err error) {
	from, args := t.matching(&f)
	err = t.lockedSnapshot(ctx, approvalsOf(f.ProjectID), func(s *session) error {
		if err := s.row(ctx, "count approvals", "SELECT COUNT(*) "+from, args, &total); err != nil {
			return err
		}
		if f.Before != "" {
			from, args = from+" AND id < ?", append(args, f.Before)
		}
		list, err = many(ctx, s, unlocked, "approvals", "SELECT "+approvalColumns+" "+from+" ORDER BY id DESC LIMIT ? OFFSET ?",
			append(args, max(f.Limit, 0), max(f.Offset, 0)), approvalFields)
		return err
	})
	return list, total, err
}

// matching is the part of a query that selects approvals.
func (t approvalTable) matching(f *store.ApprovalFilter) (string, []any) {
	from, args := equal("FROM approvals WHERE project_id = ?", []any{f.ProjectID}, "requester", f.Requester, "evaluation_id", f.EvaluationID,
		"repository", f.Repository, "agent", f.Agent, "person", f.Person, "session", f.Session)
	if len(f.States) > 0 {
		var states []string
		for _, state := range f.States {
			switch state {
			case rule.ApprovalPending, rule.ApprovalApproved:
				states, args = append(states, "(state = ? AND ends_at > ?)"), append(args, string(state), micros(f.Now))
			case rule.ApprovalRejected, rule.ApprovalExpired:
				before := rule.ApprovalPending
				if state == rule.ApprovalExpired {
					before = rule.ApprovalApproved
				}
				states = append(states, "state = ?", "(state = ? AND ends_at <= ?)")
				args = append(args, string(state), string(before), micros(f.Now))
			case rule.ApprovalUsed, rule.ApprovalWithdrawn:
				states, args = append(states, "state = ?"), append(args, string(state))
			}
		}
		from += " AND (" + strings.Join(states, " OR ") + ")"
	}
	if f.RuleID != "" {
		from += " AND EXISTS (SELECT 1 FROM approval_rules r WHERE r.project_id = approvals.project_id AND r.rule_id = ? AND r.approval_id = approvals.id)"
		args = append(args, f.RuleID)
	}
	if f.Scope != "" {
		// The character after the slash is the zero, so that the range has all paths below the scope.
		from, args = from+" AND (scope = ? OR (scope >= ? AND scope < ?))", append(args, f.Scope, f.Scope+"/", f.Scope+"0")
	}
	if f.Severities != nil {
		names := make([]string, len(f.Severities))
		for i, s := range f.Severities {
			names[i] = string(s)
		}
		in, list := t.d.in("severity", names)
		from, args = from+" AND "+in, append(args, list)
	}
	if f.Since != nil {
		from, args = from+" AND created_at >= ?", append(args, micros(*f.Since))
	}
	if f.Until != nil {
		from, args = from+" AND created_at < ?", append(args, micros(*f.Until))
	}
	return from, args
}

// Open implements store.ApprovalReader.
func (t approvalTable) Open(ctx context.Context, projectID, subjectHash string) ([]store.ApprovalRecord, error) {
	return many(ctx, t.session, approvalsOf(projectID), "open approvals", "SELECT "+approvalColumns+` FROM approvals
		WHERE project_id = ? AND subject_hash = ? AND state IN ('pending', 'approved') ORDER BY id`, []any{projectID, subjectHash}, approvalFields)
}

// Due implements store.ApprovalReader.
func (t approvalTable) Due(ctx context.Context, now time.Time, limit int) ([]store.ApprovalRecord, error) {
	return many(ctx, t.session, unlocked, "due approvals", "SELECT "+approvalColumns+` FROM approvals
		WHERE state IN ('pending', 'approved') AND due_at <= ? ORDER BY due_at LIMIT ?`, []any{micros(now), limit}, approvalFields)
}

// Revisions implements store.ApprovalReader.
func (t approvalTable) Revisions(ctx context.Context, projectID string, ids []string) (map[string]int, error) {
	in, list := t.d.in("id", ids)
	return byKey(ctx, t.session, approvalsOf(projectID), "revisions of approvals", "SELECT id, revision FROM approvals WHERE project_id = ? AND "+in,
		[]any{projectID, list}, func(id *string, revision *int) []any { return []any{id, revision} })
}

// approvalTimes returns the end of the present state of an approval, and the time at which a job has to look at it.
func approvalTimes(a *store.ApprovalRecord) (ends, due time.Time) {
	ends = a.ExpiresAt
	if a.State == rule.ApprovalApproved && a.ValidUntil != nil {
		ends = *a.ValidUntil
	}
	due = ends
	if a.State == rule.ApprovalPending && a.EscalateAt != nil && !a.Escalated && a.EscalateAt.Before(due) {
		due = *a.EscalateAt
	}
	return ends, due
}

func approvalBody(a *store.ApprovalRecord) (string, error) {
	stored := a.Approval
	stored.URL, stored.Actions = "", nil
	body, err := json.Marshal(&stored)
	if err != nil {
		return "", fmt.Errorf("sqlstore: approval: %w", err)
	}
	return string(body), nil
}

// Insert implements store.ApprovalTx.
func (t approvalTable) Insert(ctx context.Context, a store.ApprovalRecord) error {
	if err := t.exists(ctx, "project", a.ProjectID, "SELECT 1 FROM projects WHERE project_id = ?", a.ProjectID); err != nil {
		return err
	}
	body, err := approvalBody(&a)
	if err != nil {
		return err
	}
	ends, due := approvalTimes(&a)
	_, err = t.lockedExec(ctx, approvalsOf(a.ProjectID), "insert approval", `INSERT INTO approvals (project_id, id, revision, link_key, body, state, requester, subject_hash,
		evaluation_id, repository, agent, person, session, scope, severity, created_at, ends_at, due_at) VALUES `+marks(1, 18),
		a.ProjectID, a.ID, a.Revision, a.LinkKey, body, string(a.State), a.Requester, a.SubjectHash, a.EvaluationID, a.Repository, a.Agent, a.Person, a.Session, a.Scope,
		string(a.Severity), micros(a.CreatedAt), micros(ends), micros(due))
	if t.d.duplicate(err) {
		return errors.Join(rule.Errorf(rule.CodeConflict, "an approval with this id exists already; give it a new one"), err)
	}
	if err != nil {
		return err
	}
	t.changedInForce(a.ProjectID, store.ApprovalInForce, a.ID)
	args := make([]any, 0, 3*len(a.Rules))
	for i := range a.Rules {
		args = append(args, a.ProjectID, a.Rules[i].RuleID, a.ID)
	}
	return t.execRows(ctx, "insert rules of approval", "INSERT INTO approval_rules (project_id, rule_id, approval_id) VALUES ", 3, " ON CONFLICT DO NOTHING", args)
}

// Hold implements store.ApprovalTx. SQLite has one writer at a time.
func (t approvalTable) Hold(ctx context.Context, projectID, id string) error {
	query := "SELECT id FROM approvals WHERE project_id = ? AND id = ?"
	if t.d.rowLocks {
		query += " FOR UPDATE"
	}
	_, err := one(ctx, t.session, approvalsOf(projectID), "hold approval", query, []any{projectID, id}, textFields)
	return notFound(err, "approval", id)
}

// Update implements store.ApprovalTx.
func (t approvalTable) Update(ctx context.Context, a store.ApprovalRecord) error {
	body, err := approvalBody(&a)
	if err != nil {
		return err
	}
	ends, due := approvalTimes(&a)
	n, err := t.lockedExec(ctx, approvalsOf(a.ProjectID), "update approval",
		"UPDATE approvals SET revision = ?, body = ?, state = ?, ends_at = ?, due_at = ? WHERE project_id = ? AND id = ? AND revision = ?",
		a.Revision, body, string(a.State), micros(ends), micros(due), a.ProjectID, a.ID, a.Revision-1)
	t.changedInForce(a.ProjectID, store.ApprovalInForce, a.ID)
	return unlessNone(n, err, rule.Errorf(rule.CodeConflict, "the approval has changed meanwhile; read it again"))
}
