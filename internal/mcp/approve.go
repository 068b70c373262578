package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// maxStatusWait bounds the wait of approval_status, in seconds: clients give up calls after a minute.
const maxStatusWait = 50

type requestApprovalInput struct {
	EvaluationID string `json:"evaluation_id" jsonschema:"evaluation whose verdict is NEEDS_CONFIRMATION, from the answer of evaluate_diff, check_action or evaluate_facts"`
	Reason       string `json:"reason" jsonschema:"why it should be done, for the people who decide; up to 2000 characters"`
}

type approvalStatusInput struct {
	ApprovalID  string `json:"approval_id" jsonschema:"approval, from the answer of request_approval"`
	WaitSeconds int    `json:"wait_seconds,omitempty" jsonschema:"seconds to wait for a decision, 0 (default) to 50"`
}

// approvalAnswer is an approval in short.
type approvalAnswer struct {
	ApprovalID string         `json:"approval_id" jsonschema:"give it to approval_status"`
	State      string         `json:"state" jsonschema:"pending, approved, rejected, expired, used or withdrawn"`
	MayProceed bool           `json:"may_proceed" jsonschema:"always false: only the verdict ALLOW is a permission; once approved, evaluate exactly the same again"`
	NextStep   string         `json:"next_step" jsonschema:"what to do now"`
	URL        string         `json:"url" jsonschema:"page on which people decide; give it to the user"`
	ExpiresAt  string         `json:"expires_at" jsonschema:"until when people can decide"`
	Needed     int            `json:"approvals_needed" jsonschema:"people who must approve"`
	Given      int            `json:"approvals_given" jsonschema:"people who have approved"`
	Decisions  []approvalWord `json:"decisions" jsonschema:"what people have decided, oldest first"`
}

// approvalWord is the decision of one person.
type approvalWord struct {
	By       string `json:"by"`
	Approved bool   `json:"approved"`
	Reason   string `json:"reason"`
}

func (s *server) approvalTools(m *mcp.Server) {
	mcp.AddTool(m, tool("request_approval", "Ask people for approval",
		"Ask people to confirm an evaluation that ended in NEEDS_CONFIRMATION, outside this conversation. Nobody can confirm a DENY. "+
			"Give the user the url of the answer, then ask approval_status. An approval holds once, for exactly what was evaluated: to use it, evaluate exactly the same again.", false),
		handle(s, func(ctx context.Context, c *client.Client, in requestApprovalInput) (*approvalAnswer, string, error) {
			a, err := client.Call(ctx, c, op.CreateApproval, wire.CreateApproval{
				EvaluationID: strings.TrimSpace(in.EvaluationID), ApprovalTerms: wire.ApprovalTerms{Reason: in.Reason},
			})
			if err != nil {
				return nil, "", undecided(err)
			}
			return answerOf(&a)
		}))
	mcp.AddTool(m, tool("approval_status", "State of an approval",
		"Ask whether people have decided on an approval, and wait for it if you like. Approved is not yet a permission: evaluate exactly the same again, and go on only with ALLOW.", true),
		handle(s, func(ctx context.Context, c *client.Client, in approvalStatusInput) (*approvalAnswer, string, error) {
			if in.WaitSeconds < 0 || in.WaitSeconds > maxStatusWait {
				return nil, "", undecided(rule.Errorf(rule.CodeInvalid, "wait_seconds is %d; use 0 to %d", in.WaitSeconds, maxStatusWait))
			}
			wait := time.Duration(in.WaitSeconds) * time.Second
			d, err := client.Get(ctx, c, op.GetApproval.At(strings.TrimSpace(in.ApprovalID)).Where(wire.ApprovalWait{Wait: wait.String()}))
			if err != nil {
				return nil, "", undecided(err)
			}
			return answerOf(&d.Approval)
		}))
}

// answerOf is an approval in short, as data and in words.
func answerOf(a *rule.Approval) (*approvalAnswer, string, error) {
	out := &approvalAnswer{
		ApprovalID: a.ID, State: string(a.State), URL: a.URL, ExpiresAt: a.ExpiresAt.UTC().Format(time.RFC3339), Needed: a.Quorum, Given: len(a.Approvals()),
		Decisions: []approvalWord{},
	}
	for _, d := range a.Decisions {
		out.Decisions = append(out.Decisions, approvalWord{d.By, d.Approve, clip(d.Reason)})
	}
	switch a.State {
	case rule.ApprovalPending:
		out.NextStep = "Wait. Give the user the url, do something else meanwhile, and ask approval_status again."
	case rule.ApprovalApproved:
		out.NextStep = "Evaluate exactly the same again, and go on if the verdict is ALLOW."
	case rule.ApprovalUsed:
		out.NextStep = "It was used, by one evaluation. Ask for another approval to do it again."
	case rule.ApprovalRejected:
		out.NextStep = "Do not do this, and do not try another way to the same end. Read the reason, and ask the user."
	case rule.ApprovalExpired:
		out.NextStep = "It was not used in time. Ask for another approval to do this."
	case rule.ApprovalWithdrawn:
		out.NextStep = "It was taken back. Do not do this; ask the user."
	}
	if a.Unanswered() {
		out.NextStep = "Nobody has decided in time. Do not do this; ask the user whether to ask again."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s. %s\n", out.State, out.NextStep)
	for _, d := range out.Decisions {
		said := "does not approve"
		if d.Approved {
			said = "approves"
		}
		fmt.Fprintf(&b, "- %s %s: %s\n", text.OneLine(d.By), said, text.OneLine(d.Reason))
	}
	fmt.Fprintf(&b, "Approval %s, %d of %d people have approved, to be decided until %s\n%s\n", out.ApprovalID, out.Given, out.Needed, out.ExpiresAt, out.URL)
	return out, b.String(), nil
}
