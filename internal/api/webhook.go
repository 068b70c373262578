package api

import (
	"context"
	"net/http"
	"time"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/webhook"
)

const (
	policiesPath = "/api/v1/gateway/policies"
	webhookTag   = "Webhooks"
)

func (s *server) webhookRoutes() {
	registerBody(s, operation{
		id: "create-policy", method: http.MethodPost, path: policiesPath, tag: webhookTag, role: auth.Admin,
		status: http.StatusCreated, summary: "Have an endpoint told of events",
		description: "From now on, events of these types are sent to the url, signed by the Standard Webhooks specification. The secret " +
			"that receivers verify signatures with is shown this once.",
	}, s.createPolicy)
	register(s, operation{
		id: "list-policies", method: http.MethodGet, path: policiesPath, tag: webhookTag, role: auth.Admin,
		summary: "List webhook policies", description: "Oldest first, without their secrets.",
	}, s.listPolicies)
	register(s, operation{
		id: "get-policy", method: http.MethodGet, path: policiesPath + "/{id}", tag: webhookTag, role: auth.Admin,
		summary: "Get a webhook policy", description: "With the state of its endpoint, and without its secret.",
	}, s.getPolicy)
	registerBody(s, operation{
		id: "change-policy", method: http.MethodPatch, path: policiesPath + "/{id}", tag: webhookTag, role: auth.Admin,
		summary: "Change a webhook policy",
		description: "Absent fields stay as they are; a filter is replaced as a whole. Enabling a policy, or giving it another url, sends " +
			"what is pending at once.",
	}, s.changePolicy)
	register(s, operation{
		id: "delete-policy", method: http.MethodDelete, path: policiesPath + "/{id}", tag: webhookTag, role: auth.Admin,
		summary: "Delete a webhook policy", description: "What is pending is not sent any more.",
	}, s.deletePolicy)
	registerBody(s, operation{
		id: "rotate-policy-secret", method: http.MethodPost, path: policiesPath + "/{id}/secret", tag: webhookTag, role: auth.Admin,
		summary:     "Give a webhook policy another secret",
		description: "The secret before goes on signing for a while, beside the new one, so that receivers can change over. The new one is shown this once.",
	}, s.rotatePolicySecret)
	register(s, operation{
		id: "test-policy", method: http.MethodPost, path: policiesPath + "/{id}/test", tag: webhookTag, role: auth.Admin,
		summary: "Send a ping to an endpoint", description: "Now and once, also if the policy is disabled or paused; the answer says what the endpoint said.",
	}, s.testPolicy)
	register(s, operation{
		id: "list-deliveries", method: http.MethodGet, path: policiesPath + "/{id}/deliveries", tag: webhookTag, role: auth.Admin,
		summary: "List the deliveries of a webhook policy", description: "Newest first.",
	}, s.listDeliveries)
	register(s, operation{
		id: "redeliver", method: http.MethodPost, path: policiesPath + "/{id}/deliveries/{delivery_id}/redeliver", tag: webhookTag, role: auth.Admin,
		status: http.StatusAccepted, summary: "Send a delivery once more",
		description: "One that was delivered or given up, under the same webhook-id; 409 if it is pending.",
	}, s.redeliver)
}

// CreatePolicy is the body that makes a webhook policy.
type CreatePolicy struct {
	Name       string           `json:"name" minLength:"1" maxLength:"200" doc:"Name, unique within the project." example:"on-call"`
	URL        string           `json:"url" maxLength:"2048" doc:"Where events are sent: http or https, on the public internet or in a network that webhook_allow_networks allows." example:"https://hooks.example.com/tenet"`
	EventTypes []rule.EventType `json:"event_types" nullable:"false" doc:"Events to tell of: alert.created, alert.resolved, evaluation.violated, snapshot.deployed, candidate.created."`
	Filter     webhook.Filter   `json:"filter,omitzero" doc:"Which of them; all if absent."`
	Secret     string           `json:"secret,omitempty" doc:"whsec_ and the base64 of 24 to 64 bytes; one is made if absent."`
	Enabled    Optional[bool]   `json:"enabled,omitzero" nullable:"false" doc:"Whether events are told; true if absent."`
	Format     webhook.Format   `json:"format,omitempty" enum:"standard,slack" default:"standard" doc:"standard is {type, timestamp, data}; slack is a message that Slack and what is compatible with it shows."`
}

type policyOutput struct{ Body webhook.Policy }

type createdPolicy struct {
	Location string `header:"Location"`
	Body     webhook.PolicyWithSecret
}

func (s *server) createPolicy(ctx context.Context, _ *struct{ ProjectQuery }, body *CreatePolicy) (*createdPolicy, error) {
	if body.Enabled.Null {
		return nil, invalidField("enabled", "must not be null; leave it out for true")
	}
	in := webhook.Input{Name: &body.Name, URL: &body.URL, EventTypes: &body.EventTypes, Filter: &body.Filter, Enabled: given(&body.Enabled)}
	if body.Format != "" {
		in.Format = &body.Format
	}
	p, err := s.cfg.Webhooks.Create(ctx, project(ctx), in, body.Secret)
	if err != nil {
		return nil, err
	}
	return &createdPolicy{location(ctx, policiesPath, p.ID), p}, nil
}

