package norm

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Place is the part of a clause that a word is in.
type Place int

// The parts of a clause.
const (
	InSubject   Place = iota // who or what: before must
	InPredicate              // what is to be done
	InCondition              // when, if
	InException              // unless, except
	dropped                  // reasons, and what is not meant: instead of
)

// Interval is the numbers from Lo to Hi.
type Interval struct {
	Lo, Hi         float64 // infinite if not bounded
	LoOpen, HiOpen bool    // the bound itself is outside
}

// Quantity is a number of a unit that a clause bounds something by.
type Quantity struct {
	Interval

	Unit  string // what all units of one dimension are brought to, such as seconds; or the stem of what is counted
	Place Place
	Text  string // as it is written
	Span

	lasting bool // says for how long
	closing bool // says until when something is open
}

// Apart reports whether no number is in both.
func (v Interval) Apart(o Interval) bool {
	below := func(x, y Interval) bool { return x.Hi < y.Lo || (x.Hi == y.Lo && (x.HiOpen || y.LoOpen)) }
	return below(v, o) || below(o, v)
}

// Differs reports whether both bound on the same side, by different numbers.
func (v Interval) Differs(o Interval) bool {
	side := func(x, y float64) bool { return !math.IsInf(x, 0) && !math.IsInf(y, 0) && x != y }
	return side(v.Lo, o.Lo) || side(v.Hi, o.Hi)
}

// Not returns the other numbers of an interval that is bounded on one side; false for others.
func (v Interval) Not() (Interval, bool) {
	low, high := !math.IsInf(v.Lo, -1), !math.IsInf(v.Hi, 1)
	switch {
	case low && !high:
		return Interval{Lo: math.Inf(-1), Hi: v.Lo, HiOpen: !v.LoOpen}, true
	case high && !low:
		return Interval{Lo: v.Hi, LoOpen: !v.HiOpen, Hi: math.Inf(1)}, true
	}
	return v, false
}

// scale is the unit to which another is converted, and the factor.
type scale struct {
	unit   string
	factor float64
}

// Units of places in the day, the month and the week.
const (
	clock    = "minute of the day"
	monthDay = "day of the month"
	// WeekDay is the unit of days of the week: Monday is 1.
	WeekDay = "day of the week"
)

var units = sync.OnceValue(func() map[string]scale {
	out := map[string]scale{}
	add := func(unit string, factor float64, names string) {
		for n := range strings.FieldsSeq(names) {
			out[n] = scale{unit, factor}
		}
	}
	const second, day = 1, 86400
	add("time", .001*second, "ms millisecond milliseconds")
	add("time", second, "s sec secs second seconds")
	add("time", 60, "min mins minute minutes")
	add("time", 3600, "h hour hours")
	add("time", day, "d day days")
	add("time", 7*day, "week weeks")
	add("time", 14*day, "fortnight fortnights")
	add("time", 90*day, "quarter quarters")
	add("time", 30*day, "month months")
	add("time", 365*day, "year years")
	add("size", 1, "byte bytes")
	for i, prefix := range []string{"k", "m", "g", "t"} {
		add("size", math.Pow(1000, float64(i+1)), prefix+"b "+prefix+"byte "+prefix+"bytes")
		add("size", math.Pow(1024, float64(i+1)), prefix+"ib")
	}
	add("size", 1e6, "megabyte megabytes")
	add("size", 1e9, "gigabyte gigabytes")
	add("percent", 1, "% percent per-cent")
	add("eur", 1, "eur euro euros")
	add("usd", 1, "usd dollar dollars")
	add("gbp", 1, "gbp pound pounds")
	add("gram", .001, "mg milligram milligrams")
	add("gram", 1, "g gram grams")
	add("gram", 1000, "kg kilo kilos kilogram kilograms")
	add("gram", 1e6, "tonne tonnes")
	add("pound", 1, "lb lbs")
	add("litre", .001, "ml millilitre millilitres milliliter milliliters")
	add("litre", 1, "litre litres liter liters")
	add("degree", 1, "degree degrees °c")
	add("km/h", 1, "km/h kph")
	add("times", 1, "times")
	add("metre", .001, "mm millimetre millimetres")
	add("metre", .01, "cm centimetre centimetres")
	add("metre", 1, "m metre metres meter meters")
	add("metre", 1000, "km")
	out[clock], out[monthDay] = scale{clock, 1}, scale{monthDay, 1}
	return out
})

