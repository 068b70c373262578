package wire

import "tenet/internal/rule"

// CreateRule is the body that makes a rule.
type CreateRule struct {
	RuleInput
	ProjectID string `json:"project_id,omitempty" doc:"Project of the rule, if the query does not name it."`
}

// Transition is the body that moves a rule to another status.
type Transition struct {
	To   rule.Status `json:"to" enum:"DRAFT,REVIEW,APPROVED,EFFECTIVE,SUPERSEDED,RETIRED" doc:"The new status, in any letter case."`
	Note string      `json:"note,omitempty" maxLength:"8000" doc:"Why."`
}

// ReviseRule is the body that changes a rule. Absent fields stay as they are; null clears a field, where it can be empty.
type ReviseRule struct {
	Slug            Optional[string]               `json:"slug,omitzero" doc:"Short unique name such as SEC-003; null takes it away."`
	Statement       Optional[string]               `json:"statement,omitzero" nullable:"false" doc:"Natural-language rule text."`
	Modality        Optional[rule.Modality]        `json:"modality,omitzero" nullable:"false" enum:"MUST,MUST_NOT,SHOULD,MAY,INFO" doc:"How binding the rule is, in any letter case."`
	Severity        Optional[rule.Severity]        `json:"severity,omitzero" nullable:"false" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"How much a violation matters, in any letter case."`
	Enforcement     Optional[rule.Enforcement]     `json:"enforcement,omitzero" nullable:"false" enum:"enforce,warn,shadow" doc:"What a broken rule leads to."`
	Waivable        Optional[bool]                 `json:"waivable,omitzero" doc:"False: no waiver may cover a violation; null or true: one may."`
	Owner           Optional[string]               `json:"owner,omitzero" doc:"Person or team that answers for the rule."`
	Scope           Optional[[]string]             `json:"scope,omitzero" doc:"Scope paths the rule holds in; empty or null means everywhere."`
	Tags            Optional[[]string]             `json:"tags,omitzero" doc:"Free labels."`
	Rationale       Optional[string]               `json:"rationale,omitzero" doc:"Why the rule exists."`
	Exceptions      Optional[[]string]             `json:"exceptions,omitzero" doc:"Cases that the rule leaves out; replaced as a whole."`
	Examples        Optional[[]rule.Example]       `json:"examples,omitzero" doc:"Cases with their right verdict; replaced as a whole."`
	SourceRefs      Optional[[]rule.SourceRef]     `json:"source_refs,omitzero" doc:"Where the rule comes from."`
	EffectivePeriod Optional[rule.EffectivePeriod] `json:"effective_period,omitzero" doc:"When the rule holds; replaced as a whole."`
	AppliesTo       Optional[rule.AppliesTo]       `json:"applies_to,omitzero" doc:"Which subjects the rule concerns; replaced as a whole."`
	Check           Optional[rule.Check]           `json:"check,omitzero" doc:"Deterministic check; replaced as a whole."`
	ChangeNote      string                         `json:"change_note,omitempty" doc:"Why the rule is changed."`
	AllowWeakening  bool                           `json:"allow_weakening,omitempty" doc:"Let an enforced CRITICAL or HIGH rule in force demand less, or hold in fewer places; needs a change_note."`
}

// FileNode is a federation node in a rule file. It is found again by its id, or else by its name below its parent. What is
// absent takes its default on creation and stays as it is on an update.
type FileNode struct {
	ID           string     `json:"id,omitempty" yaml:"id,omitempty" required:"false" doc:"UUID of the node; needed where two nodes below one parent have the same name, and to move a node."`
	Name         string     `json:"name" yaml:"name" doc:"Node name." example:"payments"`
	Level        rule.Level `json:"level,omitempty" yaml:"level,omitempty" required:"false" doc:"organization, team or project; by default the level below the parent's."`
	Description  *string    `json:"description,omitempty" yaml:"description,omitempty" required:"false" doc:"What the node represents."`
	DefaultScope *string    `json:"default_scope,omitempty" yaml:"default_scope,omitempty" required:"false" doc:"Scope of the rules attached here that have none of their own."`
	Repositories []string   `json:"repositories,omitempty" yaml:"repositories,omitempty" required:"false" doc:"Globs of the repositories that the node represents."`
	// OwnRulesOnly is nil if the file does not say.
	OwnRulesOnly   *bool          `json:"own_rules_only,omitempty" yaml:"own_rules_only,omitempty" required:"false" doc:"Let only attached rules hold at the node and below it, without the enforced CRITICAL and HIGH rules that no node has; needs own_rules_reason."`
	OwnRulesReason string         `json:"own_rules_reason,omitempty" yaml:"own_rules_reason,omitempty" required:"false" doc:"Why only attached rules hold."`
	Rules          []string       `json:"rules,omitempty" yaml:"rules,omitempty" required:"false" doc:"Rules attached here, by slug or id."`
	Overrides      []FileOverride `json:"overrides,omitempty" yaml:"overrides,omitempty" required:"false" doc:"Rules attached here in place of rules of ancestors."`
	Children       []FileNode     `json:"children,omitempty" yaml:"children,omitempty" required:"false" doc:"Nodes below."`
}

// FileOverride is a rule attached in place of an ancestor's.
type FileOverride struct {
	Rule           string `json:"rule" yaml:"rule" doc:"Slug or id of the rule."`
	InsteadOf      string `json:"instead_of" yaml:"instead_of" doc:"Slug or id of the ancestors' rule."`
	AllowWeakening bool   `json:"allow_weakening,omitempty" yaml:"allow_weakening,omitempty" required:"false" doc:"Let the rule replace a CRITICAL one although it asks less; needs a reason."`
	Reason         string `json:"reason,omitempty" yaml:"reason,omitempty" required:"false" doc:"Why."`
}

