package search

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"tenet/internal/corpus"
	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
)

// library is a project in a database.
type library struct {
	t     *testing.T
	store store.Store
	rules int
}

// onBoth runs a test on a fresh project in each database.
func onBoth(t *testing.T, test func(l *library)) {
	for name, open := range map[string]func(t *testing.T) (store.Store, error){
		"sqlite": func(t *testing.T) (store.Store, error) {
			return sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{})
		},
		"postgres": func(t *testing.T) (store.Store, error) {
			return sqlstore.OpenPostgres(t.Context(), pgtest.DSN(t), sqlstore.Options{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			test(newLibrary(t, s))
		})
	}
}

func newLibrary(t *testing.T, s store.Store) *library {
	t.Helper()
	t.Cleanup(func() { _ = s.Close() })
	err := s.Update(t.Context(), func(tx store.Tx) error { return tx.Projects.Create(t.Context(), rule.Project{ID: "p", Name: "p"}) })
	if err != nil {
		t.Fatal(err)
	}
	return &library{t: t, store: s}
}

// add stores rules with these statements.
func (l *library) add(statements ...string) {
	l.t.Helper()
	var rules []rule.Rule
	for _, s := range statements {
		l.rules++
		r := words(s)
		r.ID, r.ProjectID, r.Version = fmt.Sprintf("00000000-0000-7000-8000-%012d", l.rules), "p", 1
		r.Normalize()
		rules = append(rules, r)
	}
	err := l.store.Update(l.t.Context(), func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(l.t.Context(), "p")
		if err != nil {
			return err
		}
		return tx.Rules.Insert(l.t.Context(), cv, rules)
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

// numbered makes n statements.
func numbered(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("Statement number%d is kept.", i)
	}
	return list
}

// keeper makes the keeper of the vectors of an embedder, on views of its own as another node has them.
func (l *library) keeper(e llm.Embedder) (*Embeddings, *corpus.Live) {
	live := corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: l.store.Projects, Federation: l.store.Federation, Embeddings: l.store.Embeddings, Waivers: l.store.Waivers}, Logger: slog.New(slog.DiscardHandler), EmbeddingModel: e.ID()})
	return NewEmbeddings(l.store, l.store.Embeddings, live, e, slog.New(slog.DiscardHandler)), live
}

func (l *library) vectors(live *corpus.Live) (have, of int) {
	l.t.Helper()
	view, err := live.Refresh(l.t.Context(), "p")
	if err != nil {
		l.t.Fatal(err)
	}
	_, have, of = view.Vectors()
	return have, of
}

// embedded counts the texts that were embedded.
func embedded(f *llmtest.Embedder) int {
	n := 0
	for _, call := range f.Calls() {
		n += len(call)
	}
	return n
}

func ignore(int, int) {}

func TestRulesAreEmbedded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(l *library) {
		l.add(numbered(150)...)
		l.add("Statement number7 is kept.", "Statement number7 is kept.") // equal texts share a vector
		f := &llmtest.Embedder{}
		keeper, live := l.keeper(f)
		if missing, err := keeper.Missing(l.t.Context(), "p"); err != nil || !missing {
			l.t.Errorf("before: missing is %t, %v", missing, err)
		}
		var last, highest atomic.Int64
		err := keeper.EmbedRules(l.t.Context(), "p", func(done, total int) {
			last.Store(int64(done))
			highest.Store(max(highest.Load(), int64(total)))
		})
		if err != nil {
			l.t.Fatal(err)
		}
		if have, of := l.vectors(live); have != 152 || of != 152 {
			l.t.Errorf("%d of %d rules have a vector", have, of)
		}
		if n := embedded(f); n != 150 || last.Load() != 150 || highest.Load() != 150 {
			l.t.Errorf("%d texts were embedded, told as %d of %d; want 150", n, last.Load(), highest.Load())
		}
		if len(f.Calls()) != 3 {
			l.t.Errorf("%d calls for 150 texts", len(f.Calls()))
		}
		if missing, err := keeper.Missing(l.t.Context(), "p"); err != nil || missing {
			l.t.Errorf("after: missing is %t, %v", missing, err)
		}

		// Done twice, it does nothing; a rule more costs one text; and what is embedded is shown by another node.
		l.add("One more.")
		other, otherLive := l.keeper(f)
		for range 2 {
			if err := other.EmbedRules(l.t.Context(), "p", ignore); err != nil {
				l.t.Fatal(err)
			}
		}
		if have, of := l.vectors(otherLive); have != 153 || of != 153 || embedded(f) != 151 {
			l.t.Errorf("%d of %d rules have a vector after %d texts", have, of, embedded(f))
		}
	})
}