var currency = map[rune]string{'€': "eur", '$': "usd", '£': "gbp"}

var numberWords = map[string]float64{
	"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fourteen": 14, "fifteen": 15, "eighteen": 18, "twenty": 20, "forty": 40, "fifty": 50, "seventy": 70, "eighty": 80, "hundred": 100,
	"thirty": 30, "sixty": 60, "ninety": 90,
}

// labels are words whose number is a name and no quantity, as in port 22.
var labels = list("version port article section rule level tls ssl iso sha step chapter page table cwe rfc cve utf http node python java go php " +
	"annex clause paragraph part appendix number tier layer type class form schedule")

// numberOf reads a number with the unit or the currency that is written together with it.
func numberOf(text string) (n float64, unit string, ok bool) {
	if n, ok := numberWords[text]; ok {
		return n, "", true
	}
	if n, unit, ok := moment(text); ok {
		return n, unit, true
	}
	for sign, name := range currency {
		if rest, found := strings.CutPrefix(text, string(sign)); found {
			text, unit = rest, name
		}
	}
	digits := strings.IndexFunc(text, func(c rune) bool { return !unicode.IsDigit(c) && c != '.' && c != ',' })
	if digits < 0 {
		digits = len(text)
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(text[:digits], ",", ""), 64)
	if err != nil || math.IsInf(n, 0) {
		return 0, "", false
	}
	switch suffix := strings.TrimPrefix(text[digits:], "-"); {
	case suffix == "":
	case suffix == "k" && unit != "":
		n *= 1000
	case units()[suffix].unit != "":
		unit = suffix
	default:
		return 0, "", false // an identifier such as 2fa
	}
	return n, unit, true
}

// take makes a quantity of the words from from to before to.
func take(words []placed, from, to int, q Quantity) Quantity {
	q.Span = Span{words[from].from, words[to-1].to}
	if q.Place == 0 {
		q.Place = words[to-1].place
	}
	text := make([]string, 0, to-from)
	for k := from; k < to; k++ {
		words[k].used = true
		text = append(text, words[k].text)
	}
	q.Text = strings.Join(text, " ")
	return q
}

// side is how a phrase bounds the number next to it.
type side int

const (
	exact side = iota
	atMost
	under // not the number itself
	atLeast
	over
)

// boundsBefore are phrases before a number, and boundsAfter behind it or its unit. Longer ones come first.
var (
	boundsBefore = phrases(map[side]string{
		atMost: "no more than|not more than|no longer than|not longer than|no later than|not later than|no greater than|no larger than|no higher than|" +
			"no older than|not older than|not to exceed|at most|as much as|as many as|as high as|as late as|a maximum of|maximum of|maximum length of|maximum|max|up to|within|limited to|capped at|<=",
		under:   "less than|fewer than|shorter than|smaller than|lower than|younger than|earlier than|under|below|<",
		atLeast: "no less than|not less than|no fewer than|not fewer than|no shorter than|not shorter than|no earlier than|no sooner than|not sooner than|at least|as short as|as little as|as few as|as low as|as early as|a minimum of|minimum of|minimum length of|minimum|min|>=",
		over:    "more than|greater than|longer than|larger than|older than|higher than|bigger than|later than|exceeding|exceeds|exceed|above|over|beyond|>",
		exact:   "exactly|every|each|of",
	})
	boundsAfter = phrases(map[side]string{
		atLeast: "or more|or longer|or above|or greater|or older|or higher|or warmer|or hotter|or over|and above|and more|minimum|at least|at minimum",
		atMost:  "or less|or fewer|or colder|or cooler|or below|or shorter|or under|and below|maximum|at most|at maximum",
	})
)

type phrase struct {
	words []string
	side  side
}

func phrases(m map[side]string) []phrase {
	var out []phrase
	for s, all := range m {
		for text := range strings.SplitSeq(all, "|") {
			out = append(out, phrase{strings.Fields(text), s})
		}
	}
	slices.SortFunc(out, func(a, b phrase) int {
		if d := len(b.words) - len(a.words); d != 0 {
			return d
		}
		return slices.Compare(a.words, b.words)
	})
	return out
}

