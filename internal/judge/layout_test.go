package judge_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tenet/internal/judge"
	"tenet/internal/judge/judgetest"
	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/proptest"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// wholeFiles makes n files of so many lines, each line different.
func wholeFiles(n, lines int) []subject.InputFile {
	files := make([]subject.InputFile, n)
	for i := range files {
		var b strings.Builder
		for k := range lines {
			fmt.Fprintf(&b, "value_%d_%d = compute(%d)\n", i, k, k)
		}
		text := b.String()
		files[i] = subject.InputFile{Path: fmt.Sprintf("src/f%02d.py", i), Content: &text}
	}
	return files
}

func small(m llm.Model, bytes, parts int) *judge.Judge {
	return judge.New(judge.Config{Model: m, MaxSubjectBytes: bytes, MaxParts: parts})
}

// TestEveryLineIsShownOnceOrNamed splits random subjects with random budgets. Whatever is in no prompt must be named, and
// nothing may be shown twice or beyond the budget.
func TestEveryLineIsShownOnceOrNamed(t *testing.T) {
	proptest.Check(t, func(rt *rapid.T) {
		files := wholeFiles(rapid.IntRange(1, 8).Draw(rt, "files"), rapid.IntRange(1, 60).Draw(rt, "lines"))
		budget := rapid.IntRange(150, 4000).Draw(rt, "budget")
		s := build(t, subject.Input{Files: files, Repository: "acme/x"})
		m := judgetest.Model(allowAll)
		res := small(m, budget, rapid.IntRange(1, 12).Draw(rt, "parts")).Decide(t.Context(), s, newRules(1))
		var shown strings.Builder
		for _, req := range m.Requests() {
			text := judgetest.Subject(req)
			if len(text) > budget {
				rt.Fatalf("a part has %d bytes, the budget is %d", len(text), budget)
			}
			if !strings.HasPrefix(strings.TrimPrefix(text, "repository: acme/x\n"), "file src/f") {
				rt.Fatalf("a part does not tell which file it begins with: %s", text)
			}
			shown.WriteString(text)
		}
		named, c := map[string]bool{}, coverage(s, &res)
		for _, u := range c.Unexamined {
			path, _, _ := strings.Cut(u.Part, ":")
			named[path] = true
		}
		missing := 0
		for i, f := range files {
			for k, line := range strings.Split(strings.TrimSuffix(*f.Content, "\n"), "\n") {
				switch strings.Count(shown.String(), fmt.Sprintf("%d| +%s\n", k+1, line)) {
				case 1:
				case 0:
					missing++
					if !named[f.Path] {
						rt.Fatalf("line %d of file %d is neither shown nor named in %v", k+1, i, c.Unexamined)
					}
				default:
					rt.Fatalf("line %d of file %d is shown more than once", k+1, i)
				}
			}
		}
		size := s.Size()
		whole := missing == 0
		if (res.Verdicts[0].Verdict == rule.Allow) != whole || (c.BytesExamined == size.Bytes) != whole || c.BytesExamined > size.Bytes ||
			(c.HunksExamined == size.Hunks) != whole || (len(c.Unexamined) == 0) != whole || res.Parts != m.Calls() {
			rt.Fatalf("%d lines missing, yet %s with %d of %d bytes, %d of %d hunks, unexamined %v", missing, res.Verdicts[0].Verdict,
				c.BytesExamined, size.Bytes, c.HunksExamined, size.Hunks, c.Unexamined)
		}
	})
}

func TestASmallSubjectIsOnePartAndCountedWhole(t *testing.T) {
	s := build(t, subject.Input{Diff: diff, Action: "pay", Intent: "a claim", Facts: map[string]any{"a": "<b>"}, Files: wholeFiles(2, 3)})
	m := judgetest.Model(allowAll)
	res := decide(t, m, s, newRules(1))
	if c, size := coverage(s, &res), s.Size(); res.Parts != 1 || m.Calls() != 1 || c.BytesExamined != size.Bytes || c.HunksExamined != size.Hunks || len(c.Unexamined) != 0 {
		t.Errorf("got %+v, size %+v", res, size)
	}
	if strings.Contains(m.Requests()[0].Prompt, "part 1 of") {
		t.Error("a whole subject is called a part")
	}
}

// byPart answers by what a part holds.
func byPart(t *testing.T, answers map[string]judgetest.Entry, in subject.Input) (rule.RuleVerdict, judge.Result) {
	t.Helper()
	m := judgetest.Model(func(_ judgetest.Rule, text string) judgetest.Entry {
		for has, e := range answers {
			if strings.Contains(text, has) {
				return e
			}
		}
		return judgetest.Allow()
	})
	res := small(m, 2000, 20).Decide(t.Context(), build(t, in), newRules(1))
	if res.Parts < 3 {
		t.Fatalf("%d parts", res.Parts)
	}
	return res.Verdicts[0], res
}

