package evaluate

import (
	"context"
	"sync"

	"tenet/internal/audit"
	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/judge"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

// Past is a recorded evaluation that can be decided by other rules than it was.
type Past struct {
	e   *Evaluator
	rec *Record
}

// Recent returns the newest recorded evaluations with an overall verdict, limit at most. Those whose record was removed by
// retention are left out.
func (e *Evaluator) Recent(ctx context.Context, projectID string, verdict rule.Verdict, limit int) ([]*Past, error) {
	entries, _, err := e.cfg.Records.FindAudit(ctx, store.AuditFilter{
		ProjectID: projectID, Kind: audit.KindEvaluation, Verdict: string(verdict), Limit: limit,
	})
	if err != nil {
		return nil, err
	}
	list := make([]*Past, 0, len(entries))
	for _, entry := range entries {
		if len(entry.Body) == 0 {
			continue
		}
		rec, err := decode(entry)
		if err != nil {
			return nil, err
		}
		list = append(list, &Past{e, rec})
	}
	return list, nil
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
// what it said then keeps its recorded verdict. With asks false no model is asked: verdicts that would need one are left
// undecided, and open tells what asking for them would take. It fails with code conflict if the record does not hold what is needed.
func (p *Past) Under(ctx context.Context, view *corpus.View, asks bool) (e *rule.Evaluation, open rule.Estimate, err error) {
	rec := p.rec
	if rec.Kept == KeepNone {
		return nil, open, rule.Errorf(rule.CodeConflict, "the record does not hold the subject (setting record_subjects: none)")
	}
	s, err := subject.Build(rec.Subject)
	if err != nil {
		return nil, open, rule.Errorf(rule.CodeConflict, "the recorded subject cannot be read: %w", err)
	}
	now := p.e.cfg.Now()
	within, err := withinNode(view, rec.NodeID, s.Repository, now)
	if err != nil {
		return nil, open, err
	}
	counter := &counting{judge: p.e.cfg.Judge, estimate: p.e.cfg.Estimate, asks: asks}
	req := &Request{
		ProjectID: rec.Evaluation.ProjectID, Input: rec.Subject, NodeID: rec.NodeID, Mode: rec.Evaluation.Mode, MaxRules: rec.MaxRules,
		SeverityMin: rec.SeverityMin,
	}
	r := &run{
		e: p.e, req: req, subject: s, view: view, within: within, judge: counter, start: now, whole: part{s, check.Prepare(s)}, known: p.known(),
		waived: rec.waived,
	}
	r.sel = r.selectRules(ctx)
	if len(rec.Redactions) > 0 {
		for i := range r.sel.chosen {
			if _, ok := r.known(&r.sel.chosen[i]); !ok {
				return nil, open, rule.Errorf(rule.CodeConflict, "secrets were taken out of the record, so another rule cannot be tried on it")
			}
		}
	}
	e = r.decide(ctx)
	return e, counter.open, ctx.Err()
}

// known finds the recorded verdict of a rule whose content is what was judged. A verdict that nothing gave is none.
func (p *Past) known() func(*chosen) (rule.RuleVerdict, bool) {
	hashes := make(map[string]string, len(p.rec.Rules))
	for _, r := range p.rec.Rules {
		hashes[r.RuleID] = r.ContentHash
	}
	verdicts := make(map[string]*rule.RuleVerdict, len(p.rec.Rules))
	for i := range p.rec.Evaluation.RuleVerdicts {
		v := &p.rec.Evaluation.RuleVerdicts[i]
		verdicts[v.RuleID] = v
	}
	return func(c *chosen) (rule.RuleVerdict, bool) {
		v := verdicts[c.Rule.ID]
		if v == nil || v.DecidedBy == rule.ByNone || hashes[c.Rule.ID] != c.ContentHash() {
			return rule.RuleVerdict{}, false
		}
		return *v, true
	}
}

// counting counts what a judge is asked, and asks it only if it may.
type counting struct {
	judge    Judge
	estimate func(s *subject.Subject, rules []*rule.Rule) rule.Estimate
	asks     bool

	mu   sync.Mutex
	open rule.Estimate
}

// Decide implements [Judge].
func (c *counting) Decide(ctx context.Context, s *subject.Subject, rules []*rule.Rule) judge.Result {
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
