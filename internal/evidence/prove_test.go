package evidence_test

import (
	"strings"
	"testing"

	"tenet/internal/audit"
	"tenet/internal/checkpoint"
	"tenet/internal/evidence"
	"tenet/internal/evidence/attest"
	"tenet/internal/rule"
	"tenet/internal/store"
)

func TestEntriesAreProven(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		d := newDesk(t)
		b := d.book(t, s)
		s.append(t, "p", 400)
		signing, _, err := b.Keys(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		policy, err := checkpoint.ParsePolicy([]byte(d.policy.For(signing)))
		if err != nil {
			t.Fatal(err)
		}
		entries, err := s.Audit.Entries(t.Context(), "p", 0, 400)
		if err != nil {
			t.Fatal(err)
		}
		prove := func(about string, e store.AuditEntry) {
			t.Helper()
			p, err := b.Prove(t.Context(), e)
			if err != nil {
				t.Fatalf("%s: %v", about, err)
			}
			if r, err := attest.Check(p.Marshal(), policy, nil); err != nil || r.Entry.ID != e.ID {
				t.Errorf("%s: %+v, %v", about, r, err)
			}
		}
		prove("without a checkpoint before", entries[399])
		s.storeTiles(t)
		s.append(t, "p", 300)
		seal(t, b, "p")
		for _, i := range []int{0, 255, 256, 399} {
			prove("an older entry", entries[i])
		}
		if _, err := audit.Prune(t.Context(), s, s.Audit, audit.Pruning{ProjectID: "p", Kind: audit.KindEvaluation, Before: entries[399].At.AddDate(1, 0, 0), Now: entries[399].At}); err != nil {
			t.Fatal(err)
		}
		pruned, err := s.Audit.Entries(t.Context(), "p", 6, 1)
		if err != nil || len(pruned[0].Body) > 0 {
			t.Fatalf("%d bytes, %v", len(pruned[0].Body), err)
		}
		prove("an entry whose body was removed", pruned[0])
		unsigned := evidence.NewBook(evidence.Config{Log: evidence.NewLog(s.Logs), DB: s})
		s.append(t, "p", 1)
		last := store.AuditEntry{ProjectID: "p", Seq: 9999, Hash: entries[0].Hash}
		if _, err := unsigned.Prove(t.Context(), last); rule.CodeOf(err) != rule.CodeUnavailable {
			t.Errorf("without a key: %v", err)
		}
		s.tamper(t, "UPDATE audit_entries SET verdict = 'ALLOW' WHERE project_id = 'p' AND seq = 8")
		s.recompute(t, "p")
		forged, err := s.Audit.Get(t.Context(), "p", entries[7].ID)
		if err != nil {
			t.Fatal(err)
		}
		s.tamper(t, "DELETE FROM audit_checkpoints")
		if p, err := d.book(t, s).Prove(t.Context(), forged); err == nil {
			t.Errorf("the forged entry was proven:\n%s", p.Marshal())
		}
	})
}

// An auditor with a checkpoint finds each attack, and between which entries it was.
func TestAttacksAreFoundByAnAuditor(t *testing.T) {
	for name, a := range attacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, s opened) {
				d, got := newDesk(t), &noted{}
				d.places = []checkpoint.Place{got}
				b := d.book(t, s)
				var list []checkpoint.Checkpoint
				for _, n := range []int{5, 295, 300} {
					s.append(t, "p", n)
					seal(t, b, "p")
					c, err := checkpoint.Parse(got.notes[len(got.notes)-1])
					if err != nil {
						t.Fatal(err)
					}
					list = append(list, c)
				}
				s.storeTiles(t)
				log := evidence.NewLog(s.Logs)
				if r, err := log.Compare(t.Context(), "p", list); err != nil || r.Compared != 3 || len(r.Problems) > 0 {
					t.Fatalf("before: %+v, %v", r, err)
				}
				a.attack(t, s)
				r, err := log.Compare(t.Context(), "p", list)
				if err != nil || len(r.Problems) != 1 {
					t.Fatalf("after: %+v, %v", r, err)
				}
				if strings.Contains(name, "cut") && r.Compared != 2 || strings.Contains(name, "recomputed") && (r.Problems[0].Seq != 6 || r.Through != 5) {
					t.Errorf("after: %+v", r)
				}
			})
		})
	}
}

func TestTwoHistoriesAreFound(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		s.append(t, "p", 3)
		front, err := evidence.NewLog(s.Logs).Front(t.Context(), "p", 3)
		if err != nil {
			t.Fatal(err)
		}
		one, two := checkpoint.Checkpoint{Origin: "o", Size: 3, Root: front.Root()}, checkpoint.Checkpoint{Origin: "o", Size: 3}
		r, err := evidence.NewLog(s.Logs).Compare(t.Context(), "p", []checkpoint.Checkpoint{one, two})
		if err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Message, "two histories") {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
