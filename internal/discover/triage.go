package discover

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// Triage decides on candidates.
type Triage struct{ *Discovery }

// Get returns a candidate with all that a reviewer needs, or not_found.
func (t Triage) Get(ctx context.Context, projectID, id string, q wire.NeighbourQuery) (wire.CandidateDetail, error) {
	row, err := t.store.Candidates.Get(ctx, projectID, id)
	if err != nil {
		return wire.CandidateDetail{}, err
	}
	body, err := bodyOf(&row)
	if err != nil {
		return wire.CandidateDetail{}, err
	}
	out := wire.CandidateDetail{Candidate: shownOf(&row, body), Alike: []wire.Alike{}, Merged: []wire.MergedOne{}}
	excerpt, err := t.store.Candidates.Excerpt(ctx, projectID, row.ID)
	if err != nil {
		return wire.CandidateDetail{}, err
	}
	out.Excerpt = unpackExcerpt(excerpt, &out.Candidate)
	if out.Alike, err = t.alike(ctx, projectID, body.Alike); err != nil {
		return wire.CandidateDetail{}, err
	}
	merged, err := t.store.Candidates.Merged(ctx, projectID, row.ID)
	if err != nil {
		return wire.CandidateDetail{}, err
	}
	for i := range merged {
		c, _, err := candidateOf(&merged[i])
		if err != nil {
			return wire.CandidateDetail{}, err
		}
		out.Merged = append(out.Merged, wire.MergedOne{CandidateID: c.ID, Statement: c.Statement, Places: c.Places})
	}
	n, err := t.store.Candidates.Neighbours(ctx, store.CandidateFilter{
		ProjectID: projectID, ScanID: row.ScanID, Status: store.CandidatePending, MinConfidence: q.MinConfidence, Path: strings.Trim(q.Path, "/"),
	}, row.N)
	out.Previous, out.Next, out.Before, out.Waiting = n.Previous, n.Next, n.Before, n.Total
	return out, err
}

// alike returns those of the candidates that wait for a decision.
func (t Triage) alike(ctx context.Context, projectID string, stored []twin) ([]wire.Alike, error) {
	list := []wire.Alike{}
	for _, a := range stored {
		row, err := t.store.Candidates.Get(ctx, projectID, a.ID)
		if rule.CodeOf(err) == rule.CodeNotFound || err == nil && row.Status != store.CandidatePending {
			continue
		}
		if err != nil {
			return nil, err
		}
		c, _, err := candidateOf(&row)
		if err != nil {
			return nil, err
		}
		list = append(list, wire.Alike{CandidateID: c.ID, Statement: c.Statement, SourceFile: c.SourceFile, SourceLine: c.SourceLine, Similarity: a.Similarity})
	}
	return list, nil
}

// family is a candidate with those that were merged into it: where all of them were found.
type family struct {
	wire.Candidate
	prints []string
	refs   []rule.SourceRef
	scan   store.Scan
}

// familyOf reads a candidate and those that were merged into it.
func (t Triage) familyOf(ctx context.Context, projectID, id string) (*family, error) {
	row, err := t.store.Candidates.Get(ctx, projectID, id)
	if err != nil {
		return nil, err
	}
	var f family
	if f.scan, err = t.store.Scans.Get(ctx, projectID, row.ScanID); err != nil {
		return nil, err
	}
	if f.Candidate, f.prints, err = candidateOf(&row); err != nil {
		return nil, err
	}
	f.refs = sourceRefs(&f.Candidate, f.scan.DocumentID)
	merged, err := t.store.Candidates.Merged(ctx, projectID, row.ID)
	if err != nil {
		return nil, err
	}
	for i := range merged {
		c, prints, err := candidateOf(&merged[i])
		if err != nil {
			return nil, err
		}
		f.prints = append(f.prints, prints...)
		scan, err := t.store.Scans.Get(ctx, projectID, c.ScanID)
		if err != nil {
			return nil, err
		}
		for _, ref := range sourceRefs(&c, scan.DocumentID) {
			if !slices.Contains(f.refs, ref) && len(f.refs) < rule.MaxListItems {
				f.refs = append(f.refs, ref)
			}
		}
	}
	return &f, nil
}

// decision returns the decision on a family.
func (t Triage) decision(ctx context.Context, projectID string, f *family, status string) store.CandidateDecision {
	return store.CandidateDecision{ProjectID: projectID, ID: f.ID, Fingerprints: f.prints, Status: status, At: t.instant(), By: auth.ActorFrom(ctx).Name}
}

