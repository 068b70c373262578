package find

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tenet/internal/store"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// breaking fails from a transaction on.
type breaking struct {
	store.DerivedUpdater
	left int
}

var errBroken = errors.New("broken")

func (b *breaking) UpdateDerived(ctx context.Context, fn func(store.Tx) error) error {
	if b.left--; b.left < 0 {
		return errBroken
	}
	return b.DerivedUpdater.UpdateDerived(ctx, fn)
}

// payments records payments, of which each is found by its id.
func (w *world) payments(n int) {
	w.Helper()
	for i := range n {
		w.record(plain(fmt.Sprintf("PMT-%d", i)))
	}
}

// complete checks that each of n payments is found once by its id, and all by their verdict.
func (w *world) complete(n int) {
	w.Helper()
	for i := range n {
		if r := w.find(wire.EvaluationQuery{Fact: []string{fmt.Sprintf("payment_id:PMT-%d", i)}, Verdict: "ALLOW"}); r.Total != 1 {
			w.Errorf("payment %d is found %d times", i, r.Total)
		}
	}
	if r := w.find(wire.EvaluationQuery{Verdict: "ALLOW"}); r.Total != n {
		w.Errorf("%d of %d evaluations are found", r.Total, n)
	}
}

// TestIndexingInSlices interrupts the indexing of a batch after each of its transactions: what is found stays complete, with what is indexed in part
// counted once, and the next job indexes the rest.
func TestIndexingInSlices(t *testing.T) {
	t.Parallel()
	const n = 45
	both(t, func(t *testing.T, w *world) {
		w.payments(n)
		b := &breaking{w.store, 0}
		w.index.cfg.Store.DerivedUpdater = b
		w.complete(n)
		slices := 0
		for after := 0; ; after++ {
			b.left = after
			err := w.index.Handle(t.Context(), wire.Job{}, func(int, int) {})
			if err == nil {
				break
			}
			if !errors.Is(err, errBroken) || after > 99 {
				t.Fatal(err)
			}
			slices++
			if mark, err := w.store.Terms.Mark(t.Context(), "p"); err != nil || mark.Seq != 0 {
				t.Fatalf("the mark is %+v before all terms are stored, %v", mark, err)
			}
		}
		if slices < 3 {
			t.Errorf("a batch with more than %d terms took %d transactions", n, slices)
		}
		if behind, err := w.index.Behind(t.Context()); err != nil || behind != 0 {
			t.Errorf("%d entries are left, %v", behind, err)
		}
		w.complete(n)
	})
}

// TestIndexAfterALostMachine cuts the log of SQLite at many places after what was synced, as a machine that loses power may: the evaluations are all
// there, and the index is as it was after one of its transactions, from which it goes on.
func TestIndexAfterALostMachine(t *testing.T) {
	t.Parallel()
	const n = 30
	both(t, func(t *testing.T, w *world) {
		dir := w.dir
		if dir == "" {
			return // the log of PostgreSQL is the server's
		}
		w.payments(n)
		synced := w.log(dir)
		if err := w.index.Handle(t.Context(), wire.Job{}, func(int, int) {}); err != nil {
			t.Fatal(err)
		}
		whole := w.log(dir)
		database, err := os.ReadFile(filepath.Join(dir, sqlstore.FileName))
		if err != nil || len(whole) <= len(synced) {
			t.Fatalf("the index wrote %d bytes, %v", len(whole)-len(synced), err)
		}
		marks := map[int64]bool{}
		for i := range 12 {
			lost := t.TempDir()
			cut := len(synced) + (len(whole)-len(synced))*i/11
			for name, content := range map[string][]byte{sqlstore.FileName: database, sqlstore.FileName + "-wal": whole[:cut]} {
				if err := os.WriteFile(filepath.Join(lost, name), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, err := sqlstore.OpenSQLite(t.Context(), lost, sqlstore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			again := &world{T: t, store: s, index: New(Config{Store: Store{Updater: s, DerivedUpdater: s, Audit: s.Audit, Rules: s.Rules, Terms: s.Terms}})}
			mark, err := s.Terms.Mark(t.Context(), "p")
			if err != nil {
				t.Fatal(err)
			}
			marks[mark.Seq] = true
			again.complete(n)
			if err := again.index.Handle(t.Context(), wire.Job{}, func(int, int) {}); err != nil {
				t.Error(err)
			}
			again.complete(n)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if len(marks) < 2 {
			t.Errorf("no cut lost anything: marks %v", marks)
		}
	})
}

// log returns the write-ahead log of a database of SQLite.
func (w *world) log(dir string) []byte {
	w.Helper()
	content, err := os.ReadFile(filepath.Join(dir, sqlstore.FileName+"-wal"))
	if err != nil {
		w.Fatal(err)
	}
	return content
}
