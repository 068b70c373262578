package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

const auditColumns = "project_id, seq, id, kind, at, actor, verdict, mode, body, body_hash, prev_hash, hash"

func auditFields(e *store.AuditEntry) []any {
	return []any{&e.ProjectID, &e.Seq, &e.ID, &e.Kind, timeColumn{&e.At}, &e.Actor, &e.Verdict, &e.Mode, &e.Body, &e.BodyHash, &e.PrevHash, &e.Hash}
}

// Head implements store.AuditReader.
func (t auditTable) Head(ctx context.Context, projectID string) (wire.AuditHead, error) {
	end, err := t.end(ctx, projectID)
	return end.AuditHead, err
}

// end reads the end of a chain, and locks the chain in a transaction.
func (t auditTable) end(ctx context.Context, projectID string) (end store.AuditEnd, err error) {
	chain, query := chainOf(projectID), "SELECT seq, hash, tree FROM audit_heads WHERE project_id = ?"
	if t.needsLock(chain) {
		// Every append begins here, so one statement locks and reads.
		err := t.row(ctx, "lock audit head", query+" FOR UPDATE", []any{projectID}, &end.Seq, &end.Hash, &end.Tree)
		if err == nil {
			t.state.locked[chain] = true
			return end, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return end, err
		}
	}
	if err := t.lock(ctx, chain); err != nil {
		return end, err
	}
	err = t.row(ctx, "audit head", query, []any{projectID}, &end.Seq, &end.Hash, &end.Tree)
	return end, notFound(err, "project", projectID)
}

// Lock implements store.AuditTx.
func (t auditTable) Lock(ctx context.Context, projectID string) (wire.AuditHead, error) {
	return t.Head(ctx, projectID) // a transaction locks what it reads
}

// Entries implements store.AuditReader.
func (t auditTable) Entries(ctx context.Context, projectID string, after int64, limit int) ([]store.AuditEntry, error) {
	return t.withBodies(ctx, chainOf(projectID), "audit entries",
		"SELECT "+auditColumns+" FROM audit_entries WHERE project_id = ? AND seq > ? ORDER BY seq"+t.d.limit, []any{projectID, after, max(limit, 0)})
}

// Get implements store.AuditReader.
func (t auditTable) Get(ctx context.Context, projectID, id string) (store.AuditEntry, error) {
	e, err := one(ctx, t.session, chainOf(projectID), "audit entry", "SELECT "+auditColumns+" FROM audit_entries WHERE project_id = ? AND id = ?", []any{projectID, id}, auditFields)
	if err == nil {
		found := []store.AuditEntry{e}
		err = t.fetchBodies(ctx, found)
		return found[0], err
	}
	return e, notFound(err, "audit entry", id)
}

// Find implements store.AuditReader.
func (t auditTable) Find(ctx context.Context, f store.AuditFilter) ([]store.AuditEntry, int, error) {
	where, args := auditWhere(f)
	window := []any{max(f.Limit, 0), max(f.Offset, 0)}
	count, page, pageArgs := "SELECT COUNT(*)"+where, "SELECT "+auditColumns+where+" ORDER BY seq DESC LIMIT ? OFFSET ?", slices.Concat(args, window)
	switch {
	case len(args) == 1: // by project only
		count = "SELECT seq FROM audit_heads WHERE project_id = ?" // entries count from 1 without gaps
	case len(args) == 2 && f.Kind != "":
		// The index by kind has this order.
	default:
		// The + keeps databases from walking the entries in order of seq, with their large bodies, until enough match: the index
		// that holds all these columns finds them first.
		page = "SELECT " + auditColumns + " FROM audit_entries WHERE project_id = ? AND seq IN (SELECT seq" + where +
			" ORDER BY +seq DESC LIMIT ? OFFSET ?) ORDER BY seq DESC"
		pageArgs = slices.Concat(args[:1], args, window)
	}
	var list []store.AuditEntry
	total := 0
	err := t.lockedSnapshot(ctx, chainOf(f.ProjectID), func(r *session) error {
		err := r.row(ctx, "count audit entries", count, args, &total)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		list, err = auditTable{r}.withBodies(ctx, unlocked, "audit entries", page, pageArgs)
		return err
	})
	return list, total, err
}

