package health

import (
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func daysAgo(n int) *time.Time {
	at := now.Add(-time.Duration(n) * 24 * time.Hour)
	return &at
}

// good is a rule about which there is nothing to say, with all parts known.
func good(edit func(*facts)) *facts {
	r := &rule.Rule{
		Statement: "A payment above 1000 must be approved by a second person.", Modality: rule.Must, Status: rule.Effective, Owner: "finance",
		Rationale: "Two see more.", Scope: []string{"finance"}, SourceRefs: []rule.SourceRef{{Kind: "policy"}}, UpdatedAt: *daysAgo(10),
	}
	f := &facts{
		rule: r, cases: 4, tests: 4, passing: 4, denied: 10, right: 10, last: daysAgo(1), dormantAfter: 90 * 24 * time.Hour, now: now,
	}
	edit(f)
	return f
}

// unknown stands for a part that is not known.
const unknown = -1

func TestScores(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edit  func(*facts)
		part  string
		value int
		score int
	}{
		"all is well": {func(*facts) {}, Completeness, 100, 100},
		"no owner":    {func(f *facts) { f.rule.Owner = "" }, Completeness, 80, 96},
		"says nothing about itself": {func(f *facts) {
			f.rule.Owner, f.rule.Rationale, f.rule.Scope, f.rule.SourceRefs, f.cases, f.tests = "", "", []string{"*"}, nil, 0, 0
		}, Completeness, 0, 75},
		"an example will do":        {func(f *facts) { f.cases, f.tests, f.rule.Examples = 0, 0, make([]rule.Example, 1) }, Completeness, 100, 100},
		"vague":                     {func(f *facts) { f.rule.Statement = "Payments must be approved in an appropriate way." }, Clarity, 75, 95},
		"vague twice":               {func(f *facts) { f.rule.Statement = "Payments must be approved in an appropriate, reasonable way." }, Clarity, 75, 95},
		"no duty":                   {func(f *facts) { f.rule.Statement = "Payments and approvals." }, Clarity, 50, 90},
		"half of the tests pass":    {func(f *facts) { f.passing = 2 }, TestsPassing, 50, 90},
		"tests not run":             {func(f *facts) { f.tests, f.passing = 0, 0 }, TestsPassing, unknown, 100},
		"half of the denials right": {func(f *facts) { f.right = 5 }, Precision, 50, 90},
		"little feedback":           {func(f *facts) { f.denied, f.right = 4, 0 }, Precision, unknown, 100},
		"changed long ago":          {func(f *facts) { f.rule.UpdatedAt = *daysAgo(5000) }, Freshness, 0, 90},
		"changed a year ago":        {func(f *facts) { f.rule.UpdatedAt = *daysAgo(365) }, Freshness, 80, 98},
		"judged 60 days ago":        {func(f *facts) { f.last = daysAgo(60) }, Activity, 50, 95},
		"judged 90 days ago":        {func(f *facts) { f.last = daysAgo(90) }, Activity, 0, 90},
		"never judged":              {func(f *facts) { f.last, f.rule.UpdatedAt = nil, *daysAgo(90) }, Activity, 0, 90},
		"not judged yet":            {func(f *facts) { f.last = nil }, Activity, unknown, 100},
		"a draft":                   {func(f *facts) { f.rule.Status = rule.Draft }, Activity, unknown, 100},
		"of a kind not judged":      {func(f *facts) { f.rule.Modality = rule.May }, Activity, unknown, 100},
	} {
		score, parts := good(tt.edit).score()
		if score != tt.score {
			t.Errorf("%s: score %d, want %d: %+v", name, score, tt.score, parts)
		}
		sum := 0
		for _, p := range parts {
			sum += p.Weight
			if p.Known != (p.Value != nil) || p.Detail == "" {
				t.Errorf("%s: bad part %+v", name, p)
			}
			if p.Name == tt.part && (p.Known != (tt.value != unknown) || p.Known && *p.Value != tt.value) {
				t.Errorf("%s: %+v, want %d", name, p, tt.value)
			}
		}
		if sum != 100 || len(parts) != 6 {
			t.Errorf("%s: %d parts with weights of %d", name, len(parts), sum)
		}
	}
}

func TestOnlyThePresentContentCounts(t *testing.T) {
	t.Parallel()
	f := good(func(f *facts) { f.cases, f.tests, f.passing, f.denied, f.right = 0, 0, 0, 0, 0 })
	f.addTests([]store.TestCount{
		{LastHash: "h", Expected: "DENY", LastResult: "DENY", Total: 2},
		{LastHash: "h", Expected: "DENY", LastResult: "ALLOW", Total: 1},
		{LastHash: "old", Expected: "DENY", LastResult: "ALLOW", Total: 5},
		{Expected: "DENY", Total: 1},
	}, "h")
	f.addFeedback([]store.FeedbackCount{
		{ContentHash: "h", Verdict: rule.Deny, Correct: true, Count: 3},
		{ContentHash: "h", Verdict: rule.Deny, Count: 2},
		{ContentHash: "h", Verdict: rule.Allow, Count: 9},
		{ContentHash: "old", Verdict: rule.Deny, Count: 9},
	}, "h")
	if f.cases != 9 || f.tests != 3 || f.passing != 2 || f.denied != 5 || f.right != 3 {
		t.Errorf("facts: %+v", f)
	}
}
