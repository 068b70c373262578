package corpus_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// embed stores embeddings of a model in a project.
func embed(t *testing.T, s store.Store, project string, embeddings ...store.Embedding) {
	t.Helper()
	err := s.Update(t.Context(), func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(t.Context(), project)
		if err != nil {
			return err
		}
		return tx.Embeddings.Put(t.Context(), project, cv, embeddings)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func liveOf(s store.Store, model string) *corpus.Live {
	return corpus.NewLive(corpus.Config{
		Store: corpus.Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers}, Logger: slog.New(slog.DiscardHandler), Poll: 20 * time.Millisecond, EmbeddingModel: model,
	})
}

// has fails the test unless that many rules have a vector.
func has(t *testing.T, about string, v *corpus.View, err error, want int) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if _, have, _ := v.Vectors(); have != want {
		t.Errorf("%s: %d rules have a vector, want %d", about, have, want)
	}
}

func TestLiveLoadsVectorsAndFollowsThem(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() store.Store) {
		s := open()
		createProject(t, s, "p")
		states := []store.RuleState{newRule(0, nil), newRule(1, nil), newRule(2, nil)}
		put(t, s, "p", states[0].Rule, states[1].Rule)
		vectors := embeddingsOf(states)
		foreign := vectors[1]
		foreign.Model = "another"
		embed(t, s, "p", vectors[0], foreign)

		l := liveOf(s, "m")
		v, err := l.View(t.Context(), "p")
		has(t, "loaded", v, err, 1)
		embed(t, s, "p", vectors[1], vectors[2])
		v, err = l.Refresh(t.Context(), "p")
		has(t, "another vector", v, err, 2)
		put(t, s, "p", states[2].Rule)
		v, err = l.Refresh(t.Context(), "p")
		has(t, "a rule whose vector was there before it", v, err, 3)

		edited := states[0].Rule
		edited.Version, edited.Statement = 2, "Something else."
		put(t, s, "p", edited)
		v, err = l.Refresh(t.Context(), "p")
		has(t, "a rule with another text", v, err, 2)
		edited.Version, edited.Statement = 3, states[0].Rule.Statement
		put(t, s, "p", edited)
		v, err = l.Refresh(t.Context(), "p")
		has(t, "the old text again", v, err, 3)
		if hits, _ := v.Nearest(direction(0), corpus.Filter{}, 0, 1); names(hits) != "R-0" || hits[0].Rule.Version != 3 {
			t.Errorf("nearest is %s, want R-0 in its third version", names(hits))
		}

		v, err = liveOf(s, "").View(t.Context(), "p")
		has(t, "without a model", v, err, 0)
		v, err = liveOf(s, "another").View(t.Context(), "p")
		has(t, "with another model", v, err, 1)
	})
}

func TestLiveFollowsVectorsOfOtherNodes(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() store.Store) {
		one, two := open(), open()
		createProject(t, one, "p")
		states := numbered(2)
		put(t, one, "p", states[0].Rule, states[1].Rule)
		theirs := liveOf(two, "m")
		v, err := theirs.View(t.Context(), "p")
		has(t, "before", v, err, 0)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); theirs.Run(ctx) }()
		defer func() { cancel(); <-done }()
		embed(t, one, "p", embeddingsOf(states)...)
		for limit := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			v, err := theirs.View(t.Context(), "p")
			if err != nil {
				t.Fatal(err)
			}
			if _, have, _ := v.Vectors(); have == 2 {
				return
			}
			if time.Now().After(limit) {
				t.Fatal("the other node does not load the vectors")
			}
		}
	})
}

func TestTextHash(t *testing.T) {
	a := rule.Rule{Statement: "Keys rotate.", Rationale: "They leak."}
	same := a
	same.ID, same.Severity, same.Tags = "x", rule.Critical, []string{"keys"}
	if corpus.TextHash(&a) != corpus.TextHash(&same) || len(corpus.TextHash(&a)) != 32 {
		t.Errorf("the hash %q depends on more than the text, or is not 32 characters long", corpus.TextHash(&a))
	}
	other := a
	other.Rationale = "They age."
	if corpus.TextHash(&a) == corpus.TextHash(&other) {
		t.Error("another rationale has the same hash")
	}
	if got := corpus.EmbeddingText(&a); got != "Keys rotate.\nThey leak." {
		t.Errorf("the text is %q", got)
	}
}
