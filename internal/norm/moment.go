package norm

import (
	"strconv"
	"strings"
)

// moment reads a time of the day, such as 9:30 and 5pm, or a day of the month, such as 5th.
func moment(text string) (n float64, unit string, ok bool) {
	if hours, minutes, found := strings.Cut(text, ":"); found {
		h, err1 := strconv.Atoi(hours)
		m, err2 := strconv.Atoi(minutes)
		return float64(60*h + m), clock, err1 == nil && err2 == nil && len(minutes) == 2 && h < 25 && m < 60
	}
	for i, half := range []string{"am", "pm"} {
		if hours, found := strings.CutSuffix(text, half); found {
			h, err := strconv.Atoi(hours)
			return float64(60 * (h%12 + 12*i)), clock, err == nil && h > 0 && h < 13
		}
	}
	for _, end := range []string{"st", "nd", "rd", "th"} {
		if day, found := strings.CutSuffix(text, end); found {
			d, err := strconv.Atoi(day)
			return float64(d), monthDay, err == nil && d > 0 && d < 32
		}
	}
	return 0, "", false
}

// momentBounds are words before a moment.
var momentBounds = map[string]side{"before": under, "until": atMost, "by": atMost, "after": over, "from": atLeast, "at": exact, "on": exact}

// momentAt reads the words around a moment at i, of which some are used.
func momentAt(words []placed, i int, n float64, unit string) (Quantity, bool) {
	from, to, bound := i, i+1, exact
	if from > 0 && words[from-1].text == "the" {
		from--
	}
	if from == 0 {
		return Quantity{}, false
	}
	bound, ok := momentBounds[words[from-1].text]
	if !ok {
		return Quantity{}, false
	}
	from--
	if unit == monthDay {
		switch {
		case to+2 < len(words) && words[to].text == "of" && words[to+2].text == "month":
			to += 3
		case words[from].text == "on" && (to == len(words) || words[to-1].end != 0):
		default:
			return Quantity{}, false
		}
	}
	q := Quantity{Unit: unit, Interval: bound.interval(n)}
	if words[from].text == "until" {
		q.Place = InPredicate // and no condition, as in "until it is approved"
	}
	return take(words, from, to, q), true
}

// monthEnds are the days of the month that its first and its last day may be, working days or not.
var monthEnds = map[string]Interval{"first": {Lo: 1, Hi: 4}, "last": {Lo: 25, Hi: 31}}

// monthEndAt reads "on the last working day of the month" at i, where last is.
func monthEndAt(words []placed, i int) (Quantity, bool) {
	v, ok := monthEnds[words[i].text]
	from, to := i, i+1
	if !ok || i < 2 || words[i-1].text != "the" || words[i-2].text != "on" {
		return Quantity{}, false
	}
	if to < len(words) && (words[to].text == "working" || words[to].text == "business") {
		to++
	}
	for _, wanted := range []string{"day of the month", "day of each month", "day of every month"} {
		if phrase := strings.Fields(wanted); to+len(phrase) <= len(words) && matches(words[to:], phrase) {
			return take(words, from-2, to+len(phrase), Quantity{Unit: monthDay, Interval: v}), true
		}
	}
	return Quantity{}, false
}

// weekDays are the days of the week from Monday on, and what lies between them.
var weekDays = map[string]Interval{
	"monday": {Lo: 1, Hi: 1}, "tuesday": {Lo: 2, Hi: 2}, "wednesday": {Lo: 3, Hi: 3}, "thursday": {Lo: 4, Hi: 4}, "friday": {Lo: 5, Hi: 5}, "saturday": {Lo: 6, Hi: 6},
	"sunday": {Lo: 7, Hi: 7}, "weekend": {Lo: 6, Hi: 7}, "weekday": {Lo: 1, Hi: 5}, "workday": {Lo: 1, Hi: 5},
}

// daysAt reads days of the week at i: "on Fridays", "on working days". They say when a clause holds.
func daysAt(words []placed, i int) (Quantity, bool) {
	from, to := i, i+1
	day, ok := weekDays[strings.TrimSuffix(words[i].text, "s")]
	if (words[i].text == "working" || words[i].text == "business") && to < len(words) && words[to].text == "days" && from > 0 && words[from-1].text == "on" {
		day, ok = weekDays["weekday"], true
		to++
	}
	if !ok {
		return Quantity{}, false
	}
	for from > 0 && (words[from-1].text == "on" || words[from-1].text == "a" || words[from-1].text == "every" || words[from-1].text == "the" || words[from-1].text == "any" || words[from-1].text == "each") {
		from--
	}
	if from == i {
		return Quantity{}, false
	}
	return take(words, from, to, Quantity{Unit: WeekDay, Interval: day, Place: InCondition}), true
}
