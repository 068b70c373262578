package search

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

const monthPattern = `(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?`

// period is a day, a month or a year, in UTC.
type period struct{ from, until time.Time }

// String is the period in ISO 8601: 2026, 2026-06 or 2026-06-01.
func (p period) String() string {
	switch {
	case p.until.Equal(p.from.AddDate(1, 0, 0)):
		return p.from.Format("2006")
	case p.until.Equal(p.from.AddDate(0, 1, 0)):
		return p.from.Format("2006-01")
	}
	return p.from.Format(time.DateOnly)
}

func (p period) contains(t time.Time) bool { return !t.Before(p.from) && t.Before(p.until) }

var (
	dayMonth = regexp.MustCompile(`(?i)^(?:(\d{1,2})(?:st|nd|rd|th|\.)?\s+)?(` + monthPattern + `)\s+(\d{4})$`)
	monthDay = regexp.MustCompile(`(?i)^(` + monthPattern + `)\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})$`)
	months   = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
)

// parsePeriod reads a day, a month or a year as people write them.
func parsePeriod(s string, now time.Time) (period, bool) {
	s = strings.TrimSpace(s)
	today := now.UTC().Truncate(24 * time.Hour)
	switch strings.ToLower(s) {
	case "today", "now":
		return period{today, today.AddDate(0, 0, 1)}, true
	case "yesterday":
		return period{today.AddDate(0, 0, -1), today}, true
	}
	for _, form := range []struct {
		layout              string
		years, months, days int
	}{{"2006-01-02", 0, 0, 1}, {"2006-01", 0, 1, 0}, {"2006", 1, 0, 0}} {
		if t, err := time.Parse(form.layout, s); err == nil && t.Year() > 0 {
			return period{t, t.AddDate(form.years, form.months, form.days)}, true
		}
	}
	if m := dayMonth.FindStringSubmatch(s); m != nil {
		return datedBy(m[3], m[2], m[1])
	}
	if m := monthDay.FindStringSubmatch(s); m != nil {
		return datedBy(m[3], m[1], m[2])
	}
	return period{}, false
}

// datedBy makes a period of the parts of a date; an empty day is all of the month.
func datedBy(year, month, day string) (period, bool) {
	y, err := strconv.Atoi(year)
	if err != nil || y < 1 {
		return period{}, false
	}
	m := 0
	for i, name := range months {
		if strings.HasPrefix(strings.ToLower(month), name) {
			m = i + 1
		}
	}
	from := time.Date(y, time.Month(m), 1, 0, 0, 0, 0, time.UTC)
	if day == "" {
		return period{from, from.AddDate(0, 1, 0)}, true
	}
	d, err := strconv.Atoi(day)
	from = from.AddDate(0, 0, d-1)
	if err != nil || d < 1 || int(from.Month()) != m {
		return period{}, false
	}
	return period{from, from.AddDate(0, 0, 1)}, true
}