func (s *server) listPolicies(ctx context.Context, in *struct {
	ProjectQuery
	PageQuery
},
) (*pageOutput[webhook.Policy], error) {
	all, err := s.cfg.Webhooks.Policies(ctx, project(ctx))
	if err != nil {
		return nil, err
	}
	return slicePage(in.PageQuery, all), nil
}

// PolicyRef names a webhook policy in a path.
type PolicyRef struct {
	ProjectQuery
	ID string `path:"id" doc:"Id of the policy."`
}

func (s *server) getPolicy(ctx context.Context, in *PolicyRef) (*policyOutput, error) {
	p, err := s.cfg.Webhooks.Policy(ctx, project(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &policyOutput{p}, nil
}

// ChangePolicy is the body that changes a webhook policy.
type ChangePolicy struct {
	Name       Optional[string]           `json:"name,omitzero" nullable:"false" doc:"Name, unique within the project."`
	URL        Optional[string]           `json:"url,omitzero" nullable:"false" doc:"Where events are sent."`
	EventTypes Optional[[]rule.EventType] `json:"event_types,omitzero" nullable:"false" doc:"Events to tell of."`
	Filter     Optional[webhook.Filter]   `json:"filter,omitzero" doc:"Which of them; null clears it."`
	Enabled    Optional[bool]             `json:"enabled,omitzero" nullable:"false" doc:"Whether events are told."`
	Format     Optional[webhook.Format]   `json:"format,omitzero" nullable:"false" doc:"standard or slack."`
}

func (s *server) changePolicy(ctx context.Context, in *PolicyRef, body *ChangePolicy) (*policyOutput, error) {
	var problems rule.Problems
	for field, null := range map[string]bool{
		"name": body.Name.Null, "url": body.URL.Null, "event_types": body.EventTypes.Null, "enabled": body.Enabled.Null, "format": body.Format.Null,
	} {
		if null {
			problems.Add(field, "must not be null; leave it out to keep it as it is")
		}
	}
	if err := problems.Err("the request body is invalid"); err != nil {
		return nil, err
	}
	p, err := s.cfg.Webhooks.Change(ctx, project(ctx), in.ID, webhook.Input{
		Name: given(&body.Name), URL: given(&body.URL), EventTypes: given(&body.EventTypes), Filter: given(&body.Filter), Enabled: given(&body.Enabled),
		Format: given(&body.Format),
	})
	if err != nil {
		return nil, err
	}
	return &policyOutput{p}, nil
}

func (s *server) deletePolicy(ctx context.Context, in *PolicyRef) (*struct{}, error) {
	return nil, s.cfg.Webhooks.Delete(ctx, project(ctx), in.ID)
}

// RotateSecret is the body of a rotation. It may be empty: {}.
type RotateSecret struct {
	Secret  string        `json:"secret,omitempty" doc:"whsec_ and the base64 of 24 to 64 bytes; one is made if absent."`
	Overlap Optional[int] `json:"overlap_seconds,omitzero" nullable:"false" doc:"How long the secret before signs too, up to 30 days; a day if absent."`
}

type rotatedPolicy struct{ Body webhook.PolicyWithSecret }

func (s *server) rotatePolicySecret(ctx context.Context, in *PolicyRef, body *RotateSecret) (*rotatedPolicy, error) {
	overlap := webhook.DefaultOverlap
	if o := body.Overlap; o.Null || (o.Set && (o.Value < 0 || o.Value > int(webhook.MaxOverlap.Seconds()))) {
		return nil, invalidField("overlap_seconds", "must be between 0 and %d", int(webhook.MaxOverlap.Seconds()))
	} else if o.Set {
		overlap = time.Duration(o.Value) * time.Second
	}
	p, err := s.cfg.Webhooks.Rotate(ctx, project(ctx), in.ID, body.Secret, overlap)
	if err != nil {
		return nil, err
	}
	return &rotatedPolicy{p}, nil
}

type testOutput struct{ Body webhook.TestResult }

func (s *server) testPolicy(ctx context.Context, in *PolicyRef) (*testOutput, error) {
	r, err := s.cfg.Webhooks.Test(ctx, project(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &testOutput{r}, nil
}

// deliveryStates are the values of the parameter state.
var deliveryStates = []string{store.DeliveryPending, store.DeliveryDelivered, store.DeliveryDead}

func (s *server) listDeliveries(ctx context.Context, in *struct {
	PolicyRef
	PageQuery
	State string `query:"state" doc:"pending, delivered or dead, in any letter case; all if absent."`
},
) (*pageOutput[webhook.Delivery], error) {
	var problems rule.Problems
	state := enumParam(&problems, "state", in.State, deliveryStates)
	if err := problems.Err("the query is invalid"); err != nil {
		return nil, err
	}
	list, total, err := s.cfg.Webhooks.Deliveries(ctx, project(ctx), in.ID, state, (in.Page-1)*in.PageSize, in.PageSize)
	if err != nil {
		return nil, err
	}
	return pageOf(in.PageQuery, list, total), nil
}

type deliveryOutput struct{ Body webhook.Delivery }

func (s *server) redeliver(ctx context.Context, in *struct {
	PolicyRef
	DeliveryID int64 `path:"delivery_id" minimum:"1" doc:"Id of the delivery."`
},
) (*deliveryOutput, error) {
	d, err := s.cfg.Webhooks.Redeliver(ctx, project(ctx), in.ID, in.DeliveryID)
	if err != nil {
		return nil, err
	}
	return &deliveryOutput{d}, nil
}
