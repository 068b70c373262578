package wire

import "tenet/internal/rule"

// ExplainRequest is the body that asks which rules would apply, and why. It describes files, or another subject by its kind and facts.
type ExplainRequest struct {
	ApplicableRequest

	SubjectKind SubjectKind    `json:"subject_kind,omitempty" nullable:"true" enum:"code_change,facts,action,business_event,document,transaction,communication,decision_request,tool_call" doc:"Kind of the subject, which may have facts beside it; absent means any, code_change where file_paths are given, or facts where only facts are."`
	Facts       map[string]any `json:"facts,omitempty" nullable:"true" doc:"Facts of the subject; absent means that they are not known. The conditions (when) of checks are then left open."`
	SeverityMin rule.Severity  `json:"severity_min,omitempty" nullable:"true" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Leaves out rules below this severity, as evaluations do below MEDIUM unless they say otherwise; absent means none."`
	Part        RulePart       `json:"part,omitempty" nullable:"true" enum:"applies,context,overridden,not_concerned,left_out" doc:"List only rules with this part; absent means all."`
	Rule        string         `json:"rule,omitempty" nullable:"true" maxLength:"200" doc:"Explain this rule alone, of whichever status: its id or slug." example:"SEC-003"`
	Page        int            `json:"page,omitempty" nullable:"true" default:"1" minimum:"1" maximum:"1000000" doc:"Page, from 1."`
	PageSize    int            `json:"page_size,omitempty" nullable:"true" default:"20" minimum:"1" maximum:"100" doc:"Rules per page."`
}

// RulePart is the part that a rule would have in an evaluation.
type RulePart string

// The parts.
const (
	PartApplies      RulePart = "applies"
	PartContext      RulePart = "context"
	PartOverridden   RulePart = "overridden"
	PartNotConcerned RulePart = "not_concerned"
	PartLeftOut      RulePart = "left_out"
)

// RuleParts lists all parts, in the order in which rules are listed.
var RuleParts = []RulePart{PartApplies, PartContext, PartOverridden, PartNotConcerned, PartLeftOut}

// ExplainedRules lists the rules of a project with the part that each would have in an evaluation.
type ExplainedRules struct {
	Items    []ExplainedRule `json:"items" nullable:"false" doc:"Rules that apply first, best ranked first; those left out by the fewest conditions first."`
	Total    int             `json:"total" doc:"Rules with the part asked for."`
	Page     int             `json:"page" doc:"Page, from 1."`
	PageSize int             `json:"page_size" doc:"Rules per page."`
	Counts   PartCounts      `json:"counts" doc:"Rules by part, whichever part is asked for. Retired and superseded rules do not count."`
	NodeID   string          `json:"node_id,omitempty" doc:"Federation node whose effective rules apply; absent if none does."`
	NodePath string          `json:"node_path,omitempty" doc:"Its path of names."`
}

// PartCounts counts rules by part.
type PartCounts struct {
	Applies      int `json:"applies" doc:"Rules that would be asked."`
	Context      int `json:"context" doc:"MAY and INFO rules, which are never judged."`
	Overridden   int `json:"overridden" doc:"Rules in whose place another one is asked."`
	NotConcerned int `json:"not_concerned" doc:"Rules whose check has nothing to say about the subject."`
	LeftOut      int `json:"left_out" doc:"Rules that do not apply."`
}

// Of returns the count of a part.
func (c *PartCounts) Of(o RulePart) *int {
	switch o {
	case PartApplies:
		return &c.Applies
	case PartContext:
		return &c.Context
	case PartOverridden:
		return &c.Overridden
	case PartNotConcerned:
		return &c.NotConcerned
	case PartLeftOut:
	}
	return &c.LeftOut
}

// ExplainedRule is a rule with its part in an evaluation, and why.
type ExplainedRule struct {
	RuleID    string        `json:"rule_id" doc:"The rule."`
	RuleSlug  string        `json:"rule_slug,omitempty" doc:"Its slug."`
	Statement string        `json:"statement" doc:"What it says."`
	Severity  rule.Severity `json:"severity" enum:"CRITICAL,HIGH,MEDIUM,LOW" doc:"Severity."`
	Modality  rule.Modality `json:"modality" enum:"MUST,MUST_NOT,SHOULD,MAY,INFO" doc:"Modality."`
	Status    rule.Status   `json:"status" enum:"DRAFT,REVIEW,APPROVED,EFFECTIVE,SUPERSEDED,RETIRED" doc:"Status."`
	Part      RulePart      `json:"part" enum:"applies,context,overridden,not_concerned,left_out" doc:"Its part in an evaluation."`
	Reasons   []RuleReason  `json:"reasons" nullable:"false" doc:"Why: the conditions that decide first."`
	// ByRuleID is the rule in whose favour it is overridden.
	ByRuleID   string `json:"by_rule_id,omitempty" doc:"The rule that overrides it."`
	ByRuleSlug string `json:"by_rule_slug,omitempty" doc:"Its slug."`
}

// RuleReason is one condition of a rule and whether a subject meets it.
type RuleReason struct {
	About string    `json:"about" enum:"status,period,severity,scope,node,kind,tool,repository,path,check,override" doc:"The condition."`
	Met   ReasonMet `json:"met" enum:"yes,no,open" doc:"Whether the subject meets it; open if the request does not say enough."`
	Text  string    `json:"text" doc:"Why, in words." example:"src/pay/refund.go is among src/pay/**"`
}

// ReasonMet says whether a condition is met.
type ReasonMet string

// Whether a condition is met.
const (
	MetYes  ReasonMet = "yes"
	MetNo   ReasonMet = "no"
	MetOpen ReasonMet = "open"
)
