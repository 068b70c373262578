package api

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/corpus"
	"tenet/internal/rule"
)

const (
	rulesPath = "/api/v1/rules"
	rulePath  = rulesPath + "/{id}"
	ruleTag   = "Rules"
)

// RuleRef names a rule in a path.
type RuleRef struct {
	ID string `path:"id" doc:"Id or slug of the rule." example:"SEC-003"`
}

// ruleOutput is a rule with its entity tag.
type ruleOutput struct {
	ETag string `header:"ETag" doc:"Version of the rule, for If-Match and If-None-Match."`
	Body rule.Rule
}

// counted is a rule that has just been changed with its tests. The change is made, so it is answered even if they cannot be
// counted.
func (s *server) counted(ctx context.Context, r rule.Rule) rule.Rule {
	list := []rule.Rule{r}
	if err := s.cfg.Sandbox.Count(ctx, r.ProjectID, list); err != nil {
		s.log.WarnContext(ctx, "cannot count the tests of a rule", slog.Any("error", err))
		list[0].Tests = nil
	}
	return list[0]
}

func answerRule(r rule.Rule) *ruleOutput { return &ruleOutput{ETag: etagOf(r.Version), Body: r} }

// CreateRule is the body that makes a rule.
type CreateRule struct {
	catalog.Input
	ProjectID string `json:"project_id,omitempty" doc:"Project of the rule, if the query does not name it."`
}

type createdRule struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     rule.Rule
}

// RuleFilter are the parameters that select rules.
type RuleFilter struct {
	Modality    string    `query:"modality" doc:"MUST, MUST_NOT, SHOULD, MAY or INFO, in any letter case."`
	Severity    string    `query:"severity" doc:"LOW, MEDIUM, HIGH or CRITICAL, in any letter case."`
	Status      string    `query:"status" doc:"DRAFT, REVIEW, APPROVED, EFFECTIVE, SUPERSEDED or RETIRED, in any letter case."`
	Enforcement string    `query:"enforcement" doc:"enforce, warn or shadow."`
	Scope       string    `query:"scope" doc:"Scope path: a finds the rules of a, a/b and a/b/c." example:"finance/payments"`
	Tags        []string  `query:"tags,explode" nullable:"false" doc:"Labels that the rule must all have; repeat the parameter or join them by commas."`
	Owner       string    `query:"owner" doc:"Owner, exactly."`
	Q           string    `query:"q" doc:"Text that stands in the statement, the rationale or the slug."`
	HasCheck    boolParam `query:"has_check" doc:"Only rules with a check (true), or without (false)."`
}

// filter reads the parameters.
func (f *RuleFilter) filter() (corpus.Filter, error) {
	var p rule.Problems
	out := corpus.Filter{
		Modality:    enumParam(&p, "modality", f.Modality, rule.Modalities),
		Severity:    enumParam(&p, "severity", f.Severity, rule.Severities),
		Status:      enumParam(&p, "status", f.Status, rule.Statuses),
		Enforcement: enumParam(&p, "enforcement", f.Enforcement, rule.Enforcements),
		Scope:       rule.CleanScope(f.Scope), Owner: f.Owner, Text: f.Q, Checked: f.HasCheck.pointer(),
	}
	for _, joined := range f.Tags {
		for tag := range strings.SplitSeq(joined, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				out.Tags = append(out.Tags, tag)
			}
		}
	}
	return out, p.Err("the query is invalid")
}

func (s *server) ruleRoutes() {
	registerBody(s, operation{
		id: "create-rule", method: http.MethodPost, path: rulesPath, tag: ruleTag, role: auth.Reviewer, status: http.StatusCreated,
		summary: "Create a rule",
	}, s.createRule)
	register(s, operation{
		id: "list-rules", method: http.MethodGet, path: rulesPath, tag: ruleTag, role: auth.Viewer,
		summary: "List rules", description: "In the order they were made, retired ones included.",
	}, s.listRules)
	register(s, operation{
		id: "get-rule", method: http.MethodGet, path: rulePath, tag: ruleTag, role: auth.Viewer,
		summary: "Get a rule", description: "Answers 304 if the ETag in If-None-Match is still right.",
	}, s.getRule)
	registerBody(s, operation{
		id: "revise-rule", method: http.MethodPatch, path: rulePath, tag: ruleTag, role: auth.Reviewer,
		summary:     "Revise a rule",
		description: "Absent fields stay as they are; null clears. A change makes a new version. The status is changed by a transition.",
	}, s.reviseRule)
	register(s, operation{
		id: "retire-rule", method: http.MethodDelete, path: rulePath, tag: ruleTag, role: auth.Reviewer,
		summary: "Retire a rule", description: "The rule stays readable by its id; its slug becomes free.",
	}, s.retireRule)
	registerBody(s, operation{
		id: "transition-rule", method: http.MethodPost, path: rulePath + "/transitions", tag: ruleTag, role: auth.Reviewer,
		summary: "Move a rule to another status",
		description: "DRAFT, REVIEW, APPROVED, EFFECTIVE and RETIRED follow one another; REVIEW goes back to DRAFT and APPROVED to REVIEW; " +
			"EFFECTIVE may become SUPERSEDED; anything but RETIRED may be retired.",
	}, s.transitionRule)
	register(s, operation{
		id: "list-rule-versions", method: http.MethodGet, path: rulePath + "/versions", tag: ruleTag, role: auth.Viewer,
		summary: "List the versions of a rule", description: "Newest first.",
	}, s.listVersions)
	register(s, operation{
		id: "get-rule-version", method: http.MethodGet, path: rulePath + "/versions/{n}", tag: ruleTag, role: auth.Viewer,
		summary: "Get a version of a rule",
	}, s.getVersion)
}

