package judge

import (
	"context"
	"errors"
	"time"

	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// source is where answers and stored verdicts come from: models and a cache, or a record.
type source interface {
	// answer asks for one answer and notes in the call how long that took. It returns errNotRecorded for a call that a record
	// does not hold.
	answer(ctx context.Context, q question, call *wire.ModelCall, req llm.Request) (llm.Response, error)
	// lookUp returns a lookup of what is stored for rules under keys, of which rules[i] goes with k.rules[i].
	lookUp(ctx context.Context, rules []*rule.Rule, k *cacheKeys) lookup
	// probes returns the control rules of a recorded call; nil to draw them.
	probes(q question) []placed
	// epoch returns the epoch of the stored verdicts of a project, as it was when they were looked up.
	epoch(ctx context.Context, projectID string) int64
	// store stores verdicts, which have no time yet.
	store(list []store.Verdict)
}

// lookup returns the entry of a stored verdict of a rule on a unit.
type lookup func(project, unit, rule string) (entry string, ok bool)

// errNotRecorded reports that a record holds no such call.
var errNotRecorded = errors.New("judge: the record holds no such call")

// lookUp implements source.
func (j *Judge) lookUp(ctx context.Context, rules []*rule.Rule, k *cacheKeys) lookup {
	if j.cfg.Cache == nil {
		return func(string, string, string) (string, bool) { return "", false }
	}
	placed := &cacheKeys{whole: j.placed(k.whole), units: make([]string, len(k.units)), rules: k.rules}
	for i, unit := range k.units {
		placed.units[i] = j.placed(unit)
	}
	find := j.cfg.Cache.lookUp(ctx, rules, placed)
	return func(project, unit, rule string) (string, bool) { return find(project, j.placed(unit), rule) }
}

// placed returns the key under which the cache stores a unit. Servers of their own answer under any model's name, so the cache keeps
// apart what they said. Records have the key of the unit itself.
func (j *Judge) placed(unit string) string {
	if j.servers == "" {
		return unit
	}
	return hashed(j.servers, unit)
}

// serverOf returns the server of a model; empty without a model.
func serverOf(m llm.Model) string {
	if m == nil {
		return ""
	}
	return llm.ServerOf(m)
}

// epoch implements source.
func (j *Judge) epoch(ctx context.Context, projectID string) int64 {
	if j.cfg.Cache == nil {
		return 0
	}
	return j.cfg.Cache.epoch(ctx, projectID, j.cfg.Cache.cfg.Follow)
}

// probes implements source.
func (j *Judge) probes(question) []placed { return nil }

// store implements source.
func (j *Judge) store(list []store.Verdict) {
	if j.cfg.Cache == nil {
		return
	}
	for i := range list {
		list[i].Unit = j.placed(list[i].Unit)
	}
	j.cfg.Cache.put(list)
}

// answer implements source: it asks the model under the concurrency limit and the timeout. It returns when the context ends
// even if the model does not; such a call keeps its slot until it really ends.
func (j *Judge) answer(ctx context.Context, q question, call *wire.ModelCall, req llm.Request) (llm.Response, error) {
	start := time.Now()
	defer func() { call.DurationMS = time.Since(start).Milliseconds() }()
	model := j.cfg.Model
	if q.purpose == CallConfirm && j.cfg.Confirm != nil {
		model = j.cfg.Confirm
	}
	if err := j.places.Take(ctx); err != nil {
		return llm.Response{}, rule.Errorf(rule.CodeUnavailable, "the time for the evaluation was up before the model was free: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, j.cfg.Timeout)
	defer cancel()
	type result struct {
		resp llm.Response
		err  error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r = result{err: rule.Errorf(rule.CodeUnavailable, "the model's client broke: %v", p)}
			}
			done <- r
			j.places.Give()
		}()
		r.resp, r.err = model.Complete(ctx, req)
	}()
	select {
	case r := <-done:
		return r.resp, r.err
	case <-ctx.Done():
		return llm.Response{}, rule.Errorf(rule.CodeUnavailable, "the model did not answer in time: %w", ctx.Err())
	}
}