func TestPartsMerge(t *testing.T) {
	in := subject.Input{Files: wholeFiles(6, 40)}
	if v, _ := byPart(t, nil, in); v.Verdict != rule.Allow || v.DecidedBy != rule.ByModel {
		t.Errorf("all allow: got %+v", v)
	}
	v, _ := byPart(t, map[string]judgetest.Entry{"value_4_20 ": judgetest.Deny("value_4_20 = compute(20)"), "value_1_3 ": judgetest.Unsure()}, in)
	if v.Verdict != rule.Deny || len(v.Locations) != 1 || v.Locations[0].FilePath != "src/f04.py" || v.Locations[0].StartLine != 21 {
		t.Errorf("one denies: got %+v", v)
	}
	v, _ = byPart(t, map[string]judgetest.Entry{"value_1_3 ": judgetest.Unsure()}, in)
	if v.Verdict != rule.NeedsConfirmation || v.DecidedBy != rule.ByModel || !strings.Contains(v.Reasoning, "f01.py") {
		t.Errorf("one is unsure: got %+v", v)
	}
	v, _ = byPart(t, map[string]judgetest.Entry{"value_1_3 ": {Verdict: "MAYBE"}}, in)
	wantUndecided(t, v, "unusable")
	v, _ = byPart(t, map[string]judgetest.Entry{"value_2_9 ": judgetest.Deny("value_2_9 = compute(9)"), "value_4_9 ": judgetest.Deny("value_4_9 = compute(9)")}, in)
	if v.Verdict != rule.Deny || len(v.Locations) != 2 || len(v.Evidence) != 2 {
		t.Errorf("two deny: got %+v", v)
	}
}

func TestWhatOnePartLacksAnotherMayHave(t *testing.T) {
	in := subject.Input{Files: wholeFiles(6, 40)}
	v, _ := byPart(t, map[string]judgetest.Entry{"value_1_3 ": judgetest.Missing("import compute")}, in)
	wantUndecided(t, v, "only for some parts")
	v, _ = byPart(t, map[string]judgetest.Entry{"value_": judgetest.Missing("import compute")}, in)
	if v.Verdict != rule.Deny || len(v.Evidence) != 1 || v.Evidence[0].Kind != rule.EvidenceAbsence {
		t.Errorf("got %+v", v)
	}
	v, _ = byPart(t, map[string]judgetest.Entry{
		"value_1_3 ": judgetest.Missing("import compute"), "value_5_39 ": judgetest.Deny("value_5_39 = compute(39)"),
	}, in)
	if v.Verdict != rule.Deny || len(v.Evidence) != 1 || v.Evidence[0].Kind != rule.EvidenceQuote {
		t.Errorf("got %+v", v)
	}
}

func TestAFailingPartForbidsAllow(t *testing.T) {
	good := judgetest.Model(allowAll)
	m := &llmtest.Fake{Respond: func(ctx context.Context, req llm.Request) (llm.Response, error) {
		if strings.Contains(req.Prompt, "value_3_3 ") {
			return llm.Response{}, rule.Errorf(rule.CodeUnavailable, "busy")
		}
		return good.Complete(ctx, req)
	}}
	s := build(t, subject.Input{Files: wholeFiles(6, 40)})
	res := small(m, 2000, 20).Decide(t.Context(), s, newRules(1))
	wantUndecided(t, res.Verdicts[0], "f03.py")
	c := coverage(s, &res)
	if len(c.Unexamined) == 0 || !strings.Contains(c.Unexamined[0].Part, "f03.py") || c.BytesExamined >= s.Size().Bytes || c.BytesExamined == 0 {
		t.Errorf("got %+v", res)
	}
}

func TestBeyondTheLastPartNothingIsAllowed(t *testing.T) {
	m := judgetest.Model(allowAll)
	s := build(t, subject.Input{Files: wholeFiles(200, 40)})
	res := small(m, 2000, 3).Decide(t.Context(), s, newRules(2))
	for _, v := range res.Verdicts {
		wantUndecided(t, v, "Not all that the rule is about was examined")
	}
	if c := coverage(s, &res); m.Calls() != 3 || res.Parts != 3 || len(c.Unexamined) == 0 || len(c.Unexamined) > 101 {
		t.Errorf("%d calls, %d parts, %d unexamined", m.Calls(), res.Parts, len(c.Unexamined))
	}
}

