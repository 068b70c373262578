package app_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"tenet/internal/app"
	"tenet/internal/client"
	"tenet/internal/llm/llmtest"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/wire"
)

// library is a client of the node in process.
func library(t *testing.T, a *app.App) *client.Client {
	t.Helper()
	c, err := client.New("http://localhost", "", &http.Client{Transport: client.InProcess(a.Handler())})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Documents get their vectors by themselves: those that were uploaded while there was no model, and those that come.
func TestDocumentsAreEmbeddedInTheBackground(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]func(t *testing.T) map[string]string{
		"sqlite": func(t *testing.T) map[string]string {
			return map[string]string{"data": litetest.Dir(t), "no_seed": "true"}
		},
		"postgres": func(t *testing.T) map[string]string {
			return map[string]string{"database_url": pgtest.DSN(t), "no_seed": "true"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := settings(t)
			upload := func(a *app.App, name, text string) {
				t.Helper()
				if _, err := client.UploadDocument(t.Context(), library(t, a), wire.Upload{Filename: name, Content: []byte(text)}); err != nil {
					t.Fatal(err)
				}
			}
			upload(node(t, app.Options{}, set), "old.txt", "Laptops are locked.")
			a := node(t, app.Options{Embedder: &llmtest.Embedder{}}, set)
			if err := a.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			upload(a, "new.txt", "Invoices are paid.")
			found := awaitDocuments(t, library(t, a), "invoices paid")
			if found.Mode != wire.Vector || found.Total != 2 || found.Items[0].Filename != "new.txt" {
				t.Errorf("%+v", found)
			}
		})
	}
}

// awaitDocuments searches by meaning until no document lacks vectors.
func awaitDocuments(t *testing.T, c *client.Client, query string) wire.DocumentSearchPage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		found, err := client.SearchDocuments(ctx, c, wire.Vector, query, wire.PageBody{})
		if err != nil {
			t.Fatal(err)
		}
		if found.Degraded == nil {
			return found
		}
		time.Sleep(20 * time.Millisecond)
	}
}
