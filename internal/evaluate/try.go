package evaluate

import (
	"context"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

// tryID is the id of a rule that is not stored.
const tryID = "00000000-0000-7000-8000-000000000000"

// Try judges a subject by one rule, in the way of [Evaluator.Evaluate] but without reading or recording anything:
// the rule need not be stored, and its status, period, severity and scope do not matter. The rule must be valid. The error
// is that of the subject.
func (e *Evaluator) Try(ctx context.Context, r rule.Rule, in subject.Input) (rule.Trial, error) {
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
	t := &run{e: e, subject: s, judge: e.cfg.Judge, raw: true, whole: wholePart(s), view: view, req: &Request{}}
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