func TestWhatFitsNoCallIsNamed(t *testing.T) {
	long := "ok = 1\nx = '" + strings.Repeat("a", 5000) + "'\nok = 2\n"
	for name, c := range map[string]struct {
		in   subject.Input
		part string
	}{
		"a line": {subject.Input{Files: []subject.InputFile{{Path: "min.js", Content: &long}}}, "min.js:1-3"},
		"facts":  {subject.Input{Diff: diff, Facts: map[string]any{"blob": strings.Repeat("a", 5000)}}, "the facts"},
		"action": {subject.Input{Diff: diff, Action: strings.Repeat("a", 5000)}, "the action"},
		"intent": {subject.Input{Diff: diff, Intent: strings.Repeat("a", 5000)}, "the intent"},
	} {
		m := judgetest.Model(allowAll)
		s := build(t, c.in)
		res := small(m, 2000, 5).Decide(t.Context(), s, newRules(1))
		examined := coverage(s, &res)
		if name == "a line" && examined.HunksExamined == s.Size().Hunks {
			t.Error("a hunk counts as examined that a line was dropped from")
		}
		if len(examined.Unexamined) != 1 || examined.Unexamined[0].Part != c.part {
			t.Errorf("%s: unexamined is %v", name, examined.Unexamined)
		}
		wantUndecided(t, res.Verdicts[0], "Not all that the rule is about was examined")
	}
}

func TestFactsAreInEveryPart(t *testing.T) {
	m := judgetest.Model(allowAll)
	s := build(t, subject.Input{Files: wholeFiles(6, 40), Facts: map[string]any{"risk": "high"}, Intent: "small change"})
	res := small(m, 2000, 20).Decide(t.Context(), s, newRules(1))
	for i, req := range m.Requests() {
		if text := judgetest.Subject(req); !strings.Contains(text, `"risk": "high"`) || !strings.Contains(text, "| small change") {
			t.Errorf("part %d lacks facts or claim", i+1)
		}
	}
	if c := coverage(s, &res); m.Calls() < 3 || c.BytesExamined != s.Size().Bytes {
		t.Errorf("%d calls, %d of %d bytes", m.Calls(), c.BytesExamined, s.Size().Bytes)
	}
}

// TestADiffOf300KBIsJudgedWhole has one line of the second part break a rule.
func TestADiffOf300KBIsJudgedWhole(t *testing.T) {
	files := wholeFiles(60, 190)
	last := *files[59].Content + "forbidden()\n"
	files[59].Content = &last
	s := build(t, subject.Input{Files: files})
	if size := s.Size(); size.Bytes < 300_000 {
		t.Fatalf("the subject has %d bytes", size.Bytes)
	}
	m := judgetest.Model(strict)
	res := decide(t, m, s, newRules(2))
	if c := coverage(s, &res); res.Parts != 2 || m.Calls() != 2 || c.BytesExamined != s.Size().Bytes || len(c.Unexamined) != 0 {
		t.Errorf("%d parts, %d calls, %d bytes, %v", res.Parts, m.Calls(), c.BytesExamined, c.Unexamined)
	}
	if v := res.Verdicts[0]; v.Verdict != rule.Deny || v.Locations[0].FilePath != "src/f59.py" || v.Locations[0].StartLine != 191 || res.Verdicts[1].Verdict != rule.Allow {
		t.Errorf("got %+v", res.Verdicts)
	}
}

func TestWhatWouldTakeTooManyTokensIsNotAsked(t *testing.T) {
	m := judgetest.Model(allowAll)
	s := build(t, subject.Input{Files: wholeFiles(6, 40)})
	res := judge.New(judge.Config{Model: m, MaxSubjectBytes: 2000, MaxParts: 20, MaxTokens: 3000}).Decide(t.Context(), s, newRules(2))
	if c := coverage(s, &res); m.Calls() == 0 || m.Calls() == res.Parts || len(c.Unexamined) < res.Parts-m.Calls() {
		t.Errorf("%d calls about %d parts, unexamined %v", m.Calls(), res.Parts, c.Unexamined)
	}
	for _, v := range res.Verdicts {
		wantUndecided(t, v, "more than the 3000 tokens")
	}
	spent := 0
	for _, req := range m.Requests() {
		spent += (len(req.System) + len(req.Prefix) + len(req.Prompt)) / 4
	}
	if spent > 3000 {
		t.Errorf("%d tokens were sent", spent)
	}
}

func TestASubjectOfWhichNothingCanBeShown(t *testing.T) {
	m := judgetest.Model(allowAll)
	s := build(t, subject.Input{Action: strings.Repeat("a", 5000)})
	res := small(m, 500, 5).Decide(t.Context(), s, newRules(1))
	wantUndecided(t, res.Verdicts[0], "Nothing of the subject could be shown")
	if c := coverage(s, &res); m.Calls() != 0 || len(c.Unexamined) != 1 {
		t.Errorf("%d calls, unexamined %v", m.Calls(), c.Unexamined)
	}
}
