package discover

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tenet/internal/norm"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Approve makes a rule of a candidate, in one transaction with the decision. The error is invalid for what can be no rule,
// not_found without the candidate, conflict if it has been decided on.
func (t Triage) Approve(ctx context.Context, projectID, id string, a wire.CandidateApproval) (wire.Decided, error) {
	f, err := t.familyOf(ctx, projectID, id)
	if err != nil {
		return wire.Decided{}, err
	}
	r, err := approvedRule(&a, f)
	if err != nil {
		return wire.Decided{}, err
	}
	made, err := t.cfg.Rules.Adopt(ctx, projectID, r, func(tx store.Tx, made rule.Rule) error {
		decision := t.decision(ctx, projectID, f, store.CandidateApproved)
		decision.RuleID = made.ID
		if err := tx.Candidates.Decide(ctx, decision); err != nil {
			return err
		}
		return t.note(ctx, tx, projectID, map[string]any{"action": "candidate approved", "candidate_id": f.ID, "scan_id": f.ScanID, "rule_id": made.ID})
	})
	if err != nil {
		return wire.Decided{}, err
	}
	return wire.Decided{CandidateID: f.ID, Status: wire.CandidateApproved, RuleID: made.ID}, nil
}

// approvedRule returns the rule that an approval makes of a candidate.
func approvedRule(a *wire.CandidateApproval, c *family) (rule.Rule, error) {
	m := &c.SuggestedMetadata
	r := rule.Rule{
		Statement: c.Statement, Modality: m.Modality, Severity: rule.Severity(strings.ToUpper(m.Severity)), Scope: scopes(m.Scope), Tags: m.Tags,
		Exceptions: m.Exceptions, AppliesTo: m.AppliesTo, Check: m.Check, Rationale: m.Rationale, SourceRefs: c.refs,
		ChangeNote: fmt.Sprintf("Discovered in %s, line %d.", c.SourceFile, c.SourceLine),
	}
	if a.Statement != nil {
		r.Statement = *a.Statement
	}
	// A statement that forbids in its own words says so once.
	stated := norm.Stated(r.Statement, r.Modality)
	o := a.Overrides
	if o == nil {
		r.Modality = stated
		return r, nil
	}
	if o.Scope != nil {
		paths, ok := scopeList(o.Scope)
		if !ok {
			var p rule.Problems
			p.Add("metadata_overrides.scope", "must be a scope path such as finance/payments, or a list of them")
			return r, p.Err("the approval is invalid")
		}
		r.Scope = paths
	}
	if o.Modality == "" || strings.EqualFold(string(o.Modality), string(m.Modality)) {
		r.Modality = stated
	} else {
		r.Modality = o.Modality
	}
	override(&r.Severity, o.Severity)
	override(&r.Rationale, o.Rationale)
	override(&r.Slug, o.Slug)
	override(&r.Owner, o.Owner)
	override(&r.Enforcement, o.Enforcement)
	override(&r.Status, o.Status)
	if o.Tags != nil {
		r.Tags = o.Tags
	}
	if o.Exceptions != nil {
		r.Exceptions = o.Exceptions
	}
	if o.AppliesTo != nil {
		r.AppliesTo = o.AppliesTo
	}
	if o.Check != nil {
		if r.Check = o.Check; o.Check.CEL == "" && o.Check.Pattern == nil {
			r.Check = nil
		}
	}
	return r, nil
}

func override[T ~string](to *T, from T) {
	if from != "" {
		*to = from
	}
}

// scopeList reads a scope as a request may write it.
func scopeList(v any) ([]string, bool) {
	switch v := v.(type) {
	case string:
		return scopes(v), true
	case []string:
		return v, true
	case []any:
		paths := []string{}
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, false
			}
			paths = append(paths, s)
		}
		return paths, true
	}
	return nil, false
}

// refKinds are the kinds of source references, by kind of source.
var refKinds = map[wire.SourceKind]string{
	wire.PolicyDocument: "policy", wire.AssistantMD: "document", wire.LinterConfig: "code", wire.CodePatterns: "code",
}

// sourceRefs say where a rule comes from: all places of its candidate.
func sourceRefs(c *wire.Candidate, documentID string) []rule.SourceRef {
	var refs []rule.SourceRef
	for _, p := range c.Places[:min(len(c.Places), rule.MaxListItems)] {
		ref := rule.SourceRef{Kind: refKinds[p.Source], URI: fmt.Sprintf("%s:%d", p.SourceFile, p.SourceLine), Section: p.Section, Quote: p.Quote}
		if documentID != "" {
			ref.Kind, ref.DocumentID = "document", documentID
		}
		refs = append(refs, ref)
	}
	return refs
}

// maxReason bounds the reason of a dismissal, in characters.
const maxReason = 1_000

