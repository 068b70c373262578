package storetest

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// queueLists prints each versioned list of the queue, by kind.
func queueLists(f *fixture, projectID string) map[string]string {
	f.t.Helper()
	q, lists := f.s.Queue, map[string]string{}
	for kind, list := range map[string]func() ([]store.Waiting, error){
		store.WaitingRule:      func() ([]store.Waiting, error) { return q.RulesInReview(f.ctx, projectID, 99) },
		store.WaitingRevision:  func() ([]store.Waiting, error) { return q.PendingRevisions(f.ctx, projectID, 99) },
		store.WaitingCandidate: func() ([]store.Waiting, error) { return q.PendingCandidates(f.ctx, projectID, 99) },
		store.WaitingConflict:  func() ([]store.Waiting, error) { return q.SuggestedConflicts(f.ctx, projectID, 99) },
	} {
		found, err := list()
		if err != nil {
			f.t.Fatal(err)
		}
		for _, w := range found {
			text := fmt.Sprint(w.ID, w.By, w.Ref, w.Confidence, w.Since)
			for _, r := range w.Rules {
				text += fmt.Sprint(*r)
			}
			if w.Revision != nil {
				text += fmt.Sprint(w.Revision.Stale, w.Revision.Rule.Statement)
			}
			lists[kind] += text + "\n"
		}
	}
	marks, err := q.Marks(f.ctx, projectID, 99)
	if err != nil {
		f.t.Fatal(err)
	}
	lists[store.WaitingMarks] = fmt.Sprint(marks)
	return lists
}