// RuleFile is a set of rules as it is imported and exported.
type RuleFile struct {
	Pack        string      `json:"pack,omitempty" yaml:"pack,omitempty" required:"false" doc:"Name of the pack, for people."`
	Title       string      `json:"title,omitempty" yaml:"title,omitempty" required:"false" doc:"Title of the pack, for people."`
	Description string      `json:"description,omitempty" yaml:"description,omitempty" required:"false" doc:"What the pack is about, for people."`
	Defaults    *RuleInput  `json:"defaults,omitempty" yaml:"defaults,omitempty" required:"false" doc:"Fields for all rules that do not have them; tags are joined."`
	Rules       []RuleInput `json:"rules" yaml:"rules" required:"false" nullable:"false" doc:"The rules."`
	// Cases are test cases of the rules here, or of rules that exist already.
	Cases []rule.FileCase `json:"cases,omitempty" yaml:"cases,omitempty" required:"false" doc:"Test cases. Each rule that they name keeps those of this file in place of the ones that came with imports before."`
	// Federation is nil in a file that says nothing about nodes, as Rules is in one that says nothing about rules: that is not
	// the same as none.
	Federation []FileNode `json:"federation,omitzero" yaml:"federation,omitempty" required:"false" doc:"Federation nodes, roots first, each with its rules and the nodes below it."`
}

// RuleInput is a rule as its author writes it: in a request, or in a file. What is absent takes its default on creation and
// stays as it is on an update.
type RuleInput struct {
	ID              string                `json:"id,omitempty" yaml:"id,omitempty" required:"false" doc:"UUID of the rule; made by the server if absent."`
	Slug            *string               `json:"slug,omitempty" yaml:"slug,omitempty" required:"false" doc:"Short unique name such as SEC-003." example:"SEC-003"`
	Statement       string                `json:"statement" yaml:"statement" doc:"Natural-language rule text." example:"Payments above 10000 need a second approver."`
	Modality        rule.Modality         `json:"modality,omitempty" yaml:"modality,omitempty" required:"false" doc:"MUST (default), MUST_NOT, SHOULD, MAY or INFO, in any letter case."`
	Severity        rule.Severity         `json:"severity,omitempty" yaml:"severity,omitempty" required:"false" doc:"LOW, MEDIUM (default), HIGH or CRITICAL, in any letter case."`
	Status          rule.Status           `json:"status,omitempty" yaml:"status,omitempty" required:"false" doc:"DRAFT (default), REVIEW, APPROVED or EFFECTIVE. Only APPROVED and EFFECTIVE rules apply."`
	Enforcement     rule.Enforcement      `json:"enforcement,omitempty" yaml:"enforcement,omitempty" required:"false" doc:"enforce (default), warn or shadow."`
	Waivable        *bool                 `json:"waivable,omitempty" yaml:"waivable,omitempty" required:"false" doc:"False: no waiver may cover a violation of the rule. Default is true."`
	Owner           *string               `json:"owner,omitempty" yaml:"owner,omitempty" required:"false" doc:"Person or team that answers for the rule."`
	Scope           []string              `json:"scope,omitempty" yaml:"scope,omitempty" required:"false" doc:"Scope paths the rule holds in; empty means everywhere."`
	Tags            []string              `json:"tags,omitempty" yaml:"tags,omitempty" required:"false" doc:"Free labels."`
	Rationale       *string               `json:"rationale,omitempty" yaml:"rationale,omitempty" required:"false" doc:"Why the rule exists."`
	Exceptions      []string              `json:"exceptions,omitempty" yaml:"exceptions,omitempty" required:"false" doc:"Cases that the rule leaves out, each in a sentence; at most 10."`
	Examples        []rule.Example        `json:"examples,omitempty" yaml:"examples,omitempty" required:"false" doc:"Cases with their right verdict, which the judge learns from; at most 10."`
	SourceRefs      []rule.SourceRef      `json:"source_refs,omitempty" yaml:"source_refs,omitempty" required:"false" doc:"Where the rule comes from."`
	EffectivePeriod *rule.EffectivePeriod `json:"effective_period,omitempty" yaml:"effective_period,omitempty" required:"false" doc:"When the rule holds."`
	AppliesTo       *rule.AppliesTo       `json:"applies_to,omitempty" yaml:"applies_to,omitempty" required:"false" doc:"Which subjects the rule concerns."`
	Check           *rule.Check           `json:"check,omitempty" yaml:"check,omitempty" required:"false" doc:"Deterministic check."`
	Relationships   []RelationshipInput   `json:"relationships,omitempty" yaml:"relationships,omitempty" required:"false" doc:"Relationships that go out from the rule. In an update, these replace the ones there are."`
	ChangeNote      string                `json:"change_note,omitempty" yaml:"change_note,omitempty" required:"false" doc:"Why the rule is made or changed."`
}

// RelationshipInput is a relationship as an author writes it.
type RelationshipInput struct {
	Kind   rule.RelationKind `json:"kind" yaml:"kind" doc:"REFINES, OVERRIDES, CONFLICTS_WITH, DEPENDS_ON, DERIVES_FROM or SUPERSEDES."`
	To     string            `json:"to" yaml:"to" doc:"Id or slug of the other rule."`
	Reason string            `json:"reason,omitempty" yaml:"reason,omitempty" required:"false" doc:"Why the relationship holds."`
	// AllowWeakening goes with OVERRIDES and a reason.
	AllowWeakening bool `json:"allow_weakening,omitempty" yaml:"allow_weakening,omitempty" required:"false" doc:"Let an OVERRIDES silence a rule that is more severe or more binding; needs a reason."`
}
