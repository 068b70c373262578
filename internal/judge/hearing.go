package judge

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// hearing is one Decide: a subject in parts, rules in batches, and an outcome for every rule on every part.
type hearing struct {
	j       *Judge
	subject *subject.Subject
	rules   []*rule.Rule
	docket  docket
	batches [][]int // indices into rules
	hash    [32]byte
	// outcomes is indexed by part and rule. Each session writes the places of its own part and batch only.
	outcomes [][]outcome
	sessions []*session
}

// session asks about one batch of rules on one part.
type session struct {
	h        *hearing
	part     int
	calls    []Call
	answered bool
}

// open prepares a hearing: it does all that needs no model.
func (j *Judge) open(s *subject.Subject, rules []*rule.Rule) *hearing {
	h := &hearing{j: j, subject: s, rules: rules, docket: split(s, j.cfg.MaxSubjectBytes, j.cfg.MaxParts)}
	order, hash := shuffle(j.cfg.Model.ID(), &h.docket, rules)
	h.hash = hash
	h.batches = batch(rules, order, j.cfg.BatchSize)
	h.outcomes = make([][]outcome, len(h.docket.parts))
	for p := range h.outcomes {
		h.outcomes[p] = make([]outcome, len(rules))
		for i := range rules {
			h.outcomes[p][i] = nothing("The rule was not reached.")
		}
	}
	return h
}

// hear runs all sessions side by side; the judge's concurrency limit holds them back.
func (h *hearing) hear(ctx context.Context) {
	var wg sync.WaitGroup
	for p := range h.docket.parts {
		for _, members := range h.batches {
			s := &session{h: h, part: p}
			h.sessions = append(h.sessions, s)
			wg.Go(func() { s.run(ctx, members) })
		}
	}
	wg.Wait()
}

// run asks for the verdicts of members, and once more for those that the answer leaves open. A fault of our own must not
// end the program or leave a rule without a verdict.
func (s *session) run(ctx context.Context, members []int) {
	defer func() {
		if p := recover(); p != nil {
			s.h.j.cfg.Logger.ErrorContext(ctx, "judging broke off", "panic", p)
			for _, i := range members {
				s.h.outcomes[s.part][i] = nothing("The judge broke off with an internal fault.")
			}
		}
	}()
	open, err := s.ask(ctx, members, false)
	if len(open) == 0 || ctx.Err() != nil {
		return
	}
	switch rule.CodeOf(err) {
	case "":
		_, _ = s.ask(ctx, open, true)
	case rule.CodeInvalid:
		// The answer came and was unusable, most likely too long for its limit: half of it may fit.
		half := (len(open) + 1) / 2
		_, _ = s.ask(ctx, open[:half], true)
		if half < len(open) {
			_, _ = s.ask(ctx, open[half:], true)
		}
	default:
		// The model could not be asked. Its client has retried what may pass.
	}
}

// ask makes one call and notes the outcomes. It returns the rules that are still open for want of a usable entry, and the
// error of the call.
func (s *session) ask(ctx context.Context, members []int, repair bool) (open []int, err error) {
	h, j := s.h, s.h.j
	req := h.prompt(s.part, members, repair)
	call := Call{
		Model: j.cfg.Model.ID(), PromptVersion: PromptVersion, PromptHash: promptHash(req), Rules: make([]string, len(members)),
		Part: s.part + 1, Repair: repair,
	}
	for n, i := range members {
		call.Rules[n] = h.rules[i].ID
	}
	start := time.Now()
	resp, err := j.call(ctx, req)
	call.DurationMS = time.Since(start).Milliseconds()
	call.Raw = keepRaw(resp.Text)
	call.InputTokens, call.OutputTokens, call.CachedTokens = resp.InputTokens, resp.OutputTokens, resp.CachedTokens
	if err != nil {
		call.Error = failure(err)
		j.cfg.Logger.WarnContext(ctx, "a call to the judge's model failed", "model", call.Model, "rules", len(members), "repair", repair, "error", err)
		for _, i := range members {
			h.outcomes[s.part][i] = nothing("The model gave no answer: " + call.Error + ".")
		}
		s.calls = append(s.calls, call)
		return members, err
	}
	s.answered = true
	answers, faults := parseAnswer(resp.Text, len(members))
	for n, i := range members {
		if answers[n] == nil {
			h.outcomes[s.part][i] = nothing("The model's answer is unusable for this rule: " + faults[n] + ".")
			open = append(open, i)
			continue
		}
		h.outcomes[s.part][i] = weigh(h.subject, &h.docket, answers[n])
	}
	if len(open) > 0 {
		j.cfg.Logger.WarnContext(ctx, "an answer of the judge's model is unusable", "model", call.Model, "rules", len(members), "unusable", len(open), "repair", repair)
	}
	s.calls = append(s.calls, call)
	return open, nil
}

// call asks the model under the concurrency limit and the timeout. It returns when the context ends even if the model does
// not; such a call keeps its slot until it really ends.
func (j *Judge) call(ctx context.Context, req llm.Request) (llm.Response, error) {
	select {
	case j.slots <- struct{}{}:
	case <-ctx.Done():
		return llm.Response{}, rule.Errorf(rule.CodeUnavailable, "the time for the evaluation was up before the model was free: %w", ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, j.cfg.Timeout)
	defer cancel()
	type reply struct {
		resp llm.Response
		err  error
	}
	done := make(chan reply, 1)
	go func() {
		var r reply
		defer func() {
			if p := recover(); p != nil {
				r = reply{err: rule.Errorf(rule.CodeUnavailable, "the model's client broke: %v", p)}
			}
			done <- r
			<-j.slots
		}()
		r.resp, r.err = j.cfg.Model.Complete(ctx, req)
	}()
	select {
	case r := <-done:
		return r.resp, r.err
	case <-ctx.Done():
		return llm.Response{}, rule.Errorf(rule.CodeUnavailable, "the model did not answer in time: %w", ctx.Err())
	}
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
	if len(text) <= maxAnswer {
		return text
	}
	return fmt.Sprintf("%s... (%d bytes in all)", cut(text, maxAnswer/16), len(text))
}
