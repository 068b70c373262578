package approval

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// ExpireKind is the kind of the jobs that end approvals whose time has run out, and ask substitutes; [Approvals.Expire] handles them.
const ExpireKind = "approvals.expire"

// ExpireEvery is the time between these jobs.
const ExpireEvery = time.Minute

// maxDue bounds the approvals of one transaction, and maxRounds the transactions of one job.
const (
	maxDue    = 200
	maxRounds = 50
)

// Periodic returns the round of the job.
func Periodic() job.Periodic { return job.Periodic{Kind: ExpireKind, Every: ExpireEvery} }

// Expire rejects approvals that nobody has decided on in time, ends those whose time of use has run out, and asks substitutes. An approval counts as rejected or
// expired from its time on, whether this has run or not.
func (s *Approvals) Expire(ctx context.Context, _ wire.Job, progress func(done, total int)) error {
	done := 0
	for range maxRounds {
		due, err := s.cfg.Store.Approvals.Due(ctx, s.cfg.Now(), maxDue)
		if err != nil || len(due) == 0 {
			return err
		}
		settled := 0
		for i := range due {
			err := s.settleDue(ctx, &due[i])
			if errors.Is(err, store.ErrDamaged) { // it serves nothing, and must not delay others
				s.cfg.Logger.ErrorContext(ctx, "an approval is left as it is: the audit log does not explain it", slog.String("project", due[i].ProjectID),
					slog.String("approval", due[i].ID), slog.Any("error", err))
				continue
			}
			if err != nil {
				return err
			}
			settled++
			done++
			progress(done, done)
		}
		if settled == 0 {
			return nil
		}
	}
	return nil
}

var errSettled = errors.New("the approval is not due any more")

// settleDue ends or escalates one approval, unless somebody has changed it meanwhile.
func (s *Approvals) settleDue(ctx context.Context, due *store.ApprovalRecord) error {
	view, err := s.cfg.Views.View(ctx, due.ProjectID)
	if err != nil {
		return err
	}
	err = s.cfg.Store.Update(ctx, func(tx store.Tx) error {
		if _, err := tx.Audit.Lock(ctx, due.ProjectID); err != nil {
			return err
		}
		a, err := s.cfg.hold(ctx, tx, due.ProjectID, due.ID)
		if err != nil {
			return err
		}
		now := rule.Instant(s.cfg.Now())
		action, event := "", rule.Event{}
		switch {
		case a.Lapsed(now):
			action, a.State = string(a.At(now)), a.At(now)
			if a.Unanswered() {
				a.DecidedAt = &now
				event = s.event(rule.ApprovalDecided, &a, view)
			}
		case a.State == rule.ApprovalPending && a.EscalateAt != nil && !a.Escalated && !now.Before(*a.EscalateAt):
			action, a.Escalated = "escalated", true
			event = s.event(rule.ApprovalRequested, &a, view)
		default:
			return errSettled
		}
		a.Revision++
		if err := tx.Approvals.Update(ctx, a); err != nil {
			return err
		}
		return s.note(ctx, tx, action, "tenet", &a, event)
	})
	if errors.Is(err, errSettled) {
		return nil
	}
	if err == nil {
		s.Changed(due.ProjectID, due.ID)
	}
	return err
}
