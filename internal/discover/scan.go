package discover

import (
	"context"
	"encoding/json"

	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// GetScan returns a scan as far as it has come, or not_found.
func (d *Discovery) GetScan(ctx context.Context, projectID, id string) (Scan, error) {
	stored, err := d.store.Scan(ctx, projectID, id)
	if err != nil {
		return Scan{}, err
	}
	list, err := d.show(ctx, projectID, []store.Scan{stored})
	if err != nil {
		return Scan{}, err
	}
	return list[0], nil
}

// ListScans returns a page of a project's scans, newest first, and how many there are.
func (d *Discovery) ListScans(ctx context.Context, projectID string, offset, limit int) ([]Scan, int, error) {
	stored, total, err := d.store.Scans(ctx, projectID, offset, limit)
	if err != nil {
		return nil, 0, err
	}
	list, err := d.show(ctx, projectID, stored)
	return list, total, err
}

// show adds to stored scans how their jobs and candidates are.
func (d *Discovery) show(ctx context.Context, projectID string, stored []store.Scan) ([]Scan, error) {
	status, progress := make([]Status, len(stored)), make([]job.Progress, len(stored))
	ids := make([]string, len(stored))
	for i := range stored {
		var err error
		if status[i], progress[i], err = d.state(ctx, &stored[i]); err != nil {
			return nil, err
		}
		ids[i] = stored[i].ID
	}
	counts, err := d.store.CountCandidates(ctx, projectID, ids)
	if err != nil {
		return nil, err
	}
	list := make([]Scan, len(stored))
	for i := range stored {
		if list[i], err = d.scanOf(&stored[i], status[i], progress[i], counts[ids[i]]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// state tells how far a scan has come. What its job tells of an open one goes into s.
func (d *Discovery) state(ctx context.Context, s *store.Scan) (Status, job.Progress, error) {
	if s.State == store.ScanOpen {
		j, err := d.store.Job(ctx, s.ProjectID, s.JobID)
		if rule.CodeOf(err) == rule.CodeNotFound {
			s.Error = "its job has ended without a result; start a new scan"
			return Failed, job.Progress{}, nil
		}
		if err != nil {
			return "", job.Progress{}, err
		}
		progress := job.Progress{Done: j.Done, Total: j.Total}
		switch j.State {
		case job.Queued:
			return Pending, progress, nil
		case job.Running:
			return Running, progress, nil
		case job.Cancelled:
			s.Error = "it was cancelled"
			return Failed, progress, nil
		case job.Failed:
			s.Error = j.Error
			return Failed, progress, nil
		}
		again, err := d.store.Scan(ctx, s.ProjectID, s.ID) // it has ended since the scan was read
		if err != nil {
			return "", job.Progress{}, err
		}
		*s = again
	}
	if s.State == store.ScanCompleted {
		return Completed, job.Progress{}, nil
	}
	return Failed, job.Progress{}, nil
}

// scanOf is a stored scan as callers see it.
func (d *Discovery) scanOf(s *store.Scan, status Status, progress job.Progress, counts map[string]int) (Scan, error) {
	out := Scan{
		ID: s.ID, Status: status, Repository: s.Repository, DocumentID: s.DocumentID, JobID: s.JobID, Progress: progress,
		CreatedAt: s.CreatedAt, CreatedBy: s.CreatedBy, Reason: s.Error,
	}
	var about kept
	if err := json.Unmarshal(s.Request, &about); err != nil {
		return Scan{}, rule.Errorf(rule.CodeInternal, "the request of scan %s cannot be read: %w", s.ID, err)
	}
	out.Sources, out.Files = about.Sources, about.Files
	if status == Completed {
		if err := json.Unmarshal(s.Result, &out.Result); err != nil {
			return Scan{}, rule.Errorf(rule.CodeInternal, "the result of scan %s cannot be read: %w", s.ID, err)
		}
		total, pending := 0, counts[store.CandidatePending]
		for _, n := range counts {
			total += n
		}
		out.CandidatesCount, out.Pending, out.CompletedAt = &total, &pending, s.EndedAt
		out.Progress = job.Progress{Done: out.FilesRead, Total: out.FilesRead}
	}
	if out.Problems == nil {
		out.Problems = []Unreadable{}
	}
	return out, nil
}
