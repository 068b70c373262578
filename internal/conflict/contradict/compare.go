package contradict

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tenet/internal/corpus"
	"tenet/internal/norm"
)

// forces finds a demand or permission for what the other clause forbids.
func forces(a, b *norm.Clause) (Finding, bool) {
	if a.Negative == b.Negative {
		return Finding{}, false
	}
	d, p := a, b // the demand and the prohibition
	if a.Negative {
		d, p = b, a
	}
	if p.Force < norm.Require && d.Force < norm.Require {
		if p.Force == norm.Permit || d.Force == norm.Permit {
			return Finding{}, false // what is discouraged may be allowed
		}
	}
	if p.Force == norm.Recommend && d.Force == norm.Permit || !sameHead(d, p) || !conditionsMeet(d, p) || p.Force != norm.Permit && !sameLimits(d, p) && !(len(p.Quantities) == 0 && p.Head == expires) {
		return Finding{}, false
	}
	if d.Passive && p.Passive && len(d.Subject) > 0 && len(p.Subject) > 0 && !shares(d.Subject, p.Subject) {
		return Finding{}, false // what is done to different things
	}
	dw, pw := d.Words(), p.Words()
	least := 2 // words, or it is not clear what either speaks of
	if d.Head == "" || p.Head == "" {
		least = 1 // to use a thing is the least that one can do with it
		dw, pw = acting(dw), acting(pw)
	}
	if len(pw) < least || len(dw) < least {
		return Finding{}, false
	}
	confidence := 0.0
	missing := pw.Minus(dw)
	switch {
	case len(missing) == 0 && len(pw) == len(dw):
		confidence = .95
	case d.Bounded(norm.InPredicate) && p.Force != norm.Permit: // the same number for other things
		return Finding{}, false
	case d.Conditional || p.Conditional:
		return Finding{}, false // how a thing is done says nothing about whether it is
	case len(missing) == 0 && d.PartOf(pw):
		return Finding{}, false // a part of what is forbidden is something else
	case len(missing) == 0:
		confidence = .8
	case dw.Within(pw) && within(missing, p.Subject):
		confidence = .7 // of fewer things than are demanded
	default:
		return Finding{}, false
	}
	switch {
	case d.Force == norm.Permit:
		confidence *= .8
	case d.Force == norm.Recommend || p.Force == norm.Recommend:
		confidence *= .85
	}
	denies := "forbids"
	if p.Force == norm.Permit {
		denies = "does not demand"
	}
	return Finding{Force, fmt.Sprintf("%s %s what %s %s", quoted(d), verb(d), quoted(p), denies), confidence, [2][]norm.Span{polarity(a), polarity(b)}}, true
}

// expires is the head of what has a limit of time: what never expires has none.
var expires = norm.Key("expire")

// acting returns words without those that only say that something is done.
func acting(s norm.Set) norm.Set {
	out := maps.Clone(s)
	delete(out, "use")
	delete(out, "do")
	delete(out, "take")
	delete(out, "contain")
	return out
}

func verb(c *norm.Clause) string {
	switch c.Force {
	case norm.Permit:
		return "allows"
	case norm.Recommend:
		return "recommends"
	default:
		return "demands"
	}
}

func within(words []string, s norm.Set) bool {
	for _, w := range words {
		if !s[w] {
			return false
		}
	}
	return true
}

// sameHead reports whether two clauses are about doing the same: the heads are equal, or one only names the thing.
func sameHead(a, b *norm.Clause) bool {
	names := func(named, other *norm.Clause) bool { // an approval is required, and to approve
		return named.Head == "" && (vague(other.Head) || named.Subject[other.Head])
	}
	return a.Head == b.Head || names(a, b) || names(b, a)
}

// vague reports whether a head says no more than that a thing is there for somebody.
func vague(head string) bool {
	switch head {
	case "", "use", "do", "take", "contain", "access", "enabl":
		return true
	}
	return false
}

