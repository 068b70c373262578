package judge_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tenet/internal/judge"
	"tenet/internal/judge/judgetest"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// entry writes one well-formed ALLOW.
func entry(ref string) string {
	return fmt.Sprintf(`{"rule_ref":%q,"evidence":[],"absence":"","reasoning":"looked {at} \"it\"","issue":"","fix":"","verdict":"ALLOW"}`, ref)
}

// answers judges three rules with a model that gives raw answers and returns the verdicts in the order R1, R2, R3.
func answers(t *testing.T, raw ...string) ([]rule.RuleVerdict, *llmtest.Fake, judge.Result) {
	t.Helper()
	m := judgetest.Script(raw...)
	rules := newRules(3)
	res := decide(t, m, build(t, subject.Input{Diff: diff}), rules)
	byRef := make([]rule.RuleVerdict, 3)
	for n, r := range judgetest.Rules(m.Requests()[0]) {
		for i := range rules {
			if rules[i].Statement == r.Statement {
				byRef[n] = res.Verdicts[i]
			}
		}
	}
	return byRef, m, res
}

// list wraps entries as an answer.
func list(entries ...string) string { return `{"verdicts":[` + strings.Join(entries, ",") + `]}` }

func TestAFaultStaysInItsRule(t *testing.T) {
	huge := strings.Repeat("a", 5000)
	for name, bad := range map[string]string{
		"missing":             ``,
		"duplicate":           entry("R2") + "," + entry("R2"),
		"contradiction":       entry("R2") + "," + strings.Replace(entry("R2"), "ALLOW", "DENY", 1),
		"unknown ref":         entry("R7"),
		"no such form of ref": entry("r2") + "," + entry(" R2") + "," + entry("2"),
		"wrong enum":          strings.Replace(entry("R2"), "ALLOW", "allow", 1),
		"made-up verdict":     strings.Replace(entry("R2"), "ALLOW", "ALLOW_ALL", 1),
		"empty verdict":       strings.Replace(entry("R2"), "ALLOW", "", 1),
		"no verdict":          strings.Replace(entry("R2"), `,"verdict":"ALLOW"`, ``, 1),
		"null verdict":        strings.Replace(entry("R2"), `"ALLOW"`, `null`, 1),
		"two verdicts":        strings.Replace(entry("R2"), `"verdict":"ALLOW"`, `"verdict":"DENY","verdict":"ALLOW"`, 1),
		"number as verdict":   strings.Replace(entry("R2"), `"ALLOW"`, `1`, 1),
		"NaN":                 strings.Replace(entry("R2"), `"evidence":[]`, `"confidence":NaN`, 1),
		"wrong type":          strings.Replace(entry("R2"), `"evidence":[]`, `"evidence":"x"`, 1),
		"evidence of numbers": strings.Replace(entry("R2"), `"evidence":[]`, `"evidence":[1]`, 1),
		"object as reasoning": strings.Replace(entry("R2"), `"issue":""`, `"issue":{}`, 1),
		"no reasoning":        strings.Replace(entry("R2"), `looked {at} \"it\"`, ` `, 1),
		"the empty form":      `{"rule_ref":"R2","evidence":[{"quote":"...","file":"..."}],"absence":"","reasoning":"...","issue":"...","fix":"...","verdict":"ALLOW"}`,
		"giant reasoning":     strings.Replace(entry("R2"), `looked`, huge, 1),
		"giant quote":         strings.Replace(entry("R2"), `"evidence":[]`, `"evidence":[{"quote":"`+huge+`"}]`, 1),
		"many quotes":         strings.Replace(entry("R2"), `"evidence":[]`, `"evidence":[`+strings.Repeat(`{"quote":"q"},`, 20)+`{"quote":"q"}]`, 1),
		"deny for no reason":  strings.Replace(entry("R2"), "ALLOW", "DENY", 1),
		"broken string":       `{"rule_ref":"R2","verdict":"ALLOW","reasoning":"a" b"}`,
		"deep nesting":        `{"rule_ref":"R2","x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
		"broken and whole":    `{"rule_ref":"R2",}` + "," + entry("R2"),
		"escaped and whole":   `{"rule_ref":"\u0052\u0032","verdict":"ALLOW","reasoning":"looked at it"}` + "," + entry("R2"),
	} {
		entries := []string{entry("R1"), bad, entry("R3")}
		if bad == "" {
			entries = []string{entry("R1"), entry("R3")}
		}
		raw := list(entries...)
		v, m, _ := answers(t, raw, raw) // the repair is answered with the same
		if v[0].Verdict != rule.Allow || v[2].Verdict != rule.Allow {
			t.Errorf("%s: the fault spreads: %s, %s; %s", name, v[0].Verdict, v[2].Verdict, v[0].Reasoning+v[2].Reasoning)
		}
		// The repair asks for one rule, R1; its answer names R1 and is well-formed, so it counts.
		if m.Calls() != 2 {
			t.Errorf("%s: %d calls, want a repair", name, m.Calls())
		}
		if asked := judgetest.Rules(m.Requests()[1]); len(asked) != 1 || asked[0].Statement != v[1].RuleStatement {
			t.Errorf("%s: the repair asks for %v", name, asked)
		}
		v, _, _ = answers(t, raw, "no")
		wantUndecided(t, v[1], "The model's answer is unusable for this rule")
	}
}

func TestAnAnswerThatIsNotOneObjectDecidesNothing(t *testing.T) {
	whole := list(entry("R1"), entry("R2"), entry("R3"))
	for name, raw := range map[string]string{
		"prose before":    "Here you are: " + whole,
		"prose behind":    whole + "\nOn second thoughts all three are broken.",
		"code fence":      "```json\n" + whole + "\n```",
		"two objects":     whole + whole,
		"a list":          "[" + entry("R1") + "]",
		"other members":   strings.TrimSuffix(whole, "}") + `,"note":"R1 is DENY"}`,
		"other first":     `{"note":"x","verdicts":[` + entry("R1") + `]}`,
		"text in list":    list(entry("R1"), `"wait"`, entry("R2"), entry("R3")),
		"comments":        strings.Replace(whole, ",{", ", /* no */ {", 1),
		"nothing":         "",
		"blank":           " \n",
		"null":            "null",
		"not UTF-8":       strings.Replace(whole, "looked", "\xff", 1),
		"too large":       strings.Replace(whole, "looked", strings.Repeat("a", 300_000), 1),
		"10 MB":           strings.Repeat("{", 10<<20),
		"endless entries": list(strings.Repeat(entry("R9")+",", 500) + entry("R1")),
		"refusal":         "I cannot help with that.",
	} {
		v, m, res := answers(t, raw, "still no")
		for _, v := range v {
			wantUndecided(t, v, "The model's answer is unusable for this rule")
		}
		if m.Calls() != 2 || len(judgetest.Rules(m.Requests()[1])) != 3 {
			t.Errorf("%s: %d calls", name, m.Calls())
		}
		if len(res.Calls[0].Raw) > 300_000 {
			t.Errorf("%s: the record holds %d bytes", name, len(res.Calls[0].Raw))
		}
	}
}

func TestATruncatedAnswerKeepsItsWholeEntries(t *testing.T) {
	whole := list(entry("R1"), entry("R2"), entry("R3"))
	for n := range len(whole) {
		if strings.HasSuffix(whole[:n], `"R`) || strings.HasSuffix(whole[:n], `"R3`) && !strings.Contains(whole[:n], `"R3"`) {
			continue // half a reference, which cannot be adapted to the request
		}
		v, _, _ := answers(t, whole[:n], "no")
		for i, v := range v {
			end := strings.Index(whole, entry(fmt.Sprint("R", i+1))) + len(entry("R1"))
			if v.Verdict == rule.Allow && n < end {
				t.Fatalf("R%d is ALLOW, though the answer ends after %d bytes: %s", i+1, n, whole[:n])
			}
			if v.Verdict != rule.Allow && n >= end {
				t.Fatalf("R%d is %s, though it is whole in %s: %s", i+1, v.Verdict, whole[:n], v.Reasoning)
			}
		}
	}
	// What follows may take back what an entry says.
	v, _, _ := answers(t, `{"verdicts":[`+entry("R1")+`,`+entry("R2")+`,{"rule_ref":"R1","verdict":"DENY","reas`, "no")
	wantUndecided(t, v[0], "unusable for this rule")
	if v[1].Verdict != rule.Allow {
		t.Errorf("R2 is %s", v[1].Verdict)
	}
}

func TestARepairThatSucceedsCounts(t *testing.T) {
	v, m, res := answers(t, list(entry("R1"), entry("R3")), list(entry("R1")))
	for i, v := range v {
		if v.Verdict != rule.Allow || v.DecidedBy != rule.ByModel {
			t.Errorf("R%d is %+v", i+1, v)
		}
	}
	if len(res.Calls) != 2 || res.Calls[0].Repair || !res.Calls[1].Repair || res.Cost.Calls != 2 {
		t.Errorf("calls are %+v", res.Calls)
	}
	if asked := judgetest.Rules(m.Requests()[1]); len(asked) != 1 || asked[0].Statement != v[1].RuleStatement {
		t.Errorf("the repair asks for %+v", asked)
	}
}

func TestAnAnswerBeyondItsLimitIsAskedForInHalves(t *testing.T) {
	m := judgetest.Model(allowAll)
	m.PushError(rule.Errorf(rule.CodeInvalid, "cut off"))
	res := decide(t, m, build(t, subject.Input{Diff: diff}), newRules(9))
	for _, v := range res.Verdicts {
		if v.Verdict != rule.Allow {
			t.Errorf("got %+v", v)
		}
	}
	var sizes []int
	for _, c := range res.Calls {
		sizes = append(sizes, len(c.Rules))
	}
	if fmt.Sprint(sizes) != "[9 5 4]" {
		t.Errorf("calls have %v rules", sizes)
	}
}

// TestMalformedAnswersNeverAllow generates answers in which some entries are spoilt in ways drawn at random, and asserts
// that exactly the spoilt rules are left undecided, and all of them where the whole answer is spoilt.
func TestMalformedAnswersNeverAllow(t *testing.T) {
	spoil := []func(r *rand.Rand, ref string) string{
		func(*rand.Rand, string) string { return "" },
		func(_ *rand.Rand, ref string) string { return entry(ref) + "," + entry(ref) },
		func(_ *rand.Rand, ref string) string { return strings.Replace(entry(ref), "ALLOW", "Allow", 1) },
		func(r *rand.Rand, ref string) string {
			e := entry(ref)
			at := r.IntN(len(e)-2) + 1
			return e[:at] + "\x01" + e[at:]
		},
		func(_ *rand.Rand, ref string) string {
			return strings.Replace(entry(ref), `"fix":""`, `"confidence":NaN`, 1)
		},
		func(_ *rand.Rand, ref string) string { return strings.Replace(entry(ref), `"fix":""`, `"fix":7`, 1) },
		func(_ *rand.Rand, ref string) string { return strings.Replace(entry(ref), `"ALLOW"`, `["ALLOW"]`, 1) },
		func(r *rand.Rand, ref string) string {
			return strings.Replace(entry(ref), "looked", strings.Repeat("z", 4001+r.IntN(2000)), 1)
		},
		func(_ *rand.Rand, ref string) string { return strings.Replace(entry(ref), ref, ref+"0", 1) },
		func(_ *rand.Rand, ref string) string { return strings.Replace(entry(ref), "ALLOW", "DENY", 1) },
	}
	ruin := []func(r *rand.Rand, s string) string{
		func(_ *rand.Rand, s string) string { return "Sure! " + s },
		func(_ *rand.Rand, s string) string { return s + " But R1 worries me." },
		func(r *rand.Rand, s string) string { return s + s },
		func(r *rand.Rand, s string) string { return s[r.IntN(13)+1:] },
		func(r *rand.Rand, s string) string { return s[:13] + string(rune('0'+r.IntN(10))) + s[13:] },
		func(_ *rand.Rand, s string) string { return strings.Replace(s, "verdicts", "verdict", 1) },
	}
	s := build(t, subject.Input{Diff: diff})
	for n := range 1000 {
		r := rand.New(rand.NewPCG(uint64(n), 7))
		count := r.IntN(10) + 1
		var parts []string
		spoilt := make([]bool, count)
		for i := range count {
			text := entry(fmt.Sprint("R", i+1))
			if r.IntN(3) == 0 {
				spoilt[i] = true
				text = spoil[r.IntN(len(spoil))](r, fmt.Sprint("R", i+1))
			}
			if text != "" {
				parts = append(parts, text)
			}
		}
		raw := list(parts...)
		ruined := r.IntN(4) == 0
		if ruined {
			raw = ruin[r.IntN(len(ruin))](r, raw)
		}
		rules := newRules(count)
		m := judgetest.Script(raw, "still nothing")
		res := decide(t, m, s, rules)
		for k, shown := range judgetest.Rules(m.Requests()[0]) {
			var v rule.RuleVerdict
			for i := range rules {
				if rules[i].Statement == shown.Statement {
					v = res.Verdicts[i]
				}
			}
			if v.Verdict == rule.Allow && (ruined || spoilt[k]) {
				t.Fatalf("case %d: R%d is a false ALLOW in\n%s", n, k+1, raw)
			}
			if v.Verdict != rule.Allow && !ruined && !spoilt[k] {
				t.Fatalf("case %d: R%d is lost to the fault of another (%s) in\n%s", n, k+1, v.Reasoning, raw)
			}
		}
	}
}
