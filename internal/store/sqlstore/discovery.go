package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const scanColumns = "project_id, id, job_id, repository, document_id, request, created_at, created_by, state, result, error, ended_at, pruned_at"

func scanFields(s *store.Scan) []any {
	return []any{
		&s.ProjectID, &s.ID, &s.JobID, &s.Repository, &s.DocumentID, &s.Request,
		timeColumn{&s.CreatedAt},
		&s.CreatedBy, &s.State,
		&s.Result, &s.Error,
		optionalTimeColumn{&s.EndedAt},
		optionalTimeColumn{&s.PrunedAt},
	}
}

// Get implements store.ScanReader.
func (t scanTable) Get(ctx context.Context, projectID, id string) (store.Scan, error) {
	s, err := one(ctx, t.session, discoveryOf(projectID), "scan", "SELECT "+scanColumns+" FROM scans WHERE project_id = ? AND id = ?", []any{projectID, id}, scanFields)
	return s, notFound(err, "scan", id)
}

// List implements store.ScanReader.
func (t scanTable) List(ctx context.Context, projectID string, offset, limit int) ([]store.Scan, int, error) {
	return page(ctx, t.session, discoveryOf(projectID), "scans", scanColumns, "FROM scans WHERE project_id = ?", "created_at DESC, id DESC",
		[]any{projectID}, window{offset, limit}, scanFields)
}

// ListOpen implements store.ScanReader.
func (t scanTable) ListOpen(ctx context.Context, before time.Time, limit int) ([]store.Scan, error) {
	return many(ctx, t.session, unlocked, "open scans", "SELECT "+scanColumns+" FROM scans WHERE state = 'open' AND created_at < ? ORDER BY created_at, project_id, id LIMIT ?",
		[]any{micros(before), limit}, scanFields)
}

// ListEnded implements store.ScanReader.
func (t scanTable) ListEnded(ctx context.Context, projectID string, before time.Time, limit int) ([]store.Scan, error) {
	return many(ctx, t.session, unlocked, "ended scans", "SELECT "+scanColumns+" FROM scans WHERE project_id = ? AND pruned_at IS NULL AND ended_at < ? ORDER BY ended_at, id LIMIT ?",
		[]any{projectID, micros(before), limit}, scanFields)
}

// Files implements store.ScanReader.
func (t scanTable) Files(ctx context.Context, projectID, id string, fn func(part []byte) error) error {
	return t.each(ctx, "scan files", "SELECT content FROM scan_files WHERE project_id = ? AND scan_id = ? ORDER BY n", []any{projectID, id},
		func(rows *sql.Rows) error {
			var part []byte
			if err := rows.Scan(&part); err != nil {
				return err
			}
			return fn(part)
		})
}

const candidateColumns = "project_id, id, scan_id, n, repository, fingerprint, source_file, confidence, body, status, rule_id, merged_into, exclusion_id, reason, decided_at, decided_by"

func candidateFields(c *store.Candidate) []any {
	return []any{
		&c.ProjectID, &c.ID, &c.ScanID, &c.N, &c.Repository, &c.Fingerprint, &c.SourceFile, &c.Confidence, &c.Body, &c.Status, &c.RuleID,
		&c.MergedInto, &c.ExclusionID, &c.Reason,
		optionalTimeColumn{&c.DecidedAt},
		&c.DecidedBy,
	}
}

// Get implements store.CandidateReader.
func (t candidateTable) Get(ctx context.Context, projectID, id string) (store.Candidate, error) {
	c, err := one(ctx, t.session, discoveryOf(projectID), "candidate", "SELECT "+candidateColumns+" FROM candidates WHERE project_id = ? AND id = ?", []any{projectID, id}, candidateFields)
	return c, notFound(err, "candidate", id)
}

// Find implements store.CandidateReader.
func (t candidateTable) Find(ctx context.Context, f store.CandidateFilter) ([]store.Candidate, int, error) {
	from, args := matching(f)
	return page(ctx, t.session, discoveryOf(f.ProjectID), "candidates", candidateColumns, from, "scan_id, n", args, window{f.Offset, f.Limit}, candidateFields)
}

