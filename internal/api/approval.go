package api

import (
	"context"
	"net/http"
	"time"

	"tenet/internal/api/rest"
	"tenet/internal/approval"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Approvals serves the confirmations of people.
type Approvals struct{ Approvals approval.Asking }

const approvalEvents = "approval (the approval, at once and after each change), then done (the approval, which is not pending any more) or error (a problem)."

// approvalRef names an approval in a path.
type approvalRef struct {
	ID string `path:"id" doc:"Id of the approval."`
}

// Routes implements [rest.Resource].
func (s Approvals) Routes(r *rest.Router) {
	r = r.Tag(approvalTag)
	rest.HandleBody(r, rest.Operation{
		ID: "create-approval", Route: op.CreateApproval.Route(), Role: auth.Evaluator, Status: http.StatusCreated, Summary: "Ask people to confirm an evaluation",
		Description: "For an evaluation whose overall verdict is NEEDS_CONFIRMATION; never for a DENY. The approval is bound to the hash of the subject, to the rules to be " +
			"confirmed with what they say, to the project and to the caller of the evaluation, who alone can use it: the next evaluation of the same subject is then ALLOW. " +
			"If such an approval waits already, it is the answer. POST /api/v1/evaluate does the same at once with request_approval.",
	}, func(ctx context.Context, _ *rest.None, body *wire.CreateApproval) (rest.Created[rule.Approval], error) {
		a, err := s.Approvals.Ask(ctx, rest.Project(ctx), *body)
		return rest.At(ctx, op.GetApproval.Path, a.ID, a), err
	})
	rest.Handle(r, rest.Operation{
		ID: "list-approvals", Route: op.ListApprovals.Route(), Role: auth.Viewer, Summary: "List approvals",
		Description: "Newest first. Pages go by page, or by cursor, which what is asked for meanwhile does not move. actions says what the caller may do with each.",
	}, func(ctx context.Context, in *wire.ApprovalQuery) (wire.ApprovalPage, error) {
		return s.Approvals.List(ctx, rest.Project(ctx), *in)
	})
	rest.Handle(r, rest.Operation{
		ID: "get-approval", Route: op.GetApproval.Route(), Role: auth.Viewer, Summary: "Get an approval, or wait for its decision",
		Description: "With the complete action, and the same as texts in which characters that people cannot see are written out. With wait the answer comes once the " +
			"approval is not pending any more, or when the time is over, and leaves out the action. With `Accept: text/event-stream` each change is sent.",
	}, s.get).Streams(approvalEvents)
	decide := func(do func(ctx context.Context, projectID, id, reason string) (rule.Approval, error),
	) func(context.Context, *approvalRef, *wire.DecideApproval) (rule.Approval, error) {
		return func(ctx context.Context, in *approvalRef, body *wire.DecideApproval) (rule.Approval, error) {
			return do(ctx, rest.Project(ctx), in.ID, body.Reason)
		}
	}
	rest.HandleBody(r, rest.Operation{
		ID: "approve-approval", Route: op.ApproveApproval.Route(), Role: auth.Reviewer, Status: http.StatusOK, Summary: "Approve an action",
		Description: "403 for the requester and the person whom its key belongs to, and for those whom the project's policy does not name; 409 if the approval is not " +
			"pending, or the caller has approved it already. It stays pending until as many people have approved as quorum says.",
	}, decide(s.Approvals.Approve))
	rest.HandleBody(r, rest.Operation{
		ID: "reject-approval", Route: op.RejectApproval.Route(), Role: auth.Reviewer, Status: http.StatusOK, Summary: "Reject an action",
		Description: "One rejection is enough. Errors are as for approve.",
	}, decide(s.Approvals.Reject))
	rest.HandleBody(r, rest.Operation{
		ID: "withdraw-approval", Route: op.WithdrawApproval.Route(), Role: auth.Evaluator, Status: http.StatusOK, Summary: "Take an approval back",
		Description: "For the requester, who has asked for it, and those who may decide, as long as it is pending or not used up.",
	}, decide(s.Approvals.Withdraw))
}

func (s Approvals) get(ctx context.Context, in *struct {
	approvalRef
	wire.ApprovalWait
},
) (*wire.ApprovalDetail, error) {
	project := rest.Project(ctx)
	if in.Signature != "" || in.Until != 0 {
		if err := s.Approvals.CheckLink(ctx, project, in.ID, in.Until, in.Signature); err != nil {
			return nil, err
		}
	}
	if rest.WantsEvents(ctx) {
		return nil, s.stream(ctx, project, in.ID)
	}
	if in.Wait == "" {
		return s.Approvals.Detail(ctx, project, in.ID)
	}
	wait, err := time.ParseDuration(in.Wait)
	if err != nil || wait < 0 || wait > wire.MaxApprovalWait {
		return nil, rest.InvalidField("wait", "is %q; give a time of 0s to %s, such as 30s", in.Wait, "2m")
	}
	a, err := s.Approvals.Wait(ctx, project, in.ID, wait)
	return &wire.ApprovalDetail{Approval: a}, err
}

// stream sends an approval after each change, until it is not pending any more.
func (s Approvals) stream(ctx context.Context, project, id string) error {
	if _, err := s.Approvals.Get(ctx, project, id); err != nil {
		return err
	}
	events, live := rest.OpenStream(ctx)
	defer events.End()
	var last rule.Approval
	err := s.Approvals.Watch(live, project, id, func(a rule.Approval) {
		if last = a; a.State == rule.ApprovalPending {
			events.Send("approval", wire.ApprovalDetail{Approval: a})
		}
	})
	return events.Finish(ctx, wire.ApprovalDetail{Approval: last}, err)
}
