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
	chain, query := chainOf(projectID), "SELECT seq, hash FROM audit_heads WHERE project_id = ?"
	var head store.AuditHead
	if r.mustHold(chain) {
		// What every append begins with locks and reads in one go.
		err := r.row(ctx, "lock audit head", query+" FOR UPDATE", []any{projectID}, &head.Seq, &head.Hash)
		if err == nil {
			r.inside.held[chain] = true
			return head, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return head, err
		}
	}
	if err := r.hold(ctx, chain); err != nil {
		return head, err
	}
	err := r.row(ctx, "audit head", query, []any{projectID}, &head.Seq, &head.Hash)
	return head, missing(err, "project", projectID)
}

// LockAudit implements store.Tx.
func (t *tx) LockAudit(ctx context.Context, projectID string) (store.AuditHead, error) {
	return t.AuditHead(ctx, projectID) // a transaction locks what it reads
}

// AuditEntries implements store.Reader.
func (r *reader) AuditEntries(ctx context.Context, projectID string, after int64, limit int) ([]store.AuditEntry, error) {
	if err := r.hold(ctx, chainOf(projectID)); err != nil {
		return nil, err
	}
	return r.auditList(ctx, "SELECT "+auditColumns+" FROM audit_entries WHERE project_id = ? AND seq > ? ORDER BY seq LIMIT ?",
		projectID, after, max(limit, 0))
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
	if err := r.hold(ctx, chainOf(projectID)); err != nil {
		return store.AuditEntry{}, err
	}
	e, err := scanAudit(func(dest ...any) error {
		return r.row(ctx, "audit entry", "SELECT "+auditColumns+" FROM audit_entries WHERE project_id = ? AND id = ?", []any{projectID, id}, dest...)
	})
	return e, missing(err, "audit entry", id)
}

// FindAudit implements store.Reader.
func (r *reader) FindAudit(ctx context.Context, f store.AuditFilter) ([]store.AuditEntry, int, error) {
	where, args := auditWhere(f)
	window := []any{max(f.Limit, 0), max(f.Offset, 0)}
	count, page, pageArgs := "SELECT COUNT(*)"+where, "SELECT "+auditColumns+where+" ORDER BY seq DESC LIMIT ? OFFSET ?", slices.Concat(args, window)
	switch {
	case len(args) == 1: // by project only
		count = "SELECT seq FROM audit_heads WHERE project_id = ?" // entries count from 1 without gaps
	case len(args) == 2 && f.Kind != "":
		// The index by kind has them in order.
	default:
		// The + keeps databases from walking the entries in order of seq, with their large bodies, until enough match: the index
		// that holds all these columns finds them first.
		page = "SELECT " + auditColumns + " FROM audit_entries WHERE project_id = ? AND seq IN (SELECT seq" + where +
			" ORDER BY +seq DESC LIMIT ? OFFSET ?) ORDER BY seq DESC"
		pageArgs = slices.Concat(args[:1], args, window)
	}
	var list []store.AuditEntry
	total := 0
	err := r.holding(ctx, chainOf(f.ProjectID), func(r *reader) error {
		err := r.row(ctx, "count audit entries", count, args, &total)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		list, err = r.auditList(ctx, page, pageArgs...)
		return err
	})
	return list, total, err
}

// auditWhere is the part of a query that selects what a filter lets through. The first argument is the project.
func auditWhere(f store.AuditFilter) (where string, args []any) {
	where, args = " FROM audit_entries WHERE project_id = ?", []any{f.ProjectID}
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
	return where, args
}

// AppendAudit implements store.Tx.
func (t *tx) AppendAudit(ctx context.Context, entries []store.AuditEntry) error {
	if len(entries) == 0 {
		return nil
	}
	first, last := &entries[0], &entries[len(entries)-1]
	if err := t.hold(ctx, chainOf(first.ProjectID)); err != nil {
		return err
	}
	args := make([]any, 0, 12*len(entries))
	for i := range entries {
		e := &entries[i]
		if e.ProjectID != first.ProjectID || e.Seq != first.Seq+int64(i) {
			return rule.Errorf(rule.CodeConflict, "audit entry %d of project %q does not follow the one before it", e.Seq, e.ProjectID)
		}
		body := e.Body
		if body == nil {
			body = []byte{}
		}
		args = append(args, e.ProjectID, e.Seq, e.ID, e.Kind, micros(e.At), e.Actor, e.Verdict, e.Mode, body, e.BodyHash, e.PrevHash, e.Hash)
	}
	// The head moves first: if it is not where the entries begin, nothing else is tried.
	n, err := t.exec(ctx, "move audit head", "UPDATE audit_heads SET seq = ?, hash = ? WHERE project_id = ? AND seq = ? AND hash = ?",
		last.Seq, last.Hash, first.ProjectID, first.Seq-1, first.PrevHash)
	if err != nil {
		return err
	}
	if n == 0 {
		return rule.Errorf(rule.CodeConflict, "the audit chain of project %q has moved on; read its head again", first.ProjectID)
	}
	err = t.execRows(ctx, "append audit entries", "INSERT INTO audit_entries ("+auditColumns+") VALUES ", 12, "", args)
	if t.d.duplicate(err) {
		// Only the text of the outer error names columns; users are shown the inner one.
		return errors.Join(rule.Errorf(rule.CodeConflict, "an audit entry with this id exists already; give it a new one"), err)
	}
	return err
}
