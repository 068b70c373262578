package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/sqlstore"
)

// The memory of a start is given back once all words are read, or not at all if the node stops before.
func TestSettleWaitsForTheWordsUntilTheNodeStops(t *testing.T) {
	s, err := sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	rules := make([]rule.Rule, 2000)
	for i := range rules {
		rules[i] = rule.Rule{
			ID: fmt.Sprintf("00000000-0000-7000-8000-%012d", i), ProjectID: rule.DefaultProject, Version: 1, Status: rule.Effective,
			Statement: fmt.Sprintf("Payments of kind k%d must stay below the limit of team t%d.", i, i%100),
		}
		rules[i].Normalize()
	}
	err = s.Update(t.Context(), func(tx store.Tx) error {
		if err := tx.Projects.Create(t.Context(), rule.Project{ID: rule.DefaultProject, Name: "Default"}); err != nil {
			return err
		}
		version, err := tx.Projects.RaiseCorpus(t.Context(), rule.DefaultProject)
		if err != nil {
			return err
		}
		return tx.Rules.Insert(t.Context(), version, rules)
	})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // the words of any one view may be read before it is asked for
		a := &App{live: corpus.NewLive(corpus.Config{
			Store:  corpus.Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers},
			Logger: slog.New(slog.DiscardHandler),
		})}
		if _, err := a.live.View(t.Context(), rule.DefaultProject); err != nil {
			t.Fatal(err)
		}
		stopped := Settle(ended, a)
		if err := Settle(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if err := Settle(ended, a); err != nil {
			t.Fatalf("the words are not read after the wait for them: %v", err)
		}
		if errors.Is(stopped, context.Canceled) {
			return
		}
	}
	t.Error("a node that stops is waited for")
}
