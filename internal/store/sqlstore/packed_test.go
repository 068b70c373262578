package sqlstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
)

// A database that has counts from before there were packed ones has the same lists of the highest after its migration.
func TestStoredCountsArePacked(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() (store.Store, error){
		"SQLite": func() (store.Store, error) { return sqlstore.OpenSQLite(t.Context(), t.TempDir(), sqlstore.Options{}) },
		"PostgreSQL": func() (store.Store, error) {
			return sqlstore.OpenPostgres(t.Context(), pgtest.DSN(t), sqlstore.Options{})
		},
	} {
		s, err := open()
		opened(t, s, err)
		at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
		for _, project := range []string{"p", "q"} {
			err := s.Update(t.Context(), func(tx store.Tx) error {
				if err := tx.Projects.Create(t.Context(), rule.Project{ID: project}); err != nil {
					return err
				}
				c := store.Counts{ProjectID: project, Mark: store.CountMark{Seq: 1, At: at}}
				for i := range 60 {
					day := store.DayOf(at) + store.Day(i%3)
					c.Rules = append(c.Rules, store.RuleCount{
						Day: day, RuleID: fmt.Sprintf("%s%d", project, i%20), Denied: int64(i % 7), Calls: int64(i % 4), CallMS: int64(i * 100), Tokens: 5, LastAt: at,
					})
					c.Groups = append(c.Groups, store.GroupCount{Dimension: store.OfNode, Day: day, Name: fmt.Sprintf("n%d", i%20), Allowed: int64(i), Denied: 1})
				}
				return tx.Counts.Add(t.Context(), c)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		lists := func() (all []any) {
			for _, project := range []string{"p", "q"} {
				for _, called := range []bool{false, true} {
					got, err := s.Counts.Top(t.Context(), store.TopFilter{ProjectID: project, From: store.DayOf(at) + 1, Called: called, Limit: 20})
					if err != nil || len(got) < 10 {
						t.Fatal(got, err)
					}
					all = append(all, got)
				}
				got, err := s.Counts.Groups(t.Context(), store.GroupFilter{ProjectID: project, Dimension: store.OfNode, Limit: 20})
				if err != nil || len(got) != 20 {
					t.Fatal(got, err)
				}
				all = append(all, got)
			}
			return all
		}
		want := lists()
		if err := sqlstore.PackAgain(t, s); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, lists()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
