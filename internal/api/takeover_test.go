package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/evaluate"
	"tenet/internal/judge/judgetest"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// left is a submission whose node has died before it was evaluated.
func (n *node) left(id string) store.Submission {
	n.t.Helper()
	s := store.Submission{
		ProjectID: rule.DefaultProject, ID: id, BodyHash: "h", Kind: "transaction", EvaluationID: audit.NewID(), Actor: "ann", Owner: "dead",
		LeaseUntil: time.Now().Add(-time.Second), CreatedAt: time.Now(),
	}
	if err := n.store.Update(n.t.Context(), func(tx store.Tx) error { return tx.Submissions.Insert(n.t.Context(), s) }); err != nil {
		n.t.Fatal(err)
	}
	return s
}

var payment = evaluate.Request{ProjectID: rule.DefaultProject, Input: wire.RecordedSubject{Facts: map[string]any{"amount": 5.0}}}

func TestWorkOfTheDeadIsTakenOver(t *testing.T) {
	t.Parallel()
	onBoth(t, testTakeOver)
}

func testTakeOver(t *testing.T, n *node) {
	n.call("POST", rulesPath, fields{"slug": "J-1", "statement": "Be kind.", "status": "EFFECTIVE"}).want(http.StatusCreated)
	var sub store.Submission
	var faster atomic.Bool
	e := n.judging(judgetest.Model(func(judgetest.Rule, string) judgetest.Entry {
		if faster.Load() {
			// While this one judges, somebody who believes it dead is faster.
			rec := wire.EvaluationRecord{Evaluation: &rule.Evaluation{EvaluationID: sub.EvaluationID, OverallVerdict: rule.Deny}}
			err := n.writer.Append(t.Context(), audit.Record{
				ProjectID: rule.DefaultProject, ID: sub.EvaluationID, Kind: audit.KindEvaluation, At: time.Now(), Body: audit.JSON(rec),
			})
			if err != nil {
				t.Error(err)
			}
		}
		return judgetest.Allow()
	}))
	sub = n.left("s-1")
	if state := into[wire.SubmissionState](n.call("GET", submissionsPath+"/s-1", nil).want(http.StatusOK)); state.Status != wire.Failed {
		t.Errorf("nobody works on it, and its status is %s", state.Status)
	}
	ann := auth.WithActor(t.Context(), auth.Actor{Name: "ann"})
	bot := audit.WithIdentity(ann, rule.Identity{Agent: "bot"})
	name := evaluate.Named{SubmissionID: "s-1", BodyHash: "h"}
	if a, err := e.Submit(auth.WithActor(t.Context(), auth.Actor{Name: "bob"}), name, payment); rule.CodeOf(err) != rule.CodeConflict {
		t.Errorf("another actor takes over: %+v, %v", a, err)
	}
	for who, ctx := range map[string]context.Context{"the same": ann, "another agent": bot} { // nobody knows yet who asked first
		if state, err := e.Later(ctx, name, payment); rule.CodeOf(err) != rule.CodeConflict {
			t.Errorf("%s, in the background, while it is answered at once: %+v, %v", who, state, err)
		}
	}
	a, err := e.Submit(ann, name, payment)
	if err != nil || a.Evaluation.EvaluationID != sub.EvaluationID || a.Evaluation.OverallVerdict != rule.Allow {
		t.Errorf("taken over: %+v, %v", a, err)
	}
	sub = n.left("s-2")
	faster.Store(true)
	other := payment
	other.Input.Facts = map[string]any{"amount": 6.0}
	a, err = e.Submit(ann, evaluate.Named{SubmissionID: "s-2", BodyHash: "h"}, other)
	if err != nil || a.Evaluation.EvaluationID != sub.EvaluationID || a.Evaluation.OverallVerdict != rule.Deny {
		t.Errorf("somebody was faster: %+v, %v; want their answer", a, err)
	}
	sub = n.left("s-3")
	other.Input.Facts = map[string]any{"amount": 7.0}
	for range 2 {
		if a, err = e.Submit(bot, evaluate.Named{SubmissionID: "s-3", BodyHash: "h"}, other); rule.CodeOf(err) != rule.CodeConflict {
			t.Errorf("an agent was slower than somebody else: %+v, %v; want a conflict", a, err)
		}
	}
	if a, err = e.Submit(ann, evaluate.Named{SubmissionID: "s-3", BodyHash: "h"}, other); err != nil || a.Evaluation.EvaluationID != sub.EvaluationID {
		t.Errorf("the name of the faster one: %+v, %v; want their answer", a, err)
	}
	if state, err := e.Later(ann, name, payment); err != nil || state.Status != wire.Completed {
		t.Errorf("in the background, once it is answered: %+v, %v", state, err)
	}
}

