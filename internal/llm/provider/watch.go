package provider

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"tenet/internal/llm"
)

const (
	// watchFailing is the time between checks of a model that does not work, so that /ready soon reports that it is back.
	watchFailing = 30 * time.Second
	// watchWorking is the time between checks of a model that works: evaluations would notice a failure anyway.
	watchWorking = 5 * time.Minute
)

// Watch checks from time to time whether a model can be asked. It finds a bad key at the start of a node, before the first
// evaluation.
type Watch struct {
	noun  string                          // what the log calls the model
	check func(ctx context.Context) error // nil: nothing to check
	log   *slog.Logger

	mu    sync.Mutex
	state llm.State
}

// NewWatch returns the watch of the judge's model, which may be nil. A model without a check counts as one that works.
func NewWatch(model llm.Model, log *slog.Logger) *Watch {
	if model == nil {
		return &Watch{log: log, state: llm.State{Status: llm.StatusNone, Detail: "no model is configured; set TENET_JUDGE_MODEL"}}
	}
	return NewWatchOf("the judge's model", model, log)
}

// NewWatchOf returns the watch of any model, which the log calls by a noun.
func NewWatchOf(noun string, model interface{ ID() string }, log *slog.Logger) *Watch {
	w := &Watch{noun: noun, log: log, state: llm.State{Model: model.ID(), Status: llm.StatusOK}}
	if m, ok := model.(interface {
		Check(ctx context.Context) error
	}); ok {
		w.check = m.Check
		w.state.Status = llm.StatusChecking
	}
	return w
}

// State returns the result of the latest check.
func (w *Watch) State() llm.State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// Run checks the model at once and then from time to time, until ctx ends.
func (w *Watch) Run(ctx context.Context) {
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

// look checks the model once, logs a change, and reports whether all is well.
func (w *Watch) look(ctx context.Context) bool {
	err := w.check(ctx)
	if ctx.Err() != nil {
		return true
	}
	before := w.State()
	after := llm.State{Model: before.Model, Status: llm.StatusOK}
	_, partial := errors.AsType[*PartialError](err)
	switch {
	case err == nil:
	case partial: // another model of the chain works
		after.Detail = err.Error()
	case errors.Is(err, ErrKey):
		after.Status, after.Detail = llm.StatusBadKey, err.Error()
	default:
		after.Status, after.Detail = llm.StatusUnreachable, err.Error()
	}
	w.mu.Lock()
	w.state = after
	w.mu.Unlock()
	switch {
	case after == before:
	case err != nil:
		w.log.WarnContext(ctx, "a model cannot be asked", slog.String("for", w.noun), slog.String("model", after.Model), slog.String("status", string(after.Status)),
			slog.String("detail", after.Detail))
	case before.Status != llm.StatusChecking:
		w.log.InfoContext(ctx, "a model can be asked again", slog.String("for", w.noun), slog.String("model", after.Model))
	}
	return err == nil
}
