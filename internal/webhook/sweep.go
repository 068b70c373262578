package webhook

import (
	"context"
	"time"

	"tenet/internal/store"
	"tenet/internal/wire"
)

// someAtOnce bounds how many deliveries one transaction ends or removes.
const someAtOnce = 1000

// Sweep is the handler of the periodic jobs that give up what has expired, remove what ended long ago, and ask for the jobs of
// policies that have something pending, in case one was cancelled or has failed.
func (w *Webhooks) Sweep(ctx context.Context, _ wire.Job, progress func(done, total int)) error {
	now := w.instant()
	total := 0
	for _, some := range []func(tx store.Tx) (int, error){
		func(tx store.Tx) (int, error) {
			return tx.Deliveries.Expire(ctx, now, "given up after "+Lifetime.String(), someAtOnce)
		},
		func(tx store.Tx) (int, error) {
			return tx.Deliveries.DeleteOld(ctx, now.Add(-w.cfg.Retention), someAtOnce)
		},
	} {
		for n := someAtOnce; n == someAtOnce; progress(total, 0) {
			err := w.cfg.Store.Update(ctx, func(tx store.Tx) (err error) {
				n, err = some(tx)
				return err
			})
			if err != nil {
				return err
			}
			total += n
		}
	}
	waiting, err := w.cfg.Store.Webhooks.ListWaiting(ctx)
	if err != nil {
		return err
	}
	for _, one := range waiting {
		at := time.Time{}
		if one.PausedUntil != nil {
			at = *one.PausedUntil
		}
		err := w.cfg.Store.Update(ctx, func(tx store.Tx) error {
			return w.enqueue(ctx, tx, &store.WebhookPolicy{ProjectID: one.ProjectID, ID: one.PolicyID}, at)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Pending counts the deliveries that wait, over all projects.
func (w *Webhooks) Pending(ctx context.Context) (int, error) {
	waiting, err := w.cfg.Store.Webhooks.ListWaiting(ctx)
	n := 0
	for _, one := range waiting {
		n += one.Pending
	}
	return n, err
}
