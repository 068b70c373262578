package discover

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/discover/exclude"
	"tenet/internal/discover/source"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
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
	// maxEvents is how many candidates of a scan have an event: those of the most confidence. The scan's list has all.
	maxEvents = 100
)

// scanArgs are the arguments of a scan's job.
type scanArgs struct {
	ScanID string `json:"scan_id"`
}

// HandleScan is the handler of the jobs of [ScanKind]. It stores all that a scan finds in one transaction, so that a scan that is
// interrupted starts over and stores nothing twice.
func (d *Discovery) HandleScan(ctx context.Context, j wire.Job, progress func(done, total int)) error {
	var args scanArgs
	if err := job.DecodeArgs(&j, &args); err != nil {
		return err
	}
	s, err := d.store.Scans.Get(ctx, j.ProjectID, args.ScanID)
	if err != nil || s.State != store.ScanOpen {
		return err
	}
	ctx = auth.WithActor(ctx, auth.Actor{Name: s.CreatedBy})
	err = (&scanWork{d: d, scan: &s}).run(ctx, progress)
	code := rule.CodeOf(err)
	final := code == rule.CodeInvalid || code == rule.CodeNotFound || j.Attempt >= j.MaxAttempts
	if err == nil || ctx.Err() != nil || !final {
		return err
	}
	reason := "an internal error; the server's log has more"
	if e, ok := errors.AsType[*rule.Error](err); ok {
		reason = clean(e.Error(), 2000)
	}
	return errors.Join(err, d.store.Update(ctx, func(tx store.Tx) error { return tx.Scans.Fail(ctx, s.ProjectID, s.ID, reason, d.instant()) }))
}

// scanWork is the work of one attempt at a scan.
type scanWork struct {
	d        *Discovery
	scan     *store.Scan
	found    []source.Found
	problems []source.Problem
	result   wire.ScanResult
}

// run reads the files of the scan and completes it.
func (w *scanWork) run(ctx context.Context, progress func(done, total int)) error {
	var about storedRequest
	if err := json.Unmarshal(w.scan.Request, &about); err != nil {
		return rule.Errorf(rule.CodeInvalid, "the request of the scan cannot be read: %w", err)
	}
	all, err := w.files(ctx)
	if err != nil {
		return err
	}
	var left exclude.Tally
	left.Merge(about.Excluded)
	files, err := w.included(ctx, all, &left)
	if err != nil {
		return err
	}
	if w.scan.DocumentID == "" {
		if files, err = chosen(files, about.selection(), &left); err != nil {
			return err
		}
	}
	reading := &reading{log: w.d.cfg.Logger, files: files, progress: progress, whole: w.scan.DocumentID != ""}
	reading.run(ctx, w.d.readers(about.Sources))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.found, w.problems = reading.found, append(slices.Clip(about.Left), reading.problems...)
	w.result = wire.ScanResult{Files: len(all), FilesRead: reading.read, Found: len(w.found), Excluded: left.List()}
	drafts, err := w.draft(ctx)
	if err != nil {
		return err
	}
	if err := w.excerpts(drafts, files); err != nil {
		return err
	}
	w.result.ProblemsTotal = len(w.problems) + about.LeftTotal - len(about.Left)
	w.problems = w.problems[:min(len(w.problems), maxProblems)]
	w.result.Problems = make([]wire.Unreadable, len(w.problems))
	for i, p := range w.problems {
		w.result.Problems[i] = wire.Unreadable(p)
	}
	return w.complete(ctx, drafts)
}

// chosen returns the files that a scan reads, and counts the others.
func chosen(files []source.File, s exclude.Selection, left *exclude.Tally) ([]source.File, error) {
	paths := make([]string, len(files))
	for i := range files {
		paths[i] = files[i].Path
	}
	filter, err := exclude.New(s, paths)
	if err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "the excludes of the scan cannot be read: %w", err)
	}
	return slices.DeleteFunc(files, func(f source.File) bool {
		reason := filter.Reason(f.Path)
		if reason != "" {
			left.Add(reason, f.Path)
		}
		return reason != ""
	}), nil
}

// draft makes candidates of what was found: new, merged, refined, compared with the existing rules, in order.
func (w *scanWork) draft(ctx context.Context) ([]draft, error) {
	d := w.d
	drafts := make([]draft, 0, len(w.found))
	for i := range w.found {
		c, reason := newDraft(&w.found[i])
		if reason != "" {
			w.problems = append(w.problems, source.Problem{File: clean(w.found[i].File, MaxPath), Line: w.found[i].Line, Reason: reason})
			continue
		}
		drafts = append(drafts, c)
	}
	var err error
	if drafts, err = undecided(ctx, d.store.Candidates, w.scan, drafts, &w.result.Known); err != nil {
		return nil, err
	}
	if d.cfg.Model != nil {
		r := refiner{model: d.cfg.Model, redactor: d.redactor, drafts: merge(drafts), result: &w.result}
		refined := r.refine(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if drafts, err = undecided(ctx, d.store.Candidates, w.scan, divide(refined), &w.result.Known); err != nil { // the parts of those that were split
			return nil, err
		}
	}
	drafts = merge(drafts)
	inOrder(drafts)
	w.result.LeftOut = max(0, len(drafts)-maxCandidates)
	drafts = drafts[:len(drafts)-w.result.LeftOut]
	for i := range drafts {
		drafts[i].id = audit.NewID()
	}
	compareAll(drafts)
	view, err := d.cfg.Views.View(ctx, w.scan.ProjectID)
	if err != nil {
		return nil, err
	}
	c := comparer{view: view, embedder: d.cfg.Embedder, contradicts: d.cfg.Contradicts, redactor: d.redactor, log: d.cfg.Logger}
	return drafts, c.compare(ctx, drafts)
}

// undecided leaves out the drafts whose statement has been decided on in the same file, and counts them.
func undecided(ctx context.Context, from store.CandidateReader, s *store.Scan, drafts []draft, count *int) ([]draft, error) {
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
			*count++
			continue
		}
		left = append(left, c)
	}
	return left, nil
}

