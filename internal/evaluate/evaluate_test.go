package evaluate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/evaluate"
	"tenet/internal/judge"
	"tenet/internal/ledger"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fixed is a corpus that does not change.
type fixed struct{ view *corpus.View }

func (f fixed) View(context.Context, string) (*corpus.View, error) { return f.view, nil }

// recorder keeps records in memory, or fails.
type recorder struct {
	records []audit.Record
	err     error
}

func (r *recorder) Append(_ context.Context, rec audit.Record) error {
	if r.err == nil {
		r.records = append(r.records, rec)
	}
	return r.err
}

// judgeFunc answers with one verdict per rule.
type judgeFunc func(s *subject.Subject, rules []*rule.Rule) judge.Result

func (f judgeFunc) Decide(_ context.Context, s *subject.Subject, rules []*rule.Rule) judge.Result {
	return f(s, rules)
}

// Triage finds nothing out.
func (f judgeFunc) Triage(context.Context, *subject.Subject, []*rule.Rule) judge.Triaged {
	return judge.Triaged{}
}

// noModel is the judge of a server without a model.
func noModel(t *testing.T) evaluate.Judge { t.Helper(); return judge.New(judge.Config{}) }

// saying judges every rule alike.
func saying(v rule.Verdict) judgeFunc {
	return func(s *subject.Subject, rules []*rule.Rule) judge.Result {
		res := judge.Result{Models: []string{"fake:1"}, Cost: rule.Cost{Calls: 1}}
		for _, r := range rules {
			res.Verdicts = append(res.Verdicts, rule.RuleVerdict{RuleID: r.ID, Verdict: v, DecidedBy: rule.ByModel, Reasoning: "said the model"})
			res.Accounts = append(res.Accounts, readAll(s))
		}
		return res
	}
}

// readAll is the account of a model that has read all of a subject.
func readAll(s *subject.Subject) ledger.Account {
	units := s.Units().Units
	a := ledger.NewAccount(units, nil)
	a.Examined(rule.ByModel, units.All())
	return a
}

type bench struct {
	*evaluate.Evaluator
	rec *recorder
}

func evaluator(t testing.TB, j evaluate.Judge, rules ...rule.Rule) bench {
	t.Helper()
	states := make([]store.RuleState, len(rules))
	for i := range rules {
		r := rules[i]
		if r.ID == "" {
			r.ID = fmt.Sprintf("00000000-0000-7000-8000-%012d", i+1)
		}
		r.ProjectID, r.Version = "p", i+1
		if r.Status == "" {
			r.Status = rule.Effective
		}
		r.Normalize()
		states[i].Rule = r
	}
	view, err := corpus.New(7, states)
	if err != nil {
		t.Fatal(err)
	}
	rec := &recorder{}
	return bench{evaluate.New(evaluate.Config{
		Views: fixed{view}, Judge: j, Recorder: rec, Checks: check.NewCache(100), Now: func() time.Time { return noon },
	}), rec}
}