// What was stored before an end that came early is not embedded again.
func TestEmbeddingGoesOnWhereItEnded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(l *library) {
		l.add(numbered(500)...)
		var calls atomic.Int64
		f := &llmtest.Embedder{Respond: func(context.Context, []string) error {
			if calls.Add(1) > 4 {
				return rule.Errorf(rule.CodeUnavailable, "overloaded")
			}
			return nil
		}}
		keeper, live := l.keeper(f)
		if err := keeper.EmbedRules(l.t.Context(), "p", ignore); rule.CodeOf(err) != rule.CodeUnavailable {
			l.t.Fatalf("got %v", err)
		}
		have, _ := l.vectors(live)
		if have == 0 || have == 500 {
			l.t.Fatalf("%d rules have a vector", have)
		}
		again := &llmtest.Embedder{}
		keeper, live = l.keeper(again)
		if err := keeper.EmbedRules(l.t.Context(), "p", ignore); err != nil {
			l.t.Fatal(err)
		}
		if after, of := l.vectors(live); after != of || embedded(again) != 500-have {
			l.t.Errorf("%d of %d rules have a vector, and %d texts were embedded for %d", after, of, embedded(again), 500-have)
		}
		ctx, cancel := context.WithCancel(l.t.Context())
		cancel()
		l.add("One more.")
		if err := keeper.EmbedRules(ctx, "p", ignore); !errors.Is(err, context.Canceled) {
			l.t.Errorf("cancelled: %v", err)
		}
	})
}

// Another model embeds all texts anew. The old vectors stay until it has them all.
func TestAnotherModelEmbedsAnew(t *testing.T) {
	t.Parallel()
	onBoth(t, func(l *library) {
		l.add(numbered(10)...)
		old := &llmtest.Embedder{Name: "fake:old"}
		keeper, live := l.keeper(old)
		if err := keeper.EmbedRules(l.t.Context(), "p", ignore); err != nil {
			l.t.Fatal(err)
		}
		if have, _ := l.vectors(live); have != 10 {
			l.t.Fatalf("%d rules have a vector", have)
		}
		hashes := func(model string) int {
			list, err := l.store.Embeddings.Hashes(l.t.Context(), "p", model)
			if err != nil {
				l.t.Fatal(err)
			}
			return len(list)
		}
		next := &llmtest.Embedder{Name: "fake:next", Respond: func(context.Context, []string) error { return rule.Errorf(rule.CodeUnavailable, "away") }}
		keeper, live = l.keeper(next)
		if err := keeper.EmbedRules(l.t.Context(), "p", ignore); err == nil || hashes("fake:old") != 10 {
			l.t.Errorf("%v, and %d vectors of the old model are left", err, hashes("fake:old"))
		}
		next.Respond = nil
		if err := keeper.EmbedRules(l.t.Context(), "p", ignore); err != nil {
			l.t.Fatal(err)
		}
		if have, _ := l.vectors(live); have != 10 || hashes("fake:old") != 0 || hashes("fake:next") != 10 {
			l.t.Errorf("%d rules have a vector; %d vectors are of the old model and %d of the next", have, hashes("fake:old"), hashes("fake:next"))
		}
	})
}

