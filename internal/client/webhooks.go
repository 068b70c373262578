package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"tenet/internal/rule"
	"tenet/internal/webhook"
)

const policiesPath = "/api/v1/gateway/policies"

func policyPath(id string, more ...string) string {
	path := policiesPath + "/" + url.PathEscape(id)
	for _, part := range more {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// NewPolicy describes the webhook policy to make.
type NewPolicy struct {
	Name       string           `json:"name"`
	URL        string           `json:"url"`
	EventTypes []rule.EventType `json:"event_types"`
	Filter     webhook.Filter   `json:"filter,omitzero"`
	Secret     string           `json:"secret,omitempty"` // empty has one made
	Enabled    *bool            `json:"enabled,omitempty"`
	Format     webhook.Format   `json:"format,omitempty"`
}

// CreatePolicy makes a webhook policy. Its secret is shown this once.
func (c *Client) CreatePolicy(ctx context.Context, n NewPolicy) (webhook.PolicyWithSecret, error) {
	k, err := send(http.MethodPost, policiesPath, n)
	if err != nil {
		return webhook.PolicyWithSecret{}, err
	}
	return into[webhook.PolicyWithSecret](ctx, c, k)
}

// Policies lists webhook policies, oldest first.
func (c *Client) Policies(ctx context.Context) ([]webhook.Policy, error) {
	return all[webhook.Policy](ctx, c, get(policiesPath, nil))
}

// Policy returns a webhook policy.
func (c *Client) Policy(ctx context.Context, id string) (webhook.Policy, error) {
	return into[webhook.Policy](ctx, c, get(policyPath(id), nil))
}

// PolicyChange says what is to be changed of a webhook policy; nil fields stay as they are.
type PolicyChange struct {
	Name       *string           `json:"name,omitempty"`
	URL        *string           `json:"url,omitempty"`
	EventTypes *[]rule.EventType `json:"event_types,omitempty"`
	Filter     *webhook.Filter   `json:"filter,omitempty"`
	Enabled    *bool             `json:"enabled,omitempty"`
	Format     *webhook.Format   `json:"format,omitempty"`
}

// ChangePolicy changes a webhook policy.
func (c *Client) ChangePolicy(ctx context.Context, id string, change PolicyChange) (webhook.Policy, error) {
	k, err := send(http.MethodPatch, policyPath(id), change)
	if err != nil {
		return webhook.Policy{}, err
	}
	return into[webhook.Policy](ctx, c, k)
}

// DeletePolicy removes a webhook policy.
func (c *Client) DeletePolicy(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: policyPath(id)})
	return err
}

// RotateSecret gives a webhook policy another secret, made by the server, which is shown this once. The one before signs too for
// the time overlap.
func (c *Client) RotateSecret(ctx context.Context, id string, overlap time.Duration) (webhook.PolicyWithSecret, error) {
	k, err := send(http.MethodPost, policyPath(id, "secret"), map[string]int{"overlap_seconds": int(overlap.Seconds())})
	if err != nil {
		return webhook.PolicyWithSecret{}, err
	}
	return into[webhook.PolicyWithSecret](ctx, c, k)
}

// TestPolicy sends a ping to an endpoint and tells what it said.
func (c *Client) TestPolicy(ctx context.Context, id string) (webhook.TestResult, error) {
	return into[webhook.TestResult](ctx, c, call{method: http.MethodPost, path: policyPath(id, "test")})
}

// Deliveries lists a page of a webhook policy's deliveries, newest first. An empty state selects all; page counts from 1, and a
// size of 0 leaves the choice to the server.
func (c *Client) Deliveries(ctx context.Context, id, state string, number, size int) (List[webhook.Delivery], error) {
	q := url.Values{}
	setText(q, "state", state)
	page(q, number, size)
	return into[List[webhook.Delivery]](ctx, c, get(policyPath(id, "deliveries"), q))
}

// Redeliver sends a delivery that has ended once more.
func (c *Client) Redeliver(ctx context.Context, id string, delivery int64) (webhook.Delivery, error) {
	return into[webhook.Delivery](ctx, c, call{
		method: http.MethodPost, path: policyPath(id, "deliveries", strconv.FormatInt(delivery, 10), "redeliver"),
	})
}
