package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/turn"
)

// attempt is one try at a job in this process.
type attempt struct {
	job    store.Job
	result store.Job // once it has ended

	interrupt   context.CancelCauseFunc
	lastRenewed time.Time
	// expiry interrupts the attempt when its lease ends before it has been renewed: another node may then have taken the job.
	expiry      *time.Timer
	done, total atomic.Int64
}

// begin starts an attempt at a claimed job. began is the start of its lease.
func (r *Runner) begin(j store.Job, began time.Time) {
	ctx := turn.With(context.WithValue(context.Background(), stoppingKey{}, r.stopping), j.ProjectID) // its calls to models take turns with those of others
	ctx, interrupt := context.WithCancelCause(ctx)
	a := &attempt{job: j, interrupt: interrupt, lastRenewed: began}
	a.expiry = time.AfterFunc(time.Until(began.Add(r.cfg.Lease)), func() { interrupt(errLost) })
	r.running[j.ID] = a
	go func() {
		defer interrupt(nil)
		defer a.expiry.Stop()
		began := time.Now()
		err := r.call(ctx, a)
		a.result = a.withProgress()
		conclude(&a.result, err, context.Cause(ctx), r.cfg.Now())
		r.log(ctx, &a.result, err)
		r.cfg.Observe(j.Kind, a.result.State, time.Since(began))
		select {
		case r.results <- a:
		case <-r.done: // nobody waits for it any more
		}
	}()
}

// stoppingKey is the key of the context that ends when the node of an attempt begins to stop.
type stoppingKey struct{}

// Stopping reports whether the node of a handler with this ctx stops. A handler that can leave the rest of its work to another job
// does so then, before the runner interrupts it.
func Stopping(ctx context.Context) bool {
	stopping, ok := ctx.Value(stoppingKey{}).(context.Context)
	return ok && stopping.Err() != nil
}

// call runs the handler.
func (r *Runner) call(ctx context.Context, a *attempt) (err error) {
	defer func() {
		if v := recover(); v != nil {
			r.cfg.Logger.ErrorContext(ctx, "a background job has panicked", slog.String("kind", a.job.Kind), slog.Int64("job", a.job.ID),
				slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return r.cfg.Handlers[a.job.Kind](ctx, jobOf(a.job), a.progress)
}

// log logs an attempt that has not succeeded.
func (r *Runner) log(ctx context.Context, j *store.Job, err error) {
	attrs := []slog.Attr{
		slog.String("kind", j.Kind), slog.Int64("job", j.ID), slog.String("project", j.ProjectID), slog.Int("attempt", j.Attempt), slog.Any("error", err),
	}
	switch j.State {
	case Failed:
		r.cfg.Logger.LogAttrs(ctx, slog.LevelError, "a background job has failed", attrs...)
	case Queued:
		attrs = append(attrs, slog.Time("again_at", j.RunAt))
		level := slog.LevelWarn
		if errors.Is(context.Cause(ctx), errStopping) {
			level = slog.LevelInfo
		}
		r.cfg.Logger.LogAttrs(ctx, level, "a background job will be tried again", attrs...)
	}
}

func (a *attempt) progress(done, total int) {
	a.done.Store(int64(max(done, 0)))
	a.total.Store(int64(max(total, 0)))
}

func (a *attempt) withProgress() store.Job {
	j := a.job
	j.Done, j.Total = int(a.done.Load()), int(a.total.Load())
	return j
}

// renewed notes that the lease starts again at a time.
func (a *attempt) renewed(from time.Time, lease time.Duration) {
	a.lastRenewed = from
	a.expiry.Reset(time.Until(from.Add(lease)))
}

// conclude sets the state of a job whose attempt has ended with err, interrupted by cause or not.
func conclude(j *store.Job, err, cause error, now time.Time) {
	j.Error, j.FinishedAt = "", &now
	switch {
	case err == nil:
		j.State = Succeeded
	case errors.Is(cause, errCancelled):
		j.State = Cancelled
	case errors.Is(cause, errStopping), errors.Is(cause, errLost):
		// The job is not at fault, so the attempt does not count.
		j.State, j.RunAt, j.FinishedAt = Queued, now, nil
		j.MaxAttempts++
	case final(err), j.Attempt >= j.MaxAttempts:
		j.State, j.Error = Failed, publicText(err)
	default:
		j.State, j.Error, j.RunAt, j.FinishedAt = Queued, publicText(err), now.Add(pause(err, j.Attempt)), nil
	}
}

func final(err error) bool {
	code := rule.CodeOf(err)
	return code == rule.CodeInvalid || code == rule.CodeNotFound
}

// maxError bounds the stored text of an error, in bytes.
const maxError = 2000

// publicText returns the part of an error that people may see.
func publicText(err error) string {
	e, ok := errors.AsType[*rule.Error](err)
	if !ok {
		return "an internal error; the server's log has more"
	}
	text := strings.ReplaceAll(e.Error(), "\x00", "")
	if len(text) > maxError {
		text = text[:maxError]
	}
	return strings.ToValidUTF8(text, "")
}

// Pauses before the next attempt: twice as long each time.
const (
	firstPause   = time.Second
	longestPause = 2 * time.Hour
)

// pause returns the time to wait after an attempt has failed with err, with up to a fifth more at random so that jobs that failed
// together do not run together again.
func pause(err error, attempt int) time.Duration {
	d := longestPause
	if later, ok := errors.AsType[*laterError](err); ok {
		d = max(later.after, 0)
	} else if n := attempt - 1; n < 14 {
		d = min(firstPause<<max(n, 0), longestPause)
	}
	return d + rand.N(d/5+1) //nolint:gosec // nobody gains by guessing a pause
}

// RetryIn returns an error with which a handler sets the time until the next attempt, such as the one that a server asks for,
// instead of the usual pause.
func RetryIn(after time.Duration, err error) error { return &laterError{after, err} }

type laterError struct {
	after time.Duration
	error
}

// Unwrap returns the reason.
func (e *laterError) Unwrap() error { return e.error }
