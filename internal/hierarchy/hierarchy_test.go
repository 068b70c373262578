package hierarchy_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/change"
	"tenet/internal/corpus"
	"tenet/internal/hierarchy"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// each runs test on both databases with a project "default".
func each(t *testing.T, test func(t *testing.T, c *catalog.Catalog, h *hierarchy.Hierarchy, s store.Store)) {
	quiet := slog.New(slog.DiscardHandler)
	open := map[string]func(t *testing.T) (store.Store, error){
		"SQLite": func(t *testing.T) (store.Store, error) {
			return sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{Logger: quiet})
		},
		"PostgreSQL": func(t *testing.T) (store.Store, error) {
			return sqlstore.OpenPostgres(t.Context(), pgtest.DSN(t), sqlstore.Options{Logger: quiet})
		},
	}
	for name, open := range open {
		t.Run(name, func(t *testing.T) {
			s, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			live := corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers}, Logger: quiet})
			changes := change.New(s, live, nil, quiet, time.Now)
			h := hierarchy.New(live, changes, time.Now)
			c := catalog.New(catalog.Store{Updater: s, Projects: s.Projects, Rules: s.Rules}, live, changes, nil, h, time.Now)
			if _, err := catalog.NewProjects(s, s.Projects, changes, time.Now).Create(t.Context(), "default", catalog.ProjectInput{}); err != nil {
				t.Fatal(err)
			}
			test(t, c, h, s)
		})
	}
}

func as(ctx context.Context, name string) context.Context {
	return auth.WithActor(ctx, auth.Local(name))
}

func code(t *testing.T, err error, want rule.Code, what string) {
	t.Helper()
	if got := rule.CodeOf(err); got != want {
		t.Errorf("%s: error %v, want code %q", what, err, want)
	}
}

func parse(t *testing.T, text string) *wire.RuleFile {
	t.Helper()
	f, err := catalog.ParseYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}
