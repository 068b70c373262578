package evaluate

import (
	"context"
	"fmt"
	"slices"

	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/judge"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

// Replay is what came of deciding a recorded evaluation again.
type Replay struct {
	EvaluationID string `json:"evaluation_id" doc:"The evaluation."`
	Live         bool   `json:"live" doc:"True if the model was asked again; else its recorded answers were used."`
	// Agrees is false if something that can be replayed came out differently.
	Agrees         bool           `json:"agrees" doc:"False if the record contradicts itself, or a verdict that can be replayed came out differently."`
	OverallVerdict rule.Verdict   `json:"overall_verdict" enum:"ALLOW,DENY,NEEDS_CONFIRMATION" doc:"The overall verdict that was given."`
	Rules          []ReplayedRule `json:"rules" nullable:"false" doc:"Each rule that was judged, in the order of the answer."`
	Differing      int            `json:"differing" doc:"Verdicts that came out differently."`
	Unreplayable   int            `json:"unreplayable" doc:"Verdicts that cannot be decided again from what is kept."`
	Problem        string         `json:"problem,omitempty" doc:"What is wrong with the record as a whole."`
	Cost           rule.Cost      `json:"cost" doc:"What asking the model again has cost."`
}

// Outcome of replaying one verdict.
type Outcome string

// Outcomes of replaying one verdict.
const (
	Same         Outcome = "same"
	Differs      Outcome = "differs"
	Unreplayable Outcome = "unreplayable"
)

// ReplayedRule is a verdict and what came of deciding it again.
type ReplayedRule struct {
	RuleID   string            `json:"rule_id" doc:"The rule."`
	RuleSlug string            `json:"rule_slug,omitempty" doc:"Its slug, if it has one."`
	Outcome  Outcome           `json:"outcome" enum:"same,differs,unreplayable" doc:"Whether it came out the same."`
	Reason   string            `json:"reason,omitempty" doc:"What differs, or why it cannot be replayed: redacted means that it rests on text that was taken out of the record."`
	Recorded rule.Verdict      `json:"recorded" enum:"ALLOW,DENY,NEEDS_CONFIRMATION" doc:"The verdict that was given."`
	Replayed *rule.RuleVerdict `json:"replayed,omitempty" doc:"The verdict now, where it differs."`
}

// redacted is why a verdict cannot be replayed that rests on what was taken out.
const redacted = "redacted"

// Replay decides an evaluation again from its record: the checks of the recorded versions of the rules on the recorded
// subject, and the judge by the recorded answers of the model, or with live by asking the model. Nothing is recorded. The error
// is not_found without the record.
func (e *Evaluator) Replay(ctx context.Context, projectID, id string, live bool) (*Replay, error) {
	rec, err := e.Get(ctx, projectID, id)
	if err != nil {
		return nil, err
	}
	out := &Replay{
		EvaluationID: rec.Evaluation.EvaluationID, Live: live, Agrees: true, OverallVerdict: rec.Evaluation.OverallVerdict,
		Rules: []ReplayedRule{},
	}
	if rec.Kept == KeepNone {
		out.Problem = "The record does not hold the subject (setting record_subjects: none)."
		out.all(rec, "the subject was not kept")
		return out, nil
	}
	s, err := subject.Build(rec.Subject)
	switch {
	case err != nil:
		out.Problem, out.Agrees = "The recorded subject cannot be read: "+err.Error(), false
	case len(rec.Redactions) == 0 && s.Hash() != rec.SubjectHash:
		out.Problem, out.Agrees = "The recorded subject does not have the recorded hash.", false
	}
	if !out.Agrees {
		out.all(rec, "the recorded subject is damaged")
		return out, nil
	}
	view, chosen, lost, err := e.recordedRules(ctx, rec)
	if err != nil {
		return nil, err
	}
	by := e.cfg.Fresh
	if !live {
		by = recordedJudge{rec}
	}
	r := &run{
		e: e, req: &Request{ProjectID: projectID, Input: rec.Subject, Mode: rec.Evaluation.Mode}, subject: s, view: view, judge: by,
		start: rec.Evaluation.Timestamp, whole: part{s, check.Prepare(s)}, sel: selection{chosen: chosen},
		waived: rec.waived,
	}
	for i := range r.sel.chosen {
		if c := &r.sel.chosen[i]; c.Rule.Check != nil {
			r.runCheck(ctx, c)
		}
	}
	again := r.decide(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if live {
		out.Cost = again.Cost
	} else if len(rec.Redactions) == 0 && !samePrompts(rec.Calls, r.calls) {
		out.Problem, out.Agrees = "What the record leads to asking the model is not what it was asked.", false
	}
	out.compare(rec, again, lost)
	switch {
	case len(rec.Rules) != len(rec.Evaluation.RuleVerdicts):
		out.Problem, out.Agrees = "The record does not hold one verdict for each rule that was judged.", false
	case out.Differing+out.Unreplayable == 0 && again.OverallVerdict != rec.Evaluation.OverallVerdict:
		out.Problem, out.Agrees = "The overall verdict does not follow from the verdicts of the rules, from which it is "+string(again.OverallVerdict)+".", false
	}
	return out, nil
}

// samePrompts reports whether every prompt that was made again is one that was sent.
func samePrompts(sent, made []judge.Call) bool {
	hashes := make(map[string]bool, len(sent))
	for i := range sent {
		hashes[sent[i].PromptHash] = true
	}
	return !slices.ContainsFunc(made, func(c judge.Call) bool { return !hashes[c.PromptHash] })
}

// recordedRules are the rules of a record as they were, in a view of their own, and why others are not what they were, by id.
func (e *Evaluator) recordedRules(ctx context.Context, rec *Record) (view *corpus.View, list []chosen, lost map[string]string, err error) {
	lost = map[string]string{}
	var states []store.RuleState
	for _, want := range rec.Rules {
		r, err := e.cfg.Records.RuleVersion(ctx, rec.Evaluation.ProjectID, want.RuleID, want.Version)
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
type recordedJudge struct{ rec *Record }

// Decide implements [Judge].
func (j recordedJudge) Decide(ctx context.Context, s *subject.Subject, rules []*rule.Rule) judge.Result {
	return judge.Replay(ctx, s, rules, j.rec.Calls, j.rec.Reused)
}

// all notes that no verdict can be replayed.
func (out *Replay) all(rec *Record, reason string) {
	for i := range rec.Evaluation.RuleVerdicts {
		out.add(&rec.Evaluation.RuleVerdicts[i], Unreplayable, reason, nil)
	}
}

func (out *Replay) add(v *rule.RuleVerdict, o Outcome, reason string, now *rule.RuleVerdict) {
	out.Rules = append(out.Rules, ReplayedRule{RuleID: v.RuleID, RuleSlug: v.RuleSlug, Outcome: o, Reason: reason, Recorded: v.Verdict, Replayed: now})
	switch o {
	case Same:
	case Differs:
		out.Agrees = false
		out.Differing++
	case Unreplayable:
		out.Unreplayable++
	}
}

// compare holds the verdicts now against the recorded ones. One that differs where secrets were taken out is not held
// against anybody: whether it would differ with them cannot be told.
func (out *Replay) compare(rec *Record, again *rule.Evaluation, lost map[string]string) {
	now := map[string]*rule.RuleVerdict{}
	for i := range again.RuleVerdicts {
		now[again.RuleVerdicts[i].RuleID] = &again.RuleVerdicts[i]
	}
	for i := range rec.Evaluation.RuleVerdicts {
		was := &rec.Evaluation.RuleVerdicts[i]
		v := now[was.RuleID]
		if v == nil {
			out.add(was, Unreplayable, lost[was.RuleID], nil)
			continue
		}
		reason := difference(was, v)
		switch {
		case reason == "":
			out.add(was, Same, "", nil)
		case len(rec.Redactions) > 0 && !judged(was.DecidedBy):
			out.add(was, Unreplayable, redacted, nil)
		default:
			out.add(was, Differs, reason, v)
		}
	}
}

// difference says in what two verdicts of a rule differ; empty if in nothing that counts. Words of reasons may change from
// version to version, and what the model says once it may say otherwise.
func difference(was, now *rule.RuleVerdict) string {
	switch {
	case was.Verdict != now.Verdict:
		return fmt.Sprintf("the verdict was %s and is %s now: %s", was.Verdict, now.Verdict, now.Reasoning)
	case (was.DecidedBy == rule.ByNone) != (now.DecidedBy == rule.ByNone):
		return fmt.Sprintf("it was decided by %s and is by %s now", was.DecidedBy, now.DecidedBy)
	case !slices.EqualFunc(was.Locations, now.Locations, func(a, b rule.Location) bool {
		return a.FilePath == b.FilePath && a.StartLine == b.StartLine && a.EndLine == b.EndLine
	}):
		return "it points to other lines now"
	case (was.Waiver == nil) != (now.Waiver == nil):
		return "it is waived by one and not by the other"
	case !slices.Equal(was.Evidence, now.Evidence):
		return "it rests on other evidence now"
	}
	return ""
}
