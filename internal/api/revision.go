package api

import (
	"context"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Revisions serves the revisions of rules in force, which wait for a second person.
type Revisions struct {
	Revisions *catalog.Revisions
	Tests     *sandbox.Sandbox // counts the test cases of rules
}

// revisionRef names a revision in a path.
type revisionRef struct {
	ruleRef
	N int `path:"n" minimum:"1" maximum:"2147483647" doc:"Number of the revision."`
}

// Routes implements [rest.Resource].
func (s Revisions) Routes(r *rest.Router) {
	r = r.Tag(ruleTag)
	rest.Handle(r, rest.Operation{
		ID: "list-revisions", Route: op.ListRevisions.Route(), Role: auth.Viewer, Summary: "List the revisions of all rules",
		Description: "Those that were proposed first before others. In a project with two_person_approval, a change of a rule in force waits here until a second person approves it.",
	}, func(ctx context.Context, in *wire.RevisionQuery) (wire.Page[wire.RevisionDetail], error) {
		return s.list(ctx, "", in)
	})
	rest.Handle(r, rest.Operation{
		ID: "list-rule-revisions", Route: op.ListRuleRevisions.Route(), Role: auth.Viewer, Summary: "List the revisions of a rule",
		Description: "Those that were proposed first before others.",
	}, func(ctx context.Context, in *struct {
		ruleRef
		wire.RevisionQuery
	},
	) (wire.Page[wire.RevisionDetail], error) {
		return s.list(ctx, in.ID, &in.RevisionQuery)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "approve-revision", Route: op.ApproveRevision.Route(), Role: auth.Reviewer, Summary: "Approve a revision of another person",
		Description: "It comes into force as the next version of the rule, which is the answer. 409 for its author, if the rule has changed since it was proposed, " +
			"if it does not wait any more, and if the project demands tests and they do not pass on it.",
	}, func(ctx context.Context, in *revisionRef, body *wire.DecideRevision) (ruleOutput, error) {
		made, err := s.Revisions.Approve(ctx, rest.Project(ctx), in.ID, in.N, body.Note)
		return answerRule(made), err
	}).Optional()
	rest.HandleBody(r, rest.Operation{
		ID: "reject-revision", Route: op.RejectRevision.Route(), Role: auth.Reviewer, Summary: "Reject a revision of another person",
		Description: "It needs a note. 409 for its author, who may withdraw it, and if it does not wait any more.",
	}, func(ctx context.Context, in *revisionRef, body *wire.DecideRevision) (rule.Revision, error) {
		return s.Revisions.Reject(ctx, rest.Project(ctx), in.ID, in.N, body.Note)
	}).Optional()
	rest.HandleBody(r, rest.Operation{
		ID: "withdraw-revision", Route: op.WithdrawRevision.Route(), Role: auth.Reviewer, Summary: "Withdraw a revision of one's own",
		Description: "409 for somebody else's, and if it does not wait any more.",
	}, func(ctx context.Context, in *revisionRef, body *wire.DecideRevision) (rule.Revision, error) {
		return s.Revisions.Withdraw(ctx, rest.Project(ctx), in.ID, in.N, body.Note)
	}).Optional()
}

func (s Revisions) list(ctx context.Context, ref string, q *wire.RevisionQuery) (page wire.Page[wire.RevisionDetail], err error) {
	var state rule.RevisionState
	if q.State != "all" {
		var p rule.Problems
		state = rest.EnumParam(&p, "state", q.State, rule.RevisionStates)
		if err := p.Err("the query is invalid"); err != nil {
			return page, err
		}
	}
	list, total, err := s.Revisions.List(ctx, rest.Project(ctx), ref, state, rule.Page{Number: q.Page, Size: q.PageSize})
	if err != nil {
		return page, err
	}
	rules := make([]rule.Rule, len(list))
	for i := range list {
		rules[i] = list[i].Rule
	}
	err = s.Tests.Count(ctx, rest.Project(ctx), rules)
	for i := range list {
		list[i].Rule = rules[i]
	}
	return rest.PageOf(q.PageQuery, list, total), err
}
