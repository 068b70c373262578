package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/store/pgtest"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// TestKilledNodeUsesNoApprovalTwice kills a node again and again while people approve and callers use what they have approved: no
// approval is used twice, and none that was acknowledged is lost.
func TestKilledNodeUsesNoApprovalTwice(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { crashApprovals(t, "--data", t.TempDir()) })
	t.Run("postgres", func(t *testing.T) { crashApprovals(t, "--database-url", pgtest.DSN(t)) })
}

// approvals remembers what the nodes have acknowledged in one round.
type approvals struct {
	mu       sync.Mutex
	approved map[string]string   // ids by action
	allowed  map[string][]string // evaluations that were ALLOW, by action
}

func crashApprovals(t *testing.T, settings ...string) {
	n := startNode(t, append(settings, "--no-seed")...)
	secrets := map[string]string{}
	c := n.client(t)
	if _, err := client.Call(t.Context(), c, op.CreateRule, wire.CreateRule{RuleInput: wire.RuleInput{
		Statement: "Do not drop a table unasked.", Modality: rule.MustNot, Severity: rule.High, Status: rule.Effective, Enforcement: rule.Warn,
		Check: &rule.Check{Pattern: &rule.Pattern{Regex: "drop table"}},
	}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"root", "ci", "ann"} {
		role, project := map[string]string{"root": "admin", "ci": "evaluator", "ann": "reviewer"}[name], "default"
		if name == "root" {
			project = "*"
		}
		key, err := client.Call(t.Context(), c, op.CreateKey, wire.CreateKey{Name: name, Role: role, ProjectID: project, Owner: name + "-owner"})
		if err != nil {
			t.Fatal(err)
		}
		secrets[name] = key.Secret
		c = keyed(t, n, secrets["root"]) // from the first key on, each request needs one
	}
	total, used, approved := max(2, rounds(t)/3), 0, 0
	for round := range total {
		if round > 0 {
			n = startNode(t, settings...)
		}
		w := &approvals{approved: map[string]string{}, allowed: map[string][]string{}}
		w.burst(t, n, keyed(t, n, secrets["ci"]), keyed(t, n, secrets["ann"]), round)
		n.kill()
		n = startNode(t, settings...)
		w.examine(t, keyed(t, n, secrets["ci"]))
		n.kill()
		approved += len(w.approved)
		used += len(w.allowed)
	}
	t.Logf("%d kills; %d approvals and %d uses acknowledged", total, approved, used)
}

func keyed(t *testing.T, n *node, secret string) *client.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(n.url, secret, &http.Client{Transport: transport, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// burst asks, approves and uses from several sides until the node is killed.
func (w *approvals) burst(t *testing.T, n *node, ci, ann *client.Client, round int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var workers sync.WaitGroup
	for worker := range 4 {
		workers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if w.one(ctx, ci, ann, fmt.Sprintf("drop table r%d_w%d_n%d", round, worker, i)) != nil {
					return // the node is dead
				}
			}
		})
	}
	for deadline := time.Now().Add(time.Minute); w.count() < 5 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(rand.N(150 * time.Millisecond))
	n.kill()
	cancel()
	workers.Wait()
	if w.count() < 5 {
		t.Fatalf("round %d: only %d uses were acknowledged:\n%s", round, w.count(), n.log.String())
	}
}

func (w *approvals) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.allowed)
}

// one asks for an approval of an action, approves it, and lets two callers race to use it.
func (w *approvals) one(ctx context.Context, ci, ann *client.Client, action string) error {
	e, err := ci.EvaluateQuick(ctx, client.Quick{Action: action, ApprovalAsk: wire.ApprovalAsk{RequestApproval: true}})
	if err != nil {
		return err
	}
	if e.Approval == nil {
		return fmt.Errorf("no approval was asked for: %s", e.OverallVerdict)
	}
	if _, err := client.Call(ctx, ann, op.ApproveApproval.At(e.Approval.ID), wire.DecideApproval{Reason: "a drill"}); err != nil {
		return err
	}
	w.mu.Lock()
	w.approved[action] = e.Approval.ID
	w.mu.Unlock()
	errs := make([]error, 2)
	var racing sync.WaitGroup
	for i := range errs {
		racing.Go(func() {
			var e *rule.Evaluation
			if e, errs[i] = ci.EvaluateQuick(ctx, client.Quick{Action: action}); errs[i] == nil && e.OverallVerdict == rule.Allow {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.allowed[action] = append(w.allowed[action], e.EvaluationID)
			}
		})
	}
	racing.Wait()
	if errs[0] != nil {
		return errs[0]
	}
	return errs[1]
}

// examine looks after a restart whether each acknowledged approval is there and serves one evaluation, before or after the kill.
func (w *approvals) examine(t *testing.T, ci *client.Client) {
	t.Helper()
	for action, id := range w.approved {
		a, err := client.Get(t.Context(), ci, op.GetApproval.At(id))
		if err != nil {
			t.Fatal(err)
		}
		uses := w.allowed[action]
		switch {
		case len(uses) > 1:
			t.Errorf("%s: %d evaluations have used one approval", action, len(uses))
		case a.State != rule.ApprovalApproved && a.State != rule.ApprovalUsed:
			t.Errorf("%s: the acknowledged approval is %s", action, a.State)
		case len(uses) == 1 && (a.State != rule.ApprovalUsed || a.UsedBy != uses[0]):
			t.Errorf("%s: the approval is %s by %q, but %s has used it", action, a.State, a.UsedBy, uses[0])
		}
		want := rule.NeedsConfirmation
		if a.State == rule.ApprovalApproved {
			want = rule.Allow
		}
		for _, want := range []rule.Verdict{want, rule.NeedsConfirmation} {
			if e, err := ci.EvaluateQuick(t.Context(), client.Quick{Action: action}); err != nil || e.OverallVerdict != want {
				t.Fatalf("%s, the approval %s: %v, want %s: %v", action, a.State, e, want, err)
			}
		}
	}
}
