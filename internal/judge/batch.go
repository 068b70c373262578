package judge

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"tenet/internal/judge/probe"
	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// batch asks about one batch of rules on one part of the subject.
type batch struct {
	d            *decision
	group        *group
	part         int
	purpose      string
	members      []int // indices into the rules of the decision
	withinBudget bool

	// outcomes is by member. The mutex of the decision guards it and the fields below.
	outcomes     []outcome
	calls        []*madeCall
	answered     bool
	secondLooked bool // the second looks that outcomes need have been taken
	fallback     bool // a fallback of the chain answered in place of its first model
}

// run asks for the verdicts of the members, asks once more for those that the answer leaves open, and takes the second looks
// that verdicts need. A fault of our own must not end the program or leave a rule without a verdict.
func (b *batch) run(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil {
			b.d.j.cfg.Logger.ErrorContext(ctx, "judging broke off", "panic", p)
			for n := range b.members {
				b.setOutcome(n, undecided(reasonFault))
			}
		}
	}()
	first := b.begin()
	var recheck *reply
	var wg sync.WaitGroup
	careful := b.careful()
	if len(careful) > 0 { // beside the first look, since most rules are kept
		second := b.begin()
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					b.d.j.cfg.Logger.ErrorContext(ctx, "judging broke off", "panic", p)
				}
			}()
			recheck = b.call(ctx, second, careful, CallRecheck)
		})
	}
	open, err := b.ask(ctx, first, indices(len(b.members)), b.purpose)
	b.repair(ctx, open, err)
	wg.Wait()
	if recheck == nil {
		recheck = &reply{err: rule.Errorf(rule.CodeInternal, "the second look broke off")}
	}
	b.join(ctx, careful, recheck)
	b.d.locked(func() { b.secondLooked = true })
}

// madeCall is a call of a batch, in the order in which they were planned.
type madeCall struct {
	call    wire.ModelCall
	pending bool // it is in flight
	made    bool
	// controls are the calls about its control rules, where they have calls of their own.
	controls []*madeCall
}

// begin plans a call.
func (b *batch) begin() *madeCall {
	c := &madeCall{}
	b.d.locked(func() { b.calls = append(b.calls, c) })
	return c
}

// waits reports whether a call is in flight. The caller holds the mutex.
func (b *batch) waits() bool {
	return slices.ContainsFunc(b.calls, (*madeCall).waits)
}

func (c *madeCall) waits() bool {
	return c.pending || slices.ContainsFunc(c.controls, (*madeCall).waits)
}

// repair asks once more about members that are open.
func (b *batch) repair(ctx context.Context, open []int, err error) {
	if len(open) == 0 || ctx.Err() != nil {
		return
	}
	switch rule.CodeOf(err) {
	case "":
		_, _ = b.ask(ctx, b.begin(), open, CallRepair)
	case rule.CodeInvalid:
		// The answer came and was unusable, most likely too long for its limit: half of it may fit.
		half := (len(open) + 1) / 2
		_, _ = b.ask(ctx, b.begin(), open[:half], CallRepair)
		if half < len(open) {
			_, _ = b.ask(ctx, b.begin(), open[half:], CallRepair)
		}
	default:
		// The model could not be asked. Its client has retried what may pass.
	}
}

// ask makes one call about the members at some places and notes the outcomes. It returns the places that have no usable
// entry, and the error of the call.
func (b *batch) ask(ctx context.Context, made *madeCall, places []int, purpose string) (open []int, err error) {
	reply := b.call(ctx, made, places, purpose)
	switch {
	case errors.Is(reply.err, errNotRecorded):
		return nil, reply.err
	case reply.err != nil:
		for _, n := range places {
			b.setOutcome(n, undecided("The model gave no answer: "+failure(reply.err)+"."))
		}
		return places, reply.err
	}
	for k, n := range places {
		o, fault := reply.outcome(k)
		if fault != "" {
			o = undecided(fault)
			open = append(open, n)
		}
		b.setOutcome(n, o)
	}
	if len(open) > 0 {
		b.d.j.cfg.Logger.WarnContext(ctx, "an answer of the judge's model is unusable", "model", b.d.plan.model, "rules", len(places), "unusable", len(open), "purpose", purpose)
	}
	return open, nil
}

func (b *batch) setOutcome(n int, o outcome) {
	b.d.locked(func() { b.outcomes[n] = o })
}

func (b *batch) outcome(n int) outcome {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	return b.outcomes[n]
}

