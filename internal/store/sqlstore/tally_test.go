package sqlstore_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/sqlstore"
)

// A corpus that somebody has changed behind Tenet's back is refused, and neither fewer rules nor others are read as if they were all.
func TestADamagedCorpusIsRefused(t *testing.T) {
	for name, test := range map[string]struct{ damage, want string }{
		"a row is gone":             {"DELETE FROM rules WHERE id = 'b'", "has 2 rules in the database, but 3 were counted"},
		"all rows are gone":         {"DELETE FROM rules", "has 0 rules in the database, but 3 were counted"},
		"a row is empty":            {"UPDATE rules SET body = '{}' WHERE id = 'b'", "the row of the rule b"},
		"a row is no JSON":          {"UPDATE rules SET body = '' WHERE id = 'b'", "the row of the rule b"},
		"a row says something else": {`UPDATE rules SET body = replace(body, 'MUST_NOT', 'MAY') WHERE id = 'b'`, "are not as they were written"},
		"a row is exchanged":        {"UPDATE rules SET id = 'd' WHERE id = 'b'", "the row of the rule d"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
			opened(t, s, err)
			err = s.Update(t.Context(), func(tx store.Tx) error {
				if err := tx.Projects.Create(t.Context(), rule.Project{ID: "p"}); err != nil {
					return err
				}
				cv, err := tx.Projects.RaiseCorpus(t.Context(), "p")
				if err != nil {
					return err
				}
				return tx.Rules.Insert(t.Context(), cv, []rule.Rule{
					{ID: "a", ProjectID: "p", Version: 1}, {ID: "b", ProjectID: "p", Version: 1, Modality: rule.MustNot}, {ID: "c", ProjectID: "p", Version: 1},
				})
			})
			if err != nil {
				t.Fatal(err)
			}
			follow := func() error {
				_, err := s.Federation.Follow(t.Context(), "p", 0, func(store.RuleState) error { return nil },
					func(store.NodeState) error { return nil }, func(store.AttachmentState) error { return nil })
				return err
			}
			if err := follow(); err != nil {
				t.Fatal(err)
			}
			raw, err := sql.Open("sqlite", filepath.Join(dir, sqlstore.FileName))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := raw.ExecContext(t.Context(), test.damage); err != nil {
				t.Fatal(err)
			}
			if err := raw.Close(); err != nil {
				t.Fatal(err)
			}
			err = follow()
			if rule.CodeOf(err) != rule.CodeUnavailable || !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "backup") {
				t.Errorf("%v", err)
			}
			// What cannot be read cannot be accepted; what is missing can.
			err = s.Update(t.Context(), func(tx store.Tx) error {
				_, err := tx.Rules.Recount(t.Context(), "p", 2)
				return err
			})
			if readable := !strings.Contains(test.want, "the row of"); readable != (err == nil) {
				t.Errorf("counted again: %v", err)
			} else if readable {
				if err := follow(); err != nil {
					t.Errorf("accepted: %v", err)
				}
			}
		})
	}
}

// A database of an older version has no tally: it is read, written and then counted whole.
func TestAnUncountedCorpusIsCountedWhole(t *testing.T) {
	dir := t.TempDir()
	s, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
	opened(t, s, err)
	insert := func(id string) {
		t.Helper()
		if err := s.Update(t.Context(), func(tx store.Tx) error {
			cv, err := tx.Projects.RaiseCorpus(t.Context(), "p")
			if err != nil {
				return err
			}
			return tx.Rules.Insert(t.Context(), cv, []rule.Rule{{ID: id, ProjectID: "p", Version: 1}})
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.Projects.Create(t.Context(), rule.Project{ID: "p"}) }); err != nil {
		t.Fatal(err)
	}
	insert("a")
	raw, err := sql.Open("sqlite", filepath.Join(dir, sqlstore.FileName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.ExecContext(t.Context(), "DELETE FROM corpus_tallies"); err != nil {
		t.Fatal(err)
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	insert("b")
	if _, err := s.Rules.Tally(t.Context(), "p"); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("a part is counted as if it were the whole: %v", err)
	}
	err = s.Update(t.Context(), func(tx store.Tx) error {
		_, err := tx.Rules.Recount(t.Context(), "p", 2)
		return err
	})
	if tally, again := s.Rules.Tally(t.Context(), "p"); err != nil || again != nil || tally.Rules != 2 {
		t.Errorf("%+v, %v, %v", tally, err, again)
	}
}
