package auditor_test

import (
	"strings"
	"testing"

	"tenet/internal/auditor"
	"tenet/internal/auditor/auditortest"
)

func TestTheReportSaysWhatIsProven(t *testing.T) {
	f := auditortest.New(t)
	r := auditor.Check(f.Policy, f.Proof, nil)
	text := r.Summary
	for _, row := range r.Rows {
		text += "\n" + row.Name + " " + row.Text
	}
	for _, want := range []string{"evaluation x1 is entry 1 of the log example.com/tenet/pay", "Verdict DENY", "Recorded 2026-10-01T12:00:00Z, for key:ci", "by no witness", "Record whole", "aws-access-token in diff, line 3"} {
		if !r.Proven || !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if r := auditor.Check(f.Policy, f.Proof, []byte(f.Record)); !r.Proven || !strings.Contains(r.Rows[len(r.Rows)-2].Text, "the same") {
		t.Errorf("with its record: %+v", r)
	}
	for name, bad := range map[string]auditor.Report{
		"another record":       auditor.Check(f.Policy, f.Proof, []byte(strings.Replace(f.Record, "DENY", "ALLOW", 1))),
		"another policy":       auditor.Check(auditortest.New(t).Policy, f.Proof, nil),
		"no policy":            auditor.Check(nil, f.Proof, nil),
		"no proof":             auditor.Check(f.Policy, []byte("{"), nil),
		"no pack":              auditor.Check(f.Policy, []byte("PK\x03\x04"), nil),
		"a pack with a record": auditor.Check(f.Policy, []byte("PK\x03\x04"), []byte("{}")),
		"a changed proof":      auditor.Check(f.Policy, f.Forged, nil),
	} {
		if bad.Proven || bad.Summary == "" {
			t.Errorf("%s: %+v", name, bad)
		}
	}
}
