package api

import (
	"context"
	"time"

	"tenet/internal/rule"
)

// ReviseRule is the body that changes a rule. Absent fields stay as they are; null clears a field, where it can be empty.
type ReviseRule struct {
	Slug            Optional[string]               `json:"slug,omitzero" doc:"Short unique name such as SEC-003; null takes it away."`
	Statement       Optional[string]               `json:"statement,omitzero" nullable:"false" doc:"Natural-language rule text."`
	Modality        Optional[rule.Modality]        `json:"modality,omitzero" nullable:"false" enum:"MUST,MUST_NOT,SHOULD,MAY,INFO" doc:"How binding the rule is, in any letter case."`
	Severity        Optional[rule.Severity]        `json:"severity,omitzero" nullable:"false" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"How much a violation matters, in any letter case."`
	Enforcement     Optional[rule.Enforcement]     `json:"enforcement,omitzero" nullable:"false" enum:"enforce,warn,shadow" doc:"What a broken rule leads to."`
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
}

// refuseNulls names the fields that are null although a rule cannot be without them.
func (b *ReviseRule) refuseNulls() error {
	var p rule.Problems
	for _, f := range []struct {
		name string
		null bool
	}{
		{"statement", b.Statement.Null},
		{"modality", b.Modality.Null},
		{"severity", b.Severity.Null},
		{"enforcement", b.Enforcement.Null},
	} {
		if f.null {
			p.Add(f.name, "must not be null; leave it out to keep it as it is")
		}
	}
	return p.Err("the request body is invalid")
}

// edit changes r as the body says.
func (b *ReviseRule) edit(r *rule.Rule) error {
	b.Slug.apply(&r.Slug)
	b.Statement.apply(&r.Statement)
	b.Modality.apply(&r.Modality)
	b.Severity.apply(&r.Severity)
	b.Enforcement.apply(&r.Enforcement)
	b.Owner.apply(&r.Owner)
	b.Scope.apply(&r.Scope)
	b.Tags.apply(&r.Tags)
	b.Rationale.apply(&r.Rationale)
	b.Exceptions.apply(&r.Exceptions)
	b.Examples.apply(&r.Examples)
	b.SourceRefs.apply(&r.SourceRefs)
	if b.EffectivePeriod.Set {
		r.EffectivePeriod = rule.EffectivePeriod{From: stored(b.EffectivePeriod.Value.From), Until: stored(b.EffectivePeriod.Value.Until)}
	}
	if b.AppliesTo.Set {
		r.AppliesTo = valueOrNil(&b.AppliesTo)
	}
	if b.Check.Set {
		r.Check = valueOrNil(&b.Check)
	}
	return nil
}

// stored is a time as it is stored: UTC, cut to microseconds.
func stored(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	utc := t.UTC().Truncate(time.Microsecond)
	return &utc
}

// valueOrNil is a copy of the value, since an edit may run again and normalises what it gets; nil for null.
func valueOrNil[T any](o *Optional[T]) *T {
	if o.Null {
		return nil
	}
	v := o.Value
	return &v
}

func (s *server) reviseRule(ctx context.Context, in *struct {
	ProjectQuery
	RuleRef
	IfMatch
}, body *ReviseRule,
) (*ruleOutput, error) {
	version, err := ifMatch(in.Tag)
	if err != nil {
		return nil, err
	}
	if err := body.refuseNulls(); err != nil {
		return nil, err
	}
	r, err := s.cfg.Catalog.Revise(ctx, project(ctx), in.ID, version, body.ChangeNote, body.edit)
	if err != nil {
		return nil, err
	}
	return answerRule(s.counted(ctx, r)), nil
}
