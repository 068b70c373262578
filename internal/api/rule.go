package api

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Rules serves the rules of a catalog.
type Rules struct {
	Catalog *catalog.Catalog
	Lists   *catalog.Lists
	Tests   *sandbox.Sandbox // counts the test cases of rules
	Replays sandbox.Replays
	Logger  *slog.Logger
}

// ruleRef names a rule in a path.
type ruleRef struct {
	ID string `path:"id" doc:"Id or slug of the rule." example:"SEC-003"`
}

// guardedRule names a rule that a request changes.
type guardedRule struct {
	ruleRef
	IfMatch string `header:"If-Match" doc:"ETag of the version that the change is based on; 412 if it is not the current one."`
}

// Routes implements [rest.Resource].
func (s Rules) Routes(r *rest.Router) {
	r = r.Tag(ruleTag)
	rest.HandleBody(r, rest.Operation{ID: "create-rule", Route: op.CreateRule.Route(), Role: auth.Reviewer, Status: http.StatusCreated, Summary: "Create a rule"}, s.create)
	rest.Handle(r, rest.Operation{
		ID: "list-rules", Route: op.ListRules.Route(), Role: auth.Viewer, Summary: "List rules", Description: "Oldest first unless sort says otherwise, retired ones included.",
	}, s.list)
	rest.Handle(r, rest.Operation{
		ID: "get-rule", Route: op.GetRule.Route(), Role: auth.Viewer, Summary: "Get a rule", Description: "Answers 304 if the ETag in If-None-Match is still right.",
	}, s.get)
	rest.HandleBody(r, rest.Operation{
		ID: "revise-rule", Route: op.ReviseRule.Route(), Role: auth.Reviewer, Summary: "Revise a rule",
		Description: "Absent fields stay as they are; null clears. A change makes a new version. The status is changed by a transition. An enforced CRITICAL or HIGH rule " +
			"in force demands less, or holds in fewer places, only with allow_weakening and a change_note; where the project demands two people, the second one decides.",
	}, s.revise)
	s.previewRoute(r)
	rest.Do(r, rest.Operation{
		ID: "retire-rule", Route: op.RetireRule.Route(), Role: auth.Reviewer, Summary: "Retire a rule", Description: "The rule stays readable by its id; its slug becomes free.",
	}, func(ctx context.Context, in *guardedRule) error {
		version, err := ifMatch(in.IfMatch)
		if err != nil {
			return err
		}
		return s.Catalog.Retire(ctx, rest.Project(ctx), in.ID, version)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "transition-rule", Route: op.TransitionRule.Route(), Role: auth.Reviewer, Summary: "Move a rule to another status",
		Description: "DRAFT, REVIEW, APPROVED, EFFECTIVE and RETIRED follow one another; REVIEW goes back to DRAFT and APPROVED to REVIEW; " +
			"EFFECTIVE may become SUPERSEDED; anything but RETIRED may be retired.",
	}, s.transition)
	rest.Handle(r, rest.Operation{
		ID: "list-rule-versions", Route: op.ListRuleVersions.Route(), Role: auth.Viewer, Summary: "List the versions of a rule", Description: "Newest first.",
	}, func(ctx context.Context, in *struct {
		ruleRef
		wire.PageQuery
	},
	) (wire.Page[rule.Rule], error) {
		rules, total, err := s.Catalog.Versions(ctx, rest.Project(ctx), in.ID, rule.Page{Number: in.Page, Size: in.PageSize})
		return rest.PageOf(in.PageQuery, rules, total), err
	})
	rest.Handle(r, rest.Operation{ID: "get-rule-version", Route: op.GetRuleVersion.Route(), Role: auth.Viewer, Summary: "Get a version of a rule"},
		func(ctx context.Context, in *struct {
			ruleRef
			N int `path:"n" minimum:"1" maximum:"2147483647" doc:"Number of the version, from 1."`
		},
		) (ruleOutput, error) {
			found, err := s.Catalog.Version(ctx, rest.Project(ctx), in.ID, in.N)
			return answerRule(found), err
		})
}

