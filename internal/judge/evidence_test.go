package judge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tenet/internal/judge/judgetest"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// one judges a subject against one rule for which the model says e.
func one(t *testing.T, in subject.Input, e judgetest.Entry) rule.RuleVerdict {
	t.Helper()
	m := judgetest.Model(func(judgetest.Rule, string) judgetest.Entry { return e })
	return decide(t, m, build(t, in), newRules(1)).Verdicts[0]
}

func TestADenyIsAnchoredByTheServer(t *testing.T) {
	want := rule.Location{
		FilePath: "pay/transfer.go", StartLine: 11, EndLine: 11, FunctionName: "func Transfer(amount int) error {",
		Snippet: "\t\tlog.Println(\"card\", card.Number)",
	}
	for _, q := range []judgetest.Quote{
		{Quote: `log.Println("card", card.Number)`},
		{Quote: `log.Println("card", card.Number)`, File: "made/up.go"},
		{Quote: `11| +		log.Println("card", card.Number)`, File: "pay/transfer.go"}, // copied with its number
		{Quote: "+\tlog.Println(\"card\",  card.Number)"},
	} {
		e := judgetest.Deny("")
		e.Evidence = []judgetest.Quote{q}
		v := one(t, subject.Input{Diff: diff}, e)
		if v.Verdict != rule.Deny || v.DecidedBy != rule.ByModel || !slices.Equal(v.Locations, []rule.Location{want}) {
			t.Errorf("%q: got %+v", q, v)
		}
		if len(v.Evidence) != 1 || v.Evidence[0].Kind != rule.EvidenceQuote || v.Evidence[0].FilePath != want.FilePath || v.Evidence[0].Line != 11 {
			t.Errorf("%q: evidence is %+v", q, v.Evidence)
		}
		if v.IssueDescription != e.Issue || v.FixSuggestion != e.Fix || v.Reasoning != e.Reasoning {
			t.Errorf("%q: words are %+v", q, v)
		}
	}
}

func TestTheFileNamedChoosesAmongPlaces(t *testing.T) {
	text := "token = read()\n"
	in := subject.Input{Files: []subject.InputFile{{Path: "a.py", Content: &text}, {Path: "b.py", Content: &text}}}
	e := judgetest.Deny("")
	e.Evidence = []judgetest.Quote{{Quote: "token = read()", File: "b.py"}}
	if v := one(t, in, e); len(v.Locations) != 1 || v.Locations[0].FilePath != "b.py" {
		t.Errorf("locations are %+v", v.Locations)
	}
	e.Evidence[0].File = "c.py"
	if v := one(t, in, e); len(v.Locations) != 2 {
		t.Errorf("locations are %+v", v.Locations)
	}
}

func TestADenyWithoutProofIsDoubted(t *testing.T) {
	in := subject.Input{Diff: strings.Replace(diff, "return send(amount)", "return send(amount) // and so on ...", 1)}
	both := judgetest.Deny("os.RemoveAll(root)")
	both.Absence = "a unit test"
	for name, c := range map[string]struct {
		e   judgetest.Entry
		why string
	}{
		"invented quote":             {judgetest.Deny("os.RemoveAll(root)"), "is not in the subject"},
		"invented quote and absence": {both, "is not in the subject"},
		"a brace":                    {judgetest.Deny("}"), "is not in the subject"},
		"dots":                       {judgetest.Deny("..."), "is not in the subject"},
		"absent text that is there":  {judgetest.Missing("return send(amount)"), "but it is in the subject"},
	} {
		v := one(t, in, c.e)
		if v.Verdict != rule.NeedsConfirmation || v.DecidedBy != rule.ByNone || v.Confidence != 0 || !strings.Contains(v.Reasoning, c.why) || !strings.Contains(v.Reasoning, c.e.Reasoning) {
			t.Errorf("%s: got %+v", name, v)
		}
		if len(v.Locations)+len(v.Evidence) != 0 || v.IssueDescription == "" {
			t.Errorf("%s: got %+v", name, v)
		}
	}
}

func TestOneProvenQuoteIsEnough(t *testing.T) {
	e := judgetest.Deny("no such text")
	e.Evidence = append(e.Evidence, judgetest.Quote{Quote: "card.Number"}, judgetest.Quote{Quote: " "})
	if v := one(t, subject.Input{Diff: diff}, e); v.Verdict != rule.Deny || len(v.Evidence) != 1 || v.Evidence[0].Quote != "card.Number" {
		t.Errorf("got %+v", v)
	}
}

func TestADenyMayQuoteWhatIsInNoFile(t *testing.T) {
	cases := map[string]struct {
		in    subject.Input
		quote string
		file  string
	}{
		"a fact":       {subject.Input{Facts: map[string]any{"amount": 12000, "to": "x"}}, `"amount": 12000`, ""},
		"an action":    {subject.Input{Action: "Wire 12,000 EUR to an unknown account"}, "Wire 12,000 EUR", ""},
		"a path":       {subject.Input{Diff: strings.ReplaceAll(diff, "transfer.go", "transfer.bak")}, "pay/transfer.bak", "pay/transfer.bak"},
		"a file name":  {subject.Input{Diff: strings.ReplaceAll(diff, "transfer.go", "transfer.bak")}, "transfer.bak", "pay/transfer.bak"},
		"removed text": {subject.Input{Diff: diff}, "return errNegative", "pay/transfer.go"},
		"removed line": {subject.Input{Diff: diff}, "-\t\treturn errNegative", "pay/transfer.go"},
	}
	for name, c := range cases {
		v := one(t, c.in, judgetest.Deny(c.quote))
		if v.Verdict != rule.Deny || len(v.Locations) != 0 || len(v.Evidence) != 1 || v.Evidence[0].FilePath != c.file || v.Evidence[0].Line != 0 {
			t.Errorf("%s: got %+v", name, v)
		}
	}
}

