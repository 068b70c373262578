package evaluate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/ledger"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// Approvals keeps the confirmations of people; approval.Approvals is one.
type Approvals interface {
	// Check returns an invalid error for terms that no approval can have.
	Check(terms wire.ApprovalTerms) error
	// Open returns the approvals of a subject that are pending or can be used, oldest first.
	Open(ctx context.Context, projectID, subjectHash string) ([]rule.Approval, error)
	// Prepare completes a new approval; store stores it in a transaction.
	Prepare(ctx context.Context, a rule.Approval, terms wire.ApprovalTerms) (made rule.Approval, store func(ctx context.Context, tx store.Tx) error, err error)
	// Use takes one use of an approval in a transaction, or returns conflict if it cannot be used any more.
	Use(ctx context.Context, tx store.Tx, projectID, id, requester, evaluationID string) error
	// Changed has those who wait for an approval look at it, after a transaction.
	Changed(projectID, id string)
}

// unconfirmed has the parts of an evaluation that people can confirm.
type unconfirmed struct {
	places    []int // of the verdicts to be confirmed, among the chosen rules
	uncovered bool  // whether the policy asks for confirmation because no rule covers the subject
	// obstacle says why no approval can make the evaluation ALLOW; empty if one can.
	obstacle string
}

func (u *unconfirmed) empty() bool { return len(u.places) == 0 && !u.uncovered }

// confirmation is the part of a run that concerns approvals.
type confirmation struct {
	// allowed is set for evaluations that may use and ask for approvals: those that a caller waits for, before the action.
	allowed bool
	need    unconfirmed
	// fitting are the approvals that the evaluation may still try to use, the oldest first.
	fitting []rule.Approval
	// used is the approval that the answer uses; nil without one.
	used *rule.Approval
	// asked is the new approval, and store stores it; nil without one.
	asked *rule.Approval
	store func(ctx context.Context, tx store.Tx) error
	// held are the verdicts that callers who listen have not seen, since an approval may change them; by rule.
	held map[string]bool
	// whole is the answer before any approval, with what was chosen for it.
	whole struct {
		answer   rule.Evaluation
		verdicts []rule.RuleVerdict
		chosen   []chosen
		accounts []ledger.Account
	}
}

// mayConfirm lets a run use and ask for approvals.
func mayConfirm(r *run) *run {
	r.confirmation.allowed = r.e.cfg.Approvals != nil && r.req.Mode == rule.Preflight
	return r
}

// checkAsk refuses a request for an approval that cannot be granted.
func checkAsk(r *run) error {
	ask := &r.req.ApprovalAsk
	switch {
	case !ask.RequestApproval && ask.Approval == nil:
		return nil
	case r.e.cfg.Approvals == nil:
		return rule.Errorf(rule.CodeUnavailable, "this server keeps no approvals; leave out request_approval")
	case ask.RequestApproval && r.req.Mode != rule.Preflight:
		var p rule.Problems
		p.Add("request_approval", "is given with mode %s; what has happened cannot be approved any more", string(r.req.Mode))
		return p.Err("the evaluation request is invalid")
	case ask.Approval == nil:
		return nil
	}
	var p rule.Problems
	p.AddAll("approval", r.e.cfg.Approvals.Check(*ask.Approval))
	return p.Err("the evaluation request is invalid")
}

// findUnconfirmed finds what an approval would have to confirm.
func findUnconfirmed(r *run) (u unconfirmed) {
	word := r.answer.Coverage.Uncovered
	u.uncovered = word == rule.UncoveredConfirm
	if word == rule.UncoveredDeny {
		u.obstacle = "the project's policy denies what no rule covers"
	}
	for i := range r.answer.RuleVerdicts {
		v := &r.answer.RuleVerdicts[i]
		switch {
		case !v.Counts() || v.Verdict == rule.Allow:
		case v.Verdict == rule.Deny:
			u.obstacle = "a denial is not for approval; waive it, or change the rule"
		default:
			u.places = append(u.places, i)
		}
	}
	switch {
	case r.answer.Suspended != nil:
		u.obstacle = "the agent is suspended"
	case u.obstacle != "":
	case r.subject.Empty():
		u.obstacle = "the request has nothing to approve"
	case r.answer.BelowFloor():
		u.obstacle = "the request asks for less than the project's policy demands"
	case len(r.sel.notAsked) > 0:
		u.obstacle = fmt.Sprintf("%s not asked about; ask again with a higher max_rules", text.Plural(len(r.sel.notAsked), "rule"))
	}
	return u
}