func (b bench) run(t testing.TB, in subject.Input, edit ...func(*evaluate.Request)) *rule.Evaluation {
	t.Helper()
	req := evaluate.Request{ProjectID: "p", Input: in}
	for _, e := range edit {
		e(&req)
	}
	e, err := b.Evaluate(auth.WithActor(t.Context(), auth.Local("ann")), req)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func celRule(expr string) rule.Rule {
	return rule.Rule{Slug: "CEL-1", Statement: "It holds.", Check: &rule.Check{CEL: expr, Message: "too much", Fix: "less"}}
}

func patternRule(regex string) rule.Rule {
	return rule.Rule{Slug: "PAT-1", Statement: "No such text.", Modality: rule.MustNot, Check: &rule.Check{Pattern: &rule.Pattern{Regex: regex}}}
}

const diff = `diff --git a/pay.py b/pay.py
--- a/pay.py
+++ b/pay.py
@@ -10,3 +10,5 @@ def pay(amount):
 a = 1
-b = 2
+b = 3
+eval(amount)
+c = 4
 d = 5
`

func TestVerdictsOfChecks(t *testing.T) {
	for _, tt := range []struct {
		name    string
		rule    rule.Rule
		in      subject.Input
		want    rule.Verdict
		by      rule.DecidedBy
		overall rule.Verdict
	}{
		{"kept", celRule("facts.amount <= 100"), subject.Input{Facts: map[string]any{"amount": 5.0}}, rule.Allow, rule.ByCheck, rule.Allow},
		{"broken", celRule("facts.amount <= 100"), subject.Input{Facts: map[string]any{"amount": 500.0}}, rule.Deny, rule.ByCheck, rule.Deny},
		{"a missing fact", celRule("facts.amount <= 100"), subject.Input{Facts: map[string]any{"total": 5.0}}, rule.NeedsConfirmation, rule.ByNone, rule.NeedsConfirmation},
		{"a fact of the wrong type", celRule("facts.amount <= 100"), subject.Input{Facts: map[string]any{"amount": "5"}}, rule.NeedsConfirmation, rule.ByNone, rule.NeedsConfirmation},
		{"pattern found", patternRule(`\beval\(`), subject.Input{Diff: diff}, rule.Deny, rule.ByCheck, rule.Deny},
		{"pattern not found", patternRule(`\bexec\(`), subject.Input{Diff: diff}, rule.Allow, rule.ByCheck, rule.Allow},
		{"pattern on a file without content", patternRule(`x`), subject.Input{Files: []subject.InputFile{{Path: "a.py"}}}, rule.NeedsConfirmation, rule.ByNone, rule.NeedsConfirmation},
		{"pattern in an action", patternRule(`(?i)drop table`), subject.Input{Action: "DROP TABLE users"}, rule.Deny, rule.ByCheck, rule.Deny},
		{"no check and no model", rule.Rule{Statement: "Be kind."}, subject.Input{Diff: diff}, rule.NeedsConfirmation, rule.ByNone, rule.NeedsConfirmation},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := evaluator(t, noModel(t), tt.rule).run(t, tt.in)
			if len(e.RuleVerdicts) != 1 {
				t.Fatalf("%d verdicts, want 1", len(e.RuleVerdicts))
			}
			v := e.RuleVerdicts[0]
			if v.Verdict != tt.want || v.DecidedBy != tt.by || e.OverallVerdict != tt.overall {
				t.Errorf("%s by %s, overall %s (%s); want %s by %s, overall %s", v.Verdict, v.DecidedBy, e.OverallVerdict, v.Reasoning, tt.want, tt.by, tt.overall)
			}
			if v.Reasoning == "" {
				t.Error("the verdict gives no reason")
			}
		})
	}
}

// A file that a diff moves is new at its path: without renames, the same change would show all of its lines as added. What the
// diff leaves out, no rule is known to keep, unless the content is given beside it.
func TestAMovedFileIsNewAtItsPath(t *testing.T) {
	moved := func(from, to, hunk string) subject.Input {
		return subject.Input{Diff: "diff --git a/" + from + " b/" + to + "\nsimilarity index 90%\nrename from " + from + "\nrename to " + to + "\n" + hunk}
	}
	hunk := func(from, to, text string) string {
		return "--- a/" + from + "\n+++ b/" + to + "\n@@ -1,1 +1,2 @@\n a = 1\n+" + text + "\n"
	}
	byRule, byCheck, always := patternRule(`\beval\(`), patternRule(`\beval\(`), patternRule(`\beval\(`)
	byRule.AppliesTo = &rule.AppliesTo{Paths: []string{"src/**"}}
	byCheck.Check = &rule.Check{Pattern: &rule.Pattern{Regex: `\beval\(`, Paths: []string{"src/**"}}}
	for _, tt := range []struct {
		name string
		rule rule.Rule
		in   subject.Input
		want rule.Verdict
	}{
		{"as it is", byRule, moved("old/a.py", "src/a.py", ""), rule.NeedsConfirmation},
		{"with a change", byRule, moved("old/a.py", "src/a.py", hunk("old/a.py", "src/a.py", "b = 2")), rule.NeedsConfirmation},
		{"with a violation", byRule, moved("old/a.py", "src/a.py", hunk("old/a.py", "src/a.py", "eval(x)")), rule.Deny},
		{"within", byRule, moved("src/b.py", "src/a.py", hunk("src/b.py", "src/a.py", "b = 2")), rule.NeedsConfirmation},
		{"away", byRule, moved("src/a.py", "old/a.py", hunk("src/a.py", "old/a.py", "b = 2")), rule.Allow},
		{"to the paths of a pattern", byCheck, moved("old/a.py", "src/a.py", ""), rule.NeedsConfirmation},
		{"within the paths of a pattern", byCheck, moved("src/b.py", "src/a.py", hunk("src/b.py", "src/a.py", "b = 2")), rule.NeedsConfirmation},
		{"away from the paths of a pattern", byCheck, moved("src/a.py", "old/a.py", hunk("src/a.py", "old/a.py", "b = 2")), rule.Allow},
		{"where a rule holds everywhere", always, moved("old/a.py", "src/a.py", hunk("old/a.py", "src/a.py", "b = 2")), rule.NeedsConfirmation},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := evaluator(t, noModel(t), tt.rule).run(t, tt.in)
			if len(e.RuleVerdicts) != 1 || e.RuleVerdicts[0].Verdict != tt.want || e.OverallVerdict != tt.want {
				t.Errorf("%+v, overall %s; want %s", e.RuleVerdicts, e.OverallVerdict, tt.want)
			}
		})
	}
	byModel := rule.Rule{Statement: "Sources are kind.", AppliesTo: &rule.AppliesTo{Paths: []string{"src/**"}}}
	e := evaluator(t, saying(rule.Allow), byModel).run(t, moved("old/a.py", "src/a.py", hunk("old/a.py", "src/a.py", "b = 2")))
	if v := e.RuleVerdicts[0]; v.Verdict != rule.NeedsConfirmation || v.DecidedBy != rule.ByNone || !strings.Contains(v.Reasoning, "comes from old/a.py") {
		t.Errorf("a model's word for a file it was not shown: %+v", v)
	}
}