// matching is the query, from FROM on, of the candidates that a filter selects.
func matching(f store.CandidateFilter) (from string, args []any) {
	from, args = equal("FROM candidates WHERE project_id = ?", []any{f.ProjectID}, "scan_id", f.ScanID)
	if f.Status == store.CandidatePending {
		from += " AND status = 'pending'" // literally, for the index of those
	} else {
		from, args = equal(from, args, "status", f.Status)
	}
	if f.MinConfidence > 0 {
		from, args = from+" AND confidence >= ?", append(args, f.MinConfidence)
	}
	if f.Repository != nil {
		from, args = from+" AND repository = ?", append(args, *f.Repository)
	}
	if f.Path != "" { // 0 follows the slash
		from, args = from+" AND (source_file = ? OR source_file >= ? AND source_file < ?)", append(args, f.Path, f.Path+"/", f.Path+"0")
	}
	return from, args
}

// Excerpt implements store.CandidateReader.
func (t candidateTable) Excerpt(ctx context.Context, projectID, id string) ([]byte, error) {
	return one(ctx, t.session, discoveryOf(projectID), "excerpt", "SELECT excerpt FROM candidates WHERE project_id = ? AND id = ?", []any{projectID, id}, bytesFields)
}

// Neighbours implements store.CandidateReader.
func (t candidateTable) Neighbours(ctx context.Context, f store.CandidateFilter, n int) (store.Neighbours, error) {
	var out store.Neighbours
	from, args := matching(f)
	args = append(args, n)
	err := t.lockedSnapshot(ctx, discoveryOf(f.ProjectID), func(s *session) error {
		for _, side := range []struct {
			to    *string
			where string
		}{{&out.Previous, " AND n < ? ORDER BY n DESC LIMIT 1"}, {&out.Next, " AND n > ? ORDER BY n LIMIT 1"}} {
			list, err := many(ctx, s, unlocked, "neighbour", "SELECT id "+from+side.where, args, textFields)
			if err != nil {
				return err
			}
			if len(list) > 0 {
				*side.to = list[0]
			}
		}
		if err := s.row(ctx, "count neighbours", "SELECT COUNT(*) "+from+" AND n < ?", args, &out.Before); err != nil {
			return err
		}
		after := 0 // counted apart, so that both counts go by the order of the scan
		if err := s.row(ctx, "count neighbours", "SELECT COUNT(*) "+from+" AND n >= ?", args, &after); err != nil {
			return err
		}
		out.Total = out.Before + after
		return nil
	})
	return out, err
}

// Merged implements store.CandidateReader.
func (t candidateTable) Merged(ctx context.Context, projectID, id string) ([]store.Candidate, error) {
	list, err := many(ctx, t.session, discoveryOf(projectID), "merged candidates",
		"SELECT "+candidateColumns+" FROM candidates WHERE project_id = ? AND merged_into = ? AND merged_into <> ''", []any{projectID, id}, candidateFields)
	// An order in the query would have SQLite walk all candidates of the project by their ids.
	slices.SortFunc(list, func(a, b store.Candidate) int { return strings.Compare(a.ID, b.ID) })
	return list, err
}

// FileCounts implements store.CandidateReader.
func (t candidateTable) FileCounts(ctx context.Context, projectID, scanID string, offset, limit int) ([]store.FileCount, int, error) {
	total, list := 0, []store.FileCount{}
	args := []any{projectID, scanID}
	err := t.lockedSnapshot(ctx, discoveryOf(projectID), func(s *session) (err error) {
		if err = s.row(ctx, "count files", "SELECT COUNT(DISTINCT source_file) FROM candidates WHERE project_id = ? AND scan_id = ?", args, &total); err != nil {
			return err
		}
		list, err = many(ctx, s, unlocked, "files", `SELECT source_file, COUNT(*), SUM(CASE WHEN status = 'pending' THEN 1 ELSE 0 END) FROM candidates
				WHERE project_id = ? AND scan_id = ? GROUP BY source_file ORDER BY 3 DESC, source_file LIMIT ? OFFSET ?`,
			append(args, max(limit, 0), max(offset, 0)), func(c *store.FileCount) []any { return []any{&c.SourceFile, &c.Total, &c.Pending} })
		return err
	})
	return list, total, err
}