// conditionsMeet reports whether the numbers that two clauses begin to hold at leave anything that both hold for. Numbers of
// different units say nothing of each other.
func conditionsMeet(a, b *norm.Clause) bool {
	for i := range a.Quantities {
		for j := range b.Quantities {
			x, y := &a.Quantities[i], &b.Quantities[j]
			if x.Place != norm.InPredicate && y.Place != norm.InPredicate && x.Unit == y.Unit && x.Apart(y.Interval) {
				return false
			}
		}
	}
	return true
}

// sameLimits reports whether two clauses bound what they speak of by the same numbers, or by none. Other numbers are for [limits].
func sameLimits(a, b *norm.Clause) bool {
	inside := func(c *norm.Clause) []norm.Quantity {
		return slices.DeleteFunc(slices.Clone(c.Quantities), func(q norm.Quantity) bool { return q.Place != norm.InPredicate })
	}
	return slices.EqualFunc(inside(a), inside(b), func(x, y norm.Quantity) bool { return x.Unit == y.Unit && x.Interval == y.Interval })
}

// limit returns the quantity by which a clause bounds something, with negations resolved; false for none or several.
func limit(c *norm.Clause) (norm.Quantity, bool) {
	var found []norm.Quantity
	for _, q := range c.Quantities {
		if q.Place == norm.InPredicate {
			found = append(found, q)
		}
	}
	if len(found) != 1 || c.Force == norm.Permit {
		return norm.Quantity{}, false
	}
	q := found[0]
	if c.Negative {
		other, ok := q.Not()
		if !ok {
			return norm.Quantity{}, false
		}
		q.Interval = other
	}
	return q, true
}

// limits finds different numbers for the same limit.
func limits(a, b *norm.Clause) (Finding, bool) {
	x, ok := limit(a)
	y, also := limit(b)
	if !ok || !also || x.Unit != y.Unit || x.Hours(&y) || !conditionsMeet(a, b) {
		return Finding{}, false
	}
	aw, bw := limited(a), limited(b)
	if a.Head == b.Head {
		aw, bw = substance(aw), substance(bw)
	}
	same := len(aw) == len(bw) && aw.Within(bw)
	confidence := 0.0
	switch {
	case len(aw) == 0 || len(bw) == 0:
		return Finding{}, false
	case x.Apart(y.Interval) && same:
		confidence = .95
	case x.Apart(y.Interval) && x.Lo != x.Hi && y.Lo != y.Hi && a.Head == b.Head && (aw.Within(bw) || bw.Within(aw)):
		confidence = .75
	case x.Lo == x.Hi && y.Lo != y.Hi || y.Lo == y.Hi && x.Lo != x.Hi: // a value within a range keeps both
		return Finding{}, false
	case same && x.Differs(y.Interval):
		confidence = .8
	case x.Differs(y.Interval) && a.Head == b.Head && (bearsMore(a, b, aw, bw) || bearsMore(b, a, bw, aw)):
		confidence = .7
	default:
		return Finding{}, false
	}
	if a.Force == norm.Recommend || b.Force == norm.Recommend {
		confidence *= .85
	}
	marks := [2][]norm.Span{{x.Span}, {y.Span}}
	if a.Negative != b.Negative { // a negation is a part of the limit
		marks = [2][]norm.Span{append(a.Polarity(), x.Span), append(b.Polarity(), y.Span)}
	}
	return Finding{Limit, fmt.Sprintf("%s and %s set different limits: %s, and %s", quoted(a), quoted(b), x.Text, y.Text), confidence, marks}, true
}

// bearsMore reports whether a clause only adds to a passive one who has to do it.
func bearsMore(a, passive *norm.Clause, aw, pw norm.Set) bool {
	return passive.Passive && !a.Passive && pw.Within(aw) && len(pw) > 1 && within(aw.Minus(pw), a.Subject)
}

// limited returns the words for which a limit is set, without those that only measure.
func limited(c *norm.Clause) norm.Set {
	out := norm.Set{}
	for w := range c.Words() {
		if !measured[w] {
			out[w] = true
		}
	}
	return out
}

