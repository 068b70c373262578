package judge

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// recordedSource returns the answers and stored verdicts that a record holds.
type recordedSource struct {
	mu       sync.Mutex
	calls    map[string][]wire.ModelCall
	verdicts map[[2]string]string // by unit and rule
}

// reasonVersion is why a record cannot be replayed.
const reasonVersion = "The record was made with another version of the judge's prompt and cannot be replayed."

func replay(ctx context.Context, s *subject.Subject, rules []*rule.Rule, calls []wire.ModelCall, reused []wire.ReusedVerdict) Result {
	seed, nonce, written := origin(rules, calls, reused)
	p, ok := parsePlan(written)
	if !ok {
		return allUndecided(rules, reasonVersion)
	}
	j := New(Config{MaxTokens: p.tokens, Profile: p.profile})
	s, secrets := j.redactor.Subject(s)
	d := j.newDecision(s, rules, p, len(secrets))
	r := &recordedSource{calls: map[string][]wire.ModelCall{}, verdicts: map[[2]string]string{}}
	for _, c := range calls {
		if c.Seed == seed {
			r.calls[callKey(&c)] = append(r.calls[callKey(&c)], c)
		}
	}
	for _, u := range reused {
		r.verdicts[[2]string{u.Unit, u.Rule}] = u.Entry
	}
	d.source = r
	fillHex(d.seed[:], seed)
	fillHex(d.nonce[:], nonce)
	d.recordSeed, d.recordNonce = d.seed, d.nonce
	d.run(ctx)
	return d.conclude()
}

// origin finds seed, nonce and plan of the decision about these rules, in its first call or reused verdict.
func origin(rules []*rule.Rule, calls []wire.ModelCall, reused []wire.ReusedVerdict) (seed, nonce, plan string) {
	ours := map[string]bool{}
	for _, r := range rules {
		ours[r.ID] = true
	}
	for _, c := range calls {
		if !slices.ContainsFunc(c.Rules, func(id string) bool { return !ours[id] }) {
			return c.Seed, c.Nonce, c.Plan
		}
	}
	for _, u := range reused {
		if ours[u.RuleID] && u.Plan != "" {
			return u.Seed, "", u.Plan
		}
	}
	return "", "", ""
}

// fillHex reads hex into dst, and leaves dst as it is if text is not that.
func fillHex(dst []byte, text string) {
	if b, err := hex.DecodeString(text); err == nil && len(b) == len(dst) {
		copy(dst, b)
	}
}

// callKey identifies a call within its decision.
func callKey(c *wire.ModelCall) string {
	key := fmt.Sprint(c.Purpose, c.Part, c.Units, strings.Join(c.Rules, ","))
	if c.Purpose == CallControl && len(c.Controls) > 0 {
		key += llm.JSON(c.Controls[0])
	}
	return key
}

// answer implements source.
func (r *recordedSource) answer(_ context.Context, _ question, call *wire.ModelCall, _ llm.Request) (llm.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.calls[callKey(call)]
	if len(list) == 0 {
		return llm.Response{}, errNotRecorded
	}
	c := list[0]
	r.calls[callKey(call)] = list[1:]
	call.DurationMS, call.Model = c.DurationMS, c.Model
	resp := llm.Response{Text: c.Raw, InputTokens: c.InputTokens, OutputTokens: c.OutputTokens, CachedTokens: c.CachedTokens}
	if c.Error != "" {
		return resp, rule.Errorf(rule.Code(c.ErrorCode), "%s", c.Error)
	}
	return resp, nil
}

// epoch implements source.
func (r *recordedSource) epoch(context.Context, string) int64 { return 0 }

// probes implements source.
func (r *recordedSource) probes(q question) []placed {
	r.mu.Lock()
	defer r.mu.Unlock()
	if list := r.calls[q.key]; len(list) > 0 && len(list[0].Controls) > 0 {
		return probesOf(list[0].Controls)
	}
	return nil
}

// lookUp implements source.
func (r *recordedSource) lookUp(context.Context, []*rule.Rule, *cacheKeys) lookup {
	return func(_, unit, rule string) (string, bool) {
		entry, ok := r.verdicts[[2]string{unit, rule}]
		return entry, ok
	}
}

// store implements source: a replay stores nothing.
func (r *recordedSource) store([]store.Verdict) {}
