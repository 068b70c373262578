package sqlstore_test

import (
	"log/slog"
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
)

// TestReplicas reads at a streaming replica that falls behind, comes back, dies and comes back again.
func TestReplicas(t *testing.T) {
	t.Parallel()
	pair := pgtest.NewPair(t)
	const bound = 2 * time.Second
	s, err := sqlstore.OpenPostgres(t.Context(), pair.Primary, sqlstore.Options{Logger: slog.New(slog.DiscardHandler), Replicas: []string{pair.Replica}, Staleness: bound})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	create := func(id string) time.Time {
		t.Helper()
		at := time.Now()
		if err := s.Update(t.Context(), func(tx store.Tx) error {
			return tx.Projects.Create(t.Context(), rule.Project{ID: id, Name: id, CreatedAt: at, UpdatedAt: at})
		}); err != nil {
			t.Fatal(err)
		}
		return time.Now()
	}
	replica := func() store.Pool {
		t.Helper()
		for _, p := range s.Pools() {
			if p.Replica {
				return p
			}
		}
		t.Fatal("no replica")
		return store.Pool{}
	}
	// sees reports whether the list of projects has one, for a caller who must see all until a time, and whether a replica was asked.
	sees := func(id string, since time.Time) (found, there bool) {
		t.Helper()
		before := replica().Reads
		list, err := s.Lagging.Projects.List(store.MayLag(t.Context(), since))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			found = found || p.ID == id
		}
		return found, replica().Reads > before
	}
	until := func(about string, ok func() bool) {
		t.Helper()
		for began := time.Now(); !ok(); time.Sleep(20 * time.Millisecond) {
			if time.Since(began) > 20*time.Second {
				t.Fatalf("%s: not within 20 s; the replica is %+v", about, replica())
			}
		}
	}
	in := func() bool { return replica().Problem == "" }
	written := create("one")
	until("the replica has what was written", func() bool { found, there := sees("one", written); return found && there })

	pair.Pause()
	until("the replica stands still", func() bool { return replica().Behind > 300*time.Millisecond })
	written = create("two")
	if found, there := sees("two", time.Time{}); found || !there {
		t.Errorf("within the bound another caller sees it: %t, at the replica: %t", found, there)
	}
	if found, there := sees("two", written); !found || there {
		t.Errorf("the caller who wrote it sees it: %t, at the replica: %t", found, there)
	}
	if _, err := s.Lagging.Projects.Get(store.MayLag(t.Context(), time.Time{}), "two"); err != nil {
		t.Errorf("what the replica does not have is not looked for at the primary: %v", err)
	}
	until("the replica is left out", func() bool { return !in() })
	if found, there := sees("two", time.Time{}); !found || there {
		t.Errorf("beyond the bound all see it: %t, at the replica: %t", found, there)
	}
	pair.Resume()
	until("the replica is back", in)
	if found, there := sees("two", written); !found || !there {
		t.Errorf("the caller who wrote it reads it there: %t, %t", found, there)
	}

	pair.Stop()
	for range 20 { // also before anybody has noticed
		if found, _ := sees("two", time.Time{}); !found {
			t.Fatal("a read fails with the replica")
		}
	}
	until("the replica is left out", func() bool { return !in() })
	pair.Start()
	until("the replica is back", in)
	if _, there := sees("two", time.Time{}); !there {
		t.Error("nothing is read at the replica")
	}
	before := replica().Reads
	if _, err := s.Projects.List(store.MayLag(t.Context(), time.Time{})); err != nil || replica().Reads != before {
		t.Errorf("readers that must not lag ask the replica, %v", err)
	}
	if _, err := s.Lagging.Projects.List(t.Context()); err != nil || replica().Reads != before {
		t.Errorf("a request that must not lag asks the replica, %v", err)
	}
}
