package release

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"tenet/internal/corpus"
	"tenet/internal/rule"
)

// Limits of a simulation.
const (
	DefaultSample = 50
	MaxSample     = 1000
	// MaxExamples is how many changed verdicts a simulation shows; all are counted.
	MaxExamples = 50
)

// Recorded is an evaluation that was recorded and can be decided anew.
type Recorded interface {
	ID() string
	Verdict() rule.Verdict
	// Rules are the ids of the rules that were judged.
	Rules() []string
	// Under decides the recorded subject by the rules of a view, and records nothing. A rule that says what it said then keeps its
	// recorded verdict. With asks false no model is asked: verdicts that would need one are left undecided, and open tells what asking
	// for them would take. It fails with code conflict if the record does not hold the subject as it was.
	Under(ctx context.Context, view *corpus.View, asks bool) (e *rule.Evaluation, open rule.Estimate, err error)
}

// Replayer finds recorded evaluations.
type Replayer interface {
	// Recent returns the newest recorded evaluations with an overall verdict, limit at most.
	Recent(ctx context.Context, projectID string, verdict rule.Verdict, limit int) ([]Recorded, error)
}

// SimulateRequest says what to simulate.
type SimulateRequest struct {
	SnapshotID string `json:"snapshot_id" doc:"The snapshot whose rules would be active."`
	CompareTo  string `json:"compare_to" doc:"The snapshot whose rules are active now."`
	// SampleSize is 1 to [MaxSample]; 0 is [DefaultSample].
	SampleSize int `json:"sample_size" doc:"Recorded evaluations to replay."`
	// Seed draws the same evaluations of the same records when it is the same.
	Seed uint64 `json:"seed" doc:"What the sample is drawn with."`
	// DryRun asks no model. Evaluations that need one are not replayed, and what asking would cost is told.
	DryRun bool `json:"dry_run" doc:"Ask no model; tell what asking would cost."`
}

// Simulation tells what a switch of snapshots would change.
type Simulation struct {
	SnapshotID     string          `json:"snapshot_id" doc:"The snapshot that would be active."`
	CompareTo      string          `json:"compare_to" doc:"The snapshot it is compared with."`
	RulesAdded     int             `json:"rules_added" doc:"Rules that only the new snapshot holds."`
	RulesRemoved   int             `json:"rules_removed" doc:"Rules that only the other holds."`
	RulesModified  int             `json:"rules_modified" doc:"Rules that differ."`
	VerdictChanges VerdictChanges  `json:"verdict_changes" doc:"Overall verdicts of the replayed evaluations that change."`
	RiskLevel      Risk            `json:"risk_level" enum:"none,low,medium,high,critical" doc:"How much the switch may upset; docs/releases.md has the rule."`
	RiskReasons    []string        `json:"risk_reasons" nullable:"false" doc:"What the level rests on."`
	Examples       []VerdictChange `json:"examples" nullable:"false" doc:"Verdicts of single rules that change, the first 50, worst first."`
	Confidence     *rule.Rate      `json:"confidence,omitempty" doc:"Changed share of the sample with its 95 % interval; absent if nothing was replayed."`
	NotReplayed    []NotReplayed   `json:"not_replayed" nullable:"false" doc:"Evaluations of the sample that could not be replayed."`
	CostEstimate   rule.Estimate   `json:"cost_estimate" doc:"What the models would be asked, known before they are."`
	Cost           rule.Cost       `json:"cost" doc:"What the models were asked."`
	DryRun         bool            `json:"dry_run" doc:"True if no model was asked; evaluations that need one are among those not replayed."`
	Seed           uint64          `json:"seed" doc:"What the sample was drawn with."`
}

// VerdictChanges counts overall verdicts.
type VerdictChanges struct {
	TotalSampled int `json:"total_sampled" doc:"Evaluations replayed."`
	Changed      int `json:"changed" doc:"Of these, how many have another overall verdict."`
	AllowToDeny  int `json:"allow_to_deny" doc:"ALLOW before, DENY after."`
	DenyToAllow  int `json:"deny_to_allow" doc:"DENY before, ALLOW after."`
	Other        int `json:"other" doc:"All other changes."`
}

// VerdictChange is the verdict of one rule that changes.
type VerdictChange struct {
	EvaluationID string        `json:"evaluation_id" doc:"The recorded evaluation."`
	RuleID       string        `json:"rule_id" doc:"The rule."`
	RuleSlug     string        `json:"rule_slug,omitempty" doc:"Its slug."`
	Severity     rule.Severity `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Its severity."`
	Before       rule.Verdict  `json:"before" doc:"Verdict under the snapshot compared with; empty if the rule is not judged there."`
	After        rule.Verdict  `json:"after" doc:"Verdict under the new snapshot; empty if the rule is not judged there."`
	Why          string        `json:"why" doc:"What gives the new verdict, or why there is none."`
}