// Views of another model never show the vectors: that ends in an error, and not in a bill.
func TestViewsOfAnotherModelAreFound(t *testing.T) {
	t.Parallel()
	onBoth(t, func(l *library) {
		l.add("One.")
		_, live := l.keeper(&llmtest.Embedder{Name: "fake:other"})
		f := &llmtest.Embedder{}
		err := NewEmbeddings(l.store, l.store.Embeddings, live, f, slog.New(slog.DiscardHandler)).EmbedRules(l.t.Context(), "p", ignore)
		if err == nil || len(f.Calls()) != 1 {
			l.t.Errorf("%d calls, %v", len(f.Calls()), err)
		}
	})
}

// A text that the model refuses keeps no other from its vector; a model that refuses everything is told at once.
func TestRefusedTexts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(l *library) {
		l.add(numbered(100)...)
		l.add("poison")
		refuses := func(word string) func(context.Context, []string) error {
			return func(_ context.Context, texts []string) error {
				if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, word) }) {
					return rule.Errorf(rule.CodeInvalid, "no")
				}
				return nil
			}
		}
		all := &llmtest.Embedder{Respond: refuses("")}
		keeper, _ := l.keeper(all)
		if err := keeper.EmbedRules(l.t.Context(), "p", ignore); rule.CodeOf(err) != rule.CodeInvalid || len(all.Calls()) > 2*(refusedInRow+1) {
			l.t.Errorf("after %d calls: %v", len(all.Calls()), err)
		}
		some := &llmtest.Embedder{Respond: refuses("poison")}
		keeper, live := l.keeper(some)
		if err := keeper.EmbedRules(l.t.Context(), "p", ignore); err != nil {
			l.t.Fatal(err)
		}
		if have, of := l.vectors(live); have != 100 || of != 101 {
			l.t.Errorf("%d of %d rules have a vector", have, of)
		}
	})
}

// Rules that change while others are embedded get their vectors too.
func TestRulesThatChangeMeanwhileAreEmbedded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(l *library) {
		l.add("First.")
		var once atomic.Bool
		f := &llmtest.Embedder{}
		f.Respond = func(context.Context, []string) error {
			if once.CompareAndSwap(false, true) {
				l.add("Second.")
			}
			return nil
		}
		keeper, live := l.keeper(f)
		if err := keeper.EmbedRules(l.t.Context(), "p", ignore); err != nil {
			l.t.Fatal(err)
		}
		if have, of := l.vectors(live); have != 2 || of != 2 {
			l.t.Errorf("%d of %d rules have a vector", have, of)
		}
	})
}

// Vectors of texts that are long gone do not pile up for ever, and a few stay for edits that are taken back.
func TestUnusedVectorsAreRemoved(t *testing.T) {
	t.Parallel()
	s, err := sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := newLibrary(t, s)
	f := &llmtest.Embedder{}
	put := func(from, to int) {
		t.Helper()
		v, err := f.Embed(t.Context(), []string{"x"})
		if err != nil {
			t.Fatal(err)
		}
		var list []store.Embedding
		for i := from; i < to; i++ {
			list = append(list, store.Embedding{Model: f.ID(), TextHash: fmt.Sprintf("gone-%d", i), Vector: v[0]})
		}
		err = s.Update(t.Context(), func(tx store.Tx) error {
			cv, err := tx.Projects.RaiseCorpus(t.Context(), "p")
			if err != nil {
				return err
			}
			return tx.Embeddings.Put(t.Context(), "p", cv, list)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	l.add("Kept.")
	keeper, live := l.keeper(f)
	for _, step := range []struct{ to, want int }{{keptTexts, keptTexts + 1}, {keptTexts + 1, 1}} {
		put(0, step.to)
		if err := keeper.EmbedRules(t.Context(), "p", ignore); err != nil {
			t.Fatal(err)
		}
		hashes, err := s.Embeddings.Hashes(t.Context(), "p", f.ID())
		if have, _ := l.vectors(live); err != nil || have != 1 || len(hashes) != step.want {
			t.Errorf("with %d unused vectors, %d are left, want %d; %v", step.to, len(hashes), step.want, err)
		}
	}
}
