package health

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tenet/internal/lint"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// The parts of a score, in the order they are shown in.
const (
	Completeness = "completeness"
	Clarity      = "clarity"
	TestsPassing = "tests_passing"
	Precision    = "precision"
	Freshness    = "freshness"
	Activity     = "activity"
)

// weights add up to 100.
var weights = []struct {
	name   string
	weight int
	value  func(*facts) (value int, known bool, detail string)
}{
	{Completeness, 20, (*facts).completeness},
	{Clarity, 20, (*facts).clarity},
	{TestsPassing, 20, (*facts).testsPassing},
	{Precision, 20, (*facts).precision},
	{Freshness, 10, (*facts).freshness},
	{Activity, 10, (*facts).activity},
}

// facts are the inputs of the score of a rule.
type facts struct {
	rule *rule.Rule
	// tests and passing count the test cases that have run on the present content; cases counts all.
	cases, tests, passing int
	// denied and right count feedback on DENY verdicts of the present content.
	denied, right int
	last          *time.Time // its last verdict
	dormantAfter  time.Duration
	now           time.Time
}

// score is the mean of the known parts by their weights, rounded.
func (f *facts) score() (int, []wire.Part) {
	parts := make([]wire.Part, len(weights))
	sum, of := 0, 0
	for i, w := range weights {
		value, known, detail := w.value(f)
		parts[i] = wire.Part{Name: w.name, Weight: w.weight, Known: known, Detail: detail}
		if known {
			parts[i].Value = &value
			sum, of = sum+w.weight*value, of+w.weight
		}
	}
	return int(math.Round(float64(sum) / float64(of))), parts // the first two are always known
}

// share is k of n in points.
func share(k, n int) int { return int(math.Round(100 * float64(k) / float64(n))) }

// completeness is the share of the things a rule should say about itself that it says.
func (f *facts) completeness() (int, bool, string) {
	r := f.rule
	has := []struct {
		what string
		ok   bool
	}{
		{"an owner", r.Owner != ""},
		{"a rationale", r.Rationale != ""},
		{"a source", len(r.SourceRefs) > 0},
		{"what it concerns (a scope, applies_to or check)", r.Check != nil || !r.AppliesTo.Empty() ||
			slices.ContainsFunc(r.Scope, func(s string) bool { return s != "*" })},
		{"a test case or an example", f.cases > 0 || len(r.Examples) > 0 || !r.Judged()},
	}
	n, missing := 0, ""
	for _, h := range has {
		if h.ok {
			n++
		} else if missing == "" {
			missing = h.what
		} else {
			missing += ", " + h.what
		}
	}
	if missing == "" {
		return 100, true, "says all it should about itself"
	}
	return share(n, len(has)), true, "lacks " + missing
}

// clarity loses points for each kind of finding on the wording.
func (f *facts) clarity() (int, bool, string) {
	lost, detail := 0, ""
	seen := map[string]bool{}
	for _, found := range lint.Statement(f.rule.Statement, f.rule.Modality) {
		if seen[found.Code] {
			continue
		}
		seen[found.Code] = true
		if found.Code == lint.NoDuty {
			lost += 50
		} else {
			lost += 25
		}
		if detail != "" {
			detail += ", "
		}
		detail += found.Code
	}
	if detail == "" {
		detail = "no findings on the wording"
	}
	return max(100-lost, 0), true, detail
}

// testsPassing is the share of the test cases that pass, of those that have run on what the rule says now.
func (f *facts) testsPassing() (int, bool, string) {
	switch {
	case f.cases == 0:
		return 0, false, "no test cases"
	case f.tests == 0:
		return 0, false, "the test cases have not run on what the rule says now"
	}
	return share(f.passing, f.tests), true, fmt.Sprintf("%d of %d test cases pass", f.passing, f.tests)
}

// minFeedback is the least feedback on DENY verdicts from which precision is computed.
const minFeedback = 5

// precision is the share of DENY verdicts that people have called right.
func (f *facts) precision() (int, bool, string) {
	if f.denied < minFeedback {
		return 0, false, fmt.Sprintf("feedback on %d denials of what the rule says now; %d are needed", f.denied, minFeedback)
	}
	return share(f.right, f.denied), true, fmt.Sprintf("%d of %d denials were right", f.right, f.denied)
}

const (
	freshFor   = 180 * 24 * time.Hour
	staleAfter = 3 * 365 * 24 * time.Hour
)

// freshness falls with the time since the rule was last changed.
func (f *facts) freshness() (int, bool, string) {
	age := f.now.Sub(f.rule.UpdatedAt)
	return fall(age, freshFor, staleAfter), true, "last changed " + ago(age)
}

// activity falls with the time since the last verdict.
func (f *facts) activity() (int, bool, string) {
	switch {
	case !f.rule.Judged():
		return 0, false, "rules of this modality are not judged"
	case !f.rule.InForce(f.now):
		return 0, false, "not in force"
	case f.last != nil:
		age := f.now.Sub(*f.last)
		return fall(age, f.dormantAfter/3, f.dormantAfter), true, "last judged " + ago(age)
	case f.rule.Dormant(nil, f.dormantAfter, f.now):
		return 0, true, "never judged"
	}
	return 0, false, "not judged yet"
}

// fall is 100 up to an age and 0 from another on; between them it falls in steps of 10, so that scores do not change every day.
func fall(age, full, none time.Duration) int {
	switch {
	case age <= full:
		return 100
	case age >= none:
		return 0
	}
	return 10 * int(math.Ceil(10*float64(none-age)/float64(none-full)))
}

// ago describes an age in days.
func ago(age time.Duration) string {
	switch days := int(age / (24 * time.Hour)); {
	case days < 1:
		return "today"
	case days == 1:
		return "a day ago"
	default:
		return fmt.Sprintf("%d days ago", days)
	}
}

// addTests counts test cases of the rule.
func (f *facts) addTests(counts []store.TestCount, content string) {
	for i := range counts {
		c := &counts[i]
		f.cases += c.Total
		if c.LastHash == content && c.LastResult != "" {
			f.tests += c.Total
			f.passing += c.Passing()
		}
	}
}

// addFeedback counts feedback on the rule.
func (f *facts) addFeedback(counts []store.FeedbackCount, content string) {
	for _, c := range counts {
		if c.ContentHash != content || c.Verdict != rule.Deny {
			continue
		}
		f.denied += c.Count
		if c.Correct {
			f.right += c.Count
		}
	}
}