// Count implements store.CandidateReader.
func (t candidateTable) Count(ctx context.Context, projectID string, scanIDs []string) (map[string]map[string]int, error) {
	if err := t.lock(ctx, discoveryOf(projectID)); err != nil {
		return nil, err
	}
	named, ids := t.d.in("scan_id", scanIDs)
	counts := map[string]map[string]int{}
	err := t.each(ctx, "count candidates", "SELECT scan_id, status, COUNT(*) FROM candidates WHERE project_id = ? AND "+named+" GROUP BY scan_id, status",
		[]any{projectID, ids}, func(rows *sql.Rows) error {
			var id, status string
			var n int
			if err := rows.Scan(&id, &status, &n); err != nil {
				return err
			}
			if counts[id] == nil {
				counts[id] = map[string]int{}
			}
			counts[id][status] = n
			return nil
		})
	return counts, err
}

// DecidedPlaces implements store.CandidateReader.
func (t candidateTable) DecidedPlaces(ctx context.Context, projectID, repository string, fingerprints []string) (map[string]store.DecidedPlace, error) {
	named, list := t.d.in("fingerprint", fingerprints)
	return byKey(ctx, t.session, discoveryOf(projectID), "decided places",
		"SELECT fingerprint, candidate_id, status, rule_id FROM candidate_decisions WHERE project_id = ? AND repository = ? AND "+named,
		[]any{projectID, repository, list}, func(fingerprint *string, d *store.DecidedPlace) []any {
			return []any{fingerprint, &d.CandidateID, &d.Status, &d.RuleID}
		})
}

// Insert implements store.ScanTx.
func (t scanTable) Insert(ctx context.Context, s store.Scan, parts [][]byte) error {
	n, err := t.lockedExec(ctx, discoveryOf(s.ProjectID), "insert scan", "INSERT INTO scans ("+scanColumns+") VALUES "+marks(1, 13)+" ON CONFLICT DO NOTHING",
		s.ProjectID, s.ID, s.JobID, s.Repository, s.DocumentID, string(s.Request), micros(s.CreatedAt), s.CreatedBy, store.ScanOpen, "", "", nil, nil)
	if err := unlessNone(n, err, rule.Errorf(rule.CodeConflict, "a scan with this id exists already; give it a new one")); err != nil {
		return err
	}
	for i, part := range parts {
		if _, err := t.exec(ctx, "insert scan files", "INSERT INTO scan_files (project_id, scan_id, n, content) VALUES (?, ?, ?, ?)", s.ProjectID, s.ID, i, part); err != nil {
			return err
		}
	}
	return nil
}

// Complete implements store.ScanTx.
func (t scanTable) Complete(ctx context.Context, projectID, id string, result []byte, candidates []store.Candidate, at time.Time) error {
	if err := t.endScan(ctx, projectID, id, store.ScanCompleted, string(result), "", at); err != nil {
		return err
	}
	args := make([]any, 0, 17*len(candidates))
	for i := range candidates {
		c := &candidates[i]
		args = append(args, projectID, c.ID, id, c.N, c.Repository, c.Fingerprint, c.SourceFile, c.Confidence, string(c.Body), c.Status, c.RuleID, c.MergedInto,
			c.ExclusionID, c.Reason, nullable(c.DecidedAt), c.DecidedBy, c.Excerpt)
	}
	t.queueChanged(projectID, store.WaitingCandidate)
	return t.execRows(ctx, "insert candidates", "INSERT INTO candidates ("+candidateColumns+", excerpt) VALUES ", 17, "", args)
}