// substance returns words without the nouns for what information is on, such as data and records, if others are left.
func substance(s norm.Set) norm.Set {
	out := norm.Set{}
	for w := range s {
		if !carriers[w] {
			out[w] = true
		}
	}
	if len(out) == 0 {
		return s
	}
	return out
}

// carriers are the compared forms of nouns for what information is on.
var carriers = map[string]bool{norm.Key("data"): true, norm.Key("record"): true, norm.Key("copy"): true, norm.Key("file"): true, norm.Key("document"): true, norm.Key("information"): true}

// measured are the stems of verbs and nouns between a thing and its limit.
var measured = func() map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq("have contain take last be stay keep limit set configure exceed length size duration age time use allow maximum minimum number expire " +
		"weigh weight height width depth temperature speed charge carry claim reimburse cost end open terminate " +
		"long old long-lived complete respond finish be of valid live") {
		out[norm.Key(w)] = true
		out[corpus.Stem(w)] = true
	}
	delete(out, "")
	return out
}()

// thresholds finds demands of the same that begin to hold at different numbers.
func thresholds(a, b *norm.Clause) (Finding, bool) {
	if a.Negative != b.Negative || a.Head != b.Head || len(a.Quantities) != len(b.Quantities) || a.Force == norm.Permit || b.Force == norm.Permit {
		return Finding{}, false
	}
	aw, bw := a.Words(), b.Words()
	if len(aw) != len(bw) || !aw.Within(bw) || len(aw) < 2 {
		return Finding{}, false
	}
	different := -1
	for i := range a.Quantities {
		x, y := &a.Quantities[i], &b.Quantities[i]
		switch {
		case x.Unit != y.Unit:
			return Finding{}, false
		case x.Place != y.Place:
			// What is done to things above a number is said either way round: "Trades above 50 are reported", and "Report trades above 50".
			if different >= 0 || a.Passive == b.Passive || math.IsInf(x.Lo, 0) || math.IsInf(y.Lo, 0) || !x.Differs(y.Interval) {
				return Finding{}, false
			}
			different = i
		case x.Interval == y.Interval:
		case different >= 0 || x.Place == norm.InPredicate || x.Apart(y.Interval) || !x.Differs(y.Interval):
			return Finding{}, false
		default:
			different = i
		}
	}
	if different < 0 {
		return Finding{}, false
	}
	x, y := a.Quantities[different], b.Quantities[different]
	reason := fmt.Sprintf("%s and %s demand the same from different numbers on: %s, and %s", quoted(a), quoted(b), x.Text, y.Text)
	return Finding{Threshold, reason, .7, [2][]norm.Span{{x.Span}, {y.Span}}}, true
}

// values finds demands that differ only in a value, of which a thing can have one only.
func values(a, b *norm.Clause) (Finding, bool) {
	if a.Negative || b.Negative || a.Force == norm.Permit || b.Force == norm.Permit || len(a.Quantities)+len(b.Quantities) > 0 {
		return Finding{}, false
	}
	aw, bw := a.Words(), b.Words()
	left, right := aw.Minus(bw), bw.Minus(aw)
	isMeasure := func(w string) bool { return measured[w] } // as in local time
	left, right = slices.DeleteFunc(left, isMeasure), slices.DeleteFunc(right, isMeasure)
	if n := len(left) + len(right); n == 3 || n == 4 { // "use tabs for indentation", and "indent with spaces"
		isUse := func(w string) bool { return w == "use" || w == "write" }
		left, right = slices.DeleteFunc(left, isUse), slices.DeleteFunc(right, isUse)
	}
	own, theirs, ok := choice(a, b, left, right)
	if ok {
		left, right = own, theirs
	} else if len(left) != 1 || len(right) != 1 || exclusive[left[0]] == 0 || exclusive[left[0]] != exclusive[right[0]] {
		return Finding{}, false
	}
	if len(aw) < 2 || a.Subject[left[0]] || b.Subject[right[0]] {
		return Finding{}, false
	}
	line := exclusive[left[0]]
	if !ok && (line == intervals && !atOtherTimes(a, b) || line != intervals && addsUp(a, b)) {
		return Finding{}, false
	}
	confidence := .85
	if a.Force == norm.Recommend || b.Force == norm.Recommend {
		confidence *= .85
	}
	marks := [2][]norm.Span{a.Spans(func(key string) bool { return key == left[0] }), b.Spans(func(key string) bool { return key == right[0] })}
	return Finding{Value, fmt.Sprintf("%s and %s cannot both be kept", quoted(a), quoted(b)), confidence, marks}, true
}

