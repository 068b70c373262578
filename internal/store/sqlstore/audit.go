package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const auditColumns = "project_id, seq, id, kind, at, actor, verdict, mode, body, body_hash, prev_hash, hash"

func scanAudit(scan func(...any) error) (store.AuditEntry, error) {
	var e store.AuditEntry
	var at int64
	err := scan(&e.ProjectID, &e.Seq, &e.ID, &e.Kind, &at, &e.Actor, &e.Verdict, &e.Mode, &e.Body, &e.BodyHash, &e.PrevHash, &e.Hash)
	e.At = fromMicros(at)
	return e, err
}

// AuditHead implements store.Reader.
func (r *reader) AuditHead(ctx context.Context, projectID string) (store.AuditHead, error) {
	return r.auditHead(ctx, projectID, "")
}

// LockAudit implements store.Tx.
func (t *tx) LockAudit(ctx context.Context, projectID string) (store.AuditHead, error) {
	return t.auditHead(ctx, projectID, t.d.forUpdate)
}

func (r *reader) auditHead(ctx context.Context, projectID, lock string) (store.AuditHead, error) {
	var head store.AuditHead
	err := r.row(ctx, "audit head", "SELECT seq, hash FROM audit_heads WHERE project_id = ?"+lock, []any{projectID}, &head.Seq, &head.Hash)
	if errors.Is(err, sql.ErrNoRows) {
		return head, rule.NotFound("project", projectID)
	}
	return head, err
}

// AuditEntries implements store.Reader.
func (r *reader) AuditEntries(ctx context.Context, projectID string, after int64, limit int) ([]store.AuditEntry, error) {
	return r.auditList(ctx, "SELECT "+auditColumns+" FROM audit_entries WHERE project_id = ? AND seq > ? ORDER BY seq LIMIT ?",
		projectID, after, limit)
}

func (r *reader) auditList(ctx context.Context, query string, args ...any) ([]store.AuditEntry, error) {
	list := []store.AuditEntry{}
	err := r.each(ctx, "audit entries", query, args, func(rows *sql.Rows) error {
		e, err := scanAudit(rows.Scan)
		list = append(list, e)
		return err
	})
	return list, err
}

// AuditEntry implements store.Reader.
func (r *reader) AuditEntry(ctx context.Context, projectID, id string) (store.AuditEntry, error) {
	e, err := scanAudit(func(dest ...any) error {
		return r.row(ctx, "audit entry", "SELECT "+auditColumns+" FROM audit_entries WHERE project_id = ? AND id = ?", []any{projectID, id}, dest...)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return e, rule.NotFound("audit entry", id)
	}
	return e, err
}

// FindAudit implements store.Reader.
func (r *reader) FindAudit(ctx context.Context, f store.AuditFilter) ([]store.AuditEntry, int, error) {
	where, args := " FROM audit_entries WHERE project_id = ?", []any{f.ProjectID}
	for _, c := range []struct{ column, value string }{
		{"kind", f.Kind}, {"verdict", f.Verdict}, {"mode", f.Mode}, {"actor", f.Actor},
	} {
		if c.value != "" {
			where += " AND " + c.column + " = ?"
			args = append(args, c.value)
		}
	}
	if f.Since != nil {
		where += " AND at >= ?"
		args = append(args, micros(*f.Since))
	}
	if f.Until != nil {
		where += " AND at < ?"
		args = append(args, micros(*f.Until))
	}
	var total int
	if err := r.row(ctx, "count audit entries", "SELECT COUNT(*)"+where, args, &total); err != nil {
		return nil, 0, err
	}
	list, err := r.auditList(ctx, "SELECT "+auditColumns+where+" ORDER BY seq DESC LIMIT ? OFFSET ?", append(args, f.Limit, f.Offset)...)
	return list, total, err
}

// AppendAudit implements store.Tx.
func (t *tx) AppendAudit(ctx context.Context, entries []store.AuditEntry) error {
	if len(entries) == 0 {
		return nil
	}
	projectID, first, last := entries[0].ProjectID, entries[0], entries[len(entries)-1]
	for part := range slices.Chunk(entries, chunk) {
		args := make([]any, 0, 12*len(part))
		for i := range part {
			e := &part[i]
			args = append(args, e.ProjectID, e.Seq, e.ID, e.Kind, micros(e.At), e.Actor, e.Verdict, e.Mode, e.Body, e.BodyHash, e.PrevHash, e.Hash)
		}
		_, err := t.exec(ctx, "append audit entries", "INSERT INTO audit_entries ("+auditColumns+") VALUES "+marks(len(part), 12), args...)
		if t.d.duplicate(err) {
			return rule.Errorf(rule.CodeConflict, "an audit entry with this number or id exists already: %w", err)
		}
		if err != nil {
			return err
		}
	}
	n, err := t.exec(ctx, "move audit head", "UPDATE audit_heads SET seq = ?, hash = ? WHERE project_id = ? AND seq = ? AND hash = ?",
		last.Seq, last.Hash, projectID, first.Seq-1, first.PrevHash)
	if err == nil && (n == 0 || last.Seq-first.Seq != int64(len(entries))-1) {
		return rule.Errorf(rule.CodeConflict, "the audit chain of project %q has moved on", projectID)
	}
	return err
}