// auditWhere returns the part of a query that selects by a filter. The first argument is the project.
func auditWhere(f store.AuditFilter) (where string, args []any) {
	where, args = equal(" FROM audit_entries WHERE project_id = ?", []any{f.ProjectID},
		"kind", f.Kind, "verdict", f.Verdict, "mode", f.Mode, "actor", f.Actor)
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

// LockMany implements store.AuditTx.
func (t auditTable) LockMany(ctx context.Context, projectIDs []string) (map[string]store.AuditEnd, error) {
	if t.d.rowLocks {
		ends := make(map[string]store.AuditEnd, len(projectIDs))
		for _, id := range projectIDs {
			end, err := t.end(ctx, id)
			if err != nil {
				return nil, err
			}
			ends[id] = end
		}
		return ends, nil
	}
	in, list := t.d.in("project_id", projectIDs)
	if len(projectIDs) == 1 && text(projectIDs[0]) { // as of nearly all transactions: without a list, it takes half the time
		in, list = "project_id = ?", projectIDs[0]
	}
	ends, err := byKey(ctx, t.session, unlocked, "audit heads", "SELECT project_id, seq, hash, tree FROM audit_heads WHERE "+in, []any{list}, endFields)
	for _, id := range projectIDs {
		if _, ok := ends[id]; !ok && err == nil {
			err = rule.NotFound("project", id)
		}
	}
	return ends, err
}

// moveHeads and whereHead move the heads that are still before the first entry of their project.
const (
	moveHeads = "WITH moved (project_id, from_seq, from_hash, seq, hash, tree) AS (VALUES "
	whereHead = `) UPDATE audit_heads SET seq = CAST(moved.seq AS BIGINT), hash = moved.hash, tree = moved.tree FROM moved
		WHERE audit_heads.project_id = moved.project_id AND audit_heads.seq = CAST(moved.from_seq AS BIGINT) AND audit_heads.hash = moved.from_hash`
)

// Append implements store.AuditTx.
func (t auditTable) Append(ctx context.Context, entries []store.AuditEntry, trees map[string]string) error {
	args, heads := make([]any, 0, 12*len(entries)), []any{}
	for i := range entries {
		e := &entries[i]
		if i == 0 || e.ProjectID != entries[i-1].ProjectID {
			if err := t.lock(ctx, chainOf(e.ProjectID)); err != nil {
				return err
			}
			heads = append(heads, e.ProjectID, strconv.FormatInt(e.Seq-1, 10), e.PrevHash, "", "", trees[e.ProjectID])
		} else if e.Seq != entries[i-1].Seq+1 {
			return rule.Errorf(rule.CodeConflict, "audit entry %d of project %q does not follow the one before it", e.Seq, e.ProjectID)
		}
		heads[len(heads)-3], heads[len(heads)-2] = strconv.FormatInt(e.Seq, 10), e.Hash
		args = append(args, e.ProjectID, e.Seq, e.ID, e.Kind, micros(e.At), e.Actor, e.Verdict, e.Mode, blob(e.Body), e.BodyHash, e.PrevHash, e.Hash)
	}
	// The heads move first: if one has moved, Append ends.
	var n int64
	var err error
	if len(heads) == 6 {
		first, last := &entries[0], &entries[len(entries)-1]
		n, err = t.exec(ctx, "move audit head", "UPDATE audit_heads SET seq = ?, hash = ?, tree = ? WHERE project_id = ? AND seq = ? AND hash = ?",
			last.Seq, last.Hash, trees[first.ProjectID], first.ProjectID, first.Seq-1, first.PrevHash)
	} else {
		n, err = t.countRows(ctx, "move audit heads", moveHeads, 6, whereHead, heads)
	}
	if err != nil {
		return err
	}
	if n < int64(len(heads)/6) {
		return rule.Errorf(rule.CodeConflict, "an audit chain has moved on; read its head again")
	}
	apart, err := t.apart(ctx, entries, args, 12, 8)
	if err != nil {
		return err
	}
	err = t.execRows(ctx, "append audit entries", "INSERT INTO audit_entries ("+auditColumns+") VALUES ", 12, "", args)
	if t.d.duplicate(err) {
		// Only the text of the outer error names columns; users see the inner one.
		return errors.Join(rule.Errorf(rule.CodeConflict, "an audit entry with this id exists already; give it a new one"), err)
	}
	if err == nil && len(apart) > 0 {
		err = t.putBodies(ctx, apart)
	}
	return err
}
