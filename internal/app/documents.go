package app

import (
	"context"
	"log/slog"
	"time"

	"tenet/internal/document"
	"tenet/internal/job"
)

// library makes the documents, and has their vectors made in the background where there is an embedding model.
func (a *App) library(w work) *document.Documents {
	cfg := document.Config{Store: a.store, Views: a.live, Queue: job.NewQueue(time.Now), Logger: a.log}
	if a.embedder == nil {
		return document.New(cfg)
	}
	cfg.Embedder = a.embedder
	documents := document.New(cfg)
	w.handlers[document.EmbedKind] = documents.EmbedJob
	return documents
}

// missingDocuments asks for the vectors of documents that lack those of the embedding model: at the start, and now and then,
// as a job may have been given up while the service was away, until ctx ends.
func (a *App) missingDocuments(ctx context.Context) {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		if err := a.documents.EnqueueMissing(ctx); err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "cannot ask for the vectors of documents; trying again later", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
