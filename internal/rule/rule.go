// Package rule holds the nouns of Tenet and their laws: rules, scopes, verdicts, evaluations. It imports only the standard
// library and does no input or output.
package rule

import (
	"cmp"
	"time"
)

// Limits on a rule's own fields. They bound memory per rule and the size of judge prompts.
const (
	MaxStatement = 4000 // characters
	MaxRationale = 8000 // characters
	MaxListItems = 64   // entries in scope, tags, source_refs and each list of applies_to
	MaxLabel     = 256  // characters of one tag, scope path, glob, owner or slug
	MaxExpr      = 8000 // characters of a check expression or pattern
	MaxPoints    = 10   // exceptions, and examples
	MaxException = 500  // characters of one exception, and of the note of an example
	MaxExample   = 2000 // characters of the input of an example
)

// Rule is one natural-language rule at one version. The zero value is not a valid rule; see [Rule.Validate]. The tag kind says who writes a
// field: see field.kind.
type Rule struct {
	ID              string          `json:"id" kind:"record" format:"uuid" doc:"Rule identifier."`
	ProjectID       string          `json:"project_id" kind:"record" doc:"Project the rule belongs to."`
	Slug            string          `json:"slug,omitempty" kind:"label" doc:"Short unique name such as SEC-003, usable wherever a rule id is." example:"SEC-003"`
	Version         int             `json:"version" kind:"record" minimum:"1" doc:"Version, raised by every change of the rule."`
	Statement       string          `json:"statement" doc:"Natural-language rule text."`
	Modality        Modality        `json:"modality" enum:"MUST,MUST_NOT,SHOULD,MAY,INFO" doc:"How binding the rule is."`
	Severity        Severity        `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"How much a violation matters."`
	Scope           []string        `json:"scope" nullable:"false" doc:"Scope paths the rule holds in; empty or * means everywhere."`
	Tags            []string        `json:"tags" nullable:"false" doc:"Free labels."`
	Rationale       string          `json:"rationale" doc:"Why the rule exists."`
	Exceptions      []string        `json:"exceptions,omitempty" doc:"Cases that the rule leaves out, each in a sentence; the judge is shown them."`
	Examples        []Example       `json:"examples,omitempty" doc:"Cases with their right verdict; the judge is shown them."`
	SourceRefs      []SourceRef     `json:"source_refs" nullable:"false" doc:"Where the rule comes from."`
	EffectivePeriod EffectivePeriod `json:"effective_period" doc:"When the rule holds."`
	Status          Status          `json:"status" kind:"label" enum:"DRAFT,REVIEW,APPROVED,EFFECTIVE,SUPERSEDED,RETIRED" doc:"Place in the life cycle."`
	AppliesTo       *AppliesTo      `json:"applies_to,omitempty" doc:"Which subjects the rule concerns; absent means all."`
	Check           *Check          `json:"check,omitempty" doc:"Deterministic check that decides without a model."`
	Enforcement     Enforcement     `json:"enforcement" enum:"enforce,warn,shadow" doc:"What a broken rule leads to."`
	Waivable        *bool           `json:"waivable,omitempty" doc:"False if no waiver may cover a violation of the rule; absent means true."`
	Owner           string          `json:"owner" kind:"label" doc:"Person or team that answers for the rule."`
	CreatedAt       time.Time       `json:"created_at" kind:"record" doc:"When the first version was made."`
	CreatedBy       string          `json:"created_by" kind:"record" doc:"Actor that made the first version."`
	AuthoredBy      string          `json:"authored_by" kind:"record" doc:"Actor that last changed what the rule says, rather than its status."`
	UpdatedAt       time.Time       `json:"updated_at" kind:"record" doc:"When this version was made."`
	UpdatedBy       string          `json:"updated_by" kind:"record" doc:"Actor that made this version."`
	Tests           *Tests          `json:"tests,omitempty" kind:"derived" doc:"Its test cases, where they are counted; never stored with the rule."`
	Health          *int            `json:"health,omitempty" kind:"derived" minimum:"0" maximum:"100" doc:"Its health score as last stored, in lists that ask for it; never stored with the rule."`
	Findings        []Finding       `json:"lint,omitempty" kind:"derived" doc:"What makes it hard to judge, where that is looked at; never stored with the rule."`
	Pending         *Revision       `json:"pending,omitempty" kind:"derived" doc:"In the answer to a change that waits for the approval of a second person: that change. The rule is as it is in force."`
	ChangeNote      string          `json:"change_note,omitempty" kind:"record" doc:"Why this version was made."`
}

