package job

import (
	"context"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// ledger is one transaction of a runner: its input and its results.
type ledger struct {
	r      *Runner
	now    time.Time // of the clock
	ended  []*attempt
	renew  []store.Job
	rounds []Periodic
	claim  bool
	free   int // workers

	began   time.Time   // of the leases, on the clock of the process
	renewed []store.Job // those of renew that the node still has
	claimed []store.Job
}

func (t *ledger) needed() bool {
	return t.claim || len(t.ended) > 0 || len(t.renew) > 0 || len(t.rounds) > 0
}

// maxExpired bounds the jobs that one transaction takes from dead nodes.
const maxExpired = 100

func (t *ledger) write(ctx context.Context) error {
	finished := make([]store.Job, len(t.ended))
	for i, a := range t.ended {
		finished[i] = a.result
	}
	return t.r.cfg.Store.Update(ctx, func(tx store.Tx) (err error) {
		t.began = time.Now()
		if err := tx.Jobs.Finish(ctx, finished); err != nil {
			return err
		}
		lease := t.now.Add(t.r.cfg.Lease)
		if t.renewed, err = tx.Jobs.Renew(ctx, lease, t.renew); err != nil {
			return err
		}
		if err := t.addRounds(ctx, tx); err != nil {
			return err
		}
		t.claimed = nil
		if t.free <= 0 || !t.claim && len(t.ended) == 0 && len(t.rounds) == 0 {
			return nil
		}
		if err := t.rescue(ctx, tx); err != nil {
			return err
		}
		t.claimed, err = tx.Jobs.Claim(ctx, store.JobClaim{
			Now: t.now, Kinds: t.r.kinds, Owner: t.r.owner, Lease: lease, Limit: t.free, Running: t.r.byProject(), Share: share(t.r.cfg.Workers), After: t.r.last,
		})
		return err
	})
}

// addRounds enqueues the periodic work whose round no node has taken yet.
func (t *ledger) addRounds(ctx context.Context, tx store.Tx) error {
	for _, p := range t.rounds {
		taken, err := tx.Jobs.TakeRound(ctx, p.Kind, t.now.Truncate(p.Every))
		if err != nil {
			return err
		}
		if !taken {
			continue
		}
		// The key keeps a round from beginning before the last one has ended.
		j, err := newJob(p.Kind, store.AllProjects, nil, Options{UniqueKey: "periodic", MaxAttempts: p.MaxAttempts, Priority: p.Priority}, t.now)
		if err != nil {
			return err
		}
		if _, err := tx.Jobs.Insert(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

// rescue puts back the jobs of nodes that have died. The attempt counts: a job that kills its node every time must end.
func (t *ledger) rescue(ctx context.Context, tx store.Tx) error {
	expired, err := tx.Jobs.ListExpired(ctx, t.now, maxExpired)
	if err != nil {
		return err
	}
	for i := range expired {
		j := &expired[i]
		conclude(j, rule.Errorf(rule.CodeUnavailable, "the node that did the job has ended"), nil, t.now)
		if j.State == Queued {
			j.RunAt = t.now
		}
	}
	return tx.Jobs.Finish(ctx, expired)
}
