package change_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/change"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

type noViews struct{}

func (noViews) Refresh(context.Context, string) (*corpus.View, error) { return &corpus.View{}, nil }

// counting counts the transactions of a database. It fails commits whose number is failing, after they have happened.
type counting struct {
	store.Updater

	began   atomic.Int64
	failing int64
}

var errUnknown = errors.New("nobody knows whether this was stored")

func (c *counting) Update(ctx context.Context, fn func(store.Tx) error) error {
	n := c.began.Add(1)
	err := c.Updater.Update(ctx, fn)
	if err == nil && n == c.failing {
		return errUnknown
	}
	return err
}

// behind runs changes at the same time that all come while another one is being stored, and returns their errors.
func behind(t *testing.T, changes *change.Changes, fns []func(ctx context.Context, ch *change.Change) error) []error {
	t.Helper()
	holds, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var all sync.WaitGroup
	all.Go(func() {
		err := changes.Run(t.Context(), "default", func(*change.Change) error {
			once.Do(func() { close(holds) })
			<-release
			return nil
		})
		if err != nil {
			t.Errorf("the first change: %v", err)
		}
	})
	<-holds
	errs := make([]error, len(fns))
	for i, fn := range fns {
		all.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf("panic: %v", p)
				}
			}()
			errs[i] = changes.Run(t.Context(), "default", func(ch *change.Change) error { return fn(t.Context(), ch) })
		})
	}
	time.Sleep(100 * time.Millisecond) // they wait now
	close(release)
	all.Wait()
	return errs
}

// naming returns a change that records itself in the audit log.
func naming(seen *sync.Map, i int) func(context.Context, *change.Change) error {
	return func(ctx context.Context, ch *change.Change) error {
		seen.Store(i, ch.Version)
		return ch.Note(ctx, "project", map[string]any{"change": i})
	}
}

func TestChangesThatWaitShareATransaction(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		c := &counting{Updater: s}
		changes := change.New(c, noViews{}, nil, slog.New(slog.DiscardHandler), time.Now)
		var seen sync.Map
		fns := make([]func(context.Context, *change.Change) error, 20)
		for i := range fns {
			fns[i] = naming(&seen, i)
		}
		for i, err := range behind(t, changes, fns) {
			if err != nil {
				t.Errorf("change %d: %v", i, err)
			}
		}
		if n := c.began.Load(); n > 4 {
			t.Errorf("21 changes took %d transactions", n)
		}
		versions := map[any]bool{}
		seen.Range(func(_, v any) bool { versions[v] = true; return true })
		p, err := s.Projects.Get(t.Context(), "default")
		if err != nil || len(versions) != len(fns) || p.CorpusVersion != int64(len(fns)+1) {
			t.Errorf("%d changes have %d versions, and the corpus is at %d: %v", len(fns), len(versions), p.CorpusVersion, err)
		}
		if head, err := s.Audit.Head(t.Context(), "default"); err != nil || head.Seq != int64(len(fns)) {
			t.Errorf("the log has %d entries: %v", head.Seq, err)
		}
	})
}

func TestAFaultyChangeHarmsNoOther(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		changes := change.New(s, noViews{}, nil, slog.New(slog.DiscardHandler), time.Now)
		var seen sync.Map
		refused := rule.Errorf(rule.CodeConflict, "no")
		fns := []func(context.Context, *change.Change) error{
			naming(&seen, 0),
			func(ctx context.Context, ch *change.Change) error {
				return errors.Join(naming(&seen, 1)(ctx, ch), refused)
			},
			naming(&seen, 2),
			func(ctx context.Context, ch *change.Change) error {
				return errors.Join(naming(&seen, 3)(ctx, ch), change.ErrUndo)
			},
			func(context.Context, *change.Change) error { panic("a fault") },
			naming(&seen, 5),
		}
		errs := behind(t, changes, fns)
		for i, err := range errs {
			switch i {
			case 1:
				if !errors.Is(err, refused) {
					t.Errorf("the refused change: %v", err)
				}
			case 4:
				if err == nil || err.Error() != "panic: a fault" {
					t.Errorf("the change that panics: %v", err)
				}
			default:
				if err != nil {
					t.Errorf("change %d: %v", i, err)
				}
			}
		}
		if head, err := s.Audit.Head(t.Context(), "default"); err != nil || head.Seq != 3 {
			t.Errorf("the log has %d entries, want those of the three good changes: %v", head.Seq, err)
		}
	})
}

// A commit whose outcome nobody knows must not be repeated: what it has stored would be stored twice.
func TestAnUncertainCommitIsNotRepeated(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		c := &counting{Updater: s, failing: 2}
		changes := change.New(c, noViews{}, nil, slog.New(slog.DiscardHandler), time.Now)
		var seen sync.Map
		fns := make([]func(context.Context, *change.Change) error, 2*10)
		for i := range fns {
			fns[i] = naming(&seen, i)
		}
		failed := 0
		for _, err := range behind(t, changes, fns) {
			if errors.Is(err, errUnknown) {
				failed++
			} else if err != nil {
				t.Error(err)
			}
		}
		if failed < 2 {
			t.Errorf("%d changes report the commit that failed", failed)
		}
		if head, err := s.Audit.Head(t.Context(), "default"); err != nil || head.Seq != int64(len(fns)) {
			t.Errorf("the log has %d entries of %d changes: %v", head.Seq, len(fns), err)
		}
	})
}

// Who goes away while the change waits ends nothing for the others.
func TestALeaverHarmsNoOther(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		changes := change.New(s, noViews{}, nil, slog.New(slog.DiscardHandler), time.Now)
		gone, leave := context.WithCancel(t.Context())
		var seen sync.Map
		fns := []func(context.Context, *change.Change) error{
			func(_ context.Context, ch *change.Change) error {
				leave()
				return ch.Note(gone, "project", map[string]any{"change": 0})
			},
			naming(&seen, 1), naming(&seen, 2),
		}
		for i, err := range behind(t, changes, fns)[1:] {
			if err != nil {
				t.Errorf("change %d: %v", i+1, err)
			}
		}
		head, err := s.Audit.Head(t.Context(), "default")
		if err != nil || head.Seq < 2 {
			t.Errorf("the log has %d entries: %v", head.Seq, err)
		}
	})
}