// addsUp reports whether both of two values can be kept: "Report public incidents" and "Report private incidents" are two tasks, while to sort a list is
// done in one way.
func addsUp(a, b *norm.Clause) bool {
	task := func(c *norm.Clause) bool {
		return !c.Passive && !chooses[c.Head] && (!weak[c.Head] || light[c.Head]) && !undergone[c.Head]
	}
	return task(a) && task(b)
}

// intervals is the line of adverbs for how often a thing is done.
var intervals = exclusive[norm.Key("daily")]

// atOtherTimes reports whether two clauses say how often a thing is done, and nobody can keep both: who does it weekly has done it at least monthly, and
// daily reports are other things than weekly ones.
func atOtherTimes(a, b *norm.Clause) bool {
	x, _, ok := norm.Period(a)
	y, _, also := norm.Period(b)
	return ok && also && x.Apart(y)
}

// exclusive are values of which a thing can have one only: in each line, the values are apart by spaces. Their keys lead to their line.
var exclusive = lines(
	"tab space",
	"single-quote double-quote single double",
	"snake_case camelcase kebab-case pascalcase upper-case lower-case uppercase lowercase snake camel kebab pascal",
	"utc local",
	"ascending descending",
	"before after",
	"public private",
	"synchronous asynchronous synchronously asynchronously",
	"mutable immutable",
	"opt-in opt-out",
	"allowlist denylist",
	"http https",
	"hourly daily weekly monthly quarterly yearly annually",
	"merge rebase squash",
	"left right",
	"inclusive exclusive",
	"permanent temporary",
	"optional mandatory",
	"manually automatically",
	"open closed",
	"singular plural",
	"relative absolute",
	"centralised decentralised",
	"default named",
	"euro dollar pound yen franc",
)

// chosenOnce are values like exclusive, of which only one is used for one purpose, while several may be known, supported or tested.
var chosenOnce = lines(
	"english german french spanish italian dutch portuguese polish",
	"go golang python java kotlin rust typescript javascript ruby php scala swift c#",
	"postgresql postgres mysql mariadb sqlite oracle mongodb",
	"json xml yaml toml csv",
	"rest graphql grpc soap",
	"npm yarn pnpm",
	"jest mocha vitest jasmine",
	"webpack vite rollup esbuild",
)

// choice returns the values that two clauses choose for the same thing, of the words by which they differ: "Use English in commit messages" and
// "Commit messages are written in German".
func choice(a, b *norm.Clause, left, right []string) (own, theirs []string, ok bool) {
	bare := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(w string) bool { return chooses[w] || carriers[w] })
	}
	own, theirs = bare(left), bare(right)
	if len(own) != 1 || len(theirs) != 1 || chosenOnce[own[0]] == 0 || chosenOnce[own[0]] != chosenOnce[theirs[0]] {
		return nil, nil, false
	}
	makes := func(c *norm.Clause) bool { return !c.Passive && c.Head != "" && c.Head != "use" } // a second one can be made in another language
	return own, theirs, (chooses[a.Head] || a.Head == own[0]) && (chooses[b.Head] || b.Head == theirs[0]) && !(makes(a) && makes(b))
}

// chooses are the heads of clauses that say which value is used for a thing.
var chooses = map[string]bool{"": true, norm.Key("use"): true, norm.Key("write"): true, norm.Key("build"): true, norm.Key("store"): true, norm.Key("implement"): true}

func lines(all ...string) map[string]int {
	out := map[string]int{}
	for i, line := range all {
		for w := range strings.FieldsSeq(line) {
			out[norm.Key(w)] = i + 1
		}
	}
	return out
}
