package catalog

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// NewWaiver asks for a waiver.
type NewWaiver struct {
	Rule        string // id or slug
	Fingerprint string // of the verdict
	Reason      string
	ExpiresAt   time.Time
	Approver    string // who is asked to approve it; may be empty
}

// CreateWaiver makes a waiver. For a rule that is CRITICAL it covers nothing until [Catalog.ApproveWaiver] has been called by
// another person.
func (c *Catalog) CreateWaiver(ctx context.Context, projectID string, in NewWaiver) (rule.Waiver, error) {
	now := c.instant()
	if err := in.validate(now); err != nil {
		return rule.Waiver{}, err
	}
	var made rule.Waiver
	err := c.change(ctx, projectID, func(tx store.Tx, _ rule.Project, _ int64) error {
		r, err := tx.Rule(ctx, projectID, in.Rule)
		if rule.CodeOf(err) == rule.CodeNotFound {
			var p rule.Problems
			p.Add("rule_id", "there is no rule %q in project %q", in.Rule, projectID)
			return p.Err("the waiver is invalid")
		}
		if err != nil {
			return err
		}
		made = rule.Waiver{
			ID: audit.NewID(), ProjectID: projectID, RuleID: r.ID, Severity: r.Severity, Fingerprint: in.Fingerprint, Reason: in.Reason,
			Approver: in.Approver, ExpiresAt: in.ExpiresAt.UTC().Truncate(time.Microsecond), CreatedAt: now, CreatedBy: auth.ActorFrom(ctx).Name,
		}
		if err := tx.InsertWaiver(ctx, made); err != nil {
			return err
		}
		return c.noteWaiver(ctx, tx, "created", made)
	})
	return judgedAt(made, now), err
}

func (in *NewWaiver) validate(now time.Time) error {
	var p rule.Problems
	in.Reason, in.Approver = strings.TrimSpace(in.Reason), strings.TrimSpace(in.Approver)
	in.Fingerprint = strings.ToLower(strings.TrimSpace(in.Fingerprint))
	if len(in.Fingerprint) != 64 || strings.Trim(in.Fingerprint, "0123456789abcdef") != "" {
		p.Add("fingerprint", "is not the fingerprint of a verdict; take it from the verdict that is to be waived")
	}
	if in.Reason == "" {
		p.Add("reason", "is empty; say why the denial may stand")
	}
	if n := utf8.RuneCountInString(in.Reason); n > rule.MaxWaiverReason {
		p.Add("reason", "has %d characters; at most %d are allowed", n, rule.MaxWaiverReason)
	}
	if n := utf8.RuneCountInString(in.Approver); n > rule.MaxLabel {
		p.Add("approver", "has %d characters; at most %d are allowed", n, rule.MaxLabel)
	}
	switch {
	case in.ExpiresAt.IsZero():
		p.Add("expires_at", "is missing; a waiver must end")
	case !in.ExpiresAt.After(now):
		p.Add("expires_at", "is in the past")
	case in.ExpiresAt.Sub(now) > rule.MaxWaiverTime:
		p.Add("expires_at", "is more than %d days away", int(rule.MaxWaiverTime.Hours()/24))
	}
	return p.Err("the waiver is invalid")
}

// Waiver returns a waiver, or not_found.
func (c *Catalog) Waiver(ctx context.Context, projectID, id string) (rule.Waiver, error) {
	if !rule.IsID(id) {
		return rule.Waiver{}, rule.NotFound("waiver", id)
	}
	w, err := c.store.Waiver(ctx, projectID, id)
	return judgedAt(w, c.instant()), err
}

// Waivers returns a page of the waivers of a project, newest first, and how many there are; only those of one rule if ref, an id
// or slug, is not empty.
func (c *Catalog) Waivers(ctx context.Context, projectID, ref string, offset, limit int) ([]rule.Waiver, int, error) {
	if ref != "" {
		r, err := c.Get(ctx, projectID, ref)
		if err != nil {
			return nil, 0, err
		}
		ref = r.ID
	}
	list, total, err := c.store.Waivers(ctx, projectID, ref, offset, limit)
	for i := range list {
		list[i] = judgedAt(list[i], c.instant())
	}
	return list, total, err
}

// ApproveWaiver lets the caller stand by a waiver that somebody else has made. It is a conflict if the caller made it, or if it
// has ended; forbidden if another approver is named. To approve it again changes nothing.
func (c *Catalog) ApproveWaiver(ctx context.Context, projectID, id string) (rule.Waiver, error) {
	return c.markWaiver(ctx, projectID, id, "approved", func(w *rule.Waiver, by string, now time.Time) (bool, error) {
		switch status := w.At(now, w.Severity); {
		case status == rule.WaiverRevoked || status == rule.WaiverExpired:
			return false, rule.Errorf(rule.CodeConflict, "the waiver is %s; make a new one", status)
		case by == w.CreatedBy:
			return false, rule.Errorf(rule.CodeConflict, "%s made this waiver; a second person must approve it", by)
		case w.Approver != "" && w.Approver != by && "key:"+w.Approver != by:
			return false, rule.Errorf(rule.CodeForbidden, "the waiver is for %s to approve", w.Approver)
		case w.ApprovedAt != nil:
			return false, nil
		}
		w.ApprovedAt, w.ApprovedBy = &now, by
		return true, nil
	})
}

// RevokeWaiver takes a waiver back. To revoke it again changes nothing.
func (c *Catalog) RevokeWaiver(ctx context.Context, projectID, id string) (rule.Waiver, error) {
	return c.markWaiver(ctx, projectID, id, "revoked", func(w *rule.Waiver, by string, now time.Time) (bool, error) {
		if w.RevokedAt != nil {
			return false, nil
		}
		w.RevokedAt, w.RevokedBy = &now, by
		return true, nil
	})
}

func (c *Catalog) markWaiver(ctx context.Context, projectID, id, action string, mark func(w *rule.Waiver, by string, now time.Time) (bool, error),
) (w rule.Waiver, err error) {
	if !rule.IsID(id) {
		return w, rule.NotFound("waiver", id)
	}
	now := c.instant()
	err = c.change(ctx, projectID, func(tx store.Tx, _ rule.Project, _ int64) error {
		if w, err = tx.Waiver(ctx, projectID, id); err != nil {
			return err
		}
		changed, err := mark(&w, auth.ActorFrom(ctx).Name, now)
		if err != nil || !changed {
			return err
		}
		if err := tx.MarkWaiver(ctx, w); err != nil {
			return err
		}
		return c.noteWaiver(ctx, tx, action, w)
	})
	return judgedAt(w, now), err
}

// judgedAt tells what a waiver is worth at a time.
func judgedAt(w rule.Waiver, now time.Time) rule.Waiver {
	w.Status = w.At(now, w.Severity)
	return w
}

func (c *Catalog) noteWaiver(ctx context.Context, tx store.Tx, action string, w rule.Waiver) error {
	return audit.Append(ctx, tx, w.ProjectID, audit.Record{
		Kind: audit.KindWaiver, At: c.instant(), Actor: auth.ActorFrom(ctx).Name, Body: audit.JSON(map[string]any{"action": action, "waiver": w}),
	})
}