func TestAnAbsenceDenies(t *testing.T) {
	v := one(t, subject.Input{Diff: diff}, judgetest.Missing("SPDX-License-Identifier"))
	if v.Verdict != rule.Deny || v.DecidedBy != rule.ByModel || len(v.Locations) != 0 ||
		!slices.Equal(v.Evidence, []rule.Evidence{{Kind: rule.EvidenceAbsence, Quote: "SPDX-License-Identifier"}}) {
		t.Errorf("got %+v", v)
	}
	v = one(t, subject.Input{Diff: diff, Files: []subject.InputFile{{Path: "LICENSE"}}}, judgetest.Missing("SPDX-License-Identifier"))
	wantUndecided(t, v, "not all of the subject was examined")
	if !strings.Contains(v.Reasoning, "LICENSE") {
		t.Errorf("the reason does not name the file: %s", v.Reasoning)
	}
}

func TestAnAllowHasNoIssueAndNoPlaces(t *testing.T) {
	e := judgetest.Allow()
	e.Evidence = []judgetest.Quote{{Quote: "return send(amount)"}, {Quote: "made up"}}
	e.Issue, e.Fix = "none", "none"
	v := one(t, subject.Input{Diff: diff}, e)
	if v.Verdict != rule.Allow || v.IssueDescription != "" || v.FixSuggestion != "" || len(v.Locations) != 0 || len(v.Evidence) != 1 {
		t.Errorf("got %+v", v)
	}
}

func TestAModelMayBeUnsure(t *testing.T) {
	v := one(t, subject.Input{Diff: diff}, judgetest.Unsure())
	if v.Verdict != rule.NeedsConfirmation || v.DecidedBy != rule.ByModel || v.Confidence == 0 {
		t.Errorf("got %+v", v)
	}
}

func TestPlacesAreBounded(t *testing.T) {
	text := strings.Repeat("password = 1\n", 500)
	e := judgetest.Deny("")
	e.Evidence = nil
	for range 20 {
		e.Evidence = append(e.Evidence, judgetest.Quote{Quote: "password = 1"})
	}
	v := one(t, subject.Input{Files: []subject.InputFile{{Path: "a.py", Content: &text}}}, e)
	if v.Verdict != rule.Deny || len(v.Locations) == 0 || len(v.Locations) > 20 || len(v.Evidence) > 20 {
		t.Errorf("%d locations, %d pieces of evidence", len(v.Locations), len(v.Evidence))
	}
}

func TestTheModelsWordsAreCleaned(t *testing.T) {
	e := judgetest.Deny("card.Number")
	e.Reasoning = "bad\x1b[31m \u202ereason\u200b\x00"
	if v := one(t, subject.Input{Diff: diff}, e); v.Reasoning != "bad[31m reason" {
		t.Errorf("reasoning is %q", v.Reasoning)
	}
}

func TestASubjectSeenInPartForbidsAllow(t *testing.T) {
	binary := "diff --git a/%[1]s b/%[1]s\nindex 1111111..2222222 100644\nBinary files a/%[1]s and b/%[1]s differ\n"
	file := "x = 1\n"
	for name, c := range map[string]struct {
		in   subject.Input
		part string
	}{
		"a file without content": {subject.Input{Files: []subject.InputFile{{Path: "a.py", Content: &file}, {Path: "b.py"}}}, "b.py"},
		"a binary script":        {subject.Input{Diff: diff + fmt.Sprintf(binary, "run.py")}, "run.py"},
		"a picture by its name":  {subject.Input{Diff: diff + fmt.Sprintf(binary, "logo.PNG")}, "logo.PNG"},
	} {
		v := one(t, c.in, judgetest.Allow())
		wantUndecided(t, v, "Not all that the rule is about was examined: "+c.part)
		if len(v.Unexamined) != 1 || v.Unexamined[0].Part != c.part {
			t.Errorf("%s: unexamined %v", name, v.Unexamined)
		}
		if v := one(t, c.in, judgetest.Unsure()); v.DecidedBy != rule.ByModel {
			t.Errorf("%s: got %+v", name, v)
		}
	}
	s := build(t, subject.Input{Diff: diff + fmt.Sprintf(binary, "logo.png")})
	picture := &s.Files[len(s.Files)-1]
	picture.Media, picture.Unseen = "a PNG image", ""
	res := decide(t, judgetest.Model(allowAll), s, newRules(1))
	if res.Verdicts[0].Verdict != rule.Allow {
		t.Errorf("a picture by its content: got %+v", res.Verdicts[0])
	}
	if c := coverage(s, &res); len(c.Unexamined) != 1 || !strings.Contains(c.Unexamined[0].Reason, "PNG image") {
		t.Errorf("a picture by its content: unexamined %v", c.Unexamined)
	}
}
