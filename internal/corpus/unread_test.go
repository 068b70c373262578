package corpus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// full makes a Live that no two views fit into, over projects with a rule each.
func full(t *testing.T, projects ...string) (l *Live, write func(project string, n, version int)) {
	t.Helper()
	s, write := database(t, projects...)
	for _, project := range projects {
		write(project, 1, 1)
	}
	return NewLive(Config{
		Store:  Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers},
		Logger: slog.New(slog.DiscardHandler), MaxBytes: 1,
	}), write
}

// loads returns the view of a project.
func loads(t *testing.T, l *Live, project string) *View {
	t.Helper()
	v, err := l.View(t.Context(), project)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// unread returns the view as if its words were still being read, until read is called.
func (v *View) unread() (again *View, read func()) {
	from := v.index.segments[0]
	from.text() // it is being read itself
	s := &segment{entries: from.entries, byID: from.byID, bySlug: from.bySlug, words: from.words, read: make(chan struct{}), bytes: from.bytes}
	x := v.index.clone()
	x.segments[0] = s
	return v.with(v.version, x), func() { close(s.read) }
}

// The words of a project may be read for seconds. No request waits for those of another project: neither the first of a project, which must learn how much memory
// all views take, nor those of projects in memory.
func TestNoProjectWaitsForTheWordsOfAnother(t *testing.T) {
	l, _ := full(t, "a", "b", "c")
	a, read := loads(t, l, "a").unread()
	l.follow("a").view.Store(a)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for _, project := range []string{"b", "c", "b", "a"} {
			if _, err := l.View(t.Context(), project); err != nil {
				t.Errorf("project %s: %v", project, err)
			}
		}
	}()
	select {
	case <-answered:
	case <-time.After(2 * time.Minute):
		t.Error("a request waits for the words of another project")
	}
	if loaded := l.Loaded(); len(loaded) != 3 {
		t.Errorf("%v are in memory; want all, since it is not known how much they take", loaded)
	}
	read()
	<-answered
	l.Fitted()
	if loaded := l.Loaded(); !slices.Equal(loaded, []string{"a"}) || loads(t, l, "a") != a {
		t.Errorf("%v are in memory; want the view that was used last", loaded)
	}
}

// While it is learnt how much memory the views take, some of them are written to, dropped or loaded again.
func TestOnlyTheViewsThatWereMeasuredAreDropped(t *testing.T) {
	l, write := full(t, "written", "dropped", "loaded", "idle", "last")
	forgotten := &forgets{}
	l.cfg.InForce = forgotten
	l.cfg.MaxBytes = 1 << 40
	for _, project := range []string{"written", "dropped", "loaded", "idle", "last"} {
		loads(t, l, project)
	}
	views := l.views()
	total := measure(views)

	write("written", 1, 2)
	written, err := l.Refresh(t.Context(), "written")
	if err != nil {
		t.Fatal(err)
	}
	l.follow("dropped").view.Store(nil)
	l.follow("loaded").view.Store(nil)
	used := l.follow("loaded").used.Load()
	loaded := loads(t, l, "loaded")
	l.follow("loaded").used.Store(used) // as if both uses were at the same time

	l.Fitted()
	l.cfg.MaxBytes = 1
	l.evict(views, total)
	have := l.Loaded()
	slices.Sort(have)
	if want := []string{"last", "loaded", "written"}; !slices.Equal(have, want) || l.follow("written").view.Load() != written || l.follow("loaded").view.Load() != loaded {
		t.Errorf("%v are in memory; want %v, the first two as they are now", have, want)
	}
	if want := []string{"idle"}; !slices.Equal(forgotten.projects, want) {
		t.Errorf("%v are forgotten; want %v", forgotten.projects, want)
	}
}

// forgets explains everything, and notes what it is to forget.
type forgets struct{ projects []string }

func (*forgets) Mark(context.Context, string) (int64, error) { return 0, nil }

func (*forgets) Check(context.Context, string, int64, []store.RowInForce, map[string][]string, ...string) error {
	return nil
}

func (f *forgets) Forget(projectID string) { f.projects = append(f.projects, projectID) }

// Waiting for words ends with its context.
func TestTheWaitForWordsEndsWithItsContext(t *testing.T) {
	t.Parallel()
	v, err := New(1, []store.RuleState{{Rule: rule.Rule{ID: "1", Statement: "Payments must be small."}}})
	if err != nil {
		t.Fatal(err)
	}
	v, read := v.unread()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := AwaitWords(ctx, v); !errors.Is(err, context.Canceled) {
		t.Errorf("words that are being read: %v", err)
	}
	read()
	if err := AwaitWords(ctx, v); err != nil {
		t.Errorf("words that are read need no wait: %v", err)
	}
	if (&segment{}).text() != nil || (&segment{}).await(ctx) != nil {
		t.Error("a segment without words has some, or will have")
	}
}

// A first view is there before its words are. Any one view may be late, since its words are read at the same time; not all of them.
func TestAFirstViewIsThereBeforeItsWords(t *testing.T) {
	t.Parallel()
	states := make([]store.RuleState, 1000)
	for i := range states {
		states[i].Rule = rule.Rule{ID: fmt.Sprintf("%06d", i), Statement: fmt.Sprintf("Payments of kind k%d must stay below the limit of team t%d.", i, i%100)}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 300 {
		v, err := New(1, states)
		if err != nil {
			t.Fatal(err)
		}
		if err := AwaitWords(ended, v); err != nil {
			return
		}
	}
	t.Error("none of 300 views was there before its words")
}