// measures are words that say what a number measures, not of what.
var measures = list("long old length age size duration value amount total deep high large big short wide last take exceed limit maximum minimum max min " +
	"more less fewer longer shorter older younger greater larger smaller higher lower later earlier sooner number count least most than up within every")

// placed is a word with its place; used is set for what belongs to a quantity.
type placed struct {
	word

	place Place
	used  bool
}

// quantitiesOf finds the quantities of a clause and marks their words as used.
func quantitiesOf(words []placed) []Quantity {
	var out []Quantity
	for i := range words {
		if words[i].used || words[i].code {
			continue
		}
		if q, ok := daysAt(words, i); ok {
			out = append(out, q)
			continue
		}
		if q, ok := monthEndAt(words, i); ok {
			out = append(out, q)
			continue
		}
		n, unit, ok := numberOf(words[i].text)
		if !ok {
			n, ok = article(words, i)
		}
		if !ok {
			n, unit, ok = often(words, i)
		}
		if ok && i+3 < len(words) && words[i+1].text == "and" && i > 0 && words[i-1].text == "between" {
			if q, ok := between(words, i, n); ok {
				out = append(out, q)
				continue
			}
		}
		if !ok {
			continue
		}
		if unit == clock || unit == monthDay {
			if q, ok := momentAt(words, i, n, unit); ok {
				out = append(out, q)
			}
			continue
		}
		if q, ok := quantityAt(words, i, n, unit); ok {
			out = append(out, q)
		}
	}
	return joinBetween(out)
}

// article reads a as one before a unit of time: "within a week", "for a year".
func article(words []placed, i int) (float64, bool) {
	if (words[i].text != "a" && words[i].text != "an") || i == 0 || i+1 >= len(words) || units()[words[i+1].text].unit != "time" {
		return 0, false
	}
	switch words[i-1].text {
	case "within", "for", "after", "than", "least", "most":
		return 1, true
	case "to":
		return 1, i > 1 && words[i-2].text == "up"
	}
	return 0, false
}

// between reads "between 2 and 8 degrees" at the first number.
func between(words []placed, i int, least float64) (Quantity, bool) {
	most, unit, ok := numberOf(words[i+2].text)
	if !ok || least > most {
		return Quantity{}, false
	}
	u, end, _ := unitAt(words, i+2, unit)
	if u.unit == "" {
		return Quantity{}, false
	}
	return take(words, i-1, max(end, i+3), Quantity{Unit: u.unit, Place: words[i].place, Interval: Interval{Lo: least * u.factor, Hi: most * u.factor}}), true
}

// often reads once and twice as numbers of times: "at most once", "retry twice". Elsewhere once means as soon as.
func often(words []placed, i int) (n float64, unit string, ok bool) {
	switch words[i].text {
	case "twice":
		return 2, "times", true
	case "once":
		ok := words[i].end != 0 || i+1 == len(words) || i > 0 && (words[i-1].text == "most" || words[i-1].text == "least" || words[i-1].text == "than" || words[i-1].text == "only")
		return 1, "times", ok && i > 0 && words[i-1].text != "at"
	}
	return 0, "", false
}

func quantityAt(words []placed, i int, n float64, unit string) (Quantity, bool) {
	from, to := i, i+1
	bound, bounded := exact, false
	for _, p := range boundsBefore {
		if at := i - len(p.words); at >= 0 && matches(words[at:i], p.words) {
			from, bound, bounded = at, p.side, true
			break
		}
	}
	if !bounded && i > 0 && (labels[words[i-1].text] || words[i-1].end == 0 && words[i-1].text == "-") {
		return Quantity{}, false
	}
	u, unitEnd, counted := unitAt(words, i, unit)
	to = max(to, unitEnd)
	for _, p := range boundsAfter {
		if to+len(p.words) <= len(words) && matches(words[to:to+len(p.words)], p.words) {
			to, bound, bounded = to+len(p.words), p.side, true
			break
		}
	}
	lasting := u.unit == "time" && i > 0 && (words[i-1].text == "for" || words[i-1].text == "after")
	if !bounded && !lasting && (u.unit == "" || numberWords[words[i].text] == 1 && !(i > 0 && counts[words[i-1].key()]) || counted && i > 0 && !beforeCount(words[i-1])) {
		return Quantity{}, false // a name or a label
	}
	if u.unit == "time" && bound == exact && i > 0 && words[i-1].text == "in" {
		bound = atMost
	}
	if from > 0 && words[from-1].text == "after" && strings.HasSuffix(u.unit, "time") {
		words[from-1].used = true // after 30 seconds is no order of events
		if bound == exact && slices.ContainsFunc(words[:from], func(w placed) bool { return w.text == "only" }) {
			bound = atLeast
		}
	}
	place := words[i].place
	if u.unit == "times" && words[i].text == "once" {
		place = InPredicate
	}
	return take(words, from, to, Quantity{Unit: u.unit, Place: place, Interval: bound.interval(n * u.factor), lasting: lasting && words[i-1].text == "for"}), true
}

