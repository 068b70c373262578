package client

import (
	"context"

	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// CreateWaiver makes a waiver.
func (c *Client) CreateWaiver(ctx context.Context, w wire.CreateWaiver) (rule.Waiver, error) {
	return Call(ctx, c, op.CreateWaiver, w)
}

// Waivers lists a page of waivers, newest first; only those of a rule, an id or slug, if it is not empty.
func (c *Client) Waivers(ctx context.Context, ruleRef string, number, size int) (wire.Page[rule.Waiver], error) {
	return Get(ctx, c, op.ListWaivers.Where(wire.WaiverQuery{RuleID: ruleRef, PageQuery: wire.PageQuery{Page: number, PageSize: size}}))
}

// Waiver returns a waiver.
func (c *Client) Waiver(ctx context.Context, id string) (rule.Waiver, error) {
	return Get(ctx, c, op.GetWaiver.At(id))
}

// ApproveWaiver approves a waiver that somebody else has made.
func (c *Client) ApproveWaiver(ctx context.Context, id string) (rule.Waiver, error) {
	return Get(ctx, c, op.ApproveWaiver.At(id))
}

// RevokeWaiver takes a waiver back.
func (c *Client) RevokeWaiver(ctx context.Context, id string) (rule.Waiver, error) {
	return Get(ctx, c, op.RevokeWaiver.At(id))
}
