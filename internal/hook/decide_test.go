package hook

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"tenet/internal/rule"
)

func evaluation(verdicts ...rule.RuleVerdict) *rule.Evaluation {
	e := &rule.Evaluation{EvaluationID: "e-1", RuleVerdicts: verdicts}
	e.Tally()
	return e
}

func given(s rule.Severity, v rule.Verdict, by rule.DecidedBy) rule.RuleVerdict {
	return rule.RuleVerdict{RuleID: "r", RuleSlug: "R-1", RuleStatement: "Do not.", Severity: s, Modality: rule.Must, Enforcement: rule.Enforce, Verdict: v, DecidedBy: by}
}

func must(t *testing.T, s string) FailModes {
	t.Helper()
	m, err := rule.ParseFailModes(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const modes = "CRITICAL=closed,HIGH=ask,MEDIUM=open,LOW=open"

func TestTheFailModeOfARulesSeverityCountsWhereNothingDecidedIt(t *testing.T) {
	should := given(rule.Critical, rule.NeedsConfirmation, rule.ByNone)
	should.Modality = rule.Should
	unseen := given(rule.Low, rule.NeedsConfirmation, rule.ByNone)
	unseen.Unexamined = []rule.Unexamined{{Part: "a.bin", Reason: "it is binary"}}
	shadow := given(rule.Critical, rule.Deny, rule.ByCheck)
	shadow.Enforcement = rule.Shadow
	for _, test := range []struct {
		name    string
		verdict rule.RuleVerdict
		want    Decision
		says    string
	}{
		{"kept", given(rule.Critical, rule.Allow, rule.ByCheck), Allow, ""},
		{"broken", given(rule.Low, rule.Deny, rule.ByCheck), Deny, "this breaks rules"},
		{"to be confirmed", given(rule.Low, rule.NeedsConfirmation, rule.ByModel), Ask, "needs confirmation"},
		{"closed", given(rule.Critical, rule.NeedsConfirmation, rule.ByNone), Deny, "fail mode of CRITICAL: closed"},
		{"ask", given(rule.High, rule.NeedsConfirmation, rule.ByNone), Ask, "fail mode of HIGH: ask"},
		{"open, and says so", given(rule.Medium, rule.NeedsConfirmation, rule.ByNone), Allow, "fail mode of MEDIUM: open"},
		{"not examined, so open is not enough", unseen, Ask, "fail mode of LOW: ask"},
		{"a SHOULD asks at most", should, Ask, "fail mode of CRITICAL: ask"},
		{"an unknown verdict asks", given(rule.Low, "MAYBE", rule.ByModel), Ask, "needs confirmation"},
		{"shadow does not count", shadow, Allow, ""},
	} {
		a := Decide(evaluation(test.verdict), must(t, modes))
		if a.Decision != test.want || !strings.Contains(a.Reason, test.says) || (test.says == "") != (a.Reason == "") {
			t.Errorf("%s: %+v; want %s and %q", test.name, a, test.want, test.says)
		}
	}
}

func TestAnApprovalKeepsTheQuestionFromTheTool(t *testing.T) {
	e := evaluation(given(rule.High, rule.NeedsConfirmation, rule.ByCheck))
	if a := Decide(e, must(t, modes)); a.Decision != Ask {
		t.Fatalf("without an approval: %+v", a)
	}
	e.Approval = &rule.EvaluationApproval{ID: "a1", State: rule.ApprovalPending, URL: "https://tenet.example.com/p/default/approvals/a1"}
	if a := Decide(e, must(t, modes)); a.Decision != Deny || !strings.Contains(a.Reason, e.Approval.URL) {
		t.Errorf("while it waits: %+v", a)
	}
	e.Approval.State = rule.ApprovalRejected
	if a := Decide(e, must(t, modes)); a.Decision != Deny || !strings.Contains(a.Reason, "a1 is rejected") {
		t.Errorf("rejected: %+v", a)
	}
	for word, fails := range map[string]bool{"off": false, "ask": false, "WAIT": false, "": true, "yes": true} {
		if _, err := ParseApproval(word); (err != nil) != fails {
			t.Errorf("%q: %v", word, err)
		}
	}
}

func TestOfTwoAnswersTheStricterCounts(t *testing.T) {
	deny, ask, kept := Answer{Decision: Deny, Reason: "no"}, Answer{Decision: Ask, Reason: "sure?"}, Answer{Decision: Allow, Approved: true}
	for _, test := range []struct{ a, b, want Answer }{
		{deny, ask, Answer{Decision: Deny, Reason: "no\nsure?"}}, {kept, deny, deny}, {ask, kept, ask}, {kept, kept, kept}, {kept, Answer{Decision: Allow}, Answer{Decision: Allow}},
	} {
		if got := Stricter(test.a, test.b); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%+v and %+v give %+v", test.a, test.b, got)
		}
	}
}

func TestHalfAnAnswerIsNone(t *testing.T) {
	whole := evaluation(given(rule.High, rule.Allow, rule.ByCheck))
	for name, spoil := range map[string]func(e *rule.Evaluation){
		"no id":                func(e *rule.Evaluation) { e.EvaluationID = "" },
		"verdicts are missing": func(e *rule.Evaluation) { e.RuleVerdicts = nil },
		"the overall verdict is another": func(e *rule.Evaluation) {
			e.RuleVerdicts = []rule.RuleVerdict{given(rule.High, rule.Deny, rule.ByCheck)}
		},
		"nothing was in it": func(e *rule.Evaluation) { e.OverallVerdict = rule.NeedsConfirmation },
	} {
		e := *whole
		spoil(&e)
		if a := Decide(&e, must(t, modes)); a.Decision != Deny || !strings.Contains(a.Reason, "Fail mode: closed") {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestUnansweredTakesTheStrictestMode(t *testing.T) {
	for modes, want := range map[string]Decision{
		modes: Deny, "ask": Ask, "open": Allow, "closed": Deny, "CRITICAL=open,HIGH=open,MEDIUM=ask,LOW=open": Ask,
		"HIGH=open": Deny, // the others are closed
	} {
		if a := Failed("no server", must(t, modes)); a.Decision != want || !strings.Contains(a.Reason, "no server") || !strings.Contains(a.Reason, "Fail mode") {
			t.Errorf("%s: %+v, want %s", modes, a, want)
		}
	}
	if a := Failed("x", nil); a.Decision != Deny {
		t.Errorf("without modes: %+v", a)
	}
	for _, bad := range []string{"", "shut", "HIGH=maybe", "HUGE=ask", "HIGH=ask,HIGH=open", "HIGH=ask,,"} {
		if _, err := rule.ParseFailModes(bad); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestOnlyWhatWasJudgedAndExaminedIsKept(t *testing.T) {
	kept := given(rule.High, rule.Allow, rule.ByCheck)
	if a := Decide(evaluation(kept), must(t, modes)); !a.Approved || a.Reason != "" {
		t.Errorf("kept: %+v", a)
	}
	if a := Decide(evaluation(), must(t, modes)); a.Approved {
		t.Errorf("no rule has said anything: %+v", a)
	}
	open := evaluation(kept, given(rule.Low, rule.NeedsConfirmation, rule.ByNone))
	if a := Decide(open, must(t, modes)); a.Approved || a.Decision != Allow {
		t.Errorf("let pass by the fail mode: %+v", a)
	}
	waived := given(rule.High, rule.Deny, rule.ByCheck)
	waived.Waiver = &rule.AppliedWaiver{ID: "w"}
	if a := Decide(evaluation(kept, waived), must(t, modes)); a.Approved || a.Decision != Allow {
		t.Errorf("waived: %+v", a)
	}
	unseen := evaluation(kept)
	unseen.Coverage.Unexamined = []rule.Unexamined{{Part: "a.py", Reason: "the file is binary"}}
	if a := Decide(unseen, must(t, modes)); a.Approved || a.Decision != Allow || !strings.Contains(a.Reason, "not examined.\n- a.py: the file is binary") {
		t.Errorf("a file that nobody has seen passes silently: %+v", a)
	}
}

func TestReasonsAreBoundedAndHarmless(t *testing.T) {
	v := given(rule.High, rule.Deny, rule.ByCheck)
	v.RuleStatement = "a\nb\x1b[31m" + strings.Repeat("x", 10_000)
	v.Locations = []rule.Location{{FilePath: "p\u202e\n- R-2", StartLine: 3}}
	list := make([]rule.RuleVerdict, 50)
	for i := range list {
		list[i] = v
	}
	a := Decide(evaluation(list...), must(t, modes))
	if strings.ContainsAny(a.Reason, "\x1b\u202e") || strings.Count(a.Reason, "\n- R-1") != maxFindings || !strings.Contains(a.Reason, "and 30 more") || strings.Contains(a.Reason, "\n- R-2") {
		t.Errorf("the reason is %d bytes: %.2000s", len(a.Reason), a.Reason)
	}
}

func TestAnswersHaveTheFormOfTheirTool(t *testing.T) {
	deny, ask, open := Answer{Decision: Deny, Reason: "no"}, Answer{Decision: Ask, Reason: "sure?"}, Answer{Decision: Allow, Reason: "not judged"}
	allow, skipped := Answer{Decision: Allow, Approved: true}, Answer{Decision: Allow}
	for _, test := range []struct {
		event     string
		a         Answer
		approve   bool
		out, errs string
		code      int
	}{
		{"PreToolUse", deny, false, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`, "no", 2},
		{"", deny, false, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`, "no", 2},
		{"PreToolUse", ask, true, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"sure?"}}`, "", 0},
		{"PreToolUse", open, false, `{"systemMessage":"not judged"}`, "", 0},
		{"PreToolUse", allow, false, ``, "", 0},
		{"PreToolUse", allow, true, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`, "", 0},
		{"PreToolUse", open, true, `{"systemMessage":"not judged"}`, "", 0},
		{"", open, true, `{"systemMessage":"not judged"}`, "", 0},
		{"PreToolUse", skipped, true, ``, "", 0},
		{"PostToolUse", deny, false, `{"decision":"block","reason":"no"}`, "no", 2},
		{"PostToolUse", ask, false, `{"systemMessage":"sure?","hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"sure?"}}`, "", 0},
		{"PostToolUse", allow, true, ``, "", 0},
		{"Stop", open, true, `{"systemMessage":"not judged"}`, "", 0},
	} {
		out, errs, code := WriteClaude(test.event, test.a, test.approve)
		if strings.TrimSpace(out) != test.out || strings.TrimSpace(errs) != test.errs || code != test.code {
			t.Errorf("%s %+v: %s, %q, %d", test.event, test.a, out, errs, code)
		}
	}
	for _, test := range []struct {
		event string
		a     Answer
		want  string
		errs  string
	}{
		{"beforeShellExecution", deny, "deny", ""},
		{"beforeShellExecution", ask, "ask", ""},
		{"beforeMCPExecution", open, "allow", ""},
		{"beforeReadFile", ask, "deny", ""},
		{"preToolUse", ask, "deny", ""},
		{"", ask, "deny", ""},
		{"afterFileEdit", deny, "", "no"},
	} {
		out, errs, code := WriteCursor(test.event, test.a)
		var got map[string]any
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		permission, _ := got["permission"].(string)
		message, _ := got["user_message"].(string)
		if permission != test.want || strings.TrimSpace(errs) != test.errs || code != 0 || (test.want != "" && !strings.HasPrefix(message, test.a.Reason)) {
			t.Errorf("%s %+v: %s, %q, %d", test.event, test.a, out, errs, code)
		}
	}
	if out, _, _ := WriteCursor("beforeSubmitPrompt", allow); strings.TrimSpace(out) != `{"continue":true}` {
		t.Errorf("a prompt is answered with %s", out)
	}
}

func TestWhatNoRuleCoversIsForThePolicyToDecide(t *testing.T) {
	below := []rule.Narrowed{{Parameter: "scope", Asked: "x", Floor: "y"}}
	for name, tt := range map[string]struct {
		word      rule.Uncovered
		byDefault bool
		narrowed  []rule.Narrowed
		want      Decision
		says      bool
	}{
		"covered":                     {"", false, nil, Allow, false},
		"allowed":                     {rule.UncoveredAllow, false, nil, Allow, false},
		"to be confirmed":             {rule.UncoveredConfirm, false, nil, Ask, true},
		"to be confirmed by default":  {rule.UncoveredConfirm, true, nil, Allow, false},
		"by default, below the floor": {rule.UncoveredConfirm, true, below, Ask, true},
		"denied":                      {rule.UncoveredDeny, false, nil, Deny, true},
		"below the floor":             {"", false, below, Ask, true},
	} {
		e := &rule.Evaluation{EvaluationID: "e-1", RuleVerdicts: []rule.RuleVerdict{given(rule.High, rule.Allow, rule.ByCheck)}, Narrowed: tt.narrowed}
		e.Coverage.Uncovered, e.Coverage.UncoveredByDefault = tt.word, tt.byDefault
		if tt.word != "" || tt.narrowed != nil {
			e.Notices = []string{"The policy says so."}
		}
		e.Tally()
		for _, mode := range []string{"closed", "open"} {
			a := Decide(e, must(t, mode))
			if a.Decision != tt.want || strings.Contains(a.Reason, "The policy says so.") != tt.says || a.Approved != (name == "covered") {
				t.Errorf("%s, fail mode %s: %+v", name, mode, a)
			}
		}
	}
}

func TestRulesThatNobodyWasAskedAboutAsk(t *testing.T) {
	e := &rule.Evaluation{EvaluationID: "e-1", RuleVerdicts: []rule.RuleVerdict{given(rule.High, rule.Allow, rule.ByModel)}}
	e.Coverage.RulesCut, e.Coverage.RulesNotAsked = 3, 3
	e.Tally()
	if a := Decide(e, must(t, "open")); a.Decision != Ask || !strings.Contains(a.Reason, "3 more rules apply") {
		t.Errorf("%+v", a)
	}
}

func TestTheReasonOfACheckIsPassedOn(t *testing.T) {
	v := given(rule.High, rule.NeedsConfirmation, rule.ByNone)
	v.IssueDescription, v.Reasoning = "The rule's check could not decide.", `fact "second_approver" is missing`
	if a := Decide(evaluation(v), must(t, modes)); a.Decision != Ask || !strings.Contains(a.Reason, `fact "second_approver" is missing`) {
		t.Errorf("%+v", a)
	}
}

// A project can only make the hook stricter.
func TestDecideByTheDemandsOfTheProject(t *testing.T) {
	t.Parallel()
	undecided := func(demands rule.FailModes) *rule.Evaluation {
		e := &rule.Evaluation{EvaluationID: "e", FailModes: demands, RuleVerdicts: []rule.RuleVerdict{{
			RuleID: "r", Severity: rule.Low, Verdict: rule.NeedsConfirmation, DecidedBy: rule.ByNone, Modality: rule.Must, Enforcement: rule.Enforce, Concerned: true,
		}}}
		e.Tally()
		return e
	}
	for own, want := range map[string]map[FailMode]Decision{
		"open":   {"": Allow, Open: Allow, AskMode: Ask, Closed: Deny},
		"ask":    {"": Ask, Open: Ask, AskMode: Ask, Closed: Deny},
		"closed": {"": Deny, Open: Deny, AskMode: Deny, Closed: Deny},
	} {
		for demand, decision := range want {
			demands := rule.FailModes{rule.Low: demand, rule.High: Closed}
			if demand == "" {
				delete(demands, rule.Low)
			}
			if a := Decide(undecided(demands), must(t, own)); a.Decision != decision {
				t.Errorf("own %s, demanded %q: %s, %s", own, demand, a.Decision, a.Reason)
			}
		}
	}
}
