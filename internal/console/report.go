package console

import (
	"fmt"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// reportPage shows what happened in a month, for paper.
func reportPage(p *page) error {
	query := p.r.URL.Query()
	r, err := client.Get(p.ctx, p.api, op.GetReport.Where(wire.ReportQuery{Month: query.Get("month"), Verify: query.Get("verify") != ""}))
	problem, err := refusedFilter(err)
	if err != nil {
		return err
	}
	return p.show(head{Title: "Report " + r.Month, Nav: "overview", Print: query.Get("print") != ""}, reportView(p, &r, problem))
}

// months are the months whose reports are offered, the latest first: as far back as counts are kept.
func months(now time.Time) []option {
	first := time.Date(now.UTC().Year(), now.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
	var list []option
	for i := range 13 {
		m := first.AddDate(0, -i, 0)
		list = append(list, option{m.Format("2006-01"), m.Format("January 2006")})
	}
	return list
}

// monthWords is a month for people.
func monthWords(month string) string {
	t, err := time.Parse("2006-01", month)
	if err != nil {
		return month
	}
	return t.Format("January 2006")
}

// difference is a number against the one of the month before.
func difference(now, before int64) string {
	switch {
	case now == before:
		return "as before"
	case now > before:
		return "+" + grouped(now-before)
	}
	return "−" + grouped(before-now)
}

// inMonth is the address of the evaluations of the month of a report, with further filters by name and value.
func inMonth(p *page, r *wire.MonthReport, pairs ...string) string {
	pairs = append(pairs, "since", r.From.Format(time.DateOnly), "until", r.Until.Format(time.DateOnly))
	return p.at("evaluations") + "?" + queryOf(pairs...)
}

// changeWords names a change, such as: rule, created.
func changeWords(c *wire.ChangeFigure) string {
	kind := strings.ReplaceAll(c.Kind, "_", " ")
	if c.Action == "" {
		return kind
	}
	return fmt.Sprintf("%s: %s", kind, c.Action)
}
