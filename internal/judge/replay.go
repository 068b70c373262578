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
	"tenet/internal/subject"
)

// record gives the answers and kept verdicts that were recorded.
type record struct {
	mu    sync.Mutex
	calls map[string][]Call
	kept  map[[2]string]string
}

// reasonVersion is why a record cannot be replayed.
const reasonVersion = "The record was made with another version of the judge's prompt and cannot be replayed."

func replay(ctx context.Context, s *subject.Subject, rules []*rule.Rule, calls []Call, reused []Reused) Result {
	seed, nonce, written := origin(rules, calls, reused)
	p, ok := parsePlan(written)
	if !ok {
		return undecided(rules, reasonVersion)
	}
	j := New(Config{MaxTokens: p.tokens})
	s, secrets := j.redactor.Subject(s)
	h := j.open(s, rules, p, len(secrets))
	r := &record{calls: map[string][]Call{}, kept: map[[2]string]string{}}
	for _, c := range calls {
		if c.Seed == seed {
			r.calls[place(&c)] = append(r.calls[place(&c)], c)
		}
	}
	for _, u := range reused {
		r.kept[[2]string{u.Unit, u.Rule}] = u.Entry
	}
	h.source = r
	fill(&h.seed, seed)
	fill(&h.nonce, nonce)
	h.hear(ctx)
	return h.conclude()
}

// origin finds what a hearing about these rules followed from, in the first call or kept verdict that was theirs.
func origin(rules []*rule.Rule, calls []Call, reused []Reused) (seed, nonce, plan string) {
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

// fill reads hex into dst, which stays as it is if there is nothing to read.
func fill(dst *[32]byte, text string) {
	if b, err := hex.DecodeString(text); err == nil && len(b) == len(dst) {
		copy(dst[:], b)
	}
}

// place is what tells the calls of a hearing apart.
func place(c *Call) string {
	return fmt.Sprint(c.Purpose, c.Part, c.Units, strings.Join(c.Rules, ","))
}

// answer implements source.
func (r *record) answer(_ context.Context, _ question, call *Call, _ llm.Request) (llm.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.calls[place(call)]
	if len(list) == 0 {
		return llm.Response{}, errNotRecorded
	}
	c := list[0]
	r.calls[place(call)] = list[1:]
	call.DurationMS, call.Model = c.DurationMS, c.Model
	resp := llm.Response{Text: c.Raw, InputTokens: c.InputTokens, OutputTokens: c.OutputTokens, CachedTokens: c.CachedTokens}
	if c.Error != "" {
		return resp, rule.Errorf(rule.Code(c.ErrorCode), "%s", c.Error)
	}
	return resp, nil
}

// recall implements source.
func (r *record) recall(context.Context, *hearing, *keys) kept { return r }

// get implements kept.
func (r *record) get(_, unit, rule string) (string, bool) {
	text, ok := r.kept[[2]string{unit, rule}]
	return text, ok
}

// keep implements source: a replay keeps nothing.
func (r *record) keep(*hearing, []keepsake) {}