// complete stores the candidates of the scan, except those decided on while it ran.
func (w *scanWork) complete(ctx context.Context, drafts []draft) error {
	s := w.scan
	return w.d.store.Update(ctx, func(tx store.Tx) error {
		now := w.d.instant()
		result := w.result // a copy, as the transaction may run again
		drafts, err := undecided(ctx, tx.Candidates, s, slices.Clone(drafts), &result.Known)
		if err != nil {
			return err
		}
		rows, candidates := make([]store.Candidate, len(drafts)), make([]wire.Candidate, len(drafts))
		for i := range drafts {
			if rows[i], candidates[i], err = drafts[i].row(s, i+1); err != nil {
				return err
			}
		}
		data, err := json.Marshal(result)
		if err != nil {
			return err
		}
		if err := tx.Scans.Complete(ctx, s.ProjectID, s.ID, data, rows, now); err != nil {
			return err
		}
		if err := w.d.note(ctx, tx, s.ProjectID, map[string]any{"action": "scan completed", "scan_id": s.ID, "candidates": len(rows), "known": result.Known}); err != nil {
			return err
		}
		return w.publish(ctx, tx, result, candidates, now)
	})
}

// publish publishes an event for the scan, if it has found something, and one for each of the first candidates.
func (w *scanWork) publish(ctx context.Context, tx store.Tx, result wire.ScanResult, candidates []wire.Candidate, now time.Time) error {
	if w.d.cfg.Publish == nil || len(candidates) == 0 {
		return nil
	}
	publish := func(kind rule.EventType, severity rule.Severity, about any) error {
		data, err := json.Marshal(about)
		if err != nil {
			return err
		}
		return w.d.cfg.Publish(ctx, tx, rule.Event{ID: audit.NewID(), ProjectID: w.scan.ProjectID, Type: kind, Severity: severity, Time: now, Data: data})
	}
	found, severity, err := w.foundEvent(result, candidates, now)
	if err != nil {
		return err
	}
	if err := publish(rule.CandidatesFound, severity, found); err != nil {
		return err
	}
	for i := range candidates[:min(len(candidates), maxEvents)] {
		if err := publish(rule.CandidateCreated, "", &candidates[i]); err != nil {
			return err
		}
	}
	return nil
}

// maxFirst bounds the candidates that the event about a scan lists.
const maxFirst = 10

// foundEvent returns the data of the event about the scan, and the highest severity of its candidates.
func (w *scanWork) foundEvent(result wire.ScanResult, candidates []wire.Candidate, now time.Time) (*wire.CandidatesFound, rule.Severity, error) {
	done := *w.scan
	var err error
	if done.Result, err = json.Marshal(result); err != nil {
		return nil, "", err
	}
	done.State, done.EndedAt = store.ScanCompleted, &now
	scan, err := scanOf(&done, wire.Completed, wire.Progress{}, map[string]int{store.CandidatePending: len(candidates)})
	if err != nil {
		return nil, "", err
	}
	scan.Problems = []wire.Unreadable{} // the scan itself lists them
	out := &wire.CandidatesFound{Scan: scan, BySeverity: map[string]int{}, First: []wire.FoundOne{}}
	var highest rule.Severity
	for i := range candidates {
		c := &candidates[i]
		severity := c.SuggestedMetadata.Severity
		out.BySeverity[severity]++
		if s := rule.Severity(strings.ToUpper(severity)); highest == "" || s.Rank() > highest.Rank() {
			highest = s
		}
		if len(out.First) < maxFirst {
			out.First = append(out.First, wire.FoundOne{
				CandidateID: c.ID, Statement: c.Statement, Severity: severity, Confidence: c.Confidence, SourceFile: c.SourceFile, SourceLine: c.SourceLine,
			})
		}
	}
	return out, highest, nil
}

// files returns the document of the scan, or the files that came with its request.
func (w *scanWork) files(ctx context.Context) ([]source.File, error) {
	s := w.scan
	if s.DocumentID != "" {
		name, content, err := w.d.cfg.Documents.File(ctx, s.ProjectID, s.DocumentID)
		return []source.File{{Path: name, Content: content}}, err
	}
	var files []source.File
	err := w.d.store.Scans.Files(ctx, s.ProjectID, s.ID, func(part []byte) error {
		more, err := unpack(part)
		if err != nil {
			return rule.Errorf(rule.CodeInvalid, "the stored files of the scan are damaged: %w", err)
		}
		files = append(files, more...)
		return nil
	})
	return files, err
}
