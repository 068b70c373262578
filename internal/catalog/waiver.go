package catalog

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"tenet/internal/audit"
	"tenet/internal/change"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Waivers keeps the waivers of denials. Like a change of a rule, a change of a waiver raises the corpus version and is noted in the
// audit chain.
type Waivers struct {
	store   store.WaiverReader
	views   corpus.Views
	changes *change.Changes
	now     func() time.Time
}

// NewWaivers returns the Waivers of a database. now is the clock.
func NewWaivers(s store.WaiverReader, views corpus.Views, changes *change.Changes, now func() time.Time) *Waivers {
	return &Waivers{store: s, views: views, changes: changes, now: now}
}

// maxRepository bounds the name of a repository as that of an evaluation is bounded, in bytes.
const maxRepository = 1024

// WaiverInput is a waiver as its author writes it.
type WaiverInput struct {
	Rule        string // id or slug
	Fingerprint string // of the verdict
	Repository  string // of the evaluation, in any form; empty if it names none
	Reason      string
	ExpiresAt   time.Time
	Approver    string // who is asked to approve it; may be empty
}

// Create makes a waiver. For a rule that is CRITICAL it covers nothing until another person has called [Waivers.Approve].
func (s *Waivers) Create(ctx context.Context, projectID string, in WaiverInput) (rule.Waiver, error) {
	now := rule.Instant(s.now())
	if err := in.validate(now); err != nil {
		return rule.Waiver{}, err
	}
	var made rule.Waiver
	err := s.changes.Run(ctx, projectID, func(ch *change.Change) error {
		r, err := ch.Tx.Rules.Get(ctx, projectID, in.Rule)
		if rule.CodeOf(err) == rule.CodeNotFound {
			var p rule.Problems
			p.Add("rule_id", "there is no rule %q in project %q", in.Rule, projectID)
			return p.Err("the waiver is invalid")
		}
		if err != nil {
			return err
		}
		if !r.MayBeWaived() {
			return rule.Errorf(rule.CodeConflict, "the rule %s may not be waived (waivable: false)", r.Label())
		}
		made = rule.Waiver{
			ID: audit.NewID(), ProjectID: projectID, RuleID: r.ID, Severity: r.Severity, Fingerprint: in.Fingerprint, Repository: in.Repository,
			Reason:   in.Reason,
			Approver: in.Approver, ExpiresAt: rule.Instant(in.ExpiresAt), CreatedAt: now, CreatedBy: ch.By,
		}
		if err := ch.Tx.Waivers.Insert(ctx, made); err != nil {
			return err
		}
		if asked := judgedAt(made, now); asked.Status == rule.WaiverPending {
			asked.RuleSlug = r.Slug
			ch.Event(rule.WaiverRequested, &r, asked)
		}
		return noteWaiver(ctx, ch, "created", made)
	})
	return judgedAt(made, now), err
}