// call makes one call about the members at some places and records it.
func (b *batch) call(ctx context.Context, made *madeCall, places []int, purpose string) *reply {
	d := b.d
	r := &reply{d: d}
	q := question{purpose: purpose, group: b.group, part: b.part, members: make([]int, len(places))}
	for k, n := range places {
		q.members[k] = b.members[n]
	}
	if purpose != b.purpose && !d.spend(d.estimate(b.group.parts[b.part], q.members)) {
		r.err = rule.Errorf(rule.CodeUnavailable, "the evaluation would take more than the %d tokens that it may", d.plan.tokens)
		return r
	}
	call := wire.ModelCall{
		Model: d.plan.model, PromptVersion: PromptVersionOf(d.plan.profile), Purpose: purpose, Rules: make([]string, len(q.members)),
		Part: b.part + 1, Seed: hex.EncodeToString(d.recordSeed[:]), Nonce: hex.EncodeToString(d.recordNonce[:]), Plan: d.plan.String(),
		Repair: purpose == CallRepair,
	}
	if purpose == CallConfirm {
		call.Model = d.plan.confirm
	}
	if !b.group.whole {
		call.Units = b.group.units
	}
	for k, i := range q.members {
		call.Rules[k] = d.rules[i].ID
	}
	q.key = callKey(&call)
	req, x := d.prompt(q)
	r.expected = x
	call.PromptHash, call.Control, call.Controls = promptHash(req), x.probes[0].place, x.recorded()
	base := call
	r.err = b.perform(ctx, made, q, call, req, func(raw string) bool {
		if d.plan.small() {
			r.readSmall(raw)
		} else {
			r.read(raw)
		}
		return r.passed
	})
	if d.plan.small() && r.allows() {
		b.askControls(ctx, made, q, base, r)
	}
	return r
}

// perform makes a planned call and records it. read takes the answer and reports whether the control rules in it were answered rightly.
func (b *batch) perform(ctx context.Context, made *madeCall, q question, call wire.ModelCall, req llm.Request, read func(raw string) bool) error {
	d := b.d
	d.locked(func() { made.call, made.pending = call, true })
	resp, err := d.source.answer(ctx, q, &call, req)
	fallback := resp.Model != "" && resp.Model != firstModel(call.Model)
	if resp.Model != "" {
		call.Model = resp.Model
	}
	call.Raw = recordedAnswer(resp.Text)
	call.InputTokens, call.OutputTokens, call.CachedTokens = resp.InputTokens, resp.OutputTokens, resp.CachedTokens
	if err != nil {
		call.Error, call.ErrorCode = failure(err), string(rule.CodeOf(err))
	} else {
		call.Held = read(call.Raw) // as it is recorded, so that a replay reads the same
	}
	d.locked(func() {
		made.pending = false
		if !errors.Is(err, errNotRecorded) {
			made.call, made.made = call, true
			b.answered = b.answered || err == nil
			b.fallback = b.fallback || fallback
		}
	})
	if err != nil && !errors.Is(err, errNotRecorded) {
		d.j.cfg.Logger.WarnContext(ctx, "a call to the judge's model failed", "model", call.Model, "rules", len(call.Rules), "purpose", call.Purpose, "error", err)
	}
	return err
}

// reply is the answer to a call.
type reply struct {
	d        *decision
	expected *expected
	answers  []*answer // by member asked about
	faults   []string
	passed   bool // the control rules were answered rightly
	err      error
	// controlErr is why a control rule could not be asked in a call of its own.
	controlErr error
}

// read parses an answer and takes the control rules out of it.
func (r *reply) read(text string) {
	x := r.expected
	answers, faults := parseAnswer(text, x.size)
	r.passed = true
	for n := range answers {
		if p := x.probe(n); p != nil {
			r.passed = r.passed && passed(p, answers[n])
			continue
		}
		r.answers, r.faults = append(r.answers, answers[n]), append(r.faults, faults[n])
	}
}

// passed reports whether the entry for a control rule is right.
func passed(p *probe.Probe, a *answer) bool {
	if a == nil {
		return false
	}
	quotes := make([]string, len(a.Evidence))
	for i, q := range a.Evidence {
		quotes[i] = q.Quote
	}
	return p.Passed(a.Verdict, quotes)
}

// outcome weighs the entry for the k-th member asked about, or returns why it has none to use.
func (r *reply) outcome(k int) (o outcome, fault string) {
	a := r.answers[k]
	switch {
	case a == nil:
		return o, "The model's answer is unusable for this rule: " + r.faults[k] + "."
	case a.Verdict == rule.Allow && r.controlErr != nil:
		return o, "The model allowed, but a control rule that this needs could not be asked: " + secondLookError(r.controlErr) + ". It said: " + a.Reasoning
	case a.Verdict == rule.Allow && !r.passed:
		return o, "The model allowed, but it got a control rule wrong whose answer is known, so its ALLOW is not trusted. It said: " + a.Reasoning
	case a.Verdict == rule.Allow:
		if why := r.expected.unseen(a); why != "" {
			return o, "The model's answer is unusable for this rule: " + why + "."
		}
	case a.Verdict == rule.Deny && r.expected.quotesPlanted(a):
		return o, "The model's answer is unusable for this rule: its entry quotes nothing but text that is not of the subject."
	}
	return weigh(r.d.subject, &r.d.layout, a), ""
}

// failure returns the part of err that callers may see.
func failure(err error) string {
	if rule.CodeOf(err) == rule.CodeInternal {
		return "its client failed"
	}
	return err.Error()
}

// recordedAnswer bounds an answer for the record. A replay needs no more of it than was read.
func recordedAnswer(s string) string {
	switch {
	case len(s) > maxAnswer:
		return fmt.Sprintf("%s... (%d bytes in all)", text.Clip(strings.ToValidUTF8(s[:maxAnswer/16], "\uFFFD"), maxAnswer/16, ""), len(s))
	case !utf8.ValidString(s): // the record must not make it valid
		return "(not valid UTF-8) " + strings.ToValidUTF8(s, "\uFFFD")
	}
	return s
}
