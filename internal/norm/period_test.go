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
		"Check scales every year or every 1000 hours.":      {},
		"The board meets weekly, or monthly.":               {},
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

func TestRatesOfNumbers(t *testing.T) {
	for statement, want := range map[string]float64{
		"Drivers may not work more than 10 hours a day.":                86400,
		"Drivers may not work more than 48 hours of overtime per week.": 7 * 86400,
		"Clients send at most 10 requests each second.":                 1,
		"Delete logs after 30 days.":                                    0,
		"Reports of each day are kept for 30 days.":                     0,
	} {
		clauses := norm.Read(statement, rule.Must)
		if len(clauses) == 0 {
			t.Fatalf("%s: no clause", statement)
		}
		if got := norm.Rate(&clauses[0]); got != want {
			t.Errorf("%s: for %v seconds, want %v", statement, got, want)
		}
	}
}
