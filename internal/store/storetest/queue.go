package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func testWaiting(t *testing.T, f *fixture) {
	review := func(n int) rule.Rule { return newRule(n, func(r *rule.Rule) { r.Status = rule.Review }) }
	one, two, live := review(1), review(2), newRule(3, func(r *rule.Rule) { r.Status = rule.Effective })
	one.UpdatedBy = "ann"
	f.insert(one, two, live)
	scan := scanOf("scan", at.Add(-time.Hour))
	decided := candidate(scan, 2, "b")
	told := candidate(scan, 1, "a")
	told.Body = []byte(`{"statement": "Pay once.", "source_file": "a.md", "source_line": 7, "suggested_metadata": {"severity": "high"}}`)
	damaged := candidate(scan, 3, "c")
	damaged.Body = []byte(`[]`)
	completeScan(f, scan, told, decided, damaged)
	found, rejected := newConflict(11, two.ID, one.ID), newConflict(12, one.ID, live.ID)
	rejected.State = store.ConflictRejected
	waiver := rule.Waiver{ProjectID: "p", ID: newRule(21, nil).ID, RuleID: live.ID, Severity: rule.Critical, Reason: "because", ExpiresAt: at.Add(time.Hour), CreatedAt: at, CreatedBy: "bo"}
	high, ended := waiver, waiver
	high.ID, high.Severity = newRule(22, nil).ID, rule.High
	ended.ID, ended.ExpiresAt = newRule(23, nil).ID, at
	f.update(func(tx store.Tx) error {
		if err := tx.Candidates.Decide(f.ctx, store.CandidateDecision{ProjectID: "p", ID: decided.ID, Fingerprints: []string{"b"}, Status: store.CandidateDismissed, At: at, By: "cy"}); err != nil {
			return err
		}
		for _, c := range []store.Conflict{found, rejected} {
			if err := tx.Conflicts.Insert(f.ctx, c); err != nil {
				return err
			}
		}
		for _, w := range []rule.Waiver{waiver, high, ended} {
			if err := tx.Waivers.Insert(f.ctx, w); err != nil {
				return err
			}
		}
		return nil
	})
	fresh, turnedDown := revisionOf(live, 1, "ann", at.Add(time.Hour)), revisionOf(live, 1, "bo", at)
	turnedDown.State = rule.RevisionRejected
	stale := revisionOf(live, 2, "cy", at.Add(2*time.Hour))
	f.update(func(tx store.Tx) error {
		for _, r := range []store.Revision{fresh, revisionOf(live, 1, "bo", at), stale, revisionOf(two, 1, "ann", at.Add(3*time.Hour))} {
			if _, err := tx.Revisions.Insert(f.ctx, r); err != nil {
				return err
			}
		}
		turnedDown.Number = 2
		return tx.Revisions.Decide(f.ctx, turnedDown)
	})
	confirm := func(e *store.AuditEntry) { e.Verdict = "NEEDS_CONFIRMATION" }
	removed := func(e *store.AuditEntry) { e.Verdict, e.Body = "NEEDS_CONFIRMATION", nil }
	if err := f.appendAudit(entryAt(1, confirm), entryAt(2, nil), entryAt(3, confirm), entryAt(4, nil), entryAt(5, removed)); err != nil {
		t.Fatal(err)
	}
	waits := newApproval(31, func(a *store.ApprovalRecord) { a.EvaluationID = entryAt(3, nil).ID })
	late := newApproval(32, func(a *store.ApprovalRecord) { a.ExpiresAt = at })
	withdrawn := newApproval(33, func(a *store.ApprovalRecord) {
		a.EvaluationID, a.State = entryAt(1, nil).ID, rule.ApprovalWithdrawn
	})
	f.update(func(tx store.Tx) error {
		for _, a := range []store.ApprovalRecord{waits, late, withdrawn} {
			if err := tx.Approvals.Insert(f.ctx, a); err != nil {
				return err
			}
		}
		return nil
	})
	ids := func(what string, want []string) func(list []store.Waiting, err error) {
		return func(list []store.Waiting, err error) {
			t.Helper()
			got := []string{}
			for _, w := range list {
				if w.ProjectID != "p" {
					t.Errorf("%s: project %q", what, w.ProjectID)
				}
				got = append(got, w.ID)
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %v, %v; want %v", what, got, err, want)
			}
		}
	}
	q := f.s.Queue
	for _, project := range []string{"p", store.AllProjects} {
		ids("rules", []string{one.ID, two.ID})(q.RulesInReview(f.ctx, project, 9))
		ids("a rule", []string{one.ID})(q.RulesInReview(f.ctx, project, 1))
		ids("revisions", []string{store.RevisionID(live.ID, 1), store.RevisionID(live.ID, 3), store.RevisionID(two.ID, 1)})(q.PendingRevisions(f.ctx, project, 9))
		ids("a revision", []string{store.RevisionID(live.ID, 1)})(q.PendingRevisions(f.ctx, project, 1))
		ids("candidates", []string{"scan1", "scan3"})(q.PendingCandidates(f.ctx, project, 9))
		ids("conflicts", []string{found.ID})(q.SuggestedConflicts(f.ctx, project, 9))
		ids("waivers", []string{waiver.ID})(q.WaiversToApprove(f.ctx, project, at, 9))
		ids("approvals", []string{waits.ID})(q.PendingApprovals(f.ctx, project, at, 9))
		ids("evaluations that no approval answers", []string{entryAt(1, nil).ID, entryAt(5, nil).ID})(q.Unconfirmed(f.ctx, project, at, 9))
		ids("later evaluations", []string{entryAt(5, nil).ID})(q.Unconfirmed(f.ctx, project, at.Add(4*time.Second), 9))
	}
	if list, err := q.Unconfirmed(f.ctx, "p", at, 9); err != nil || len(list) != 2 || list[0].Seq != 1 || list[0].Pruned || list[1].Seq != 5 || !list[1].Pruned {
		t.Errorf("evaluations to confirm: %+v, %v", list, err)
	}
	for _, list := range []func() ([]store.Waiting, error){
		func() ([]store.Waiting, error) { return q.RulesInReview(f.ctx, "q", 9) },
		func() ([]store.Waiting, error) { return q.PendingRevisions(f.ctx, "q", 9) },
		func() ([]store.Waiting, error) { return q.PendingCandidates(f.ctx, "q", 9) },
		func() ([]store.Waiting, error) { return q.SuggestedConflicts(f.ctx, "q", 9) },
		func() ([]store.Waiting, error) { return q.WaiversToApprove(f.ctx, "q", at, 9) },
		func() ([]store.Waiting, error) { return q.PendingApprovals(f.ctx, "q", at, 9) },
		func() ([]store.Waiting, error) { return q.Unconfirmed(f.ctx, "q", at, 9) },
	} {
		ids("another project's", []string{})(list())
	}
	rules, _ := q.RulesInReview(f.ctx, "p", 1)
	if w := rules[0]; w.By != "ann" || !w.Since.Equal(one.UpdatedAt) || len(w.Rules) != 1 || w.Rules[0].Statement != one.Statement {
		t.Errorf("rule %+v", w)
	}
	revisions, _ := q.PendingRevisions(f.ctx, "p", 2)
	fresh.Number = 1
	if diff := cmp.Diff(store.Waiting{ProjectID: "p", ID: store.RevisionID(live.ID, 1), Since: fresh.At, By: "ann", Revision: &fresh}, revisions[0]); diff != "" {
		t.Errorf("revision (-want +got):\n%s", diff)
	}
	if !revisions[1].Revision.Stale {
		t.Errorf("a revision of another version is not stale: %+v", revisions[1].Revision)
	}
	shown := &store.QueuedCandidate{Statement: "Pay once.", SourceFile: "a.md", SourceLine: 7}
	shown.Metadata.Severity = "high"
	candidates, _ := q.PendingCandidates(f.ctx, "p", 2)
	if candidates[1].Candidate != nil {
		t.Errorf("a damaged candidate is read as %+v", candidates[1].Candidate)
	}
	if diff := cmp.Diff(store.Waiting{ProjectID: "p", ID: "scan1", Since: scan.CreatedAt, By: "ann", Ref: "scan", Confidence: .1, Candidate: shown}, candidates[0]); diff != "" {
		t.Errorf("candidate (-want +got):\n%s", diff)
	}
	conflicts, _ := q.SuggestedConflicts(f.ctx, "p", 1)
	if w := conflicts[0]; w.Ref != found.Reason || len(w.Rules) != 2 || w.Rules[0].ID != two.ID || w.Rules[1].ID != one.ID || w.Confidence != .95 {
		t.Errorf("conflict %+v", w)
	}
	// Rules that have changed since they were listed.
	revised := next(one, func(r *rule.Rule) { r.Statement = "Pay twice." })
	f.update(func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(f.ctx, "p")
		if err != nil {
			return err
		}
		for _, statement := range []string{"Never pay.", revised.Statement} {
			r := revised
			r.Statement = statement
			if err := tx.Rules.Update(f.ctx, cv, []rule.Rule{r}); err != nil {
				return err
			}
			revised.Version++
			inside, err := tx.Queue.RulesInReview(f.ctx, "p", 9)
			if err != nil || len(inside) != 2 || inside[1].Rules[0].Statement != statement {
				t.Errorf("in the transaction that changes the rule to %q: %+v, %v", statement, inside, err)
			}
		}
		return nil
	})
	for _, project := range []string{"p", store.AllProjects} {
		rules, err := q.RulesInReview(f.ctx, project, 9)
		if err != nil || len(rules) != 2 || rules[0].ID != two.ID || rules[1].Rules[0].Statement != "Pay twice." {
			t.Errorf("after a change: %+v, %v", rules, err)
		}
		conflicts, err := q.SuggestedConflicts(f.ctx, project, 9)
		if err != nil || len(conflicts) != 1 || conflicts[0].Rules[1].Statement != "Pay twice." {
			t.Errorf("conflicts after a change: %+v, %v", conflicts, err)
		}
	}
}