// The line is not indented, so that it is in no function, whatever the hunk heading says.
func TestDenialOfAPatternNamesTheExactLine(t *testing.T) {
	e := evaluator(t, noModel(t), patternRule(`\beval\(`)).run(t, subject.Input{Diff: diff})
	want := []rule.Location{{FilePath: "pay.py", StartLine: 12, EndLine: 12, FunctionName: "", Snippet: "eval(amount)"}}
	if d := cmp.Diff(want, e.Violations[0].Locations); d != "" {
		t.Errorf("locations (-want +got):\n%s", d)
	}
	if ev := e.Violations[0].Evidence; len(ev) != 1 || ev[0].Line != 12 || !strings.Contains(ev[0].Quote, "eval(") {
		t.Errorf("evidence %+v", ev)
	}
}

func TestWithoutAModelTheReasonTellsHowToConfigureOne(t *testing.T) {
	e := evaluator(t, noModel(t), rule.Rule{Statement: "Be kind."}).run(t, subject.Input{Action: "shout"})
	if !strings.Contains(e.RuleVerdicts[0].Reasoning, "TENET_JUDGE_MODEL") {
		t.Errorf("reasoning %q", e.RuleVerdicts[0].Reasoning)
	}
}

func TestModalityAndEnforcement(t *testing.T) {
	for _, tt := range []struct {
		name    string
		edit    func(*rule.Rule)
		want    rule.Verdict
		overall rule.Verdict
	}{
		{"MUST", func(*rule.Rule) {}, rule.Deny, rule.Deny},
		{"SHOULD", func(r *rule.Rule) { r.Modality = rule.Should }, rule.NeedsConfirmation, rule.NeedsConfirmation},
		{"warn", func(r *rule.Rule) { r.Enforcement = rule.Warn }, rule.NeedsConfirmation, rule.NeedsConfirmation},
		{"shadow", func(r *rule.Rule) { r.Enforcement = rule.Shadow }, rule.Deny, rule.Allow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := celRule("facts.amount <= 100")
			tt.edit(&r)
			kept := celRule("facts.amount > 0")
			kept.Slug = "CEL-2"
			e := evaluator(t, noModel(t), r, kept).run(t, subject.Input{Facts: map[string]any{"amount": 500.0}})
			v := e.RuleVerdicts[slices.IndexFunc(e.RuleVerdicts, func(v rule.RuleVerdict) bool { return v.RuleSlug == "CEL-1" })]
			if v.Verdict != tt.want || e.OverallVerdict != tt.overall {
				t.Errorf("%s, overall %s; want %s, overall %s", v.Verdict, e.OverallVerdict, tt.want, tt.overall)
			}
			if v.IssueDescription != "too much" {
				t.Errorf("issue %q", v.IssueDescription)
			}
		})
	}
}

func TestWhenGuard(t *testing.T) {
	r := celRule("facts.amount <= 100")
	r.Check.When = "'amount' in facts"
	e := evaluator(t, judgeFunc(func(*subject.Subject, []*rule.Rule) judge.Result {
		t.Error("the judge was asked about a rule that does not concern the subject")
		return judge.Result{}
	}), r).run(t, subject.Input{Facts: map[string]any{"colour": "red"}})
	if v := e.RuleVerdicts[0]; v.Verdict != rule.Allow || v.DecidedBy != rule.ByCheck || !strings.Contains(v.Reasoning, "concern") {
		t.Errorf("%+v", v)
	}
}

func TestDecidesDenyLeavesTheRestToTheJudge(t *testing.T) {
	r := patternRule(`\beval\(`)
	r.Check.Decides = rule.DenyOnly
	hit := evaluator(t, saying(rule.Allow), r).run(t, subject.Input{Diff: diff})
	if v := hit.RuleVerdicts[0]; v.Verdict != rule.Deny || v.DecidedBy != rule.ByCheck {
		t.Errorf("a hit: %s by %s, want DENY by check", v.Verdict, v.DecidedBy)
	}
	miss := subject.Input{Action: "nothing of the kind"}
	e := evaluator(t, saying(rule.Allow), r).run(t, miss)
	if v := e.RuleVerdicts[0]; v.Verdict != rule.Allow || v.DecidedBy != rule.ByModel {
		t.Errorf("no hit: %s by %s, want ALLOW by model", v.Verdict, v.DecidedBy)
	}
	if e := evaluator(t, noModel(t), r).run(t, miss); e.OverallVerdict != rule.NeedsConfirmation {
		t.Errorf("no hit and no model: %s", e.OverallVerdict)
	}
}

