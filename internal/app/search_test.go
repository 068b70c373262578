package app_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"tenet/internal/app"
	"tenet/internal/document"
	"tenet/internal/job"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/search"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// awaitVectors waits until all rules of a project have a vector.
func awaitVectors(t *testing.T, a *app.App, project string, rules int) {
	t.Helper()
	var status wire.SearchStatus
	for limit := time.Now().Add(time.Minute); status.Rules != rules || status.RulesWithVector != rules; time.Sleep(10 * time.Millisecond) {
		if code := ask(t, a, http.MethodGet, "/api/v1/search/status?project_id="+project, "", &status); code != http.StatusOK {
			t.Fatalf("status %d", code)
		}
		if time.Now().After(limit) {
			t.Fatalf("after half a minute: %+v", status)
		}
	}
}

// Rules get their vectors by themselves: those that are there at the start, those that come, in every project, on every node.
func TestRulesAreEmbeddedInTheBackground(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]func(t *testing.T) map[string]string{
		"sqlite":   func(t *testing.T) map[string]string { return map[string]string{"data": litetest.Dir(t)} },
		"postgres": func(t *testing.T) map[string]string { return map[string]string{"database_url": pgtest.DSN(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			e := &llmtest.Embedder{}
			rules := []*wire.RuleFile{{Rules: []wire.RuleInput{{Slug: new("A-1"), Statement: "Payments are logged."}}}}
			a := node(t, app.Options{Rules: rules, Embedder: e}, settings(t))
			if err := a.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			awaitVectors(t, a, "default", 1)
			for _, r := range [][2]string{
				{"/api/v1/rules", `{"slug": "A-2", "statement": "Laptops are locked."}`},
				{"/api/v1/projects", `{"id": "pay"}`},
				{"/api/v1/rules?project_id=pay", `{"slug": "P-1", "statement": "Invoices are paid."}`},
			} {
				if code := ask(t, a, http.MethodPost, r[0], r[1], nil); code != http.StatusCreated {
					t.Fatalf("%s: status %d", r[0], code)
				}
			}
			awaitVectors(t, a, "default", 2)
			awaitVectors(t, a, "pay", 1)
			var found struct {
				Items []wire.RuleSearchItem
				Mode  wire.SearchMode
			}
			if code := ask(t, a, http.MethodPost, "/api/v1/search/vector", `{"query": "locked laptops"}`, &found); code != http.StatusOK ||
				found.Mode != wire.Vector || found.Items[0].Rule.Slug != "A-2" {
				t.Errorf("status %d, %+v", code, found)
			}
		})
	}
}

// A service that fails for a while is tried again.
func TestEmbeddingIsTriedAgain(t *testing.T) {
	t.Parallel()
	fail := true
	calls := make(chan struct{}, 100)
	e := &llmtest.Embedder{}
	e.Respond = func(context.Context, []string) error {
		calls <- struct{}{}
		if fail {
			fail = false // calls of one job for one text come one after the other
			return rule.Errorf(rule.CodeUnavailable, "away")
		}
		return nil
	}
	rules := []*wire.RuleFile{{Rules: []wire.RuleInput{{Slug: new("A-1"), Statement: "Payments are logged."}}}}
	a := node(t, app.Options{Rules: rules, Embedder: e}, map[string]string{"data": litetest.Dir(t)})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitVectors(t, a, "default", 1)
	if len(calls) != 2 {
		t.Errorf("%d calls", len(calls))
	}
}

// While the embedding model is changed, nodes differ. None takes the jobs of another for done, which would leave what they ask for
// without vectors.
func TestAJobForAnotherModelIsLeftToANodeThatHasIt(t *testing.T) {
	t.Parallel()
	set := map[string]string{"data": t.TempDir(), "no_seed": "true"}
	e := &llmtest.Embedder{}
	a := node(t, app.Options{Embedder: e}, set)
	s, err := sqlstore.OpenSQLite(t.Context(), set["data"], sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	var ids []int64
	for kind, args := range map[string]any{
		search.EmbedKind: map[string]string{"model": "fake:new"}, document.EmbedKind: map[string]string{"model": "fake:new", "document_id": "d"},
	} {
		err := s.Update(t.Context(), func(tx store.Tx) error {
			id, err := job.NewQueue(time.Now).Enqueue(t.Context(), tx, kind, "default", args, job.Options{})
			ids = append(ids, id)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		var j store.Job
		for limit := time.Now().Add(time.Minute); j.Error == "" && j.State != job.Succeeded && time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
			if j, err = s.Jobs.Get(t.Context(), "default", id); err != nil {
				t.Fatal(err)
			}
		}
		if j.State != job.Queued || !strings.Contains(j.Error, "fake:new has to do this") {
			t.Errorf("job %+v", j)
		}
	}
}
