package api

import (
	"cmp"
	"context"
	"net/http"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
)

const sandboxTag = "Sandbox"

func (s *server) playgroundRoutes() {
	registerBody(s, operation{
		id: "playground-evaluate", method: http.MethodPost, path: "/api/v1/playground/evaluate", tag: sandboxTag, role: auth.Evaluator,
		summary: "Try a rule on a sample",
		description: "By the same checks and the same judge as real evaluations, but nothing is recorded, cached or kept. The rule is inline, or " +
			"a stored one (rule_id) with the other rule fields put in place of its own. Code goes before facts; with neither, there is nothing to judge.",
	}, s.play)
}

// PlaygroundRequest is the body of a sandbox evaluation.
type PlaygroundRequest struct {
	RuleID        string               `json:"rule_id,omitempty" nullable:"true" doc:"Id or slug of a stored rule to start from." example:"SEC-003"`
	RuleStatement string               `json:"rule_statement,omitempty" nullable:"true" doc:"Rule to evaluate against; required without rule_id." example:"No credentials in code."`
	RuleModality  rule.Modality        `json:"rule_modality,omitempty" nullable:"true" enum:"MUST,MUST_NOT,SHOULD,MAY,INFO" doc:"Default MUST; in any letter case."`
	RuleSeverity  rule.Severity        `json:"rule_severity,omitempty" nullable:"true" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Default MEDIUM; in any letter case."`
	Check         Optional[rule.Check] `json:"check,omitzero" doc:"Deterministic check of the rule; null takes that of a stored rule away."`
	SampleCode    string               `json:"sample_code,omitempty" nullable:"true" doc:"Code snippet or unified diff; the content tells which."`
	SamplePath    string               `json:"sample_path,omitempty" nullable:"true" maxLength:"1024" doc:"Path of the snippet; one that the rule concerns if absent." example:"app/settings.py"`
	SampleFacts   map[string]any       `json:"sample_facts,omitempty" nullable:"true" doc:"Keys and values; the text under the key narrative is the scenario in plain words."`
}

// PlaygroundAnswer is the verdict on a sample.
type PlaygroundAnswer struct {
	Verdict          rule.Verdict    `json:"verdict" enum:"ALLOW,DENY,NEEDS_CONFIRMATION" doc:"What an evaluation would tell."`
	Confidence       float64         `json:"confidence" minimum:"0" maximum:"1" doc:"0.0 to 1.0; 1.0 for checks."`
	Reasoning        string          `json:"reasoning" doc:"Explanation."`
	IssueDescription string          `json:"issue_description" doc:"The issue; empty for ALLOW."`
	FixSuggestion    *string         `json:"fix_suggestion" nullable:"true" doc:"How to fix it; null for ALLOW."`
	Locations        []rule.Location `json:"locations" nullable:"false" doc:"Code locations; typically empty for facts."`
	Evidence         []rule.Evidence `json:"evidence" nullable:"false" doc:"What the verdict rests on, found in the sample by the server."`
	DecidedBy        rule.DecidedBy  `json:"decided_by" enum:"check,model,none" doc:"What the verdict rests on."`
	ModelIDsUsed     []string        `json:"model_ids_used" nullable:"false" doc:"Identifiers of the language models used."`
	Cost             rule.Cost       `json:"cost" doc:"Model calls and tokens."`
}

type playgroundOutput struct{ Body PlaygroundAnswer }

func (s *server) play(ctx context.Context, _ *struct{ ProjectQuery }, body *PlaygroundRequest) (*playgroundOutput, error) {
	r, err := s.playedRule(ctx, body)
	if err != nil {
		return nil, err
	}
	sample := sandbox.Sample{Code: body.SampleCode, Path: body.SamplePath, Facts: body.SampleFacts}
	trial, err := s.cfg.Sandbox.Play(ctx, r, sample)
	if err != nil {
		return nil, playgroundFields(err)
	}
	v := &trial.Verdict
	answer := PlaygroundAnswer{
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
	return &playgroundOutput{answer}, nil
}

// playedRule is the stored rule with the edits of the body, or the inline one.
func (s *server) playedRule(ctx context.Context, body *PlaygroundRequest) (rule.Rule, error) {
	r := rule.Rule{Statement: body.RuleStatement}
	switch {
	case body.RuleID != "":
		stored, err := s.cfg.Catalog.Get(ctx, project(ctx), body.RuleID)
		if err != nil {
			return r, err
		}
		if r = stored; body.RuleStatement != "" {
			r.Statement = body.RuleStatement
		}
	case body.RuleStatement == "":
		return r, invalidField("rule_statement", "is missing; give the text of a rule, or the rule_id of a stored one")
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
	return renamed(err, map[string]string{"statement": "rule_statement", "modality": "rule_modality", "severity": "rule_severity"})
}
