package discover

import (
	"context"
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
	if d.cfg.Retention <= 0 {
		return nil
	}
	for done := 0; ; {
		ended, err := d.store.Scans.ListEnded(ctx, d.instant().Add(-d.cfg.Retention), pruneBatch)
		if err != nil {
			return err
		}
		for i := range ended {
			if err := d.prune(ctx, &ended[i]); err != nil {
				return err
			}
			done++
			progress(done, done+len(ended)-i-1)
		}
		if len(ended) < pruneBatch {
			return nil
		}
	}
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
