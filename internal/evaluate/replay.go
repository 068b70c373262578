package evaluate

import (
	"context"
	"fmt"
	"slices"

	"tenet/internal/corpus"
	"tenet/internal/evaluate/record"
	"tenet/internal/judge"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// again starts the run that decides a recorded evaluation another time. Waivers are those of the record.
func again(ctx context.Context, e *Evaluator, rec *wire.EvaluationRecord) *run {
	req := &Request{
		ProjectID: rec.Evaluation.ProjectID, Input: rec.Subject,
		EvaluateOptions: wire.EvaluateOptions{NodeID: rec.NodeID, Environment: rec.Environment, Mode: rec.Evaluation.Mode, MaxRules: rec.MaxRules, SeverityMin: rec.SeverityMin},
	}
	r := newRun(ctx, e, req, rec.Evaluation.Timestamp)
	r.waiver, r.before = rec.Waiver, rec.Evaluation
	return r
}

// Replay decides an evaluation again from its record: the checks of the recorded versions of the rules on the recorded
// subject, and the judge by the recorded answers of the model, or with live by asking the model. It records nothing. The
// error is not_found without the record.
func (e *Evaluator) Replay(ctx context.Context, projectID, id string, live bool) (*wire.Replay, error) {
	rec, err := e.Get(ctx, projectID, id)
	if err != nil {
		return nil, err
	}
	if rec.Kept == wire.KeepNone {
		return record.NotReplayed(rec, live, true, "The record does not hold the subject (setting record_subjects: none).", "the subject was not kept"), nil
	}
	if !rec.Whole() {
		return record.NotReplayed(rec, live, true, "The personal data of the record cannot be read, or are forgotten.", string(rec.Personal.State)), nil
	}
	if rec.Evaluation.Suspended != nil {
		return record.NotReplayed(rec, live, true, "The agent was suspended, so the rules had no say.", "the agent was suspended"), nil
	}
	r := again(ctx, e, rec)
	problem := ""
	if err := r.parse(ctx); err != nil {
		problem = "The recorded subject cannot be read: " + err.Error()
	} else if len(rec.Redactions) == 0 && r.subject.Hash() != rec.SubjectHash && r.subject.HashWithoutModes() != rec.SubjectHash {
		problem = "The recorded subject does not have the recorded hash."
	}
	if problem != "" {
		return record.NotReplayed(rec, live, false, problem, "the recorded subject is damaged"), nil
	}
	view, list, lost, err := recordedRules(ctx, e.cfg.Records.Rules, rec)
	if err != nil {
		return nil, err
	}
	if r.triage.rules, err = recordedTriage(ctx, e.cfg.Records.Rules, rec, lost); err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(c chosen) bool { return lost[c.Rule.ID] != "" })
	r.view, r.sel.chosen = view, list
	if r.judge = e.cfg.Fresh; !live {
		r.judge = recordedJudge{rec}
	}
	if err := through(ctx, r.runChecks, r.decide); err != nil {
		return nil, err
	}
	return record.Compare(rec, record.Again{Evaluation: r.answer, Live: live, Calls: r.calls, LostRules: lost, Triage: r.triage.outcomes}), nil
}

// recordedRules are the rules of a record as they were, in a view of their own, and why others are not what they were, by id.
func recordedRules(ctx context.Context, rules store.RuleReader, rec *wire.EvaluationRecord) (view *corpus.View, list []chosen, lost map[string]string, err error) {
	lost = map[string]string{}
	var states []store.RuleState
	for _, want := range rec.Rules {
		r, err := rules.Version(ctx, rec.Evaluation.ProjectID, want.RuleID, want.Version)
		switch {
		case rule.CodeOf(err) == rule.CodeNotFound:
			lost[want.RuleID] = fmt.Sprintf("version %d of the rule is not there any more", want.Version)
		case err != nil:
			return nil, nil, nil, err
		case r.ContentHash() != want.ContentHash:
			lost[want.RuleID] = fmt.Sprintf("version %d of the rule is not what was judged", want.Version)
		default:
			states = append(states, store.RuleState{Rule: r})
		}
	}
	view, err = corpus.New(rec.Evaluation.CorpusVersion, states)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, s := range states {
		entry, ok := view.Get(s.Rule.ID)
		if !ok {
			return nil, nil, nil, fmt.Errorf("evaluate: rule %s of record %s is not in its view", s.Rule.ID, rec.Evaluation.EvaluationID)
		}
		list = append(list, chosen{Match: corpus.Match{Entry: entry}})
	}
	return view, list, lost, nil
}

// recordedJudge answers as the model did.
type recordedJudge struct{ rec *wire.EvaluationRecord }

// Decide implements [Judge].
func (j recordedJudge) Decide(ctx context.Context, s *subject.Subject, rules []*rule.Rule) judge.Result {
	return judge.Replay(ctx, s, rules, j.rec.Calls, j.rec.Reused)
}

// Triage implements [Judge].
func (j recordedJudge) Triage(ctx context.Context, s *subject.Subject, rules []*rule.Rule) judge.Triaged {
	return judge.ReplayTriage(ctx, s, rules, j.rec.Calls, j.rec.Triage.Reused)
}
