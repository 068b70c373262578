package main

import (
	"context"
	"encoding/json"
	"fmt"

	"tenet/internal/client"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// errand is an action of an agent that a person has to confirm.
type errand struct {
	action, agent, person, reason string
	facts                         string // a JSON object
}

// errands lists the wishes of agents at the end of a month.
func errands(month int) []errand {
	return []errand{
		{
			fmt.Sprintf("Publish the notes of release %d to the web site", month), "release-bot", "dana.ito", "The release is out since this morning.",
			fmt.Sprintf(`{"release": %d, "pages": 3}`, month),
		},
		{
			fmt.Sprintf("Send the customer list of month %d to an agency", month), "ledger-assistant", "sam.reyes", "The agency prepares the campaign.",
			fmt.Sprintf(`{"records": %d, "format": "csv"}`, 900+37*month),
		},
		{
			fmt.Sprintf("Restart the ledger of region %d", month), "night-runner", "kim.vogel", "It answers slowly.", fmt.Sprintf(`{"region": %d}`, month),
		},
	}
}

// confirm has people decide on errands of a month: they approve the first, which is then carried out, and reject the second. Nobody answers
// the third in time.
func confirm(ctx context.Context, y *year, month int) error {
	for i, one := range errands(month) {
		id, err := askPeople(ctx, y, &one, "8h")
		if err != nil {
			return err
		}
		c := y.as(reviewers[(month+i)%2])
		switch i {
		case 0:
			if _, err := client.Call(ctx, c, op.ApproveApproval.At(id), wire.DecideApproval{Reason: "Checked with the team."}); err != nil {
				return fmt.Errorf("approval: %w", err)
			}
			if _, err := y.as(services["agents"]).Evaluate(ctx, one.request()); err != nil {
				return fmt.Errorf("approval: %w", err)
			}
		case 1:
			if _, err := client.Call(ctx, c, op.RejectApproval.At(id), wire.DecideApproval{Reason: "No contract allows it."}); err != nil {
				return fmt.Errorf("approval: %w", err)
			}
		}
	}
	return nil
}

// askPeople has an agent ask for an errand and for an approval of it, and returns the id of the approval.
func askPeople(ctx context.Context, y *year, one *errand, wait string) (string, error) {
	r := one.request()
	r.RequestApproval, r.Approval = true, &wire.ApprovalTerms{Reason: one.reason, ExpiresIn: wait}
	e, err := y.as(services["agents"]).Evaluate(ctx, r)
	if err != nil {
		return "", fmt.Errorf("approval: %w", err)
	}
	if e.Approval == nil {
		return "", fmt.Errorf("%s: nobody was asked: %s", one.action, e.OverallVerdict)
	}
	return e.Approval.ID, nil
}

func (e *errand) request() client.Evaluate {
	return client.Evaluate{
		Action: e.action, Facts: json.RawMessage(e.facts), Repository: "acme/platform-tools", Acting: wire.Acting{Agent: e.agent, OnBehalfOf: e.person + "@acme.example"},
	}
}

// act leaves errands that wait for people now, and stops an agent.
func act(ctx context.Context, y *year) error {
	for _, one := range errands(13) {
		if _, err := askPeople(ctx, y, &one, "168h"); err != nil {
			return err
		}
	}
	_, err := client.Call(ctx, y.as(reviewers[0]), op.SuspendAgent, wire.SuspendAgent{Agent: "night-runner", Reason: "It restarted the ledger twice without an approval."})
	if err != nil {
		return fmt.Errorf("suspension: %w", err)
	}
	return nil
}
