package record

import (
	"context"
	"unicode/utf8"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// MaxNote is the length of a note, in characters.
const MaxNote = 4000

// GiveFeedback notes whether the verdict of a rule, named by id or slug, in an evaluation was right, in place of what the
// same actor has said about it before. The error is not_found without the evaluation, and invalid if it has no verdict of the rule.
func (a *Archive) GiveFeedback(ctx context.Context, projectID, evaluationID, ruleRef string, correct bool, note string) (*wire.Feedback, error) {
	var p rule.Problems
	if n := utf8.RuneCountInString(note); n > MaxNote {
		p.Add("note", "has %d characters; at most %d are allowed", n, MaxNote)
	}
	if err := p.Err("the feedback is invalid"); err != nil {
		return nil, err
	}
	rec, err := a.Get(ctx, projectID, evaluationID)
	if err != nil {
		return nil, err
	}
	v, content := verdictIn(rec, ruleRef)
	if v == nil {
		p.Add("rule_id", "is %q, which has no verdict in this evaluation", ruleRef)
		return nil, p.Err("the feedback is invalid")
	}
	f := store.Feedback{
		ProjectID: projectID, EvaluationID: rec.Evaluation.EvaluationID, RuleID: v.RuleID, Actor: auth.ActorFrom(ctx).Name, Correct: correct, Note: note,
		RuleVersion: v.RuleVersion, ContentHash: content, Verdict: v.Verdict, Judged: judged(v.DecidedBy),
		At: rule.Instant(a.now()),
	}
	units, rules := rec.StoredKeys(v.RuleID)
	again := !correct && len(units) > 0 // it is judged again, for everybody
	if err := a.store.Update(ctx, func(tx store.Tx) error {
		if again {
			if _, err := tx.Verdicts.Prune(ctx, projectID, store.Prune{Units: units, Rules: rules}); err != nil {
				return err
			}
		}
		return tx.Feedback.Put(ctx, f)
	}); err != nil {
		return nil, err
	}
	a.feedback.forget(projectID)
	if again && a.store.Dropped != nil {
		a.store.Dropped(projectID)
	}
	return feedbackOf(f), nil
}

func judged(by rule.DecidedBy) bool { return by == rule.ByModel || by == rule.ByCache }

func feedbackOf(f store.Feedback) *wire.Feedback {
	return &wire.Feedback{
		EvaluationID: f.EvaluationID, RuleID: f.RuleID, RuleVersion: f.RuleVersion, Verdict: f.Verdict, Correct: f.Correct, Note: f.Note,
		Actor: f.Actor, At: f.At,
	}
}

// Feedback lists the feedback on an evaluation, by rule and actor; not_found without the evaluation.
func (a *Archive) Feedback(ctx context.Context, projectID, evaluationID string) ([]wire.Feedback, error) {
	if _, err := a.Get(ctx, projectID, evaluationID); err != nil && !IsPruned(err) {
		return nil, err
	}
	list, err := a.store.Feedback.List(ctx, projectID, evaluationID)
	if err != nil {
		return nil, err
	}
	out := make([]wire.Feedback, len(list))
	for i, f := range list {
		out[i] = *feedbackOf(f)
	}
	return out, nil
}
