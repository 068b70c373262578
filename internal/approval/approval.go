// Package approval keeps the requests that people confirm an action, and their answers. An approval is bound to the hash of the subject, the
// rules to be confirmed with what they say, the project and the requester. Each open state leads to one other state, once, and each of these
// transitions is in the audit chain.
package approval

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"slices"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// Store is the part of the database that this package uses.
type Store struct {
	store.Updater
	Approvals store.ApprovalReader
	Projects  store.ProjectReader
}

// InForce knows which rows the audit log explains; evidence.InForce is one. Its errors are [store.ErrDamaged] for others.
type InForce interface {
	// CheckRow checks a row as it is stored.
	CheckRow(ctx context.Context, projectID, kind, id string) error
	// CheckRowIn checks it inside a transaction that has locked the chain of the project and the row.
	CheckRowIn(ctx context.Context, tx store.Tx, projectID, kind, id string) error
}

// Config sets up [New]. All fields but Publish, InForce, Site and Poll are required.
type Config struct {
	Store Store
	// Views have the policies of projects, and their rules.
	Views corpus.Views
	// Publish sends an event to webhooks as part of a transaction; nil publishes nothing.
	Publish func(ctx context.Context, tx store.Tx, e rule.Event) error
	// InForce compares the rows of approvals with the audit log, so that nobody grants one by a change of the database alone; nil compares nothing.
	InForce InForce
	// Site is the address at which browsers reach the console, without a path; empty makes links without one.
	Site string
	// Poll is the time between two looks for decisions on other nodes while somebody waits; 0 means 250 ms.
	Poll   time.Duration
	Logger *slog.Logger
	Now    func() time.Time
}

// Approvals keeps approvals. It is safe for concurrent use.
type Approvals struct {
	cfg     Config
	waiting waiting
}

// New makes an Approvals.
func New(cfg Config) *Approvals {
	if cfg.Poll == 0 {
		cfg.Poll = 250 * time.Millisecond
	}
	return &Approvals{cfg: cfg}
}

// maxTitle bounds a title, in characters.
const maxTitle = 200

// Open returns the approvals of a subject that are pending or approved, without those whose time has run out, oldest first. One that was
// approved, and is not as the audit log recorded it, is an error with [store.ErrDamaged].
func (s *Approvals) Open(ctx context.Context, projectID, subjectHash string) ([]rule.Approval, error) {
	records, err := s.cfg.Store.Approvals.Open(ctx, projectID, subjectHash)
	if err != nil {
		return nil, err
	}
	now := s.cfg.Now()
	var list []rule.Approval
	for i := range records {
		a := &records[i]
		if a.Lapsed(now) {
			continue
		}
		if a.State == rule.ApprovalApproved && s.cfg.InForce != nil {
			if err := s.cfg.InForce.CheckRow(ctx, projectID, store.ApprovalInForce, a.ID); err != nil {
				return nil, err
			}
		}
		a.URL = s.link(a)
		list = append(list, a.Approval)
	}
	return list, nil
}

// Check returns an invalid error for terms that no approval can have.
func (s *Approvals) Check(terms wire.ApprovalTerms) error {
	return setTerms(&rule.Approval{}, terms, 0, rule.Instant(s.cfg.Now()))
}

// Prepare completes an approval that a caller asks for: a has what is to be confirmed, and by whom it was asked. The policy of the project
// sets the rest. store stores it in a transaction, with its entry in the audit chain and its event. The error is invalid for terms out of
// range.
func (s *Approvals) Prepare(
	ctx context.Context, a rule.Approval, terms wire.ApprovalTerms,
) (made rule.Approval, insert func(ctx context.Context, tx store.Tx) error, err error) {
	view, err := s.cfg.Views.View(ctx, a.ProjectID)
	if err != nil {
		return a, nil, err
	}
	now := rule.Instant(s.cfg.Now())
	a.ID, a.State, a.Revision, a.CreatedAt, a.Decisions = audit.NewID(), rule.ApprovalPending, 1, now, []rule.ApprovalDecision{}
	a.Title = text.FitRunes(visibleLine(text.Clip(a.Title, 8*maxTitle, "…")), maxTitle, "…")
	a.Severity = ""
	for i := range a.Rules {
		if a.Rules[i].Severity.Rank() > a.Severity.Rank() || a.Severity == "" {
			a.Severity = a.Rules[i].Severity
		}
	}
	demand := view.Policy().ApprovalDemand(a.SubjectKind, a.Scope, a.Severity)
	a.Quorum, a.Role, a.Groups = demand.Quorum, demand.Role, demand.Groups
	if err := setTerms(&a, terms, demand.ExpiresIn, now); err != nil {
		return a, nil, err
	}
	if demand.EscalateAfter > 0 {
		at := now.Add(demand.EscalateAfter)
		a.EscalateAt = &at
	}
	r := &store.ApprovalRecord{Approval: a, LinkKey: newKey()}
	event := s.event(rule.ApprovalRequested, r, view)
	a.URL = s.link(r)
	return a, func(ctx context.Context, tx store.Tx) error {
		if err := tx.Approvals.Insert(ctx, *r); err != nil {
			return err
		}
		return s.note(ctx, tx, "requested", cmp.Or(r.AskedBy, r.Requester), r, event)
	}, nil
}