// NotReplayed is an evaluation that could not be replayed.
type NotReplayed struct {
	EvaluationID string `json:"evaluation_id" doc:"The recorded evaluation."`
	Reason       string `json:"reason" doc:"Why not."`
}

func (q *SimulateRequest) normalize() error {
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

// Simulate decides a sample of recorded evaluations under two snapshots and tells what differs. progress, if not nil, is told how many of how
// many evaluations are done.
func (r *Releases) Simulate(ctx context.Context, projectID string, q SimulateRequest, progress func(done, total int)) (*Simulation, error) {
	if err := q.normalize(); err != nil {
		return nil, err
	}
	d, err := r.Diff(ctx, projectID, q.CompareTo, q.SnapshotID)
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
	sample, err := r.sample(ctx, projectID, &q, &d)
	if err != nil {
		return nil, err
	}
	s := &Simulation{
		SnapshotID: q.SnapshotID, CompareTo: q.CompareTo, RulesAdded: d.RulesAdded, RulesRemoved: d.RulesRemoved, RulesModified: d.RulesModified,
		NotReplayed: []NotReplayed{}, DryRun: q.DryRun, Seed: q.Seed,
	}
	replays, err := replayAll(ctx, sample, before, after, !q.DryRun, progress)
	if err != nil {
		return nil, err
	}
	s.sum(replays)
	changes := s.Examples
	s.RiskLevel, s.RiskReasons = assess(&d, changes, s.VerdictChanges)
	s.Examples = changes[:min(len(changes), MaxExamples)]
	return s, nil
}

// sample draws evaluations from the newest records.
func (r *Releases) sample(ctx context.Context, projectID string, q *SimulateRequest, d *Difference) ([]Recorded, error) {
	changed := map[string]bool{}
	for _, n := range slices.Concat(d.Added, d.Removed) {
		changed[n.RuleID] = true
	}
	for i := range d.Modified {
		changed[d.Modified[i].RuleID] = true
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
	next := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	// Replays that wait for a model do not need a processor.
	for range min(4*runtime.GOMAXPROCS(0), max(len(sample), 1)) {
		wg.Go(func() {
			for i := range next {
				out[i] = replayOne(ctx, sample[i], before, after, asks)
				mu.Lock()
				done++
				if progress != nil {
					progress(done, len(sample))
				}
				mu.Unlock()
			}
		})
	}
	for i := range sample {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
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

// sum adds up replays.
func (s *Simulation) sum(replays []replay) {
	counts := &s.VerdictChanges
	for i := range replays {
		p := &replays[i]
		s.CostEstimate.Add(p.open)
		if p.problem != nil {
			s.NotReplayed = append(s.NotReplayed, NotReplayed{p.id, reason(p.problem)})
			continue
		}
		s.Cost.Add(p.before.Cost)
		s.Cost.Add(p.after.Cost)
		counts.TotalSampled++
		counts.count(p.before.OverallVerdict, p.after.OverallVerdict)
		s.Examples = append(s.Examples, p.changes()...)
	}
	slices.SortStableFunc(s.Examples, func(a, b VerdictChange) int { return cmp.Compare(weight(&b), weight(&a)) })
	if s.Examples == nil {
		s.Examples = []VerdictChange{}
	}
	s.Confidence = rule.Wilson(counts.Changed, counts.TotalSampled)
}

func (c *VerdictChanges) count(before, after rule.Verdict) {
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

// reason is what may be said of an error.
func reason(err error) string {
	if rule.CodeOf(err) == rule.CodeInternal {
		return "it could not be read"
	}
	return err.Error()
}

// changes lists the rules whose verdicts differ, in the order of the verdicts after, then of those before.
func (p *replay) changes() []VerdictChange {
	old := make(map[string]*rule.RuleVerdict, len(p.before.RuleVerdicts))
	for i := range p.before.RuleVerdicts {
		old[p.before.RuleVerdicts[i].RuleID] = &p.before.RuleVerdicts[i]
	}
	var out []VerdictChange
	for i := range p.after.RuleVerdicts {
		v := &p.after.RuleVerdicts[i]
		c := VerdictChange{EvaluationID: p.id, RuleID: v.RuleID, RuleSlug: v.RuleSlug, Severity: v.Severity, After: v.Verdict, Why: v.Reasoning}
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
			out = append(out, VerdictChange{
				EvaluationID: p.id, RuleID: v.RuleID, RuleSlug: v.RuleSlug, Severity: v.Severity, Before: v.Verdict, Why: "The rule is not judged under the new snapshot.",
			})
		}
	}
	return out
}

// weight orders changes: what loosens a severe rule first.
func weight(c *VerdictChange) int {
	w := slices.Index(rule.Severities, c.Severity)
	switch {
	case c.Before == rule.Deny:
		w += 20
	case c.Before == rule.Allow:
		w += 10
	}
	return w
}
