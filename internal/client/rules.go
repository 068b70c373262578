package client

import (
	"context"

	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// RuleFilter selects rules; empty fields select everything.
type RuleFilter struct {
	Status   rule.Status   `query:"status"`
	Severity rule.Severity `query:"severity"`
	Modality rule.Modality `query:"modality"`
	Scope    string        `query:"scope"`
	Tags     []string      `query:"tags"`
	Page     int           `query:"page"`      // from 1; 0 is the first
	PageSize int           `query:"page_size"` // up to 100; 0 leaves the choice to the server
}

// Rules returns a page of rules, in the order they were made.
func (c *Client) Rules(ctx context.Context, f RuleFilter) (wire.Page[rule.Rule], error) {
	return Get(ctx, c, op.ListRules.Where(f))
}

// AllRules returns all rules that the filter selects, ignoring its page, in the order they were made.
func (c *Client) AllRules(ctx context.Context, f RuleFilter) ([]rule.Rule, error) {
	f.Page, f.PageSize = 0, 0
	return All(ctx, c, op.ListRules.Where(f))
}

// Rule returns a rule by id or slug.
func (c *Client) Rule(ctx context.Context, ref string) (rule.Rule, error) {
	return Get(ctx, c, op.GetRule.At(ref))
}

// ImportRules creates and updates rules from a file: all of them, or none. A dry run is sent again where the server was unavailable.
func ImportRules(ctx context.Context, c *Client, f *wire.RuleFile, q wire.ImportQuery) (rule.ImportResult, error) {
	o := op.ImportRules.Where(q)
	o.Again = q.DryRun
	return Call(ctx, c, o, f)
}