// beforeCount reports whether a number behind a word counts what follows, as in "by two people", and does not name it, as in
// "principle 6 compliance".
func beforeCount(before placed) bool {
	key := before.key()
	return !before.code && (key == "" || counts[key])
}

// counts are the compared forms of words before a number of things.
var counts = list("contain need requir take exact")

func matches(words []placed, phrase []string) bool {
	for k, w := range phrase {
		if words[k].text != w {
			return false
		}
	}
	return true
}

// unitAt finds the unit of the number at i: a known one, or what is counted. End is the first word behind it.
func unitAt(words []placed, i int, written string) (u scale, end int, counted bool) {
	end = i + 1
	if written != "" {
		return units()[written], end, false
	}
	if strings.HasSuffix(words[i].text, "%") {
		return scale{"percent", 1}, end, false
	}
	if end >= len(words) || words[i].end != 0 || words[end].place != words[i].place {
		return scale{"", 1}, end, false
	}
	next := words[end].text
	if days := next == "business" || next == "working"; (days || next == "calendar") && end+1 < len(words) {
		if known, ok := units()[words[end+1].text]; ok {
			if days {
				known.unit = "working " + known.unit
			}
			return known, end + 2, false
		}
	}
	if known, ok := units()[next]; ok {
		if end++; known.unit == "degree" && end < len(words) && words[end].text == "celsius" {
			end++
		}
		return known, end, false
	}
	if words[end].code || noContent[next] || measures[next] || !unicode.IsLetter(rune(next[0])) {
		return scale{"", 1}, end, false
	}
	return scale{"number of " + words[end].key(), 1}, end + 1, true
}

func (s side) interval(n float64) Interval {
	v := Interval{Lo: math.Inf(-1), Hi: math.Inf(1)}
	switch s {
	case atMost, under:
		v.Hi, v.HiOpen = n, s == under
	case atLeast, over:
		v.Lo, v.LoOpen = n, s == over
	case exact:
		v.Lo, v.Hi = n, n
	}
	return v
}

// joinBetween makes one quantity of a least and a greatest number of one unit and place.
func joinBetween(list []Quantity) []Quantity {
	var out []Quantity
	for _, q := range list {
		if n := len(out); n > 0 && out[n-1].joins(q) {
			last := &out[n-1]
			if q.Lo > last.Lo {
				last.Lo, last.LoOpen = q.Lo, q.LoOpen
			}
			if q.Hi < last.Hi {
				last.Hi, last.HiOpen = q.Hi, q.HiOpen
			}
			last.Text += fmt.Sprintf(" and %s", q.Text)
			last.To = max(last.To, q.To)
			continue
		}
		out = append(out, q)
	}
	return out
}

// joins reports whether one quantity bounds below, and the other above, what may lie between.
func (q *Quantity) joins(o Quantity) bool {
	low := func(v Interval) bool { return !math.IsInf(v.Lo, 0) && math.IsInf(v.Hi, 0) }
	high := func(v Interval) bool { return math.IsInf(v.Lo, 0) && !math.IsInf(v.Hi, 0) }
	return q.Unit == o.Unit && q.Place == o.Place && !q.Apart(o.Interval) &&
		(low(q.Interval) && high(o.Interval) || high(q.Interval) && low(o.Interval))
}
