package approval

import (
	"context"
	"slices"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Recorded reads recorded evaluations.
type Recorded interface {
	// Get returns the record of an evaluation, or not_found.
	Get(ctx context.Context, projectID, id string) (*wire.EvaluationRecord, error)
}

// Asking asks for approvals of recorded evaluations, and shows the actions that are to be confirmed.
type Asking struct {
	*Approvals
	Recorded Recorded
}

// Ask asks for an approval of an evaluation whose overall verdict is NEEDS_CONFIRMATION. Its caller is the requester, who alone can use the
// approval. If one waits already for the same requester, subject and rules, Ask returns that. It is a conflict if no approval can make the
// evaluation ALLOW.
func (s Asking) Ask(ctx context.Context, projectID string, in wire.CreateApproval) (rule.Approval, error) {
	rec, err := s.Recorded.Get(ctx, projectID, in.EvaluationID)
	if err != nil {
		return rule.Approval{}, err
	}
	if err := approvable(rec); err != nil {
		return rule.Approval{}, err
	}
	draft := draftOf(rec)
	if who := auth.ActorFrom(ctx); who.Name == draft.Requester {
		draft.RequesterOwner = who.Owner
	} else {
		draft.AskedBy = who.Name
	}
	open, err := s.Open(ctx, projectID, rec.SubjectHash)
	if err != nil {
		return rule.Approval{}, err
	}
	for i := range open {
		if a := &open[i]; a.State == rule.ApprovalPending && a.Requester == draft.Requester && a.Uncovered == draft.Uncovered && sameRules(a.Rules, draft.Rules) {
			return s.Get(ctx, projectID, a.ID)
		}
	}
	made, insert, err := s.Prepare(ctx, draft, in.ApprovalTerms)
	if err != nil {
		return made, err
	}
	err = s.cfg.Store.Update(ctx, func(tx store.Tx) error {
		if _, err := tx.Audit.Lock(ctx, projectID); err != nil {
			return err
		}
		return insert(ctx, tx)
	})
	if err != nil {
		return made, err
	}
	return s.Get(ctx, projectID, made.ID)
}

func sameRules(a, b []rule.ApprovalRule) bool {
	return slices.EqualFunc(a, b, func(x, y rule.ApprovalRule) bool { return x.RuleID == y.RuleID && x.ContentHash == y.ContentHash })
}

// approvable returns why no approval can make a recorded evaluation ALLOW; nil if one can.
func approvable(rec *wire.EvaluationRecord) error {
	e := rec.Evaluation
	confirmed := func(v rule.RuleVerdict) bool { return v.Counts() && v.Verdict == rule.NeedsConfirmation }
	uncovered := e.Coverage.Uncovered == rule.UncoveredConfirm && !e.Coverage.UncoveredApproved
	why := ""
	switch {
	case e.OverallVerdict == rule.Deny:
		why = "the evaluation is DENY; waive the denial, or change the rule"
	case e.OverallVerdict == rule.Allow:
		why = "the evaluation is ALLOW; it needs no approval"
	case e.Mode != rule.Preflight:
		why = "the evaluation is about something that has happened"
	case rec.Kept == wire.KeepNone:
		why = "records keep no subject (setting record_subjects: none), so nobody could see what to approve"
	case !rec.Whole():
		why = "the personal data of its record cannot be read, so nobody could see what to approve"
	case e.BelowFloor():
		why = "the evaluation asked for less than the project's policy demands; evaluate again without narrowing it"
	case e.Coverage.RulesNotAsked > 0:
		why = "rules were not asked about; evaluate again with a higher max_rules"
	case e.Coverage.RulesUnlisted > 0 && !slices.ContainsFunc(e.RuleVerdicts, func(v rule.RuleVerdict) bool { return !confirmed(v) }):
		why = "the evaluation may not list all rules to be confirmed; evaluate again with a higher max_rules, or with request_approval"
	case !uncovered && !slices.ContainsFunc(e.RuleVerdicts, confirmed):
		why = "the evaluation had nothing to judge"
	default:
		return nil
	}
	return rule.Errorf(rule.CodeConflict, "no approval can be asked for: %s", why)
}

// draftOf is a new approval of a recorded evaluation.
func draftOf(rec *wire.EvaluationRecord) rule.Approval {
	e, shown := rec.Evaluation, rec
	if rec.Personal != nil { // an approval outlives the removal of personal data
		shown = rec.Strip(rec.Personal.Fields)
		e = shown.Evaluation
	}
	a := rule.Approval{
		ProjectID: e.ProjectID, EvaluationID: e.EvaluationID, SubjectKind: rec.Kind(), SubjectHash: rec.SubjectHash, Title: shown.Subject.Title(),
		Repository: rule.CleanRepository(rec.Subject.Repository), Scope: rec.Subject.Scope, NodeID: e.NodeID, Environment: rec.Environment,
		Rules: []rule.ApprovalRule{}, Uncovered: e.Coverage.Uncovered == rule.UncoveredConfirm,
	}
	if rec.Audit != nil {
		a.Requester = rec.Audit.Actor
	}
	if i := e.Identity; i != nil {
		a.Person, a.Agent, a.Session = i.Person, i.Agent, i.Session
	}
	hashes := map[string]string{}
	for _, r := range rec.Rules {
		hashes[r.RuleID] = r.ContentHash
	}
	for i := range e.RuleVerdicts {
		v := &e.RuleVerdicts[i]
		if !v.Counts() || v.Verdict != rule.NeedsConfirmation {
			continue
		}
		a.Rules = append(a.Rules, rule.ApprovalRule{
			RuleID: v.RuleID, RuleSlug: v.RuleSlug, Version: v.RuleVersion, ContentHash: hashes[v.RuleID], Statement: v.RuleStatement, Severity: v.Severity,
			Why: v.Why(),
		})
	}
	return a
}

// Detail returns an approval with the whole action, its verdicts to be confirmed, and the effect of an approval.
func (s Asking) Detail(ctx context.Context, projectID, id string) (*wire.ApprovalDetail, error) {
	a, err := s.Get(ctx, projectID, id)
	if err != nil {
		return nil, err
	}
	if a.Change != nil {
		return detailOfChange(a)
	}
	rec, err := s.Recorded.Get(ctx, projectID, a.EvaluationID)
	if err != nil {
		return nil, err
	}
	out := &wire.ApprovalDetail{Approval: a, Subject: &rec.Subject, Redactions: rec.Redactions, Effect: effect(&a)}
	if out.Display, err = Display(&rec.Subject); err != nil {
		return nil, err
	}
	for i := range rec.Evaluation.RuleVerdicts {
		if v := &rec.Evaluation.RuleVerdicts[i]; slices.ContainsFunc(a.Rules, func(r rule.ApprovalRule) bool { return r.RuleID == v.RuleID }) {
			out.Verdicts = append(out.Verdicts, *v)
		}
	}
	return out, nil
}

// detailOfChange shows a change of the federation as a subject: what is to be done, with its parts.
func detailOfChange(a rule.Approval) (*wire.ApprovalDetail, error) {
	shown := wire.RecordedSubject{Action: a.Title, Facts: map[string]any{}}
	for name, value := range a.Change {
		shown.Facts[name] = value
	}
	out := &wire.ApprovalDetail{Approval: a, Subject: &shown, Effect: effect(&a)}
	var err error
	out.Display, err = Display(&shown)
	return out, err
}
