package agent

import (
	"context"
	"fmt"
	"strings"

	"tenet/internal/rule"
)

// CheckResult is what the rules say of an action.
type CheckResult struct {
	Allowed    bool             `json:"allowed" doc:"True only if the overall verdict is ALLOW."`
	Verdict    rule.Verdict     `json:"verdict" enum:"ALLOW,DENY,NEEDS_CONFIRMATION" doc:"The overall verdict."`
	Evaluation *rule.Evaluation `json:"evaluation" doc:"The evaluation, with every verdict and its evidence. It is on record."`
}

// check judges what is about to happen: the intent alone, or a diff, files or facts that the intent describes.
func (a *Agents) check(ctx context.Context, req *Request, past []turn) (*reply, error) {
	intent := joined(req.Intent, past)
	in := &req.Input
	bare := in.Diff == "" && len(in.Files) == 0 && len(in.Facts) == 0
	switch {
	case bare && isDiff(intent):
		in.Diff = intent
	case bare && vague(intent, 2):
		return clarify("What exactly is to be done, to what, and by whom? Nothing was checked yet, so do not take this for a permission."), nil
	case bare:
		in.Action = intent
	default:
		in.Intent = intent
	}
	req.step("evaluation", "judging by the rules")
	e, err := a.cfg.Evaluator.Evaluate(ctx, req)
	if err != nil {
		return nil, err
	}
	out := judged(e)
	out.result = &CheckResult{Allowed: e.OverallVerdict == rule.Allow, Verdict: e.OverallVerdict, Evaluation: e}
	return out, nil
}

// judged is what follows from an evaluation, whatever it was for: NEEDS_CONFIRMATION waits for a person.
func judged(e *rule.Evaluation) *reply {
	out := &reply{trace: e.EvaluationID, confidence: leastConfidence(e), memory: string(e.OverallVerdict)}
	switch e.OverallVerdict {
	case rule.Allow:
		out.reasoning = fmt.Sprintf("All %d rules that concern it allow it.", e.RulesEvaluated)
		if e.RulesEvaluated == 0 {
			out.reasoning = "No rule in force concerns it."
		}
		if e.Coverage.RulesCut > 0 {
			out.followUps = append(out.followUps, fmt.Sprintf("%d more rules concern it and were not judged; narrow the scope, or evaluate with a larger max_rules.", e.Coverage.RulesCut))
		}
	case rule.Deny:
		out.reasoning = "It breaks " + named(e.Violations) + "."
		for _, v := range e.Violations {
			if v.FixSuggestion != "" {
				out.followUps = append(out.followUps, label(&v)+": "+v.FixSuggestion)
			}
		}
		out.followUps = append(out.followUps, "Mend what is broken and check again.")
	case rule.NeedsConfirmation:
		out.status = PendingApproval
		out.reasoning = "Nobody could clear it by " + named(e.Warnings) + ", so a person has to confirm it."
		for _, v := range e.Warnings[:min(len(e.Warnings), 3)] {
			out.followUps = append(out.followUps, label(&v)+": "+cut(v.Reasoning, 300))
		}
		out.followUps = append(out.followUps, "Ask a person to confirm, or give more detail in the same session.")
	}
	for _, u := range e.Coverage.Unexamined[:min(len(e.Coverage.Unexamined), 3)] {
		out.followUps = append(out.followUps, "Not examined: "+u.Part+" ("+u.Reason+")")
	}
	out.memory += ": " + out.reasoning
	return out
}

// leastConfidence is the least of the verdicts that the overall verdict rests on; 1 where no rule had anything to say.
func leastConfidence(e *rule.Evaluation) float64 {
	least := 1.0
	for i := range e.RuleVerdicts {
		v := &e.RuleVerdicts[i]
		if v.Enforcement != rule.Shadow && v.Verdict == e.OverallVerdict {
			least = min(least, v.Confidence)
		}
	}
	return least
}

// named lists the rules of verdicts in words.
func named(verdicts []rule.RuleVerdict) string {
	const most = 5
	var labels []string
	for i := range verdicts[:min(len(verdicts), most)] {
		labels = append(labels, label(&verdicts[i]))
	}
	text := strings.Join(labels, ", ")
	if n := len(verdicts) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// label is the name of a rule for people.
func label(v *rule.RuleVerdict) string {
	if v.RuleSlug != "" {
		return v.RuleSlug
	}
	return `"` + cut(v.RuleStatement, 80) + `"`
}

// isDiff reports whether a text is a diff rather than words.
func isDiff(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "diff --git ") || strings.HasPrefix(text, "--- ") && strings.Contains(text, "\n+++ ") && strings.Contains(text, "\n@@ ")
}
