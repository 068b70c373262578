package api

import (
	"cmp"
	"context"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Playground tries rules on samples.
type Playground struct {
	Sandbox *sandbox.Sandbox
	Catalog *catalog.Catalog
}

// Routes implements [rest.Resource].
func (s Playground) Routes(r *rest.Router) {
	rest.HandleBody(r.Tag(sandboxTag), rest.Operation{
		ID: "playground-evaluate", Route: op.PlaygroundEvaluate.Route(), Role: auth.Evaluator, Summary: "Try a rule on a sample",
		Description: "By the same checks and the same judge as real evaluations, but nothing is recorded or cached. The rule is inline, or " +
			"a stored one (rule_id) with the other rule fields in place of its own. Code takes precedence over facts; one of them is required.",
	}, s.play)
}

func (s Playground) play(ctx context.Context, _ *rest.None, body *wire.PlaygroundRequest) (answer wire.PlaygroundAnswer, err error) {
	r, err := s.rule(ctx, body)
	if err != nil {
		return answer, err
	}
	sample := sandbox.Sample{Code: body.SampleCode, Path: body.SamplePath, Facts: body.SampleFacts, ChecksOnly: body.ChecksOnly}
	trial, err := s.Sandbox.Play(ctx, r, sample)
	if err != nil {
		return answer, playgroundFields(err)
	}
	v := &trial.Verdict
	answer = wire.PlaygroundAnswer{
		Verdict: v.Verdict, Confidence: v.Confidence, Reasoning: v.Reasoning, IssueDescription: v.IssueDescription,
		Locations: v.Locations, Evidence: v.Evidence, DecidedBy: v.DecidedBy, ModelIDsUsed: trial.Models, Cost: trial.Cost,
	}
	if answer.ModelIDsUsed == nil {
		answer.ModelIDsUsed = []string{}
	}
	if v.Verdict != rule.Allow {
		answer.IssueDescription = cmp.Or(v.IssueDescription, v.Reasoning)
		answer.FixSuggestion = &v.FixSuggestion
	}
	return answer, nil
}

// rule returns the stored rule with the edits of the body, or the inline one.
func (s Playground) rule(ctx context.Context, body *wire.PlaygroundRequest) (rule.Rule, error) {
	r := rule.Rule{Statement: body.RuleStatement}
	switch {
	case body.RuleID != "":
		stored, err := s.Catalog.Get(ctx, rest.Project(ctx), body.RuleID)
		if err != nil {
			return r, err
		}
		if r = stored; body.RuleStatement != "" {
			r.Statement = body.RuleStatement
		}
		if body.Revision != nil {
			r = r.Clone()
			r.Assign(body.Revision)
		}
	case body.Revision != nil:
		return r, rest.InvalidField("rule_id", "is missing; name the stored rule that the revision changes")
	case body.RuleStatement == "":
		return r, rest.InvalidField("rule_statement", "is missing; give the text of a rule, or the rule_id of a stored one")
	}
	if body.RuleModality != "" {
		r.Modality = body.RuleModality
	}
	if body.RuleSeverity != "" {
		r.Severity = body.RuleSeverity
	}
	switch {
	case body.Check.Null:
		r.Check = nil
	case body.Check.Set:
		edited := body.Check.Value
		r.Check = &edited
	}
	return r, nil
}

// playgroundFields gives the fields of a rule the names that they have in the request.
func playgroundFields(err error) error {
	return rest.RenameFields(err, map[string]string{"statement": "rule_statement", "modality": "rule_modality", "severity": "rule_severity"})
}
