package discover

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tenet/internal/auth"
	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// CandidateApproval is what a reviewer changes when a candidate becomes a rule. Empty fields take what the candidate suggests.
type CandidateApproval struct {
	Statement string     `json:"statement,omitempty" doc:"Rule text in place of the proposed one."`
	Overrides *Overrides `json:"metadata_overrides,omitempty" nullable:"false" doc:"What takes the place of the suggested metadata, and what else the rule shall have."`
}

// Overrides take the place of suggested metadata, field by field; what is absent stays.
type Overrides struct {
	Scope       any              `json:"scope,omitempty" doc:"A scope path such as finance/payments, or a list of them; an empty one means everywhere."`
	Modality    rule.Modality    `json:"modality,omitempty" enum:"MUST,MUST_NOT,SHOULD,MAY,INFO" doc:"In any letter case."`
	Severity    rule.Severity    `json:"severity,omitempty" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"In any letter case."`
	Tags        []string         `json:"tags,omitempty" nullable:"false" doc:"Free labels."`
	Exceptions  []string         `json:"exceptions,omitempty" nullable:"false" doc:"Cases that the rule leaves out."`
	AppliesTo   *rule.AppliesTo  `json:"applies_to,omitempty" nullable:"false" doc:"Which subjects it concerns; an empty one means all."`
	Check       *rule.Check      `json:"check,omitempty" nullable:"false" doc:"Deterministic check; an empty one means none."`
	Rationale   string           `json:"rationale,omitempty" doc:"Why it exists."`
	Slug        string           `json:"slug,omitempty" doc:"Short unique name." example:"SEC-003"`
	Owner       string           `json:"owner,omitempty" doc:"Person or team that answers for it."`
	Enforcement rule.Enforcement `json:"enforcement,omitempty" enum:"enforce,warn,shadow" doc:"What breaking it leads to."`
	Status      rule.Status      `json:"status,omitempty" enum:"DRAFT,REVIEW,APPROVED,EFFECTIVE" doc:"DRAFT if absent, as for every new rule; a project that demands two people or tests refuses more."`
}

// Decided is what has become of a candidate.
type Decided struct {
	CandidateID string   `json:"candidate_id" doc:"The candidate."`
	Status      Decision `json:"status" enum:"approved,dismissed" doc:"What was decided."`
	RuleID      string   `json:"rule_id,omitempty" doc:"The rule it has become."`
}

// Approve makes a rule of a candidate, in one transaction with the decision. The error is invalid for what can be no rule,
// not_found without the candidate, conflict if it has been decided on.
func (d *Discovery) Approve(ctx context.Context, projectID, id string, a CandidateApproval) (Decided, error) {
	row, err := d.store.Candidate(ctx, projectID, id)
	if err != nil {
		return Decided{}, err
	}
	scan, err := d.store.Scan(ctx, projectID, row.ScanID)
	if err != nil {
		return Decided{}, err
	}
	c, prints, err := candidateOf(&row)
	if err != nil {
		return Decided{}, err
	}
	r, err := a.rule(&c, scan.DocumentID)
	if err != nil {
		return Decided{}, err
	}
	made, err := d.cfg.Rules.Adopt(ctx, projectID, r, func(tx store.Tx, made rule.Rule) error {
		err := tx.DecideCandidate(ctx, store.CandidateDecision{
			ProjectID: projectID, ID: row.ID, Fingerprints: prints, Status: store.CandidateApproved, RuleID: made.ID, At: d.instant(), By: auth.ActorFrom(ctx).Name,
		})
		if err != nil {
			return err
		}
		return d.note(ctx, tx, projectID, map[string]any{"action": "candidate approved", "candidate_id": row.ID, "scan_id": row.ScanID, "rule_id": made.ID})
	})
	if err != nil {
		return Decided{}, err
	}
	return Decided{CandidateID: row.ID, Status: Approved, RuleID: made.ID}, nil
}

