package evaluate

import (
	"context"

	"tenet/internal/corpus"
	"tenet/internal/judge"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

// tryID is the id of a rule that is not stored.
const tryID = "00000000-0000-7000-8000-000000000000"

// unasked is the judge of a trial that asks no model.
type unasked struct{}

// Decide implements [Judge].
func (unasked) Decide(_ context.Context, _ *subject.Subject, rules []*rule.Rule) judge.Result {
	out := judge.Result{Verdicts: make([]rule.RuleVerdict, len(rules))}
	for i, r := range rules {
		out.Verdicts[i] = rule.RuleVerdict{
			RuleID: r.ID, Verdict: rule.NeedsConfirmation, DecidedBy: rule.ByNone, IssueDescription: "No check decides this.",
			Reasoning: "No check decides this, and no model was asked.",
		}
	}
	return out
}

// Triage implements [Judge].
func (unasked) Triage(context.Context, *subject.Subject, []*rule.Rule) judge.Triaged {
	return judge.Triaged{}
}

// Try judges a subject by one rule, in the way of [Evaluator.Evaluate] but without reading or recording anything:
// the rule need not be stored, and its status, period, severity and scope do not matter. The rule must be valid. With asks false it asks
// no model: what no check decides needs confirmation. The error is that of the subject.
func (e *Evaluator) Try(ctx context.Context, r rule.Rule, in subject.Input, asks bool) (rule.Trial, error) {
	by := e.cfg.Judge
	if !asks {
		by = unasked{}
	}
	s, err := subject.Build(in)
	if err != nil {
		return rule.Trial{}, err
	}
	if r.ID == "" {
		r.ID = tryID
	}
	view, err := corpus.New(0, []store.RuleState{{Rule: r}})
	if err != nil {
		return rule.Trial{}, err
	}
	entry, _ := view.Get(r.ID)
	t := &run{e: e, subject: s, judge: by, raw: true, whole: wholePart(s), view: view, req: &Request{}}
	t.sel.chosen = []chosen{{Match: corpus.Match{Entry: entry}}}
	if err := through(ctx, t.runChecks, t.outline, t.takeChecks, t.askJudge); err != nil {
		return rule.Trial{}, err
	}
	trial := rule.Trial{Raw: t.answer.RuleVerdicts[0].Verdict, Models: t.answer.ModelIDsUsed, Cost: t.answer.Cost}
	settle(&t.answer.RuleVerdicts[0])
	trial.Verdict = t.answer.RuleVerdicts[0]
	if !r.Judged() && trial.Verdict.Verdict == rule.Deny {
		trial.Verdict.Verdict = rule.NeedsConfirmation
		trial.Verdict.Reasoning += " (The rule is " + string(r.Modality) + ": evaluations show it as context and give no verdict for it.)"
	}
	return trial, nil
}