// ruleOutput is a rule with its entity tag, or 304 without a body.
type ruleOutput struct {
	Status int
	ETag   string `header:"ETag" doc:"Version of the rule, for If-Match and If-None-Match."`
	Body   rule.Rule
}

func answerRule(r rule.Rule) ruleOutput { return ruleOutput{ETag: etagOf(r.Version), Body: r} }

type createdRule struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     rule.Rule
}

// counted returns a changed rule with the number of its tests. The change is stored, so the rule is answered even if they
// cannot be counted.
func (s Rules) counted(ctx context.Context, r rule.Rule) rule.Rule {
	list := []rule.Rule{r}
	if err := s.Tests.Count(ctx, r.ProjectID, list); err != nil {
		s.Logger.WarnContext(ctx, "cannot count the tests of a rule", slog.Any("error", err))
		list[0].Tests = nil
	}
	return list[0]
}

// noticed returns a written rule with findings about its names that no other rule uses. The change is stored, so the rule is answered even if
// the others cannot be read.
func (s Rules) noticed(ctx context.Context, r rule.Rule) rule.Rule {
	found, err := s.Catalog.Names(ctx, &r)
	if err != nil {
		s.Logger.WarnContext(ctx, "cannot look for the names of a rule in others", slog.Any("error", err))
	}
	r.Findings = append(r.Findings, found...)
	return r
}

func (s Rules) create(ctx context.Context, _ *rest.None, body *wire.CreateRule) (out createdRule, err error) {
	projectID, err := rest.EnterProject(ctx, body.ProjectID)
	if err != nil {
		return out, err
	}
	r, err := s.Catalog.Create(ctx, projectID, body.RuleInput)
	if err != nil {
		return out, err
	}
	return createdRule{Location: rest.Location(ctx, op.GetRule.Path, r.ID), ETag: etagOf(r.Version), Body: s.noticed(ctx, s.counted(ctx, r))}, nil
}

func (s Rules) get(ctx context.Context, in *struct {
	ruleRef
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of the version that the caller has."`
},
) (ruleOutput, error) {
	r, err := s.Catalog.Get(ctx, rest.Project(ctx), in.ID)
	if err != nil {
		return ruleOutput{}, err
	}
	out := answerRule(r)
	if noneMatch(in.IfNoneMatch, out.ETag) {
		out.Status = http.StatusNotModified
		return out, nil
	}
	list := []rule.Rule{r}
	err = s.Tests.Count(ctx, rest.Project(ctx), list)
	out.Body = list[0]
	return out, err
}

func (s Rules) transition(ctx context.Context, in *guardedRule, body *wire.Transition) (ruleOutput, error) {
	version, err := ifMatch(in.IfMatch)
	if err != nil {
		return ruleOutput{}, err
	}
	r, err := s.Catalog.Transition(ctx, rest.Project(ctx), in.ID, version, body.To, body.Note)
	if err != nil {
		return ruleOutput{}, err
	}
	return answerRule(s.counted(ctx, r)), nil
}

func (s Rules) revise(ctx context.Context, in *guardedRule, body *wire.ReviseRule) (ruleOutput, error) {
	version, err := ifMatch(in.IfMatch)
	if err != nil {
		return ruleOutput{}, err
	}
	r, err := s.Catalog.Revise(ctx, rest.Project(ctx), in.ID, version, rule.Permission{AllowWeakening: body.AllowWeakening, Reason: body.ChangeNote}, func(r *rule.Rule) error {
		r.Assign(body)
		return nil
	})
	if err != nil {
		return ruleOutput{}, err
	}
	return answerRule(s.noticed(ctx, s.counted(ctx, r))), nil
}

// given is nil for an absent field, and points to the zero value for null.
func given[T any](o *wire.Optional[T]) *T {
	if !o.Set {
		return nil
	}
	return &o.Value
}

