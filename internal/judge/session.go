package judge

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tenet/internal/llm"
	"tenet/internal/rule"
)

// session asks about one batch of rules on one part.
type session struct {
	h        *hearing
	group    *group
	part     int
	purpose  string
	members  []int // indices into the rules of the hearing
	admitted bool

	// outcomes is by member. It and what follows are guarded by the hearing's mutex.
	outcomes []outcome
	calls    []Call
	pending  *Call
	answered bool
	settled  bool // the second looks that outcomes need have been taken
	standIn  bool // a model answered that stands in for another
}

// errNotRecorded says that a record holds no such call.
var errNotRecorded = errors.New("judge: there is no such call")

// run asks for the verdicts of the members, once more for those that the answer leaves open, and has denials of CRITICAL
// rules confirmed. A fault of our own must not end the program or leave a rule without a verdict.
func (s *session) run(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil {
			s.h.j.cfg.Logger.ErrorContext(ctx, "judging broke off", "panic", p)
			for n := range s.members {
				s.set(n, nothing(reasonFault))
			}
		}
	}()
	places := make([]int, len(s.members))
	for n := range places {
		places[n] = n
	}
	open, err := s.ask(ctx, places, s.purpose)
	s.repair(ctx, open, err)
	s.confirm(ctx)
	s.recheck(ctx)
	s.settle()
}

// settle notes that the outcomes are final.
func (s *session) settle() {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	s.settled = true
}

// repair asks once more about members that are open.
func (s *session) repair(ctx context.Context, open []int, err error) {
	if len(open) == 0 || ctx.Err() != nil {
		return
	}
	switch rule.CodeOf(err) {
	case "":
		_, _ = s.ask(ctx, open, CallRepair)
	case rule.CodeInvalid:
		// The answer came and was unusable, most likely too long for its limit: half of it may fit.
		half := (len(open) + 1) / 2
		_, _ = s.ask(ctx, open[:half], CallRepair)
		if half < len(open) {
			_, _ = s.ask(ctx, open[half:], CallRepair)
		}
	default:
		// The model could not be asked. Its client has retried what may pass.
	}
}

// ask makes one call about the members at some places and notes the outcomes. It returns the places that are still open for
// want of a usable entry, and the error of the call.
func (s *session) ask(ctx context.Context, places []int, purpose string) (open []int, err error) {
	reply := s.call(ctx, places, purpose)
	switch {
	case errors.Is(reply.err, errNotRecorded):
		return nil, reply.err
	case reply.err != nil:
		for _, n := range places {
			s.set(n, nothing("The model gave no answer: "+failure(reply.err)+"."))
		}
		return places, reply.err
	}
	for k, n := range places {
		if o, fault := reply.outcome(k); fault != "" {
			s.set(n, nothing(fault))
			open = append(open, n)
		} else {
			s.set(n, o)
		}
	}
	if len(open) > 0 {
		s.h.j.cfg.Logger.WarnContext(ctx, "an answer of the judge's model is unusable", "model", s.h.plan.model, "rules", len(places), "unusable", len(open), "purpose", purpose)
	}
	return open, nil
}

// reply is what came of a call.
type reply struct {
	s       *session
	answers []*answer // by member asked about
	faults  []string
	held    bool // the control was answered rightly
	err     error
}

// outcome weighs the entry for the k-th member asked about, or tells why there is none to use.
func (r *reply) outcome(k int) (o outcome, fault string) {
	a := r.answers[k]
	switch {
	case a == nil:
		return o, "The model's answer is unusable for this rule: " + r.faults[k] + "."
	case a.Verdict == rule.Allow && !r.held:
		return o, "The model allowed, but it got a control rule wrong whose answer is known, so its ALLOW is not trusted. It said: " + a.Reasoning
	}
	return weigh(r.s.h.subject, &r.s.h.docket, a), ""
}

