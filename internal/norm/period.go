package norm

import (
	"math"
	"strings"
)

// periods are adverbs for how often something is done, in days.
var periods = map[string]float64{
	"hourly": 1. / 24, "daily": 1, "nightly": 1, "weekly": 7, "fortnightly": 14, "monthly": 30, "quarterly": 90, "biannually": 182.5, "yearly": 365, "annually": 365,
}

// Period returns how many seconds are between two times at which a clause is to be followed, such as those of a day for "daily" and "once a day", and
// where the clause says so; false for clauses that do not, for "daily reports", which names things, and for one of several: "every year or every 1000 hours".
func Period(c *Clause) (seconds Interval, at Span, ok bool) {
	const day = 86400
	for i := range c.words {
		w := &c.words[i]
		if w.code {
			continue
		}
		if days := periods[w.text]; days > 0 && (i+1 == len(c.words) || w.end != 0 || c.words[i+1].key() == "" && !c.words[i+1].used) {
			return every(c, days*day, w.from, w.to)
		}
		u := units()[w.text]
		if u.unit != "time" || i == 0 {
			continue
		}
		before := c.words[i-1].text
		if before == "every" || before == "each" || (before == "a" || before == "per") && i > 1 { // once a week
			from, times := i-1, 1.
			n, start := oftenBefore(c, i-2)
			switch {
			case n > 0:
				from, times = start, n
			case before == "a" || before == "per":
				continue
			}
			return every(c, u.factor/times, c.words[from].from, w.to)
		}
		if n, _, number := numberOf(before); number && n > 0 && i > 1 && c.words[i-2].text == "every" {
			return every(c, n*u.factor, c.words[i-2].from, w.to)
		}
	}
	return Interval{}, Span{}, false
}

// Rate returns the seconds for which the number of a clause counts, as in "10 hours a day"; 0 for a number of no rate.
func Rate(c *Clause) float64 {
	for i := range c.Quantities {
		q := &c.Quantities[i]
		for k := 0; k+1 < len(c.words); k++ {
			w, next := &c.words[k], &c.words[k+1]
			if w.from < q.To || w.code || !rates[w.text] {
				continue
			}
			if u := units()[next.text]; u.unit == "time" && next.from >= q.To {
				return u.factor
			}
		}
	}
	return 0
}

// rates are words before the time for which a number counts.
var rates = list("a an per each every")

// every returns the seconds between two times, at least or at most where a bound is before the words from from to before to.
func every(c *Clause, seconds float64, from, to int) (Interval, Span, bool) {
	v := exact.interval(seconds)
	for i := range c.words {
		if w := &c.words[i]; (w.text == "or" || w.text == "and") && (i > 0 && c.words[i-1].to == to || i+1 < len(c.words) && c.words[i+1].from == from) {
			return Interval{}, Span{}, false
		}
	}
	for i := range c.words {
		if i > 0 && c.words[i].from == from {
			for _, p := range boundsBefore {
				if at := i - len(p.words); p.side != exact && at >= 0 && matches(c.words[at:i], p.words) {
					switch p.side {
					case atLeast, over: // more often is less time
						v.Lo, v.LoOpen = 0, false
					default:
						v.Hi = math.Inf(1)
					}
					from = c.words[at].from
					return v, Span{from, to}, true
				}
			}
		}
	}
	return v, Span{from, to}, true
}

// oftenBefore returns the number of times that a clause names before the word behind at, and where its words begin; 0 for none.
func oftenBefore(c *Clause, at int) (n float64, from int) {
	if at < 0 {
		return 0, 0
	}
	switch text := c.words[at].text; {
	case text == "once":
		return 1, at
	case text == "twice":
		return 2, at
	case text == "times" && at > 0:
		if n, _, ok := numberOf(strings.TrimSuffix(c.words[at-1].text, ",")); ok {
			return n, at - 1
		}
	}
	return 0, 0
}
