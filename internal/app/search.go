package app

import (
	"tenet/internal/llm/provider"
	"tenet/internal/search"
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