func (in *WaiverInput) validate(now time.Time) error {
	var p rule.Problems
	in.Reason, in.Approver = strings.TrimSpace(in.Reason), strings.TrimSpace(in.Approver)
	in.Fingerprint = strings.ToLower(strings.TrimSpace(in.Fingerprint))
	if len(in.Fingerprint) != 64 || strings.Trim(in.Fingerprint, "0123456789abcdef") != "" {
		p.Add("fingerprint", "is not the fingerprint of a verdict; take it from the verdict that is to be waived")
	}
	switch {
	case len(in.Repository) > maxRepository:
		p.Add("repository", "has %d bytes; at most %d are allowed", len(in.Repository), maxRepository)
	case strings.TrimSpace(in.Repository) != "" && rule.CleanRepository(in.Repository) == "":
		p.Add("repository", "is not the name of a repository; write it as the evaluation does, such as acme/billing")
	default:
		in.Repository = rule.CleanRepository(in.Repository)
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

// Get returns a waiver, or not_found.
func (s *Waivers) Get(ctx context.Context, projectID, id string) (rule.Waiver, error) {
	if !rule.IsID(id) {
		return rule.Waiver{}, rule.NotFound("waiver", id)
	}
	w, err := s.store.Get(ctx, projectID, id)
	if err != nil {
		return w, err
	}
	list := []rule.Waiver{judgedAt(w, rule.Instant(s.now()))}
	err = s.name(ctx, projectID, list)
	return list[0], err
}

// List returns a page of the waivers of a project, newest first, and their total; only those of one rule if ref, an id or
// slug, is not empty.
func (s *Waivers) List(ctx context.Context, projectID, ref string, offset, limit int) ([]rule.Waiver, int, error) {
	if ref != "" {
		view, err := s.views.View(ctx, projectID)
		if err != nil {
			return nil, 0, err
		}
		e, ok := view.Get(ref)
		if !ok {
			return nil, 0, rule.NotFound("rule", ref)
		}
		ref = e.Rule.ID
	}
	list, total, err := s.store.List(ctx, projectID, ref, offset, limit)
	return s.listed(ctx, projectID, list, total, err)
}

// ListEnding returns a page of the waivers of a project that end within a time from now and are not revoked, the first to end first, and
// their total.
func (s *Waivers) ListEnding(ctx context.Context, projectID string, within time.Duration, offset, limit int) ([]rule.Waiver, int, error) {
	now := rule.Instant(s.now())
	list, total, err := s.store.Within(ctx, store.WaiverSpan{ProjectID: projectID, From: now, Until: now.Add(within), Offset: offset, Limit: limit})
	return s.listed(ctx, projectID, list, total, err)
}

// listed completes waivers for an answer.
func (s *Waivers) listed(ctx context.Context, projectID string, list []rule.Waiver, total int, err error) ([]rule.Waiver, int, error) {
	if err != nil || len(list) == 0 {
		return list, total, err
	}
	for i := range list {
		list[i] = judgedAt(list[i], rule.Instant(s.now()))
	}
	return list, total, s.name(ctx, projectID, list)
}

// name puts the slugs of their rules into waivers.
func (s *Waivers) name(ctx context.Context, projectID string, list []rule.Waiver) error {
	view, err := s.views.View(ctx, projectID)
	if err != nil {
		return err
	}
	for i := range list {
		if e, ok := view.Get(list[i].RuleID); ok {
			list[i].RuleSlug = e.Rule.Slug
		}
	}
	return nil
}

// Approve approves a waiver of another person. It is a conflict if the caller made it, or if it has ended; forbidden if
// another approver is named. A second approval changes nothing.
func (s *Waivers) Approve(ctx context.Context, projectID, id string) (rule.Waiver, error) {
	return s.mark(ctx, projectID, id, "approved", func(w *rule.Waiver, by string, now time.Time) (bool, error) {
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

// Revoke takes a waiver back. To revoke it again changes nothing.
func (s *Waivers) Revoke(ctx context.Context, projectID, id string) (rule.Waiver, error) {
	return s.mark(ctx, projectID, id, "revoked", func(w *rule.Waiver, by string, now time.Time) (bool, error) {
		if w.RevokedAt != nil {
			return false, nil
		}
		w.RevokedAt, w.RevokedBy = &now, by
		return true, nil
	})
}

func (s *Waivers) mark(ctx context.Context, projectID, id, action string, mark func(w *rule.Waiver, by string, now time.Time) (bool, error),
) (w rule.Waiver, err error) {
	if !rule.IsID(id) {
		return w, rule.NotFound("waiver", id)
	}
	now := rule.Instant(s.now())
	err = s.changes.Run(ctx, projectID, func(ch *change.Change) error {
		if w, err = ch.Tx.Waivers.Get(ctx, projectID, id); err != nil {
			return err
		}
		changed, err := mark(&w, ch.By, now)
		if err != nil || !changed {
			return err
		}
		if err := ch.Tx.Waivers.Mark(ctx, w); err != nil {
			return err
		}
		return noteWaiver(ctx, ch, action, w)
	})
	return judgedAt(w, now), err
}

// judgedAt sets the status of a waiver at a time.
func judgedAt(w rule.Waiver, now time.Time) rule.Waiver {
	w.Status = w.At(now, w.Severity)
	return w
}

func noteWaiver(ctx context.Context, ch *change.Change, action string, w rule.Waiver) error {
	return ch.Note(ctx, audit.KindWaiver, map[string]any{"action": action, "waiver": w})
}
