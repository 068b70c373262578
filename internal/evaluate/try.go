package evaluate

import (
	"context"

	"tenet/internal/audit"
	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

// Subject returns what was judged in a recorded evaluation, and its verdicts; not_found without it, conflict if its record
// does not hold the subject.
func (e *Evaluator) Subject(ctx context.Context, projectID, id string) (subject.Input, []rule.RuleVerdict, error) {
	record, err := e.Get(ctx, projectID, id)
	if err != nil {
		return subject.Input{}, nil, err
	}
	if record.Kept == KeepNone {
		return subject.Input{}, nil, rule.Errorf(rule.CodeConflict, "the record of evaluation %s does not hold the subject (setting record_subjects: none)", id)
	}
	return record.Subject, record.Evaluation.RuleVerdicts, nil
}

// Past returns those of the latest limit evaluations of a project that have a verdict of a rule, newest first. Those whose
// records do not hold the whole subject, or not any more, are left out: a rule would be tried on something else.
func (e *Evaluator) Past(ctx context.Context, projectID, ruleID string, limit int) ([]subject.Past, error) {
	entries, _, err := e.cfg.Records.FindAudit(ctx, store.AuditFilter{ProjectID: projectID, Kind: audit.KindEvaluation, Limit: limit})
	if err != nil {
		return nil, err
	}
	var past []subject.Past
	for _, entry := range entries {
		record, err := decode(entry)
		if isPruned(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if record.Kept == KeepNone || len(record.Redactions) > 0 {
			continue
		}
		for i := range record.Evaluation.RuleVerdicts {
			if v := &record.Evaluation.RuleVerdicts[i]; v.RuleID == ruleID {
				past = append(past, subject.Past{EvaluationID: entry.ID, Subject: record.Subject, Verdict: v.Verdict})
			}
		}
	}
	return past, nil
}

// tryID stands for the id of a rule that is not stored.
const tryID = "00000000-0000-7000-8000-000000000000"

// Try tells what one rule says of a subject, in the way of [Evaluator.Evaluate] but with nothing read and nothing recorded:
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
	t := &run{e: e, subject: s, judge: e.cfg.Judge, raw: true, whole: part{s, check.Prepare(s)}}
	t.sel.chosen = []chosen{{Match: corpus.Match{Entry: entry}}}
	if r.Check != nil {
		t.runCheck(ctx, &t.sel.chosen[0])
	}
	verdict, decided := t.byCheck(&t.sel.chosen[0])
	answer := &rule.Evaluation{RuleVerdicts: []rule.RuleVerdict{verdict}}
	if !decided {
		t.ask(ctx, answer, []int{0})
	}
	trial := rule.Trial{Raw: answer.RuleVerdicts[0].Verdict, Models: answer.ModelIDsUsed, Cost: answer.Cost}
	settle(&answer.RuleVerdicts[0])
	trial.Verdict = answer.RuleVerdicts[0]
	if !r.Judged() && trial.Verdict.Verdict == rule.Deny {
		trial.Verdict.Verdict = rule.NeedsConfirmation
		trial.Verdict.Reasoning += " (The rule is " + string(r.Modality) + ": evaluations show it as context and give no verdict for it.)"
	}
	return trial, nil
}
