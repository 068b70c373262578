package queue

import (
	"context"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

const (
	// MaxItems bounds the items of one request.
	MaxItems = 500

	maxReason   = 1000 // characters
	maxAssignee = 200  // characters
	maxSnooze   = 366 * 24 * time.Hour
)

// Outcome says where a decision has led.
type Outcome struct {
	RuleID string // the rule that a candidate has become
	Undo   bool   // whether reopen takes it back
}

// Decider carries out a decision on one thing.
type Decider func(ctx context.Context, projectID, id string, action wire.QueueAction, reason string) (Outcome, error)

// offered are the actions for things that wait, by kind. What is taken back does not wait any more.
var offered = map[wire.QueueKind][]wire.QueueAction{
	wire.QueueRule:       {wire.QueueApprove, wire.QueueReject},
	wire.QueueRevision:   {wire.QueueApprove, wire.QueueReject},
	wire.QueueCandidate:  {wire.QueueApprove, wire.QueueReject},
	wire.QueueConflict:   {wire.QueueApprove, wire.QueueReject},
	wire.QueueWaiver:     {wire.QueueApprove, wire.QueueReject},
	wire.QueueSnapshot:   {wire.QueueApprove},
	wire.QueueApproval:   {wire.QueueReject},
	wire.QueueEvaluation: {wire.QueueSettle},
}

// Unknown is the error for an action that a kind does not have.
func Unknown(kind wire.QueueKind, action wire.QueueAction) error {
	return rule.Errorf(rule.CodeConflict, "there is no %s for a thing of the kind %s", action, kind)
}

// Decide decides on things, each for itself. An item without a project is one of projectID. The error is invalid for a bad request, and
// the fault of the server if it meets one at the first item; all else that fails is in the result of its item.
func (q *Queue) Decide(ctx context.Context, projectID string, d wire.DecideQueue) (wire.QueueDecided, error) {
	var p rule.Problems
	count(&p, d.Items)
	d.Reason = strings.TrimSpace(d.Reason)
	switch {
	case utf8.RuneCountInString(d.Reason) > maxReason || strings.ContainsRune(d.Reason, 0):
		p.Add("reason", "must be a text of at most %d characters", maxReason)
	case d.Reason == "" && (d.Action == wire.QueueReject || d.Action == wire.QueueSettle):
		p.Add("reason", "is missing; say why, for those who come later")
	}
	if err := p.Err("the decision is invalid"); err != nil {
		return wire.QueueDecided{}, err
	}
	return q.each(ctx, d.Items, func(ref wire.QueueRef) (Outcome, error) { return q.decide(ctx, projectID, ref, d.Action, d.Reason) })
}

// each does something with each item, for itself. A fault that is none of an item, such as one of the database, fails that item and those
// after it, which are not tried: the results of those before stand. At the first item it is the error of the whole.
func (q *Queue) each(ctx context.Context, items []wire.QueueRef, do func(wire.QueueRef) (Outcome, error)) (wire.QueueDecided, error) {
	out := wire.QueueDecided{Results: make([]wire.QueueResult, 0, len(items))}
	for i, ref := range items {
		done, err := do(ref)
		switch code := rule.CodeOf(err); code {
		case "":
			out.Results = append(out.Results, wire.QueueResult{QueueRef: ref, Status: "done", RuleID: done.RuleID, Undo: done.Undo})
			out.Done++
		case rule.CodeInternal, rule.CodeUnavailable:
			if i == 0 {
				return wire.QueueDecided{}, err
			}
			q.cfg.Logger.ErrorContext(ctx, "a decision of the queue met a fault", slog.String("kind", string(ref.Kind)), slog.String("id", ref.ID), slog.Any("error", err))
			text := "the server met a fault here; look whether the item still waits, and send it again"
			for _, rest := range items[i:] {
				out.Results = append(out.Results, wire.QueueResult{QueueRef: rest, Status: "failed", Code: string(rule.CodeUnavailable), Error: text})
				out.Failed++
				text = "not tried, because the server met a fault before; send it again"
			}
			return out, nil
		default:
			out.Results = append(out.Results, wire.QueueResult{QueueRef: ref, Status: "failed", Code: string(code), Error: err.Error()})
			out.Failed++
		}
	}
	return out, nil
}

func count(p *rule.Problems, items []wire.QueueRef) {
	if len(items) == 0 || len(items) > MaxItems {
		p.Add("items", "has %d entries; give 1 to %d", len(items), MaxItems)
	}
}

func (q *Queue) decide(ctx context.Context, projectID string, ref wire.QueueRef, action wire.QueueAction, reason string) (Outcome, error) {
	ref, err := q.allowed(ctx, projectID, ref)
	if err != nil {
		return Outcome{}, err
	}
	if ref.Kind == wire.QueueEvaluation {
		return q.settle(ctx, ref, action, reason)
	}
	return q.cfg.Deciders[ref.Kind](ctx, ref.ProjectID, ref.ID, action, reason)
}

// allowed completes the name of a thing, and refuses one that the caller may not decide on.
func (q *Queue) allowed(ctx context.Context, projectID string, ref wire.QueueRef) (wire.QueueRef, error) {
	if ref.ProjectID == "" {
		ref.ProjectID = projectID
	}
	if err := ctx.Err(); err != nil {
		return ref, err
	}
	if !rule.ValidProjectID(ref.ProjectID) || auth.ActorFrom(ctx).May(auth.Viewer, ref.ProjectID) != nil {
		return ref, rule.NotFound("project", ref.ProjectID)
	}
	if err := auth.ActorFrom(ctx).May(auth.Reviewer, ref.ProjectID); err != nil {
		return ref, err
	}
	named := rule.IsID(ref.ID)
	if ref.Kind == wire.QueueRevision {
		_, _, named = store.ParseRevisionID(ref.ID)
	}
	if offered[ref.Kind] == nil || !named {
		return ref, rule.NotFound(string(ref.Kind), ref.ID)
	}
	ref.ID = strings.ToLower(ref.ID)
	return ref, nil
}

// settle ends the wait of an evaluation for an answer, or begins it again.
func (q *Queue) settle(ctx context.Context, ref wire.QueueRef, action wire.QueueAction, reason string) (Outcome, error) {
	if action != wire.QueueSettle && action != wire.QueueReopen {
		return Outcome{}, Unknown(ref.Kind, action)
	}
	now, who := rule.Instant(q.cfg.Now()), auth.ActorFrom(ctx).Name
	err := q.cfg.Store.Update(ctx, func(tx store.Tx) error {
		switch e, err := tx.Audit.Get(ctx, ref.ProjectID, ref.ID); {
		case rule.CodeOf(err) == rule.CodeNotFound, err == nil && e.Kind != audit.KindEvaluation:
			return rule.NotFound(string(ref.Kind), ref.ID)
		case err != nil:
			return err
		}
		m, err := tx.Queue.Mark(ctx, ref.ProjectID, string(ref.Kind), ref.ID)
		if err != nil {
			return err
		}
		switch {
		case action == wire.QueueReopen && m.SettledAt == nil:
			return nil
		case action == wire.QueueReopen:
			m.SettledAt, m.SettledBy, m.Note = nil, "", ""
		case m.SettledAt != nil:
			return rule.Errorf(rule.CodeConflict, "%s has settled this evaluation already", m.SettledBy)
		default:
			m.SettledAt, m.SettledBy, m.Note = &now, who, reason
		}
		if err := tx.Queue.PutMark(ctx, m); err != nil {
			return err
		}
		return audit.Append(ctx, tx, ref.ProjectID, audit.Record{Kind: audit.KindQueue, At: now, Actor: who, Body: audit.JSON(map[string]any{
			"action": string(action), "evaluation_id": ref.ID, "reason": reason,
		})})
	})
	return Outcome{Undo: action == wire.QueueSettle}, err
}

// Mark says who takes care of things, and until when they are put aside. Errors are as of [Queue.Decide].
func (q *Queue) Mark(ctx context.Context, projectID string, in wire.MarkQueue) (wire.QueueDecided, error) {
	now := rule.Instant(q.cfg.Now())
	var p rule.Problems
	count(&p, in.Items)
	if in.Assignee == nil && in.SnoozedUntil == nil {
		p.Add("assignee", "is missing, and so is snoozed_until; give one or both")
	}
	if in.Assignee != nil {
		name := strings.TrimSpace(*in.Assignee)
		if name == "me" {
			name = auth.ActorFrom(ctx).Name
		}
		if in.Assignee = &name; utf8.RuneCountInString(name) > maxAssignee || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
			p.Add("assignee", "must be a name of at most %d characters on one line", maxAssignee)
		}
	}
	if in.SnoozedUntil != nil && in.SnoozedUntil.Sub(now) > maxSnooze {
		p.Add("snoozed_until", "is more than a year from now")
	}
	if err := p.Err("the mark is invalid"); err != nil {
		return wire.QueueDecided{}, err
	}
	return q.each(ctx, in.Items, func(ref wire.QueueRef) (Outcome, error) { return Outcome{}, q.mark(ctx, projectID, ref, &in, now) })
}

func (q *Queue) mark(ctx context.Context, projectID string, ref wire.QueueRef, in *wire.MarkQueue, now time.Time) error {
	ref, err := q.allowed(ctx, projectID, ref)
	if err != nil {
		return err
	}
	return q.cfg.Store.Update(ctx, func(tx store.Tx) error {
		m, err := tx.Queue.Mark(ctx, ref.ProjectID, string(ref.Kind), ref.ID)
		if err != nil {
			return err
		}
		if in.Assignee != nil {
			m.Assignee = *in.Assignee
		}
		if in.SnoozedUntil != nil {
			m.SnoozedUntil = nil
			if until := rule.Instant(*in.SnoozedUntil); until.After(now) {
				m.SnoozedUntil = &until
			}
		}
		return tx.Queue.PutMark(ctx, m)
	})
}