// ruleFilter are the parameters that select rules.
type ruleFilter struct {
	Modality    string   `query:"modality" doc:"MUST, MUST_NOT, SHOULD, MAY or INFO, in any letter case."`
	Severity    string   `query:"severity" doc:"LOW, MEDIUM, HIGH or CRITICAL, in any letter case."`
	Status      string   `query:"status" doc:"DRAFT, REVIEW, APPROVED, EFFECTIVE, SUPERSEDED or RETIRED, in any letter case."`
	Enforcement string   `query:"enforcement" doc:"enforce, warn or shadow."`
	Scope       string   `query:"scope" doc:"Scope path: a finds the rules of a, a/b and a/b/c." example:"finance/payments"`
	Tags        []string `query:"tags,explode" nullable:"false" doc:"Labels that the rule must all have; repeat the parameter or join them by commas."`
	Owner       string   `query:"owner" doc:"Owner, exactly."`
	Q           string   `query:"q" doc:"Text in the statement, the rationale or the slug."`
	HasCheck    *bool    `query:"has_check" doc:"Only rules with a check (true), or without (false)."`
	SourceKind  string   `query:"source_kind" maxLength:"256" doc:"Kind of a source of the rule, such as law, in any letter case."`
	DocumentID  string   `query:"document_id" maxLength:"256" doc:"Document that the rule comes from."`
	Cites       string   `query:"cites" maxLength:"4000" doc:"Source that the rule refers to, by its address, name, section, kind, document or words of a quote." example:"GDPR Art. 32"`
}

// faresFilter are the parameters that select rules by how they fare.
type faresFilter struct {
	HasTests   *bool `query:"has_tests" doc:"Only rules with test cases (true), or without (false)."`
	HealthMin  *int  `query:"health_min" minimum:"0" maximum:"100" doc:"Only rules whose health score, as last stored, is at least this."`
	HealthMax  *int  `query:"health_max" minimum:"0" maximum:"100" doc:"Only rules whose health score, as last stored, is at most this."`
	WithHealth bool  `query:"with_health" doc:"Give the rules their health scores, as last stored."`
}

// filter reads the parameters.
func (f *ruleFilter) filter() (corpus.Filter, error) {
	var p rule.Problems
	out := corpus.Filter{
		Modality:    rest.EnumParam(&p, "modality", f.Modality, rule.Modalities),
		Severity:    rest.EnumParam(&p, "severity", f.Severity, rule.Severities),
		Status:      rest.EnumParam(&p, "status", f.Status, rule.Statuses),
		Enforcement: rest.EnumParam(&p, "enforcement", f.Enforcement, rule.Enforcements),
		Scope:       rule.CleanScope(f.Scope), Owner: f.Owner, Text: f.Q, Checked: f.HasCheck, SourceKind: f.SourceKind, DocumentID: f.DocumentID,
	}
	for _, joined := range f.Tags {
		for tag := range strings.SplitSeq(joined, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				out.Tags = append(out.Tags, tag)
			}
		}
	}
	if strings.TrimSpace(f.Cites) != "" {
		out.Cites = []string{f.Cites}
	}
	return out, p.Err("the query is invalid")
}

func (s Rules) list(ctx context.Context, in *struct {
	ruleFilter
	faresFilter
	Sort string `query:"sort" doc:"Order: slug, severity, status, updated_at, owner, has_check, health or tests (their number); with a minus before it, the highest first. Absent: as the rules were made." example:"-severity"`
	wire.PageQuery
},
) (page wire.Page[rule.Rule], err error) {
	f, err := in.filter()
	if err != nil {
		return page, err
	}
	var p rule.Problems
	order := rest.EnumParam(&p, "sort", in.Sort, catalog.Orders)
	if err := p.Err("the query is invalid"); err != nil {
		return page, err
	}
	rules, total, err := s.Lists.List(ctx, rest.Project(ctx), catalog.Selection{
		Filter: f, HasTests: in.HasTests, HealthMin: in.HealthMin, HealthMax: in.HealthMax, WithHealth: in.WithHealth, Order: order,
		Page: rule.Page{Number: in.Page, Size: in.PageSize},
	})
	if err != nil {
		return page, err
	}
	return rest.PageOf(in.PageQuery, rules, total), s.Tests.Count(ctx, rest.Project(ctx), rules)
}
