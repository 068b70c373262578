package corpus_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
)

func eachStore(t *testing.T, test func(t *testing.T, open func() store.Store)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		dir := t.TempDir()
		test(t, func() store.Store {
			return closing(t)(sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{}))
		})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		dsn := pgtest.DSN(t)
		test(t, func() store.Store {
			return closing(t)(sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{}))
		})
	})
}

func closing(t *testing.T) func(store.Store, error) store.Store {
	return func(s store.Store, err error) store.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
}

// put stores a new version of rules in a project.
func put(t *testing.T, s store.Store, project string, rules ...rule.Rule) {
	t.Helper()
	err := s.Update(t.Context(), func(tx store.Tx) error {
		cv, err := tx.RaiseCorpus(t.Context(), project)
		if err != nil {
			return err
		}
		for _, r := range rules {
			r.ProjectID = project
			if r.Version == 1 {
				err = tx.InsertRules(t.Context(), cv, []rule.Rule{r})
			} else {
				err = tx.UpdateRules(t.Context(), cv, []rule.Rule{r})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func createProject(t *testing.T, s store.Store, id string) {
	t.Helper()
	err := s.Update(t.Context(), func(tx store.Tx) error {
		return tx.CreateProject(t.Context(), rule.Project{ID: id, Name: id, CreatedAt: noon, UpdatedAt: noon})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func live(s store.Store, maxBytes int64) *corpus.Live {
	return corpus.NewLive(corpus.Config{Store: s, Logger: slog.New(slog.DiscardHandler), Poll: 20 * time.Millisecond, MaxBytes: maxBytes})
}

func TestLiveShowsOwnWritesAtOnceAndOthersSoon(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() store.Store) {
		one, two := open(), open()
		createProject(t, one, "p")
		mine, theirs := live(one, 0), live(two, 0)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); theirs.Run(ctx) }()
		defer func() { cancel(); <-done }()
		if v, err := theirs.View(t.Context(), "p"); err != nil || v.Len() != 0 {
			t.Fatalf("before: %v, %v", v, err)
		}
		put(t, one, "p", newRule(1, nil).Rule)
		v, err := mine.Refresh(t.Context(), "p")
		if err != nil || v.Len() != 1 {
			t.Fatalf("own write: %v, %v", v, err)
		}
		if again, err := mine.View(t.Context(), "p"); err != nil || again != v {
			t.Errorf("the view after a refresh is another one, %v", err)
		}
		limit := time.Now().Add(time.Second)
		for {
			v, err := theirs.View(t.Context(), "p")
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := v.Get("R-1"); ok && e.Rule.Version == 1 {
				break
			}
			if time.Now().After(limit) {
				t.Fatal("the other node does not show the rule within a second")
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
}

func TestLiveOfAnUnknownProject(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() store.Store) {
		s := open()
		l := live(s, 0)
		for range 2 {
			if _, err := l.View(t.Context(), "later"); rule.CodeOf(err) != rule.CodeNotFound {
				t.Errorf("error %v, want not_found", err)
			}
		}
		createProject(t, s, "later")
		if _, err := l.View(t.Context(), "later"); err != nil {
			t.Errorf("once it exists: %v", err)
		}
	})
}

func TestLiveDropsViewsBeyondItsMemoryAndLoadsThemAgain(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() store.Store) {
		s := open()
		l := live(s, 1) // every view is beyond it
		for _, id := range []string{"a", "b"} {
			createProject(t, s, id)
			put(t, s, id, newRule(1, nil).Rule)
		}
		first, err := l.View(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.View(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		again, err := l.View(t.Context(), "a")
		if err != nil || again == first || again.Len() != 1 {
			t.Errorf("view a was not dropped and loaded again: same %v, %v", again == first, err)
		}
	})
}

func TestLiveCompactsWithoutLosingChanges(t *testing.T) {
	s := closing(t)(sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{}))
	createProject(t, s, "p")
	l := live(s, 0)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); l.Run(ctx) }()
	defer func() { cancel(); <-done }()
	// Runs of 1,001 rules are too large to merge at once, so that the view becomes fragmented.
	const runs, size = 26, 1001
	for i := range runs {
		rules := make([]rule.Rule, size)
		for j := range rules {
			rules[j] = newRule(i*size+j, nil).Rule
			rules[j].ProjectID = "p"
		}
		err := s.Update(t.Context(), func(tx store.Tx) error {
			cv, err := tx.RaiseCorpus(t.Context(), "p")
			if err != nil {
				return err
			}
			return tx.InsertRules(t.Context(), cv, rules)
		})
		if err != nil {
			t.Fatal(err)
		}
		v, err := l.Refresh(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		if v.Len() != (i+1)*size {
			t.Fatalf("after run %d the view has %d rules, want %d", i, v.Len(), (i+1)*size)
		}
	}
	time.Sleep(100 * time.Millisecond)
	v, err := l.View(t.Context(), "p")
	if err != nil || v.Len() != runs*size {
		t.Fatalf("%d rules, %v", v.Len(), err)
	}
	if _, ok := v.Get(fmt.Sprintf("R-%d", runs*size-1)); !ok {
		t.Error("the last rule is not there")
	}
}
