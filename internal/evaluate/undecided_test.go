package evaluate_test

import (
	"strings"
	"testing"

	"tenet/internal/evaluate"
	"tenet/internal/judge"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// TestAnUndecidedCheckThatOnlyDeniesGoesToTheJudge checks that a check leaves to the judge what it cannot decide, that unseen content is no
// ALLOW there either, and that the reason of the check stays where nobody decides.
func TestAnUndecidedCheckThatOnlyDeniesGoesToTheJudge(t *testing.T) {
	expression, condition := celRule("facts.amount <= 100"), celRule("true")
	condition.Check.When = "facts.amount > 0"
	hidden, pattern := celRule("diff.files.all(f, !f.added_text.contains('eval'))"), patternRule("eval")
	unseen := subject.Input{Diff: "diff --git a/b.bin b/b.bin\nindex 1111111..2222222 100644\nBinary files a/b.bin and b/b.bin differ\n"}
	noAmount := subject.Input{Facts: map[string]any{"total": 5.0}}
	for _, tt := range []struct {
		name   string
		rule   rule.Rule
		in     subject.Input
		allow  rule.Verdict // where the model says ALLOW
		reason string
	}{
		{"a missing fact", expression, noAmount, rule.Allow, `fact "amount" is missing`},
		{"a condition without its fact", condition, noAmount, rule.Allow, `fact "amount" is missing`},
		{"an expression about unseen content", hidden, unseen, rule.NeedsConfirmation, "b.bin: its content is binary and not given"},
		{"a pattern about unseen content", pattern, unseen, rule.NeedsConfirmation, "b.bin: its content is binary and not given"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.rule
			r.Check.Decides = rule.DenyOnly
			if v := evaluator(t, saying(rule.Allow), r).run(t, tt.in).RuleVerdicts[0]; v.Verdict != tt.allow {
				t.Errorf("the model allows: %s by %s: %s", v.Verdict, v.DecidedBy, v.Reasoning)
			}
			if v := evaluator(t, saying(rule.Deny), r).run(t, tt.in).RuleVerdicts[0]; v.Verdict != rule.Deny || v.DecidedBy != rule.ByModel {
				t.Errorf("the model denies: %s by %s", v.Verdict, v.DecidedBy)
			}
			forgets := judgeFunc(func(*subject.Subject, []*rule.Rule) judge.Result { return judge.Result{} })
			for _, nobody := range []evaluate.Judge{noModel(t), forgets} {
				v := evaluator(t, nobody, r).run(t, tt.in).RuleVerdicts[0]
				if v.Verdict != rule.NeedsConfirmation || v.DecidedBy != rule.ByNone || !strings.Contains(v.Reasoning, tt.reason) || v.IssueDescription != "The rule's check could not decide." {
					t.Errorf("nobody decides: %s by %s: %s (%s)", v.Verdict, v.DecidedBy, v.Reasoning, v.IssueDescription)
				}
			}
			alone := tt.rule
			both := *alone.Check
			both.Decides = rule.Both
			alone.Check = &both
			if v := evaluator(t, saying(rule.Allow), alone).run(t, tt.in).RuleVerdicts[0]; v.Verdict != rule.NeedsConfirmation {
				t.Errorf("a check that decides alone: %s by %s", v.Verdict, v.DecidedBy)
			}
		})
	}
}

// TestChmodBringsNoContent checks that no kind of rule asks about the content of a file whose mode alone changes, and each does where
// its type changes.
func TestChmodBringsNoContent(t *testing.T) {
	rules := []rule.Rule{celRule("diff.files.all(f, !f.added_text.contains('eval'))"), patternRule("eval"), {Statement: "Be kind."}}
	for mode, want := range map[string]rule.Verdict{"100755": rule.Allow, "120000": rule.NeedsConfirmation, "160000": rule.NeedsConfirmation} {
		e := evaluator(t, saying(rule.Allow), rules...).run(t, subject.Input{Diff: "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode " + mode + "\n"})
		for _, v := range e.RuleVerdicts {
			if v.Verdict != want {
				t.Errorf("%s: %s is %s: %s", mode, v.RuleStatement, v.Verdict, v.Reasoning)
			}
		}
		if e.OverallVerdict != want {
			t.Errorf("%s: overall %s", mode, e.OverallVerdict)
		}
	}
}
