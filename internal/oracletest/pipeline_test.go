package oracletest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/evaluate"
	"tenet/internal/judge"
	"tenet/internal/judge/judgetest"
	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

// pipeline judges subjects as a server does, with a model that reads honestly and nothing stored.
type pipeline struct{ *evaluate.Evaluator }

// View makes a corpus that does not change one of [corpus.Views].
type fixedView struct{ view *corpus.View }

func (f fixedView) View(context.Context, string) (*corpus.View, error) { return f.view, nil }

// forgetful makes no record durable.
type forgetful struct{}

func (forgetful) Append(context.Context, audit.Record) error { return nil }

// checks are the compiled checks of all pipelines.
var checks = check.NewCache(5000)

// newPipeline makes a pipeline for rules, which take effect.
func newPipeline(t testing.TB, model llm.Model, rules ...rule.Rule) *pipeline {
	t.Helper()
	states := make([]store.RuleState, len(rules))
	for i := range rules {
		r := rules[i].Clone() // tests share rules, and Normalize writes to their parts
		r.ID, r.ProjectID, r.Version, r.Status = fmt.Sprintf("00000000-0000-7000-8000-%012d", i+1), "p", 1, rule.Effective
		r.Normalize()
		states[i].Rule = r
	}
	view, err := corpus.New(7, states)
	if err != nil {
		t.Fatal(err)
	}
	return &pipeline{evaluate.New(evaluate.Config{
		Views: fixedView{view}, Judge: judge.New(judge.Config{Model: model}), Recorder: forgetful{}, Checks: checks, Now: time.Now,
	})}
}

// judge returns the evaluation of a subject. The error is that of a subject that is refused.
func (p *pipeline) judge(in subject.Input) (*rule.Evaluation, error) {
	req := evaluate.Request{ProjectID: "p", Input: in}
	req.MaxRules, req.SeverityMin = evaluate.MaxMaxRules, rule.Low
	return p.Evaluate(auth.WithActor(context.Background(), auth.Local("ann")), req)
}

// honest is a model that denies where it is shown the forbidden word and allows everything else.
func honest() llm.Model {
	return judgetest.Model(func(_ judgetest.Rule, subject string) judgetest.Entry {
		if strings.Contains(subject, bad) {
			return judgetest.Deny(bad)
		}
		return judgetest.Allow()
	})
}
