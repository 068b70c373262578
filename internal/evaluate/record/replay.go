package record

import (
	"fmt"
	"slices"

	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// redacted is why a verdict cannot be replayed that rests on what was taken out.
const redacted = "redacted"

// samePrompts reports whether every prompt that was made again is one that was sent.
func samePrompts(sent, made []wire.ModelCall) bool {
	hashes := make(map[string]bool, len(sent))
	for i := range sent {
		hashes[sent[i].PromptHash] = true
	}
	return !slices.ContainsFunc(made, func(c wire.ModelCall) bool { return !hashes[c.PromptHash] })
}

// Again is a recorded evaluation, decided again.
type Again struct {
	Evaluation *rule.Evaluation
	Live       bool             // the model was asked again
	Calls      []wire.ModelCall // the calls that were made, or replayed
	// Triage has the outcomes of the triage that was done again, by rule; nil if none was.
	Triage map[string]wire.TriageOutcome
	// LostRules says by id why rules of the record are not what was judged.
	LostRules map[string]string
}

// NotReplayed returns the replay of a record of which nothing can be decided again: problem says why, and reason the same of
// each verdict. agrees is false if the record contradicts itself.
func NotReplayed(rec *wire.EvaluationRecord, live, agrees bool, problem, reason string) *wire.Replay {
	out := newReplay(rec, live)
	out.Agrees, out.Problem = agrees, problem
	for i := range rec.Evaluation.RuleVerdicts {
		addReplayed(out, &rec.Evaluation.RuleVerdicts[i], wire.ReplayImpossible, reason, nil)
	}
	return out
}

// Compare returns how far again agrees with its record. A verdict that differs where secrets were taken out of the record
// does not count as a disagreement: with them it might not differ.
func Compare(rec *wire.EvaluationRecord, again Again) *wire.Replay {
	out := newReplay(rec, again.Live)
	if again.Live {
		out.Cost = again.Evaluation.Cost
	} else if len(rec.Redactions) == 0 && !samePrompts(rec.Calls, again.Calls) {
		out.Problem, out.Agrees = "What the record leads to asking the model is not what it was asked.", false
	}
	out.Triaged = len(again.Triage)
	if n := triageDiffers(rec, again.Triage); n > 0 {
		out.Problem, out.Agrees = fmt.Sprintf("Triage comes out differently for %s.", text.Plural(n, "rule")), false
	}
	now := map[string]*rule.RuleVerdict{}
	for i := range again.Evaluation.RuleVerdicts {
		now[again.Evaluation.RuleVerdicts[i].RuleID] = &again.Evaluation.RuleVerdicts[i]
	}
	for i := range rec.Evaluation.RuleVerdicts {
		was := &rec.Evaluation.RuleVerdicts[i]
		v := now[was.RuleID]
		if v == nil {
			addReplayed(out, was, wire.ReplayImpossible, again.LostRules[was.RuleID], nil)
			continue
		}
		reason := difference(was, v)
		switch {
		case reason == "":
			addReplayed(out, was, wire.ReplaySame, "", nil)
		case len(rec.Redactions) > 0 && !judged(was.DecidedBy):
			addReplayed(out, was, wire.ReplayImpossible, redacted, nil)
		default:
			addReplayed(out, was, wire.ReplayDiffers, reason, v)
		}
	}
	switch {
	case len(rec.Rules) != len(rec.Evaluation.RuleVerdicts):
		out.Problem, out.Agrees = "The record does not hold one verdict for each rule that was judged.", false
	case out.Differing+out.Unreplayable == 0 && again.Evaluation.OverallVerdict != rec.Evaluation.OverallVerdict:
		out.Problem, out.Agrees = "The overall verdict does not follow from the verdicts of the rules, from which it is "+string(again.Evaluation.OverallVerdict)+".", false
	}
	return out
}

// triageDiffers counts the rules for which a triage that was done again has another outcome than the record.
func triageDiffers(rec *wire.EvaluationRecord, again map[string]wire.TriageOutcome) (n int) {
	if rec.Triage == nil || again == nil {
		return 0
	}
	for i := range rec.Triage.Rules {
		if was := &rec.Triage.Rules[i]; again[was.RuleID] != was.Outcome {
			n++
		}
	}
	return n
}

func newReplay(rec *wire.EvaluationRecord, live bool) *wire.Replay {
	return &wire.Replay{
		EvaluationID: rec.Evaluation.EvaluationID, Live: live, Agrees: true, OverallVerdict: rec.Evaluation.OverallVerdict,
		Rules: []wire.ReplayedRule{},
	}
}

func addReplayed(out *wire.Replay, v *rule.RuleVerdict, o wire.ReplayOutcome, reason string, now *rule.RuleVerdict) {
	out.Rules = append(out.Rules, wire.ReplayedRule{RuleID: v.RuleID, RuleSlug: v.RuleSlug, Outcome: o, Reason: reason, Recorded: v.Verdict, Replayed: now})
	switch o {
	case wire.ReplaySame:
	case wire.ReplayDiffers:
		out.Agrees = false
		out.Differing++
	case wire.ReplayImpossible:
		out.Unreplayable++
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
