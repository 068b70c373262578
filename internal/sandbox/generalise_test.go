package sandbox_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
	"tenet/internal/subject"
)

// samples are cases of the rule "No eval." that differ in more than a number.
var samples = map[rule.Verdict][]string{
	rule.Deny: {
		"total = eval(formula)\n", "import os\nprint(eval(line))\n", "return eval('1+1')\n", "x = [eval(t) for t in tokens]\n",
		"if eval(cond):\n    run()\n", "answer = eval(input('> '))\n",
	},
	rule.Allow: {
		"total = parse(formula)\n", "retrieval(line)\n", "score = evaluate(model)\n", "x = [int(t) for t in tokens]\n",
	},
}

func propose(t *testing.T, past []subject.Past, perVerdict int, answers ...string) (got []rule.Check, reasons [][]string, rejected int, model *llmtest.Fake) {
	t.Helper()
	model = &llmtest.Fake{}
	model.Push(answers...)
	model.Push("{}", "{}")
	b, ctx := bedWith(t, model, history{past})
	for verdict, list := range samples {
		for i, sample := range list[:min(perVerdict, len(list))] {
			c := sandbox.NewCase{Name: fmt.Sprintf("%s %d", verdict, i), SampleInput: sample, ExpectedVerdict: verdict}
			if _, err := b.AddCase(ctx, "p", "R-1", c); err != nil {
				t.Fatal(err)
			}
		}
	}
	out, err := b.Propose(ctx, "p", "R-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range out.Proposals {
		if (p.Check.Decides == rule.Both) != (len(p.DenyOnly) == 0) || p.DenyOnly == nil || p.HeldBack == 0 || p.Variants == 0 {
			t.Errorf("a proposal that decides %s: %+v", p.Check.Decides, p)
		}
		got, reasons = append(got, p.Check), append(reasons, p.DenyOnly)
	}
	return got, reasons, out.Rejected, model
}

func TestAModelSeesHalfOfTheCases(t *testing.T) {
	_, _, _, model := propose(t, nil, 6, checks(t, draft{"regex": "never"}))
	seen := map[rule.Verdict]int{}
	for verdict, list := range samples {
		for i := range list {
			if strings.Contains(model.Requests()[0].Prompt, fmt.Sprintf(`"%s %d"`, verdict, i)) {
				seen[verdict]++
			}
		}
	}
	if seen[rule.Deny] != 3 || seen[rule.Allow] != 2 {
		t.Errorf("it sees %v of 6 cases that break the rule and 4 that keep it", seen)
	}
}

func TestACheckThatHoldsBeyondItsCasesDecidesBoth(t *testing.T) {
	for _, regex := range []string{`\beval\s*\(`, `\beval\s?\(`, `\beval\s*\(['"]?[^\n]*\)`, `\beval\(.*`} {
		got, reasons, _, _ := propose(t, nil, 6, checks(t, draft{"regex": regex}))
		if len(got) != 1 || got[0].Decides != rule.Both {
			t.Errorf("%s: proposed %+v, not to decide alone since %q", regex, got, reasons)
		}
	}
}

// TestAListOfTheCasesDecidesDenialsOnly is about what models do that are asked to agree with all cases: they list them.
func TestAListOfTheCasesDecidesDenialsOnly(t *testing.T) {
	var shown string
	_, _, _, model := propose(t, nil, 6, checks(t, draft{"regex": "never"}))
	prompt := model.Requests()[0].Prompt
	for i, sample := range samples[rule.Deny] {
		if strings.Contains(prompt, fmt.Sprintf(`"%s %d"`, rule.Deny, i)) {
			at := strings.Index(sample, "eval")
			shown += "|" + regexp.QuoteMeta(sample[at:min(at+9, len(sample)-1)])
		}
	}
	got, reasons, _, _ := propose(t, nil, 6, checks(t, draft{"regex": shown[1:]}))
	if len(got) != 1 || got[0].Decides != rule.DenyOnly || !strings.Contains(fmt.Sprint(reasons), "which the model was not shown") {
		t.Errorf("a pattern of shown samples alone (%s): %+v, %q", shown, got, reasons)
	}
}

