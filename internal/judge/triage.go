package judge

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"tenet/internal/ledger"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/turn"
	"tenet/internal/wire"
)

// Triaged is the result of a [Judge.Triage].
type Triaged struct {
	// Outcomes are by rule, in the order of the rules.
	Outcomes []wire.TriageOutcome
	// Reason says why outcomes are open; empty if none is.
	Reason string
	// Examined are the units of the subject that the model was shown for each rule that it ruled out. Gaps say why others were not.
	Examined *ledger.Set
	Gaps     map[int]string

	Cost   rule.Cost
	Models []string
	// Calls are all calls in a fixed order: by batch, by part, a repair after what it repairs.
	Calls []wire.ModelCall
	// Reused are the stored answers that were taken instead of calls.
	Reused []wire.ReusedTriage
	// Redacted is how many secrets were replaced before a model saw the subject.
	Redacted int

	spent int // tokens, by estimate
}

func (t Triaged) clone() Triaged {
	t.Outcomes = slices.Clone(t.Outcomes)
	t.Gaps = maps.Clone(t.Gaps)
	return t
}

// Account returns the account of a rule that triage has ruled out, which is about some units of the subject that was given.
func (t *Triaged) Account(units *ledger.Units, about *ledger.Set) ledger.Account {
	a := ledger.NewAccount(units, about)
	a.Examined(rule.ByTriage, t.Examined)
	for unit, reason := range t.Gaps {
		a.Gap(unit, reason)
	}
	return a
}

// spentKey is the key of the tokens that a context says are spent.
type spentKey struct{}

// After returns a context for the [Judge.Decide] that follows a triage: what the triage has sent counts against
// [Config.MaxTokens] there.
func (t *Triaged) After(ctx context.Context) context.Context {
	if t.spent == 0 {
		return ctx
	}
	return context.WithValue(ctx, spentKey{}, t.spent)
}

// after returns the plan with the tokens that are left of its budget.
func (p plan) after(ctx context.Context) plan {
	if spent, ok := ctx.Value(spentKey{}).(int); ok && p.tokens > 0 {
		p.tokens = max(1, p.tokens-spent) // 0 would mean no bound
	}
	return p
}

// OneLook is the confidence of what one look of a model gives.
const OneLook = 0.5

// Reasons of outcomes that are open.
const (
	triageNoModel = "no model is configured"
	triageFault   = "it broke off with an internal fault"
	triageUnasked = "its calls were not reached in time"
)

// Triage finds out which rules could concern s: the model sees the statements of all of them, in batches, and names those that
// could. It decides no rule. An outcome is ruled_out only if the model was shown all of s with the rule, answered its controls
// rightly, and did not name the rule for any part; it is kept if the model named the rule, and open in all other cases. Triage
// always answers: when the context or half of the total timeout ends, rules without an answer are open. Equal requests that run
// at the same time share their calls.
func (j *Judge) Triage(ctx context.Context, s *subject.Subject, rules []*rule.Rule) Triaged {
	switch {
	case len(rules) == 0:
		return Triaged{}
	case j.cfg.Model == nil:
		return openTriage(len(rules), triageNoModel)
	case s == nil || s.Empty():
		return openTriage(len(rules), "the subject is empty")
	}
	s, secrets := j.redactor.Subject(s)
	t := j.newTriage(s, rules, j.cfg.triagePlan(), len(secrets))
	t.caller = callerOf(ctx)
	t.source = j.of(t.caller)
	return j.triages.join(turn.With(ctx, rules[0].ProjectID), t)
}

// EstimateTriage returns the calls that Triage would make without stored answers and repairs. It makes none.
func (j *Judge) EstimateTriage(s *subject.Subject, rules []*rule.Rule) rule.Estimate {
	var e rule.Estimate
	if len(rules) == 0 || j.cfg.Model == nil || s == nil || s.Empty() {
		return e
	}
	t := j.newTriage(s, rules, j.cfg.triagePlan(), 0)
	if t.refusal() != "" {
		return e
	}
	t.plan(func(*triageBatch) []int { return t.layout.all() })
	for _, b := range t.batches {
		e.Calls += len(b.calls)
	}
	e.InputTokens = t.spent
	return e
}

func openTriage(n int, reason string) Triaged {
	t := Triaged{Outcomes: make([]wire.TriageOutcome, n), Reason: reason}
	for i := range t.Outcomes {
		t.Outcomes[i] = wire.TriageOpen
	}
	return t
}