func TestAJudgeThatForgetsARuleDoesNotAllowIt(t *testing.T) {
	e := evaluator(t, judgeFunc(func(s *subject.Subject, rules []*rule.Rule) judge.Result {
		res := saying(rule.Allow)(s, rules[:1])
		res.Verdicts = append(res.Verdicts, rule.RuleVerdict{RuleID: "made up", Verdict: rule.Allow, DecidedBy: rule.ByModel})
		return res
	}), rule.Rule{Statement: "One."}, rule.Rule{Statement: "Two."}).run(t, subject.Input{Action: "act"})
	if e.OverallVerdict != rule.NeedsConfirmation || e.RulesPassed != 1 || e.RulesUncertain != 1 || e.Coverage.RulesJudged != 1 {
		t.Errorf("overall %s, passed %d, uncertain %d, judged %d", e.OverallVerdict, e.RulesPassed, e.RulesUncertain, e.Coverage.RulesJudged)
	}
}

func TestNothingToJudgeIsNotAllowed(t *testing.T) {
	for _, in := range []subject.Input{{}, {Diff: "  \n"}, {Intent: "trust me"}, {Facts: map[string]any{}}} {
		e := evaluator(t, saying(rule.Allow), rule.Rule{Statement: "One."}, patternRule("x")).run(t, in)
		if e.OverallVerdict != rule.NeedsConfirmation || e.RulesPassed != 0 {
			t.Errorf("%+v: overall %s, passed %d", in, e.OverallVerdict, e.RulesPassed)
		}
	}
	if e := evaluator(t, saying(rule.Allow)).run(t, subject.Input{}); e.OverallVerdict != rule.NeedsConfirmation {
		t.Errorf("an empty corpus and an empty request: %s", e.OverallVerdict)
	}
}

func TestAViolationIsNotCutByRank(t *testing.T) {
	var rules []rule.Rule
	for i := range 60 {
		r := rule.Rule{Slug: fmt.Sprintf("A-%d", i), Statement: "Amounts of payments are in euros.", Severity: rule.Critical, Check: &rule.Check{CEL: "facts.amount > 0"}}
		rules = append(rules, r)
	}
	rules = append(rules, rule.Rule{Slug: "Z-1", Statement: "Something else entirely.", Modality: rule.Should, Check: &rule.Check{CEL: "facts.amount < 1"}})
	e := evaluator(t, noModel(t), rules...).run(t, subject.Input{Facts: map[string]any{"amount": 5.0}}, func(r *evaluate.Request) { r.MaxRules = 5 })
	if len(e.RuleVerdicts) != 5 || e.RuleVerdicts[0].RuleSlug != "Z-1" || e.OverallVerdict != rule.NeedsConfirmation {
		t.Errorf("%d verdicts, first %s, overall %s", len(e.RuleVerdicts), e.RuleVerdicts[0].RuleSlug, e.OverallVerdict)
	}
	want := rule.Coverage{
		RulesInScope: 61, RulesSelected: 61, RulesConcerned: 5, RulesJudged: 61, RulesUnlisted: 56, BytesTotal: e.Coverage.BytesTotal,
		BytesExamined: e.Coverage.BytesTotal, Unexamined: []rule.Unexamined{},
	}
	if d := cmp.Diff(want, e.Coverage); d != "" || e.Coverage.BytesTotal == 0 {
		t.Errorf("coverage (-want +got):\n%s", d)
	}
}

func TestWhatIsOpenIsNotCutForWhatIsKept(t *testing.T) {
	rules := []rule.Rule{{Slug: "OPEN", Statement: "Be kind."}}
	for i := range 10 {
		rules = append(rules, rule.Rule{Slug: fmt.Sprintf("K-%d", i), Statement: "Amounts are positive.", Severity: rule.Critical, Check: &rule.Check{CEL: "facts.amount > 0"}})
	}
	e := evaluator(t, noModel(t), rules...).run(t, subject.Input{Facts: map[string]any{"amount": 5.0}}, func(r *evaluate.Request) { r.MaxRules = 3 })
	if e.OverallVerdict != rule.NeedsConfirmation || e.RuleVerdicts[0].RuleSlug != "OPEN" {
		t.Errorf("overall %s, first %s; the rule that nothing has decided was cut", e.OverallVerdict, e.RuleVerdicts[0].RuleSlug)
	}
}

