package provider

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"tenet/internal/llm"
	"tenet/internal/rule"
)

// chain asks models in turn until one answers.
type chain struct {
	models []Model
	id     string
	log    *slog.Logger
}

func newChain(models []Model, log *slog.Logger) *chain {
	ids := make([]string, len(models))
	for i, m := range models {
		ids[i] = m.ID()
	}
	return &chain{models: models, id: strings.Join(ids, ","), log: log}
}

// ID returns the ids of all models in their order, whichever answers.
func (c *chain) ID() string { return c.id }

// Server returns the address of the first model's server, as [llm.ServerOf] does. Answers of the others are stored nowhere.
func (c *chain) Server() string { return llm.ServerOf(c.models[0]) }

// Complete asks the next model where one is unavailable. An answer that came and is unusable is an error at once: the
// caller knows better what to do about it. A model that is not the last has no more than its share of the time left, so
// that one that hangs leaves time for the others. Tokens that a refusal has cost are counted in.
func (c *chain) Complete(ctx context.Context, req llm.Request) (llm.Response, error) {
	var reasons []string
	var resp llm.Response
	for i, m := range c.models {
		spent := resp
		var err error
		resp, err = c.ask(ctx, m, len(c.models)-i, req)
		if resp.Model == "" {
			resp.Model = m.ID()
		}
		resp.InputTokens += spent.InputTokens
		resp.OutputTokens += spent.OutputTokens
		resp.CachedTokens += spent.CachedTokens
		if err == nil || rule.CodeOf(err) != rule.CodeUnavailable {
			return resp, err
		}
		reasons = append(reasons, err.Error())
		if ctx.Err() != nil {
			return resp, rule.Errorf(rule.CodeUnavailable, "no model answered in time (%s): %w", strings.Join(reasons, "; "), ctx.Err())
		}
		if i+1 < len(c.models) {
			c.log.WarnContext(ctx, "a model is unavailable; asking the next", "model", m.ID(), "next", c.models[i+1].ID(), "error", err)
		}
	}
	return resp, rule.Errorf(rule.CodeUnavailable, "no model answered: %s", strings.Join(reasons, "; "))
}

func (c *chain) ask(ctx context.Context, m Model, left int, req llm.Request) (llm.Response, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		limited, cancel := context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
		ctx = limited
	}
	return m.Complete(ctx, req)
}

// Check checks all models at once. One working model is enough to judge, but the error names all that fail.
func (c *chain) Check(ctx context.Context) error {
	errs := make([]error, len(c.models))
	done := make(chan struct{})
	for i, m := range c.models {
		go func() {
			errs[i] = m.Check(ctx)
			done <- struct{}{}
		}()
	}
	for range c.models {
		<-done
	}
	var failed []error
	for _, err := range errs {
		if err != nil {
			failed = append(failed, err)
		}
	}
	switch len(failed) {
	case 0:
		return nil
	case len(c.models):
		return rule.Errorf(rule.CodeUnavailable, "%w", joinErrors(failed))
	}
	return &PartialError{Err: joinErrors(failed)}
}

// PartialError reports that some models of a chain do not work, while another does.
type PartialError struct{ Err error }

// Error names those that do not work and why.
func (e *PartialError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong with them.
func (e *PartialError) Unwrap() error { return e.Err }

// joinErrors puts errors on one line.
func joinErrors(errs []error) error {
	return &lines{errors.Join(errs...)}
}

type lines struct{ error }

func (l *lines) Error() string { return strings.ReplaceAll(l.error.Error(), "\n", "; ") }
func (l *lines) Unwrap() error { return l.error }
