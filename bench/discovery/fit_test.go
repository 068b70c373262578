package main

import (
	"math"
	"os"
	"strings"
	"testing"

	"tenet/internal/discover"
	"tenet/internal/discover/prose"
)

// The confidence of candidates is that of weights fitted to calibration.txt, and docs/discovery-quality.md has its reliability.
func TestConfidenceIsAsFitted(t *testing.T) {
	rows, err := readRows(calibrationText)
	if err != nil || len(rows) < 500 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	w := fit(rows)
	for _, r := range rows {
		if want, got := score(w, r), prose.Confidence(r.signs); math.Abs(want-got) > 0.006 {
			t.Fatalf("candidates with the signs %q have the confidence %.3f, and the fit gives %.3f; run go run ./bench/discovery -fit", r.signs, got, want)
		}
	}
	bins, brier := reliability(rows)
	guide, err := os.ReadFile("../../docs/discovery-quality.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(guide), table(bins)) {
		t.Errorf("docs/discovery-quality.md lacks the table of reliability:\n%s", table(bins))
	}
	if !strings.HasSuffix(discover.ReliabilityTable, "\n"+table(bins)) {
		t.Errorf("internal/discover/reliability.txt does not end in the table of reliability")
	}
	var judged, right float64
	for _, r := range discover.Reliability().Ranges {
		judged, right = judged+float64(r.Candidates), right+float64(r.Candidates)*r.Rules
	}
	if int(judged) != len(rows) || right/judged < 0.85 {
		t.Errorf("the table has %g candidates, of which %.2f were rules", judged, right/judged)
	}
	if brier > 0.1 {
		t.Errorf("the Brier score is %.3f", brier)
	}
}

// A fit finds the rates that rows have, and holds back where few say something.
func TestFit(t *testing.T) {
	var rows []row
	for i := range 100 {
		rows = append(rows, row{group: "a", right: i%10 > 0, signs: []string{"often right"}}, row{group: "b", right: i%10 < 3, signs: []string{"seldom right"}})
	}
	rows = append(rows, row{group: "c", right: false, signs: []string{"often right", "seen once"}})
	w := fit(rows)
	for signs, want := range map[string]float64{"often right": 0.9, "seldom right": 0.3} {
		if got := score(w, row{signs: []string{signs}}); math.Abs(got-want) > 0.03 {
			t.Errorf("%s: %.3f, want %.2f", signs, got, want)
		}
	}
	if got := score(w, row{signs: []string{"often right", "seen once"}}); got < 0.5 || got > 0.9 {
		t.Errorf("after one row: %.3f", got)
	}
	bins, brier := reliability(rows)
	if n := bins[0].n + bins[1].n + bins[2].n + bins[3].n + bins[4].n + bins[5].n; n != len(rows) || brier <= 0 {
		t.Errorf("%d rows in bins, Brier score %.3f", n, brier)
	}
	for _, bad := range []string{"a|maybe|x", "a|right"} {
		if _, err := readRows(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
