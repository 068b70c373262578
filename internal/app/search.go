package app

import (
	"context"
	"log/slog"
	"time"

	"tenet/internal/job"
	"tenet/internal/llm/provider"
	"tenet/internal/rule"
	"tenet/internal/search"
	"tenet/internal/store"
)

// openEmbedder opens the embedding model of the settings, unless another was given or none is named.
func (a *App) openEmbedder(env func(string) string) error {
	if a.embedder != nil || a.cfg.EmbeddingModel == "" {
		return nil
	}
	embedder, err := provider.NewEmbedder(a.cfg.EmbeddingModel, env, provider.Options{Logger: a.log})
	if err != nil {
		return err
	}
	a.embedder = embedder
	return nil
}

// embeddingModel names the model whose vectors are compared; empty without one.
func (a *App) embeddingModel() string {
	if a.embedder == nil {
		return ""
	}
	return a.embedder.ID()
}

// searcher makes the searches over the live rules.
func (a *App) searcher() *search.Searcher {
	return search.New(search.Config{
		Views: a.live, Embedder: a.embedder, Model: a.model, ModelTimeout: a.cfg.JudgeTimeout, Logger: a.log,
	})
}

// embeddings sees to it that rules get their vectors.
type embeddings struct {
	*search.Embeddings
	queue job.Queue
	// looked is the corpus version of each project at which all was well or a job was enqueued.
	looked map[string]int64
}

// embeddingWork adds the embedding of rules to the work in the background.
func (a *App) embeddingWork(w *work, now func() time.Time) {
	if a.embedder == nil {
		return
	}
	a.embeddings = &embeddings{
		Embeddings: search.NewEmbeddings(a.store, a.live, a.embedder, a.log), queue: job.NewQueue(now), looked: map[string]int64{},
	}
	w.handlers[search.EmbedKind] = func(ctx context.Context, j job.Job, progress func(done, total int)) error {
		return a.embeddings.EmbedRules(ctx, j.ProjectID, progress)
	}
}

// lookAgain is how often projects are looked at that have not changed: a job may have been given up.
const lookAgain = 10 * time.Minute

// followEmbeddings enqueues a job for every project of which rules have no vector: at the start, whenever its corpus has
// changed, whichever node has changed it, and now and then, until ctx ends.
func (a *App) followEmbeddings(ctx context.Context) {
	tick := time.NewTicker(a.cfg.PollInterval)
	defer tick.Stop()
	forget := time.Now().Add(lookAgain)
	failing := false
	for {
		if time.Now().After(forget) {
			clear(a.embeddings.looked)
			forget = time.Now().Add(lookAgain)
		}
		err := a.enqueueEmbeddings(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			a.log.WarnContext(ctx, "cannot look for rules to embed; trying again", slog.Any("error", err))
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (a *App) enqueueEmbeddings(ctx context.Context) error {
	versions, err := a.store.CorpusVersions(ctx)
	if err != nil {
		return err
	}
	e := a.embeddings
	for project, version := range versions {
		if at, ok := e.looked[project]; ok && at == version {
			continue
		}
		missing, err := e.Missing(ctx, project)
		if rule.CodeOf(err) == rule.CodeNotFound {
			continue // it has been removed meanwhile
		}
		if err == nil && missing {
			err = a.store.Update(ctx, func(tx store.Tx) error {
				_, err := e.queue.Enqueue(ctx, tx, search.EmbedKind, project, nil, job.Options{UniqueKey: "rules", Priority: job.Last})
				return err
			})
		}
		if err != nil {
			return err
		}
		e.looked[project] = version
	}
	return nil
}
