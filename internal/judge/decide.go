package judge

import (
	"context"
	"slices"
	"sync"

	"tenet/internal/judge/probe"
	"tenet/internal/ledger"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// decision is one Decide: a subject in units, and the state of each rule on them.
type decision struct {
	j        *Judge
	source   source
	caller   string // see [For]
	subject  *subject.Subject
	rules    []*rule.Rule
	contents []string // content hashes of the rules
	plan     plan
	redacted int
	layout   layout
	seed     [32]byte
	nonce    nonce
	// recordSeed and recordNonce are those that calls record: seed and nonce, or those of the decision that this one is part of.
	recordSeed  [32]byte
	recordNonce nonce
	// samples returns rules of the corpus to make control rules of; nil for none.
	samples func() []probe.Sample
	// keys are those of stored verdicts, once they have been looked up.
	keys *cacheKeys
	// apart marks a decision about the text of a subject alone; address is that of this decision's subject.
	apart   bool
	address *decision
	// injection says where the subject addresses the judge, instruction where it reads like an order to anybody.
	injection, instruction func() string

	mu       sync.Mutex  // guards the fields below, and those of batches that say so
	states   []ruleState // by rule
	reused   []wire.ReusedVerdict
	spent    int // tokens, by estimate
	batches  []*batch
	finished bool
}

// ruleState holds the stored verdicts of one rule, and the units that they leave open.
type ruleState struct {
	// whole is a stored verdict of this very subject.
	whole *outcome
	// denied are stored denials by unit, allowedUnits counts the units that stored verdicts allow.
	denied       []outcome
	allowedUnits int
	// need are the units that the model has to see, in ascending order.
	need []int
}

// newDecision prepares a decision: it does all that needs neither model nor stored verdicts.
func (j *Judge) newDecision(s *subject.Subject, rules []*rule.Rule, p plan, redacted int) *decision {
	d := &decision{
		j: j, source: j, subject: s, rules: rules, plan: p, redacted: redacted, layout: newLayout(s, p.bytes, p.parts),
		contents: make([]string, len(rules)), states: make([]ruleState, len(rules)),
	}
	for i, r := range rules {
		d.contents[i] = r.ContentHash()
	}
	d.injection = sync.OnceValue(func() string { return findInjection(s) })
	d.instruction = sync.OnceValue(func() string { return findInstruction(s) })
	d.seed = seedOf(p.String(), &d.layout, d.contents)
	d.nonce = j.nonceOf(d.seed)
	d.recordSeed, d.recordNonce = d.seed, d.nonce
	if len(rules) > 0 && j.cfg.Samples != nil {
		d.samples = sync.OnceValue(func() []probe.Sample { return j.cfg.Samples(rules[0].ProjectID) })
	}
	return d
}

// run finds the verdicts that can be found before the context ends: it looks up stored ones, asks the model about the units
// that these leave open, and asks again about the whole subject where single hunks do not suffice.
func (d *decision) run(ctx context.Context) {
	keys := d.cacheKeys()
	d.locked(func() { d.keys = keys })
	d.takeStored(keys, d.source.lookUp(ctx, d.rules, keys))
	epochs := map[string]int64{}
	for _, project := range projectsOf(d.rules) {
		epochs[project] = d.source.epoch(ctx, project)
	}
	need := make([][]int, len(d.rules))
	for i := range d.states {
		need[i] = d.states[i].need
	}
	wait := judgeText(ctx, d, need)
	purpose := CallJudge
	if d.apart {
		purpose = CallAddress
	}
	d.ask(ctx, d.groups(need), purpose)
	again := false
	for i := range need {
		if need[i] = nil; d.needsWhole(i) {
			need[i], again = d.layout.all(), true
		}
	}
	if again && ctx.Err() == nil {
		d.ask(ctx, d.groups(need), CallWhole)
	}
	wait()
	d.locked(func() { d.finished = true })
	d.store(keys, epochs)
}

func (d *decision) locked(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// ask runs the batches of groups side by side; the judge's concurrency limit holds them back.
func (d *decision) ask(ctx context.Context, groups []*group, purpose string) {
	var list []*batch
	for _, g := range groups {
		list = append(list, d.newBatches(g, purpose)...)
	}
	d.locked(func() { d.batches = append(d.batches, list...) })
	var wg sync.WaitGroup
	for _, b := range list {
		if b.withinBudget {
			wg.Go(func() { b.run(ctx) })
		}
	}
	wg.Wait()
}

// needsWhole reports whether the model, shown some units of the subject, came to a verdict that only the whole can give:
// that it cannot decide, that something is missing, or that several places count together. A conclusive denial needs no more.
func (d *decision) needsWhole(i int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	needs := false
	for _, b := range d.batches {
		n := slices.Index(b.members, i)
		if n < 0 || b.group.whole {
			continue
		}
		switch o := &b.outcomes[n]; {
		case !o.decided():
		case o.conclusive():
			return false
		default:
			needs = needs || o.finding == ledger.Doubtful || o.absent || o.together
		}
	}
	return needs && len(d.states[i].denied) == 0
}
