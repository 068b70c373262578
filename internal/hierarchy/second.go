package hierarchy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// In a project with two_person_approval, nobody alone weakens what the guard of the federation protects: the change is made once other people have
// approved exactly this change, and its author repeats it.

// Approvals keeps the confirmations of people; approval.Approvals is one.
type Approvals interface {
	// Open returns the approvals of a change, by its hash, that are pending or can be used, oldest first.
	Open(ctx context.Context, projectID, hash string) ([]rule.Approval, error)
	// Prepare completes a new approval; insert stores it in a transaction.
	Prepare(ctx context.Context, a rule.Approval, terms wire.ApprovalTerms) (made rule.Approval, insert func(ctx context.Context, tx store.Tx) error, err error)
	// Use takes one use of an approval in a transaction, or returns conflict if it cannot be used any more.
	Use(ctx context.Context, tx store.Tx, projectID, id, requester, evaluationID string) error
}

// Ask has weakenings approved by people from then on; without it, projects with two_person_approval refuse them. db stores what is asked for.
func (h *Hierarchy) Ask(a Approvals, db store.Updater) { h.approvals, h.db = a, db }

// agreement is a change that people may have to approve.
type agreement struct {
	*Hierarchy
	projectID string
	preview   wire.PreviewNodes
	node      NodeInput
}

// make makes the change. If it weakens something, and the project demands a second person, it is made with an approval of exactly this change, or
// asks for one; the error is then a conflict that says so.
func (h agreement) make(ctx context.Context, p rule.Permission, do func(p rule.Permission) error) error {
	err := do(p)
	if !p.AllowWeakening || !errors.Is(err, rule.ErrWeakening) {
		return err
	}
	if h.approvals == nil {
		return rule.Errorf(rule.CodeUnavailable, "this server keeps no approvals, and the project demands that a second person agrees")
	}
	a, draftErr := h.draft(ctx, p, err)
	if draftErr != nil {
		return draftErr
	}
	open, err := h.approvals.Open(ctx, h.projectID, a.SubjectHash)
	if err != nil {
		return err
	}
	for i := range open {
		switch one := &open[i]; {
		case one.Requester != a.Requester:
		case one.State == rule.ApprovalApproved:
			p.Approved = one.Applied()
			return do(p)
		default:
			return waits(one)
		}
	}
	made, insert, err := h.approvals.Prepare(ctx, a, wire.ApprovalTerms{Reason: p.Reason, ExpiresIn: rule.MaxApprovalWait.String()})
	if err != nil {
		return err
	}
	if err := h.db.Update(ctx, func(tx store.Tx) error { return insert(ctx, tx) }); err != nil {
		return err
	}
	return waits(&made)
}

// waits is the error about a change that other people must approve.
func waits(a *rule.Approval) error {
	return rule.Errorf(rule.CodeConflict, "another person must approve this change: it waits as the approval %s until %s; make the same change again once it is approved (%s)",
		a.ID, a.ExpiresAt.UTC().Format("2006-01-02 15:04 UTC"), a.Title)
}

// draft returns an approval of a change. Its hash covers the change, the reason, and the rules that end by it as they are now. refused is the error of the
// guard.
func (h agreement) draft(ctx context.Context, p rule.Permission, refused error) (a rule.Approval, err error) {
	in := &h.preview
	in.WeakeningInput = wire.WeakeningInput{AllowWeakening: true, Reason: p.Reason}
	effect, err := h.Preview(ctx, h.projectID, in, h.node)
	if err != nil {
		return a, err
	}
	view, err := h.views.View(ctx, h.projectID)
	if err != nil {
		return a, err
	}
	who := auth.ActorFrom(ctx)
	a = rule.Approval{
		ProjectID: h.projectID, SubjectKind: rule.FederationChange, NodeID: in.NodeID, Requester: who.Name, RequesterOwner: who.Owner, Rules: []rule.ApprovalRule{},
		Change: map[string]string{"change": in.Action, "reason": p.Reason},
	}
	why, _ := strings.CutSuffix(refused.Error(), "; "+rule.ErrWeakening.Error())
	named := map[string]bool{}
	add := func(id, why string) string {
		e, ok := view.Get(id)
		if !ok {
			return id
		}
		if r := e.Rule; !named[r.ID] && why != "" {
			named[r.ID] = true
			a.Rules = append(a.Rules, rule.ApprovalRule{
				RuleID: r.ID, RuleSlug: r.Slug, Version: r.Version, ContentHash: e.ContentHash(), Statement: r.Statement, Severity: r.Severity, Why: why,
			})
		}
		return e.Rule.Label()
	}
	at := view.Federation().Path(in.NodeID)
	switch name := h.node.Name; in.Action {
	case previewAttach:
		a.Title = "Attach " + add(in.RuleID, "") + " to " + at
		a.Change["rule"] = in.RuleID
		if in.OverrideID != "" {
			a.Title += " in place of " + add(in.OverrideID, why)
			a.Change["in place of"] = in.OverrideID
		}
	case previewDetach:
		a.Title = "Take " + add(in.RuleID, "") + " off " + at
		a.Change["rule"] = in.RuleID
	case previewCreate:
		a.Title = "Create a node"
		if name != nil {
			a.Title = "Create the node " + *name
		}
	case previewDelete:
		a.Title = "Delete the node " + at
	default:
		a.Title = "Change the node " + at
	}
	if at != "" {
		a.Change["node"] = at + " (" + in.NodeID + ")"
	}
	h.node.describe(a.Change)
	if effect.Silenced != nil {
		a.Change["effect"] = effect.Silenced.String()
		for _, s := range effect.Silenced.Rules {
			if s.Guarded {
				add(s.RuleID, "it would no longer hold at "+s.At)
			}
		}
	}
	if len(a.Rules) == 0 {
		a.Change["effect"] = why
	}
	sum := sha256.Sum256(audit.JSON(map[string]any{"federation change": a.Change, "project": h.projectID, "node": in.NodeID, "rules": a.Rules, "silenced": effect.Silenced}))
	a.SubjectHash = hex.EncodeToString(sum[:])
	return a, nil
}

// describe adds the fields of a node to be written.
func (in *NodeInput) describe(to map[string]string) {
	for field, value := range map[string]*string{"name": in.Name, "parent": in.ParentID, "description": in.Description, "default scope": in.DefaultScope, "level": (*string)(in.Level)} {
		if value != nil {
			to[field] = *value
		}
	}
	if in.Repositories != nil {
		to["repositories"] = strings.Join(*in.Repositories, ", ")
	}
	if in.OwnRulesOnly != nil {
		to["only its own rules"] = map[bool]string{true: "yes", false: "no"}[*in.OwnRulesOnly]
	}
}

// permission returns a permission as it counts in the project of the edit: where a second person is demanded, nobody weakens anything without an approval.
func (e *edit) permission(p rule.Permission) rule.Permission { return counting(&e.Project, p) }

func counting(project *rule.Project, p rule.Permission) rule.Permission {
	if project.TwoPerson && p.Approved == nil {
		p.AllowWeakening = false
	}
	return p
}

// use takes the use of the approval by which a change is made, if there is one.
func (e *edit) use(ctx context.Context, p rule.Permission) error {
	if p.Approved == nil {
		return nil
	}
	return e.approvals.Use(ctx, e.Tx, e.Project.ID, p.Approved.ID, e.By, "")
}