// newKey returns 256 random bits in hex.
func newKey() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return hex.EncodeToString(b[:])
}

// setTerms takes the terms of the caller, within the limits and the time that the policy gives for a decision.
func setTerms(a *rule.Approval, terms wire.ApprovalTerms, policy time.Duration, now time.Time) error {
	var p rule.Problems
	a.Reason = checkReason(&p, terms.Reason, false)
	wait := cmp.Or(policy, rule.DefaultApprovalWait)
	if terms.ExpiresIn != "" {
		asked, err := time.ParseDuration(terms.ExpiresIn)
		if err != nil || asked < time.Second || asked > rule.MaxApprovalWait {
			p.Add("expires_in", "is %q; give a time of 1s to %dh, such as 30m or 4h", terms.ExpiresIn, int(rule.MaxApprovalWait.Hours()))
		} else if policy == 0 || asked < policy {
			wait = asked
		}
	}
	a.ExpiresAt = now.Add(wait)
	a.Uses = terms.Uses
	if a.Uses < 0 || a.Uses > rule.MaxApprovalUses {
		p.Add("uses", "is %d; use 1 to %d", a.Uses, rule.MaxApprovalUses)
	}
	switch {
	case terms.ValidUntil == nil:
		a.Uses = max(a.Uses, 1)
	case !terms.ValidUntil.After(now):
		p.Add("valid_until", "is in the past")
	case terms.ValidUntil.Sub(now) > rule.MaxApprovalTime:
		p.Add("valid_until", "is more than %d days away", int(rule.MaxApprovalTime.Hours()/24))
	default:
		until := rule.Instant(*terms.ValidUntil)
		a.ValidUntil = &until
		if until.Before(a.ExpiresAt) {
			a.ExpiresAt = until
		}
	}
	return p.Err("the approval is invalid")
}

// note records a transition in the audit chain, and publishes its event unless it has no type.
func (s *Approvals) note(ctx context.Context, tx store.Tx, action, by string, a *store.ApprovalRecord, e rule.Event) error {
	body := map[string]any{"action": action, "approval": a.Approval}
	if n := len(a.Decisions); a.Unanswered() {
		body["reason"] = "Nobody decided in time."
	} else if n > 0 && (action == "approved" || action == "endorsed" || action == "rejected" || action == "withdrawn") {
		body["reason"] = a.Decisions[n-1].Reason
	}
	if action == "used" {
		body["evaluation_id"] = a.UsedBy
	}
	err := audit.Append(ctx, tx, a.ProjectID, audit.Record{Kind: audit.KindApproval, At: s.cfg.Now(), Actor: by, Body: audit.JSON(body)})
	if err != nil || e.Type == "" || s.cfg.Publish == nil {
		return err
	}
	return s.cfg.Publish(ctx, tx, e)
}

// event makes the event of an approval. It concerns the rules to be confirmed, as far as the project has them.
func (s *Approvals) event(t rule.EventType, a *store.ApprovalRecord, view *corpus.View) rule.Event {
	data := a.Approval
	data.URL, data.State = s.link(a), a.At(s.cfg.Now())
	e := rule.Event{ID: audit.NewID(), ProjectID: a.ProjectID, Type: t, Time: rule.Instant(s.cfg.Now()), Severity: a.Severity, Data: audit.JSON(data)}
	everywhere := len(a.Rules) == 0
	for i := range a.Rules {
		e.RuleIDs = append(e.RuleIDs, a.Rules[i].RuleID)
		entry, ok := view.Get(a.Rules[i].RuleID)
		if !ok || len(entry.Rule.Scope) == 0 {
			everywhere = true
			continue
		}
		for _, scope := range entry.Rule.Scope {
			if !slices.Contains(e.Scope, scope) {
				e.Scope = append(e.Scope, scope)
			}
		}
	}
	if everywhere {
		e.Scope = append(e.Scope, "*")
	}
	return e
}

// Use takes one use of an approval for an evaluation, in the transaction that records the evaluation. It is a conflict if the approval
// cannot be used any more, and if it is not the requester's.
func (s *Approvals) Use(ctx context.Context, tx store.Tx, projectID, id, requester, evaluationID string) error {
	a, err := s.cfg.hold(ctx, tx, projectID, id)
	if err != nil {
		return err
	}
	now := rule.Instant(s.cfg.Now())
	if a.At(now) != rule.ApprovalApproved || a.Requester != requester || (a.Uses > 0 && a.UsedCount >= a.Uses) {
		return rule.Errorf(rule.CodeConflict, "the approval %s cannot be used any more", id)
	}
	a.Revision++
	a.UsedCount++
	a.UsedBy, a.UsedAt = evaluationID, &now
	if a.Uses > 0 && a.UsedCount == a.Uses {
		a.State = rule.ApprovalUsed
	}
	if err := tx.Approvals.Update(ctx, a); err != nil {
		return err
	}
	return s.note(ctx, tx, "used", requester, &a, rule.Event{})
}

