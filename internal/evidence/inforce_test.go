package evidence_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/evidence"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/sqlstore"
)

// explain makes n rules in the project p with an entry that explains them.
func explain(t testing.TB, s store.Store, n int) {
	t.Helper()
	rules := make([]rule.Rule, n)
	for i := range rules {
		rules[i] = rule.Rule{
			ID: audit.NewID(), ProjectID: "p", Slug: fmt.Sprintf("R-%d", i), Version: 1, Status: rule.Effective, Statement: strings.Repeat("Say please. ", 20),
			Modality: rule.Must, Severity: rule.High, Enforcement: rule.Enforce, CreatedAt: time.Now(), UpdatedAt: time.Now(),
		}
	}
	err := s.Update(t.Context(), func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(t.Context(), "p")
		if err != nil {
			return err
		}
		if err := tx.Rules.Insert(t.Context(), cv, rules); err != nil {
			return err
		}
		return audit.Append(t.Context(), tx, "p", audit.Record{Kind: audit.KindImport, At: time.Now(), Actor: "ann", Body: []byte(`{"action":"import"}`)})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnEntryThatWasEditedExplainsNothing(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		err := s.Update(t.Context(), func(tx store.Tx) error {
			if err := tx.Projects.Create(t.Context(), rule.Project{ID: "q", Name: "q", CreatedAt: time.Now(), UpdatedAt: time.Now()}); err != nil {
				return err
			}
			return audit.Append(t.Context(), tx, "q", audit.Record{Kind: audit.KindProject, At: time.Now(), Actor: "ann", Body: []byte(`{}`)})
		})
		if err != nil {
			t.Fatal(err)
		}
		fresh := func() *evidence.InForce {
			f := evidence.NewInForce(s.InForce, slog.New(slog.DiscardHandler))
			f.Strict()
			return f
		}
		if err := fresh().CheckStored(t.Context(), "q"); err != nil {
			t.Fatal(err)
		}
		if err := fresh().CheckStored(t.Context(), "p"); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("a project without an entry: %v", err)
		}
		// The body of the entry is exchanged for one that explains something else.
		body, err := json.Marshal(map[string]any{"in_force": audit.InForce{Whole: true, Rows: []string{}}})
		if err != nil {
			t.Fatal(err)
		}
		s.tamper(t, fmt.Sprintf("UPDATE audit_entries SET body = %s WHERE project_id = 'q'", map[string]string{
			"sqlite": fmt.Sprintf("X'%x'", audit.Compress(body)), "pgx": fmt.Sprintf(`'\x%x'`, audit.Compress(body)),
		}[s.driver]))
		if err := fresh().CheckStored(t.Context(), "q"); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "entry 1") {
			t.Errorf("an edited entry: %v", err)
		}
	})
}

func TestTheBodyOfAnEntryKeepsItsFields(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		for _, body := range []string{`{}`, ` { } `, `{"a":{"b":"}"}}`} {
			err := s.Update(t.Context(), func(tx store.Tx) error {
				tx.InForce.ChangeAll("p")
				return audit.Append(t.Context(), tx, "p", audit.Record{Kind: audit.KindRule, At: time.Now(), Actor: "ann", Body: []byte(body)})
			})
			if err != nil {
				t.Fatal(err)
			}
			head, err := s.Audit.Head(t.Context(), "p")
			if err != nil {
				t.Fatal(err)
			}
			list, err := s.Audit.Entries(t.Context(), "p", head.Seq-1, 1)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := audit.Body(list[0])
			if err != nil {
				t.Fatal(err)
			}
			var before, after map[string]any
			if json.Unmarshal([]byte(body), &before) != nil || json.Unmarshal(stored, &after) != nil || len(after) != len(before)+1 || after["in_force"] == nil {
				t.Errorf("%s was recorded as %s", body, stored)
			}
		}
		err := s.Update(t.Context(), func(tx store.Tx) error {
			tx.InForce.ChangeAll("p")
			return audit.Append(t.Context(), tx, "p", audit.Record{Kind: audit.KindRule, At: time.Now(), Actor: "ann", Body: []byte(`[]`)})
		})
		if err == nil {
			t.Error("a body that cannot say what is in force was recorded")
		}
	})
}

// BenchmarkInForce reads what the log explains about 20,000 rules, and compares the rules with it, as a start does.
func BenchmarkInForce(b *testing.B) {
	s, err := sqlstore.OpenSQLite(b.Context(), b.TempDir(), sqlstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	err = s.Update(b.Context(), func(tx store.Tx) error {
		return tx.Projects.Create(b.Context(), rule.Project{ID: "p", Name: "p", CreatedAt: time.Now(), UpdatedAt: time.Now()})
	})
	if err != nil {
		b.Fatal(err)
	}
	explain(b, s, 20_000)
	var rows []store.RowInForce
	load := func(ctx context.Context) error {
		rows = rows[:0]
		_, err := s.Rules.Changes(ctx, "p", 0, func(r store.RuleState) error {
			rows = append(rows, store.RowInForce{Kind: store.RuleInForce, ID: r.Rule.ID, Hash: r.Hash})
			return nil
		})
		return err
	}
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			if err := load(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("compare", func(b *testing.B) {
		for b.Loop() {
			f := evidence.NewInForce(s.InForce, slog.New(slog.DiscardHandler))
			mark, err := f.Mark(b.Context(), "p")
			if err != nil {
				b.Fatal(err)
			}
			if err := f.Check(b.Context(), "p", mark, rows, nil, store.RuleInForce); err != nil {
				b.Fatal(err)
			}
		}
	})
}
