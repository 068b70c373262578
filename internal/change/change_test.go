package change_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tenet/internal/change"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
)

type brokenViews struct{}

func (brokenViews) Refresh(context.Context, string) (*corpus.View, error) {
	return nil, errors.New("the database went away")
}

// each runs test on both databases with a project "default".
func each(t *testing.T, test func(t *testing.T, s store.Store)) {
	quiet := sqlstore.Options{Logger: slog.New(slog.DiscardHandler)}
	open := map[string]func(t *testing.T) (store.Store, error){
		"SQLite": func(t *testing.T) (store.Store, error) {
			return sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), quiet)
		},
		"PostgreSQL": func(t *testing.T) (store.Store, error) {
			return sqlstore.OpenPostgres(t.Context(), pgtest.DSN(t), quiet)
		},
	}
	for name, open := range open {
		t.Run(name, func(t *testing.T) {
			s, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			if err := s.Update(t.Context(), func(tx store.Tx) error {
				return tx.Projects.Create(t.Context(), rule.Project{ID: "default", Name: "default"})
			}); err != nil {
				t.Fatal(err)
			}
			test(t, s)
		})
	}
}

// A change that is stored is a success, even if this node cannot read it yet.
func TestAFailingRefreshIsLogged(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		var log bytes.Buffer
		changes := change.New(s, brokenViews{}, nil, slog.New(slog.NewTextHandler(&log, nil)), time.Now)
		var version int64
		if err := changes.Run(t.Context(), "default", func(ch *change.Change) error {
			version = ch.Version
			return nil
		}); err != nil {
			t.Errorf("a stored change is answered with %v", err)
		}
		if p, err := s.Projects.Get(t.Context(), "default"); err != nil || p.CorpusVersion != version || version == 0 {
			t.Errorf("the corpus is at version %d, not %d: %v", p.CorpusVersion, version, err)
		}
		if !strings.Contains(log.String(), "the database went away") {
			t.Errorf("the log does not have the error: %s", log.String())
		}
	})
}

func TestErrUndoRollsBack(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		changes := change.New(s, brokenViews{}, nil, slog.New(slog.DiscardHandler), time.Now)
		if err := changes.Run(t.Context(), "default", func(*change.Change) error { return change.ErrUndo }); err != nil {
			t.Error(err)
		}
		refused := rule.Errorf(rule.CodeConflict, "no")
		if err := changes.Run(t.Context(), "default", func(*change.Change) error { return refused }); !errors.Is(err, refused) {
			t.Errorf("error %v, want the one of the change", err)
		}
		if p, err := s.Projects.Get(t.Context(), "default"); err != nil || p.CorpusVersion != 0 {
			t.Errorf("the corpus is at version %d, %v", p.CorpusVersion, err)
		}
	})
}
