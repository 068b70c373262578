package cli

import (
	"context"
	"fmt"
	"time"

	"tenet/internal/client"
	"tenet/internal/report"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

type reportCommand struct {
	Month  string `placeholder:"MONTH" help:"Month in UTC, such as 2026-10; default is the last one that has ended."`
	Verify bool   `help:"Verify the audit chain too, which reads all of it; needs the role admin."`
	Format string `short:"f" enum:"text,json,html,markdown" default:"text" help:"${enum}."`
	jsonFlag
}

func (reportCommand) Help() string {
	return `A month against the month before: verdicts, denials by rule, why evaluations were undecided, waivers granted and lapsing, releases, changes of
rules, and whether the audit chain is whole. The HTML is one page without links that prints well.

    tenet report --month 2026-10
    tenet report --verify --format html > october.html
    tenet report --format markdown`
}

func (k *reportCommand) Run(ctx context.Context, s *session) error {
	if _, err := time.Parse("2006-01", k.Month); k.Month != "" && err != nil {
		return fmt.Errorf("--month: %q is no month; give one such as 2026-10", k.Month)
	}
	return s.with(ctx, keepsData, func(c *client.Client) error {
		r, err := client.Get(ctx, c, op.GetReport.Where(wire.ReportQuery{Month: k.Month, Verify: k.Verify}))
		if err != nil {
			return err
		}
		defer noteAddress(s, "", "report")
		if k.Format = k.or(k.Format); k.Format == "json" {
			return printJSON(s.out, r)
		}
		out, err := report.Month(k.Format, &r)
		if err != nil {
			return err
		}
		return pagedText(s, string(out))
	})
}
