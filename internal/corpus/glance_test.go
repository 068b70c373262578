package corpus_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// explains explains everything, and notes what it is to forget.
type explains struct {
	mu        sync.Mutex
	forgotten []string
}

func (*explains) Mark(context.Context, string) (int64, error) { return 0, nil }

func (*explains) Check(context.Context, string, int64, []store.RowInForce, map[string][]string, ...string) error {
	return nil
}

func (e *explains) Forget(projectID string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.forgotten = append(e.forgotten, projectID)
}

// Work over all projects keeps no view in memory, and uses those that are there.
func TestAGlanceKeepsNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() store.Store) {
		s, explained := open(), &explains{}
		l := corpus.NewLive(corpus.Config{
			Store:  corpus.Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers},
			Logger: slog.New(slog.DiscardHandler), InForce: explained, MaxBytes: 1,
		})
		for _, project := range []string{"p", "q"} {
			createProject(t, s, project)
			put(t, s, project, newRule(1, nil).Rule)
		}
		for range 2 {
			v, err := corpus.Glances{Live: l}.View(t.Context(), "p")
			if err != nil || v.Len() != 1 || len(l.Loaded()) != 0 {
				t.Fatalf("a glance: %v, %v; %v are loaded", v, err, l.Loaded())
			}
		}
		if _, err := l.Glance(t.Context(), "none"); rule.CodeOf(err) != rule.CodeNotFound {
			t.Errorf("a glance at no project: %v", err)
		}
		if want := []string{"p", "p"}; !slices.Equal(explained.forgotten, want) {
			t.Errorf("forgotten %v, want %v", explained.forgotten, want)
		}
		v, err := l.View(t.Context(), "p")
		if again, errAgain := l.Glance(t.Context(), "p"); err != nil || errAgain != nil || again != v || !slices.Equal(l.Loaded(), []string{"p"}) {
			t.Errorf("a glance at what is in memory: another view, %v, %v; %v are loaded", err, errAgain, l.Loaded())
		}
		// A second view does not fit beside it.
		_, err = l.View(t.Context(), "q")
		if l.Fitted(); err != nil || !slices.Equal(l.Loaded(), []string{"q"}) {
			t.Errorf("%v; %v are loaded", err, l.Loaded())
		}
		if want := []string{"p", "p", "p"}; !slices.Equal(explained.forgotten, want) {
			t.Errorf("forgotten %v, want %v", explained.forgotten, want)
		}
	})
}

// slowProjects keeps the first reader of a project waiting until the test goes on.
type slowProjects struct {
	store.ProjectReader
	reads         atomic.Int64
	reading, goOn chan struct{}
}

func (s *slowProjects) Get(ctx context.Context, id string) (rule.Project, error) {
	if s.reads.Add(1) == 1 {
		close(s.reading)
		<-s.goOn
	}
	return s.ProjectReader.Get(ctx, id)
}

// A round in the background that begins while a view is being loaded waits for that view: a second one would take its time and its memory.
func TestAGlanceWaitsForTheViewThatIsBeingLoaded(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() store.Store) {
		s := open()
		createProject(t, s, "p")
		put(t, s, "p", newRule(1, nil).Rule)
		projects := &slowProjects{ProjectReader: s.Projects, reading: make(chan struct{}), goOn: make(chan struct{})}
		l := corpus.NewLive(corpus.Config{
			Store:  corpus.Store{Projects: projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers},
			Logger: slog.New(slog.DiscardHandler),
		})
		var loaded, glanced *corpus.View
		var all sync.WaitGroup
		all.Go(func() { loaded, _ = l.View(t.Context(), "p") })
		<-projects.reading
		all.Go(func() { glanced, _ = l.Glance(t.Context(), "p") })
		time.Sleep(100 * time.Millisecond) // a glance that does not wait reads the project meanwhile
		if n := projects.reads.Load(); n != 1 {
			t.Errorf("the glance has read the project beside the load: %d reads", n)
		}
		close(projects.goOn)
		all.Wait()
		if loaded == nil || glanced != loaded {
			t.Error("the glance has another view than the one that was loaded")
		}
	})
}
