package storetest

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// testInForce checks that a transaction knows what it has changed of what is in force, and that each change has another hash.
func testInForce(t *testing.T, f *fixture) {
	all := map[string]store.RowHash{} // by kind and id
	rows := func() map[string]store.RowHash {
		t.Helper()
		out := map[string]store.RowHash{}
		for _, kind := range store.KindsInForce {
			list, err := f.s.InForce.Rows(f.ctx, "p", kind, nil)
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			for _, r := range list {
				out[r.Kind+" "+r.ID] = r.Hash
			}
		}
		return out
	}
	// change runs a change and checks what the transaction says about it against all rows before and after it.
	change := func(about string, fn func(tx store.Tx, cv int64) error) {
		t.Helper()
		var told, before []store.RowInForce
		err := f.corpusChange("p", func(tx store.Tx, cv int64) error {
			if err := fn(tx, cv); err != nil {
				return err
			}
			var err error
			if told, _, err = tx.InForce.Changed(f.ctx, "p"); err != nil {
				return err
			}
			if again, _, err := tx.InForce.Changed(f.ctx, "p"); len(again) > 0 || err != nil {
				t.Errorf("%s: told twice: %v, %v", about, again, err)
			}
			before = tx.InForce.Before()["p"]
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", about, err)
		}
		for _, r := range told {
			was, existed := all[r.Kind+" "+r.ID]
			at := slices.IndexFunc(before, func(b store.RowInForce) bool { return b.Kind == r.Kind && b.ID == r.ID })
			if existed && r.Hash != (store.RowHash{}) && (at < 0 || before[at].Hash != was) || at >= 0 && before[at].Hash != was {
				t.Errorf("%s: before it, the %s %s is told to be %v of %v", about, r.Kind, r.ID, at, before)
			}
		}
		want := rows()
		got := maps.Clone(all)
		changed := 0
		for _, r := range told {
			if got[r.Kind+" "+r.ID] != r.Hash {
				changed++
			}
			if r.Hash == (store.RowHash{}) {
				delete(got, r.Kind+" "+r.ID)
			} else {
				got[r.Kind+" "+r.ID] = r.Hash
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || changed == 0 {
			t.Errorf("%s: %d rows changed (-stored +told):\n%s", about, changed, diff)
		}
		all = want
	}
	all = rows()
	one, two := newRule(1, nil), newRule(2, nil)
	change("rules", func(tx store.Tx, cv int64) error { return tx.Rules.Insert(f.ctx, cv, []rule.Rule{one, two}) })
	one.Version, one.Statement = 2, "another"
	change("a revision", func(tx store.Tx, cv int64) error { return tx.Rules.Update(f.ctx, cv, []rule.Rule{one}) })
	rel := rule.Relationship{ID: newRule(3, nil).ID, FromID: one.ID, ToID: two.ID, Kind: rule.Overrides, CreatedAt: at, CreatedBy: "ann"}
	change("a relationship", func(tx store.Tx, cv int64) error { return tx.Rules.InsertRelationship(f.ctx, "p", cv, rel) })
	change("its end", func(tx store.Tx, cv int64) error { return tx.Rules.DeleteRelationship(f.ctx, "p", cv, one.ID, rel.ID) })
	org := newNode(1, nil, nil)
	change("a node", func(tx store.Tx, cv int64) error { return tx.Federation.InsertNodes(f.ctx, "p", cv, []rule.Node{org}) })
	org.Repositories = []string{"acme/*"}
	change("a binding", func(tx store.Tx, cv int64) error { return tx.Federation.UpdateNode(f.ctx, "p", cv, org) })
	attach := func(tx store.Tx, cv int64) error {
		return tx.Federation.InsertAttachments(f.ctx, "p", cv, []rule.Attachment{
			{NodeID: org.ID, RuleID: one.ID, CreatedAt: at, CreatedBy: "ann"}, {NodeID: org.ID, RuleID: two.ID, CreatedAt: at, CreatedBy: "ann"},
		})
	}
	change("attachments", attach)
	change("the end of one", func(tx store.Tx, cv int64) error {
		return tx.Federation.RemoveAttachment(f.ctx, "p", cv, org.ID, one.ID)
	})
	change("the end of the node", func(tx store.Tx, cv int64) error { return tx.Federation.RemoveNode(f.ctx, "p", cv, org.ID) })
	w := rule.Waiver{
		ID: newRule(11, nil).ID, ProjectID: "p", RuleID: one.ID, Severity: rule.Critical, Fingerprint: "f", Reason: "r", ExpiresAt: at.Add(time.Hour), CreatedAt: at, CreatedBy: "ann",
	}
	change("a waiver", func(tx store.Tx, _ int64) error { return tx.Waivers.Insert(f.ctx, w) })
	w.RevokedAt, w.RevokedBy = new(at), "bob"
	change("its end", func(tx store.Tx, _ int64) error { return tx.Waivers.Mark(f.ctx, w) })
	p := project("p")
	p.TwoPerson = !p.TwoPerson
	change("a policy", func(tx store.Tx, _ int64) error { return tx.Projects.Update(f.ctx, p) })
	k := store.Key{ID: newRule(21, nil).ID, ProjectID: "p", Name: "k", Role: "admin", Hash: "h", CreatedAt: at, CreatedBy: "ann"}
	change("a key", func(tx store.Tx, _ int64) error { return tx.Keys.Insert(f.ctx, k) })
	change("its replacement", func(tx store.Tx, _ int64) error { return tx.Keys.Replace(f.ctx, "p", k.ID, "other", at) })
	change("its end", func(tx store.Tx, _ int64) error { return tx.Keys.Revoke(f.ctx, "p", k.ID, at) })
	f.update(func(tx store.Tx) error {
		return tx.Keys.Use(f.ctx, map[string]store.KeyUse{k.ID: {UsedAt: at, Refused: 1, RefusedAt: at, LastRefusal: "revoked"}})
	})
	if diff := cmp.Diff(all, rows()); diff != "" {
		t.Errorf("the use of a key changes what is in force:\n%s", diff)
	}
	s := rule.Suspension{ID: newRule(31, nil).ID, ProjectID: "p", Agent: "bot", Reason: "r", SuspendedAt: at, SuspendedBy: "ann"}
	change("a suspension", func(tx store.Tx, _ int64) error { return tx.Agents.Suspend(f.ctx, s) })
	change("its end", func(tx store.Tx, _ int64) error {
		_, err := tx.Agents.Lift(f.ctx, "p", s.ID, at, "ann", "r")
		return err
	})
	snapshot := store.Snapshot{ProjectID: "p", ID: newRule(41, nil).ID, Name: "s", CreatedAt: at, CreatedBy: "ann", Manifest: []byte{1}}
	change("a snapshot", func(tx store.Tx, _ int64) error { return tx.Releases.InsertSnapshot(f.ctx, snapshot) })
	change("a deployment", func(tx store.Tx, _ int64) error {
		return tx.Releases.AppendDeployment(f.ctx, store.Deployment{ProjectID: "p", Environment: "production", Seq: 1, Action: "deploy", SnapshotID: snapshot.ID, At: at, By: "ann"})
	})
	change("gates", func(tx store.Tx, _ int64) error { return tx.Releases.PutGates(f.ctx, "p", "production", []byte(`{}`)) })

	f.update(func(tx store.Tx) error {
		tx.InForce.ChangeAll("p")
		list, whole, err := tx.InForce.Changed(f.ctx, "p")
		got := map[string]store.RowHash{}
		for _, r := range list {
			got[r.Kind+" "+r.ID] = r.Hash
		}
		if diff := cmp.Diff(all, got); diff != "" || !whole || err != nil {
			t.Errorf("the whole: %t, %v (-stored +told):\n%s", whole, err, diff)
		}
		if err := tx.Projects.Update(f.ctx, p); err != nil || len(tx.InForce.Before()) > 0 {
			t.Errorf("after all was accepted: %v, %v", tx.InForce.Before(), err)
		}
		return nil
	})
	// The keys and suspensions of all projects are those of the default project.
	f.update(func(tx store.Tx) error {
		if err := tx.Projects.Create(f.ctx, project(rule.DefaultProject)); err != nil {
			return err
		}
		key := k
		key.ID, key.ProjectID, key.Hash = newRule(22, nil).ID, store.AllProjects, "h2"
		if err := tx.Keys.Insert(f.ctx, key); err != nil {
			return err
		}
		list, _, err := tx.InForce.Changed(f.ctx, rule.DefaultProject)
		if err != nil || len(list) != 2 || list[0].ID != key.ID || list[0].Hash == (store.RowHash{}) {
			t.Errorf("a key of all projects: %v, %v", list, err)
		}
		return err
	})
	entries := []store.AuditEntry{
		entryAt(1, nil), entryAt(2, func(e *store.AuditEntry) { e.Kind = "rule" }), entryAt(3, func(e *store.AuditEntry) { e.Kind = "key" }),
		entryAt(4, nil), entryAt(5, func(e *store.AuditEntry) { e.Kind = "rule" }),
	}
	if err := f.appendAudit(entries...); err != nil {
		t.Fatal(err)
	}
	recorded := func(kind string, after int64, limit int, until int64, want ...int64) {
		t.Helper()
		list, looked, err := f.s.InForce.Recorded(f.ctx, "p", []string{kind, "key"}, after, limit)
		var got []int64
		for _, e := range list {
			got = append(got, e.Seq)
		}
		if err != nil || !slices.Equal(got, want) || looked != until {
			t.Errorf("recorded after %d: %v up to %d, %v; want %v up to %d", after, got, looked, err, want, until)
		}
	}
	recorded("rule", 0, 10, 5, 2, 3, 5)
	recorded("rule", 0, 2, 3, 2, 3)
	recorded("rule", 3, 10, 5, 5)
	recorded("rule", 5, 10, 5)
	recorded("waiver", 3, 10, 5) // there is none, and so nothing that needs to be looked at again
	// Among many evaluations, too.
	var many []store.AuditEntry
	for n := range int64(700) {
		many = append(many, entryAt(6+n, func(e *store.AuditEntry) {
			if e.Seq == 300 || e.Seq == 650 {
				e.Kind = "key"
			}
		}))
	}
	if err := f.appendAudit(many...); err != nil {
		t.Fatal(err)
	}
	recorded("rule", 3, 10, 705, 5, 300, 650)
	recorded("rule", 3, 2, 300, 5, 300)
	recorded("rule", 300, 10, 705, 650)
	recorded("waiver", 650, 10, 705)
}
