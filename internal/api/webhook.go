package api

import (
	"context"
	"net/http"
	"time"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/webhook"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Webhooks serves the policies by which other systems receive events.
type Webhooks struct{ Webhooks *webhook.Webhooks }

// policyRef names a webhook policy in a path.
type policyRef struct {
	ID string `path:"id" doc:"Id of the policy."`
}

// Routes implements [rest.Resource].
func (s Webhooks) Routes(r *rest.Router) {
	r = r.Tag(webhookTag)
	rest.HandleBody(r, rest.Operation{
		ID: "create-policy", Route: op.CreatePolicy.Route(), Role: auth.Admin, Status: http.StatusCreated, Summary: "Send events to an endpoint",
		Description: "From now on, events of these types are sent to the url, signed by the Standard Webhooks specification. The secret " +
			"for verifying signatures is shown only in this answer.",
	}, s.create)
	rest.Handle(r, rest.Operation{
		ID: "list-policies", Route: op.ListPolicies.Route(), Role: auth.Admin, Summary: "List webhook policies", Description: "Oldest first, without their secrets.",
	}, func(ctx context.Context, in *wire.PageQuery) (wire.Page[wire.Policy], error) {
		all, err := s.Webhooks.Policies(ctx, rest.Project(ctx))
		return rest.Slice(*in, all, err)
	})
	rest.Handle(r, rest.Operation{
		ID: "get-policy", Route: op.GetPolicy.Route(), Role: auth.Admin,
		Summary: "Get a webhook policy", Description: "With the state of its endpoint, and without its secret.",
	}, func(ctx context.Context, in *policyRef) (wire.Policy, error) {
		return s.Webhooks.Policy(ctx, rest.Project(ctx), in.ID)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "change-policy", Route: op.ChangePolicy.Route(), Role: auth.Admin, Summary: "Change a webhook policy",
		Description: "Absent fields stay as they are; a filter is replaced as a whole. Enabling a policy, or giving it another url, sends " +
			"pending deliveries at once.",
	}, func(ctx context.Context, in *policyRef, body *wire.ChangePolicy) (wire.Policy, error) {
		return s.Webhooks.Change(ctx, rest.Project(ctx), in.ID, webhook.Input{
			Name: given(&body.Name), URL: given(&body.URL), EventTypes: given(&body.EventTypes), Filter: given(&body.Filter), Enabled: given(&body.Enabled),
			Format: given(&body.Format),
		})
	})
	rest.Do(r, rest.Operation{
		ID: "delete-policy", Route: op.DeletePolicy.Route(), Role: auth.Admin, Summary: "Delete a webhook policy", Description: "Pending deliveries are not sent.",
	}, func(ctx context.Context, in *policyRef) error {
		return s.Webhooks.Delete(ctx, rest.Project(ctx), in.ID)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "rotate-policy-secret", Route: op.RotatePolicySecret.Route(), Role: auth.Admin, Summary: "Rotate the secret of a webhook policy",
		Description: "The previous secret also signs for some time, so that receivers can change over. The new one is shown only in this answer.",
	}, s.rotate)
	rest.Handle(r, rest.Operation{
		ID: "test-policy", Route: op.TestPolicy.Route(), Role: auth.Admin, Summary: "Send a ping to an endpoint",
		Description: "Once and at once, even if the policy is disabled or paused. The answer has the endpoint's response.",
	}, func(ctx context.Context, in *policyRef) (wire.TestResult, error) {
		return s.Webhooks.Test(ctx, rest.Project(ctx), in.ID)
	})
	rest.Handle(r, rest.Operation{
		ID: "list-deliveries", Route: op.ListDeliveries.Route(), Role: auth.Admin, Lags: true,
		Summary: "List the deliveries of a webhook policy", Description: "Newest first.",
	}, s.deliveries)
	rest.Handle(r, rest.Operation{
		ID: "redeliver", Route: op.Redeliver.Route(), Role: auth.Admin, Status: http.StatusAccepted,
		Summary: "Send a delivery again", Description: "Under the same webhook-id, after it was delivered or given up; 409 if it is pending.",
	}, func(ctx context.Context, in *struct {
		policyRef
		DeliveryID int64 `path:"delivery_id" minimum:"1" doc:"Id of the delivery."`
	},
	) (wire.Delivery, error) {
		return s.Webhooks.Redeliver(ctx, rest.Project(ctx), in.ID, in.DeliveryID)
	})
}

func (s Webhooks) create(ctx context.Context, _ *rest.None, body *wire.CreatePolicy) (rest.Created[wire.PolicyWithSecret], error) {
	in := webhook.Input{Name: &body.Name, URL: &body.URL, EventTypes: &body.EventTypes, Filter: &body.Filter, Enabled: given(&body.Enabled)}
	if body.Format != "" {
		in.Format = &body.Format
	}
	p, err := s.Webhooks.Create(ctx, rest.Project(ctx), in, body.Secret)
	return rest.At(ctx, op.GetPolicy.Path, p.ID, p), err
}

func (s Webhooks) rotate(ctx context.Context, in *policyRef, body *wire.RotateSecret) (out wire.PolicyWithSecret, err error) {
	overlap := webhook.DefaultOverlap
	if o := body.Overlap; o.Set {
		if o.Value < 0 || o.Value > int(webhook.MaxOverlap.Seconds()) {
			return out, rest.InvalidField("overlap_seconds", "must be between 0 and %d", int(webhook.MaxOverlap.Seconds()))
		}
		overlap = time.Duration(o.Value) * time.Second
	}
	return s.Webhooks.Rotate(ctx, rest.Project(ctx), in.ID, body.Secret, overlap)
}

// deliveryStates are the states that a list can be filtered by.
var deliveryStates = []string{store.DeliveryPending, store.DeliveryDelivered, store.DeliveryDead}

func (s Webhooks) deliveries(ctx context.Context, in *struct {
	policyRef
	wire.DeliveryQuery
},
) (page wire.Page[wire.Delivery], err error) {
	var problems rule.Problems
	state := rest.EnumParam(&problems, "state", in.State, deliveryStates)
	if err := problems.Err("the query is invalid"); err != nil {
		return page, err
	}
	list, total, err := s.Webhooks.Deliveries(ctx, rest.Project(ctx), in.ID, state, in.Offset(), in.PageSize)
	return rest.PageOf(in.PageQuery, list, total), err
}
