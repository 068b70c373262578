package catalog

import (
	"slices"
	"time"

	"tenet/internal/rule"
)

// Input is a rule as its author writes it: in a request, or in a file. What is absent takes its default on creation and
// stays as it is on an update.
type Input struct {
	ID              string                `json:"id,omitempty" yaml:"id,omitempty" required:"false" doc:"UUID of the rule; made by the server if absent."`
	Slug            *string               `json:"slug,omitempty" yaml:"slug,omitempty" required:"false" doc:"Short unique name such as SEC-003." example:"SEC-003"`
	Statement       string                `json:"statement" yaml:"statement" doc:"Natural-language rule text." example:"Payments above 10000 need a second approver."`
	Modality        rule.Modality         `json:"modality,omitempty" yaml:"modality,omitempty" required:"false" doc:"MUST (default), MUST_NOT, SHOULD, MAY or INFO, in any letter case."`
	Severity        rule.Severity         `json:"severity,omitempty" yaml:"severity,omitempty" required:"false" doc:"LOW, MEDIUM (default), HIGH or CRITICAL, in any letter case."`
	Status          rule.Status           `json:"status,omitempty" yaml:"status,omitempty" required:"false" doc:"DRAFT (default), REVIEW, APPROVED or EFFECTIVE. Only APPROVED and EFFECTIVE rules apply."`
	Enforcement     rule.Enforcement      `json:"enforcement,omitempty" yaml:"enforcement,omitempty" required:"false" doc:"enforce (default), warn or shadow."`
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
	Relationships   []InputRelationship   `json:"relationships,omitempty" yaml:"relationships,omitempty" required:"false" doc:"Relationships that go out from the rule. In an update, these replace the ones there are."`
	ChangeNote      string                `json:"change_note,omitempty" yaml:"change_note,omitempty" required:"false" doc:"Why the rule is made or changed."`
}

// InputRelationship is a relationship as an author writes it.
type InputRelationship struct {
	Kind   rule.RelationKind `json:"kind" yaml:"kind" doc:"REFINES, OVERRIDES, CONFLICTS_WITH, DEPENDS_ON, DERIVES_FROM or SUPERSEDES."`
	To     string            `json:"to" yaml:"to" doc:"Id or slug of the other rule."`
	Reason string            `json:"reason,omitempty" yaml:"reason,omitempty" required:"false" doc:"Why the relationship holds."`
}

// apply sets the fields of r that the input has.
func (in *Input) apply(r *rule.Rule) {
	if in.Statement != "" || r.Statement == "" {
		r.Statement = in.Statement
	}
	set(&r.Slug, in.Slug)
	set(&r.Owner, in.Owner)
	set(&r.Rationale, in.Rationale)
	set(&r.EffectivePeriod, in.EffectivePeriod)
	setValue(&r.Modality, in.Modality)
	setValue(&r.Severity, in.Severity)
	setValue(&r.Status, in.Status)
	setValue(&r.Enforcement, in.Enforcement)
	if in.Scope != nil {
		r.Scope = slices.Clone(in.Scope)
	}
	if in.Tags != nil {
		r.Tags = slices.Clone(in.Tags)
	}
	if in.Exceptions != nil {
		r.Exceptions = slices.Clone(in.Exceptions)
	}
	if in.Examples != nil {
		r.Examples = slices.Clone(in.Examples)
	}
	if in.SourceRefs != nil {
		r.SourceRefs = slices.Clone(in.SourceRefs)
	}
	if in.AppliesTo != nil {
		a := *in.AppliesTo
		r.AppliesTo = &a
	}
	if in.Check != nil {
		r.Check = cloneCheck(in.Check)
	}
	r.ChangeNote = in.ChangeNote
	inUTC(&r.EffectivePeriod)
}

// inUTC cuts the bounds of a period to what is stored.
func inUTC(p *rule.EffectivePeriod) {
	for _, t := range []**time.Time{&p.From, &p.Until} {
		if *t != nil {
			utc := (*t).UTC().Truncate(time.Microsecond)
			*t = &utc
		}
	}
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func setValue[T ~string](to *T, from T) {
	if from != "" {
		*to = from
	}
}

// clone copies a rule so that editing the copy leaves the original alone.
func clone(r rule.Rule) rule.Rule {
	r.Scope, r.Tags, r.SourceRefs = slices.Clone(r.Scope), slices.Clone(r.Tags), slices.Clone(r.SourceRefs)
	if r.AppliesTo != nil {
		a := *r.AppliesTo
		r.AppliesTo = &a
	}
	if r.Check != nil {
		r.Check = cloneCheck(r.Check)
	}
	return r
}

func cloneCheck(c *rule.Check) *rule.Check {
	out := *c
	if c.Pattern != nil {
		p := *c.Pattern
		out.Pattern = &p
	}
	return &out
}
