package judge

import (
	"context"
	"slices"
	"sync"

	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// hearing is one Decide: a subject in units, and what is known about each rule on them.
type hearing struct {
	j        *Judge
	source   source
	subject  *subject.Subject
	rules    []*rule.Rule
	contents []string // content hashes of the rules
	plan     plan
	redacted int
	docket   docket
	seed     [32]byte
	nonce    [32]byte
	// suspicion says what in the subject addresses the judge, orders what in it reads like an order to anybody.
	suspicion, orders func() string

	mu       sync.Mutex // guards what follows, and what sessions say about their calls
	matters  []matter   // by rule
	reused   []Reused
	spent    int // tokens, by estimate
	rounds   []*session
	finished bool
}

// source is where answers and kept verdicts come from: models and a cache, or a record.
type source interface {
	// answer asks for one answer and notes in the call how long that took. errNotRecorded means that there never was such a
	// call.
	answer(ctx context.Context, q question, call *Call, req llm.Request) (llm.Response, error)
	// recall looks up kept verdicts by project, units and rules.
	recall(ctx context.Context, h *hearing, k *keys) kept
	// keep takes verdicts to be kept.
	keep(h *hearing, list []keepsake)
}

// matter is what is known about one rule.
type matter struct {
	// whole is a kept verdict of this very subject.
	whole *outcome
	// denied are kept denials by unit, clear counts the units that kept verdicts allow.
	denied []outcome
	clear  int
	// need are the units that the model has to see, in ascending order.
	need []int
}

// hear finds out all that can be found out before the context ends.
func (h *hearing) hear(ctx context.Context) {
	k := h.keys()
	h.recall(ctx, k)
	need := make([][]int, len(h.rules))
	for i := range h.matters {
		need[i] = h.matters[i].need
	}
	h.round(ctx, h.groups(need), CallJudge)
	// What hunks by themselves do not tell is asked again about the whole.
	again := false
	for i := range need {
		if need[i] = nil; h.needsWhole(i) {
			need[i], again = h.docket.all(), true
		}
	}
	if again && ctx.Err() == nil {
		h.round(ctx, h.groups(need), CallWhole)
	}
	h.mu.Lock()
	h.finished = true
	h.mu.Unlock()
	h.keep(k)
}

// round runs the sessions about groups side by side; the judge's concurrency limit holds them back.
func (h *hearing) round(ctx context.Context, groups []*group, purpose string) {
	var list []*session
	for _, g := range groups {
		list = append(list, h.sessions(g, purpose)...)
	}
	h.mu.Lock()
	h.rounds = append(h.rounds, list...)
	h.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range list {
		if s.admitted {
			wg.Go(func() { s.run(ctx) })
		}
	}
	wg.Wait()
}

// needsWhole reports whether the model, shown some units of the subject, came to a verdict that only the whole can give:
// that it cannot tell, that something is missing, or that several places count together. What is denied by itself needs no
// more.
func (h *hearing) needsWhole(i int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	needs := false
	for _, s := range h.rounds {
		n := slices.Index(s.members, i)
		if n < 0 || s.group.whole {
			continue
		}
		switch o := &s.outcomes[n]; {
		case !o.decided():
		case o.stands():
			return false
		default:
			needs = needs || o.verdict == rule.NeedsConfirmation || o.absent || o.together
		}
	}
	return needs && len(h.matters[i].denied) == 0
}
