package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"tenet/internal/rule"
)

const waiversPath = "/api/v1/waivers"

// NewWaiver asks for a waiver.
type NewWaiver struct {
	RuleID      string    `json:"rule_id"` // or slug
	Fingerprint string    `json:"fingerprint"`
	Reason      string    `json:"reason"`
	ExpiresAt   time.Time `json:"expires_at"`
	Approver    string    `json:"approver,omitempty"`
}

// CreateWaiver makes a waiver.
func (c *Client) CreateWaiver(ctx context.Context, w NewWaiver) (rule.Waiver, error) {
	k, err := send(http.MethodPost, waiversPath, w)
	if err != nil {
		return rule.Waiver{}, err
	}
	return into[rule.Waiver](ctx, c, k)
}

// Waivers lists a page of waivers, newest first; only those of a rule, an id or slug, if it is not empty.
func (c *Client) Waivers(ctx context.Context, ruleRef string, number, size int) (List[rule.Waiver], error) {
	q := url.Values{}
	setText(q, "rule_id", ruleRef)
	page(q, number, size)
	return into[List[rule.Waiver]](ctx, c, get(waiversPath, q))
}

// Waiver returns a waiver.
func (c *Client) Waiver(ctx context.Context, id string) (rule.Waiver, error) {
	return into[rule.Waiver](ctx, c, get(waiversPath+"/"+url.PathEscape(id), nil))
}

// ApproveWaiver approves a waiver that somebody else has made.
func (c *Client) ApproveWaiver(ctx context.Context, id string) (rule.Waiver, error) {
	return into[rule.Waiver](ctx, c, call{method: http.MethodPost, path: waiversPath + "/" + url.PathEscape(id) + "/approve"})
}

// RevokeWaiver takes a waiver back.
func (c *Client) RevokeWaiver(ctx context.Context, id string) (rule.Waiver, error) {
	return into[rule.Waiver](ctx, c, call{method: http.MethodDelete, path: waiversPath + "/" + url.PathEscape(id)})
}
