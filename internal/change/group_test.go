package change_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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

// counting counts the transactions of a database. It fails the commit whose number is failing, or panics there, after it has happened.
type counting struct {
	store.Updater

	began   atomic.Int64
	failing int64
	panics  bool
}

var errUnknown = errors.New("nobody knows whether this was stored")

func (c *counting) Update(ctx context.Context, fn func(store.Tx) error) error {
	n := c.began.Add(1)
	err := c.Updater.Update(ctx, fn)
	if err == nil && n == c.failing {
		if c.panics {
			panic("a fault of the database")
		}
		return errUnknown
	}
	return err
}

// doing is a change that a test makes.
type doing struct {
	ctx   context.Context // the test's, if it is nil
	apart bool
	fn    func(ctx context.Context, ch *change.Change) error
}

// behind runs changes that all come while another one is being stored, and returns their errors. waiting, if it is not nil, is called while all of them wait.
func behind(t *testing.T, changes *change.Changes, list []doing, waiting func()) []error {
	t.Helper()
	holds, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var all sync.WaitGroup
	all.Go(func() {
		defer once.Do(func() { close(holds) }) // also if the change fails before it begins
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
	errs := make([]error, len(list))
	for i, d := range list {
		if d.ctx == nil {
			d.ctx = t.Context()
		}
		run := changes.Run
		if d.apart {
			run = changes.RunApart
		}
		all.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf("panic: %v", p)
				}
			}()
			errs[i] = run(d.ctx, "default", func(ch *change.Change) error { return d.fn(d.ctx, ch) })
		})
		awaitWaiting(t, changes, i+1)
	}
	if waiting != nil {
		waiting()
	}
	close(release)
	all.Wait()
	return errs
}

// awaitWaiting waits until a number of changes wait.
func awaitWaiting(t *testing.T, changes *change.Changes, n int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); changes.Waiting("default") != n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			panic(fmt.Sprintf("%d changes wait, not %d", changes.Waiting("default"), n)) // the others hold what cleaning up needs
		}
	}
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
		hooked := 0
		hook := func(context.Context, store.Tx, string) error { hooked++; return nil }
		changes := change.New(c, noViews{}, hook, slog.New(slog.DiscardHandler), time.Now)
		var seen sync.Map
		fns := make([]doing, 20)
		for i := range fns {
			fns[i] = doing{fn: naming(&seen, i)}
		}
		for i, err := range behind(t, changes, fns, nil) {
			if err != nil {
				t.Errorf("change %d: %v", i, err)
			}
		}
		if n := c.began.Load(); n != 2 || hooked != 21 {
			t.Errorf("21 changes took %d transactions and called the hook %d times", n, hooked)
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
		errs := behind(t, changes, []doing{
			{fn: naming(&seen, 0)},
			{fn: func(ctx context.Context, ch *change.Change) error {
				return errors.Join(naming(&seen, 1)(ctx, ch), refused)
			}},
			{fn: naming(&seen, 2)},
			{fn: func(ctx context.Context, ch *change.Change) error {
				return errors.Join(naming(&seen, 3)(ctx, ch), change.ErrUndo)
			}},
			{fn: func(context.Context, *change.Change) error { panic("a fault") }},
			{fn: naming(&seen, 5)},
		}, nil)
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
	for name, panics := range map[string]bool{"an error": false, "a panic": true} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s store.Store) {
				c := &counting{Updater: s, failing: 2, panics: panics}
				changes := change.New(c, noViews{}, nil, slog.New(slog.DiscardHandler), time.Now)
				var seen sync.Map
				fns := make([]doing, 20)
				for i := range fns {
					fns[i] = doing{fn: naming(&seen, i)}
				}
				for i, err := range behind(t, changes, fns, nil) {
					if panics && (err == nil || !strings.Contains(err.Error(), "a fault of the database")) || !panics && !errors.Is(err, errUnknown) {
						t.Errorf("change %d does not report the commit that failed: %v", i, err)
					}
				}
				if head, err := s.Audit.Head(t.Context(), "default"); err != nil || head.Seq != int64(len(fns)) {
					t.Errorf("the log has %d entries of %d changes: %v", head.Seq, len(fns), err)
				}
			})
		})
	}
}

// Who goes away while a change is stored with others ends nothing for them: neither by the error of the own part, nor after it.
func TestALeaverHarmsNoOther(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		changes := change.New(s, noViews{}, nil, slog.New(slog.DiscardHandler), time.Now)
		first, leaveFirst := context.WithCancel(t.Context())
		middle, leaveMiddle := context.WithCancel(t.Context())
		var seen sync.Map
		errs := behind(t, changes, []doing{
			{fn: naming(&seen, 0)},
			{ctx: middle, fn: func(ctx context.Context, ch *change.Change) error {
				leaveMiddle()
				return ch.Note(ctx, "project", map[string]any{"change": 1})
			}},
			{fn: naming(&seen, 2)},
		}, nil)
		if errs[0] != nil || !errors.Is(errs[1], context.Canceled) || errs[2] != nil {
			t.Errorf("one of three leaves before its part: %v", errs)
		}
		errs = behind(t, changes, []doing{
			{ctx: first, fn: func(ctx context.Context, ch *change.Change) error {
				defer leaveFirst()
				return ch.Note(ctx, "project", map[string]any{"change": 3})
			}},
			{fn: naming(&seen, 4)},
		}, nil)
		if err := errors.Join(errs...); err != nil {
			t.Errorf("the first leaves after its part: %v", err)
		}
		if head, err := s.Audit.Head(t.Context(), "default"); err != nil || head.Seq != 4 {
			t.Errorf("the log has %d entries, want 4: %v", head.Seq, err)
		}
	})
}

func TestAChangeWhoseCallerLeavesWhileItWaits(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		c := &counting{Updater: s}
		changes := change.New(c, noViews{}, nil, slog.New(slog.DiscardHandler), time.Now)
		gone, leave := context.WithCancel(t.Context())
		var seen sync.Map
		errs := behind(t, changes, []doing{{fn: naming(&seen, 0)}, {ctx: gone, fn: naming(&seen, 1)}, {fn: naming(&seen, 2)}}, func() {
			leave()
			awaitWaiting(t, changes, 2) // it does not wait for the one that is being stored
		})
		if errs[0] != nil || !errors.Is(errs[1], context.Canceled) || errs[2] != nil {
			t.Errorf("one of three leaves: %v", errs)
		}
		if _, ran := seen.Load(1); ran || c.began.Load() != 2 {
			t.Errorf("the change of the leaver ran: %v; %d transactions", ran, c.began.Load())
		}
	})
}

func TestAChangeApartSharesNoTransaction(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		c := &counting{Updater: s}
		changes := change.New(c, noViews{}, nil, slog.New(slog.DiscardHandler), time.Now)
		of := make([]int64, 5) // the transaction of each
		list := make([]doing, len(of))
		for i := range list {
			list[i] = doing{apart: i == 2, fn: func(context.Context, *change.Change) error { of[i] = c.began.Load(); return nil }}
		}
		if err := errors.Join(behind(t, changes, list, nil)...); err != nil {
			t.Fatal(err)
		}
		if want := []int64{2, 2, 3, 4, 4}; !slices.Equal(of, want) {
			t.Errorf("the changes are in the transactions %v, want %v", of, want)
		}
	})
}
