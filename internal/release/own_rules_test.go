package release_test

import (
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// A snapshot holds which nodes have only their own rules: its hash says so, and so do the rules that hold by it.
func TestSnapshotsHoldOwnRulesOnly(t *testing.T) {
	each(t, func(w *world) {
		slug := "TOP"
		if _, err := w.rules.Create(w.ctx, project, wire.RuleInput{Slug: &slug, Statement: "Say please.", Severity: rule.Critical, Status: rule.Effective}); err != nil {
			w.Fatal(err)
		}
		n := rule.Node{ID: "20000000-0000-7000-8000-000000000001", Name: "org", Level: rule.LevelOrganization}
		change := func(fn func(tx store.Tx, version int64) error) {
			w.Helper()
			if err := w.store.Update(w.ctx, func(tx store.Tx) error {
				version, err := tx.Projects.RaiseCorpus(w.ctx, project)
				if err != nil {
					return err
				}
				return fn(tx, version)
			}); err != nil {
				w.Fatal(err)
			}
			if _, err := w.live.Refresh(w.ctx, project); err != nil {
				w.Fatal(err)
			}
		}
		change(func(tx store.Tx, version int64) error {
			return tx.Federation.InsertNodes(w.ctx, project, version, []rule.Node{n})
		})
		before := w.snapshot("before")
		n.OwnRulesOnly, n.OwnRulesReason = true, "a lab"
		change(func(tx store.Tx, version int64) error { return tx.Federation.UpdateNode(w.ctx, project, version, n) })
		after := w.snapshot("after")
		if before.ContentHash == after.ContentHash {
			w.Error("a node that has only its own rules leaves the hash as it is")
		}
		for s, want := range map[string]int{before.ID: 1, after.ID: 0} {
			view, err := w.views.View(w.ctx, project, s)
			if err != nil {
				w.Fatal(err)
			}
			if within, err := view.Within(n.ID, time.Now()); err != nil || len(within.Everywhere) != want {
				w.Errorf("by the snapshot, %d rules of no node hold, want %d; %v", len(within.Everywhere), want, err)
			}
		}
	})
}
