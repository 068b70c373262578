package search

import "context"

// Status tells what searches in a project can rest on.
type Status struct {
	ProjectID       string `json:"project_id" doc:"Project."`
	EmbeddingModel  string `json:"embedding_model" doc:"Model whose vectors are compared; empty without an embedding service."`
	Rules           int    `json:"rules" doc:"Rules of every status."`
	RulesWithVector int    `json:"rules_with_vector" doc:"Rules that a search by meaning can find. The others are being embedded in the background."`
	Model           string `json:"model" doc:"Model that assists the search by situation; empty without one."`
}

// Status tells what searches in a project can rest on.
func (s *Searcher) Status(ctx context.Context, projectID string) (Status, error) {
	view, err := s.cfg.Views.View(ctx, projectID)
	if err != nil {
		return Status{}, err
	}
	_, have, of := view.Vectors()
	st := Status{ProjectID: projectID, Rules: of, RulesWithVector: have}
	if s.cfg.Embedder != nil {
		st.EmbeddingModel = s.cfg.Embedder.ID()
	}
	if s.cfg.Model != nil {
		st.Model = s.cfg.Model.ID()
	}
	return st, nil
}
