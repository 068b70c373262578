package corpus_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
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
		cv, err := tx.Projects.RaiseCorpus(t.Context(), project)
		if err != nil {
			return err
		}
		var made, edited []rule.Rule
		for _, r := range rules {
			r.ProjectID = project
			if r.Version == 1 {
				made = append(made, r)
			} else {
				edited = append(edited, r)
			}
		}
		if err := tx.Rules.Insert(t.Context(), cv, made); err != nil {
			return err
		}
		return tx.Rules.Update(t.Context(), cv, edited)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func createProject(t *testing.T, s store.Store, id string) {
	t.Helper()
	err := s.Update(t.Context(), func(tx store.Tx) error {
		return tx.Projects.Create(t.Context(), rule.Project{ID: id, Name: id, CreatedAt: noon, UpdatedAt: noon})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func live(s store.Store, maxBytes int64) *corpus.Live {
	return corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers}, Logger: slog.New(slog.DiscardHandler), Poll: 20 * time.Millisecond, MaxBytes: maxBytes})
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
		l.Fitted()
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
	// More old versions than half of the rules make the view fragmented; they are too many to merge at once.
	const n, edited, more = 2100, 1100, 40
	versions := make([]int, n)
	write := func(from, to int) {
		t.Helper()
		rules := make([]rule.Rule, 0, to-from)
		for i := from; i < to; i++ {
			versions[i]++
			r := newRule(i, nil).Rule
			r.Version = versions[i]
			rules = append(rules, r)
		}
		put(t, s, "p", rules...)
		v, err := l.Refresh(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		if v.Len() != n {
			t.Fatalf("the view has %d rules, want %d", v.Len(), n)
		}
		i := 0
		for e := range v.All() {
			if e.Rule.Version != versions[i] {
				t.Fatalf("after rules %d to %d: %s is of version %d, want %d", from, to, e.Rule.Slug, e.Rule.Version, versions[i])
			}
			i++
		}
	}
	write(0, n)
	write(0, edited)
	for i := range more { // while the view is compacted
		write(i, i+1)
	}
}

// slowReads stops the first read of a federation until it may go on, and counts all.
type slowReads struct {
	store.FederationReader

	reads         atomic.Int64
	reading, goOn chan struct{}
}

func (r *slowReads) Follow(ctx context.Context, projectID string, after int64, rules func(store.RuleState) error, nodes func(store.NodeState) error,
	attached func(store.AttachmentState) error,
) (int64, error) {
	if r.reads.Add(1) == 2 { // the first loads the view
		close(r.reading)
		<-r.goOn
	}
	return r.FederationReader.Follow(ctx, projectID, after, rules, nodes, attached)
}

// Many writers who ask at the same time share a read that began after they wrote.
func TestRefreshesShareARead(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() store.Store) {
		s := open()
		createProject(t, s, "p")
		slow := &slowReads{FederationReader: s.Federation, reading: make(chan struct{}), goOn: make(chan struct{})}
		l := corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: s.Projects, Federation: slow, Embeddings: s.Embeddings, Waivers: s.Waivers}, Logger: slog.New(slog.DiscardHandler)})
		if _, err := l.Refresh(t.Context(), "p"); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		all.Go(func() { _, _ = l.Refresh(t.Context(), "p") })
		<-slow.reading
		put(t, s, "p", rule.Rule{ID: "019b0000-0000-7000-8000-000000000001", Slug: "R-1", Version: 1, Status: rule.Effective, Severity: rule.High, Modality: rule.Must, Statement: "It must be so.", CreatedAt: noon, UpdatedAt: noon})
		for range 20 {
			refresh := l.BeginRefresh("p") // while the database is being read
			all.Go(func() {
				v, err := refresh(t.Context())
				if err != nil {
					t.Error(err)
				} else if _, ok := v.Rule("019b0000-0000-7000-8000-000000000001"); !ok {
					t.Error("a writer does not see what was written before it asked")
				}
			})
		}
		close(slow.goOn)
		all.Wait()
		if n := slow.reads.Load(); n != 3 { // the first view, the read that was slow, and the one for all writers
			t.Errorf("22 refreshes read the database %d times, want 3", n)
		}
	})
}