func TestADenialIsNotCutForWhatDecidesLess(t *testing.T) {
	var rules []rule.Rule
	for i := range 12 {
		r := rule.Rule{Statement: "Amounts are small.", Severity: rule.Critical, Check: &rule.Check{CEL: "facts.amount < 1"}}
		switch i % 3 {
		case 0:
			r.Enforcement = rule.Shadow
		case 1:
			r.Enforcement = rule.Warn
		case 2:
			r.Modality = rule.Should
		}
		rules = append(rules, r)
	}
	rules = append(rules, rule.Rule{Slug: "LAW", Statement: "Something else.", Check: &rule.Check{CEL: "facts.amount < 2"}})
	e := evaluator(t, noModel(t), rules...).run(t, subject.Input{Facts: map[string]any{"amount": 5.0}}, func(r *evaluate.Request) { r.MaxRules = 4 })
	if e.OverallVerdict != rule.Deny || e.RuleVerdicts[0].RuleSlug != "LAW" {
		t.Errorf("overall %s, first %q; the one rule that denies was cut", e.OverallVerdict, e.RuleVerdicts[0].RuleSlug)
	}
	for _, v := range e.RuleVerdicts {
		if v.Enforcement == rule.Shadow {
			t.Error("a shadow rule took the place of one that counts")
		}
	}
}

