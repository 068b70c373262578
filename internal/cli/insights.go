package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"tenet/internal/client"
	"tenet/internal/insight"
)

type insightsCommand struct {
	Days   int    `default:"30" help:"Days to look at, up to 400; today is one."`
	Format string `short:"f" enum:"text,json" default:"text" help:"${enum}."`
}

// Help is the long help of the command.
func (insightsCommand) Help() string {
	return `What was judged and how, by counts that are kept by day, and which rules need a look.

    tenet insights --days 7
    tenet insights --format json`
}

// Run tells how the rules fare.
func (k *insightsCommand) Run(ctx context.Context, s *session) error {
	if k.Days < insight.MinPeriod || k.Days > insight.MaxPeriod {
		return fmt.Errorf("--days: %d is not between %d and %d", k.Days, insight.MinPeriod, insight.MaxPeriod)
	}
	return s.with(ctx, keepsData, func(c *client.Client) error {
		o, err := c.Insights(ctx, k.Days)
		if err != nil {
			return err
		}
		if k.Format == "json" {
			return printJSON(s.out, o)
		}
		return s.printInsights(&o)
	})
}

func (s *session) printInsights(o *insight.Overview) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	v := &o.Totals
	fmt.Fprintf(t, "evaluations\t%d\tALLOW %s, DENY %s, NEEDS_CONFIRMATION %s\n", v.Total, percent(v.AllowRate), percent(v.DenyRate), percent(v.UnsureRate))
	d := &o.Verdicts.DecidedBy
	fmt.Fprintf(t, "rule verdicts\t%d\tby check %d, model %d, cache %d, nothing %d\n", o.Verdicts.Total, d.Check, d.Model, d.Cache, d.None)
	fmt.Fprintf(t, "latency\t%g ms\tmean; longest %d ms\n", o.Latency.MeanMS, o.Latency.MaxMS)
	for _, m := range o.Models {
		fmt.Fprintf(t, "%s\t%d calls\t%d tokens in, %d out; %d failed\n", line(m.Model), m.Calls, m.InputTokens, m.OutputTokens, m.Failed)
	}
	fmt.Fprintf(t, "health\t%g\tmean of %d rules\n", o.Health.Mean, o.Health.Measured)
	fmt.Fprintf(t, "dormant\t%d\trules in force without a verdict for %d days\n", o.Dormant.Total, o.Dormant.AfterDays)
	for _, f := range o.MostDenied {
		fmt.Fprintf(t, "most denied\t%d of %d\t%s\n", f.Denied, f.Verdicts, ruleLine(f.RuleID, f.Slug, f.Statement))
	}
	for _, f := range o.Slowest {
		fmt.Fprintf(t, "slowest\t%g ms\t%s\n", f.MeanCallMS, ruleLine(f.RuleID, f.Slug, f.Statement))
	}
	for _, r := range o.Health.Lowest {
		fmt.Fprintf(t, "lowest health\t%d\t%s\n", r.Score, ruleLine(r.RuleID, r.Slug, r.Statement))
	}
	for _, r := range o.Dormant.Rules {
		fmt.Fprintf(t, "longest idle\t%d days\t%s\n", r.IdleDays, ruleLine(r.RuleID, r.Slug, r.Statement))
	}
	if err := s.table(t, &b); err != nil {
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
	Rule   string `arg:"" help:"Id or slug of the rule."`
	Format string `short:"f" enum:"text,json" default:"text" help:"${enum}."`
}

// Help is the long help of the command.
func (rulesHealthCommand) Help() string {
	return `The score is from 0 to 100; parts about which nothing is known do not count.

    tenet rules health SEC-003`
}

// Run tells how a rule fares.
func (k *rulesHealthCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		h, err := c.RuleHealth(ctx, k.Rule)
		if err != nil {
			return err
		}
		if k.Format == "json" {
			return printJSON(s.out, h)
		}
		var b strings.Builder
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintf(t, "score\t%d\t\t\n", h.Score)
		for _, p := range h.Parts {
			value := "unknown"
			if p.Value != nil {
				value = fmt.Sprint(*p.Value)
			}
			fmt.Fprintf(t, "%s\t%s\tweight %d\t%s\n", strings.ReplaceAll(p.Name, "_", " "), value, p.Weight, line(p.Detail))
		}
		for _, d := range h.History {
			fmt.Fprintf(t, "since %s\t%d\t\t\n", d.Date, d.Score)
		}
		return s.table(t, &b)
	})
}
