package audit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/store"
	"tenet/internal/wire"
)

func TestPruneLeavesAChainThatVerifies(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		now := time.Now()
		add := func(kind string, age time.Duration) {
			t.Helper()
			r := record(1)
			r.Kind, r.At = kind, now.Add(-age)
			err := s.Update(t.Context(), func(tx store.Tx) error { return audit.Append(t.Context(), tx, "p", r) })
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, age := range []time.Duration{10, 9, 8} {
			add(audit.KindEvaluation, age*time.Hour)
			add(audit.KindRule, age*time.Hour)
		}
		add(audit.KindEvaluation, time.Hour)
		verify := func(pruned int64, problems int) {
			t.Helper()
			r, err := audit.Verify(t.Context(), s.Audit, "p", wire.AuditHead{})
			if err != nil || r.Pruned != pruned || len(r.Problems) != problems {
				t.Errorf("%+v, %v; want %d bodies removed and %d problems", r, err, pruned, problems)
			}
		}
		prune := func(age time.Duration, want int) {
			t.Helper()
			if n, err := audit.Prune(t.Context(), s, s.Audit, pruning(now.Add(-age), now)); err != nil || n != want {
				t.Errorf("%d bodies removed, %v; want %d", n, err, want)
			}
		}
		prune(20*time.Hour, 0)
		verify(0, 0)
		// A run that breaks off after it has told what it will do is made up for by the next one.
		if _, err := audit.Prune(t.Context(), breaking{s}, s.Audit, pruning(now.Add(-9*time.Hour+time.Minute), now)); !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		verify(0, 0)
		prune(9*time.Hour-time.Minute, 2)
		verify(2, 0)
		prune(2*time.Hour, 1)
		prune(2*time.Hour, 0)
		verify(3, 0)
		entries, err := s.Audit.Entries(t.Context(), "p", 0, 100)
		if err != nil || len(entries) != 9 { // seven, and one for each time that there was something to remove
			t.Errorf("%d entries, %v", len(entries), err)
		}
		s.tamper(t, "UPDATE audit_entries SET verdict = 'ALLOW' WHERE seq = 1", "UPDATE audit_entries SET body_hash = 'x' WHERE seq = 3")
		verify(3, 2)
	})
}

// Bodies that are removed while a chain is verified are no damage, and one that another removes is.
func TestVerifyWhileBodiesAreRemoved(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		now := time.Now()
		err := s.Update(t.Context(), func(tx store.Tx) error {
			var records []audit.Record
			for range 3 {
				r := record(1)
				r.At = now.Add(-2 * time.Hour)
				records = append(records, r)
			}
			return audit.Append(t.Context(), tx, "p", append(records, record(2))...)
		})
		if err != nil {
			t.Fatal(err)
		}
		removing := func() {
			if n, err := audit.Prune(t.Context(), s, s.Audit, pruning(now.Add(-time.Hour), now)); err != nil || n != 3 {
				t.Errorf("%d bodies removed, %v", n, err)
			}
		}
		r, err := audit.Verify(t.Context(), &interrupted{s.Audit, removing}, "p", wire.AuditHead{})
		if err != nil || !r.OK() || r.Pruned != 3 {
			t.Errorf("%+v, %v; want 3 bodies removed and no problem", r, err)
		}
		erasing := func() { s.tamper(t, "UPDATE audit_entries SET body = '' WHERE seq = 4") }
		r, err = audit.Verify(t.Context(), &interrupted{s.Audit, erasing}, "p", wire.AuditHead{})
		if err != nil || len(r.Problems) != 1 || r.Problems[0].Seq != 4 {
			t.Errorf("%+v, %v; want a problem of entry 4", r, err)
		}
	})
}

// interrupted calls a function before it reads the first page.
type interrupted struct {
	store.AuditReader

	first func()
}

func (i *interrupted) Entries(ctx context.Context, projectID string, after int64, limit int) ([]store.AuditEntry, error) {
	if i.first != nil {
		i.first()
		i.first = nil
	}
	return i.AuditReader.Entries(ctx, projectID, after, limit)
}

func pruning(before, now time.Time) audit.Pruning {
	return audit.Pruning{ProjectID: "p", Kind: audit.KindEvaluation, Before: before, Now: now}
}

var errBroken = errors.New("broken off")

// breaking is a store that breaks off where bodies are removed.
type breaking struct{ store.Updater }

func (b breaking) Update(ctx context.Context, fn func(store.Tx) error) error {
	return b.Updater.Update(ctx, func(tx store.Tx) error {
		tx.Audit = breakingAudit{tx.Audit}
		return fn(tx)
	})
}

type breakingAudit struct{ store.AuditTx }

func (breakingAudit) DropBodies(context.Context, string, string, int64, int64, int, []int64) (int64, int, error) {
	return 0, 0, errBroken
}