func TestARuleThatDoesNotConcernTheSubjectOverridesNothing(t *testing.T) {
	strict := celRule("facts.amount <= 100")
	loose := rule.Rule{Slug: "LOOSE", Statement: "In the lab, more.", Check: &rule.Check{CEL: "facts.amount <= 1000", When: "'lab' in facts"}}
	view, err := corpus.New(1, []store.RuleState{
		{Rule: inForce(1, strict)},
		{Rule: inForce(2, loose), Relationships: []rule.Relationship{{FromID: inForce(2, loose).ID, ToID: inForce(1, strict).ID, Kind: rule.Overrides}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ev := bench{evaluate.New(evaluate.Config{
		Views: fixed{view}, Judge: noModel(t), Recorder: &recorder{}, Checks: check.NewCache(10), Now: func() time.Time { return noon },
	}), nil}
	if e := ev.run(t, subject.Input{Facts: map[string]any{"amount": 500.0}}); e.OverallVerdict != rule.Deny || len(e.Overridden) != 0 {
		t.Errorf("outside the lab: %s, overridden %v", e.OverallVerdict, e.Overridden)
	}
	if e := ev.run(t, subject.Input{Facts: map[string]any{"amount": 500.0, "lab": true}}); e.OverallVerdict != rule.Allow || len(e.Overridden) != 1 {
		t.Errorf("in the lab: %s, overridden %v", e.OverallVerdict, e.Overridden)
	}
}

func TestAWeakerOverrideIsReportedAndBothRulesAreDecided(t *testing.T) {
	strict := celRule("facts.amount <= 100")
	strict.Slug, strict.Severity = "STRICT", rule.Critical
	lax := rule.Rule{Slug: "LAX", Statement: "More is fine.", Severity: rule.Medium, Modality: rule.Should, Check: &rule.Check{CEL: "facts.amount <= 1000"}}
	for _, allowed := range []bool{false, true} {
		rel := rule.Relationship{FromID: inForce(2, lax).ID, ToID: inForce(1, strict).ID, Kind: rule.Overrides, AllowWeakening: allowed}
		view, err := corpus.New(1, []store.RuleState{{Rule: inForce(1, strict)}, {Rule: inForce(2, lax), Relationships: []rule.Relationship{rel}}})
		if err != nil {
			t.Fatal(err)
		}
		e := bench{evaluate.New(evaluate.Config{
			Views: fixed{view}, Judge: noModel(t), Recorder: &recorder{}, Checks: check.NewCache(10), Now: func() time.Time { return noon },
		}), nil}.run(t, subject.Input{Facts: map[string]any{"amount": 500.0}})
		told := strings.Contains(strings.Join(e.Notices, "\n"), "LAX does not override STRICT, which demands more (severity MEDIUM instead of CRITICAL, modality SHOULD instead of MUST)")
		want := rule.Deny
		if allowed {
			want = rule.Allow
		}
		if e.OverallVerdict != want || told == allowed || (len(e.Overridden) == 1) != allowed {
			t.Errorf("allowed %t: %s, overridden %v, notices %q", allowed, e.OverallVerdict, e.Overridden, e.Notices)
		}
	}
}

// inForce is a rule as a corpus holds it.
func inForce(n int, r rule.Rule) rule.Rule {
	r.ID, r.ProjectID, r.Version, r.Status = fmt.Sprintf("00000000-0000-7000-8000-%012d", n), "p", 1, rule.Effective
	r.Normalize()
	return r
}

func TestTheJudgeSeesOnlyTheFilesThatTheRuleConcerns(t *testing.T) {
	seen := map[string]string{}
	var mu sync.Mutex
	j := judgeFunc(func(s *subject.Subject, rules []*rule.Rule) judge.Result {
		mu.Lock()
		defer mu.Unlock()
		for _, r := range rules {
			for i := range s.Files {
				seen[r.Slug] += s.Files[i].Path + " "
			}
		}
		return saying(rule.Allow)(s, rules)
	})
	e := evaluator(t, j,
		rule.Rule{Slug: "ALL", Statement: "Everything is kind."},
		rule.Rule{Slug: "SRC", Statement: "Sources are kind.", AppliesTo: &rule.AppliesTo{Paths: []string{"src/**"}}},
		rule.Rule{Slug: "TOO", Statement: "Sources are brief.", AppliesTo: &rule.AppliesTo{Paths: []string{"src/**"}}},
	).run(t, subject.Input{Files: []subject.InputFile{{Path: "src/a.py", Content: new("a")}, {Path: "tests/b.py", Content: new("b")}}})
	if d := cmp.Diff(map[string]string{"ALL": "src/a.py tests/b.py ", "SRC": "src/a.py ", "TOO": "src/a.py "}, seen); d != "" {
		t.Errorf("files that the judge saw (-want +got):\n%s", d)
	}
	if e.OverallVerdict != rule.Allow || e.Cost.Calls != 2 || len(e.ModelIDsUsed) != 1 || e.RulesPassed != 3 {
		t.Errorf("overall %s, calls %d, models %v, passed %d", e.OverallVerdict, e.Cost.Calls, e.ModelIDsUsed, e.RulesPassed)
	}
}

func TestScopesOfSubjects(t *testing.T) {
	r, everywhere := celRule("false"), celRule("facts.a == 1.0")
	r.Scope, everywhere.Slug = []string{"finance/payments"}, "CEL-2"
	ev := evaluator(t, noModel(t), r, everywhere)
	for scope, want := range map[string]rule.Verdict{"": rule.Deny, "*": rule.Deny, "/finance/payments/": rule.Deny, "Finance//Payments": rule.Deny, `.\finance.payments`: rule.Deny, "sales": rule.Allow} {
		e := ev.run(t, subject.Input{Scope: scope, Facts: map[string]any{"a": 1.0}})
		if e.OverallVerdict != want {
			t.Errorf("scope %q: %s, want %s", scope, e.OverallVerdict, want)
		}
	}
	for _, scope := range []string{"finance/../hr", "finance/*"} {
		_, err := ev.Evaluate(t.Context(), evaluate.Request{ProjectID: "p", Input: subject.Input{Scope: scope, Facts: map[string]any{"a": 1.0}}})
		if rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("scope %q, which could match no rule: %v", scope, err)
		}
		if _, err := ev.Applicable(t.Context(), evaluate.ApplicableQuery{ProjectID: "p", Scope: scope}); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("applicable rules of scope %q: %v", scope, err)
		}
	}
}

// TestADenialHasLookedAtTheSubject holds that a check that denies has examined what it has read, like one that allows.
func TestADenialHasLookedAtTheSubject(t *testing.T) {
	for _, r := range []rule.Rule{patternRule("."), {Statement: "Say nothing.", Check: &rule.Check{CEL: "subject.text == ''"}}} {
		e := evaluator(t, noModel(t), r).run(t, subject.Input{Diff: diff})
		if c := e.Coverage; e.OverallVerdict != rule.Deny || c.HunksExamined != 1 || c.BytesExamined != c.BytesTotal || len(c.Unexamined) != 0 {
			t.Errorf("%s, coverage %+v", e.OverallVerdict, c)
		}
	}
}

// TestACheckThatGivesUpHasNotExamined holds that a subject made too large for a check counts as unexamined, and fails a pipeline at every
// severity, like any other part that nothing has read. A fact that is missing is no such part.
func TestACheckThatGivesUpHasNotExamined(t *testing.T) {
	long := strings.Repeat("x = 1\n", 300_000) + "foo()\n"
	in := subject.Input{Files: []subject.InputFile{{Path: "a.py", Content: &long}}, Facts: map[string]any{"amount": "NaN"}}
	for cel, reason := range map[string]string{
		"!subject.text.matches('foo')":                                    "too much work",
		"files.all(f, f.content.split('\\n').all(l, !l.contains('foo')))": "too long to be split",
		"!(double(facts.amount) > 10.0)":                                  "no finite number",
		"facts.missing == 1":                                              "",
	} {
		e := evaluator(t, noModel(t), rule.Rule{Statement: "No foo.", Check: &rule.Check{CEL: cel}}).run(t, in)
		v := e.RuleVerdicts[0]
		if v.Verdict != rule.NeedsConfirmation || v.DecidedBy != rule.ByNone {
			t.Errorf("%s: %s by %s", cel, v.Verdict, v.DecidedBy)
		}
		if got := fmt.Sprint(v.Unexamined); (len(v.Unexamined) > 0) != (reason != "") || !strings.Contains(got, reason) {
			t.Errorf("%s: unexamined %s, want %q", cel, got, reason)
		}
	}
}

func TestCoverageTellsThatNothingWasLookedAt(t *testing.T) {
	e := evaluator(t, noModel(t), rule.Rule{Statement: "Be kind."}).run(t, subject.Input{Diff: diff})
	c := e.Coverage
	if c.FilesExamined+c.HunksExamined+c.BytesExamined != 0 || c.FilesTotal != 1 || c.HunksTotal != 1 || len(c.Unexamined) != 1 {
		t.Errorf("coverage %+v although no check and no model has looked", c)
	}
}

func TestChecksSeeOnlyTheFilesThatTheRuleConcerns(t *testing.T) {
	bad := "eval(x)\n"
	in := subject.Input{Files: []subject.InputFile{{Path: "src/a.py", Content: new("ok()\n")}, {Path: "tests/b.py", Content: &bad}, {Path: "c.js", Content: &bad}}}
	for _, c := range []rule.Check{
		{Pattern: &rule.Pattern{Regex: `eval\(`}},
		{CEL: `files.all(f, !f.content.contains("eval("))`},
	} {
		r := rule.Rule{Statement: "No eval.", Check: &c, AppliesTo: &rule.AppliesTo{Paths: []string{"*.py"}, ExcludePaths: []string{"tests/**"}}}
		if e := evaluator(t, noModel(t), r).run(t, in); e.OverallVerdict != rule.Allow {
			t.Errorf("%+v: %s because of a file that the rule does not concern", c, e.RuleVerdicts[0].Reasoning)
		}
		r.AppliesTo = nil
		if e := evaluator(t, noModel(t), r).run(t, in); e.OverallVerdict != rule.Deny {
			t.Errorf("%+v without applies_to: %s", c, e.OverallVerdict)
		}
	}
}

func TestSeverityMinAndDefaults(t *testing.T) {
	rules := []rule.Rule{{Statement: "Low.", Severity: rule.Low}, {Statement: "Medium."}, {Statement: "High.", Severity: rule.High}}
	for min, want := range map[rule.Severity]int{"": 2, "low": 3, "HIGH": 1, "Critical": 0} {
		e := evaluator(t, saying(rule.Allow), rules...).run(t, subject.Input{Action: "act"}, func(r *evaluate.Request) { r.SeverityMin = min })
		if e.RulesEvaluated != want || e.Mode != rule.Preflight {
			t.Errorf("severity_min %q: %d rules in mode %s, want %d in preflight", min, e.RulesEvaluated, e.Mode, want)
		}
	}
}

func TestBadRequestsNameTheField(t *testing.T) {
	ev := evaluator(t, noModel(t), rule.Rule{Statement: "One."})
	for field, req := range map[string]evaluate.Request{
		"mode":         {EvaluateOptions: wire.EvaluateOptions{Mode: "later"}},
		"severity_min": {EvaluateOptions: wire.EvaluateOptions{SeverityMin: "SEVERE"}},
		"max_rules":    {EvaluateOptions: wire.EvaluateOptions{MaxRules: 101}},
		"action":       {Input: subject.Input{Action: strings.Repeat("ä", 10001)}},
		"intent":       {Input: subject.Input{Intent: strings.Repeat("x", 10001)}},
		"scope":        {Input: subject.Input{Scope: strings.Repeat("x", 1025)}},
		"repository":   {Input: subject.Input{Repository: strings.Repeat("x", 1025)}},
		"diff":         {Input: subject.Input{Diff: "--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n a\n"}},
	} {
		req.ProjectID = "p"
		_, err := ev.Evaluate(t.Context(), req)
		e, ok := errors.AsType[*rule.Error](err)
		if !ok || e.Code != rule.CodeInvalid || len(e.Fields) != 1 || e.Fields[0].Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if len(ev.rec.records) != 0 {
		t.Error("a refused request left a record")
	}
}

func TestNoAnswerWithoutARecord(t *testing.T) {
	ev := evaluator(t, noModel(t), celRule("true"))
	ev.rec.err = rule.Errorf(rule.CodeUnavailable, "disk full")
	e, err := ev.Evaluate(t.Context(), evaluate.Request{ProjectID: "p", Input: subject.Input{Action: "act"}})
	if e != nil || rule.CodeOf(err) != rule.CodeUnavailable {
		t.Errorf("answer %v, error %v; want none, and unavailable", e, err)
	}
}

func TestTheRecordHoldsWhatWasJudged(t *testing.T) {
	ev := evaluator(t, noModel(t), celRule("facts.amount <= 100"))
	e := ev.run(t, subject.Input{Facts: map[string]any{"amount": 500.0}}, func(r *evaluate.Request) { r.Mode = "POSTHOC" })
	rec := ev.rec.records[0]
	if rec.ID != e.EvaluationID || rec.Verdict != "DENY" || rec.Mode != "posthoc" || rec.Actor != "ann" || rec.Kind != audit.KindEvaluation {
		t.Errorf("record %+v", rec)
	}
	for _, want := range []string{`"amount":500`, `"content_hash":"`, `"version":1`, `"subject_hash":"`, `"corpus_version":7`} {
		if !strings.Contains(string(rec.Body), want) {
			t.Errorf("the record lacks %s:\n%s", want, rec.Body)
		}
	}
}

func TestSameInputSameAnswer(t *testing.T) {
	var rules []rule.Rule
	for i := range 50 {
		rules = append(rules, rule.Rule{Statement: fmt.Sprintf("Payments of kind %d need %d approvals.", i, i%5), Check: &rule.Check{CEL: fmt.Sprintf("facts.amount != %d", i)}})
	}
	ev := evaluator(t, noModel(t), rules...)
	in := subject.Input{Diff: diff, Facts: map[string]any{"amount": 7.0, "approvals": 2.0, "kind": "x"}}
	first := ev.run(t, in)
	for range 20 {
		again := ev.run(t, in)
		again.EvaluationID = first.EvaluationID
		if d := cmp.Diff(first, again); d != "" {
			t.Fatalf("(-first +again):\n%s", d)
		}
	}
}

func TestBinaryAndMissingFilesAreTold(t *testing.T) {
	content := "x = 1\n"
	in := subject.Input{
		Diff:  "diff --git a/logo.png b/logo.png\nindex 1..2 100644\nBinary files a/logo.png and b/logo.png differ\n",
		Files: []subject.InputFile{{Path: "a.py", Content: &content}, {Path: "b.py"}},
	}
	e := evaluator(t, noModel(t), patternRule("nothing")).run(t, in)
	want := []rule.Unexamined{
		{Part: "logo.png", Reason: "its content is binary and not given"}, {Part: "b.py", Reason: "its content is not given"},
	}
	if d := cmp.Diff(want, e.Coverage.Unexamined); d != "" || e.Coverage.FilesTotal != 3 || e.Coverage.FilesExamined != 1 {
		t.Errorf("coverage %+v (-want +got):\n%s", e.Coverage, d)
	}
	if e.OverallVerdict != rule.NeedsConfirmation {
		t.Errorf("overall %s although b.py was not seen", e.OverallVerdict)
	}
}

func TestApplicableListsContextRulesToo(t *testing.T) {
	ev := evaluator(t, noModel(t),
		rule.Rule{Slug: "A", Statement: "Python.", AppliesTo: &rule.AppliesTo{Paths: []string{"*.py"}}},
		rule.Rule{Slug: "B", Statement: "Info.", Modality: rule.Info, Severity: rule.Low},
		rule.Rule{Slug: "C", Statement: "Go.", AppliesTo: &rule.AppliesTo{Paths: []string{"*.go"}}},
		rule.Rule{Slug: "D", Statement: "Elsewhere.", Scope: []string{"sales"}},
	)
	got, err := ev.Applicable(t.Context(), evaluate.ApplicableQuery{ProjectID: "p", FilePaths: []string{"x/y.py"}, Scope: "/eng/"})
	if err != nil {
		t.Fatal(err)
	}
	var slugs []string
	for _, r := range got {
		slugs = append(slugs, r.Slug)
	}
	if d := cmp.Diff([]string{"A", "B"}, slugs); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(ev.rec.records) != 0 {
		t.Error("listing applicable rules left a record")
	}
}

// BenchmarkEvaluate is the pipeline without HTTP and database: 10,000 rules, of which 100 are in scope.
func BenchmarkEvaluate(b *testing.B) {
	var rules []rule.Rule
	for i := range 10_000 {
		rules = append(rules, rule.Rule{
			Statement: fmt.Sprintf("Payments above %d of unit %d need a second approval.", i, i%100), Scope: []string{fmt.Sprintf("unit%d", i%100)},
			Check: &rule.Check{CEL: fmt.Sprintf("facts.amount <= %d || facts.approvals >= 2", 1000+i)},
		})
	}
	ev := evaluator(b, judge.New(judge.Config{}), rules...)
	in := subject.Input{Facts: map[string]any{"amount": 500.0, "approvals": 1.0, "reference": "P-1"}, Scope: "unit7"}
	b.ReportAllocs()
	for b.Loop() {
		ev.rec.records = nil
		ev.run(b, in)
	}
}
