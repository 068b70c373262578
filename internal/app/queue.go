package app

import (
	"context"
	"fmt"
	"strings"

	"tenet/internal/discover"
	"tenet/internal/evaluate/record"
	"tenet/internal/queue"
	"tenet/internal/release"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// deciders pass the decisions of the queue on to the capabilities that they belong to.
func (p *parts) deciders() map[wire.QueueKind]queue.Decider {
	return map[wire.QueueKind]queue.Decider{
		wire.QueueRule: func(ctx context.Context, projectID, id string, action wire.QueueAction, reason string) (queue.Outcome, error) {
			to := map[wire.QueueAction]rule.Status{wire.QueueApprove: rule.Approved, wire.QueueReject: rule.Draft, wire.QueueReopen: rule.Review}[action]
			if to == "" {
				return queue.Outcome{}, queue.Unknown(wire.QueueRule, action)
			}
			_, err := p.catalog.Transition(ctx, projectID, id, 0, to, reason)
			return queue.Outcome{RuleID: id, Undo: to != rule.Review}, err
		},
		wire.QueueRevision: p.decideRevision,
		wire.QueueCandidate: func(ctx context.Context, projectID, id string, action wire.QueueAction, reason string) (queue.Outcome, error) {
			switch action {
			case wire.QueueApprove:
				done, err := discover.Triage{Discovery: p.discovery}.Approve(ctx, projectID, id, wire.CandidateApproval{})
				return queue.Outcome{RuleID: done.RuleID, Undo: true}, err
			case wire.QueueReject:
				_, err := discover.Triage{Discovery: p.discovery}.Dismiss(ctx, projectID, id, reason)
				return queue.Outcome{Undo: true}, err
			case wire.QueueReopen:
				_, err := discover.Triage{Discovery: p.discovery}.Reopen(ctx, projectID, id)
				return queue.Outcome{}, err
			case wire.QueueSettle:
			}
			return queue.Outcome{}, queue.Unknown(wire.QueueCandidate, action)
		},
		wire.QueueConflict: func(ctx context.Context, projectID, id string, action wire.QueueAction, reason string) (queue.Outcome, error) {
			var err error
			switch action {
			case wire.QueueApprove:
				_, err = p.conflicts.Confirm(ctx, projectID, id, reason)
			case wire.QueueReject:
				_, err = p.conflicts.Reject(ctx, projectID, id, reason)
			case wire.QueueReopen:
				_, err = p.conflicts.Reopen(ctx, projectID, id)
			default:
				err = queue.Unknown(wire.QueueConflict, action)
			}
			return queue.Outcome{Undo: action == wire.QueueReject}, err
		},
		wire.QueueWaiver: func(ctx context.Context, projectID, id string, action wire.QueueAction, _ string) (queue.Outcome, error) {
			var err error
			switch action {
			case wire.QueueApprove:
				_, err = p.waivers.Approve(ctx, projectID, id)
			case wire.QueueReject:
				_, err = p.waivers.Revoke(ctx, projectID, id)
			default:
				err = queue.Unknown(wire.QueueWaiver, action)
			}
			return queue.Outcome{}, err
		},
		wire.QueueSnapshot: func(ctx context.Context, projectID, id string, action wire.QueueAction, reason string) (queue.Outcome, error) {
			if action != wire.QueueApprove {
				return queue.Outcome{}, queue.Unknown(wire.QueueSnapshot, action)
			}
			_, err := p.releases.Approve(ctx, projectID, id, reason)
			return queue.Outcome{}, err
		},
		wire.QueueApproval: func(ctx context.Context, projectID, id string, action wire.QueueAction, reason string) (queue.Outcome, error) {
			switch action {
			case wire.QueueReject:
				_, err := p.approvals.Reject(ctx, projectID, id, reason)
				return queue.Outcome{}, err
			case wire.QueueApprove:
				return queue.Outcome{}, rule.Errorf(rule.CodeConflict, "an action is approved on its own page, by who has seen the whole of it: POST /api/v1/approvals/%s/approve", id)
			case wire.QueueSettle, wire.QueueReopen:
			}
			return queue.Outcome{}, queue.Unknown(wire.QueueApproval, action)
		},
	}
}

// decideRevision approves a revision, or rejects it; its author withdraws it.
func (p *parts) decideRevision(ctx context.Context, projectID, id string, action wire.QueueAction, reason string) (queue.Outcome, error) {
	ruleID, number, ok := store.ParseRevisionID(id)
	if !ok {
		return queue.Outcome{}, rule.NotFound("revision", id)
	}
	switch action {
	case wire.QueueApprove:
		_, err := p.revisions.Approve(ctx, projectID, ruleID, number, reason)
		return queue.Outcome{RuleID: ruleID}, err
	case wire.QueueReject:
		_, err := p.revisions.Decline(ctx, projectID, ruleID, number, reason)
		return queue.Outcome{RuleID: ruleID}, err
	default:
		return queue.Outcome{}, queue.Unknown(wire.QueueRevision, action)
	}
}

// awaited lists the snapshots that wait for approvals.
func awaited(ctx context.Context, from store.ReleaseReader, projectID string, limit int) ([]queue.Snapshot, error) {
	list, err := release.Awaiting(ctx, from, projectID, limit)
	out := make([]queue.Snapshot, len(list))
	for i := range list {
		a := &list[i]
		s := &a.Snapshot
		out[i] = queue.Snapshot{
			ProjectID: a.ProjectID, ID: s.ID, Name: s.Name, By: s.CreatedBy, Since: s.CreatedAt, Environment: a.Environment,
			Needed: a.Needed, Approvals: len(a.Approvals),
		}
		for _, given := range a.Approvals {
			out[i].ApprovedBy = append(out[i].ApprovedBy, given.Actor)
		}
	}
	return out, err
}

// describe says what recorded evaluations were about: their actions, or else their facts or files, and which rules ask for a confirmation. What records
// hold encrypted stays out of it, since the queue keeps it.
func (p *parts) describe(ctx context.Context, projectID string, seqs []int64) (map[int64]queue.Description, error) {
	entries, err := p.evaluator.Entries(ctx, projectID, seqs)
	if err != nil {
		return nil, err
	}
	found := make(map[int64]queue.Description, len(entries))
	for i := range entries {
		o, err := record.OutlineOf(&entries[i])
		switch {
		case record.IsPruned(err):
			found[entries[i].Seq] = queue.Description{Title: "An evaluation whose record was removed under the retention setting"}
		case err != nil:
			return nil, err
		default:
			found[entries[i].Seq] = descriptionOf(o)
		}
	}
	return found, nil
}

func descriptionOf(o *record.Outline) (d queue.Description) {
	switch {
	case o.Subject.Action != "":
		d.Title = o.Subject.Action
	case o.Subject.Intent != "":
		d.Title = o.Subject.Intent
	case len(o.Kinds) > 0:
		d.Title = "A subject of the kind " + strings.ReplaceAll(string(o.Kinds[0]), "_", " ")
	default:
		d.Title = "A subject of which nothing was kept"
	}
	uncertain := o.Count(rule.NeedsConfirmation)
	where := []string{text.Plural(uncertain, "rule") + " to be confirmed"}
	if uncertain == 0 && len(o.Evaluation.Notices) > 0 {
		where[0] = o.Evaluation.Notices[0]
	}
	for _, place := range [][2]string{{"in", o.Subject.Repository}, {"scope", o.Subject.Scope}} {
		if place[1] != "" {
			where = append(where, fmt.Sprintf("%s %s", place[0], place[1]))
		}
	}
	d.Detail = strings.Join(where, ", ")
	return d
}
