package approval

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Actions that a caller may take.
const (
	actionApprove  = "approve"
	actionReject   = "reject"
	actionWithdraw = "withdraw"
)

// checkReason returns a reason in its stored form, and notes what is wrong with it.
func checkReason(p *rule.Problems, reason string, needed bool) string {
	reason = strings.TrimSpace(reason)
	switch n := utf8.RuneCountInString(reason); {
	case !utf8.ValidString(reason) || strings.ContainsRune(reason, 0):
		p.Add("reason", "must be text in UTF-8 without NUL characters")
	case n > rule.MaxApprovalReason:
		p.Add("reason", "has %d characters; at most %d are allowed", n, rule.MaxApprovalReason)
	case n == 0 && needed:
		p.Add("reason", "is missing; say why, for those who come later")
	}
	return reason
}

// Approve adds the approval of the caller. With the last that is needed the approval can be used. It is forbidden to the requester, to the
// person whom the requester's key belongs to, and to those whom the policy does not name; it is a conflict if the approval is not pending, or
// if the caller has approved it already.
func (s *Approvals) Approve(ctx context.Context, projectID, id, reason string) (rule.Approval, error) {
	return s.change(ctx, projectID, id, reason, actionApprove, func(a *store.ApprovalRecord, d rule.ApprovalDecision) string {
		d.Approve = true
		a.Decisions = append(a.Decisions, d)
		if len(a.Approvals()) < a.Quorum {
			return "endorsed"
		}
		a.State, a.DecidedAt, a.DecidedBy = rule.ApprovalApproved, &d.At, d.By
		if a.ValidUntil == nil {
			until := d.At.Add(rule.DefaultApprovalTime)
			a.ValidUntil = &until
		}
		return "approved"
	})
}

// Reject ends an approval: one rejection is enough. Errors are as of [Approvals.Approve].
func (s *Approvals) Reject(ctx context.Context, projectID, id, reason string) (rule.Approval, error) {
	return s.change(ctx, projectID, id, reason, actionReject, func(a *store.ApprovalRecord, d rule.ApprovalDecision) string {
		a.Decisions = append(a.Decisions, d)
		a.State, a.DecidedAt, a.DecidedBy = rule.ApprovalRejected, &d.At, d.By
		return "rejected"
	})
}

// Withdraw takes an approval back that is pending or not used up: by the requester or who asked for it, or by a person who may decide.
func (s *Approvals) Withdraw(ctx context.Context, projectID, id, reason string) (rule.Approval, error) {
	return s.change(ctx, projectID, id, reason, actionWithdraw, func(a *store.ApprovalRecord, d rule.ApprovalDecision) string {
		a.Decisions = append(a.Decisions, d)
		a.State, a.DecidedAt, a.DecidedBy = rule.ApprovalWithdrawn, &d.At, d.By
		return "withdrawn"
	})
}

// change makes a transition of an approval in one transaction. decide returns the action for the audit chain.
func (s *Approvals) change(
	ctx context.Context, projectID, id, reason, action string, decide func(a *store.ApprovalRecord, d rule.ApprovalDecision) string,
) (rule.Approval, error) {
	if !rule.IsID(id) {
		return rule.Approval{}, rule.NotFound("approval", id)
	}
	view, err := s.cfg.Views.View(ctx, projectID)
	if err != nil {
		return rule.Approval{}, err
	}
	who := auth.ActorFrom(ctx)
	var a store.ApprovalRecord
	err = s.cfg.Store.Update(ctx, func(tx store.Tx) error {
		// The chain is locked first, as evaluations do that use an approval.
		if _, err := tx.Audit.Lock(ctx, projectID); err != nil {
			return err
		}
		if a, err = s.cfg.hold(ctx, tx, projectID, id); err != nil {
			return err
		}
		now := rule.Instant(s.cfg.Now())
		if err := allowed(&a, who, action, now); err != nil {
			return err
		}
		var p rule.Problems
		reason := checkReason(&p, reason, action != actionWithdraw || !asked(&a, who))
		if err := p.Err("the decision is invalid"); err != nil {
			return err
		}
		noted := decide(&a, rule.ApprovalDecision{By: who.Name, Owner: who.Owner, Reason: reason, At: now, Substitute: substitutes(&a, who.Name)})
		a.Revision++
		if err := tx.Approvals.Update(ctx, a); err != nil {
			return err
		}
		var e rule.Event
		if noted != "endorsed" {
			e = s.event(rule.ApprovalDecided, &a, view)
		}
		return s.note(ctx, tx, noted, who.Name, &a, e)
	})
	if err != nil {
		return rule.Approval{}, err
	}
	s.Changed(projectID, id)
	return s.answer(ctx, &a), nil
}