// Prune implements store.ScanTx.
func (t scanTable) Prune(ctx context.Context, projectID, id string, at time.Time) (removed int, err error) {
	have, err := t.Get(ctx, projectID, id)
	if err != nil {
		return 0, err
	}
	if have.State == store.ScanOpen {
		return 0, rule.Errorf(rule.CodeConflict, "the scan has not ended")
	}
	t.queueChanged(projectID, store.WaitingCandidate)
	n, err := t.exec(ctx, "prune candidates", "DELETE FROM candidates WHERE project_id = ? AND scan_id = ? AND (status IN ('pending', 'dismissed') OR status = 'merged' AND rule_id = '')", projectID, id)
	if err != nil {
		return 0, err
	}
	if _, err := t.exec(ctx, "prune excerpts", "UPDATE candidates SET excerpt = NULL WHERE project_id = ? AND scan_id = ?", projectID, id); err != nil {
		return 0, err
	}
	gone, err := t.exec(ctx, "delete scan", "DELETE FROM scans WHERE project_id = ? AND id = ? AND NOT EXISTS (SELECT 1 FROM candidates WHERE project_id = ? AND scan_id = ?)",
		projectID, id, projectID, id)
	if err == nil && gone == 0 {
		_, err = t.exec(ctx, "mark scan", "UPDATE scans SET pruned_at = ? WHERE project_id = ? AND id = ?", micros(at), projectID, id)
	}
	return int(n), err
}

// Fail implements store.ScanTx.
func (t scanTable) Fail(ctx context.Context, projectID, id, reason string, at time.Time) error {
	return t.endScan(ctx, projectID, id, store.ScanFailed, "", reason, at)
}

func (t scanTable) endScan(ctx context.Context, projectID, id, state, result, reason string, at time.Time) error {
	have, err := t.Get(ctx, projectID, id)
	if err != nil {
		return err
	}
	if have.State != store.ScanOpen {
		return rule.Errorf(rule.CodeConflict, "the scan is %s already", have.State)
	}
	if _, err := t.exec(ctx, "end scan", "UPDATE scans SET state = ?, result = ?, error = ?, ended_at = ? WHERE project_id = ? AND id = ?",
		state, result, reason, micros(at), projectID, id); err != nil {
		return err
	}
	_, err = t.exec(ctx, "delete scan files", "DELETE FROM scan_files WHERE project_id = ? AND scan_id = ?", projectID, id)
	return err
}

// Decide implements store.CandidateTx.
func (t candidateTable) Decide(ctx context.Context, d store.CandidateDecision) error {
	c, err := t.Get(ctx, d.ProjectID, d.ID)
	if err != nil {
		return err
	}
	if err := t.checkUndecided(ctx, &c, &d); err != nil {
		return err
	}
	t.queueChanged(d.ProjectID, store.WaitingCandidate)
	_, err = t.exec(ctx, "decide candidate", `UPDATE candidates SET status = ?, rule_id = ?, merged_into = ?, reason = ?, decided_at = ?, decided_by = ?
			WHERE project_id = ? AND repository = ? AND fingerprint = ? AND status = 'pending' AND (id = ? OR scan_id <> ?)`,
		d.Status, d.RuleID, d.MergedInto, d.Reason, micros(d.At), d.By, d.ProjectID, c.Repository, c.Fingerprint, d.ID, c.ScanID)
	if err != nil {
		return err
	}
	switch d.Status { // those that were merged into it go with it
	case store.CandidateApproved:
		if err := t.ruleOfMerged(ctx, d.ProjectID, d.ID, d.RuleID); err != nil {
			return err
		}
	case store.CandidateMerged:
		if _, err := t.exec(ctx, "merge candidates", "UPDATE candidates SET merged_into = ?, rule_id = ? WHERE project_id = ? AND merged_into = ? AND merged_into <> ''",
			d.MergedInto, d.RuleID, d.ProjectID, d.ID); err != nil {
			return err
		}
	}
	args := make([]any, 0, 6*len(d.Fingerprints))
	for _, f := range slices.Compact(slices.Sorted(slices.Values(d.Fingerprints))) {
		args = append(args, d.ProjectID, c.Repository, f, d.ID, d.Status, d.RuleID)
	}
	// An approved statement stays approved when the same statement elsewhere is dismissed.
	return t.execRows(ctx, "keep decision", "INSERT INTO candidate_decisions (project_id, repository, fingerprint, candidate_id, status, rule_id) VALUES ", 6,
		" ON CONFLICT (project_id, repository, fingerprint) DO UPDATE SET candidate_id = excluded.candidate_id, status = excluded.status, rule_id = excluded.rule_id WHERE candidate_decisions.status <> 'approved'", args)
}