// Merge decides that a candidate says what a rule, or another candidate, says already. The rule gets its places as sources; the other
// candidate takes them along when it is decided on. The error is invalid for a bad request, not_found without what is named, conflict if it
// has been decided on.
func (t Triage) Merge(ctx context.Context, projectID, id string, m wire.MergeCandidate) (wire.Decided, error) {
	var p rule.Problems
	switch {
	case (m.RuleID == "") == (m.CandidateID == ""):
		p.Add("rule_id", "name a rule here, or a candidate in candidate_id, and not both")
	case m.CandidateID != "" && !rule.IsID(m.CandidateID):
		p.Add("candidate_id", "is no id of a candidate")
	case strings.EqualFold(m.CandidateID, id):
		p.Add("candidate_id", "is the candidate itself; name another")
	}
	if err := p.Err("the merge is invalid"); err != nil {
		return wire.Decided{}, err
	}
	f, err := t.familyOf(ctx, projectID, id)
	if err != nil {
		return wire.Decided{}, err
	}
	if m.CandidateID != "" {
		return t.mergeInto(ctx, projectID, f, strings.ToLower(m.CandidateID))
	}
	target, err := t.cfg.Rules.Cite(ctx, projectID, m.RuleID, f.refs, fmt.Sprintf("Found again in %s, line %d.", f.SourceFile, f.SourceLine),
		func(tx store.Tx, r rule.Rule) error {
			decision := t.decision(ctx, projectID, f, store.CandidateMerged)
			decision.RuleID = r.ID
			if err := tx.Candidates.Decide(ctx, decision); err != nil {
				return err
			}
			return t.note(ctx, tx, projectID, map[string]any{"action": "candidate merged", "candidate_id": f.ID, "scan_id": f.ScanID, "rule_id": r.ID})
		})
	if err != nil {
		return wire.Decided{}, err
	}
	return wire.Decided{CandidateID: f.ID, Status: wire.CandidateMerged, RuleID: target.ID}, nil
}

// mergeInto merges a candidate into another. Its fingerprints are remembered with the decision on that one.
func (t Triage) mergeInto(ctx context.Context, projectID string, f *family, into string) (wire.Decided, error) {
	err := t.store.Update(ctx, func(tx store.Tx) error {
		target, err := tx.Candidates.Get(ctx, projectID, into)
		if err != nil {
			return err
		}
		switch {
		case target.Status != store.CandidatePending:
			return rule.Errorf(rule.CodeConflict, "the other candidate is %s already; merge into one that waits for a decision", target.Status)
		case target.Repository != f.scan.Repository:
			return rule.Errorf(rule.CodeConflict, "the other candidate is of another repository; approve one of them, and merge the other into the rule")
		}
		decision := t.decision(ctx, projectID, f, store.CandidateMerged)
		decision.MergedInto, decision.Fingerprints = target.ID, nil
		if err := tx.Candidates.Decide(ctx, decision); err != nil {
			return err
		}
		return t.note(ctx, tx, projectID, map[string]any{"action": "candidate merged", "candidate_id": f.ID, "scan_id": f.ScanID, "merged_into": target.ID})
	})
	if err != nil {
		return wire.Decided{}, err
	}
	return wire.Decided{CandidateID: f.ID, Status: wire.CandidateMerged}, nil
}

// Reopen takes back the decision on a candidate: it is pending again, and later scans find it. The rule of an approved one is retired, if it
// is as it was made and not in force; the rule that it was merged into loses its sources again. The error is not_found without the
// candidate, conflict where there is nothing to take back, or too late.
func (t Triage) Reopen(ctx context.Context, projectID, id string) (wire.Decided, error) {
	f, err := t.familyOf(ctx, projectID, id)
	if err != nil {
		return wire.Decided{}, err
	}
	again := func(tx store.Tx) error {
		if err := tx.Candidates.Reopen(ctx, projectID, f.ID); err != nil {
			return err
		}
		return t.note(ctx, tx, projectID, map[string]any{"action": "candidate opened again", "candidate_id": f.ID, "was": f.Status, "rule_id": f.RuleID})
	}
	switch {
	case f.Status == wire.CandidateApproved:
		err = t.cfg.Rules.Disown(ctx, projectID, f.RuleID, "The approval of its candidate was taken back.", again)
	case f.Status == wire.CandidateMerged && f.MergedInto == "":
		_, err = t.cfg.Rules.Uncite(ctx, projectID, f.RuleID, f.refs, "The merge of a candidate was taken back.",
			func(tx store.Tx, _ rule.Rule) error { return again(tx) })
	case f.Status == wire.CandidateMerged && f.RuleID != "":
		err = rule.Errorf(rule.CodeConflict, "the candidate that it was merged into has become a rule; take that back first")
	default:
		err = t.store.Update(ctx, again)
	}
	if err != nil {
		return wire.Decided{}, err
	}
	return wire.Decided{CandidateID: f.ID, Status: wire.CandidateUndecided}, nil
}

// ScanFiles returns a page of the files of a scan in which candidates were found, those with most left to decide first, and their number;
// not_found without the scan.
func (d *Discovery) ScanFiles(ctx context.Context, projectID, scanID string, offset, limit int) ([]wire.ScanFile, int, error) {
	if _, err := d.store.Scans.Get(ctx, projectID, scanID); err != nil {
		return nil, 0, err
	}
	counts, total, err := d.store.Candidates.FileCounts(ctx, projectID, scanID, offset, limit)
	list := make([]wire.ScanFile, len(counts))
	for i, c := range counts {
		list[i] = wire.ScanFile{SourceFile: c.SourceFile, Candidates: c.Total, Pending: c.Pending}
	}
	return list, total, err
}

// named is the id of a thing in lower case, or not_found for what can be none.
func named(noun, id string) (string, error) {
	if !rule.IsID(id) {
		return "", rule.NotFound(noun, text.FitRunes(id, 80, "…"))
	}
	return strings.ToLower(id), nil
}