func TestWhyAProposalDecidesDenialsOnly(t *testing.T) {
	for name, tt := range map[string]struct {
		past   []subject.Past
		cases  int
		regex  string
		reason string
	}{
		"few cases":           {nil, 2, `\beval\s*\(`, "only 1 could be held back from the model, not 3"},
		"several ways":        {nil, 6, `\beval\s*\(|\bexec\s*\(`, "only 3 could be held back from the model, not 8, as a check with 2 ways to deny"},
		"wider spaces":        {nil, 6, `(^|[^ ]) ?\beval\s*\(`, "wider spaces"},
		"other spaces":        {nil, 6, `\beval\([^ ]`, "other spaces"},
		"a bound":             {nil, 6, `\beval\s*\([^\n]{0,40}\)`, "[^\\n]{0,40}), and what is longer escapes"},
		"a bound in words":    {nil, 6, `\beval\s*\(.?.?.?.?.?.?.?.?.?.?.?.?\)`, "what is longer escapes"},
		"a bound of parts":    {nil, 6, `\beval\s*\((?:[^\n]|xy){0,40}\)`, "what is longer escapes"},
		"a bound of spaces":   {nil, 6, `\beval\s{0,4}\(`, `[\t\n\f\r ]{0,4}), and what is longer escapes`},
		"a bound of blanks":   {nil, 6, `\beval {0,4}\(`, " {0,4}), and what is longer escapes"},
		"a kind of argument":  {nil, 6, `\beval\([^,]*\)`, "no case needs its part [^,]: wider"},
		"digits":              {nil, 6, `\beval\(\d{0,4}[^\n]*\)`, "no case needs its part"},
		"a kind by its name":  {nil, 6, `\beval\([\w'+ >(]+\)`, "no case needs its part"},
		"an exception":        {nil, 6, `\beval\(`, "no case needs its part unless sandbox"},
		"spaces or others":    {nil, 6, `\beval(?:\s|/\*x\*/){0,4}\(`, "what is longer escapes"},
		"the begin of a line": {nil, 6, `^[^#]*\beval\(`, "no case needs its part ^: wider"},
		"the end of a line":   {nil, 6, `\beval\b.*(?:\)|s\]|d\):)$`, "no case needs its part $: wider"},
		"one of a kind":       {nil, 6, `\beval\([a-z']`, "no case needs its part ['a-z]: wider"},
		"a recorded ALLOW":    {[]subject.Past{{EvaluationID: "e", Subject: subject.Input{Action: "eval(x)"}, Verdict: rule.Allow}}, 6, `\beval\s*\(`, "differs from 1 of 1 recorded"},
		"a recorded DENY":     {[]subject.Past{{EvaluationID: "e", Subject: subject.Input{Action: "exec(x)"}, Verdict: rule.Deny}}, 6, `\beval\s*\(`, "differs from 1 of 1 recorded"},
	} {
		proposal := draft{"regex": tt.regex}
		if name == "an exception" {
			proposal["unless"] = "sandbox"
		}
		got, reasons, _, _ := propose(t, tt.past, tt.cases, checks(t, proposal))
		if len(got) != 1 || got[0].Decides != rule.DenyOnly || !strings.Contains(fmt.Sprint(reasons), tt.reason) {
			t.Errorf("%s: %+v, since %q; want one for %q", name, got, reasons, tt.reason)
		}
	}
}

func TestProposalsThatAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		proposal draft
		why      string
	}{
		"a sample in a pattern":                {draft{"regex": `answer\s=\seval\(input\('> '\)\)|\beval\(`}, "copies text of a sample"},
		"a sample in letters of other case":    {draft{"regex": `(?i)(ANSWER = EVAL\(INPUT\('> '\)\))|\beval\(`}, "copies text of a sample"},
		"a sample in an expression":            {draft{"cel": `!facts.text.contains("answer = eval(input('> '))") && !facts.text.contains("eval(")`}, ""},
		"one that denies what it has not seen": {draft{"regex": `eval`}, ""},
	} {
		got, _, rejected, model := propose(t, nil, 6, checks(t, tt.proposal))
		if len(got) != 0 || rejected == 0 {
			t.Errorf("%s is proposed: %+v", name, got)
		}
		if last := model.Requests()[1].Prompt; !strings.Contains(last, tt.why) {
			t.Errorf("%s: the model gets %s", name, last)
		}
	}
}
