package discover

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// pruneAfter is how old an open scan is before it is looked at whether its job has gone.
const pruneAfter = 24 * time.Hour

// pruneBatch is how many scans one query lists.
const pruneBatch = 1000

// PruneEvery is how often [Discovery.Prune] is called for.
const PruneEvery = 24 * time.Hour

// Prune ends scans whose job has ended without them, such as cancelled ones, which would never drop their files, and removes what scans
// have found once its retention is over. It is the handler of the jobs of [PruneKind].
func (d *Discovery) Prune(ctx context.Context, _ wire.Job, progress func(done, total int)) error {
	if err := d.endLost(ctx); err != nil {
		return err
	}
	projects, err := d.store.Projects.List(ctx)
	if err != nil {
		return err
	}
	done := 0
	var errs []error
	for _, p := range projects {
		errs = append(errs, d.pruneProject(ctx, p.ID, func(left int) {
			done++
			progress(done, done+left)
		}))
	}
	return errors.Join(errs...)
}

// pruneProject removes what scans of a project have found once its retention is over. pruned is called after each scan.
func (d *Discovery) pruneProject(ctx context.Context, projectID string, pruned func(left int)) error {
	keep := d.cfg.Retention
	if d.cfg.Keeping != nil {
		r, err := d.cfg.Keeping.Get(ctx, projectID)
		if err != nil {
			return err
		}
		keep = r.Keep(rule.KeptScans, keep)
	}
	for keep > 0 {
		ended, err := d.store.Scans.ListEnded(ctx, projectID, d.instant().Add(-keep), pruneBatch)
		if err != nil {
			return err
		}
		for i := range ended {
			if err := d.prune(ctx, &ended[i]); err != nil {
				return err
			}
			pruned(len(ended) - i - 1)
		}
		if len(ended) < pruneBatch {
			break
		}
	}
	return nil
}

// prune removes the candidates of a scan that have become no rule.
func (d *Discovery) prune(ctx context.Context, s *store.Scan) error {
	return d.store.Update(ctx, func(tx store.Tx) error {
		removed, err := tx.Scans.Prune(ctx, s.ProjectID, s.ID, d.instant())
		if rule.CodeOf(err) == rule.CodeNotFound {
			return nil // another node was first
		}
		if err != nil {
			return err
		}
		return d.note(ctx, tx, s.ProjectID, map[string]any{"action": "scan removed after its retention", "scan_id": s.ID, "candidates": removed})
	})
}

// endLost ends scans whose job has ended without them.
func (d *Discovery) endLost(ctx context.Context) error {
	open, err := d.store.Scans.ListOpen(ctx, d.instant().Add(-pruneAfter), pruneBatch)
	if err != nil {
		return err
	}
	for i := range open {
		s := &open[i]
		status, _, err := d.state(ctx, s)
		if err != nil {
			return err
		}
		if status != wire.Failed || s.State != store.ScanOpen {
			continue
		}
		err = d.store.Update(ctx, func(tx store.Tx) error {
			return tx.Scans.Fail(ctx, s.ProjectID, s.ID, clean(s.Error, 2000), d.instant())
		})
		if err != nil && rule.CodeOf(err) != rule.CodeConflict {
			return err
		}
		d.cfg.Logger.InfoContext(ctx, "a scan whose job has gone was ended", slog.String("scan", s.ID))
	}
	return nil
}
