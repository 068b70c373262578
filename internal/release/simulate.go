package release

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Limits of a simulation.
const (
	DefaultSample = 50
	MaxSample     = 1000
	// MaxExamples is how many changed verdicts a simulation shows; all are counted.
	MaxExamples = 50
)

// Recorded is a recorded evaluation that can be decided again.
type Recorded interface {
	ID() string
	Verdict() rule.Verdict
	// Rules are the ids of the rules that were judged.
	Rules() []string
	// Under decides the recorded subject by the rules of a view, and records nothing. A rule that says what it said then keeps its
	// recorded verdict. With asks false it asks no model: verdicts that would need one are left undecided, and open says what asking
	// for them would take. It fails with code conflict if the record does not hold the subject as it was.
	Under(ctx context.Context, view *corpus.View, asks bool) (e *rule.Evaluation, open rule.Estimate, err error)
}

// Replayer finds recorded evaluations.
type Replayer interface {
	// Recent returns the newest recorded evaluations with an overall verdict, limit at most.
	Recent(ctx context.Context, projectID string, verdict rule.Verdict, limit int) ([]Recorded, error)
}

func normalizeSimulate(q *wire.SimulateRequest) error {
	var p rule.Problems
	if q.SampleSize == 0 {
		q.SampleSize = DefaultSample
	}
	if q.SampleSize < 1 || q.SampleSize > MaxSample {
		p.Add("sample_size", "is %d; use 1 to %d", q.SampleSize, MaxSample)
	}
	if q.CompareTo == "" {
		p.Add("compare_to", "must name the snapshot to compare with")
	} else if q.CompareTo == q.SnapshotID {
		p.Add("compare_to", "is the snapshot itself; compare with another one")
	}
	return p.Err("the simulation is invalid")
}

// Simulate decides a sample of recorded evaluations under two snapshots and returns the differences. progress, if not nil, gets how many of how
// many evaluations are done.
func (r *Releases) Simulate(ctx context.Context, projectID string, q wire.SimulateRequest, progress func(done, total int)) (*wire.Simulation, error) {
	if err := normalizeSimulate(&q); err != nil {
		return nil, err
	}
	d, err := r.difference(ctx, projectID, q.CompareTo, q.SnapshotID)
	if err != nil {
		return nil, err
	}
	before, err := r.views.View(ctx, projectID, q.CompareTo)
	if err != nil {
		return nil, err
	}
	after, err := r.views.View(ctx, projectID, q.SnapshotID)
	if err != nil {
		return nil, err
	}
	sample, err := r.sample(ctx, projectID, &q, d)
	if err != nil {
		return nil, err
	}
	s := &wire.Simulation{
		SnapshotID: q.SnapshotID, CompareTo: q.CompareTo, RulesAdded: len(d.added), RulesRemoved: len(d.removed), RulesModified: len(d.after),
		NotReplayed: []wire.NotReplayed{}, DryRun: q.DryRun, Seed: q.Seed,
	}
	replays, err := replayAll(ctx, sample, before, after, !q.DryRun, progress)
	if err != nil {
		return nil, err
	}
	sumUp(s, replays)
	changes := s.Examples
	s.RiskLevel, s.RiskReasons = assess(d, before, after, changes, s.VerdictChanges)
	s.Examples = changes[:min(len(changes), MaxExamples)]
	return s, nil
}

// sample draws evaluations from the newest records.
func (r *Releases) sample(ctx context.Context, projectID string, q *wire.SimulateRequest, d *difference) ([]Recorded, error) {
	changed := map[string]bool{}
	for _, ref := range slices.Concat(d.added, d.removed, d.after) {
		changed[ref.RuleID] = true
	}
	var all []Recorded
	for _, verdict := range rule.Verdicts {
		recent, err := r.replayer.Recent(ctx, projectID, verdict, pool(q.SampleSize))
		if err != nil {
			return nil, err
		}
		all = append(all, recent...)
	}
	return draw(all, q.SampleSize, changed, q.Seed), nil
}

// replay is one recorded evaluation under both snapshots.
type replay struct {
	id            string
	before, after *rule.Evaluation
	open          rule.Estimate // what a model must be asked
	problem       error
}

// replayAll replays a sample on all processors.
func replayAll(ctx context.Context, sample []Recorded, before, after *corpus.View, asks bool, progress func(done, total int)) ([]replay, error) {
	out := make([]replay, len(sample))
	var all errgroup.Group
	all.SetLimit(4 * runtime.GOMAXPROCS(0)) // replays that wait for a model do not need a processor
	var mu sync.Mutex
	done := 0
	for i := range sample {
		if ctx.Err() != nil {
			break
		}
		all.Go(func() error {
			out[i] = replayOne(ctx, sample[i], before, after, asks)
			mu.Lock()
			defer mu.Unlock()
			if done++; progress != nil {
				progress(done, len(sample))
			}
			return nil
		})
	}
	_ = all.Wait() // a replay notes its own error
	return out, ctx.Err()
}

