package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/health"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

type insightsCommand struct {
	Days int `default:"30" help:"Days to look at, up to 400; today is one."`
	output
}

func (insightsCommand) Help() string {
	return `What was judged and how, by counts that are kept by day, and which rules need a look.

    tenet insights --days 7
    tenet insights --format json`
}

func (k *insightsCommand) Run(ctx context.Context, s *session) error {
	if k.Days < health.MinPeriod || k.Days > health.MaxPeriod {
		return fmt.Errorf("--days: %d is not between %d and %d", k.Days, health.MinPeriod, health.MaxPeriod)
	}
	return s.with(ctx, keepsData, func(c *client.Client) error {
		o, err := client.Get(ctx, c, op.GetInsights.Where(wire.InsightsQuery{PeriodDays: k.Days}))
		return show(s, k.output, o, err, printInsights)
	})
}

func printInsights(s *session, o wire.Overview) error {
	v, d := &o.Totals, &o.Verdicts.DecidedBy
	rows := [][]any{
		{"evaluations", v.Total, fmt.Sprintf("ALLOW %s, DENY %s, NEEDS_CONFIRMATION %s", percent(v.AllowRate), percent(v.DenyRate), percent(v.UnsureRate))},
		{"rule verdicts", o.Verdicts.Total, fmt.Sprintf("by check %d, model %d, cache %d, nothing %d", d.Check, d.Model, d.Cache, d.None)},
		{"latency", fmt.Sprintf("%g ms", o.Latency.MeanMS), fmt.Sprintf("mean; longest %d ms", o.Latency.MaxMS)},
	}
	for _, m := range o.Models {
		tokens := fmt.Sprintf("%d tokens in, %d out; %d failed", m.InputTokens, m.OutputTokens, m.Failed)
		rows = append(rows, []any{m.Model, fmt.Sprintf("%d calls", m.Calls), tokens})
	}
	rows = append(rows, []any{"health", o.Health.Mean, fmt.Sprintf("mean of %d rules", o.Health.Measured)},
		[]any{"dormant", o.Dormant.Total, fmt.Sprintf("rules in force without a verdict for %d days", o.Dormant.AfterDays)})
	for _, f := range o.MostDenied {
		rows = append(rows, []any{"most denied", fmt.Sprintf("%d of %d", f.Denied, f.Verdicts), ruleLine(f.RuleID, f.Slug, f.Statement)})
	}
	for _, f := range o.Slowest {
		rows = append(rows, []any{"slowest", fmt.Sprintf("%g ms", f.MeanCallMS), ruleLine(f.RuleID, f.Slug, f.Statement)})
	}
	for _, r := range o.Health.Lowest {
		rows = append(rows, []any{"lowest health", r.Score, ruleLine(r.RuleID, r.Slug, r.Statement)})
	}
	for _, r := range o.Dormant.Rules {
		rows = append(rows, []any{"longest idle", fmt.Sprintf("%d days", r.IdleDays), ruleLine(r.RuleID, r.Slug, r.Statement)})
	}
	if err := s.table("", rows); err != nil {
		return err
	}
	if o.Uncounted > 0 {
		upTo := "nothing is counted yet"
		if o.AsOf != nil {
			upTo = "counted up to " + o.AsOf.Format(time.DateTime)
		}
		s.note("%s; %d entries of the audit chain are left", upTo, o.Uncounted)
	}
	return nil
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// ruleLine names a rule with what it says.
func ruleLine(id, slug, statement string) string {
	if slug == "" {
		slug = id
	}
	return line(slug + "  " + statement)
}

type rulesHealthCommand struct {
	Rule string `arg:"" help:"Id or slug of the rule."`
	output
}

func (rulesHealthCommand) Help() string {
	return `The score is from 0 to 100; parts about which nothing is known do not count.

    tenet rules health SEC-003`
}

func (k *rulesHealthCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	h, err := client.Get(ctx, c, op.RuleHealth.At(k.Rule))
	return show(s, k.output, h, err, printHealth)
}

func printHealth(s *session, h wire.Health) error {
	rows := [][]any{{"score", h.Score, "", ""}}
	for _, p := range h.Parts {
		value := "unknown"
		if p.Value != nil {
			value = fmt.Sprint(*p.Value)
		}
		rows = append(rows, []any{strings.ReplaceAll(p.Name, "_", " "), value, fmt.Sprintf("weight %d", p.Weight), p.Detail})
	}
	for _, d := range h.History {
		rows = append(rows, []any{"since " + d.Date, d.Score, "", ""})
	}
	return s.table("", rows)
}