// Example is a case with its right verdict: what a model learns the meaning of a rule from.
type Example struct {
	Input   string  `json:"input" yaml:"input" doc:"A piece of code, a fact or an action."`
	Verdict Verdict `json:"verdict" yaml:"verdict" enum:"ALLOW,DENY" doc:"What the rule says about it."`
	Note    string  `json:"note,omitempty" yaml:"note,omitempty" doc:"Why."`
}

// SourceRef says where a rule comes from: an external standard, or a section of an uploaded document.
type SourceRef struct {
	Kind       string `json:"kind" yaml:"kind" enum:"standard,law,policy,document,code,url,other" doc:"Kind of source."`
	URI        string `json:"uri,omitempty" yaml:"uri,omitempty" doc:"Address or citation of the source."`
	DocumentID string `json:"document_id,omitempty" yaml:"document_id,omitempty" doc:"Uploaded document, if the source is one."`
	Section    string `json:"section,omitempty" yaml:"section,omitempty" doc:"Section, clause or rule number within the source."`
	Quote      string `json:"quote,omitempty" yaml:"quote,omitempty" doc:"Text of the source that the rule rests on."`
}

// SourceKinds are the values of [SourceRef.Kind].
var SourceKinds = []string{"standard", "law", "policy", "document", "code", "url", "other"}

// EffectivePeriod bounds when a rule holds. From is inclusive, Until exclusive; nil means unbounded.
type EffectivePeriod struct {
	From  *time.Time `json:"from,omitempty" yaml:"from,omitempty" doc:"First instant at which the rule holds."`
	Until *time.Time `json:"until,omitempty" yaml:"until,omitempty" doc:"First instant at which the rule no longer holds."`
}

// Contains reports whether t lies inside the period.
func (p EffectivePeriod) Contains(t time.Time) bool {
	return (p.From == nil || !t.Before(*p.From)) && (p.Until == nil || t.Before(*p.Until))
}

// AppliesTo narrows a rule to the subjects it concerns. Each non-empty list must match; within a list one match suffices.
type AppliesTo struct {
	Paths        []string `json:"paths,omitempty" yaml:"paths,omitempty" doc:"Path globs (** crosses folders); some path of the subject must match."`
	ExcludePaths []string `json:"exclude_paths,omitempty" yaml:"exclude_paths,omitempty" doc:"Path globs of files that the rule does not concern."`
	Repositories []string `json:"repositories,omitempty" yaml:"repositories,omitempty" doc:"Repository globs."`
	Kinds        []string `json:"kinds,omitempty" yaml:"kinds,omitempty" doc:"Subject kinds, such as code_change or transaction."`
	Tools        []string `json:"tools,omitempty" yaml:"tools,omitempty" doc:"Tools of MCP servers: write_file on any server, filesystem/write_* on one; * and ? are wildcards and letter case does not count. The rule then concerns tool calls alone."`
}

// Empty reports whether a restricts nothing.
func (a *AppliesTo) Empty() bool {
	return a == nil || len(a.Paths)+len(a.ExcludePaths)+len(a.Repositories)+len(a.Kinds)+len(a.Tools) == 0
}

// Label returns the slug of the rule, or its id if it has none.
func (r *Rule) Label() string { return cmp.Or(r.Slug, r.ID) }

// MayBeWaived reports whether a waiver may cover a violation of the rule.
func (r *Rule) MayBeWaived() bool { return r.Waivable == nil || *r.Waivable }

// Judged reports whether the rule is one that verdicts are given for. MAY and INFO rules are context only.
func (r *Rule) Judged() bool {
	return r.Modality == Must || r.Modality == MustNot || r.Modality == Should
}

// InForce reports whether the rule holds at t: its status is APPROVED or EFFECTIVE and t lies in its effective period.
func (r *Rule) InForce(t time.Time) bool {
	return (r.Status == Approved || r.Status == Effective) && r.EffectivePeriod.Contains(t)
}
