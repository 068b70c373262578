package retention

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Holds returns the legal holds of a project: those in force first, newest first.
func (k *Keeper) Holds(ctx context.Context, projectID string) ([]rule.LegalHold, error) {
	r, err := k.cfg.Read.Get(ctx, projectID)
	return r.Holds, err
}

// Hold returns a legal hold and the number of evaluations that it covers, or not_found.
func (k *Keeper) Hold(ctx context.Context, projectID, id string) (rule.LegalHold, error) {
	r, err := k.cfg.Read.Get(ctx, projectID)
	if err != nil {
		return rule.LegalHold{}, err
	}
	i := find(r.Holds, id)
	if i < 0 {
		return rule.LegalHold{}, rule.NotFound("legal hold", id)
	}
	h := r.Holds[i]
	n, err := k.cfg.Index.Covered(ctx, projectID, &h)
	h.Evaluations = &n
	return h, err
}

func find(list []rule.LegalHold, id string) int {
	return slices.IndexFunc(list, func(h rule.LegalHold) bool { return h.ID == strings.ToLower(id) })
}

// Place makes a legal hold. From then on, no job deletes what it covers.
func (k *Keeper) Place(ctx context.Context, projectID string, in wire.PlaceHold) (rule.LegalHold, error) {
	h := rule.LegalHold{
		ID: audit.NewID(), Reason: strings.TrimSpace(in.Reason), Rule: strings.TrimSpace(in.Rule), Scope: rule.CleanScope(in.Scope), NodeID: strings.TrimSpace(in.NodeID),
		Repository: strings.TrimSpace(in.Repository), Actor: strings.TrimSpace(in.Actor), Since: in.Since, Until: in.Until,
	}
	if err := validateHold(&h); err != nil {
		return rule.LegalHold{}, err
	}
	if err := k.findNode(ctx, projectID, &h); err != nil {
		return rule.LegalHold{}, err
	}
	covered, err := k.cfg.Index.Covered(ctx, projectID, &h)
	if err != nil {
		return rule.LegalHold{}, err
	}
	_, err = k.change(ctx, projectID, func(c *changing) error {
		if len(c.next.InForce()) >= rule.MaxHolds {
			return rule.Errorf(rule.CodeConflict, "the project has %d legal holds in force, and more are not possible; lift one, or place a wider one", rule.MaxHolds)
		}
		h.PlacedAt, h.PlacedBy = c.at, c.by
		c.next.Holds = append(c.next.Holds, h)
		sortHolds(c.next.Holds)
		c.action, c.reason, c.hold = "placed", h.Reason, &h
		return nil
	})
	h.Evaluations = &covered
	return h, err
}

func validateHold(h *rule.LegalHold) error {
	var p rule.Problems
	checkReason(&p, h.Reason, "say why the records must be kept")
	if h.Since != nil && h.Until != nil && !h.Until.After(*h.Since) {
		p.Add("until", "is not after since")
	}
	return p.Err("the legal hold is invalid")
}

// findNode puts the id of the federation node of a hold in place of its path. A node that is gone can be held if records name it.
func (k *Keeper) findNode(ctx context.Context, projectID string, h *rule.LegalHold) error {
	id, exists, err := k.cfg.Node(ctx, projectID, h.NodeID)
	if err != nil || exists || id == "" {
		h.NodeID = id
		return err
	}
	named, err := k.cfg.Index.Covered(ctx, projectID, &rule.LegalHold{NodeID: id})
	if err != nil || named > 0 {
		h.NodeID = id
		return err
	}
	var p rule.Problems
	p.Add("node_id", "is %q, which is no federation node, and no record names it; give a path such as acme/payments, or an id", h.NodeID)
	return p.Err("the legal hold is invalid")
}

func checkReason(p *rule.Problems, reason, hint string) {
	if reason == "" {
		p.Add("reason", "is empty; %s", hint)
	}
	if n := utf8.RuneCountInString(reason); n > rule.MaxWaiverReason {
		p.Add("reason", "has %d characters; at most %d are allowed", n, rule.MaxWaiverReason)
	}
}

// Lift ends a legal hold, with a reason. What it has covered is deleted by the next jobs if its time is over. Lifting it again is a conflict.
func (k *Keeper) Lift(ctx context.Context, projectID, id, reason string) (rule.LegalHold, error) {
	reason = strings.TrimSpace(reason)
	var p rule.Problems
	checkReason(&p, reason, "say why the records need not be kept any more")
	if err := p.Err("the legal hold is invalid"); err != nil {
		return rule.LegalHold{}, err
	}
	var h rule.LegalHold
	_, err := k.change(ctx, projectID, func(c *changing) error {
		i := find(c.next.Holds, id)
		if i < 0 {
			return rule.NotFound("legal hold", id)
		}
		if h = c.next.Holds[i]; h.LiftedAt != nil {
			return rule.Errorf(rule.CodeConflict, "%s has lifted this legal hold already", h.LiftedBy)
		}
		at := c.at
		h.LiftedAt, h.LiftedBy, h.LiftReason = &at, c.by, reason
		c.next.Holds[i] = h
		c.next.Lifts++
		sortHolds(c.next.Holds)
		if n := len(c.next.InForce()) + rule.MaxHolds; len(c.next.Holds) > n {
			c.next.Holds = c.next.Holds[:n]
		}
		c.action, c.reason, c.hold = "lifted", reason, &h
		return nil
	})
	if err != nil {
		return rule.LegalHold{}, err
	}
	return k.Hold(ctx, projectID, h.ID)
}
