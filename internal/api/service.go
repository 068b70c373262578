package api

import (
	"context"
	"net/http"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/wire/op"
)

// Service serves the routes outside /api: the name, the version and the state of the server.
type Service struct {
	Version string
	// Ready returns an error while the node cannot answer; nil means that it always can.
	Ready func(ctx context.Context) error
	// JudgeState returns the state of the judge's model for /ready; nil leaves it out.
	JudgeState func() llm.State
}

// Routes implements [rest.Resource].
func (s Service) Routes(r *rest.Router) {
	r.Raw("/{$}", auth.Public, rest.PublicAccess, s.root)
	r.Raw("/health", auth.Public, rest.PublicAccess, s.health)
	r.Raw("/ready", auth.Public, rest.PublicAccess, s.ready)
}

func (s Service) root(w http.ResponseWriter, _ *http.Request) {
	rest.WriteJSON(w, map[string]any{
		"name": "Tenet", "version": s.Version,
		"links": map[string]string{
			"docs": "/docs", "openapi": "/openapi.json", "health": "/health", "ready": "/ready", "metrics": "/metrics",
			"rules": op.ListRules.Path, "search": op.SearchHybrid.Path, "evaluate": op.Evaluate.Path, "evaluations": op.ListEvaluations.Path,
		},
	})
}

func (s Service) health(w http.ResponseWriter, _ *http.Request) {
	rest.WriteJSON(w, map[string]string{"status": "ok", "version": s.Version})
}

func (s Service) ready(w http.ResponseWriter, r *http.Request) {
	if s.Ready != nil {
		if err := s.Ready(r.Context()); err != nil {
			if rule.CodeOf(err) == rule.CodeInternal {
				err = rule.Errorf(rule.CodeUnavailable, "the node cannot answer now")
			}
			rest.WriteProblem(w, r, err)
			return
		}
	}
	body := struct {
		Status string     `json:"status"`
		Judge  *llm.State `json:"judge,omitempty"`
	}{Status: "ready"}
	if s.JudgeState != nil {
		state := s.JudgeState()
		body.Judge = &state
	}
	rest.WriteJSON(w, body)
}
