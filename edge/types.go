package edge

import (
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Requests.
type (
	// Request asks for an evaluation of a diff, files, facts or an action. Questions to people (approval) need a server.
	Request = wire.EvaluateRequest
	// Applicable asks which rules would apply.
	Applicable = wire.ApplicableRequest
	// File is a file to evaluate; one without content is known by its path only.
	File = wire.InputFile
	// Options choose the rules that judge a subject.
	Options = wire.EvaluateOptions
	// Acting names the agent that acts and the person for whom it does.
	Acting = wire.Acting
)

// Answers.
type (
	// Evaluation is the answer to an evaluation request.
	Evaluation = rule.Evaluation
	// RuleVerdict is the answer of one rule.
	RuleVerdict = rule.RuleVerdict
	// Rule is a rule.
	Rule = rule.Rule
	// Verdict is the answer of one rule, or of a whole evaluation.
	Verdict = rule.Verdict
)

// Verdicts.
const (
	Allow             = rule.Allow
	Deny              = rule.Deny
	NeedsConfirmation = rule.NeedsConfirmation
)