// Dismiss decides that a candidate becomes no rule. The error is not_found without the candidate, conflict if it has been
// decided on.
func (t Triage) Dismiss(ctx context.Context, projectID, id, reason string) (wire.Decided, error) {
	if err := checkReason(reason); err != nil {
		return wire.Decided{}, err
	}
	f, err := t.familyOf(ctx, projectID, id)
	if err != nil {
		return wire.Decided{}, err
	}
	err = t.store.Update(ctx, func(tx store.Tx) error {
		decision := t.decision(ctx, projectID, f, store.CandidateDismissed)
		decision.Reason = strings.TrimSpace(reason)
		if err := tx.Candidates.Decide(ctx, decision); err != nil {
			return err
		}
		return t.note(ctx, tx, projectID, map[string]any{"action": "candidate dismissed", "candidate_id": f.ID, "scan_id": f.ScanID, "reason": reason})
	})
	if err != nil {
		return wire.Decided{}, err
	}
	return wire.Decided{CandidateID: f.ID, Status: wire.CandidateDismissed}, nil
}

func checkReason(reason string) error {
	var p rule.Problems
	if n := utf8.RuneCountInString(reason); n > maxReason || !utf8.ValidString(reason) || strings.ContainsRune(reason, 0) {
		p.Add("reason", "must be a text of at most %d characters", maxReason)
	}
	return p.Err("the dismissal is invalid")
}

// ApproveMany approves candidates of a scan, each for itself: one that fails holds up no other. The error is invalid for a
// bad selection, not_found without the scan.
func (t Triage) ApproveMany(ctx context.Context, projectID, scanID string, s wire.Selection, o *wire.Overrides) (wire.Bulk, error) {
	if o != nil && o.Slug != "" {
		var p rule.Problems
		p.Add("metadata_overrides.slug", "is unique to one rule; approve that candidate by itself")
		return wire.Bulk{}, p.Err("the approval is invalid")
	}
	return t.decideMany(ctx, projectID, scanID, s, func(id string) (wire.Decided, error) {
		return t.Approve(ctx, projectID, id, wire.CandidateApproval{Overrides: o})
	})
}

// DismissMany dismisses candidates of a scan, as ApproveMany approves them.
func (t Triage) DismissMany(ctx context.Context, projectID, scanID string, s wire.Selection, reason string) (wire.Bulk, error) {
	if err := checkReason(reason); err != nil {
		return wire.Bulk{}, err
	}
	return t.decideMany(ctx, projectID, scanID, s, func(id string) (wire.Decided, error) { return t.Dismiss(ctx, projectID, id, reason) })
}

func (t Triage) decideMany(ctx context.Context, projectID, scanID string, s wire.Selection, decide func(id string) (wire.Decided, error)) (wire.Bulk, error) {
	ids, remaining, err := t.selected(ctx, projectID, scanID, s)
	if err != nil {
		return wire.Bulk{}, err
	}
	out := wire.Bulk{Results: make([]wire.BulkResult, 0, len(ids)), Remaining: remaining}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		done, err := t.decideOne(ctx, projectID, scanID, id, decide)
		switch code := rule.CodeOf(err); code {
		case "":
			out.Done++
			out.Results = append(out.Results, wire.BulkResult{CandidateID: id, Status: string(done.Status), RuleID: done.RuleID})
		case rule.CodeInternal, rule.CodeUnavailable:
			return out, err
		default:
			out.Failed++
			out.Results = append(out.Results, wire.BulkResult{CandidateID: id, Status: "failed", Code: string(code), Error: err.Error()})
		}
	}
	return out, nil
}

// decideOne decides on a candidate if it is one of the scan.
func (t Triage) decideOne(ctx context.Context, projectID, scanID, id string, decide func(id string) (wire.Decided, error)) (wire.Decided, error) {
	id, err := named("candidate", id)
	if err != nil {
		return wire.Decided{}, err
	}
	row, err := t.store.Candidates.Get(ctx, projectID, id)
	if err == nil && row.ScanID != scanID {
		err = rule.Errorf(rule.CodeNotFound, "the scan has no candidate %q", id)
	}
	if err != nil {
		return wire.Decided{}, err
	}
	return decide(row.ID)
}

// selected lists the candidates that a selection names, and counts those beyond what one call decides on.
func (t Triage) selected(ctx context.Context, projectID, scanID string, s wire.Selection) (ids []string, remaining int, err error) {
	if _, err := t.store.Scans.Get(ctx, projectID, scanID); err != nil {
		return nil, 0, err
	}
	var p rule.Problems
	byFilter := s.All || s.MinConfidence != nil || s.Path != ""
	switch {
	case byFilter == (len(s.CandidateIDs) > 0):
		p.Add("candidate_ids", "name candidates, or give all, min_confidence or path, and not both")
	case len(s.CandidateIDs) > wire.MaxBulk:
		p.Add("candidate_ids", "has %d entries; at most %d are allowed", len(s.CandidateIDs), wire.MaxBulk)
	}
	if err := p.Err("the selection is invalid"); err != nil {
		return nil, 0, err
	}
	if !byFilter {
		return slices.Clone(s.CandidateIDs), 0, nil
	}
	f := store.CandidateFilter{ProjectID: projectID, ScanID: scanID, Status: store.CandidatePending, Path: strings.Trim(s.Path, "/"), Limit: wire.MaxBulk}
	if s.MinConfidence != nil {
		f.MinConfidence = *s.MinConfidence
	}
	rows, total, err := t.store.Candidates.Find(ctx, f)
	for i := range rows {
		ids = append(ids, rows[i].ID)
	}
	return ids, total - len(rows), err
}