func (s *server) createRule(ctx context.Context, in *struct{ ProjectQuery }, body *CreateRule) (*createdRule, error) {
	projectID, err := enterNamed(ctx, body.ProjectID)
	if err != nil {
		return nil, err
	}
	r, err := s.cfg.Catalog.Create(ctx, projectID, body.Input)
	if err != nil {
		return nil, err
	}
	return &createdRule{Location: location(ctx, rulesPath, r.ID), ETag: etagOf(r.Version), Body: s.counted(ctx, r)}, nil
}

func (s *server) listRules(ctx context.Context, in *struct {
	ProjectQuery
	RuleFilter
	PageQuery
},
) (*pageOutput[rule.Rule], error) {
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	rules, total, err := s.cfg.Catalog.List(ctx, project(ctx), f, catalog.Page{Page: in.Page, Size: in.PageSize})
	if err != nil {
		return nil, err
	}
	if err := s.cfg.Sandbox.Count(ctx, project(ctx), rules); err != nil {
		return nil, err
	}
	return pageOf(in.PageQuery, rules, total), nil
}

// foundRule is a rule, or 304 and no body.
type foundRule struct {
	Status int
	ETag   string `header:"ETag" doc:"Version of the rule, for If-Match and If-None-Match."`
	Body   rule.Rule
}

func (s *server) getRule(ctx context.Context, in *struct {
	ProjectQuery
	RuleRef
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of the version that the caller has."`
},
) (*foundRule, error) {
	r, err := s.cfg.Catalog.Get(ctx, project(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	out := &foundRule{Status: http.StatusOK, ETag: etagOf(r.Version), Body: r}
	if noneMatch(in.IfNoneMatch, out.ETag) {
		out.Status = http.StatusNotModified
		return out, nil
	}
	counted := []rule.Rule{r}
	err = s.cfg.Sandbox.Count(ctx, project(ctx), counted)
	out.Body = counted[0]
	return out, err
}

// IfMatch guards a change.
type IfMatch struct {
	Tag string `header:"If-Match" doc:"ETag of the version that the change is based on; 412 if it is not the current one."`
}

func (s *server) retireRule(ctx context.Context, in *struct {
	ProjectQuery
	RuleRef
	IfMatch
},
) (*struct{}, error) {
	version, err := ifMatch(in.Tag)
	if err != nil {
		return nil, err
	}
	return nil, s.cfg.Catalog.Retire(ctx, project(ctx), in.ID, version)
}

// Transition is the body that moves a rule to another status.
type Transition struct {
	To   rule.Status `json:"to" enum:"DRAFT,REVIEW,APPROVED,EFFECTIVE,SUPERSEDED,RETIRED" doc:"The new status, in any letter case."`
	Note string      `json:"note,omitempty" maxLength:"8000" doc:"Why."`
}

func (s *server) transitionRule(ctx context.Context, in *struct {
	ProjectQuery
	RuleRef
	IfMatch
}, body *Transition,
) (*ruleOutput, error) {
	version, err := ifMatch(in.Tag)
	if err != nil {
		return nil, err
	}
	r, err := s.cfg.Catalog.Transition(ctx, project(ctx), in.ID, version, body.To, body.Note)
	if err != nil {
		return nil, err
	}
	return answerRule(s.counted(ctx, r)), nil
}

func (s *server) listVersions(ctx context.Context, in *struct {
	ProjectQuery
	RuleRef
	PageQuery
},
) (*pageOutput[rule.Rule], error) {
	rules, total, err := s.cfg.Catalog.Versions(ctx, project(ctx), in.ID, catalog.Page{Page: in.Page, Size: in.PageSize})
	if err != nil {
		return nil, err
	}
	return pageOf(in.PageQuery, rules, total), nil
}

func (s *server) getVersion(ctx context.Context, in *struct {
	ProjectQuery
	RuleRef
	N int `path:"n" minimum:"1" maximum:"2147483647" doc:"Number of the version, from 1."`
},
) (*ruleOutput, error) {
	r, err := s.cfg.Catalog.Version(ctx, project(ctx), in.ID, in.N)
	if err != nil {
		return nil, err
	}
	return answerRule(r), nil
}
