package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const scanColumns = "project_id, id, job_id, repository, document_id, request, created_at, created_by, state, result, error, ended_at"

func scanScan(scan func(...any) error) (store.Scan, error) {
	var s store.Scan
	var created int64
	var ended sql.NullInt64
	err := scan(&s.ProjectID, &s.ID, &s.JobID, &s.Repository, &s.DocumentID, &s.Request, &created, &s.CreatedBy, &s.State, &s.Result, &s.Error, &ended)
	s.CreatedAt, s.EndedAt = fromMicros(created), fromNullable(ended)
	return s, err
}

// Scan implements store.DiscoveryReader.
func (r *reader) Scan(ctx context.Context, projectID, id string) (store.Scan, error) {
	if err := r.hold(ctx, discoveryOf(projectID)); err != nil {
		return store.Scan{}, err
	}
	s, err := scanScan(func(dest ...any) error {
		return r.row(ctx, "scan", "SELECT "+scanColumns+" FROM scans WHERE project_id = ? AND id = ?", []any{projectID, id}, dest...)
	})
	return s, missing(err, "scan", id)
}

// Scans implements store.DiscoveryReader.
func (r *reader) Scans(ctx context.Context, projectID string, offset, limit int) ([]store.Scan, int, error) {
	list, total := []store.Scan{}, 0
	err := r.holding(ctx, discoveryOf(projectID), func(r *reader) error {
		if err := r.row(ctx, "count scans", "SELECT COUNT(*) FROM scans WHERE project_id = ?", []any{projectID}, &total); err != nil {
			return err
		}
		return r.each(ctx, "scans", "SELECT "+scanColumns+" FROM scans WHERE project_id = ? ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?",
			[]any{projectID, limit, offset}, func(rows *sql.Rows) error {
				s, err := scanScan(rows.Scan)
				list = append(list, s)
				return err
			})
	})
	return list, total, err
}

// OpenScans implements store.DiscoveryReader.
func (r *reader) OpenScans(ctx context.Context, before time.Time, limit int) ([]store.Scan, error) {
	list := []store.Scan{}
	err := r.each(ctx, "open scans", "SELECT "+scanColumns+" FROM scans WHERE state = 'open' AND created_at < ? ORDER BY created_at, project_id, id LIMIT ?",
		[]any{micros(before), limit}, func(rows *sql.Rows) error {
			s, err := scanScan(rows.Scan)
			list = append(list, s)
			return err
		})
	return list, err
}

// ScanFiles implements store.DiscoveryReader.
func (r *reader) ScanFiles(ctx context.Context, projectID, id string, fn func(part []byte) error) error {
	return r.each(ctx, "scan files", "SELECT content FROM scan_files WHERE project_id = ? AND scan_id = ? ORDER BY n", []any{projectID, id},
		func(rows *sql.Rows) error {
			var part []byte
			if err := rows.Scan(&part); err != nil {
				return err
			}
			return fn(part)
		})
}

const candidateColumns = "project_id, id, scan_id, n, repository, fingerprint, confidence, body, status, rule_id, reason, decided_at, decided_by"

func scanCandidate(scan func(...any) error) (store.Candidate, error) {
	var c store.Candidate
	var decided sql.NullInt64
	err := scan(&c.ProjectID, &c.ID, &c.ScanID, &c.N, &c.Repository, &c.Fingerprint, &c.Confidence, &c.Body, &c.Status, &c.RuleID, &c.Reason, &decided, &c.DecidedBy)
	c.DecidedAt = fromNullable(decided)
	return c, err
}

// Candidate implements store.DiscoveryReader.
func (r *reader) Candidate(ctx context.Context, projectID, id string) (store.Candidate, error) {
	if err := r.hold(ctx, discoveryOf(projectID)); err != nil {
		return store.Candidate{}, err
	}
	c, err := scanCandidate(func(dest ...any) error {
		return r.row(ctx, "candidate", "SELECT "+candidateColumns+" FROM candidates WHERE project_id = ? AND id = ?", []any{projectID, id}, dest...)
	})
	return c, missing(err, "candidate", id)
}

// FindCandidates implements store.DiscoveryReader.
func (r *reader) FindCandidates(ctx context.Context, f store.CandidateFilter) ([]store.Candidate, int, error) {
	where, args := " FROM candidates WHERE project_id = ? AND scan_id = ? AND confidence >= ?", []any{f.ProjectID, f.ScanID, f.MinConfidence}
	if f.Status != "" {
		where, args = where+" AND status = ?", append(args, f.Status)
	}
	list, total := []store.Candidate{}, 0
	err := r.holding(ctx, discoveryOf(f.ProjectID), func(r *reader) error {
		if err := r.row(ctx, "count candidates", "SELECT COUNT(*)"+where, args, &total); err != nil {
			return err
		}
		return r.each(ctx, "candidates", "SELECT "+candidateColumns+where+" ORDER BY n LIMIT ? OFFSET ?", append(args, f.Limit, f.Offset),
			func(rows *sql.Rows) error {
				c, err := scanCandidate(rows.Scan)
				list = append(list, c)
				return err
			})
	})
	return list, total, err
}

