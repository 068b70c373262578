package modeleval_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tenet/internal/modeleval"
	"tenet/internal/rule"
)

const someCases = `
{"id":"d","statement":" No rand. ","rationale":"Weak.","diff":"--- /dev/null\n+++ b/a.c\n@@ -0,0 +1 @@\n+x = rand();\n","path":"a.c","code":"other","expected":"deny","licence":"MIT"}
{"id":"c","statement":"No rand.","path":"a.c","code":"x = 1;\n","expected":"ALLOW","severity":"critical","modality":"must_not"}

{"id":"f","statement":"Two approvals.","facts":{"approvals":1},"expected":"DENY","modality":"SHOULD"}
{"id":"a","statement":"Ask first.","action":"delete it","expected":"NEEDS_CONFIRMATION","rule_id":7}
`

func read(t *testing.T, text string) []modeleval.Case {
	t.Helper()
	cases, err := modeleval.Read("some", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestReadKnowsAllFormsOfSubject(t *testing.T) {
	cases := read(t, someCases)
	if len(cases) != 4 {
		t.Fatalf("read %d cases", len(cases))
	}
	d, c, f, a := &cases[0], &cases[1], &cases[2], &cases[3]
	if d.ID != "d" || d.Set != "some" || d.Expected != rule.Deny || d.Rule.Statement != "No rand." || d.Rule.Rationale != "Weak." ||
		d.Rule.Modality != rule.Must || d.Rule.Severity != rule.Medium || d.Rule.Enforcement != rule.Enforce {
		t.Errorf("got %+v with %+v", d, d.Rule)
	}
	if len(d.Subject.Files) != 1 || d.Subject.Files[0].Path != "a.c" || d.Subject.Files[0].Hunks[0].Lines[0].Text != "x = rand();" {
		t.Errorf("a diff goes before the code, got %+v", d.Subject)
	}
	if len(c.Subject.Files) != 1 || c.Subject.Files[0].Hunks[0].Lines[0].Text != "x = 1;" || c.Rule.Severity != rule.Critical || c.Rule.Modality != rule.MustNot {
		t.Errorf("got %+v with %+v", c.Subject, c.Rule)
	}
	if f.Subject.Facts["approvals"] != 1.0 || f.Rule.Modality != rule.Should || a.Subject.Action != "delete it" || a.Expected != rule.NeedsConfirmation {
		t.Errorf("got %+v and %+v", f.Subject, a.Subject)
	}
}

func TestTheHashIsOfWhatIsJudged(t *testing.T) {
	base := `{"id":"x","statement":"s","facts":{"a":1},"expected":"DENY"}`
	of := func(text string) string { return read(t, text)[0].Hash }
	if of(base) != of(strings.Replace(base, `"id":"x"`, `"id":"y","source":"elsewhere"`, 1)) {
		t.Error("the hash must not hang on names")
	}
	for _, other := range []string{
		strings.Replace(base, `"s"`, `"t"`, 1), strings.Replace(base, `:1`, `:2`, 1), strings.Replace(base, `DENY`, `ALLOW`, 1),
		strings.Replace(base, `"id"`, `"severity":"HIGH","id"`, 1), strings.Replace(base, `"id"`, `"rationale":"r","id"`, 1),
	} {
		if of(base) == of(other) {
			t.Errorf("%s has the hash of another case", other)
		}
	}
}

func TestReadNamesTheLineThatIsWrong(t *testing.T) {
	good := `{"id":"x","statement":"s","facts":{"a":1},"expected":"DENY"}` + "\n"
	for name, test := range map[string]struct{ line, want string }{
		"no JSON":       {`{"id":`, "no case in JSON"},
		"wrong type":    {`{"id":7}`, "no case in JSON"},
		"no id":         {`{"statement":"s","facts":{"a":1},"expected":"DENY"}`, "needs an id"},
		"no statement":  {`{"id":"x","statement":" ","facts":{"a":1},"expected":"DENY"}`, "needs an id and a statement"},
		"no expected":   {`{"id":"x","statement":"s","facts":{"a":1}}`, "expected must be one of ALLOW"},
		"bad severity":  {`{"id":"x","statement":"s","severity":"bad","facts":{"a":1},"expected":"DENY"}`, "severity must be one of"},
		"not judged":    {`{"id":"x","statement":"s","modality":"MAY","facts":{"a":1},"expected":"DENY"}`, "modality must be"},
		"no subject":    {`{"id":"x","statement":"s","expected":"DENY"}`, "nothing to judge"},
		"broken diff":   {`{"id":"x","statement":"s","diff":"@@ -1 +1 @@\n-a","expected":"DENY"}`, "diff"},
		"code, no path": {`{"id":"x","statement":"s","code":"a","expected":"DENY"}`, "path"},
		"too long":      {`{"id":"` + strings.Repeat("x", modeleval.MaxLine) + `"}`, "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := modeleval.Read("file", strings.NewReader(good+"\n"+test.line+"\n"+good))
			if rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), "file, line 3") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %.300v, want line 3 and %q", err, test.want)
			}
		})
	}
}

