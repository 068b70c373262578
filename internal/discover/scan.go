package discover

import (
	"context"
	"encoding/json"

	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// GetScan returns a scan as far as it has come, or not_found.
func (d *Discovery) GetScan(ctx context.Context, projectID, id string) (wire.Scan, error) {
	stored, err := d.store.Scans.Get(ctx, projectID, id)
	if err != nil {
		return wire.Scan{}, err
	}
	list, err := d.show(ctx, projectID, []store.Scan{stored})
	if err != nil {
		return wire.Scan{}, err
	}
	return list[0], nil
}

// ListScans returns a page of a project's scans, newest first, and their number.
func (d *Discovery) ListScans(ctx context.Context, projectID string, offset, limit int) ([]wire.Scan, int, error) {
	stored, total, err := d.store.Scans.List(ctx, projectID, offset, limit)
	if err != nil {
		return nil, 0, err
	}
	list, err := d.show(ctx, projectID, stored)
	return list, total, err
}

// show adds to stored scans how their jobs and candidates are.
func (d *Discovery) show(ctx context.Context, projectID string, stored []store.Scan) ([]wire.Scan, error) {
	status, progress := make([]wire.Status, len(stored)), make([]wire.Progress, len(stored))
	ids := make([]string, len(stored))
	for i := range stored {
		var err error
		if status[i], progress[i], err = d.state(ctx, &stored[i]); err != nil {
			return nil, err
		}
		ids[i] = stored[i].ID
	}
	counts, err := d.store.Candidates.Count(ctx, projectID, ids)
	if err != nil {
		return nil, err
	}
	list := make([]wire.Scan, len(stored))
	for i := range stored {
		if list[i], err = scanOf(&stored[i], status[i], progress[i], counts[ids[i]]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// state returns how far a scan has come. It sets the error of an open one in s from its job.
func (d *Discovery) state(ctx context.Context, s *store.Scan) (wire.Status, wire.Progress, error) {
	if s.State == store.ScanOpen {
		j, err := d.store.Jobs.Get(ctx, s.ProjectID, s.JobID)
		if rule.CodeOf(err) == rule.CodeNotFound {
			s.Error = "its job has ended without a result; start a new scan"
			return wire.Failed, wire.Progress{}, nil
		}
		if err != nil {
			return "", wire.Progress{}, err
		}
		progress := wire.Progress{Done: j.Done, Total: j.Total}
		switch j.State {
		case job.Queued:
			return wire.Pending, progress, nil
		case job.Running:
			return wire.Running, progress, nil
		case job.Cancelled:
			s.Error = "it was cancelled"
			return wire.Failed, progress, nil
		case job.Failed:
			s.Error = j.Error
			return wire.Failed, progress, nil
		}
		again, err := d.store.Scans.Get(ctx, s.ProjectID, s.ID) // it has ended since the scan was read
		if err != nil {
			return "", wire.Progress{}, err
		}
		*s = again
	}
	if s.State == store.ScanCompleted {
		return wire.Completed, wire.Progress{}, nil
	}
	return wire.Failed, wire.Progress{}, nil
}

// scanOf returns a stored scan as callers see it.
func scanOf(s *store.Scan, status wire.Status, progress wire.Progress, counts map[string]int) (wire.Scan, error) {
	out := wire.Scan{
		ID: s.ID, Status: status, Repository: s.Repository, DocumentID: s.DocumentID, JobID: s.JobID, Progress: progress,
		CreatedAt: s.CreatedAt, CreatedBy: s.CreatedBy, Reason: s.Error,
	}
	var about storedRequest
	if err := json.Unmarshal(s.Request, &about); err != nil {
		return wire.Scan{}, rule.Errorf(rule.CodeInternal, "the request of scan %s cannot be read: %w", s.ID, err)
	}
	out.Sources, out.Files, out.Archive, out.PrunedAt = about.Sources, about.Files, about.Archive, s.PrunedAt
	if status == wire.Completed {
		if err := json.Unmarshal(s.Result, &out.ScanResult); err != nil {
			return wire.Scan{}, rule.Errorf(rule.CodeInternal, "the result of scan %s cannot be read: %w", s.ID, err)
		}
		total, pending := 0, counts[store.CandidatePending]
		for _, n := range counts {
			total += n
		}
		out.Decided = map[wire.CandidateStatus]int{}
		for _, status := range []string{store.CandidateApproved, store.CandidateDismissed, store.CandidateMerged} {
			out.Decided[wire.CandidateStatus(status)] = counts[status]
		}
		out.CandidatesCount, out.Pending, out.CompletedAt = &total, &pending, s.EndedAt
		out.Progress = wire.Progress{Done: out.FilesRead, Total: out.FilesRead}
	}
	if out.Problems == nil {
		out.Problems = []wire.Unreadable{}
	}
	return out, nil
}
