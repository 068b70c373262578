package api

import (
	"context"
	"net/http"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/discover"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Discovery serves the scans of files for candidate rules.
type Discovery struct{ Discovery *discover.Discovery }

// scanRef names a scan in a path.
type scanRef struct {
	ScanID string `path:"scan_id" id:"scan" doc:"Id of the scan."`
}

// candidateRef names a candidate in a path.
type candidateRef struct {
	CandidateID string `path:"candidate_id" id:"candidate" doc:"Id of the candidate."`
}

// Routes implements [rest.Resource].
func (s Discovery) Routes(r *rest.Router) {
	documents := r.Tag(documentTag)
	r = r.Tag(discoverTag)
	started := rest.HandleBody(r, rest.Operation{
		ID: "start-scan", Route: op.StartScan.Route(), Role: auth.Reviewer, Status: http.StatusAccepted, Summary: "Look for candidate rules in files",
		Description: "In the background. Files of other kinds than requested are counted and skipped. Statements that were approved or " +
			"dismissed before, in the same file of the same repository, are left out and counted as known.",
	}, func(ctx context.Context, _ *rest.None, body *wire.ScanRequest) (rest.Created[wire.Scan], error) {
		made, err := s.Discovery.Start(ctx, rest.Project(ctx), *body)
		return rest.At(ctx, op.GetScan.Path, made.ID, made), err
	})
	// The scan reports a file that is no text, and reads the others.
	started.Body().Properties["file_contents"].AdditionalProperties.(*rest.Schema).AllowNUL = true
	rest.Handle(documents, rest.Operation{
		ID: "extract-rules", Route: op.ExtractRules.Route(), Role: auth.Reviewer, Status: http.StatusAccepted,
		Summary: "Look for candidate rules in a document", Description: "Starts a scan of it. The source_refs of approved rules name the document.",
	}, func(ctx context.Context, in *documentRef) (rest.Created[wire.Scan], error) {
		made, err := s.Discovery.StartDocument(ctx, rest.Project(ctx), in.ID)
		return rest.At(ctx, op.GetScan.Path, made.ID, made), err
	})
	rest.Handle(r, rest.Operation{ID: "list-scans", Route: op.ListScans.Route(), Role: auth.Viewer, Summary: "List scans", Description: "Newest first."},
		func(ctx context.Context, in *wire.PageQuery) (wire.Page[wire.Scan], error) {
			list, total, err := s.Discovery.ListScans(ctx, rest.Project(ctx), in.Offset(), in.PageSize)
			return rest.PageOf(*in, list, total), err
		})
	rest.Handle(r, rest.Operation{
		ID: "get-scan", Route: op.GetScan.Route(), Role: auth.Viewer, Summary: "Get a scan",
		Description: "With its progress, and its figures and problems once it is completed.",
	}, func(ctx context.Context, in *scanRef) (wire.Scan, error) {
		return s.Discovery.GetScan(ctx, rest.Project(ctx), in.ScanID)
	})
	rest.Handle(r, rest.Operation{
		ID: "get-reliability", Route: op.GetReliability.Route(), Role: auth.Viewer, Summary: "Get how often candidates of a confidence are rules",
		Description: "Measured on candidates that people have judged, and the same for all projects.",
	}, func(context.Context, *rest.None) (wire.Reliability, error) { return discover.Reliability(), nil })
	s.archiveRoutes(r)
	s.candidateRoutes(r)
	s.triageRoutes(r)
	s.bulkRoutes(r)
	s.exclusionRoutes(r)
}

func (s Discovery) candidateRoutes(r *rest.Router) {
	rest.Handle(r, rest.Operation{
		ID: "list-candidates", Route: op.ListCandidates.Route(), Role: auth.Viewer, Summary: "List the candidates of a scan",
		Description: "Highest confidence first, in a stable order. total counts the candidates on all pages.",
	}, func(ctx context.Context, in *struct {
		scanRef
		wire.CandidateQuery
	},
	) (wire.Candidates, error) {
		list, total, err := s.Discovery.Candidates(ctx, rest.Project(ctx), in.ScanID, discover.Filter{
			Status: in.Status, Path: in.Path, MinConfidence: in.MinConfidence, Offset: in.Offset, Limit: in.Limit,
		})
		return wire.Candidates{Candidates: list, Total: total, Limit: in.Limit, Offset: in.Offset}, err
	})
	rest.Handle(r, rest.Operation{
		ID: "get-candidate", Route: op.GetCandidate.Route(), Role: auth.Viewer, Summary: "Get a candidate",
		Description: "With the lines of the source round it, the candidates that say nearly the same, and its neighbours that wait for a decision.",
	}, func(ctx context.Context, in *struct {
		candidateRef
		wire.NeighbourQuery
	},
	) (wire.CandidateDetail, error) {
		return s.triage().Get(ctx, rest.Project(ctx), in.CandidateID, in.NeighbourQuery)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "approve-candidate", Route: op.ApproveCandidate.Route(), Role: auth.Reviewer, Status: http.StatusCreated, Summary: "Make a rule of a candidate",
		Description: "Creates the rule like any other, as a DRAFT unless the body says otherwise, with source_refs to all places of the candidate. " +
			"409 if the candidate has been decided on.",
	}, func(ctx context.Context, in *candidateRef, body *wire.CandidateApproval) (rest.Created[wire.Decided], error) {
		done, err := s.triage().Approve(ctx, rest.Project(ctx), in.CandidateID, *body)
		return rest.At(ctx, op.GetRule.Path, done.RuleID, done), err
	}).Optional()
	rest.HandleBody(r, rest.Operation{
		ID: "dismiss-candidate", Route: op.DismissCandidate.Route(), Role: auth.Reviewer,
		Summary: "Dismiss a candidate", Description: "Later scans of the same repository leave it out. 409 if it has been decided on.",
	}, func(ctx context.Context, in *candidateRef, body *wire.DismissCandidate) (wire.Decided, error) {
		return s.triage().Dismiss(ctx, rest.Project(ctx), in.CandidateID, body.Reason)
	}).Optional()
}

func (s Discovery) bulkRoutes(r *rest.Router) {
	rest.HandleBody(r, rest.Operation{
		ID: "approve-candidates", Route: op.ApproveCandidates.Route(), Role: auth.Reviewer,
		Summary: "Make rules of many candidates of a scan", Description: "One by one: the results say which could not be approved, and why.",
	}, func(ctx context.Context, in *scanRef, body *wire.ApproveCandidates) (wire.Bulk, error) {
		return s.triage().ApproveMany(ctx, rest.Project(ctx), in.ScanID, body.Selection, body.Overrides)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "dismiss-candidates", Route: op.DismissCandidates.Route(), Role: auth.Reviewer,
		Summary: "Dismiss many candidates of a scan", Description: "One by one: the results say which could not be dismissed, and why.",
	}, func(ctx context.Context, in *scanRef, body *wire.DismissCandidates) (wire.Bulk, error) {
		return s.triage().DismissMany(ctx, rest.Project(ctx), in.ScanID, body.Selection, body.Reason)
	})
}
