package api

import (
	"context"
	"database/sql"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"tenet/internal/approval"
	"tenet/internal/evaluate"
	"tenet/internal/evidence"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// between calls a function after an evaluation has found the approvals that it may use, and before it uses one.
type between struct {
	*approval.Approvals

	found func()
}

func (b between) Open(ctx context.Context, projectID, subjectHash string) ([]rule.Approval, error) {
	list, err := b.Approvals.Open(ctx, projectID, subjectHash)
	if len(list) > 0 && list[0].State == rule.ApprovalApproved {
		b.found()
	}
	return list, err
}

// An approval whose row changes after it was found serves nothing, and the evaluations that are recorded at the same time do not fail with it.
func TestAnApprovalThatChangesBeforeItsUseServesNothing(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"it serves more often": `UPDATE approvals SET body = REPLACE(body, '"uses":1', '"uses":9') WHERE state = 'approved'`,
		"it serves longer":     `UPDATE approvals SET ends_at = ends_at * 2, body = REPLACE(body, '"valid_until":"2', '"valid_until":"9') WHERE state = 'approved'`,
		"it has another link":  `UPDATE approvals SET link_key = 'mine' WHERE state = 'approved'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBothTampering(t, func(t *testing.T, w *tampering) {
				ask := newAsking(w.node, rule.High)
				id := ask.asks("drop table a")
				ask.decide(ask.ann, id, "approve", "It is a copy.").want(http.StatusOK)
				var others sync.WaitGroup
				found := func() {
					w.tamper(statement)
					for range 8 {
						others.Go(func() {
							w.call("POST", "/api/v1/evaluate/quick", fields{"action": "list tables"}, ask.other...).want(http.StatusOK)
						})
					}
				}
				w.judging(nil, func(c *evaluate.Config) { c.Approvals = between{w.cfg.Approvals, sync.OnceFunc(found)} })
				for range 2 {
					got := w.call("POST", "/api/v1/evaluate/quick", fields{"action": "drop table a"}, ask.ci...).want(http.StatusServiceUnavailable)
					if !strings.Contains(string(got.body), "the approval ") || !strings.Contains(string(got.body), "without an entry in its audit log") {
						t.Errorf("refused with %s", got.body)
					}
				}
				others.Wait()
				if a, err := w.store.Approvals.Get(t.Context(), rule.DefaultProject, id); err != nil || a.UsedCount != 0 || a.State != rule.ApprovalApproved {
					t.Errorf("the approval is %s and was used %d times (%v)", a.State, a.UsedCount, err)
				}
				if allowed := w.finds("verdict=ALLOW&q=drop"); len(allowed) > 0 {
					t.Errorf("recorded as allowed: %v", allowed)
				}
			})
		})
	}
}

// holding calls a function inside the transaction that uses or decides on an approval, after the check.
type holding struct {
	*evidence.InForce

	checked func()
}

func (h holding) CheckRowIn(ctx context.Context, tx store.Tx, projectID, kind, id string) error {
	err := h.InForce.CheckRowIn(ctx, tx, projectID, kind, id)
	h.checked()
	return err
}

// A statement that changes an approval while its use is being written waits until that is done, and is not recorded with it.
func TestAnApprovalChangesForNobodyWhileItIsUsed(t *testing.T) {
	t.Parallel()
	onBothTampering(t, func(t *testing.T, w *tampering) {
		ask := newAsking(w.node, rule.High)
		a, b := ask.asks("drop table a"), ask.asks("drop table b")
		ask.decide(ask.ann, a, "approve", "It is a copy.").want(http.StatusOK)
		var changing sync.WaitGroup
		done := make(chan struct{})
		change := func() {
			changing.Go(func() {
				defer close(done)
				db, err := sql.Open(w.driver, w.source)
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = db.Close() }()
				for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) { // SQLite says that it is busy
					_, err = db.ExecContext(context.Background(), `UPDATE approvals SET subject_hash = (SELECT x.subject_hash FROM approvals x WHERE x.id = '`+b+`') WHERE id = '`+a+`'`)
					if err == nil {
						return
					}
				}
				t.Error(err)
			})
			select {
			case <-done:
				t.Error("the row has changed while a transaction used it")
			case <-time.After(300 * time.Millisecond):
			}
		}
		w.cfg.Approvals = approval.New(approval.Config{
			Store: approval.Store{Updater: w.store, Approvals: w.store.Approvals, Projects: w.store.Projects}, Views: w.live, Logger: w.cfg.Logger, Now: w.now,
			InForce: holding{w.logged, sync.OnceFunc(change)},
		})
		w.judging(nil, func(c *evaluate.Config) { c.Approvals = w.cfg.Approvals })
		if e := ask.evaluate(ask.ci, "drop table a", false); e.OverallVerdict != rule.Allow {
			t.Errorf("the approved action is %s", e.OverallVerdict)
		}
		changing.Wait()
		if problems, err := w.logged.Problems(t.Context(), rule.DefaultProject, store.ApprovalInForce); err != nil || len(problems) != 1 || !strings.Contains(problems[0], a) {
			t.Errorf("what no entry explains: %q, %v", problems, err)
		}
	})
}

// People who decide do not confirm what somebody has changed in the database, and it does not keep other approvals from running out.
func TestADecisionDoesNotConfirmAChangedApproval(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(id, other string) string{
		"one person is enough": func(id, _ string) string {
			return `UPDATE approvals SET body = REPLACE(body, '"quorum":2', '"quorum":1') WHERE id = '` + id + `'`
		},
		"somebody has approved": func(id, _ string) string {
			return `UPDATE approvals SET body = REPLACE(body, '"decisions":[]', '"decisions":[{"by":"key:bo","approve":true,"reason":"fine","at":"2026-01-01T00:00:00Z"}]') WHERE id = '` + id + `'`
		},
		"it is for another action": func(id, other string) string {
			return `UPDATE approvals SET subject_hash = (SELECT x.subject_hash FROM approvals x WHERE x.id = '` + other + `') WHERE id = '` + id + `'`
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBothTampering(t, func(t *testing.T, w *tampering) {
				ask := newAsking(w.node, rule.Critical)
				id, other := ask.asks("drop table a"), ask.asks("drop table b")
				w.tamper(change(id, other))
				for _, what := range []string{"approve", "reject", "withdraw"} {
					got := ask.decide(ask.ann, id, what, "It is a copy.").want(http.StatusServiceUnavailable)
					if !strings.Contains(string(got.body), "without an entry in its audit log") {
						t.Errorf("%s is refused with %s", what, got.body)
					}
				}
				for _, action := range []string{"drop table a", "drop table b"} {
					if e := ask.evaluate(ask.ci, action, false); e.OverallVerdict != rule.NeedsConfirmation {
						t.Errorf("%s is %s", action, e.OverallVerdict)
					}
				}
				w.ahead.Store(int64(2 * time.Hour))
				if err := w.cfg.Approvals.Expire(t.Context(), wire.Job{}, func(int, int) {}); err != nil {
					t.Error(err)
				}
				for id, want := range map[string]rule.ApprovalState{id: rule.ApprovalPending, other: rule.ApprovalRejected} {
					if a, err := w.store.Approvals.Get(t.Context(), rule.DefaultProject, id); err != nil || a.State != want {
						t.Errorf("stored as %s, want %s (%v)", a.State, want, err)
					}
				}
			})
		})
	}
}
