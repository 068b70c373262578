package api

import (
	"context"
	"net/http"
	"time"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Waivers serves the waivers of denials.
type Waivers struct{ Waivers *catalog.Waivers }

// waiverRef names a waiver in a path.
type waiverRef struct {
	ID string `path:"id" doc:"Id of the waiver."`
}

// Routes implements [rest.Resource].
func (s Waivers) Routes(r *rest.Router) {
	r = r.Tag(waiverTag)
	one := func(do func(ctx context.Context, projectID, id string) (rule.Waiver, error)) func(context.Context, *waiverRef) (rule.Waiver, error) {
		return func(ctx context.Context, in *waiverRef) (rule.Waiver, error) {
			return do(ctx, rest.Project(ctx), in.ID)
		}
	}
	rest.HandleBody(r, rest.Operation{
		ID: "create-waiver", Route: op.CreateWaiver.Route(), Role: auth.Reviewer, Status: http.StatusCreated, Summary: "Waive a denial until a date",
		Description: "It covers the denial whose verdict has the fingerprint, in the repository of its evaluation, until it expires or the cited text or the rule changes. Such a " +
			"verdict stays DENY, names the waiver, and does not count in the overall verdict. For a CRITICAL rule it covers nothing until a second person approves it.",
	}, func(ctx context.Context, _ *rest.None, body *wire.CreateWaiver) (rest.Created[rule.Waiver], error) {
		w, err := s.Waivers.Create(ctx, rest.Project(ctx), catalog.WaiverInput{
			Rule: body.RuleID, Fingerprint: body.Fingerprint, Repository: body.Repository, Reason: body.Reason, ExpiresAt: body.ExpiresAt, Approver: body.Approver,
		})
		return rest.At(ctx, op.GetWaiver.Path, w.ID, w), err
	})
	rest.Handle(r, rest.Operation{
		ID: "list-waivers", Route: op.ListWaivers.Route(), Role: auth.Viewer, Summary: "List waivers", Description: "Newest first, ended ones included; with ends_within_days, those that lapse soon.",
	}, func(ctx context.Context, in *wire.WaiverQuery) (wire.Page[rule.Waiver], error) {
		if in.Ends > 0 {
			if in.RuleID != "" {
				return wire.Page[rule.Waiver]{}, rest.InvalidField("ends_within_days", "goes without rule_id; give one of them")
			}
			list, total, err := s.Waivers.ListEnding(ctx, rest.Project(ctx), time.Duration(in.Ends)*24*time.Hour, in.Offset(), in.PageSize)
			return rest.PageOf(in.PageQuery, list, total), err
		}
		list, total, err := s.Waivers.List(ctx, rest.Project(ctx), in.RuleID, in.Offset(), in.PageSize)
		return rest.PageOf(in.PageQuery, list, total), err
	})
	rest.Handle(r, rest.Operation{ID: "get-waiver", Route: op.GetWaiver.Route(), Role: auth.Viewer, Summary: "Get a waiver"}, one(s.Waivers.Get))
	rest.Handle(r, rest.Operation{
		ID: "approve-waiver", Route: op.ApproveWaiver.Route(), Role: auth.Reviewer, Summary: "Approve a waiver of another person",
		Description: "409 for its author, and if it has ended; 403 if it names another approver.",
	}, one(s.Waivers.Approve))
	rest.Handle(r, rest.Operation{
		ID: "revoke-waiver", Route: op.RevokeWaiver.Route(), Role: auth.Reviewer, Status: http.StatusOK, Summary: "Revoke a waiver",
		Description: "It stays in the list, as revoked. Revoking again changes nothing.",
	}, one(s.Waivers.Revoke))
}
