package evaluate

import (
	"context"
	"slices"
	"sync"

	"tenet/internal/corpus"
	"tenet/internal/judge"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// Past is a recorded evaluation that other rules can decide again.
type Past struct {
	e   *Evaluator
	rec *wire.EvaluationRecord
}

// Recent returns the newest recorded evaluations with an overall verdict, limit at most. Those whose record was removed by
// retention are left out.
func (e *Evaluator) Recent(ctx context.Context, projectID string, verdict rule.Verdict, limit int) ([]*Past, error) {
	records, err := e.Archive.Recent(ctx, projectID, verdict, limit)
	list := make([]*Past, len(records))
	for i, rec := range records {
		list[i] = &Past{e, rec}
	}
	return list, err
}

// ID is that of the evaluation.
func (p *Past) ID() string { return p.rec.Evaluation.EvaluationID }

// Verdict is the overall verdict that was given.
func (p *Past) Verdict() rule.Verdict { return p.rec.Evaluation.OverallVerdict }

// Rules are the ids of the rules that were judged.
func (p *Past) Rules() []string {
	ids := make([]string, len(p.rec.Rules))
	for i := range p.rec.Rules {
		ids[i] = p.rec.Rules[i].RuleID
	}
	return ids
}

// Under decides the recorded subject by the rules of a view as they are in force now, and records nothing. A rule that says
// what it said then keeps its recorded verdict. With asks false it asks no model: verdicts that would need one are left
// undecided, and open is the cost of asking for them. It fails with code conflict if the record does not hold what is needed.
func (p *Past) Under(ctx context.Context, view *corpus.View, asks bool) (e *rule.Evaluation, open rule.Estimate, err error) {
	rec := p.rec
	if rec.Kept == wire.KeepNone {
		return nil, open, rule.Errorf(rule.CodeConflict, "the record does not hold the subject (setting record_subjects: none)")
	}
	if !rec.Whole() {
		return nil, open, rule.Errorf(rule.CodeConflict, "the personal data of the record cannot be read, or are forgotten")
	}
	if rec.Evaluation.Suspended != nil {
		return nil, open, rule.Errorf(rule.CodeConflict, "the agent was suspended, so the rules had no say")
	}
	by := p.e.cfg.Judge
	if rec.Personal != nil { // its verdicts are not stored
		by = p.e.cfg.Fresh
	}
	counter := &counter{judge: by, estimate: p.e.cfg.Estimate, estimateTriage: p.e.cfg.EstimateTriage, asks: asks}
	r := again(ctx, p.e, rec)
	r.start, r.view, r.judge, r.recordedVerdict, r.before = p.e.cfg.Now(), view, counter, p.verdicts(), nil
	r.listAll = true
	if err := r.parse(ctx); err != nil {
		return nil, open, rule.Errorf(rule.CodeConflict, "the recorded subject cannot be read: %w", err)
	}
	if err := through(ctx, r.findPolicy, r.findNode, r.selectRules); err != nil {
		return nil, open, err
	}
	if len(rec.Redactions) > 0 && slices.ContainsFunc(r.sel.chosen, func(c chosen) bool { _, ok := r.recordedVerdict(&c); return !ok }) {
		return nil, open, rule.Errorf(rule.CodeConflict, "secrets were taken out of the record, so another rule cannot be tried on it")
	}
	r.uncoveredApproved = rec.Evaluation.Coverage.UncoveredApproved
	if err := r.decide(ctx); err != nil {
		return nil, open, err
	}
	if rec.Personal != nil { // results are stored
		return (&wire.EvaluationRecord{Evaluation: r.answer}).Strip(rec.Personal.Fields).Evaluation, counter.open, nil
	}
	return r.answer, counter.open, nil
}

// verdicts returns a lookup of the recorded verdict of a rule that still has the content that was judged. It leaves out verdicts that
// nothing decided.
func (p *Past) verdicts() func(*chosen) (rule.RuleVerdict, bool) {
	hashes := make(map[string]string, len(p.rec.Rules))
	for _, r := range p.rec.Rules {
		hashes[r.RuleID] = r.ContentHash
	}
	verdicts := make(map[string]*rule.RuleVerdict, len(p.rec.Rules))
	for i := range p.rec.Evaluation.RuleVerdicts {
		v := &p.rec.Evaluation.RuleVerdicts[i]
		verdicts[v.RuleID] = v
	}
	triagedOut := map[string]string{} // content hashes by id
	if t := p.rec.Triage; t != nil {
		for i := range t.Rules {
			if t.Rules[i].Outcome == wire.TriageRuledOut {
				triagedOut[t.Rules[i].RuleID] = t.Rules[i].ContentHash
			}
		}
	}
	return func(c *chosen) (rule.RuleVerdict, bool) {
		v := verdicts[c.Rule.ID]
		if hash := triagedOut[c.Rule.ID]; v == nil && hash != "" && hash == c.ContentHash() {
			out := blank(c.Rule)
			out.DecidedBy, out.Confidence, out.Reasoning = rule.ByTriage, judge.OneLook, ruledOutReason
			return out, true
		}
		if v == nil || v.DecidedBy == rule.ByNone || hashes[c.Rule.ID] != c.ContentHash() {
			return rule.RuleVerdict{}, false
		}
		return *v, true
	}
}

// counter counts the questions to a judge, and passes them on only if it may.
type counter struct {
	judge    Judge
	estimate func(s *subject.Subject, rules []*rule.Rule) rule.Estimate
	// estimateTriage is that of the triage before.
	estimateTriage func(s *subject.Subject, rules []*rule.Rule) rule.Estimate
	asks           bool

	mu   sync.Mutex
	open rule.Estimate
}

// Decide implements [Judge].
func (c *counter) Decide(ctx context.Context, s *subject.Subject, rules []*rule.Rule) judge.Result {
	estimate := rule.Estimate{Verdicts: len(rules)}
	if c.estimate != nil {
		estimate = c.estimate(s, rules)
	}
	c.mu.Lock()
	c.open.Add(estimate)
	c.mu.Unlock()
	if !c.asks {
		return judge.Result{}
	}
	return c.judge.Decide(ctx, s, rules)
}

// Triage implements [Judge].
func (c *counter) Triage(ctx context.Context, s *subject.Subject, rules []*rule.Rule) judge.Triaged {
	if c.estimateTriage != nil {
		estimate := c.estimateTriage(s, rules)
		c.mu.Lock()
		c.open.Add(estimate)
		c.mu.Unlock()
	}
	if !c.asks {
		return judge.Triaged{}
	}
	return c.judge.Triage(ctx, s, rules)
}
