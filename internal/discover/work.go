package discover

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/discover/source"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Kinds of the jobs of discovery.
const (
	ScanKind  = "discover.scan"
	PruneKind = "discover.prune"
)

const (
	scanAttempts = 5
	// scanTime bounds the reading of one scan. What has been found by then is kept, and the scan says so.
	scanTime = 5 * time.Minute
	// maxEvents is how many candidates of a scan others are told of: those of the most confidence. Who wants all reads the
	// scan's list.
	maxEvents = 100
)

// scanArgs are the arguments of a scan's job.
type scanArgs struct {
	ScanID string `json:"scan_id"`
}

// HandleScan is the handler of the jobs of [ScanKind]. All that a scan finds is kept in one transaction, so that one that is
// interrupted begins anew and leaves nothing twice.
func (d *Discovery) HandleScan(ctx context.Context, j job.Job, progress func(done, total int)) error {
	var args scanArgs
	if err := j.Decode(&args); err != nil {
		return err
	}
	s, err := d.store.Scan(ctx, j.ProjectID, args.ScanID)
	if err != nil || s.State != store.ScanOpen {
		return err
	}
	ctx = auth.WithActor(ctx, auth.Actor{Name: s.CreatedBy})
	err = d.scan(ctx, &s, progress)
	code := rule.CodeOf(err)
	final := code == rule.CodeInvalid || code == rule.CodeNotFound || j.Attempt >= j.MaxAttempts
	if err == nil || ctx.Err() != nil || !final {
		return err
	}
	reason := "an internal error; the server's log has more"
	if e, ok := errors.AsType[*rule.Error](err); ok {
		reason = clean(e.Error(), 2000)
	}
	return errors.Join(err, d.store.Update(ctx, func(tx store.Tx) error { return tx.FailScan(ctx, s.ProjectID, s.ID, reason, d.instant()) }))
}

// scan reads what a scan is given and completes it.
func (d *Discovery) scan(ctx context.Context, s *store.Scan, progress func(done, total int)) error {
	var about kept
	if err := json.Unmarshal(s.Request, &about); err != nil {
		return rule.Errorf(rule.CodeInvalid, "the request of the scan cannot be read: %w", err)
	}
	files, err := d.files(ctx, s)
	if err != nil {
		return err
	}
	reading := &reading{log: d.cfg.Logger, files: files, progress: progress, whole: s.DocumentID != ""}
	reading.run(ctx, d.readers(about.Sources))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	result := Result{Files: len(files), FilesRead: reading.read, Found: len(reading.found)}
	drafts, err := d.draft(ctx, s, reading, &result)
	if err != nil {
		return err
	}
	if result.ProblemsTotal = len(reading.problems); result.ProblemsTotal > maxProblems {
		reading.problems = reading.problems[:maxProblems]
	}
	result.Problems = make([]Unreadable, len(reading.problems))
	for i, p := range reading.problems {
		result.Problems[i] = Unreadable(p)
	}
	return d.complete(ctx, s, result, drafts)
}

// draft makes candidates of what was found: new, merged, refined, compared with the rules there are, in order.
func (d *Discovery) draft(ctx context.Context, s *store.Scan, r *reading, result *Result) ([]draft, error) {
	drafts := make([]draft, 0, len(r.found))
	for i := range r.found {
		c, reason := newDraft(&r.found[i])
		if reason != "" {
			r.problems = append(r.problems, source.Problem{File: clean(r.found[i].File, MaxPath), Line: r.found[i].Line, Reason: reason})
			continue
		}
		drafts = append(drafts, c)
	}
	var err error
	if drafts, err = unknown(ctx, d.store, s, drafts, &result.Known); err != nil {
		return nil, err
	}
	if d.cfg.Model != nil {
		merged := merge(drafts)
		merged = d.refine(ctx, merged, result)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if drafts, err = unknown(ctx, d.store, s, divide(merged), &result.Known); err != nil { // the parts of those that were split
			return nil, err
		}
	}
	drafts = merge(drafts)
	inOrder(drafts)
	if result.LeftOut = max(0, len(drafts)-maxCandidates); result.LeftOut > 0 {
		drafts = drafts[:maxCandidates]
	}
	return drafts, d.compare(ctx, s.ProjectID, drafts)
}

