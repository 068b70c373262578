package judge

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// triageCall asks about one batch on one part of the subject, and once more if the answer is unusable.
type triageCall struct {
	b     *triageBatch
	group *group
	part  int

	// The mutex of the triage guards the fields below. named are the places of the statements that the answer names; fault says why
	// there is no usable answer.
	named    []int
	fault    string
	calls    []wire.ModelCall
	pending  *wire.ModelCall
	fallback bool // a fallback of the chain answered
}

func (c *triageCall) run(ctx context.Context) {
	t := c.b.t
	defer func() {
		if p := recover(); p != nil {
			t.j.cfg.Logger.ErrorContext(ctx, "triage broke off", "panic", p)
			t.locked(func() { c.named, c.fault = nil, triageFault })
		}
	}()
	err := c.ask(ctx, CallTriage)
	fault := ""
	t.locked(func() { fault = c.fault })
	if fault == "" || ctx.Err() != nil || rule.CodeOf(err) != "" && rule.CodeOf(err) != rule.CodeInvalid || errors.Is(err, errNotRecorded) {
		return
	}
	enough := false
	t.locked(func() { enough = t.spend(t.estimate(c.b, &c.group.parts[c.part])) })
	if enough {
		_ = c.ask(ctx, CallTriageRepair)
	}
}

// ask makes one call and records it. It returns the error of the call.
func (c *triageCall) ask(ctx context.Context, purpose string) error {
	t := c.b.t
	q := question{purpose: purpose, group: c.group, part: c.part}
	batchNonce := t.batchNonce(c.b)
	req, k := t.prompt(c.b, q, batchNonce)
	call := wire.ModelCall{
		Model: t.settings.model, PromptVersion: TriagePromptVersion, PromptHash: promptHash(req), Purpose: purpose,
		Rules: c.b.ruleIDs(), Control: k.planted.index, Part: c.part + 1, Seed: hex.EncodeToString(t.seed[:]),
		Nonce: hex.EncodeToString(slices.Concat(t.nonce[:], batchNonce[:])), Plan: t.settings.String(), Repair: purpose == CallTriageRepair,
	}
	if !c.group.whole {
		call.Units = c.group.units
	}
	pending := call
	t.locked(func() { c.pending = &pending })
	resp, err := t.source.answer(ctx, q, &call, req)
	fallback := resp.Model != "" && resp.Model != firstModel(call.Model)
	if resp.Model != "" {
		call.Model = resp.Model
	}
	call.Raw = recordedAnswer(resp.Text)
	call.InputTokens, call.OutputTokens, call.CachedTokens = resp.InputTokens, resp.OutputTokens, resp.CachedTokens
	var named []int
	fault := ""
	if err != nil {
		call.Error, call.ErrorCode = failure(err), string(rule.CodeOf(err))
		fault = "the model gave no answer: " + failure(err)
	} else if named, call.Held, fault = k.read(call.Raw, len(c.b.statements)); fault != "" {
		fault = "the model's answer is unusable: " + fault
	}
	if errors.Is(err, errNotRecorded) {
		fault = "the model gave no answer: " + noAnswerYet
	}
	t.locked(func() {
		c.pending = nil
		c.named, c.fault, c.fallback = named, fault, fallback
		if !errors.Is(err, errNotRecorded) {
			c.calls = append(c.calls, call)
		}
	})
	if fault != "" && !errors.Is(err, errNotRecorded) {
		t.j.cfg.Logger.WarnContext(ctx, "a call of triage gave nothing to use", "model", call.Model, "rules", len(c.b.statements), "purpose", purpose, "fault", fault)
	}
	return err
}

// ruleIDs are the ids of the first rules of the statements.
func (b *triageBatch) ruleIDs() []string {
	out := make([]string, len(b.statements))
	for i := range b.statements {
		out[i] = b.t.rules[b.statements[i].rules[0]].ID
	}
	return out
}

// account adds the calls to a result, the one in flight as failed. The caller holds the mutex.
func (c *triageCall) account(out *Triaged) {
	calls := c.calls
	if c.pending != nil {
		failed := *c.pending
		failed.Error, failed.ErrorCode = noAnswerYet, string(rule.CodeUnavailable)
		calls = append(slices.Clip(calls), failed)
	}
	for i := range calls {
		call := &calls[i]
		out.Calls = append(out.Calls, *call)
		out.Cost.Calls++
		out.Cost.TriageCalls++
		out.Cost.InputTokens += call.InputTokens
		out.Cost.OutputTokens += call.OutputTokens
		if call.Error == "" && !slices.Contains(out.Models, call.Model) {
			out.Models = append(out.Models, call.Model)
		}
	}
}
