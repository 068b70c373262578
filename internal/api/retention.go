package api

import (
	"context"
	"net/http"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/retention"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Retention serves how long projects keep their records, and legal holds.
type Retention struct{ Keeper *retention.Keeper }

// holdRef names a legal hold in a path.
type holdRef struct {
	ID string `path:"id" doc:"Id of the legal hold."`
}

// Routes implements [rest.Resource].
func (s Retention) Routes(r *rest.Router) {
	r = r.Tag(retentionTag)
	rest.Handle(r, rest.Operation{
		ID: "get-retention", Route: op.GetRetention.Route(), Role: auth.Viewer, Summary: "How long records are kept",
	}, func(ctx context.Context, _ *rest.None) (wire.Retention, error) {
		return s.Keeper.Get(ctx, rest.Project(ctx))
	})
	rest.HandleBody(r, rest.Operation{
		ID: "change-retention", Route: op.ChangeRetention.Route(), Role: auth.Admin, Summary: "Change how long records are kept",
		Description: "Absent parts stay as they are. A change that shortens a minimum needs a reason, and is only proposed, as a whole: it takes effect when another " +
			"administrator confirms it. A new proposal replaces the one before.",
	}, func(ctx context.Context, _ *rest.None, body *wire.ChangeRetention) (wire.Retention, error) {
		return s.Keeper.Set(ctx, rest.Project(ctx), *body)
	})
	rest.Handle(r, rest.Operation{
		ID: "confirm-retention", Route: op.ConfirmRetention.Route(), Role: auth.Admin, Status: http.StatusOK, Summary: "Confirm a shorter retention",
		Description: "409 without a proposal, and for the person who made it.",
	}, func(ctx context.Context, _ *rest.None) (wire.Retention, error) {
		return s.Keeper.Confirm(ctx, rest.Project(ctx))
	})
	rest.Handle(r, rest.Operation{
		ID: "withdraw-retention", Route: op.WithdrawRetention.Route(), Role: auth.Admin, Status: http.StatusOK, Summary: "Withdraw a proposed shorter retention",
	}, func(ctx context.Context, _ *rest.None) (wire.Retention, error) {
		return s.Keeper.Withdraw(ctx, rest.Project(ctx))
	})
	rest.Handle(r, rest.Operation{
		ID: "list-holds", Route: op.ListHolds.Route(), Role: auth.Reviewer, Summary: "List legal holds", Description: "Those in force first, newest first; then the last 100 that were lifted.",
	}, func(ctx context.Context, in *wire.PageQuery) (wire.Page[rule.LegalHold], error) {
		all, err := s.Keeper.Holds(ctx, rest.Project(ctx))
		return rest.Slice(*in, all, err)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "place-hold", Route: op.PlaceHold.Route(), Role: auth.Admin, Status: http.StatusCreated, Summary: "Place a legal hold",
		Description: "Until it is lifted, no job deletes the records that meet all conditions that are given; without any, all records of evaluations and agents of the project.",
	}, func(ctx context.Context, _ *rest.None, body *wire.PlaceHold) (rest.Created[rule.LegalHold], error) {
		h, err := s.Keeper.Place(ctx, rest.Project(ctx), *body)
		return rest.At(ctx, op.GetHold.Path, h.ID, h), err
	})
	rest.Handle(r, rest.Operation{ID: "get-hold", Route: op.GetHold.Route(), Role: auth.Reviewer, Summary: "Get a legal hold and the number of evaluations that it covers"},
		func(ctx context.Context, in *holdRef) (rule.LegalHold, error) {
			return s.Keeper.Hold(ctx, rest.Project(ctx), in.ID)
		})
	rest.HandleBody(r, rest.Operation{
		ID: "lift-hold", Route: op.LiftHold.Route(), Role: auth.Admin, Status: http.StatusOK, Summary: "Lift a legal hold",
		Description: "What it has covered is deleted by the next jobs if its time is over.",
	}, func(ctx context.Context, in *holdRef, body *wire.LiftHold) (rule.LegalHold, error) {
		return s.Keeper.Lift(ctx, rest.Project(ctx), in.ID, body.Reason)
	})
}