// unknown leaves out the drafts whose statement has been decided on in the same file, and counts them.
func unknown(ctx context.Context, from store.DiscoveryReader, s *store.Scan, drafts []draft, known *int) ([]draft, error) {
	var all []string
	for i := range drafts {
		all = append(all, drafts[i].prints...)
	}
	decided, err := from.DecidedPlaces(ctx, s.ProjectID, s.Repository, all)
	if err != nil || len(decided) == 0 {
		return drafts, err
	}
	left := drafts[:0]
	for _, c := range drafts {
		if _, is := decided[c.prints[0]]; is {
			*known++
			continue
		}
		left = append(left, c)
	}
	return left, nil
}

// complete keeps what a scan has found. What has been decided while it ran is left out.
func (d *Discovery) complete(ctx context.Context, s *store.Scan, result Result, drafts []draft) error {
	return d.store.Update(ctx, func(tx store.Tx) error {
		now := d.instant()
		result := result
		drafts, err := unknown(ctx, tx, s, slices.Clone(drafts), &result.Known)
		if err != nil {
			return err
		}
		rows, shown := make([]store.Candidate, len(drafts)), make([]Candidate, len(drafts))
		for i := range drafts {
			if rows[i], shown[i], err = drafts[i].row(s, i+1); err != nil {
				return err
			}
		}
		data, err := json.Marshal(result)
		if err != nil {
			return err
		}
		if err := tx.CompleteScan(ctx, s.ProjectID, s.ID, data, rows, now); err != nil {
			return err
		}
		if err := d.note(ctx, tx, s.ProjectID, map[string]any{"action": "scan completed", "scan_id": s.ID, "candidates": len(rows), "known": result.Known}); err != nil {
			return err
		}
		return d.publish(ctx, tx, s.ProjectID, shown, now)
	})
}

// publish tells of the first candidates.
func (d *Discovery) publish(ctx context.Context, tx store.Tx, projectID string, shown []Candidate, now time.Time) error {
	if d.cfg.Publish == nil {
		return nil
	}
	for i := range shown[:min(len(shown), maxEvents)] {
		data, err := json.Marshal(&shown[i])
		if err != nil {
			return err
		}
		e := rule.Event{ID: audit.NewID(), ProjectID: projectID, Type: rule.CandidateCreated, Time: now, Data: data}
		if err := d.cfg.Publish(ctx, tx, e); err != nil {
			return err
		}
	}
	return nil
}

// files are what a scan reads.
func (d *Discovery) files(ctx context.Context, s *store.Scan) ([]source.File, error) {
	if s.DocumentID != "" {
		name, content, err := d.cfg.Documents.File(ctx, s.ProjectID, s.DocumentID)
		return []source.File{{Path: name, Content: content}}, err
	}
	var files []source.File
	err := d.store.ScanFiles(ctx, s.ProjectID, s.ID, func(part []byte) error {
		more, err := unpack(part)
		if err != nil {
			return rule.Errorf(rule.CodeInvalid, "the stored files of the scan are damaged: %w", err)
		}
		files = append(files, more...)
		return nil
	})
	return files, err
}

// pruneAfter is how old an open scan is before it is looked at whether its job has gone.
const pruneAfter = 24 * time.Hour

// PruneEvery is how often [Discovery.Prune] is called for.
const PruneEvery = 24 * time.Hour

// Prune ends scans whose job has ended without them, such as cancelled ones: they would keep their files for ever. It is the
// handler of the jobs of [PruneKind].
func (d *Discovery) Prune(ctx context.Context, _ job.Job, _ func(done, total int)) error {
	open, err := d.store.OpenScans(ctx, d.instant().Add(-pruneAfter), 1000)
	if err != nil {
		return err
	}
	for i := range open {
		s := &open[i]
		status, _, err := d.state(ctx, s)
		if err != nil {
			return err
		}
		if status != Failed || s.State != store.ScanOpen {
			continue
		}
		err = d.store.Update(ctx, func(tx store.Tx) error { return tx.FailScan(ctx, s.ProjectID, s.ID, clean(s.Error, 2000), d.instant()) })
		if err != nil && rule.CodeOf(err) != rule.CodeConflict {
			return err
		}
		d.cfg.Logger.InfoContext(ctx, "a scan whose job has gone was ended", slog.String("scan", s.ID))
	}
	return nil
}