// confirm finds the approvals of people that fit the evaluation, or asks for one.
func confirm(ctx context.Context, r *run) error {
	c := &r.confirmation
	if !c.allowed {
		return nil
	}
	c.need = findUnconfirmed(r)
	if c.need.empty() && c.need.obstacle == "" {
		return nil
	}
	if c.need.obstacle != "" {
		if r.req.RequestApproval {
			r.answer.Notices = append(r.answer.Notices, "No approval was asked for: "+c.need.obstacle+".")
		}
		return nil
	}
	open, err := r.e.cfg.Approvals.Open(ctx, r.req.ProjectID, subjectHash(r))
	if err != nil {
		return err
	}
	requester, agent := auth.ActorFrom(ctx).Name, audit.IdentityFrom(ctx).Agent
	for i := range open {
		a := &open[i]
		if a.Requester != requester || a.Agent != agent || !fits(r, a) {
			continue
		}
		if a.State == rule.ApprovalApproved {
			c.fitting = append(c.fitting, *a)
		} else if r.answer.Approval == nil {
			r.answer.Approval = approvalOf(a)
		}
	}
	c.whole.answer = *r.answer
	c.whole.verdicts, c.whole.chosen, c.whole.accounts = slices.Clone(r.answer.RuleVerdicts), slices.Clone(r.sel.chosen), slices.Clone(r.accounts)
	return useOrAsk(ctx, r)
}

// useOrAsk uses the next approval that fits, or asks for one if the caller or the policy wants it.
func useOrAsk(ctx context.Context, r *run) error {
	c := &r.confirmation
	c.used = nil
	for len(c.fitting) > 0 {
		a := c.fitting[0]
		c.fitting = c.fitting[1:]
		if useApproval(r, &a) {
			c.used = &a
			return nil
		}
	}
	if r.answer.Approval != nil {
		return nil
	}
	draft := draftOf(ctx, r)
	gravest := rule.Severity("")
	for i := range draft.Rules {
		if draft.Rules[i].Severity.Rank() > gravest.Rank() || gravest == "" {
			gravest = draft.Rules[i].Severity
		}
	}
	if !r.req.RequestApproval && !r.policy.ApprovalDemand(draft.SubjectKind, draft.Scope, gravest).Ask {
		return nil
	}
	if r.e.cfg.Subjects == wire.KeepNone {
		r.answer.Notices = append(r.answer.Notices, "No approval was asked for: records keep no subject (setting record_subjects: none), so nobody could see what to approve.")
		return nil
	}
	draft.Auto = !r.req.RequestApproval
	var terms wire.ApprovalTerms
	if r.req.Approval != nil {
		terms = *r.req.Approval
	}
	made, store, err := r.e.cfg.Approvals.Prepare(ctx, draft, terms)
	if err != nil {
		return err
	}
	c.asked, c.store = &made, store
	r.answer.Approval = approvalOf(&made)
	return nil
}

func approvalOf(a *rule.Approval) *rule.EvaluationApproval {
	return &rule.EvaluationApproval{ID: a.ID, State: a.State, URL: a.URL, ExpiresAt: a.ExpiresAt}
}

// fits reports whether an approval confirms all that has to be confirmed: each rule as it is now.
func fits(r *run, a *rule.Approval) bool {
	need := &r.confirmation.need
	if need.uncovered && !a.Uncovered {
		return false
	}
	return !slices.ContainsFunc(need.places, func(at int) bool {
		c := &r.sel.chosen[at]
		return !a.Covers(c.Rule.ID, c.ContentHash())
	})
}

// useApproval turns all that has to be confirmed into ALLOW. If a part of it cannot be, the answer stays as it is.
func useApproval(r *run, a *rule.Approval) bool {
	c := &r.confirmation
	by := a.Applied()
	verdicts := slices.Clone(r.answer.RuleVerdicts)
	for _, at := range c.need.places {
		if !approve(&verdicts[at], r.whole.units.Units, by) {
			return false
		}
	}
	r.answer.RuleVerdicts = verdicts
	r.answer.Coverage.UncoveredApproved = c.need.uncovered
	state := rule.ApprovalApproved
	if a.Uses > 0 && a.UsedCount+1 >= a.Uses {
		state = rule.ApprovalUsed
	}
	r.answer.Approval = &rule.EvaluationApproval{ID: a.ID, State: state, URL: a.URL, ExpiresAt: a.ExpiresAt}
	return true
}

// approve turns a verdict into ALLOW by an approval, and says who has approved and why.
func approve(v *rule.RuleVerdict, units *ledger.Units, by *rule.AppliedApproval) bool {
	was := v.Why()
	if !ledger.Approve(units, v, by) {
		return false
	}
	said := make([]string, len(by.By))
	for i := range by.By {
		said[i] = fmt.Sprintf("%s approved this (%s)", by.By[i], strings.TrimSuffix(by.Reasons[i], "."))
	}
	v.Reasoning = strings.Join(said, ", ") + ". It asked for confirmation: " + was
	return true
}

