package modeleval

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tenet/internal/rule"
)

func TestTheExactTestGivesThePublishedFigures(t *testing.T) {
	for _, c := range []struct {
		lost, gained int
		want         float64
	}{
		{0, 0, 1}, {0, 5, 1}, {5, 0, 1. / 32}, {1, 1, 0.75}, {8, 2, 56. / 1024}, {9, 1, 11. / 1024}, {10, 10, 0.5880985260009766}, {60, 40, 0.028443966820490392},
	} {
		if p := atLeast(c.lost, c.gained); math.Abs(p-c.want) > 1e-9 {
			t.Errorf("%d lost, %d gained: p = %v, want %v", c.lost, c.gained, p, c.want)
		}
	}
	if p := atLeast(60_000, 40_000); p < 0 || p > 1e-9 || math.IsNaN(p) {
		t.Errorf("p = %v for many pairs", p)
	}
}

// reports makes two reports on cases that all expect DENY, of letters for the verdicts.
func reports(before, after string) (*Report, *Report) {
	report := func(letters string) *Report {
		r := &Report{Version: ReportVersion}
		for i, letter := range letters {
			v := map[rune]rule.Verdict{'A': rule.Allow, 'D': rule.Deny, 'N': rule.NeedsConfirmation}[letter]
			r.Results = append(r.Results, Result{ID: fmt.Sprint(i), Hash: "h", Expected: rule.Deny, Verdicts: []rule.Verdict{v}})
		}
		return r
	}
	return report(before), report(after)
}

func TestCompareFindsADropAndNoOther(t *testing.T) {
	for _, c := range []struct {
		before, after string
		dropped       bool
	}{
		{"DDDDDDDD", "DDDDDDDD", false},
		{"DDDDDDDD", "DDDDDNNN", false}, // 3 lost: p = 0.125
		{"DDDDDDDD", "DDDNNNNN", true},  // 5 lost: p = 0.031
		{"NNNNNDDD", "DDDDDNNN", false}, // better
		{"NNNNNNNN", "NNNAAAAA", true},  // no less right, but 5 false ALLOWs more
		{"AAAAAAAA", "NNNNNNNN", false}, // safer
	} {
		old, now := reports(c.before, c.after)
		got, err := Compare(old, now)
		if err != nil || got.Shared != 8 || got.Dropped() != c.dropped {
			t.Errorf("%s, then %s: got %+v, %v", c.before, c.after, got, err)
		}
	}
}

func TestCompareTakesOnlyWhatIsTheSameCase(t *testing.T) {
	old, now := reports("DDDDDDDD", "NNNNNNNN")
	for i := range 6 {
		now.Results[i].Hash = "other"
	}
	now.Results[6].ID = "new"
	got, err := Compare(old, now)
	if err != nil || got.Shared != 1 || got.Correct.Lost != 1 || got.Dropped() {
		t.Errorf("got %+v, %v", got, err)
	}
	now.Results[7].ID = "newer"
	if _, err := Compare(old, now); rule.CodeOf(err) != rule.CodeInvalid {
		t.Errorf("nothing in common: got %v", err)
	}
}

func TestAComparisonIsToldInMarkdown(t *testing.T) {
	for after, want := range map[string]string{"DDDNNNNN": "This is a significant drop", "DDDDDDDN": "This is no significant drop"} {
		old, now := reports("DDDDDDDD", after)
		c, err := Compare(old, now)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := now.WriteMarkdown(&b, c, false); err != nil || !strings.Contains(b.String(), want) || !strings.Contains(b.String(), "compared on 8 cases") {
			t.Errorf("%v:\n%s", err, &b)
		}
	}
}
