package api

import (
	"context"
	"net/http"

	"tenet/internal/auth"
	"tenet/internal/discover"
	"tenet/internal/rule"
)

const (
	discoverPath       = "/api/v1/discover"
	scansPath          = discoverPath + "/scans"
	scanPath           = scansPath + "/{scan_id}"
	scanCandidatesPath = scanPath + "/candidates"
	candidatePath      = discoverPath + "/candidates/{candidate_id}"
	discoverTag        = "Discovery"
)

func (s *server) discoverRoutes() {
	registerBody(s, operation{
		id: "start-scan", method: http.MethodPost, path: discoverPath + "/scan", tag: discoverTag, role: auth.Reviewer, status: http.StatusAccepted,
		summary: "Look for candidate rules in files",
		description: "In the background. Files that are of none of the kinds asked for are counted and passed over. Statements that were approved or " +
			"dismissed before, in the same file of the same repository, are left out and counted as known.",
	}, s.startScan)
	// A file that is no text is told of in the scan, which reads the others.
	s.plans[http.MethodPost+" "+discoverPath+"/scan"].body.fields["file_contents"].extra.binary = true
	register(s, operation{
		id: "list-scans", method: http.MethodGet, path: scansPath, tag: discoverTag, role: auth.Viewer, summary: "List scans", description: "Newest first.",
	}, s.listScans)
	register(s, operation{
		id: "get-scan", method: http.MethodGet, path: scanPath, tag: discoverTag, role: auth.Viewer, summary: "Get a scan",
		description: "With its progress, and its figures and problems once it is completed.",
	}, s.getScan)
	register(s, operation{
		id: "list-candidates", method: http.MethodGet, path: scanCandidatesPath, tag: discoverTag, role: auth.Viewer,
		summary: "List the candidates of a scan", description: "Those of the most confidence first, in an order that stays the same. total counts those on all pages.",
	}, s.listCandidates)
	register(s, operation{
		id: "get-candidate", method: http.MethodGet, path: candidatePath, tag: discoverTag, role: auth.Viewer, summary: "Get a candidate",
	}, s.getCandidate)
	registerOptional(s, operation{
		id: "approve-candidate", method: http.MethodPost, path: candidatePath + "/approve", tag: discoverTag, role: auth.Reviewer, status: http.StatusCreated,
		summary: "Make a rule of a candidate",
		description: "The rule is made as any other is, as a DRAFT unless asked otherwise, with source_refs to all places that the candidate was found in. " +
			"409 if the candidate has been decided on.",
	}, s.approveCandidate)
	registerOptional(s, operation{
		id: "dismiss-candidate", method: http.MethodPost, path: candidatePath + "/dismiss", tag: discoverTag, role: auth.Reviewer,
		summary: "Dismiss a candidate", description: "Later scans of the same repository leave it out. 409 if it has been decided on.",
	}, s.dismissCandidate)
	registerBody(s, operation{
		id: "approve-candidates", method: http.MethodPost, path: scanCandidatesPath + "/approve", tag: discoverTag, role: auth.Reviewer,
		summary: "Make rules of many candidates of a scan", description: "Each for itself: the results tell which could not be approved, and why.",
	}, s.approveCandidates)
	registerBody(s, operation{
		id: "dismiss-candidates", method: http.MethodPost, path: scanCandidatesPath + "/dismiss", tag: discoverTag, role: auth.Reviewer,
		summary: "Dismiss many candidates of a scan", description: "Each for itself: the results tell which could not be dismissed, and why.",
	}, s.dismissCandidates)
	register(s, operation{
		id: "extract-rules", method: http.MethodPost, path: documentsPath + "/{id}/extract", tag: documentTag, role: auth.Reviewer, status: http.StatusAccepted,
		summary: "Look for candidate rules in a document", description: "Starts a scan of it. The source_refs of approved rules name the document.",
	}, s.extractRules)
}

type startedScan struct {
	Location string `header:"Location"`
	Body     discover.Scan
}

type scanOutput struct{ Body discover.Scan }

func (s *server) startScan(ctx context.Context, _ *struct{ ProjectQuery }, body *discover.ScanRequest) (*startedScan, error) {
	made, err := s.cfg.Discover.Start(ctx, project(ctx), *body)
	if err != nil {
		return nil, err
	}
	return &startedScan{location(ctx, scansPath, made.ID), made}, nil
}