// triage is one Triage: a subject in units and rules in batches.
type triage struct {
	j        *Judge
	source   source
	caller   string // see [For]
	rules    []*rule.Rule
	settings triagePlan
	redacted int
	layout   layout
	batches  []*triageBatch
	seed     [32]byte
	nonce    nonce
	// batchNonce makes the controls of a batch, which are the same for all subjects.
	batchNonce func(b *triageBatch) nonce
	// injection and instruction are as in decision.
	injection, instruction func() string

	mu     sync.Mutex // guards the fields below, and those of batches and calls that say so
	reused []wire.ReusedTriage
	spent  int // tokens, by estimate
}

func (j *Judge) newTriage(s *subject.Subject, rules []*rule.Rule, p triagePlan, redacted int) *triage {
	t := &triage{j: j, source: j, rules: rules, settings: p, redacted: redacted, layout: newLayout(s, p.bytes, p.parts)}
	t.batches = triageBatches(rules, p.batch)
	for _, b := range t.batches {
		b.t = t
	}
	t.injection = sync.OnceValue(func() string { return findInjection(s) })
	t.instruction = sync.OnceValue(func() string { return findInstruction(s) })
	keys := make([]string, len(t.batches))
	for i, b := range t.batches {
		keys[i] = b.key
	}
	t.seed = seedOf(p.String(), &t.layout, keys)
	t.nonce = j.nonceOf(t.seed)
	t.batchNonce = func(b *triageBatch) nonce {
		var n nonce
		copy(n[:], nonce(j.secret).derive("triage "+b.key))
		return n
	}
	return t
}

func (t *triage) locked(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

// refusal returns why triage may rule nothing out on the subject; empty if it may. Then no call is made.
func (t *triage) refusal() string {
	if where := t.injection(); where != "" {
		return "the subject holds text that seems to address the judge (" + where + ")"
	}
	for _, unit := range slices.Sorted(maps.Keys(t.layout.gaps)) {
		return "the model cannot be shown all of the subject (" + visible(t.layout.subject.At(unit).String()) + ": " + t.layout.gaps[unit] + ")"
	}
	if len(t.layout.units) == 0 {
		return "nothing of the subject can be shown to the model"
	}
	return ""
}

// run finds the answers that can be found before the context ends: stored ones, and for the units that these leave open those
// of the model.
func (t *triage) run(ctx context.Context) {
	if t.refusal() == "" {
		keys := t.cacheKeys()
		t.takeStored(keys, t.source.lookUp(ctx, t.representatives(), keys))
		epoch := t.source.epoch(ctx, t.representatives()[0].ProjectID)
		t.plan(func(b *triageBatch) []int { return b.need })
		var wg sync.WaitGroup
		for _, b := range t.batches {
			for _, c := range b.calls {
				wg.Go(func() { c.run(ctx) })
			}
		}
		wg.Wait()
		t.store(keys, epoch)
	}
}

// sharingKey implements shared.
func (t *triage) sharingKey() string {
	parts := []string{string(t.seed[:]), fmt.Sprint(t.redacted), t.caller}
	for _, r := range t.rules {
		parts = append(parts, r.ProjectID, r.ID, string(r.Modality), r.Statement)
	}
	return hashed(append(parts, t.layout.hidden()...)...)
}

// timeout implements shared. Judging takes the total timeout afterwards.
func (t *triage) timeout() time.Duration { return t.j.cfg.TotalTimeout / 2 }

// finish implements shared.
func (t *triage) finish(ctx context.Context) (r Triaged) {
	defer func() {
		if p := recover(); p != nil {
			t.j.cfg.Logger.ErrorContext(ctx, "triage broke off", "panic", p, "stack", string(debug.Stack()))
			r = openTriage(len(t.rules), triageFault)
		}
	}()
	t.run(ctx)
	return t.conclude()
}

// conclude implements shared. Calls in flight count as failed.
func (t *triage) conclude() Triaged {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := openTriage(len(t.rules), "")
	out.Redacted, out.Reused, out.spent = t.redacted, t.reused, t.spent
	out.Reason = t.refusal()
	if out.Reason == "" {
		all := make([]bool, len(t.layout.units))
		mark(all, t.layout.all())
		out.Examined, out.Gaps = t.layout.examined(all), t.layout.gaps
	}
	for _, b := range t.batches {
		out.Reason = cmp.Or(out.Reason, b.open())
		b.outcomes(out.Outcomes)
		for _, c := range b.calls {
			c.account(&out)
		}
	}
	if model := firstModel(t.settings.model); len(t.reused) > 0 && !slices.Contains(out.Models, model) {
		out.Models = append(out.Models, model)
	}
	return out
}
