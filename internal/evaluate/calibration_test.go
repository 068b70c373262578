package evaluate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/evaluate"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

// brokenFeedback cannot count feedback.
type brokenFeedback struct {
	store.FeedbackReader
	asked int
}

func (b *brokenFeedback) Count(context.Context, string, string) ([]store.FeedbackCount, error) {
	b.asked++
	return nil, errors.New("the database went away")
}

// An evaluation of many judged rules asks a database that fails once, not once for each verdict.
func TestFailingFeedbackIsAskedForOnce(t *testing.T) {
	states := make([]store.RuleState, 5)
	for i := range states {
		r := rule.Rule{ID: "00000000-0000-7000-8000-00000000000" + string(rune('1'+i)), ProjectID: "p", Version: 1, Status: rule.Effective, Statement: "No.", Severity: rule.High}
		r.Normalize()
		states[i].Rule = r
	}
	view, err := corpus.New(1, states)
	if err != nil {
		t.Fatal(err)
	}
	broken := &brokenFeedback{}
	rec := &recorder{}
	b := bench{evaluate.New(evaluate.Config{
		Views: fixed{view}, Judge: saying(rule.Deny), Recorder: rec, Records: evaluate.Store{Feedback: broken}, Checks: check.NewCache(10), Now: func() time.Time { return noon },
	}), rec}
	for n := range 2 {
		if e := b.run(t, subject.Input{Action: "delete everything"}); len(e.RuleVerdicts) != 5 || e.RuleVerdicts[4].Verdict != rule.Deny {
			t.Fatalf("got %d verdicts: %+v", len(e.RuleVerdicts), e.RuleVerdicts)
		}
		if broken.asked != n+1 {
			t.Fatalf("feedback was asked for %d times in %d evaluations", broken.asked, n+1)
		}
	}
}