func TestASampleIsTheSameForTheSameCasesAndSpread(t *testing.T) {
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, `{"id":"case-%d","statement":"s","facts":{"a":1},"expected":"DENY"}`+"\n", i)
	}
	cases := read(t, text.String())
	ids := func(cases []modeleval.Case) (out []string) {
		for i := range cases {
			out = append(out, cases[i].ID)
		}
		slices.Sort(out)
		return out
	}
	sample, err := modeleval.Sample(cases, 20)
	if err != nil || len(sample) != 20 {
		t.Fatalf("got %d, %v", len(sample), err)
	}
	mixed := slices.Clone(cases)
	slices.Reverse(mixed)
	again, _ := modeleval.Sample(mixed, 20)
	if !slices.Equal(ids(sample), ids(again)) || slices.Equal(ids(sample), ids(cases[:20])) {
		t.Errorf("samples are %v and %v", ids(sample), ids(again))
	}
	if all, err := modeleval.Sample(cases, 0); err != nil || len(all) != 100 {
		t.Errorf("no limit gives %d, %v", len(all), err)
	}
	if _, err := modeleval.Sample(append(cases, cases[3]), 20); rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), "case-3") {
		t.Errorf("two cases of one id: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(someCases))
	f.Add([]byte(`{"id":"x","statement":"s","code":"a","path":"../x","expected":"DENY"}`))
	f.Add([]byte(`{"id":"x","statement":"s","facts":{"a":{"b":[1e999]}},"expected":"DENY"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		cases, err := modeleval.Read("fuzz", strings.NewReader(string(b)))
		if err != nil && rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("got %v", err)
		}
		for i := range cases {
			if c := &cases[i]; c.ID == "" || c.Hash == "" || c.Subject.Empty() || c.Rule.Statement == "" {
				t.Errorf("accepted %+v", c)
			}
		}
	})
}

func FuzzLoadReport(f *testing.F) {
	f.Add([]byte(`{"version":1,"results":[{"id":"a","verdicts":["ALLOW"],"expected":"DENY"}]}`))
	f.Add([]byte(`{"version":1,"results":[{"id":"a","verdicts":[]}],"scores":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := modeleval.LoadReport(strings.NewReader(string(b)))
		if err != nil {
			return
		}
		if c, err := modeleval.Compare(r, r); err == nil && c.Dropped() {
			t.Error("a report is worse than itself")
		}
		_ = r.WriteMarkdown(&strings.Builder{}, nil, true)
	})
}

func TestABalancedSampleHasAsManyOfBoth(t *testing.T) {
	var text strings.Builder
	for i := range 30 {
		expected := "DENY"
		if i%5 == 0 {
			expected = "ALLOW"
		}
		fmt.Fprintf(&text, `{"id":"c%d","statement":"No rand.","action":"act %d","expected":"%s"}`+"\n", i, i, expected)
	}
	cases, err := modeleval.Read("own", strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]int{0: 12, 4: 4, 5: 6, 100: 12} {
		sample, err := modeleval.Balanced(cases, n)
		if err != nil || len(sample) != want {
			t.Fatalf("%d of %d cases, error %v", len(sample), n, err)
		}
		seen := map[string]bool{}
		for i, c := range sample {
			seen[c.ID] = true
			if wantAllow := i%2 == 0; (c.Expected == rule.Allow) != wantAllow {
				t.Errorf("case %d of %d expects %s", i, n, c.Expected)
			}
		}
		if len(seen) != want {
			t.Errorf("%d different cases of %d", len(seen), n)
		}
	}
}

func TestProfilesAreChosenByWhatTheyAllow(t *testing.T) {
	if cases := modeleval.ProfileCases(); len(cases) != 12 {
		t.Errorf("%d cases", len(cases))
	}
	report := func(right, falseAllows int) *modeleval.Report {
		return &modeleval.Report{Figures: modeleval.Figures{Correct: right, FalseAllows: falseAllows, Scores: []modeleval.Score{{Verdict: rule.Deny, Expected: 20}, {Verdict: rule.Allow, Expected: 20}}}}
	}
	for name, test := range map[string]struct {
		reports []*modeleval.Report
		want    int
	}{
		"the one with more right":       {[]*modeleval.Report{report(10, 0), report(30, 2)}, 1},
		"of equals the first":           {[]*modeleval.Report{report(30, 0), report(30, 0)}, 0},
		"not one that allows too much":  {[]*modeleval.Report{report(10, 0), report(30, 3)}, 0},
		"not one that decides nothing":  {[]*modeleval.Report{report(0, 0), report(5, 1)}, 1},
		"none if all allow too much":    {[]*modeleval.Report{report(20, 5), report(30, 3)}, -1},
		"none if neither is ever right": {[]*modeleval.Report{report(0, 0), report(0, 0)}, -1},
	} {
		if got := modeleval.Better(test.reports); got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
}
