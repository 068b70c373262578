package api

import (
	"context"
	"net/http"
	"time"

	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/rule"
)

const (
	waiversPath = "/api/v1/waivers"
	waiverPath  = waiversPath + "/{id}"
	waiverTag   = "Waivers"
)

func (s *server) waiverRoutes() {
	registerBody(s, operation{
		id: "create-waiver", method: http.MethodPost, path: waiversPath, tag: waiverTag, role: auth.Reviewer, status: http.StatusCreated,
		summary: "Waive a denial for a while",
		description: "It covers the denial whose verdict has the fingerprint, until it expires or the cited text or the rule changes. Such a " +
			"verdict stays DENY, names the waiver, and does not count in the overall verdict. For a CRITICAL rule it covers nothing until a second person approves it.",
	}, s.createWaiver)
	register(s, operation{
		id: "list-waivers", method: http.MethodGet, path: waiversPath, tag: waiverTag, role: auth.Viewer, summary: "List waivers",
		description: "Newest first, with those that have ended.",
	}, s.listWaivers)
	register(s, operation{
		id: "get-waiver", method: http.MethodGet, path: waiverPath, tag: waiverTag, role: auth.Viewer, summary: "Get a waiver",
	}, s.getWaiver)
	register(s, operation{
		id: "approve-waiver", method: http.MethodPost, path: waiverPath + "/approve", tag: waiverTag, role: auth.Reviewer,
		summary:     "Approve a waiver that somebody else has made",
		description: "409 for who made it, and for one that has ended; 403 if another approver is named.",
	}, s.approveWaiver)
	register(s, operation{
		id: "revoke-waiver", method: http.MethodDelete, path: waiverPath, tag: waiverTag, role: auth.Reviewer, status: http.StatusOK,
		summary: "Revoke a waiver", description: "It stays in the list, as revoked. To revoke it again changes nothing.",
	}, s.revokeWaiver)
}

// WaiverRef names a waiver in a path.
type WaiverRef struct {
	ProjectQuery
	ID string `path:"id" doc:"Id of the waiver."`
}

type waiverOutput struct{ Body rule.Waiver }

type createdWaiver struct {
	Location string `header:"Location"`
	Body     rule.Waiver
}

// CreateWaiver is the body that makes a waiver.
type CreateWaiver struct {
	RuleID      string    `json:"rule_id" doc:"Id or slug of the rule." example:"SEC-003"`
	Fingerprint string    `json:"fingerprint" doc:"Fingerprint of the verdict that is waived." example:"5c1f0d1e7a0f4d0e8f6b4d7c3b2a19085c1f0d1e7a0f4d0e8f6b4d7c3b2a1908"`
	Reason      string    `json:"reason" doc:"Why the denial may stand." example:"A test key without rights; removed with the next release."`
	ExpiresAt   time.Time `json:"expires_at" doc:"When it lapses, at most 366 days from now."`
	Approver    string    `json:"approver,omitempty" nullable:"true" doc:"Who is asked to approve it; nobody else can then. The name alone approves nothing."`
}

func (s *server) createWaiver(ctx context.Context, _ *struct{ ProjectQuery }, body *CreateWaiver) (*createdWaiver, error) {
	w, err := s.cfg.Catalog.CreateWaiver(ctx, project(ctx), catalog.NewWaiver{
		Rule: body.RuleID, Fingerprint: body.Fingerprint, Reason: body.Reason, ExpiresAt: body.ExpiresAt, Approver: body.Approver,
	})
	if err != nil {
		return nil, err
	}
	return &createdWaiver{location(ctx, waiversPath, w.ID), w}, nil
}

func (s *server) listWaivers(ctx context.Context, in *struct {
	ProjectQuery
	RuleID string `query:"rule_id" doc:"Only those of this rule: its id or slug."`
	PageQuery
},
) (*pageOutput[rule.Waiver], error) {
	list, total, err := s.cfg.Catalog.Waivers(ctx, project(ctx), in.RuleID, (in.Page-1)*in.PageSize, in.PageSize)
	if err != nil {
		return nil, err
	}
	return pageOf(in.PageQuery, list, total), nil
}

func (s *server) getWaiver(ctx context.Context, in *WaiverRef) (*waiverOutput, error) {
	return oneWaiver(ctx, in, s.cfg.Catalog.Waiver)
}

func (s *server) approveWaiver(ctx context.Context, in *WaiverRef) (*waiverOutput, error) {
	return oneWaiver(ctx, in, s.cfg.Catalog.ApproveWaiver)
}

func (s *server) revokeWaiver(ctx context.Context, in *WaiverRef) (*waiverOutput, error) {
	return oneWaiver(ctx, in, s.cfg.Catalog.RevokeWaiver)
}

func oneWaiver(ctx context.Context, in *WaiverRef, do func(context.Context, string, string) (rule.Waiver, error)) (*waiverOutput, error) {
	w, err := do(ctx, project(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &waiverOutput{w}, nil
}