// revisionOf proposes a statement on a version of a rule.
func revisionOf(r rule.Rule, base int, author string, when time.Time) store.Revision {
	next := next(r, func(r *rule.Rule) { r.Statement = "Proposed by " + author + "." })
	return store.Revision{ProjectID: "p", Rule: next, Revision: rule.Revision{
		RuleID: r.ID, Slug: r.Slug, State: rule.RevisionPending, BaseVersion: base, Severity: rule.High, Author: author, At: when, Changes: rule.Diff(r, next),
	}}
}

func testQueueMarks(t *testing.T, f *fixture) {
	until := at.Add(time.Hour)
	mark := store.QueueMark{ProjectID: "p", Kind: store.WaitingEvaluation, ID: entryAt(1, nil).ID, Assignee: "ann", SnoozedUntil: &until}
	put := func(m store.QueueMark) { f.update(func(tx store.Tx) error { return tx.Queue.PutMark(f.ctx, m) }) }
	marks := func(project string, want ...store.QueueMark) {
		t.Helper()
		got, err := f.s.Queue.Marks(f.ctx, project, 9)
		if diff := cmp.Diff(append([]store.QueueMark{}, want...), got); err != nil || diff != "" {
			t.Errorf("marks: %v (-want +got):\n%s", err, diff)
		}
	}
	if err := f.appendAudit(entryAt(1, func(e *store.AuditEntry) { e.Verdict = "NEEDS_CONFIRMATION" })); err != nil {
		t.Fatal(err)
	}
	unconfirmed := func(want int) {
		t.Helper()
		if list, err := f.s.Queue.Unconfirmed(f.ctx, "p", at, 9); err != nil || len(list) != want {
			t.Errorf("%d evaluations wait, %v; want %d", len(list), err, want)
		}
	}
	unconfirmed(1)
	put(mark)
	marks("p", mark)
	marks(store.AllProjects, mark)
	marks("q")
	mark.Assignee = "bo"
	put(mark)
	marks("p", mark)
	unconfirmed(1)
	settled := mark
	settled.SettledAt, settled.SettledBy, settled.Note = &until, "cy", "seen"
	put(settled)
	marks("p")
	unconfirmed(0)
	if got, err := f.s.Queue.Mark(f.ctx, "p", settled.Kind, settled.ID); err != nil || cmp.Diff(settled, got) != "" {
		t.Errorf("settled: %v\n%s", err, cmp.Diff(settled, got))
	}
	none := store.QueueMark{ProjectID: "p", Kind: mark.Kind, ID: mark.ID}
	put(none)
	marks("p")
	unconfirmed(1)
	if got, err := f.s.Queue.Mark(f.ctx, "p", mark.Kind, mark.ID); err != nil || cmp.Diff(none, got) != "" {
		t.Errorf("removed: %v\n%s", err, cmp.Diff(none, got))
	}
	mark.ProjectID = "nowhere"
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Queue.PutMark(f.ctx, mark) })
}