// draftOf is a new approval of the evaluation.
func draftOf(ctx context.Context, r *run) rule.Approval {
	a := rule.Approval{
		ProjectID: r.req.ProjectID, EvaluationID: r.answer.EvaluationID, SubjectKind: kindOf(r.subject), SubjectHash: subjectHash(r),
		Repository: r.subject.Repository, Scope: r.subject.Scope, NodeID: r.answer.NodeID, Environment: r.req.Environment,
		Rules: []rule.ApprovalRule{}, Uncovered: r.confirmation.need.uncovered, Requester: auth.ActorFrom(ctx).Name, RequesterOwner: auth.ActorFrom(ctx).Owner,
	}
	// The record may hold the subject without its secrets, and so does the title.
	in := r.req.Input
	if r.e.cfg.Subjects != wire.KeepFull && r.e.cfg.Redact != nil {
		in, _, _ = r.e.cfg.Redact.Input(in)
	}
	shown := public(r, in)
	if i := shown.Identity; i != nil {
		a.Person, a.Agent, a.Session = i.Person, i.Agent, i.Session
	}
	a.Title = shown.Subject.Title()
	for _, at := range r.confirmation.need.places {
		c, v := &r.sel.chosen[at], &shown.Evaluation.RuleVerdicts[at]
		a.Rules = append(a.Rules, rule.ApprovalRule{
			RuleID: v.RuleID, RuleSlug: v.RuleSlug, Version: v.RuleVersion, ContentHash: c.ContentHash(), Statement: v.RuleStatement, Severity: v.Severity,
			Why: v.Why(),
		})
	}
	return a
}

// approveAsRecorded gives the verdicts of an evaluation that is decided again the approvals of its record.
func approveAsRecorded(r *run) {
	if r.before == nil {
		return
	}
	applied := map[string]*rule.AppliedApproval{}
	for i := range r.before.RuleVerdicts {
		if v := &r.before.RuleVerdicts[i]; v.Approval != nil {
			applied[v.RuleID] = v.Approval
		}
	}
	for i := range r.answer.RuleVerdicts {
		if by := applied[r.answer.RuleVerdicts[i].RuleID]; by != nil {
			approve(&r.answer.RuleVerdicts[i], r.whole.units.Units, by)
		}
	}
}

// errApprovalGone rolls a record back whose approval somebody else has used up, or withdrawn.
var errApprovalGone = errors.New("evaluate: the approval cannot be used any more")

// unexplainedApproval is the error about an approval that the audit log does not explain. It hides its code, which is that of a database
// that cannot be used: only the evaluation that wants to use the approval fails, and not those that are recorded with it.
type unexplainedApproval struct{ err error }

func (e unexplainedApproval) Error() string { return e.err.Error() }

// also returns the part of the transaction of the record that uses or stores an approval; nil for none.
func (c *confirmation) also(r *run, requester string) func(ctx context.Context, tx store.Tx) error {
	switch {
	case c.used != nil:
		return func(ctx context.Context, tx store.Tx) error {
			err := r.e.cfg.Approvals.Use(ctx, tx, r.req.ProjectID, c.used.ID, requester, r.answer.EvaluationID)
			switch {
			case rule.CodeOf(err) == rule.CodeConflict:
				return errors.Join(errApprovalGone, err)
			case errors.Is(err, store.ErrDamaged):
				return unexplainedApproval{err}
			}
			return err
		}
	case c.asked != nil:
		return c.store
	}
	return nil
}

// retract takes back the approval that could not be used, and uses another one or asks for one.
func retract(ctx context.Context, r *run) error {
	c := &r.confirmation
	answer := c.whole.answer
	answer.RuleVerdicts = slices.Clone(c.whole.verdicts)
	*r.answer = answer
	r.sel.chosen, r.accounts = slices.Clone(c.whole.chosen), slices.Clone(c.whole.accounts)
	if err := useOrAsk(ctx, r); err != nil {
		return err
	}
	finish(r)
	return nil
}

// hold keeps a verdict from callers who listen until the record is made, if an approval may still change it.
func (c *confirmation) hold(v *rule.RuleVerdict) bool {
	if !c.allowed || v.Verdict != rule.NeedsConfirmation {
		return false
	}
	if c.held == nil {
		c.held = map[string]bool{}
	}
	c.held[v.RuleID] = true
	return true
}

// release shows callers who listen the verdicts that were held, once the record is durable, and wakes those who wait for an approval.
func release(r *run) {
	c := &r.confirmation
	for i := range r.answer.RuleVerdicts {
		if v := &r.answer.RuleVerdicts[i]; c.held[v.RuleID] {
			r.req.Decided(*v)
		}
	}
	if c.used != nil {
		r.e.cfg.Approvals.Changed(r.req.ProjectID, c.used.ID)
	}
}