// Get returns an approval with what the caller may do, or not_found.
func (s *Approvals) Get(ctx context.Context, projectID, id string) (rule.Approval, error) {
	a, err := s.read(ctx, projectID, id)
	if err != nil {
		return rule.Approval{}, err
	}
	return s.answer(ctx, &a), nil
}

// hold returns an approval that nobody changes until the transaction ends, which has locked the chain of the project. The error is
// [store.ErrDamaged] if the audit log does not explain it as it is.
func (c *Config) hold(ctx context.Context, tx store.Tx, projectID, id string) (store.ApprovalRecord, error) {
	if err := tx.Approvals.Hold(ctx, projectID, id); err != nil {
		return store.ApprovalRecord{}, err
	}
	if c.InForce != nil {
		if err := c.InForce.CheckRowIn(ctx, tx, projectID, store.ApprovalInForce, id); err != nil {
			return store.ApprovalRecord{}, err
		}
	}
	return tx.Approvals.Get(ctx, projectID, id)
}

func (s *Approvals) read(ctx context.Context, projectID, id string) (store.ApprovalRecord, error) {
	if !rule.IsID(id) {
		return store.ApprovalRecord{}, rule.NotFound("approval", id)
	}
	return s.cfg.Store.Approvals.Get(ctx, projectID, id)
}

// answer is an approval as the caller sees it now.
func (s *Approvals) answer(ctx context.Context, a *store.ApprovalRecord) rule.Approval {
	out, now := a.Approval, s.cfg.Now()
	out.Actions = actionsOf(a, auth.ActorFrom(ctx), now)
	out.State, out.URL = a.At(now), s.link(a)
	return out
}

// List returns a page of the approvals of a project, newest first.
func (s *Approvals) List(ctx context.Context, projectID string, q wire.ApprovalQuery) (out wire.ApprovalPage, err error) {
	if _, err := s.cfg.Store.Projects.Get(ctx, projectID); err != nil {
		return out, err
	}
	f, err := s.filter(ctx, projectID, &q)
	if err != nil {
		return out, err
	}
	list, total, err := s.cfg.Store.Approvals.Find(ctx, f)
	if err != nil {
		return out, err
	}
	if len(list) > q.PageSize {
		list = list[:q.PageSize]
		out.NextCursor = list[len(list)-1].ID
	}
	out.Items, out.Total, out.Page.Page, out.PageSize = make([]rule.Approval, len(list)), total, q.Page, q.PageSize
	for i := range list {
		out.Items[i] = s.answer(ctx, &list[i])
	}
	return out, nil
}

func (s *Approvals) filter(ctx context.Context, projectID string, q *wire.ApprovalQuery) (store.ApprovalFilter, error) {
	f := store.ApprovalFilter{
		ProjectID: projectID, Now: s.cfg.Now(), Requester: q.Requester, EvaluationID: q.EvaluationID, Repository: rule.CleanRepository(q.Repository),
		Agent: q.Agent, Person: q.Person, Session: q.Session, Scope: rule.CleanScope(q.Scope), Since: q.Since, Until: q.Until, Before: q.Cursor, Offset: q.Offset(), Limit: q.PageSize + 1,
	}
	var p rule.Problems
	for _, given := range q.States {
		state, ok := rule.Parse(given, rule.ApprovalStates)
		if !ok {
			p.Add("state", "is %q; use one of %s", given, rule.Names(rule.ApprovalStates))
		}
		f.States = append(f.States, state)
	}
	if q.SeverityMin != "" {
		least, ok := rule.Parse(q.SeverityMin, rule.Severities)
		if !ok {
			p.Add("severity_min", "is %q; use one of %s", q.SeverityMin, rule.Names(rule.Severities))
		}
		for _, severity := range rule.Severities {
			if severity.Rank() >= least.Rank() {
				f.Severities = append(f.Severities, severity)
			}
		}
	}
	me := auth.ActorFrom(ctx).Name
	switch {
	case q.Requester == "me":
		f.Requester = me
	case q.Mine && q.Requester != "" && q.Requester != me:
		p.Add("requester", "is somebody else than mine selects; leave out one of them")
	case q.Mine:
		f.Requester = me
	}
	if q.Cursor != "" {
		if !rule.IsID(q.Cursor) {
			p.Add("cursor", "is none; give the next_cursor of the page before")
		}
		if q.Page > 1 {
			p.Add("page", "is given together with cursor; use one of them")
		}
		f.Offset = 0
	}
	if err := p.Err("the query is invalid"); err != nil {
		return f, err
	}
	if q.RuleID != "" {
		view, err := s.cfg.Views.View(ctx, projectID)
		if err != nil {
			return f, err
		}
		f.RuleID = q.RuleID
		if entry, ok := view.Get(q.RuleID); ok {
			f.RuleID = entry.Rule.ID
		}
	}
	return f, nil
}