// CountCandidates implements store.DiscoveryReader.
func (r *reader) CountCandidates(ctx context.Context, projectID string, scanIDs []string) (map[string]map[string]int, error) {
	if err := r.hold(ctx, discoveryOf(projectID)); err != nil {
		return nil, err
	}
	named, ids := r.d.in("scan_id", scanIDs)
	counts := map[string]map[string]int{}
	err := r.each(ctx, "count candidates", "SELECT scan_id, status, COUNT(*) FROM candidates WHERE project_id = ? AND "+named+" GROUP BY scan_id, status",
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

// DecidedPlaces implements store.DiscoveryReader.
func (r *reader) DecidedPlaces(ctx context.Context, projectID, repository string, fingerprints []string) (map[string]store.DecidedPlace, error) {
	if err := r.hold(ctx, discoveryOf(projectID)); err != nil {
		return nil, err
	}
	named, list := r.d.in("fingerprint", fingerprints)
	decided := map[string]store.DecidedPlace{}
	err := r.each(ctx, "decided places", "SELECT fingerprint, candidate_id, status, rule_id FROM candidate_decisions WHERE project_id = ? AND repository = ? AND "+named,
		[]any{projectID, repository, list}, func(rows *sql.Rows) error {
			var fingerprint string
			var d store.DecidedPlace
			err := rows.Scan(&fingerprint, &d.CandidateID, &d.Status, &d.RuleID)
			decided[fingerprint] = d
			return err
		})
	return decided, err
}

// InsertScan implements store.DiscoveryTx.
func (t *tx) InsertScan(ctx context.Context, s store.Scan, parts [][]byte) error {
	if err := t.hold(ctx, discoveryOf(s.ProjectID)); err != nil {
		return err
	}
	n, err := t.exec(ctx, "insert scan", "INSERT INTO scans ("+scanColumns+") VALUES "+marks(1, 12)+" ON CONFLICT DO NOTHING",
		s.ProjectID, s.ID, s.JobID, s.Repository, s.DocumentID, string(s.Request), micros(s.CreatedAt), s.CreatedBy, store.ScanOpen, "", "", nil)
	if err != nil {
		return err
	}
	if n == 0 {
		return rule.Errorf(rule.CodeConflict, "a scan with this id exists already; give it a new one")
	}
	for i, part := range parts {
		if _, err := t.exec(ctx, "insert scan files", "INSERT INTO scan_files (project_id, scan_id, n, content) VALUES (?, ?, ?, ?)", s.ProjectID, s.ID, i, part); err != nil {
			return err
		}
	}
	return nil
}

// CompleteScan implements store.DiscoveryTx.
func (t *tx) CompleteScan(ctx context.Context, projectID, id string, result []byte, candidates []store.Candidate, at time.Time) error {
	if err := t.endScan(ctx, projectID, id, store.ScanCompleted, string(result), "", at); err != nil {
		return err
	}
	args := make([]any, 0, 13*len(candidates))
	for i := range candidates {
		c := &candidates[i]
		args = append(args, projectID, c.ID, id, c.N, c.Repository, c.Fingerprint, c.Confidence, string(c.Body), c.Status, c.RuleID, c.Reason,
			nullable(c.DecidedAt), c.DecidedBy)
	}
	return t.execRows(ctx, "insert candidates", "INSERT INTO candidates ("+candidateColumns+") VALUES ", 13, "", args)
}

// FailScan implements store.DiscoveryTx.
func (t *tx) FailScan(ctx context.Context, projectID, id, reason string, at time.Time) error {
	return t.endScan(ctx, projectID, id, store.ScanFailed, "", reason, at)
}

func (t *tx) endScan(ctx context.Context, projectID, id, state, result, reason string, at time.Time) error {
	have, err := t.Scan(ctx, projectID, id)
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

// DecideCandidate implements store.DiscoveryTx.
func (t *tx) DecideCandidate(ctx context.Context, d store.CandidateDecision) error {
	c, err := t.Candidate(ctx, d.ProjectID, d.ID)
	if err != nil {
		return err
	}
	if err := t.undecided(ctx, &c, &d); err != nil {
		return err
	}
	_, err = t.exec(ctx, "decide candidate", `UPDATE candidates SET status = ?, rule_id = ?, reason = ?, decided_at = ?, decided_by = ?
			WHERE project_id = ? AND repository = ? AND fingerprint = ? AND status = 'pending' AND (id = ? OR scan_id <> ?)`,
		d.Status, d.RuleID, d.Reason, micros(d.At), d.By, d.ProjectID, c.Repository, c.Fingerprint, d.ID, c.ScanID)
	if err != nil {
		return err
	}
	args := make([]any, 0, 6*len(d.Fingerprints))
	for _, f := range slices.Compact(slices.Sorted(slices.Values(d.Fingerprints))) {
		args = append(args, d.ProjectID, c.Repository, f, d.ID, d.Status, d.RuleID)
	}
	// What was approved stays approved where the same statement, found elsewhere too, is dismissed.
	return t.execRows(ctx, "keep decision", "INSERT INTO candidate_decisions (project_id, repository, fingerprint, candidate_id, status, rule_id) VALUES ", 6,
		" ON CONFLICT (project_id, repository, fingerprint) DO UPDATE SET candidate_id = excluded.candidate_id, status = excluded.status, rule_id = excluded.rule_id WHERE candidate_decisions.status <> 'approved'", args)
}

// undecided returns a conflict that says what was decided of a candidate, or of its statement in one of its places.
func (t *tx) undecided(ctx context.Context, c *store.Candidate, d *store.CandidateDecision) error {
	switch c.Status {
	case store.CandidateApproved:
		return approvedAlready(c.RuleID)
	case store.CandidateDismissed:
		return rule.Errorf(rule.CodeConflict, "the candidate has been dismissed already, by %s", c.DecidedBy)
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
