package app

import (
	"context"
	"log/slog"
	"time"

	"tenet/internal/conflict"
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
	embedder, err := provider.NewEmbedder(a.cfg.EmbeddingModel, env, provider.Options{Logger: a.log, Slots: a.slots})
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
func (a *App) searcher(conflicts *conflict.Conflicts) *search.Searcher {
	return search.New(search.Config{
		Views: a.live, Embedder: a.embedder, Model: a.model, ModelTimeout: a.cfg.JudgeTimeout, Logger: a.log,
		Conflicts: conflicts.Open,
	})
}

// embeddings sees to it that rules get their vectors.
type embeddings struct {
	*search.Embeddings
	queue  job.Queue
	looked map[string]look // by project
}

// look is the corpus version of a project at which all rules had vectors, or a job was enqueued.
type look struct {
	version int64
	asked   time.Time // when a job was enqueued
}

// embedArgs are the arguments of the jobs that embed rules.
type embedArgs struct {
	Model string `json:"model"`
}

// otherModel is after how long a job for another model is left to a node with that model once more.
const otherModel = 5 * time.Second

// embeddingWork adds the embedding of rules to the work in the background.
func (a *App) embeddingWork(w *work, now func() time.Time) {
	if a.embedder == nil {
		return
	}
	a.embeddings = &embeddings{
		Embeddings: search.NewEmbeddings(a.store, a.live, a.embedder, a.log), queue: job.NewQueue(now), looked: map[string]look{},
	}
	w.handlers[search.EmbedKind] = func(ctx context.Context, j job.Job, progress func(done, total int)) error {
		var args embedArgs
		if err := j.Decode(&args); err != nil {
			return err
		}
		if own := a.embedder.ID(); args.Model != own { // while the setting is changed, nodes differ
			return job.RetryIn(otherModel, rule.Errorf(rule.CodeUnavailable, "the node embeds with %s; one with %s has to do this", own, args.Model))
		}
		return a.embeddings.EmbedRules(ctx, j.ProjectID, progress)
	}
}

const (
	// lookAgain is how often projects are looked at that have not changed: a job may have been given up.
	lookAgain = 10 * time.Minute
	// jobRest is how long a project is not looked at after a job was enqueued for it, whose work changes it again and again.
	jobRest = time.Second
)

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
		if last, ok := e.looked[project]; ok && (last.version == version || time.Since(last.asked) < jobRest) {
			continue
		}
		missing, err := e.Missing(ctx, project)
		if rule.CodeOf(err) == rule.CodeNotFound {
			continue // it has been removed meanwhile
		}
		now := look{version: version}
		if err == nil && missing {
			now.asked = time.Now()
			err = a.store.Update(ctx, func(tx store.Tx) error {
				model := a.embedder.ID()
				_, err := e.queue.Enqueue(ctx, tx, search.EmbedKind, project, embedArgs{model}, job.Options{UniqueKey: model, Priority: job.Last})
				return err
			})
		}
		if err != nil {
			return err
		}
		e.looked[project] = now
	}
	return nil
}