// rule is what a candidate becomes.
func (a *CandidateApproval) rule(c *Candidate, documentID string) (rule.Rule, error) {
	m := &c.SuggestedMetadata
	r := rule.Rule{
		Statement: c.Statement, Modality: m.Modality, Severity: rule.Severity(strings.ToUpper(m.Severity)), Scope: scopes(m.Scope), Tags: m.Tags,
		Exceptions: m.Exceptions, AppliesTo: m.AppliesTo, Check: m.Check, Rationale: m.Rationale, SourceRefs: sourceRefs(c, documentID),
		ChangeNote: fmt.Sprintf("Discovered in %s, line %d.", c.SourceFile, c.SourceLine),
	}
	if strings.TrimSpace(a.Statement) != "" {
		r.Statement = a.Statement
	}
	o := a.Overrides
	if o == nil {
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
	override(&r.Modality, o.Modality)
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
var refKinds = map[source.Kind]string{
	source.PolicyDocument: "policy", source.AssistantMD: "document", source.LinterConfig: "code", source.CodePatterns: "code",
}

// sourceRefs say where a rule comes from: all places of its candidate.
func sourceRefs(c *Candidate, documentID string) []rule.SourceRef {
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
func (d *Discovery) Dismiss(ctx context.Context, projectID, id, reason string) (Decided, error) {
	if err := checkReason(reason); err != nil {
		return Decided{}, err
	}
	row, err := d.store.Candidate(ctx, projectID, id)
	if err != nil {
		return Decided{}, err
	}
	_, prints, err := candidateOf(&row)
	if err != nil {
		return Decided{}, err
	}
	err = d.store.Update(ctx, func(tx store.Tx) error {
		err := tx.DecideCandidate(ctx, store.CandidateDecision{
			ProjectID: projectID, ID: row.ID, Fingerprints: prints, Status: store.CandidateDismissed, Reason: strings.TrimSpace(reason), At: d.instant(),
			By: auth.ActorFrom(ctx).Name,
		})
		if err != nil {
			return err
		}
		return d.note(ctx, tx, projectID, map[string]any{"action": "candidate dismissed", "candidate_id": row.ID, "scan_id": row.ScanID, "reason": reason})
	})
	if err != nil {
		return Decided{}, err
	}
	return Decided{CandidateID: row.ID, Status: Dismissed}, nil
}

func checkReason(reason string) error {
	var p rule.Problems
	if n := utf8.RuneCountInString(reason); n > maxReason || !utf8.ValidString(reason) || strings.ContainsRune(reason, 0) {
		p.Add("reason", "must be a text of at most %d characters", maxReason)
	}
	return p.Err("the dismissal is invalid")
}

// Selection names candidates of a scan: by their ids, or all that wait for a decision and are confident enough.
type Selection struct {
	CandidateIDs  []string `json:"candidate_ids,omitempty" nullable:"false" maxItems:"500" doc:"Ids of candidates of the scan."`
	All           bool     `json:"all,omitempty" doc:"All that wait for a decision, in place of ids; those of the most confidence first, 500 in one call."`
	MinConfidence *float64 `json:"min_confidence,omitempty" nullable:"false" minimum:"0" maximum:"1" doc:"Of these only those with at least this confidence; it implies all."`
}

// Bulk is what has become of many candidates.
type Bulk struct {
	Results   []BulkResult `json:"results" nullable:"false" doc:"One for each candidate, in order."`
	Done      int          `json:"done" doc:"How many were decided as asked."`
	Failed    int          `json:"failed" doc:"How many were not; their results say why."`
	Remaining int          `json:"remaining" doc:"Candidates that the selection also names and that this call has left for the next one."`
}

// BulkResult is what has become of one of them.
type BulkResult struct {
	CandidateID string `json:"candidate_id" doc:"The candidate."`
	Status      string `json:"status" enum:"approved,dismissed,failed" doc:"What was decided; failed if nothing could be."`
	RuleID      string `json:"rule_id,omitempty" doc:"The rule it has become."`
	Code        string `json:"code,omitempty" doc:"Kind of the failure, such as conflict."`
	Error       string `json:"error,omitempty" doc:"Why it failed."`
}

// maxBulk bounds the candidates that one call decides on.
const maxBulk = 500

// ApproveMany approves candidates of a scan, each for itself: one that fails holds up no other. The error is invalid for a
// bad selection, not_found without the scan.
func (d *Discovery) ApproveMany(ctx context.Context, projectID, scanID string, s Selection, o *Overrides) (Bulk, error) {
	if o != nil && o.Slug != "" {
		var p rule.Problems
		p.Add("metadata_overrides.slug", "is unique to one rule; approve that candidate by itself")
		return Bulk{}, p.Err("the approval is invalid")
	}
	return d.decideMany(ctx, projectID, scanID, s, func(id string) (Decided, error) {
		return d.Approve(ctx, projectID, id, CandidateApproval{Overrides: o})
	})
}

// DismissMany dismisses candidates of a scan, as ApproveMany approves them.
func (d *Discovery) DismissMany(ctx context.Context, projectID, scanID string, s Selection, reason string) (Bulk, error) {
	if err := checkReason(reason); err != nil {
		return Bulk{}, err
	}
	return d.decideMany(ctx, projectID, scanID, s, func(id string) (Decided, error) { return d.Dismiss(ctx, projectID, id, reason) })
}

func (d *Discovery) decideMany(ctx context.Context, projectID, scanID string, s Selection, decide func(id string) (Decided, error)) (Bulk, error) {
	ids, remaining, err := d.selected(ctx, projectID, scanID, s)
	if err != nil {
		return Bulk{}, err
	}
	out := Bulk{Results: make([]BulkResult, 0, len(ids)), Remaining: remaining}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		done, err := d.decideOne(ctx, projectID, scanID, id, decide)
		switch code := rule.CodeOf(err); code {
		case "":
			out.Done++
			out.Results = append(out.Results, BulkResult{CandidateID: id, Status: string(done.Status), RuleID: done.RuleID})
		case rule.CodeInternal, rule.CodeUnavailable:
			return out, err
		default:
			out.Failed++
			out.Results = append(out.Results, BulkResult{CandidateID: id, Status: "failed", Code: string(code), Error: err.Error()})
		}
	}
	return out, nil
}

// decideOne decides on a candidate if it is one of the scan.
func (d *Discovery) decideOne(ctx context.Context, projectID, scanID, id string, decide func(id string) (Decided, error)) (Decided, error) {
	if !rule.IsID(id) {
		return Decided{}, rule.NotFound("candidate", short(id, 80))
	}
	row, err := d.store.Candidate(ctx, projectID, strings.ToLower(id))
	if err == nil && row.ScanID != scanID {
		err = rule.Errorf(rule.CodeNotFound, "the scan has no candidate %q", id)
	}
	if err != nil {
		return Decided{}, err
	}
	return decide(row.ID)
}

// selected lists the candidates that a selection names, and counts those beyond what one call decides on.
func (d *Discovery) selected(ctx context.Context, projectID, scanID string, s Selection) (ids []string, remaining int, err error) {
	if _, err := d.store.Scan(ctx, projectID, scanID); err != nil {
		return nil, 0, err
	}
	var p rule.Problems
	byFilter := s.All || s.MinConfidence != nil
	switch {
	case byFilter == (len(s.CandidateIDs) > 0):
		p.Add("candidate_ids", "name candidates, or give all or min_confidence, and not both")
	case len(s.CandidateIDs) > maxBulk:
		p.Add("candidate_ids", "has %d entries; at most %d are allowed", len(s.CandidateIDs), maxBulk)
	}
	if err := p.Err("the selection is invalid"); err != nil {
		return nil, 0, err
	}
	if !byFilter {
		return slices.Clone(s.CandidateIDs), 0, nil
	}
	f := store.CandidateFilter{ProjectID: projectID, ScanID: scanID, Status: store.CandidatePending, Limit: maxBulk}
	if s.MinConfidence != nil {
		f.MinConfidence = *s.MinConfidence
	}
	rows, total, err := d.store.FindCandidates(ctx, f)
	for i := range rows {
		ids = append(ids, rows[i].ID)
	}
	return ids, total - len(rows), err
}
