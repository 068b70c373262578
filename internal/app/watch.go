package app

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"tenet/internal/api"
	"tenet/internal/llm"
	"tenet/internal/llm/provider"
)

const (
	// watchFailing is how often a model that does not work is looked at, so that /ready tells soon when it is back.
	watchFailing = 30 * time.Second
	// watchWorking is how often a model that works is looked at: evaluations would notice anyway.
	watchWorking = 5 * time.Minute
)

// watch knows whether the judge's model can be asked. It finds a bad key at start, not at the first evaluation.
type watch struct {
	check func(ctx context.Context) error // nil: there is nothing to check
	log   *slog.Logger

	mu    sync.Mutex
	state api.JudgeState
}

// newWatch makes the watch of a model, which may be nil. A model without a check is taken for one that works.
func newWatch(model llm.Model, log *slog.Logger) *watch {
	w := &watch{log: log, state: api.JudgeState{Status: api.JudgeNone, Detail: "no model is configured; set TENET_JUDGE_MODEL"}}
	if model == nil {
		return w
	}
	w.state = api.JudgeState{Model: model.ID(), Status: api.JudgeOK}
	if m, ok := model.(interface {
		Check(ctx context.Context) error
	}); ok {
		w.check = m.Check
		w.state.Status = api.JudgeChecking
	}
	return w
}

// now is how the model was when it was last looked at.
func (w *watch) now() api.JudgeState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// run looks at the model at once and then from time to time, until ctx ends.
func (w *watch) run(ctx context.Context) {
	if w.check == nil {
		return
	}
	for {
		pause := watchWorking
		if !w.look(ctx) {
			pause = watchFailing
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// look checks the model once, logs what has changed, and reports whether all is well.
func (w *watch) look(ctx context.Context) bool {
	err := w.check(ctx)
	if ctx.Err() != nil {
		return true
	}
	before := w.now()
	after := api.JudgeState{Model: before.Model, Status: api.JudgeOK}
	_, partial := errors.AsType[*provider.PartialError](err)
	switch {
	case err == nil:
	case partial: // another model of the chain does work
		after.Detail = err.Error()
	case errors.Is(err, provider.ErrKey):
		after.Status, after.Detail = api.JudgeBadKey, err.Error()
	default:
		after.Status, after.Detail = api.JudgeUnreachable, err.Error()
	}
	w.mu.Lock()
	w.state = after
	w.mu.Unlock()
	switch {
	case after == before:
	case err != nil:
		w.log.WarnContext(ctx, "the judge's model cannot be asked", slog.String("model", after.Model), slog.String("status", string(after.Status)), slog.String("detail", after.Detail))
	case before.Status != api.JudgeChecking:
		w.log.InfoContext(ctx, "the judge's model can be asked again", slog.String("model", after.Model))
	}
	return err == nil
}
