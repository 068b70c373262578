package api

import (
	"context"
	"fmt"
	"net/http"

	"tenet/internal/auth"
	"tenet/internal/conflict"
	"tenet/internal/job"
	"tenet/internal/rule"
)

const (
	conflictsPath = "/api/v1/conflicts"
	conflictTag   = "Conflicts"
)

func (s *server) conflictRoutes() {
	register(s, operation{
		id: "list-conflicts", method: http.MethodGet, path: conflictsPath, tag: conflictTag, role: auth.Viewer,
		summary:     "List the conflicts between rules",
		description: "Those that were found, newest first, of all states. Relationships made by hand are among the relationships of their rules only.",
	}, s.listConflicts)
	register(s, operation{
		id: "get-conflict", method: http.MethodGet, path: conflictsPath + "/{id}", tag: conflictTag, role: auth.Viewer, summary: "Get a conflict",
	}, s.getConflict)
	registerBody(s, operation{
		id: "confirm-conflict", method: http.MethodPost, path: conflictsPath + "/{id}/confirm", tag: conflictTag, role: auth.Reviewer,
		summary: "Confirm a suggested conflict",
		description: "The rules get a CONFLICTS_WITH relationship. To confirm again changes nothing; a conflict that has been rejected or closed " +
			"cannot be confirmed (409).",
	}, s.confirmConflict)
	registerBody(s, operation{
		id: "reject-conflict", method: http.MethodPost, path: conflictsPath + "/{id}/reject", tag: conflictTag, role: auth.Reviewer,
		summary: "Reject a suggested conflict",
		description: "The two rules are left alone until one of them says something else. To reject again changes nothing; a conflict that has " +
			"been confirmed or closed cannot be rejected (409).",
	}, s.rejectConflict)
	registerBody(s, operation{
		id: "scan-conflicts", method: http.MethodPost, path: conflictsPath + "/scan", tag: conflictTag, role: auth.Reviewer, status: http.StatusAccepted,
		summary: "Look for conflicts among all rules",
		description: "In the background; the answer is the job. Rules are looked at anyway when they are made, changed or imported. 503 if the " +
			"model is asked for and there is none.",
	}, s.scanConflicts)
}

// ConflictRef names a conflict in a path.
type ConflictRef struct {
	ProjectQuery
	ID string `path:"id" doc:"Id of the conflict."`
}

type foundConflictOutput struct{ Body conflict.Conflict }

func (s *server) listConflicts(ctx context.Context, in *struct {
	ProjectQuery
	State  string `query:"state" doc:"suggested, confirmed, rejected or closed, in any letter case."`
	RuleID string `query:"rule_id" doc:"Only conflicts of this rule: its id or slug."`
	PageQuery
},
) (*pageOutput[conflict.Conflict], error) {
	var p rule.Problems
	f := conflict.Filter{State: enumParam(&p, "state", in.State, conflict.States), Rule: in.RuleID}
	if err := p.Err("the query is invalid"); err != nil {
		return nil, err
	}
	list, total, err := s.cfg.Conflicts.List(ctx, project(ctx), f, (in.Page-1)*in.PageSize, in.PageSize)
	if err != nil {
		return nil, err
	}
	return pageOf(in.PageQuery, list, total), nil
}

func (s *server) getConflict(ctx context.Context, in *ConflictRef) (*foundConflictOutput, error) {
	if !rule.IsID(in.ID) {
		return nil, rule.NotFound("conflict", in.ID)
	}
	c, err := s.cfg.Conflicts.Get(ctx, project(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &foundConflictOutput{c}, nil
}

// DecideConflict is the body that confirms or rejects a conflict.
type DecideConflict struct {
	Note string `json:"note,omitempty" nullable:"true" doc:"Why, for those who come later."`
}

func (s *server) confirmConflict(ctx context.Context, in *ConflictRef, body *DecideConflict) (*foundConflictOutput, error) {
	return decideConflict(ctx, in, body, s.cfg.Conflicts.Confirm)
}

func (s *server) rejectConflict(ctx context.Context, in *ConflictRef, body *DecideConflict) (*foundConflictOutput, error) {
	return decideConflict(ctx, in, body, s.cfg.Conflicts.Reject)
}

func decideConflict(ctx context.Context, in *ConflictRef, body *DecideConflict,
	decide func(ctx context.Context, projectID, id, note string) (conflict.Conflict, error),
) (*foundConflictOutput, error) {
	if !rule.IsID(in.ID) {
		return nil, rule.NotFound("conflict", in.ID)
	}
	c, err := decide(ctx, project(ctx), in.ID, body.Note)
	if err != nil {
		return nil, err
	}
	return &foundConflictOutput{c}, nil
}

// ScanConflicts is the body that asks for a look at all rules.
type ScanConflicts struct {
	Model bool `json:"model,omitempty" nullable:"true" doc:"Ask the model about every rule and those near it: one call for each rule."`
}

type acceptedJobOutput struct {
	Location string `header:"Location"`
	Body     job.Job
}

func (s *server) scanConflicts(ctx context.Context, _ *struct{ ProjectQuery }, body *ScanConflicts) (*acceptedJobOutput, error) {
	id, err := s.cfg.Conflicts.Scan(ctx, project(ctx), body.Model)
	if err != nil {
		return nil, err
	}
	j, err := s.cfg.Jobs.Get(ctx, project(ctx), id)
	if err != nil {
		return nil, err
	}
	return &acceptedJobOutput{fmt.Sprintf("%s/%d", jobsPath, id), shownJob(ctx, j)}, nil
}
