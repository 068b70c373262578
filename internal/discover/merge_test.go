package discover

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

func drafted(t *testing.T, statement string, edit ...func(*source.Found)) draft {
	t.Helper()
	f := source.Found{
		Kind: wire.PolicyDocument, Statement: statement, Modality: rule.Must, Severity: rule.Low, File: "a.md", Line: 3, EndLine: 3, Quote: statement, Confidence: 0.5,
	}
	for _, e := range edit {
		e(&f)
	}
	c, reason := newDraft(&f)
	if reason != "" {
		t.Fatal(reason)
	}
	return c
}

func TestMerge(t *testing.T) {
	not := func(f *source.Found) { f.Modality = rule.MustNot }
	in := func(file string, line int) func(*source.Found) {
		return func(f *source.Found) { f.File, f.Line, f.EndLine = file, line, line }
	}
	check := func(regex string) func(*source.Found) {
		return func(f *source.Found) { f.Check = &rule.Check{Pattern: &rule.Pattern{Regex: regex}} }
	}
	for _, test := range []struct {
		name string
		in   []draft
		want []string
	}{
		{"the same words", []draft{drafted(t, "Keep receipts."), drafted(t, "keep  Receipts", in("b.md", 1))}, []string{"Keep receipts."}},
		{"the same duty", []draft{drafted(t, "Never commit secrets.", not), drafted(t, "You must not commit secrets", not)}, []string{"Never commit secrets."}},
		{"the contrary", []draft{drafted(t, "Commit secrets."), drafted(t, "Never commit secrets.", not)}, []string{"Commit secrets.", "Never commit secrets."}},
		{"other signs", []draft{drafted(t, "Use ==."), drafted(t, "Use ===.")}, []string{"Use ==.", "Use ===."}},
		{"other numbers", []draft{drafted(t, "Wait 3 days."), drafted(t, "Wait 30 days.")}, []string{"Wait 3 days.", "Wait 30 days."}},
		{"other files", []draft{drafted(t, "Use tabs."), drafted(t, "Use tabs.", func(f *source.Found) { f.AppliesTo = &rule.AppliesTo{Paths: []string{"*.go"}} })}, []string{"Use tabs.", "Use tabs."}},
		{"one has a check", []draft{drafted(t, "No eval."), drafted(t, "No eval.", check("eval"))}, []string{"No eval."}},
		{"other checks", []draft{drafted(t, "No eval.", check("eval")), drafted(t, "No eval.", check("exec")), drafted(t, "No eval.", check("exec"))}, []string{"No eval.", "No eval."}},
		{"filler alone", []draft{drafted(t, "You must."), drafted(t, "You should.")}, []string{"You must.", "You should."}},
	} {
		var got []string
		for _, c := range merge(test.in) {
			got = append(got, c.Statement)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// Two checks of one statement in one file are two candidates, and each can be approved.
func TestStatementsWithTwoChecksAreTwoRules(t *testing.T) {
	check := func(regex string) func(*source.Found) {
		return func(f *source.Found) { f.Check = &rule.Check{Pattern: &rule.Pattern{Regex: regex}} }
	}
	list := merge([]draft{drafted(t, "No eval.", check("eval")), drafted(t, "No eval.", check("exec"))})
	if len(list) != 2 || list[0].prints[0] == list[1].prints[0] {
		t.Errorf("candidates: %+v", list)
	}
}

func TestMergedCandidatesKeepAllTheyKnow(t *testing.T) {
	one := drafted(t, "Keep receipts.", func(f *source.Found) {
		f.Scope, f.Tags, f.Exceptions = []string{"a"}, []string{"x"}, []string{"small ones"}
	})
	two := drafted(t, "keep receipts", func(f *source.Found) {
		f.File, f.Confidence, f.Severity, f.Scope, f.Tags, f.Rationale = "b.md", 0.9, rule.High, []string{"b"}, []string{"y"}, "law"
	})
	list := merge([]draft{one, two})
	if len(list) != 1 {
		t.Fatalf("%d candidates", len(list))
	}
	c := list[0]
	if c.Statement != "keep receipts" || c.SourceFile != "b.md" || c.Confidence != 0.9 || c.severity != rule.High || len(c.Places) != 2 || c.Places[0].SourceFile != "b.md" ||
		len(c.prints) != 2 || c.prints[0] != two.prints[0] || !cmp.Equal(c.scope, []string{"b", "a"}) || !cmp.Equal(c.SuggestedMetadata.Tags, []string{"y", "x"}) ||
		!cmp.Equal(c.SuggestedMetadata.Exceptions, []string{"small ones"}) || c.SuggestedMetadata.Rationale != "law" {
		t.Errorf("merged: %+v", c)
	}
	everywhere := drafted(t, "Keep receipts.", func(f *source.Found) { f.Line = 9 })
	if list := merge([]draft{one, everywhere}); len(list) != 1 || len(list[0].scope) != 0 {
		t.Errorf("what holds everywhere is narrowed: %+v", list)
	}
}

func TestFingerprints(t *testing.T) {
	in := func(file string) func(*source.Found) { return func(f *source.Found) { f.File = file } }
	code := func(f *source.Found) { f.Kind = wire.CodePatterns }
	paths := func(f *source.Found) { f.AppliesTo = &rule.AppliesTo{Paths: []string{"*.go"}} }
	not := func(f *source.Found) { f.Modality = rule.MustNot }
	late := func(f *source.Found) { f.Line, f.EndLine = 90, 90 }
	of := func(statement string, edit ...func(*source.Found)) string {
		return drafted(t, statement, edit...).prints[0]
	}
	same := of("Keep **all** receipts.")
	if of("keep all  receipts", late) != same {
		t.Error("marks, spaces and lines make another fingerprint")
	}
	for name, other := range map[string]string{
		"file": of("Keep all receipts", in("b.md")), "statement": of("Keep no receipts"), "modality": of("Keep all receipts", not), "paths": of("Keep all receipts", paths),
	} {
		if other == same {
			t.Errorf("another %s has the same fingerprint", name)
		}
	}
	if of("Keep all receipts", code, in("b.go")) != of("Keep all receipts", code, in("a.go")) {
		t.Error("a convention is remembered by the file that happens to show it")
	}
}

// FuzzNewDraft makes candidates of whatever a reader may find: they can be stored, and can be rules.
func FuzzNewDraft(f *testing.F) {
	f.Add("Keep receipts.", "a.md", "q", "finance", `\d+`, "**/*.go", 3, 0.5)
	f.Add("\x00\xff", "\x00", "\xff\n\n", "a,b", "(", "[", -1, math.NaN())
	f.Add(strings.Repeat("x", 5000), "", strings.Repeat("é\n", 3000), "//", "", "", 1<<60, math.Inf(1))
	f.Fuzz(func(t *testing.T, statement, file, quote, scope, regex, glob string, line int, confidence float64) {
		c, reason := newDraft(&source.Found{
			Kind: wire.CodePatterns, Statement: statement, Modality: rule.Must, Severity: rule.Low, File: file, Quote: quote, Scope: []string{scope}, Tags: []string{quote},
			Exceptions: []string{quote}, Check: &rule.Check{Pattern: &rule.Pattern{Regex: regex}}, AppliesTo: &rule.AppliesTo{Paths: []string{glob}}, Line: line, Confidence: confidence,
		})
		if reason != "" {
			if reason != storable(reason) {
				t.Errorf("the reason %q cannot be stored", reason)
			}
			return
		}
		if !(c.Confidence >= 0 && c.Confidence <= 1) || c.SourceLine < 1 || c.SourceEndLine < c.SourceLine || len(c.prints) != 1 {
			t.Errorf("candidate: %+v", c)
		}
		row, shown, err := c.row(&store.Scan{ID: "s"}, 1)
		if err != nil || storable(string(row.Body)) != string(row.Body) {
			t.Fatalf("it cannot be stored: %v", err)
		}
		r, err := approvedRule(new(wire.CandidateApproval), &family{Candidate: shown, refs: sourceRefs(&shown, "")})
		if err != nil {
			t.Fatal(err)
		}
		r.Normalize()
		if err := r.Validate(); err != nil {
			t.Errorf("the candidate can be no rule: %v", err)
		}
	})
}
