package norm_test

import (
	"math"
	"testing"

	"tenet/internal/norm"
	"tenet/internal/rule"
)

func TestPeriodsOfClauses(t *testing.T) {
	const day = 86400
	for statement, want := range map[string]norm.Interval{
		"Backups run daily.":                                {Lo: day, Hi: day},
		"Secrets are rotated every 90 days.":                {Lo: 90 * day, Hi: 90 * day},
		"The plan is reviewed once a year.":                 {Lo: 365 * day, Hi: 365 * day},
		"The board meets at least twice a year.":            {Lo: 0, Hi: 365 * day / 2.},
		"Send reminders no more than once a week.":          {Lo: 7 * day, Hi: math.Inf(1)},
		"Balance the cash register at the end of each day.": {Lo: day, Hi: day},
		"Keep the daily reports.":                           {},
		"Delete logs after 30 days.":                        {},
	} {
		clauses := norm.Read(statement, rule.Must)
		if len(clauses) == 0 {
			t.Fatalf("%s: no clause", statement)
		}
		if got, _, ok := norm.Period(&clauses[0]); got != want || ok != (want != norm.Interval{}) {
			t.Errorf("%s: every %+v seconds, want %+v", statement, got, want)
		}
	}
}