func TestBackgroundWorkThatFails(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	e := n.judging(nil)
	accept := func(id string) {
		t.Helper()
		n.call("POST", submissionsPath, fields{"subject": fields{"kind": "transaction", "amount": 5}, "submission_id": id}, "Prefer", "respond-async").want(http.StatusAccepted)
	}
	status := func(id string) wire.SubmissionState {
		t.Helper()
		return into[wire.SubmissionState](n.call("GET", submissionsPath+"/"+id, nil).want(http.StatusOK))
	}
	attempt := func(id string, n int) error {
		return e.HandleSubmission(t.Context(), wire.Job{
			ID: 1, ProjectID: rule.DefaultProject, Args: []byte(`{"submission_id":"` + id + `"}`), Attempt: n, MaxAttempts: 2,
		}, func(int, int) {})
	}
	accept("s-1")
	accept("s-2")
	if err := attempt("s-2", 1); err != nil || status("s-2").Status != wire.Completed {
		t.Errorf("%v, %s", err, status("s-2").Status)
	}
	if err := attempt("s-2", 2); err != nil { // done twice
		t.Error(err)
	}
	n.writer.Close() // nothing can be recorded any more
	if err := attempt("s-1", 1); rule.CodeOf(err) != rule.CodeUnavailable || status("s-1").Status != wire.Running {
		t.Errorf("%v, %s; want that it is tried again", err, status("s-1").Status)
	}
	if err := attempt("s-1", 2); err != nil {
		t.Error(err)
	}
	if got := status("s-1"); got.Status != wire.Failed || got.Error == nil || got.Error.Code != rule.CodeUnavailable {
		t.Errorf("given up: %+v", got)
	}
	accept("s-1") // sent again, it is still the one that was given up
	if got := status("s-1"); got.Status != wire.Failed {
		t.Errorf("sent again: %+v", got)
	}
	if err := attempt("none", 1); err != nil {
		t.Errorf("a submission that is gone: %v", err)
	}
	if list := into[wire.Page[wire.EvaluationSummary]](n.call("GET", evaluationsPath, nil)); list.Total != 1 {
		t.Errorf("%d records, want 1", list.Total)
	}
}

// A job that was cancelled, or has failed without a word, must not leave those who wait for its submission waiting.
func TestASubmissionWhoseJobHasEnded(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.judging(nil)
	body := fields{"subject": fields{"kind": "transaction", "amount": 5}, "submission_id": "s-1"}
	n.call("POST", submissionsPath, body, "Prefer", "respond-async").want(http.StatusAccepted)
	status := func() wire.SubmissionState {
		t.Helper()
		return into[wire.SubmissionState](n.call("GET", submissionsPath+"/s-1", nil).want(http.StatusOK))
	}
	jobs := into[wire.Page[wire.Job]](n.call("GET", "/api/v1/jobs?kind="+evaluate.JobKind, nil).want(http.StatusOK))
	path := fmt.Sprintf("/api/v1/jobs/%d", jobs.Items[0].ID)
	n.call("POST", path+"/cancel", nil).want(http.StatusOK)
	if got := status(); got.Status != wire.Failed || got.Error == nil || !strings.Contains(got.Error.Message, "cancelled") {
		t.Errorf("its job is cancelled: %+v", got)
	}
	n.call("POST", submissionsPath, body).wantProblem(http.StatusServiceUnavailable, rule.CodeUnavailable)
	n.call("POST", path+"/retry", nil).want(http.StatusOK)
	if got := status(); got.Status != wire.Pending || got.Error != nil {
		t.Errorf("its job is tried again: %+v", got)
	}
}
