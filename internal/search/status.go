package search

import (
	"context"

	"tenet/internal/wire"
)

// Status reports the models and vectors that searches in a project use.
func (s *Searcher) Status(ctx context.Context, projectID string) (wire.SearchStatus, error) {
	view, err := s.cfg.Views.View(ctx, projectID)
	if err != nil {
		return wire.SearchStatus{}, err
	}
	_, have, of := view.Vectors()
	st := wire.SearchStatus{ProjectID: projectID, Rules: of, RulesWithVector: have}
	if s.cfg.Embedder != nil {
		st.EmbeddingModel = s.cfg.Embedder.ID()
	}
	if s.cfg.Model != nil {
		st.Model = s.cfg.Model.ID()
	}
	return st, nil
}
