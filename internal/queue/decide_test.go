package queue_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tenet/internal/auth"
	"tenet/internal/queue"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// A fault of the database in the midst of many decisions takes nothing from the results of those before it.
func TestAFaultLeavesTheResultsOfTheOthers(t *testing.T) {
	ids := []string{
		"00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002", "00000000-0000-7000-8000-000000000003", "00000000-0000-7000-8000-000000000004",
	}
	var tried []string
	fails := map[string]error{ids[1]: rule.Errorf(rule.CodeConflict, "somebody was faster"), ids[2]: errors.New("the secret disk is full")}
	q := queue.New(queue.Config{Now: time.Now, Deciders: map[wire.QueueKind]queue.Decider{
		wire.QueueRule: func(_ context.Context, _, id string, _ wire.QueueAction, _ string) (queue.Outcome, error) {
			tried = append(tried, id)
			return queue.Outcome{Undo: true}, fails[id]
		},
	}})
	ctx := auth.WithActor(t.Context(), auth.Local("local"))
	d := wire.DecideQueue{Action: wire.QueueApprove}
	for _, id := range ids {
		d.Items = append(d.Items, wire.QueueRef{Kind: wire.QueueRule, ID: id})
	}
	out, err := q.Decide(ctx, "default", d)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range out.Results {
		got = append(got, r.Status+" "+r.Code)
		if strings.Contains(r.Error, "secret") {
			t.Errorf("the answer says %q", r.Error)
		}
	}
	if want := "done , failed conflict, failed unavailable, failed unavailable"; strings.Join(got, ", ") != want || out.Done != 1 || out.Failed != 3 || len(tried) != 3 {
		t.Errorf("%s; want %s; %d tried", strings.Join(got, ", "), want, len(tried))
	}
	d.Items = d.Items[2:]
	if _, err = q.Decide(ctx, "default", d); err == nil {
		t.Error("a fault at the first item is no error")
	}
}