func (s *server) extractRules(ctx context.Context, in *DocumentPath) (*startedScan, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	made, err := s.cfg.Discover.StartDocument(ctx, project(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &startedScan{location(ctx, scansPath, made.ID), made}, nil
}

func (s *server) listScans(ctx context.Context, in *struct {
	ProjectQuery
	PageQuery
},
) (*pageOutput[discover.Scan], error) {
	list, total, err := s.cfg.Discover.ListScans(ctx, project(ctx), (in.Page-1)*in.PageSize, in.PageSize)
	if err != nil {
		return nil, err
	}
	return pageOf(in.PageQuery, list, total), nil
}

// ScanRef names a scan in a path.
type ScanRef struct {
	ProjectQuery
	ScanID string `path:"scan_id" doc:"Id of the scan."`
}

func (r *ScanRef) check() error {
	if !rule.IsID(r.ScanID) {
		return rule.NotFound("scan", cut(r.ScanID, maxValue))
	}
	return nil
}

func (s *server) getScan(ctx context.Context, in *ScanRef) (*scanOutput, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	found, err := s.cfg.Discover.GetScan(ctx, project(ctx), in.ScanID)
	if err != nil {
		return nil, err
	}
	return &scanOutput{found}, nil
}

// Candidates is a page of the candidates of a scan.
type Candidates struct {
	Candidates []discover.Candidate `json:"candidates" nullable:"false" doc:"Candidates of this page."`
	Total      int                  `json:"total" doc:"Candidates on all pages."`
	Limit      int                  `json:"limit" doc:"Candidates per page."`
	Offset     int                  `json:"offset" doc:"Candidates before this page."`
}

type candidatesOutput struct{ Body Candidates }

func (s *server) listCandidates(ctx context.Context, in *struct {
	ScanRef
	Status        string  `query:"status" enum:"pending,approved,dismissed" doc:"Only those of which this was decided."`
	MinConfidence float64 `query:"min_confidence" default:"0" minimum:"0" maximum:"1" doc:"Only those with at least this confidence."`
	Limit         int     `query:"limit" default:"1000" minimum:"1" maximum:"1000" doc:"Candidates to return."`
	Offset        int     `query:"offset" default:"0" minimum:"0" maximum:"1000000000" doc:"Candidates to leave out before."`
},
) (*candidatesOutput, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	list, total, err := s.cfg.Discover.Candidates(ctx, project(ctx), in.ScanID, discover.Filter{
		Status: discover.Decision(in.Status), MinConfidence: in.MinConfidence, Offset: in.Offset, Limit: in.Limit,
	})
	if err != nil {
		return nil, err
	}
	return &candidatesOutput{Candidates{list, total, in.Limit, in.Offset}}, nil
}

// CandidateRef names a candidate in a path.
type CandidateRef struct {
	ProjectQuery
	CandidateID string `path:"candidate_id" doc:"Id of the candidate."`
}

func (r *CandidateRef) check() error {
	if !rule.IsID(r.CandidateID) {
		return rule.NotFound("candidate", cut(r.CandidateID, maxValue))
	}
	return nil
}

type candidateOutput struct{ Body discover.Candidate }

func (s *server) getCandidate(ctx context.Context, in *CandidateRef) (*candidateOutput, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	c, err := s.cfg.Discover.GetCandidate(ctx, project(ctx), in.CandidateID)
	if err != nil {
		return nil, err
	}
	return &candidateOutput{c}, nil
}

type approvedOutput struct {
	Location string `header:"Location"`
	Body     discover.Decided
}

type decidedOutput struct{ Body discover.Decided }

func (s *server) approveCandidate(ctx context.Context, in *CandidateRef, body *discover.CandidateApproval) (*approvedOutput, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	done, err := s.cfg.Discover.Approve(ctx, project(ctx), in.CandidateID, *body)
	if err != nil {
		return nil, err
	}
	return &approvedOutput{location(ctx, rulesPath, done.RuleID), done}, nil
}

// DismissCandidate is the body that dismisses a candidate.
type DismissCandidate struct {
	Reason string `json:"reason,omitempty" doc:"Why, at most 1000 characters."`
}

func (s *server) dismissCandidate(ctx context.Context, in *CandidateRef, body *DismissCandidate) (*decidedOutput, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	done, err := s.cfg.Discover.Dismiss(ctx, project(ctx), in.CandidateID, body.Reason)
	if err != nil {
		return nil, err
	}
	return &decidedOutput{done}, nil
}

// ApproveCandidates is the body that approves many candidates.
type ApproveCandidates struct {
	discover.Selection
	Overrides *discover.Overrides `json:"metadata_overrides,omitempty" nullable:"false" doc:"What takes the place of the suggested metadata of each."`
}

// DismissCandidates is the body that dismisses many candidates.
type DismissCandidates struct {
	discover.Selection
	Reason string `json:"reason,omitempty" doc:"Why, at most 1000 characters."`
}

type bulkOutput struct{ Body discover.Bulk }

func (s *server) approveCandidates(ctx context.Context, in *ScanRef, body *ApproveCandidates) (*bulkOutput, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	done, err := s.cfg.Discover.ApproveMany(ctx, project(ctx), in.ScanID, body.Selection, body.Overrides)
	if err != nil {
		return nil, err
	}
	return &bulkOutput{done}, nil
}

func (s *server) dismissCandidates(ctx context.Context, in *ScanRef, body *DismissCandidates) (*bulkOutput, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	done, err := s.cfg.Discover.DismissMany(ctx, project(ctx), in.ScanID, body.Selection, body.Reason)
	if err != nil {
		return nil, err
	}
	return &bulkOutput{done}, nil
}
