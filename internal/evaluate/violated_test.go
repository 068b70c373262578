package evaluate_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/evaluate"
	"tenet/internal/judge"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// An action that has happened and that the rules deny is told, in the transaction of its record; nothing else is.
func TestViolationsAreToldWithTheirRecord(t *testing.T) {
	deny := func(slug string, s rule.Severity, e rule.Enforcement, scope ...string) rule.Rule {
		return rule.Rule{Slug: slug, Statement: "No.", Severity: s, Scope: scope, Enforcement: e, Check: &rule.Check{CEL: "facts.n < 3.0"}}
	}
	rules := []rule.Rule{
		deny("A", rule.High, rule.Enforce, "fin/pay"), deny("B", rule.Medium, rule.Enforce, "fin"), deny("C", rule.Critical, rule.Shadow),
		deny("D", rule.Critical, rule.Warn),
	}
	states := make([]store.RuleState, len(rules))
	for i, r := range rules {
		r.ID = "00000000-0000-7000-8000-00000000000" + r.Slug
		r.ProjectID, r.Version, r.Status = "p", 1, rule.Effective
		r.Normalize()
		states[i].Rule = r
	}
	view, err := corpus.New(1, states)
	if err != nil {
		t.Fatal(err)
	}
	var told []rule.Event
	rec := &recorder{}
	b := bench{evaluate.New(evaluate.Config{
		Views: fixed{view}, Judge: noModel(t), Recorder: rec, Checks: check.NewCache(100), Now: func() time.Time { return noon },
		Publish: func(_ context.Context, _ store.Tx, e rule.Event) error { told = append(told, e); return nil },
	}), rec}
	in := func(n int) subject.Input { return subject.Input{Facts: map[string]any{"n": n}} }
	posthoc := func(r *evaluate.Request) { r.Mode = rule.Posthoc }
	b.run(t, in(5))
	b.run(t, in(1), posthoc)
	for _, r := range rec.records {
		if r.Also != nil {
			t.Error("something else than a violation that has happened is told")
		}
	}
	e := b.run(t, in(5), posthoc)
	also := rec.records[2].Also
	if also == nil || len(told) != 0 {
		t.Fatalf("it is told beside its record: %d", len(told))
	}
	for range 2 { // as a transaction that runs again
		if err := also(t.Context(), store.Tx{}); err != nil {
			t.Fatal(err)
		}
	}
	got := told[0]
	if got.ID == "" || got.ID != told[1].ID || got.Type != rule.EvaluationViolated || got.ProjectID != "p" || got.Severity != rule.High || !got.Time.Equal(noon) {
		t.Errorf("told %+v", got)
	}
	if len(got.RuleIDs) != 2 || strings.Join(got.Scope, " ") != "fin/pay fin" {
		t.Errorf("it concerns %v in %v", got.RuleIDs, got.Scope)
	}
	var data rule.Evaluation
	if err := json.Unmarshal(got.Data, &data); err != nil || data.EvaluationID != e.EvaluationID || len(data.Violations) != len(e.Violations) || data.OverallVerdict != rule.Deny {
		t.Errorf("its data: %s", got.Data)
	}
}

// What leaves the server holds no secrets of the subject, even where records keep them.
func TestViolationsTellNoSecrets(t *testing.T) {
	secret := "AKIA" + "QX5L2RGJ4PZ7" + "TB6M"
	for _, keep := range wire.Keeps {
		r := rule.Rule{ID: "00000000-0000-7000-8000-000000000001", ProjectID: "p", Version: 1, Status: rule.Effective, Statement: "No keys.", Severity: rule.High}
		r.Normalize()
		view, err := corpus.New(1, []store.RuleState{{Rule: r}})
		if err != nil {
			t.Fatal(err)
		}
		rec := &recorder{}
		var told []rule.Event
		quoting := judgeFunc(func(s *subject.Subject, rules []*rule.Rule) judge.Result {
			res := saying(rule.Deny)(s, rules)
			res.Verdicts[0].Reasoning = "it says key = " + secret
			return res
		})
		b := bench{evaluate.New(evaluate.Config{
			Views: fixed{view}, Judge: quoting, Recorder: rec, Checks: check.NewCache(10), Now: func() time.Time { return noon }, Redact: redact.New(), Subjects: keep,
			Publish: func(_ context.Context, _ store.Tx, e rule.Event) error { told = append(told, e); return nil },
		}), rec}
		e := b.run(t, subject.Input{Action: "aws_access_key = \"" + secret + "\""}, func(r *evaluate.Request) { r.Mode = rule.Posthoc })
		if err := rec.records[0].Also(t.Context(), store.Tx{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(e.Violations[0].Reasoning, secret) || strings.Contains(string(told[0].Data), secret) || !strings.Contains(string(told[0].Data), "redacted:") {
			t.Errorf("%s: told %s", keep, told[0].Data)
		}
	}
}

func TestAViolationOfThePolicyIsPublishedToo(t *testing.T) {
	view, err := corpus.New(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	rec := &recorder{}
	var published []rule.Event
	b := bench{evaluate.New(evaluate.Config{
		Views: fixed{view.WithPolicy(rule.ProjectPolicy{Uncovered: map[string]rule.Uncovered{"action": rule.UncoveredDeny}})}, Judge: noModel(t), Recorder: rec,
		Checks: check.NewCache(1), Now: func() time.Time { return noon },
		Publish: func(_ context.Context, _ store.Tx, e rule.Event) error { published = append(published, e); return nil },
	}), rec}
	b.run(t, subject.Input{Action: "delete the backups"}, func(r *evaluate.Request) { r.Mode = rule.Posthoc })
	if err := rec.records[0].Also(t.Context(), store.Tx{}); err != nil {
		t.Fatal(err)
	}
	if e := published[0]; e.Severity != rule.Critical || len(e.RuleIDs) != 0 || strings.Join(e.Scope, " ") != "*" {
		t.Errorf("published %+v", e)
	}
}