// A list of the queue holds while its version is the same: each write that changes a list raises its version, in its project and in all, and in no other.
func testQueueVersions(t *testing.T, f *fixture) {
	f.update(func(tx store.Tx) error { return tx.Projects.Create(f.ctx, project("q")) })
	one := newRule(1, func(r *rule.Rule) { r.Status = rule.Review })
	two, live := newRule(2, nil), newRule(3, func(r *rule.Rule) { r.Status = rule.Effective })
	scan, later := scanOf("scan", at), scanOf("later", at.Add(time.Hour))
	kept, dismissed, excluded := candidate(scan, 1, "a"), candidate(scan, 2, "b"), candidate(later, 1, "c")
	decision := store.CandidateDecision{ProjectID: "p", ID: dismissed.ID, Fingerprints: []string{"b"}, Status: store.CandidateDismissed, At: at, By: "cy"}
	exclusion := store.Exclusion{ProjectID: "p", ID: newRule(41, nil).ID, Path: "x", CreatedAt: at, CreatedBy: "cy"}
	found, another := newConflict(11, one.ID, two.ID), newConflict(12, live.ID, two.ID)
	revision, rejected := revisionOf(live, 1, "ann", at), revisionOf(live, 1, "ann", at)
	rejected.Number, rejected.State = 1, rule.RevisionRejected
	mark := store.QueueMark{ProjectID: "p", Kind: store.WaitingRule, ID: one.ID, Assignee: "ann"}
	change := func(r rule.Rule, change func(*rule.Rule)) func(tx store.Tx) error {
		return func(tx store.Tx) error {
			cv, err := tx.Projects.RaiseCorpus(f.ctx, "p")
			if err != nil {
				return err
			}
			return tx.Rules.Update(f.ctx, cv, []rule.Rule{next(r, change)})
		}
	}
	for _, step := range []struct {
		name, kind string
		write      func(tx store.Tx) error
	}{
		{"a rule comes into review", store.WaitingRule, func(tx store.Tx) error {
			cv, err := tx.Projects.RaiseCorpus(f.ctx, "p")
			if err != nil {
				return err
			}
			return tx.Rules.Insert(f.ctx, cv, []rule.Rule{one, two, live})
		}},
		{"a conflict", store.WaitingConflict, func(tx store.Tx) error { return tx.Conflicts.Insert(f.ctx, found) }},
		{"a rule of it says something else", store.WaitingConflict, change(one, func(r *rule.Rule) { r.Statement = "Pay twice." })},
		{"another conflict", store.WaitingConflict, func(tx store.Tx) error { return tx.Conflicts.Insert(f.ctx, another) }},
		{"it is dropped", store.WaitingConflict, func(tx store.Tx) error { return tx.Conflicts.Drop(f.ctx, "p", []string{another.ID}) }},
		{"the first is rejected", store.WaitingConflict, func(tx store.Tx) error {
			c := found
			c.State = store.ConflictRejected
			return tx.Conflicts.Update(f.ctx, c)
		}},
		{"a revision", store.WaitingRevision, func(tx store.Tx) error { _, err := tx.Revisions.Insert(f.ctx, revision); return err }},
		{"its rule changes", store.WaitingRevision, change(live, func(r *rule.Rule) { r.Statement = "Never pay." })},
		{"it is rejected", store.WaitingRevision, func(tx store.Tx) error { return tx.Revisions.Decide(f.ctx, rejected) }},
		{"a scan ends", store.WaitingCandidate, func(tx store.Tx) error {
			for _, s := range []store.Scan{scan, later} {
				if err := tx.Scans.Insert(f.ctx, s, nil); err != nil {
					return err
				}
			}
			if err := tx.Scans.Complete(f.ctx, "p", later.ID, []byte("{}"), []store.Candidate{excluded}, at); err != nil {
				return err
			}
			return tx.Scans.Complete(f.ctx, "p", scan.ID, []byte("{}"), []store.Candidate{kept, dismissed}, at)
		}},
		{"a candidate is dismissed", store.WaitingCandidate, func(tx store.Tx) error { return tx.Candidates.Decide(f.ctx, decision) }},
		{"it is reopened", store.WaitingCandidate, func(tx store.Tx) error { return tx.Candidates.Reopen(f.ctx, "p", dismissed.ID) }},
		{"one is excluded", store.WaitingCandidate, func(tx store.Tx) error {
			if err := tx.Exclusions.Insert(f.ctx, exclusion); err != nil {
				return err
			}
			_, err := tx.Candidates.Exclude(f.ctx, exclusion, []string{excluded.ID})
			return err
		}},
		{"the exclusion ends", store.WaitingCandidate, func(tx store.Tx) error { _, err := tx.Exclusions.Delete(f.ctx, "p", exclusion.ID); return err }},
		{"a scan is pruned", store.WaitingCandidate, func(tx store.Tx) error { _, err := tx.Scans.Prune(f.ctx, "p", scan.ID, at); return err }},
		{"a mark", store.WaitingMarks, func(tx store.Tx) error { return tx.Queue.PutMark(f.ctx, mark) }},
		{"it goes", store.WaitingMarks, func(tx store.Tx) error {
			return tx.Queue.PutMark(f.ctx, store.QueueMark{ProjectID: "p", Kind: mark.Kind, ID: mark.ID})
		}},
	} {
		type seen struct {
			lists    map[string]string
			versions map[string]int64
		}
		look := func() map[string]seen {
			out := map[string]seen{}
			for _, projectID := range []string{"p", store.AllProjects, "q"} {
				versions, err := f.s.Queue.Versions(f.ctx, projectID)
				if err != nil {
					t.Fatal(err)
				}
				out[projectID] = seen{queueLists(f, projectID), versions}
			}
			return out
		}
		before := look()
		f.update(step.write)
		after := look()
		for _, projectID := range []string{"p", store.AllProjects} {
			if before[projectID].lists[step.kind] == after[projectID].lists[step.kind] {
				t.Errorf("%s: the list of %s in %s is the same", step.name, step.kind, projectID)
			}
			for kind, list := range before[projectID].lists {
				changed := list != after[projectID].lists[kind]
				if b, a := before[projectID].versions[kind], after[projectID].versions[kind]; a < b || changed && a == b {
					t.Errorf("%s: the version of %s in %s goes from %d to %d; its list has changed: %v", step.name, kind, projectID, b, a, changed)
				}
			}
		}
		if !maps.Equal(before["q"].versions, after["q"].versions) {
			t.Errorf("%s: another project has %v, and then %v", step.name, before["q"].versions, after["q"].versions)
		}
	}
}
