package sandbox_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tenet/internal/auth"
	"tenet/internal/check"
	"tenet/internal/evaluate"
	"tenet/internal/judge"
	"tenet/internal/judge/judgetest"
	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
	"tenet/internal/store"
	"tenet/internal/store/sqlstore"
)

// bed is a sandbox on a fresh database with one rule.
func bed(t testing.TB, model llm.Model, parallel int, edit func(*rule.Rule)) (*sandbox.Sandbox, context.Context) {
	t.Helper()
	return bedOf(t, model, parallel, edit, history{})
}

// bedWith is a bed with a history.
func bedWith(t testing.TB, model llm.Model, h history) (*sandbox.Sandbox, context.Context) {
	t.Helper()
	return bedOf(t, model, 1, nil, h)
}

func bedOf(t testing.TB, model llm.Model, parallel int, edit func(*rule.Rule), h history) (*sandbox.Sandbox, context.Context) {
	t.Helper()
	s, err := sqlstore.OpenSQLite(context.Background(), t.TempDir(), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx := auth.WithActor(context.Background(), auth.Local("test"))
	r := rule.Rule{ID: "00000000-0000-7000-8000-000000000001", ProjectID: "p", Slug: "R-1", Version: 1, Statement: "No eval."}
	if edit != nil {
		edit(&r)
	}
	r.Normalize()
	err = s.Update(ctx, func(tx store.Tx) error {
		if err := tx.Projects.Create(ctx, rule.Project{ID: "p"}); err != nil {
			return err
		}
		return tx.Rules.Insert(ctx, 1, []rule.Rule{r})
	})
	if err != nil {
		t.Fatal(err)
	}
	return sandbox.New(sandbox.Config{
		Store: sandbox.Store{Updater: s, Jobs: s.Jobs, Rules: s.Rules, Runs: s.Runs, TestCases: s.TestCases}, Model: model, Recorded: h, Now: time.Now, Evaluator: evaluate.New(evaluate.Config{
			Checks: check.NewCache(100), Now: time.Now, Judge: judge.New(judge.Config{Model: model, Concurrency: parallel}),
		}),
	}), ctx
}

func addCases(t testing.TB, b *sandbox.Sandbox, ctx context.Context, n int) {
	t.Helper()
	for i := range n {
		c := sandbox.NewCase{Name: fmt.Sprint("case ", i), SampleInput: fmt.Sprintf("a = %d\nb = eval(%d)\n", i, i), ExpectedVerdict: rule.Deny}
		if i%2 == 0 {
			c.SampleInput, c.ExpectedVerdict = fmt.Sprintf("a = %d\n", i), rule.Allow
		}
		if _, err := b.AddCase(ctx, "p", "R-1", c); err != nil {
			t.Fatal(err)
		}
	}
}

// A thousand cases that a check decides; the bar is a second a run.
func BenchmarkRunChecked(b *testing.B) {
	box, ctx := bed(b, nil, 0, func(r *rule.Rule) { r.Check = &rule.Check{Pattern: &rule.Pattern{Regex: `\beval\(`}} })
	addCases(b, box, ctx, 1000)
	for b.Loop() {
		report, err := box.Run(ctx, "p", "R-1")
		if err != nil || report.Passing != 1000 {
			b.Fatalf("%d pass, %v", report.Passing, err)
		}
	}
}

// Two hundred cases that a model decides in 200 ms, 20 at once; the bar is 2.3 s a run.
func BenchmarkRunJudged(b *testing.B) {
	model := judgetest.Model(func(judgetest.Rule, string) judgetest.Entry { return judgetest.Allow() })
	model.Delay = 200 * time.Millisecond
	box, ctx := bed(b, model, 20, nil)
	addCases(b, box, ctx, 200)
	for b.Loop() {
		if _, err := box.Run(ctx, "p", "R-1"); err != nil {
			b.Fatal(err)
		}
	}
}