// Reopen implements store.CandidateTx.
func (t candidateTable) Reopen(ctx context.Context, projectID, id string) error {
	c, err := t.Get(ctx, projectID, id)
	if err != nil {
		return err
	}
	if c.Status == store.CandidatePending {
		return rule.Errorf(rule.CodeConflict, "the candidate waits for a decision already; nothing can be taken back")
	}
	// Those that were decided with it have its fingerprint and its time.
	t.queueChanged(projectID, store.WaitingCandidate)
	_, err = t.exec(ctx, "reopen candidate", `UPDATE candidates SET status = 'pending', rule_id = '', merged_into = '', exclusion_id = '', reason = '', decided_at = NULL, decided_by = ''
			WHERE project_id = ? AND status = ? AND (id = ? OR repository = ? AND fingerprint = ? AND decided_at = ? AND scan_id <> ?)`,
		projectID, c.Status, c.ID, c.Repository, c.Fingerprint, nullable(c.DecidedAt), c.ScanID)
	if err != nil {
		return err
	}
	if err := t.ruleOfMerged(ctx, projectID, c.ID, ""); err != nil {
		return err
	}
	_, err = t.exec(ctx, "forget decision", "DELETE FROM candidate_decisions WHERE project_id = ? AND repository = ? AND candidate_id = ? AND status = ?",
		projectID, c.Repository, c.ID, c.Status)
	return err
}

// ruleOfMerged stores the rule that those have become which were merged into a candidate.
func (t candidateTable) ruleOfMerged(ctx context.Context, projectID, id, ruleID string) error {
	_, err := t.exec(ctx, "note the rule of merged candidates", "UPDATE candidates SET rule_id = ? WHERE project_id = ? AND merged_into = ? AND merged_into <> ''", ruleID, projectID, id)
	return err
}

// Exclude implements store.CandidateTx.
func (t candidateTable) Exclude(ctx context.Context, e store.Exclusion, ids []string) (int, error) {
	named, list := t.d.in("id", ids)
	n, err := t.lockedExec(ctx, discoveryOf(e.ProjectID), "exclude candidates", `UPDATE candidates SET status = 'dismissed', exclusion_id = ?, reason = ?, decided_at = ?, decided_by = ?
			WHERE project_id = ? AND status = 'pending' AND `+named, e.ID, e.Reason, micros(e.CreatedAt), e.CreatedBy, e.ProjectID, list)
	if n > 0 {
		t.queueChanged(e.ProjectID, store.WaitingCandidate)
	}
	return int(n), err
}

// checkUndecided returns a conflict if a candidate, or its statement in one of its places, has a decision.
func (t candidateTable) checkUndecided(ctx context.Context, c *store.Candidate, d *store.CandidateDecision) error {
	switch c.Status {
	case store.CandidateApproved:
		return approvedAlready(c.RuleID)
	case store.CandidateDismissed:
		return rule.Errorf(rule.CodeConflict, "the candidate has been dismissed already, by %s", c.DecidedBy)
	case store.CandidateMerged:
		return rule.Errorf(rule.CodeConflict, "the candidate has been merged already, by %s", c.DecidedBy)
	}
	if d.Status != store.CandidateApproved {
		return nil
	}
	decided, err := t.DecidedPlaces(ctx, d.ProjectID, c.Repository, d.Fingerprints)
	for _, was := range decided {
		if was.Status == store.CandidateApproved {
			return errors.Join(approvedAlready(was.RuleID), err)
		}
	}
	return err
}

func approvedAlready(ruleID string) error {
	return rule.Errorf(rule.CodeConflict, "the candidate has been approved already: it is rule %s", ruleID)
}