// actionsOf lists what an actor may do with an approval; nil for nothing.
func actionsOf(a *store.ApprovalRecord, who auth.Actor, now time.Time) (list []string) {
	for _, action := range []string{actionApprove, actionReject, actionWithdraw} {
		if allowed(a, who, action, now) == nil {
			list = append(list, action)
		}
	}
	return list
}

// allowed returns why an actor may not take an action now; nil if it may.
func allowed(a *store.ApprovalRecord, who auth.Actor, action string, now time.Time) error {
	state := a.At(now)
	switch {
	case action == actionWithdraw && (state == rule.ApprovalPending || state == rule.ApprovalApproved):
		if asked(a, who) {
			return nil
		}
		return mayDecide(a, who, now)
	case a.Lapsed(now) || state == rule.ApprovalExpired || a.Unanswered():
		return rule.Errorf(rule.CodeConflict, "the time of this approval has run out; ask for a new one")
	case state != rule.ApprovalPending && a.DecidedBy != "":
		return rule.Errorf(rule.CodeConflict, "this approval is %s already, by %s", state, a.DecidedBy)
	case state != rule.ApprovalPending:
		return rule.Errorf(rule.CodeConflict, "this approval is %s already", state)
	}
	if err := mayDecide(a, who, now); err != nil {
		return err
	}
	if slices.ContainsFunc(a.Decisions, func(d rule.ApprovalDecision) bool { return d.Approve && same(who, d.By, d.Owner) }) && action == actionApprove {
		return rule.Errorf(rule.CodeConflict, "you have approved this already; it takes %d people", a.Quorum)
	}
	return nil
}

// same reports whether an actor is one with a name, or may belong to the same person as that one's owner.
func same(who auth.Actor, name, owner string) bool {
	if rule.FoldName(who.Name) == rule.FoldName(name) {
		return true
	}
	for _, mine := range []string{who.Name, who.Owner} {
		if rule.SamePerson(mine, owner) || rule.SamePerson(mine, name) {
			return true
		}
	}
	return false
}

// asked reports whether an actor is the requester, its owner, the person for whom it acts, or who has asked for the approval.
func asked(a *store.ApprovalRecord, who auth.Actor) bool {
	return same(who, a.Requester, a.RequesterOwner) || (a.Person != "" && same(who, a.Person, "")) || (a.AskedBy != "" && same(who, a.AskedBy, ""))
}

// mayDecide returns why an actor may not decide on an approval; nil if it may.
func mayDecide(a *store.ApprovalRecord, who auth.Actor, now time.Time) error {
	if err := who.May(auth.Role(a.Role), a.ProjectID); err != nil {
		return err
	}
	if asked(a, who) {
		return rule.Errorf(rule.CodeForbidden,
			"%s has asked for this; another person must decide, with a key or sign-in of their own (on a server without keys there is nobody else: make keys with `tenet keys create`)", who.Name)
	}
	escalated := a.EscalateAt != nil && !now.Before(*a.EscalateAt)
	for _, g := range a.Groups {
		if !slices.Contains(g.Approvers, who.Name) && (!escalated || !slices.Contains(g.Substitutes, who.Name)) {
			return rule.Errorf(rule.CodeForbidden, "the project's policy lets %s decide on this", strings.Join(g.Approvers, ", "))
		}
	}
	return nil
}

// substitutes reports whether somebody may decide only as a substitute.
func substitutes(a *store.ApprovalRecord, name string) bool {
	return slices.ContainsFunc(a.Groups, func(g rule.ApprovalGroup) bool { return !slices.Contains(g.Approvers, name) })
}
