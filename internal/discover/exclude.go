package discover

import (
	"context"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/discover/exclude"
	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// excludedByProject is the reason under which a scan counts the files that exclusions leave out.
const excludedByProject = "excluded in this project"

// maxExclusions bounds the exclusions of a project.
const maxExclusions = 1_000

// Exclusions are the folders and files that the scans of a project leave out.
type Exclusions struct{ *Discovery }

// List returns a page of what the scans of a project leave out, and how many there are.
func (x Exclusions) List(ctx context.Context, projectID string, offset, limit int) ([]wire.Exclusion, int, error) {
	stored, total, err := x.store.Exclusions.List(ctx, projectID, offset, limit)
	list := make([]wire.Exclusion, len(stored))
	for i := range stored {
		list[i] = exclusionOf(&stored[i])
	}
	return list, total, err
}

func exclusionOf(e *store.Exclusion) wire.Exclusion {
	return wire.Exclusion{ID: e.ID, Repository: e.Repository, Path: e.Path, Reason: e.Reason, CreatedAt: e.CreatedAt, CreatedBy: e.CreatedBy}
}

// Exclude leaves a folder or a file out of later scans, and dismisses the candidates that wait for a decision and were found nowhere else.
// The error is invalid for a bad request, conflict if it is excluded already.
func (x Exclusions) Exclude(ctx context.Context, projectID string, in wire.CreateExclusion) (wire.ExclusionMade, error) {
	e := store.Exclusion{
		ProjectID: projectID, ID: audit.NewID(), Repository: strings.TrimSpace(in.Repository), Path: strings.Trim(path.Clean("/"+strings.TrimSpace(in.Path)), "/"),
		Reason: strings.TrimSpace(in.Reason), CreatedAt: x.instant(), CreatedBy: auth.ActorFrom(ctx).Name,
	}
	var p rule.Problems
	if reason := badPath(e.Path); reason != "" {
		p.Add("path", "%s; name a folder or a file, such as docs/manual", reason)
	}
	if !plain(e.Repository) || utf8.RuneCountInString(e.Repository) > maxRepository {
		p.Add("repository", "must be a name of at most %d characters without control characters", maxRepository)
	}
	if n := utf8.RuneCountInString(e.Reason); n > maxReason || !utf8.ValidString(e.Reason) || strings.ContainsRune(e.Reason, 0) {
		p.Add("reason", "must be a text of at most %d characters", maxReason)
	}
	if err := p.Err("the exclusion is invalid"); err != nil {
		return wire.ExclusionMade{}, err
	}
	below, err := x.onlyBelow(ctx, &e)
	if err != nil {
		return wire.ExclusionMade{}, err
	}
	dismissed := 0
	err = x.store.Update(ctx, func(tx store.Tx) error {
		if _, err := tx.Projects.Get(ctx, projectID); err != nil {
			return err
		}
		if _, total, err := tx.Exclusions.List(ctx, projectID, 0, 0); err != nil {
			return err
		} else if total >= maxExclusions {
			return rule.Errorf(rule.CodeConflict, "the project has %d exclusions, which is the most; lift some, or exclude a folder above them", total)
		}
		if err := tx.Exclusions.Insert(ctx, e); err != nil {
			return err
		}
		because := e
		if because.Reason == "" {
			because.Reason = "Scans leave out " + e.Path + "."
		}
		var err error
		if dismissed, err = tx.Candidates.Exclude(ctx, because, below); err != nil {
			return err
		}
		return x.note(ctx, tx, projectID, map[string]any{
			"action": "path excluded", "exclusion_id": e.ID, "repository": e.Repository, "path": e.Path, "reason": e.Reason, "dismissed": dismissed,
		})
	})
	if err != nil {
		return wire.ExclusionMade{}, err
	}
	return wire.ExclusionMade{Exclusion: exclusionOf(&e), Dismissed: dismissed}, nil
}

// onlyBelow lists the candidates without a decision all of whose places an exclusion leaves out.
func (x Exclusions) onlyBelow(ctx context.Context, e *store.Exclusion) ([]string, error) {
	f := store.CandidateFilter{ProjectID: e.ProjectID, Status: store.CandidatePending, Path: e.Path, Limit: 1000}
	if e.Repository != "" {
		f.Repository = &e.Repository
	}
	var ids []string
	for {
		rows, total, err := x.store.Candidates.Find(ctx, f)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			c, _, err := candidateOf(&rows[i])
			if err != nil {
				return nil, err
			}
			elsewhere := slices.ContainsFunc(c.Places, func(p wire.Place) bool { return !under(p.SourceFile, e.Path) })
			if !elsewhere {
				ids = append(ids, c.ID)
			}
		}
		if f.Offset += len(rows); len(rows) == 0 || f.Offset >= total {
			return ids, nil
		}
	}
}

// under reports whether a file is at a path or below it.
func under(file, path string) bool { return file == path || strings.HasPrefix(file, path+"/") }

// Lift ends an exclusion; the candidates that it has dismissed wait for a decision again. not_found without it.
func (x Exclusions) Lift(ctx context.Context, projectID, id string) (wire.Lifted, error) {
	var out wire.Lifted
	id, err := named("exclusion", id)
	if err != nil {
		return out, err
	}
	err = x.store.Update(ctx, func(tx store.Tx) error {
		e, err := tx.Exclusions.Get(ctx, projectID, id)
		if err != nil {
			return err
		}
		if out.Reopened, err = tx.Exclusions.Delete(ctx, projectID, id); err != nil {
			return err
		}
		return x.note(ctx, tx, projectID, map[string]any{
			"action": "exclusion lifted", "exclusion_id": id, "repository": e.Repository, "path": e.Path, "reopened": out.Reopened,
		})
	})
	return out, err
}

// included leaves out the files that the exclusions of the project name, and counts them. A document that somebody has named is scanned.
func (w *scanWork) included(ctx context.Context, files []source.File, left *exclude.Tally) ([]source.File, error) {
	if w.scan.DocumentID != "" {
		return files, nil
	}
	exclusions, err := w.d.store.Exclusions.For(ctx, w.scan.ProjectID, w.scan.Repository)
	if err != nil || len(exclusions) == 0 {
		return files, err
	}
	read := make([]source.File, 0, len(files))
	for _, f := range files {
		if slices.ContainsFunc(exclusions, func(e store.Exclusion) bool { return under(f.Path, e.Path) }) {
			left.Add(excludedByProject, f.Path)
		} else {
			read = append(read, f)
		}
	}
	return read, nil
}
