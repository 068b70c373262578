package evaluate_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/evaluate"
	"tenet/internal/judge"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

// turning is a corpus that another takes the place of.
type turning struct{ view *corpus.View }

func (c *turning) View(context.Context, string) (*corpus.View, error) { return c.view, nil }

// TestRulesThatComeWhileAModelIsAskedHold changes the rules, or lets time pass, while a model allows a rule of its own.
func TestRulesThatComeWhileAModelIsAskedHold(t *testing.T) {
	const asked, id, other = "00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002", "00000000-0000-7000-8000-000000000003"
	prose := rule.Rule{ID: asked, Slug: "NL-1", Statement: "Names are clear.", Severity: rule.High}
	pattern := rule.Rule{ID: id, Slug: "EX-1", Statement: "No exec.", Modality: rule.MustNot, Severity: rule.High, Check: &rule.Check{Pattern: &rule.Pattern{Regex: `\bexec\(`}}}
	edited := func(r rule.Rule, edit func(*rule.Rule)) rule.Rule {
		edit(&r)
		return r
	}
	narrow := edited(pattern, func(r *rule.Rule) { r.AppliesTo = &rule.AppliesTo{Paths: []string{"docs/**"}} })
	soon := noon.Add(time.Minute)
	view := func(version int64, p rule.ProjectPolicy, rules ...rule.Rule) *corpus.View {
		states := make([]store.RuleState, len(rules))
		for i, r := range rules {
			r.ProjectID, r.Version, r.Status = "p", 1, rule.Effective
			r.Normalize()
			states[i].Rule = r
		}
		v, err := corpus.New(version, states)
		if err != nil {
			t.Fatal(err)
		}
		return v.WithPolicy(p)
	}
	denied := evaluator(t, noModel(t), pattern).run(t, twoFiles("exec(line)")).Violations[0]
	waived := func(until time.Time) *corpus.View {
		return view(1, rule.ProjectPolicy{}, prose, pattern).WithWaivers([]rule.Waiver{{ID: "w", RuleID: id, Severity: rule.High, Fingerprint: denied.Fingerprint, ExpiresAt: until}})
	}
	for _, tt := range []struct {
		name          string
		before, after *corpus.View
		asks          func(*evaluate.Request)
		want          rule.Verdict
		notice        string
	}{
		{"nothing changes", view(1, rule.ProjectPolicy{}, prose), view(1, rule.ProjectPolicy{}, prose), nil, rule.Allow, ""},
		{"a rule that is kept", view(1, rule.ProjectPolicy{}, prose), view(2, rule.ProjectPolicy{}, prose, narrow), nil, rule.Allow, ""},
		{"a rule that is broken", view(1, rule.ProjectPolicy{}, prose), view(2, rule.ProjectPolicy{}, prose, pattern), nil, rule.Deny, "1 rule came into force or changed: EX-1"},
		{"a rule for a model", view(1, rule.ProjectPolicy{}, prose), view(2, rule.ProjectPolicy{}, prose, rule.Rule{ID: other, Statement: "No debt.", Severity: rule.High}), nil, rule.NeedsConfirmation, "1 rule came"},
		{"other words of the judged rule", view(1, rule.ProjectPolicy{}, prose), view(2, rule.ProjectPolicy{}, edited(prose, func(r *rule.Rule) { r.Statement = "Names are in English." })), nil, rule.NeedsConfirmation, "NL-1"},
		{"another owner of the judged rule", view(1, rule.ProjectPolicy{}, prose), view(2, rule.ProjectPolicy{}, edited(prose, func(r *rule.Rule) { r.Owner = "ann" })), nil, rule.Allow, ""},
		{"wider paths", view(1, rule.ProjectPolicy{}, prose, narrow), view(2, rule.ProjectPolicy{}, prose, pattern), nil, rule.Deny, "EX-1"},
		{"a period that begins", view(1, rule.ProjectPolicy{}, prose, edited(pattern, func(r *rule.Rule) { r.EffectivePeriod = rule.EffectivePeriod{From: &soon} })), nil, nil, rule.Deny, "EX-1"},
		{"the judged rule is retired", view(1, rule.ProjectPolicy{}, prose), view(2, rule.ProjectPolicy{}), nil, rule.Allow, ""},
		{"a waiver that goes on", waived(soon.Add(time.Hour)), nil, nil, rule.Allow, ""},
		{"a waiver that ends", waived(soon.Add(-time.Second)), nil, nil, rule.Deny, ""},
		{"a floor that rises", view(1, rule.ProjectPolicy{}, prose), view(2, rule.ProjectPolicy{Floor: rule.Floor{SeverityMin: rule.Low}}, prose), func(r *evaluate.Request) { r.SeverityMin = rule.High }, rule.NeedsConfirmation, "the project's policy demands"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rules, now := &turning{tt.before}, noon
			model := judgeFunc(func(s *subject.Subject, list []*rule.Rule) judge.Result {
				if now = soon; tt.after != nil {
					rules.view = tt.after
				}
				return saying(rule.Allow)(s, list)
			})
			rec := &recorder{}
			b := bench{evaluate.New(evaluate.Config{
				Views: rules, Judge: model, Recorder: rec, Checks: check.NewCache(100), Now: func() time.Time { return now },
			}), rec}
			edit := tt.asks
			if edit == nil {
				edit = func(*evaluate.Request) {}
			}
			e := b.run(t, twoFiles("exec(line)"), edit)
			if e.OverallVerdict != tt.want {
				t.Errorf("overall %s, want %s: %+v, notices %q", e.OverallVerdict, tt.want, e.RuleVerdicts, e.Notices)
			}
			if got := strings.Join(e.Notices, " "); !strings.Contains(got, tt.notice) || tt.notice == "" && got != "" {
				t.Errorf("notices %q, want %q", got, tt.notice)
			}
			if flaw := e.Flaw(); flaw != "" || e.CorpusVersion != rules.view.Version() {
				t.Errorf("flaw %q, version %d of the rules, want %d", flaw, e.CorpusVersion, rules.view.Version())
			}
			var ids []string
			for _, v := range e.RuleVerdicts {
				ids = append(ids, v.RuleID)
			}
			if slices.Sort(ids); len(slices.Compact(slices.Clone(ids))) != len(ids) || len(rec.records) != 1 {
				t.Errorf("verdicts about %v, %d records", ids, len(rec.records))
			}
		})
	}
}
