package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func snapshotAt(n int) store.Snapshot {
	return store.Snapshot{
		ProjectID: "p", ID: newRule(n, nil).ID, Name: fmt.Sprint("snapshot ", n), Description: "as of spring", RuleCount: n,
		ContentHash: fmt.Sprint("hash", n), CorpusVersion: int64(n), CreatedAt: at.Add(time.Duration(n) * time.Second), CreatedBy: "ann",
		Manifest: []byte{1, 0, byte(n)},
	}
}

func (f *fixture) insertSnapshots(n int) []store.Snapshot {
	f.t.Helper()
	list := make([]store.Snapshot, n)
	f.update(func(tx store.Tx) error {
		for i := range list {
			list[i] = snapshotAt(i + 1)
			if err := tx.Releases.InsertSnapshot(f.ctx, list[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return list
}

func testSnapshots(t *testing.T, f *fixture) {
	made := f.insertSnapshots(3)
	got, err := f.s.Releases.Snapshot(f.ctx, "p", made[1].ID)
	if diff := cmp.Diff(made[1], got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	list, total, err := f.s.Releases.Snapshots(f.ctx, "p", 1, 5)
	want := []store.Snapshot{made[1], made[0]}
	want[0].Manifest, want[1].Manifest = nil, nil
	if diff := cmp.Diff(want, list); err != nil || total != 3 || diff != "" {
		t.Errorf("%d, %v (-want +got):\n%s", total, err, diff)
	}
	if list, total, err := f.s.Releases.Snapshots(f.ctx, "p", 9, 5); err != nil || total != 3 || len(list) != 0 {
		t.Errorf("beyond the end: %v of %d, %v", list, total, err)
	}
	_, err = f.s.Releases.Snapshot(f.ctx, "p", newRule(99, nil).ID)
	code(t, "an unknown snapshot", err, rule.CodeNotFound)
	_, err = f.s.Releases.Snapshot(f.ctx, "q", made[0].ID)
	code(t, "another project's snapshot", err, rule.CodeNotFound)
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Releases.InsertSnapshot(f.ctx, made[0]) })
	f.fails(rule.CodeNotFound, func(tx store.Tx) error {
		s := snapshotAt(7)
		s.ProjectID = "q"
		return tx.Releases.InsertSnapshot(f.ctx, s)
	})
}

func (f *fixture) deploy(d store.Deployment) error {
	return f.s.Update(f.ctx, func(tx store.Tx) error {
		if _, err := tx.Projects.RaiseCorpus(f.ctx, d.ProjectID); err != nil {
			return err
		}
		return tx.Releases.AppendDeployment(f.ctx, d)
	})
}

func testDeployments(t *testing.T, f *fixture) {
	made := f.insertSnapshots(2)
	step := func(environment string, seq int64, action, id string) store.Deployment {
		return store.Deployment{ProjectID: "p", Environment: environment, Seq: seq, Action: action, SnapshotID: id, At: at.Add(time.Duration(seq) * time.Minute), By: "bob", Reason: "because " + action}
	}
	steps := []store.Deployment{
		step("production", 1, "deploy", made[0].ID), step("production", 2, "deploy", made[1].ID), step("production", 3, "rollback", made[0].ID),
		step("staging", 1, "deploy", made[1].ID),
	}
	for _, s := range steps {
		if err := f.deploy(s); err != nil {
			t.Fatal(err)
		}
	}
	all, err := f.s.Releases.Deployments(f.ctx, "p", "")
	if diff := cmp.Diff(steps, all); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	one, err := f.s.Releases.Deployments(f.ctx, "p", "staging")
	if diff := cmp.Diff(steps[3:], one); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	newest, total, err := f.s.Releases.Steps(f.ctx, "p", "", 1, 2)
	if diff := cmp.Diff([]store.Deployment{steps[1], steps[0]}, newest); err != nil || diff != "" || total != 4 {
		t.Errorf("steps: %d, %v (-want +got):\n%s", total, err, diff)
	}
	newest, total, err = f.s.Releases.Steps(f.ctx, "p", "staging", 0, 9)
	if diff := cmp.Diff(steps[3:], newest); err != nil || diff != "" || total != 1 {
		t.Errorf("steps of one environment: %d, %v (-want +got):\n%s", total, err, diff)
	}
	named, err := f.s.Releases.Named(f.ctx, "p", []string{made[1].ID, newRule(99, nil).ID})
	without := made[1]
	without.Manifest = nil
	if diff := cmp.Diff(map[string]store.Snapshot{made[1].ID: without}, named); err != nil || diff != "" {
		t.Errorf("named: %v (-want +got):\n%s", err, diff)
	}
	code(t, "a number that is taken", f.deploy(step("production", 3, "deploy", made[0].ID)), rule.CodeConflict)
	code(t, "a gap", f.deploy(step("production", 5, "deploy", made[0].ID)), rule.CodeConflict)
	code(t, "an unknown snapshot", f.deploy(step("production", 4, "deploy", newRule(99, nil).ID)), rule.CodeNotFound)
	keyed := step("development", 1, "deploy", made[0].ID)
	keyed.Key, keyed.Request = "key-1", "deploy it"
	if err := f.deploy(keyed); err != nil {
		t.Fatal(err)
	}
	steps = append(steps, keyed)
	if got, err := f.s.Releases.DeploymentByKey(f.ctx, "p", "key-1"); err != nil || got != keyed {
		t.Errorf("by key: %+v, %v", got, err)
	}
	for _, key := range []string{"", "key-2"} {
		_, err := f.s.Releases.DeploymentByKey(f.ctx, "p", key)
		code(t, "an unknown key", err, rule.CodeNotFound)
	}
	again := step("staging", 2, "deploy", made[0].ID)
	again.Key = "key-1"
	code(t, "a key that is taken", f.deploy(again), rule.CodeConflict)
	if after, err := f.s.Releases.Deployments(f.ctx, "p", ""); err != nil || len(after) != len(steps) {
		t.Errorf("refused steps leave %v, %v", after, err)
	}
}

// testRaceDeploy deploys in concurrent transactions; each reads the end of the history and continues from there.
func testRaceDeploy(t *testing.T, f *fixture) {
	made := f.insertSnapshots(1)
	const racers, rounds = 8, 4
	var wg sync.WaitGroup
	for range racers {
		wg.Go(func() {
			for range rounds {
				err := f.s.Update(f.ctx, func(tx store.Tx) error {
					if _, err := tx.Projects.RaiseCorpus(f.ctx, "p"); err != nil {
						return err
					}
					history, err := tx.Releases.Deployments(f.ctx, "p", "production")
					if err != nil {
						return err
					}
					return tx.Releases.AppendDeployment(f.ctx, store.Deployment{
						ProjectID: "p", Environment: "production", Seq: int64(len(history) + 1), Action: "deploy", SnapshotID: made[0].ID, At: at, By: "ann",
					})
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	history, err := f.s.Releases.Deployments(f.ctx, "p", "production")
	if err != nil || len(history) != racers*rounds {
		t.Fatalf("%d steps, %v; want %d", len(history), err, racers*rounds)
	}
	for i, s := range history {
		if s.Seq != int64(i+1) {
			t.Errorf("step %d has the number %d", i+1, s.Seq)
		}
	}
}

func testRulesAt(t *testing.T, f *fixture) {
	const n = 1200 // several pages
	rules := make([]rule.Rule, n)
	refs := make([]store.VersionRef, n)
	for i := range rules {
		rules[i] = newRule(i+1, nil)
		refs[i] = store.VersionRef{RuleID: rules[i].ID, Version: 1}
	}
	f.update(func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(f.ctx, "p")
		if err != nil {
			return err
		}
		return tx.Rules.Insert(f.ctx, cv, rules)
	})
	revise := func(i int, statement string) rule.Rule {
		revised := rules[i]
		f.update(func(tx store.Tx) error {
			now, err := tx.Rules.Get(f.ctx, "p", rules[i].ID)
			if err != nil {
				return err
			}
			cv, err := tx.Projects.RaiseCorpus(f.ctx, "p")
			revised.Version, revised.Statement = now.Version+1, statement
			return errors.Join(err, tx.Rules.Update(f.ctx, cv, []rule.Rule{revised}))
		})
		return revised
	}
	revised := revise(5, "Revised.")
	got, err := f.s.Rules.AtVersions(f.ctx, "p", refs)
	if err != nil || len(got) != n {
		t.Fatalf("%d rules, %v; want %d", len(got), err, n)
	}
	if diff := cmp.Diff(rules[5], got[rules[5].ID]); diff != "" {
		t.Errorf("a past version (-want +got):\n%s", diff)
	}
	got, err = f.s.Rules.AtVersions(f.ctx, "p", []store.VersionRef{{RuleID: rules[5].ID, Version: 2}, {RuleID: rules[6].ID, Version: 2}, {RuleID: "none", Version: 1}})
	if diff := cmp.Diff(map[string]rule.Rule{revised.ID: revised}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	second := revise(7, "Revised.")
	revise(7, "Revised again.")
	revise(8, "Revised.")
	past := []store.VersionRef{{RuleID: rules[5].ID, Version: 1}, {RuleID: rules[7].ID, Version: 2}, {RuleID: rules[8].ID, Version: 1}, {RuleID: rules[8].ID + "x", Version: 1}}
	got, err = f.s.Rules.AtVersions(f.ctx, "p", past)
	if diff := cmp.Diff(map[string]rule.Rule{rules[5].ID: rules[5], second.ID: second, rules[8].ID: rules[8]}, got); err != nil || diff != "" {
		t.Errorf("past versions: %v (-want +got):\n%s", err, diff)
	}
	if got, err := f.s.Rules.AtVersions(f.ctx, "q", refs[:1]); err != nil || len(got) != 0 {
		t.Errorf("another project: %v, %v", got, err)
	}
}

func testGates(t *testing.T, f *fixture) {
	made := f.insertSnapshots(1)
	if body, err := f.s.Releases.Gates(f.ctx, "p", "production"); err != nil || len(body) != 0 {
		t.Errorf("before: %s, %v", body, err)
	}
	for _, body := range []string{`{"approvals":1}`, `{"approvals":2}`} {
		f.update(func(tx store.Tx) error { return tx.Releases.PutGates(f.ctx, "p", "production", []byte(body)) })
		if got, err := f.s.Releases.Gates(f.ctx, "p", "production"); err != nil || string(got) != body {
			t.Errorf("got %s, %v", got, err)
		}
	}
	if body, err := f.s.Releases.Gates(f.ctx, "p", "staging"); err != nil || len(body) != 0 {
		t.Errorf("another environment: %s, %v", body, err)
	}
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Releases.PutGates(f.ctx, "q", "production", []byte("{}")) })

	first := store.Approval{ProjectID: "p", SnapshotID: made[0].ID, Actor: "bob", At: at, Note: "fine"}
	for i, a := range []store.Approval{first, {ProjectID: "p", SnapshotID: made[0].ID, Actor: "bob", At: at.Add(time.Hour), Note: "again"}} {
		f.update(func(tx store.Tx) error {
			stored, fresh, err := tx.Releases.PutApproval(f.ctx, a)
			if stored != first || fresh != (i == 0) {
				t.Errorf("approval %d: %+v, fresh %t", i, stored, fresh)
			}
			return err
		})
	}
	list, err := f.s.Releases.Approvals(f.ctx, "p", made[0].ID)
	if diff := cmp.Diff([]store.Approval{first}, list); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	f.fails(rule.CodeNotFound, func(tx store.Tx) error {
		_, _, err := tx.Releases.PutApproval(f.ctx, store.Approval{ProjectID: "p", SnapshotID: newRule(99, nil).ID, Actor: "bob", At: at})
		return err
	})
}