// call makes one call about the members at some places and records it.
func (s *session) call(ctx context.Context, places []int, purpose string) *reply {
	h := s.h
	q := question{purpose: purpose, group: s.group, part: s.part, members: make([]int, len(places))}
	for k, n := range places {
		q.members[k] = s.members[n]
	}
	if purpose != s.purpose && !h.spend(h.estimate(s.group.parts[s.part], q.members)) {
		return &reply{s: s, err: rule.Errorf(rule.CodeUnavailable, "the evaluation would take more than the %d tokens that it may", h.plan.tokens)}
	}
	req, c := h.prompt(q)
	call := Call{
		Model: h.plan.model, PromptVersion: PromptVersion, PromptHash: promptHash(req), Purpose: purpose, Rules: make([]string, len(q.members)),
		Control: c.index, Part: s.part + 1, Seed: hex.EncodeToString(h.seed[:]), Nonce: hex.EncodeToString(h.nonce[:]), Plan: h.plan.String(),
		Repair: purpose == CallRepair,
	}
	if purpose == CallConfirm {
		call.Model = h.plan.confirm
	}
	if !s.group.whole {
		call.Units = s.group.units
	}
	for k, i := range q.members {
		call.Rules[k] = h.rules[i].ID
	}
	s.begin(call)
	resp, err := h.source.answer(ctx, q, &call, req)
	standIn := false
	if resp.Model != "" { // of a chain, the one that answered
		standIn = resp.Model != leading(call.Model)
		call.Model = resp.Model
	}
	call.Raw = keepRaw(resp.Text)
	call.InputTokens, call.OutputTokens, call.CachedTokens = resp.InputTokens, resp.OutputTokens, resp.CachedTokens
	r := &reply{s: s, err: err}
	if err != nil {
		call.Error, call.ErrorCode = failure(err), string(rule.CodeOf(err))
	} else {
		r.read(c, call.Raw) // as it is recorded, so that a replay reads the same
		call.Held = r.held
	}
	s.end(call, standIn, err)
	if err != nil && !errors.Is(err, errNotRecorded) {
		h.j.cfg.Logger.WarnContext(ctx, "a call to the judge's model failed", "model", call.Model, "rules", len(places), "purpose", purpose, "error", err)
	}
	return r
}

// read parses an answer and takes the control out of it.
func (r *reply) read(c control, text string) {
	answers, faults := parseAnswer(text, c.size+1)
	r.held = c.held(answers[c.index])
	r.answers = slices.Delete(answers, c.index, c.index+1)
	r.faults = slices.Delete(faults, c.index, c.index+1)
	if c.mark != "" { // the text was shown with marks for blanks
		for _, a := range r.answers {
			a.unmark(c.mark)
		}
	}
}

// begin notes a call under way.
func (s *session) begin(call Call) {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	s.pending = &call
}

// end notes what came of the call under way.
func (s *session) end(call Call, standIn bool, err error) {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	s.pending = nil
	if !errors.Is(err, errNotRecorded) {
		s.calls = append(s.calls, call)
		s.answered = s.answered || err == nil
		s.standIn = s.standIn || standIn
	}
}

func (s *session) set(n int, o outcome) {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	s.outcomes[n] = o
}

func (s *session) get(n int) outcome {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	return s.outcomes[n]
}

// failure is what callers may see of err.
func failure(err error) string {
	if rule.CodeOf(err) == rule.CodeInternal {
		return "its client failed"
	}
	return err.Error()
}

// keepRaw bounds what is kept of an answer. What is not read need not be kept for replay.
func keepRaw(text string) string {
	switch {
	case len(text) > maxAnswer:
		return fmt.Sprintf("%s... (%d bytes in all)", cut(strings.ToValidUTF8(text[:maxAnswer/16], "\uFFFD"), maxAnswer/16), len(text))
	case !utf8.ValidString(text): // it must not become valid by being recorded
		return "(not valid UTF-8) " + strings.ToValidUTF8(text, "\uFFFD")
	}
	return text
}

// answer implements source: it asks the model under the concurrency limit and the timeout. It returns when the context ends
// even if the model does not; such a call keeps its slot until it really ends.
func (j *Judge) answer(ctx context.Context, q question, call *Call, req llm.Request) (llm.Response, error) {
	start := time.Now()
	defer func() { call.DurationMS = time.Since(start).Milliseconds() }()
	model := j.cfg.Model
	if q.purpose == CallConfirm && j.cfg.Confirm != nil {
		model = j.cfg.Confirm
	}
	select {
	case j.slots <- struct{}{}:
	case <-ctx.Done():
		return llm.Response{}, rule.Errorf(rule.CodeUnavailable, "the time for the evaluation was up before the model was free: %w", ctx.Err())
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
			<-j.slots
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