func replayOne(ctx context.Context, r Recorded, before, after *corpus.View, asks bool) replay {
	out := replay{id: r.ID()}
	for _, side := range []struct {
		view *corpus.View
		into **rule.Evaluation
	}{{before, &out.before}, {after, &out.after}} {
		e, open, err := r.Under(ctx, side.view, false)
		if err == nil && open.Verdicts > 0 && asks {
			e, _, err = r.Under(ctx, side.view, true)
		}
		if err != nil {
			out.problem = err
			return out
		}
		out.open.Add(open)
		*side.into = e
	}
	if out.open.Verdicts > 0 && !asks {
		out.problem = rule.Errorf(rule.CodeConflict, "a model must give %d of its verdicts", out.open.Verdicts)
	}
	return out
}

// sumUp adds up replays.
func sumUp(s *wire.Simulation, replays []replay) {
	counts := &s.VerdictChanges
	for i := range replays {
		p := &replays[i]
		s.CostEstimate.Add(p.open)
		if p.problem != nil {
			s.NotReplayed = append(s.NotReplayed, wire.NotReplayed{EvaluationID: p.id, Reason: reason(p.problem)})
			continue
		}
		s.Cost.Add(p.before.Cost)
		s.Cost.Add(p.after.Cost)
		counts.TotalSampled++
		countChange(counts, p.before.OverallVerdict, p.after.OverallVerdict)
		changes := p.changes()
		s.Examples = append(s.Examples, changes...)
		if before, after := p.before.OverallVerdict, p.after.OverallVerdict; before != after {
			s.Flips = append(s.Flips, flipOf(p.id, before, after, changes))
		}
	}
	slices.SortStableFunc(s.Flips, func(a, b wire.SimulationFlip) int { return cmp.Compare(rank(&a), rank(&b)) })
	slices.SortStableFunc(s.Examples, func(a, b wire.VerdictChange) int { return cmp.Compare(weight(&b), weight(&a)) })
	if s.Examples == nil {
		s.Examples = []wire.VerdictChange{}
	}
	s.Confidence = rule.Wilson(counts.Changed, counts.TotalSampled)
}

// flipRules bounds the rules that a flip lists.
const flipRules = 3

func flipOf(id string, before, after rule.Verdict, changes []wire.VerdictChange) wire.SimulationFlip {
	slices.SortStableFunc(changes, func(a, b wire.VerdictChange) int { return cmp.Compare(weight(&b), weight(&a)) })
	return wire.SimulationFlip{
		EvaluationID: id, Before: before, After: after, Rules: slices.Clone(changes[:min(len(changes), flipRules)]), RulesChanged: len(changes),
	}
}

// rank orders flips: denials that fall away, then what is allowed no longer, then the others.
func rank(f *wire.SimulationFlip) int {
	switch {
	case f.Before == rule.Deny && f.After == rule.Allow:
		return 0
	case f.Before == rule.Deny:
		return 1
	case f.Before == rule.Allow:
		return 2
	}
	return 3
}

func countChange(c *wire.VerdictChanges, before, after rule.Verdict) {
	switch {
	case before == after:
		return
	case before == rule.Allow && after == rule.Deny:
		c.AllowToDeny++
	case before == rule.Deny && after == rule.Allow:
		c.DenyToAllow++
	default:
		c.Other++
	}
	c.Changed++
}

// reason returns the part of an error that callers may see.
func reason(err error) string {
	if rule.CodeOf(err) == rule.CodeInternal {
		return "it could not be read"
	}
	return err.Error()
}

// changes lists the rules whose verdicts differ, in the order of the verdicts after, then of those before.
func (p *replay) changes() []wire.VerdictChange {
	old := make(map[string]*rule.RuleVerdict, len(p.before.RuleVerdicts))
	for i := range p.before.RuleVerdicts {
		old[p.before.RuleVerdicts[i].RuleID] = &p.before.RuleVerdicts[i]
	}
	var out []wire.VerdictChange
	for i := range p.after.RuleVerdicts {
		v := &p.after.RuleVerdicts[i]
		c := wire.VerdictChange{EvaluationID: p.id, RuleID: v.RuleID, RuleSlug: v.RuleSlug, Severity: v.Severity, After: v.Verdict, Why: v.Reasoning}
		if was, ok := old[v.RuleID]; ok {
			c.Before = was.Verdict
			delete(old, v.RuleID)
		}
		if c.Before != c.After {
			out = append(out, c)
		}
	}
	for i := range p.before.RuleVerdicts {
		v := &p.before.RuleVerdicts[i]
		if _, gone := old[v.RuleID]; gone {
			out = append(out, wire.VerdictChange{
				EvaluationID: p.id, RuleID: v.RuleID, RuleSlug: v.RuleSlug, Severity: v.Severity, Before: v.Verdict, Why: "The rule is not judged under the new snapshot.",
			})
		}
	}
	return out
}

// weight orders changes: what loosens a severe rule first.
func weight(c *wire.VerdictChange) int {
	w := slices.Index(rule.Severities, c.Severity)
	switch {
	case c.Before == rule.Deny:
		w += 20
	case c.Before == rule.Allow:
		w += 10
	}
	return w
}
