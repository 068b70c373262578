package report_test

import (
	"strings"
	"testing"
	"time"

	"tenet/internal/report"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// The report of a month has its numbers in every format, and takes the meaning from hostile text.
func TestMonth(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	r := &wire.MonthReport{
		ProjectName: "Pay\x1b[31m <script>", Month: "2026-10", From: from, Until: from.AddDate(0, 1, 0), GeneratedAt: from.AddDate(0, 1, 1),
		Evaluations: wire.Verdicts{Total: 40, Deny: 7}, EvaluationsThen: wire.Verdicts{Total: 50, Deny: 2},
		Denied:         []wire.DeniedRule{{RuleID: "1", Slug: "PAY-1", Statement: "<img src=x> | `a`\nsecond", Denied: 7, Before: 2, Verdicts: 40}},
		Undecided:      []wire.ReasonChange{{ReasonFigure: wire.ReasonFigure{Reason: rule.UndecidedNoModel, Meaning: "No model", Count: 3}, Before: 9}},
		WaiversGranted: wire.WaiverList{Total: 1, Items: []wire.WaiverFigure{{RuleID: "1", Slug: "PAY-1", Reason: "a test key", CreatedBy: "ann", ExpiresAt: from}}},
		Changes:        []wire.ChangeFigure{{Kind: "rule", Action: "create", Count: 4, Before: 1}},
		Audit:          &wire.ReportAudit{Verified: false, Problems: 2},
	}
	want := map[string][]string{
		"text":     {"October 2026", "DENY", "7", "+5", "PAY-1", "Waivers granted this month: 1", "a test key", "rule: create", "verified, no. 2 problems", "Nothing was deployed.", "The month has not ended."},
		"markdown": {"# Pay", "| DENY | 7 | 2 | \\+5 |", "| PAY\\-1 |", "|---|---:|---:|---:|"},
		"html":     {"<td>DENY</td><td class=\"n\">7</td>", "&lt;script&gt;", "&lt;img src=x&gt;", "@page"},
	}
	for _, format := range report.MonthFormats {
		out, err := report.Month(format, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range want[format] {
			if !strings.Contains(string(out), s) {
				t.Errorf("%s lacks %q:\n%s", format, s, out)
			}
		}
		if s := string(out); strings.Contains(s, "\x1b") || format != "text" && (strings.Contains(s, "<img") || strings.Contains(s, "<script")) {
			t.Errorf("%s passes hostile text on:\n%s", format, s)
		}
	}
	if _, err := report.Month("pdf", r); err == nil {
		t.Error("an unknown format is written")
	}
}
